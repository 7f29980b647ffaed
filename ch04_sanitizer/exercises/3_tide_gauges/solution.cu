// Cleans a week of readings of each tide gauge of a coast: one block per gauge, one warp per day, and
// 32 levels a day. A gauge isn't the same all week: loggers and sensors get replaced, stilling wells get
// built, the line is down for a while, and one or the other day there's someone at work on it.
//
// Right: the sensor decides what a thread stores, and what it makes of the level before its own. The barrier
// between the two is one line for all threads of a block, whatever their days were.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    compute-sanitizer --tool synccheck ./solution
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kDays = 7, kLanes = 32;    // of a gauge; levels of a day
constexpr int kPlaces = kDays * kLanes;  // levels of a week, and threads of a block
constexpr int kReadings = 15;            // a new logger's readings for a level; an old one leaves one of them
constexpr int kAir = 6;                  // readings of the air pressure for a level
constexpr int kMinutes = 45;   // from one level to the next, and from one mark of the tide to the next
constexpr int kHalfDay = 720;  // minutes; a clock with hands that is set wrong is so much ahead
constexpr int kMarks = kPlaces + kHalfDay / kMinutes;  // of the predicted tide
constexpr int kPasses = 5, kPassesInWell = 2;          // a well has smoothed what is measured in it

/// What a gauge is on one of its days.
struct Day {
    int has_new_logger, has_pressure_sensor, has_well, is_under_repair;
};

/// A level is the mean of an interval, or the one reading that an old logger has left of it. In mm.
__global__ void average(const int* readings, const Day* days, int* levels) {
    __shared__ int level[kPlaces];
    const int place = threadIdx.x, earlier = max(place - 1, 0), later = min(place + 1, kPlaces - 1);
    const int here = blockIdx.x * kPlaces + place;
    const int* const its = readings + size_t{kReadings} * here;
    if (days[blockIdx.x * kDays + place / kLanes].has_new_logger) {
        int sum = 0;
        for (int k = 0; k < kReadings; ++k) sum += its[k];
        level[place] = sum / kReadings;
        __syncthreads();
        levels[here] = (level[earlier] + level[place] + level[later]) / 3;
    } else {
        level[place] = its[0];
        __syncthreads();
        levels[here] = (level[earlier] + 2 * level[place] + level[later]) / 4;
    }
}

/// A pressure sensor feels the air as well and lags behind; a float sticks.
__global__ void correct(const int* air, const Day* days, int* levels) {
    __shared__ int level[kPlaces];
    const int place = threadIdx.x, earlier = max(place - 1, 0);
    const int here = blockIdx.x * kPlaces + place;
    const bool has_pressure_sensor = days[blockIdx.x * kDays + place / kLanes].has_pressure_sensor;
    level[place] = levels[here];
    if (has_pressure_sensor) {
        int pressure = 0;
        for (int k = 0; k < kAir; ++k) pressure += air[here * kAir + k];
        level[place] = levels[here] * 10 / 11 - pressure / kAir;
    }
    __syncthreads();
    if (has_pressure_sensor)
        levels[here] = level[place] + (level[place] - level[earlier]) / 2;
    else
        levels[here] = (3 * level[place] + level[earlier]) / 4;
}

/// From here on a level is what's above the tide that was predicted for its time. In a gap it stays what it
/// was before the gap, which is `back` places ago.
__global__ void bridge(const int* tide, const int* ahead, const int* back, int* levels) {
    __shared__ int level[kPlaces];
    const int place = threadIdx.x, here = blockIdx.x * kPlaces + place;
    const int minute = place * kMinutes + ahead[blockIdx.x];
    const int mark = minute / kMinutes, part = minute % kMinutes;
    const int predicted = (tide[mark] * (kMinutes - part) + tide[mark + 1] * part) / kMinutes;
    level[place] = levels[here] - predicted;
    __syncwarp();
    levels[here] = level[place - back[here]];
}

/// A day that needs no more passes stays what it was in its last one for its neighbors, and waits with them.
__global__ void smooth(const int* levels, const Day* days, int* kept) {
    __shared__ int level[kPlaces];
    const int place = threadIdx.x, earlier = max(place - 1, 0), later = min(place + 1, kPlaces - 1);
    const int here = blockIdx.x * kPlaces + place;
    const Day day = days[blockIdx.x * kDays + place / kLanes];
    const int passes = day.has_well ? kPassesInWell : kPasses;
    int now = levels[here];
    for (int pass = 0; pass < kPasses; ++pass) {
        if (pass >= passes) {
            __syncthreads();
            __syncthreads();
            continue;
        }
        level[place] = now;
        __syncthreads();
        now = (2 * now + level[earlier] + level[later]) / 4;
        __syncthreads();
    }
    if (!day.is_under_repair) kept[here] = now;
}

/// What a week brings: one gauge in so many, on average.
struct Week {
    unsigned logger, sensor, well;  // gets a new one of them within the week
    unsigned repair;                // is under repair for a day
    unsigned storm;                 // has a gap of more than a day
    unsigned clock;                 // has a clock that is half a day ahead
};

Week week_of(std::mt19937& random) {
    const auto rarity = [&random] { return 256U << random() % 6; };
    return {rarity(), rarity(), rarity(), rarity(), rarity(), rarity()};
}

/// All that is known of a coast's gauges in a week.
struct Coast {
    std::vector<Day> days;
    std::vector<int> readings, air, tide;
    std::vector<int> ahead;  // minutes of each gauge's clock
    std::vector<int> back;   // places to the last level before a gap; 0 outside of gaps
};

Coast coast_of(int gauges, std::mt19937& random) {
    const auto below = [&random](int end) { return static_cast<int>(random() % end); };
    const auto one_in = [&random](unsigned so_many) { return random() % so_many == 0; };
    const Week week = week_of(random);
    const size_t places = size_t{kPlaces} * gauges;
    Coast coast{std::vector<Day>(size_t{kDays} * gauges),
                std::vector<int>(places * kReadings),
                std::vector<int>(places * kAir),
                std::vector<int>(kMarks),
                std::vector<int>(gauges),
                std::vector<int>(places)};
    for (int gauge = 0; gauge < gauges; ++gauge) {
        Day* const days = &coast.days[size_t{kDays} * gauge];
        const auto bring = [&](int Day::*what, unsigned rarity) {
            int from = below(2) * kDays;
            if (one_in(rarity)) from = 1 + below(kDays - 1);
            for (int day = from; day < kDays; ++day) days[day].*what = 1;
        };
        bring(&Day::has_new_logger, week.logger);
        bring(&Day::has_pressure_sensor, week.sensor);
        bring(&Day::has_well, week.well);
        if (one_in(week.repair)) days[below(kDays)].is_under_repair = 1;
        coast.ahead[gauge] = one_in(week.clock) ? kHalfDay : below(60);
        const int before = below(kDays) * kLanes + below(12);  // the last level before the week's gap
        const int gap = one_in(week.storm) ? kLanes + below(kLanes) : 1 + below(20);
        for (int k = 1; k <= gap && before + k < kPlaces; ++k)
            coast.back[size_t{kPlaces} * gauge + before + k] = k;
    }
    for (int& reading : coast.readings) reading = below(4000);
    for (int& pressure : coast.air) pressure = below(1000);
    for (int& level : coast.tide) level = below(4000);
    return coast;
}

/// The same week of one gauge on the host.
std::vector<int> cleaned(const Coast& coast, int gauge) {
    const int* const readings = &coast.readings[size_t{kPlaces} * gauge * kReadings];
    const int* const air = &coast.air[size_t{kPlaces} * gauge * kAir];
    const int* const back = &coast.back[size_t{kPlaces} * gauge];
    const auto day_of = [&](int i) { return coast.days[gauge * kDays + i / kLanes]; };
    std::vector<int> now(kPlaces), last(kPlaces);
    const auto at = [&](int i) { return last[std::clamp(i, 0, kPlaces - 1)]; };
    for (int i = 0; i < kPlaces; ++i) {
        const int* const its = &readings[i * kReadings];
        last[i] = day_of(i).has_new_logger ? std::accumulate(its, its + kReadings, 0) / kReadings : its[0];
    }
    for (int i = 0; i < kPlaces; ++i)
        now[i] = day_of(i).has_new_logger ? (at(i - 1) + at(i) + at(i + 1)) / 3
                                          : (at(i - 1) + 2 * at(i) + at(i + 1)) / 4;
    for (int i = 0; i < kPlaces; ++i) {
        const int pressure = std::accumulate(&air[i * kAir], &air[i * kAir] + kAir, 0);
        last[i] = day_of(i).has_pressure_sensor ? now[i] * 10 / 11 - pressure / kAir : now[i];
    }
    for (int i = 0; i < kPlaces; ++i)
        now[i] =
            day_of(i).has_pressure_sensor ? at(i) + (at(i) - at(i - 1)) / 2 : (3 * at(i) + at(i - 1)) / 4;
    for (int i = 0; i < kPlaces; ++i) {
        const int minute = i * kMinutes + coast.ahead[gauge], part = minute % kMinutes;
        const int mark = minute / kMinutes, next = std::min(mark + 1, kMarks - 1);
        last[i] = now[i] - (coast.tide[mark] * (kMinutes - part) + coast.tide[next] * part) / kMinutes;
    }
    for (int i = 0; i < kPlaces; ++i) now[i] = last[i - back[i]];
    for (int pass = 0; pass < kPasses; ++pass) {
        const auto is_on = [&](int i) { return pass < (day_of(i).has_well ? kPassesInWell : kPasses); };
        for (int i = 0; i < kPlaces; ++i)
            if (is_on(i)) last[i] = now[i];
        for (int i = 0; i < kPlaces; ++i)
            if (is_on(i)) now[i] = (2 * now[i] + at(i - 1) + at(i + 1)) / 4;
    }
    return now;
}

template <class T>
std::unique_ptr<T[], DeviceFree> on_device(const std::vector<T>& values) {
    auto array = device_array<T>(values.size());
    CUDA_CHECK(cudaMemcpy(array.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return array;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Cleans a week of readings of tide gauges.");
    const int gauges = static_cast<int>(options.integer("--gauges", 200, 1, 10'000, "gauges"));
    const auto seed = static_cast<unsigned>(options.integer("--seed", 720, 0, 1'000'000, "of the week"));
    options.done();
    const size_t places = size_t{kPlaces} * gauges;
    require_gpu(places * (kReadings + kAir + 3) * sizeof(int) + gauges * kDays * sizeof(Day));

    std::mt19937 random(seed);
    const Coast coast = coast_of(gauges, random);
    const auto readings = on_device(coast.readings), air = on_device(coast.air), tide = on_device(coast.tide),
               ahead = on_device(coast.ahead), back = on_device(coast.back);
    const auto days = on_device(coast.days);
    const auto levels = device_array<int>(places), kept = device_array<int>(places);
    {
        nvtx3::scoped_range range{"coast"};
        average<<<gauges, kPlaces>>>(readings.get(), days.get(), levels.get());
        CUDA_CHECK(cudaGetLastError());
        correct<<<gauges, kPlaces>>>(air.get(), days.get(), levels.get());
        CUDA_CHECK(cudaGetLastError());
        bridge<<<gauges, kPlaces>>>(tide.get(), ahead.get(), back.get(), levels.get());
        CUDA_CHECK(cudaGetLastError());
        smooth<<<gauges, kPlaces>>>(levels.get(), days.get(), kept.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    std::vector<int> found(places);
    CUDA_CHECK(cudaMemcpy(found.data(), kept.get(), places * sizeof(int), cudaMemcpyDeviceToHost));

    size_t wrong = 0;
    long long expected_sum = 0, found_sum = 0;
    for (int gauge = 0; gauge < gauges; ++gauge) {
        const std::vector<int> expected = cleaned(coast, gauge);
        for (int i = 0; i < kPlaces; ++i) {
            if (coast.days[gauge * kDays + i / kLanes].is_under_repair) continue;
            const int level = found[size_t{kPlaces} * gauge + i];
            expected_sum += expected[i], found_sum += level;
            if (level != expected[i] && ++wrong == 1)
                std::printf("gauge %d, place %d: expected %d, found %d\n", gauge, i, expected[i], level);
        }
    }
    std::printf("sum of all levels: expected %lld, found %lld mm\n", expected_sum, found_sum);
    std::printf("wrong levels of %d gauges: expected 0, found %zu of %zu\n", gauges, wrong, places);
    return wrong == 0 ? 0 : 1;
}
