// Watches three seismometers. A minute of each is filtered on the GPU as it comes in: one number says how
// much the ground moved. In a minute with a shock `locate` combines the numbers of all stations, and the
// place goes out at once as an alarm.
//
// Right: what has been put off is filtered before the gain is set.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cub/block/block_reduce.cuh>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kStations = 3, kSamples = 256;  // samples of a station in a minute; one block filters them
constexpr int kRing = 16;                     // minutes of a station whose samples are kept on the GPU
constexpr int kLookBack = 24;                 // minutes of which an alarm's place is made, its own the last
constexpr int kFilterSteps = 65'536, kLocateSteps = 16'384;

/// `steps` steps of x = factor * x + 1, modulo 2^32.
__host__ __device__ unsigned mix(unsigned x, unsigned factor, int steps) {
    for (int step = 0; step < steps; ++step) x = factor * x + 1;
    return x;
}

/// Combines what the stations say of `minute` and those before; a station has `minutes` numbers.
__host__ __device__ unsigned place_of(const unsigned* motion, int minutes, int minute) {
    unsigned sum = 0;
    for (int station = 0; station < kStations; ++station)
        for (int its = minute < kLookBack ? 0 : minute - kLookBack + 1; its <= minute; ++its)
            sum = 3 * sum + motion[station * minutes + its];
    return mix(sum, 5, kLocateSteps);
}

/// One block per minute, from `minute` on: the sum of its filtered samples.
__global__ void filter(const unsigned* samples, const unsigned* gain, unsigned* motion, int minute) {
    using BlockReduce = cub::BlockReduce<unsigned, kSamples>;
    __shared__ typename BlockReduce::TempStorage storage;
    const int its = minute + blockIdx.x;
    const unsigned sample = samples[its % kRing * kSamples + threadIdx.x];
    const unsigned sum = BlockReduce(storage).Sum(mix(sample, *gain, kFilterSteps));
    if (threadIdx.x == 0) motion[its] = sum;
}

__global__ void locate(const unsigned* motion, int minutes, int minute, unsigned* place) {
    *place = place_of(motion, minutes, minute);
}

/// What a station sends of a minute.
struct Report {
    int station, minute;
    bool moved;     // the ground, at this station
    unsigned gain;  // that is set before this minute; 0 if it stays as it is
    std::vector<unsigned> samples;
};

/// What comes in a minute: reports of it, and such of earlier minutes as are sent again.
struct Minute {
    bool has_shock;
    std::vector<Report> reports;
};

/// Shocks, and how often else something happens in a night is drawn: one in so many, on average.
struct Night {
    int faint;                // of the shocks isn't felt at one of the stations
    int tuned;                // of a station's minutes begins with a new gain
    int garbled;              // of a station's minutes is sent again when the line is better
    int together[kStations];  // minutes of a station that are filtered together at most
};

Night night_of(std::mt19937& random) {
    const auto drawn = [&random](int least) { return least << random() % 6; };
    return {drawn(4), drawn(64), drawn(16), {drawn(1), drawn(1), drawn(1)}};
}

std::vector<Minute> watch_of(const Night& night, int minutes, std::mt19937& random) {
    const auto below = [&random](int end) { return static_cast<int>(random() % end); };
    const auto one_in = [&below](int so_many) { return below(so_many) == 0; };
    const auto samples = [&random] {
        std::vector<unsigned> drawn(kSamples);
        for (unsigned& sample : drawn) sample = static_cast<unsigned>(random());
        return drawn;
    };
    std::vector<Minute> watch(minutes);
    for (int minute = 0; minute < minutes; ++minute) {
        const bool has_shock = one_in(8);
        const int spared = has_shock && one_in(night.faint) ? below(kStations) : kStations;
        watch[minute].has_shock = has_shock;
        for (int s = 0; s < kStations; ++s) {
            const unsigned gain = minute == 0 || one_in(night.tuned) ? random() / 8 * 8 + 5 : 0;
            watch[minute].reports.push_back({s, minute, has_shock && s != spared, gain, samples()});
        }
    }
    for (int minute = 0; minute < minutes; ++minute)
        for (int s = 0; s < kStations; ++s) {
            const int later = minute + 1 + below(kLookBack);
            if (one_in(night.garbled) && later < minutes)
                watch[later].reports.push_back({s, minute, false, 0, samples()});
        }
    return watch;
}

/// The places of all alarms, on the host. A sum of x -> slope * x + offset needs the sum of all x alone.
std::vector<unsigned> places_of(const std::vector<Minute>& watch) {
    const int minutes = static_cast<int>(watch.size());
    std::vector<unsigned> motion(size_t{kStations} * minutes), gains(kStations), places;
    for (int minute = 0; minute < minutes; ++minute) {
        for (const Report& report : watch[minute].reports) {
            unsigned& gain = gains[report.station];
            if (report.gain) gain = report.gain;
            const unsigned offset = mix(0, gain, kFilterSteps), slope = mix(1, gain, kFilterSteps) - offset;
            motion[report.station * minutes + report.minute] =
                slope * std::accumulate(report.samples.begin(), report.samples.end(), 0U) + kSamples * offset;
        }
        if (watch[minute].has_shock) places.push_back(place_of(motion.data(), minutes, minute));
    }
    return places;
}

/// One seismometer: its stream, and what the GPU keeps for it.
struct Station {
    Stream stream = make_stream();
    Event filtered = make_event(cudaEventDisableTiming);
    std::unique_ptr<unsigned[], DeviceFree> ring = device_array<unsigned>(kRing * kSamples);
    std::unique_ptr<unsigned[], DeviceFree> gain = device_array<unsigned>(1);
    unsigned* motion;
    int together;
    int next = 0, waiting = 0;  // the first minute not yet given to `filter`, and how many have come since

    /// Launches `filter` for all minutes that have come.
    void launch() {
        if (waiting == 0) return;
        filter<<<waiting, kSamples, 0, stream.get()>>>(ring.get(), gain.get(), motion, next);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaEventRecord(filtered.get(), stream.get()));
        next += std::exchange(waiting, 0);
    }

    void copy(int minute, const std::vector<unsigned>& samples) {
        CUDA_CHECK(cudaMemcpyAsync(&ring[minute % kRing * kSamples], samples.data(),
                                   kSamples * sizeof(unsigned), cudaMemcpyHostToDevice, stream.get()));
    }

    /// Sets the gain.
    void set(unsigned new_gain) {
        launch();  // Those that have come keep the gain that they came with.
        CUDA_CHECK(
            cudaMemcpyAsync(gain.get(), &new_gain, sizeof new_gain, cudaMemcpyHostToDevice, stream.get()));
    }

    /// Takes the next minute's samples. Minutes in which nothing moved here are filtered together.
    void take(const std::vector<unsigned>& samples, bool moved) {
        copy(next + waiting++, samples);
        if (moved || waiting == together) launch();
    }

    /// Takes the samples of an earlier minute again.
    void take_again(int minute, const std::vector<unsigned>& samples) {
        copy(minute, samples);
        if (minute >= next) return;  // It waits for `filter` anyway.
        filter<<<1, kSamples, 0, stream.get()>>>(ring.get(), gain.get(), motion, minute);
        CUDA_CHECK(cudaGetLastError());
    }
};

int main(int argc, char** argv) {
    Options options(argc, argv, "Filters what three seismometers send, and locates shocks.");
    const int minutes = static_cast<int>(options.integer("--minutes", 192, 1, 10'000, "minutes"));
    const auto seed = static_cast<unsigned>(options.integer("--seed", 2078, 0, 1'000'000, "of the night"));
    options.done();
    require_gpu(size_t{kStations} * (minutes + kRing * kSamples) * sizeof(unsigned));

    std::mt19937 random(seed);
    const Night night = night_of(random);
    const std::vector<Minute> watch = watch_of(night, minutes, random);
    const std::vector<unsigned> places = places_of(watch);
    std::vector<unsigned> found;
    const auto device_place = device_array<unsigned>(1),
               motion = device_array<unsigned>(size_t{kStations} * minutes);
    Station stations[kStations];
    for (int s = 0; s < kStations; ++s) {
        stations[s].motion = &motion[size_t{1} * s * minutes];
        stations[s].together = night.together[s];
    }
    const Stream alarms = make_stream();
    {
        nvtx3::scoped_range range{"warm-up"};
        CUDA_CHECK(cudaMemset(motion.get(), 0, size_t{kStations} * minutes * sizeof(unsigned)));
        for (Station& station : stations) {
            CUDA_CHECK(cudaMemset(station.ring.get(), 0, kRing * kSamples * sizeof(unsigned)));
            CUDA_CHECK(cudaMemset(station.gain.get(), 0, sizeof(unsigned)));
            filter<<<1, kSamples, 0, station.stream.get()>>>(station.ring.get(), station.gain.get(),
                                                             station.motion, 0);
            CUDA_CHECK(cudaGetLastError());
        }
        locate<<<1, 1, 0, alarms.get()>>>(motion.get(), minutes, 0, device_place.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"watch"};
        std::vector<unsigned> samples(kSamples);  // the buffer of the line
        for (int minute = 0; minute < minutes; ++minute) {
            for (const Report& report : watch[minute].reports) {
                Station& station = stations[report.station];
                if (report.gain) station.set(report.gain);
                std::copy(report.samples.begin(), report.samples.end(), samples.begin());
                if (report.minute == minute) {
                    station.take(samples, report.moved);
                } else {
                    const std::string name = "again " + std::to_string(report.minute);
                    nvtx3::scoped_range again{name};
                    station.take_again(report.minute, samples);
                }
            }
            if (!watch[minute].has_shock) continue;
            for (Station& station : stations)
                CUDA_CHECK(cudaStreamWaitEvent(alarms.get(), station.filtered.get()));
            locate<<<1, 1, 0, alarms.get()>>>(motion.get(), minutes, minute, device_place.get());
            CUDA_CHECK(cudaGetLastError());
            unsigned place = 0;
            CUDA_CHECK(cudaMemcpyAsync(&place, device_place.get(), sizeof(unsigned), cudaMemcpyDeviceToHost,
                                       alarms.get()));
            found.push_back(place);
        }
        for (Station& station : stations) station.launch();
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    size_t wrong = 0;
    for (size_t i = 0; i < places.size(); ++i)
        if (found[i] != places[i] && ++wrong == 1)
            std::printf("alarm %zu: expected place %u, found %u\n", i, places[i], found[i]);
    std::printf("%d minutes of %d stations: %.2f ms\n", minutes, kStations, elapsed.count());
    std::printf("wrong alarms: expected 0, found %zu of %zu\n", wrong, places.size());
    return wrong == 0 ? 0 : 1;
}
