// Cleans a week of readings of each tide gauge of a coast: one block per gauge, one warp per day, and
// 32 levels a day. A gauge isn't the same all year: loggers get replaced, sensors get replaced, and clocks
// are put forward.
//
// Right: what a day was decides what each thread stores and what it makes of its neighbors' levels. The
// barrier between the two is one line for all threads of a block, whatever their days were.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    compute-sanitizer --tool synccheck ./solution
#include <algorithm>
#include <cstdio>
#include <cstdlib>
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
constexpr int kMostPasses = 20, kRough = 400;
constexpr unsigned kSeed = 678;

/// What a gauge was on one of its days.
struct Day {
    int has_new_logger, has_pressure_sensor, has_well;
};

/// Levels and readings are in millimeters. Each place has kReadings of them, and kAir of the air pressure.
__global__ void clean(const int* readings, const int* air, const Day* days, int* levels) {
    __shared__ int level[4][kPlaces];
    const int place = threadIdx.x, earlier = max(place - 1, 0), later = min(place + 1, kPlaces - 1);
    const size_t here = size_t{blockIdx.x} * kPlaces + place;
    const Day day = days[blockIdx.x * kDays + place / kLanes];
    const int* const its = readings + here * kReadings;

    int now = its[0];
    if (day.has_new_logger) {
        for (int k = 1; k < kReadings; ++k) now += its[k];
        now /= kReadings;
    }
    level[0][place] = now;
    __syncthreads();
    if (day.has_new_logger)
        now = (level[0][earlier] + level[0][place] + level[0][later]) / 3;
    else
        now = (level[0][earlier] + 2 * level[0][place] + level[0][later]) / 4;

    level[1][place] = now;
    if (day.has_pressure_sensor) {
        int pressure = 0;
        for (int k = 0; k < kAir; ++k) pressure += air[here * kAir + k];
        level[1][place] = now * 10 / 11 - pressure / kAir;
    }
    __syncthreads();
    if (day.has_pressure_sensor)
        now = level[1][place] + (level[1][place] - level[1][earlier]) / 2;
    else
        now = (3 * level[1][place] + level[1][earlier]) / 4;

    level[2][place] = now;
    if (day.has_well) {
        int lowest = its[0];
        for (int k = 1; k < kReadings; ++k) lowest = min(lowest, its[k]);
        level[2][place] = (now + lowest) / 2;
    }
    __syncthreads();
    now = day.has_well ? level[2][later] : (level[2][earlier] + level[2][later]) / 2;

#pragma unroll 1
    for (int pass = 0; pass < kMostPasses; ++pass) {
        level[3][place] = now;
        __syncthreads();
        const int straight = (level[3][earlier] + level[3][later]) / 2;
        if (!__syncthreads_or(abs(now - straight) > kRough)) break;
        now = (now + straight) / 2;
    }
    levels[here] = now;
}

/// The same week of one gauge on the host.
std::vector<int> cleaned(const int* readings, const int* air, const Day* days) {
    std::vector<int> now(kPlaces), last(kPlaces);
    const auto at = [&](int place) { return last[std::clamp(place, 0, kPlaces - 1)]; };
    const auto step = [&](auto before, auto after) {
        for (int i = 0; i < kPlaces; ++i) last[i] = before(i, days[i / kLanes], &readings[i * kReadings]);
        for (int i = 0; i < kPlaces; ++i) now[i] = after(i, days[i / kLanes]);
    };
    step(
        [](int, const Day& day, const int* its) {
            return day.has_new_logger ? std::accumulate(its, its + kReadings, 0) / kReadings : its[0];
        },
        [&](int i, const Day& day) {
            return day.has_new_logger ? (at(i - 1) + at(i) + at(i + 1)) / 3
                                      : (at(i - 1) + 2 * at(i) + at(i + 1)) / 4;
        });
    step(
        [&](int i, const Day& day, const int*) {
            const int pressure = std::accumulate(&air[i * kAir], &air[i * kAir] + kAir, 0);
            return day.has_pressure_sensor ? now[i] * 10 / 11 - pressure / kAir : now[i];
        },
        [&](int i, const Day& day) {
            return day.has_pressure_sensor ? at(i) + (at(i) - at(i - 1)) / 2 : (3 * at(i) + at(i - 1)) / 4;
        });
    step(
        [&](int i, const Day& day, const int* its) {
            return day.has_well ? (now[i] + *std::min_element(its, its + kReadings)) / 2 : now[i];
        },
        [&](int i, const Day& day) { return day.has_well ? at(i + 1) : (at(i - 1) + at(i + 1)) / 2; });
    for (int pass = 0; pass < kMostPasses; ++pass) {
        bool is_rough = false;
        last = now;
        for (int i = 0; i < kPlaces; ++i)
            is_rough = is_rough || std::abs(now[i] - (at(i - 1) + at(i + 1)) / 2) > kRough;
        if (!is_rough) break;
        for (int i = 0; i < kPlaces; ++i) now[i] = (now[i] + (at(i - 1) + at(i + 1)) / 2) / 2;
    }
    return now;
}

/// On which of a gauge's days something new is there that came at any time within three years.
void bring(int Day::*what, Day* days, std::mt19937& random) {
    const int from = static_cast<int>(random() % 1095) - 547;
    for (int day = 0; day < kDays; ++day) days[day].*what = day >= from;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Cleans a week of readings of tide gauges.");
    const int gauges = static_cast<int>(options.integer("--gauges", 200, 1, 10'000, "gauges"));
    options.done();
    const size_t places = size_t{kPlaces} * gauges;
    require_gpu(places * (kReadings + kAir + 1) * sizeof(int) + gauges * kDays * sizeof(Day));

    std::mt19937 random(kSeed);
    std::vector<Day> days(size_t{kDays} * gauges);
    for (int gauge = 0; gauge < gauges; ++gauge)
        for (const auto what : {&Day::has_new_logger, &Day::has_pressure_sensor, &Day::has_well})
            bring(what, &days[size_t{kDays} * gauge], random);
    std::vector<int> readings(places * kReadings), air(places * kAir), expected, found(places);
    for (int& reading : readings) reading = static_cast<int>(random() % 4000);
    for (int& pressure : air) pressure = static_cast<int>(random() % 1000);
    for (int gauge = 0; gauge < gauges; ++gauge) {
        const size_t first = size_t{kPlaces} * gauge;
        const auto week =
            cleaned(&readings[first * kReadings], &air[first * kAir], &days[size_t{kDays} * gauge]);
        expected.insert(expected.end(), week.begin(), week.end());
    }

    const auto device_readings = device_array<int>(readings.size()),
               device_air = device_array<int>(air.size()), device_levels = device_array<int>(places);
    const auto device_days = device_array<Day>(days.size());
    CUDA_CHECK(cudaMemcpy(device_readings.get(), readings.data(), readings.size() * sizeof(int),
                          cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_air.get(), air.data(), air.size() * sizeof(int), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_days.get(), days.data(), days.size() * sizeof(Day), cudaMemcpyHostToDevice));
    {
        nvtx3::scoped_range range{"coast"};
        clean<<<gauges, kPlaces>>>(device_readings.get(), device_air.get(), device_days.get(),
                                   device_levels.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    CUDA_CHECK(cudaMemcpy(found.data(), device_levels.get(), places * sizeof(int), cudaMemcpyDeviceToHost));

    size_t wrong = 0;
    std::printf("sum of all levels: expected %lld, found %lld mm\n",
                std::accumulate(expected.begin(), expected.end(), 0LL),
                std::accumulate(found.begin(), found.end(), 0LL));
    for (size_t i = 0; i < places; ++i)
        if (found[i] != expected[i] && ++wrong == 1)
            std::printf("gauge %zu, place %zu: expected %d, found %d\n", i / kPlaces, i % kPlaces,
                        expected[i], found[i]);
    std::printf("wrong levels of %d gauges: expected 0, found %zu of %zu\n", gauges, wrong, places);
    return wrong == 0 ? 0 : 1;
}
