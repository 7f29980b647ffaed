// Watches three seismometers. A minute of each is filtered on the GPU as it comes in: one number says how
// much the ground moved. In a minute with a shock `locate` combines the numbers of all stations, and the
// place goes out at once as an alarm.
//
// Symptom: some alarms name a wrong place, and no call reports an error.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cub/block/block_reduce.cuh>
#include <random>
#include <utility>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kStations = 3, kSamples = 256;  // samples of a station in a minute; one block filters them
constexpr int kTogether = 8, kRing = 16;      // minutes in a launch at most; minutes whose samples are kept
constexpr int kFilterSteps = 2048, kLocateSteps = 16384;

/// `steps` steps of x = factor * x + 1, modulo 2^32.
__host__ __device__ unsigned mix(unsigned x, unsigned factor, int steps) {
    for (int step = 0; step < steps; ++step) x = factor * x + 1;
    return x;
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

/// Combines what the stations say of one minute; they are `stride` numbers apart.
__global__ void locate(const unsigned* motion, int stride, unsigned* place) {
    unsigned sum = 0;
    for (int station = 0; station < kStations; ++station) sum = 3 * sum + motion[station * stride];
    *place = mix(sum, 5, kLocateSteps);
}

/// A shock moves the ground at one station or more.
bool is_shock(const char* moved) {
    return std::any_of(moved, moved + kStations, [](char at_station) { return at_station; });
}

/// One seismometer: its stream, and what the GPU keeps for it.
struct Station {
    Stream stream = make_stream();
    Event filtered = make_event(cudaEventDisableTiming);
    std::unique_ptr<unsigned[], DeviceFree> ring = device_array<unsigned>(kRing * kSamples);
    unsigned *motion, *gain;
    int next = 0, waiting = 0;  // the first minute not yet given to `filter`, and how many have come since

    /// Launches `filter` for all minutes that have come.
    void launch() {
        if (waiting == 0) return;
        filter<<<waiting, kSamples, 0, stream.get()>>>(ring.get(), gain, motion, next);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaEventRecord(filtered.get(), stream.get()));
        next += std::exchange(waiting, 0);
    }

    /// Takes a minute's samples. Minutes in which nothing moved here are filtered together.
    void take(const std::vector<unsigned>& samples, bool moved) {
        const int slot = (next + waiting++) % kRing;
        CUDA_CHECK(cudaMemcpyAsync(&ring[slot * kSamples], samples.data(), kSamples * sizeof(unsigned),
                                   cudaMemcpyHostToDevice, stream.get()));
        if (moved || waiting == kTogether) launch();
    }
};

int main(int argc, char** argv) {
    Options options(argc, argv, "Filters what three seismometers send, and locates shocks.");
    const int minutes = static_cast<int>(options.integer("--minutes", 192, 1, 10'000, "minutes"));
    options.done();
    require_gpu(size_t{kStations} * (minutes + kRing * kSamples) * sizeof(unsigned));

    std::mt19937 random(3);
    std::vector<unsigned> gains(2 * kStations), sent(size_t{kSamples} * kStations * minutes), places, found;
    std::vector<char> moved(size_t{kStations} * minutes);
    for (unsigned& gain : gains) gain = static_cast<unsigned>(random()) / 8 * 8 + 5;
    for (int minute = 0; minute < minutes; ++minute) {
        char* const its_moved = &moved[size_t{kStations} * minute];
        if (random() % 8 == 0) {
            for (int s = 0; s < kStations; ++s) its_moved[s] = random() % 8 != 0;
            its_moved[random() % kStations] = true;
        }
        unsigned all = 0;
        for (int s = 0; s < kStations; ++s) {
            unsigned sum = 0;
            for (int i = 0; i < kSamples; ++i) {
                unsigned& sample = sent[(size_t{kStations} * minute + s) * kSamples + i];
                sample = static_cast<unsigned>(random());
                if (is_shock(its_moved))
                    sum += mix(sample, gains[minute < minutes / 2 ? s : kStations + s], kFilterSteps);
            }
            all = 3 * all + sum;
        }
        if (is_shock(its_moved)) places.push_back(mix(all, 5, kLocateSteps));
    }
    const auto device_gains = device_array<unsigned>(kStations), device_place = device_array<unsigned>(1),
               motion = device_array<unsigned>(size_t{kStations} * minutes);
    CUDA_CHECK(cudaMemset(motion.get(), 0, size_t{kStations} * minutes * sizeof(unsigned)));
    CUDA_CHECK(
        cudaMemcpy(device_gains.get(), gains.data(), kStations * sizeof(unsigned), cudaMemcpyHostToDevice));
    Station stations[kStations];
    for (int s = 0; s < kStations; ++s) {
        stations[s].motion = &motion[size_t{1} * s * minutes];
        stations[s].gain = &device_gains[s];
    }
    const Stream alarms = make_stream();
    {
        nvtx3::scoped_range range{"warm-up"};
        for (Station& station : stations) {
            CUDA_CHECK(cudaMemset(station.ring.get(), 0, kRing * kSamples * sizeof(unsigned)));
            filter<<<1, kSamples, 0, station.stream.get()>>>(station.ring.get(), station.gain, station.motion,
                                                             0);
            CUDA_CHECK(cudaGetLastError());
        }
        locate<<<1, 1, 0, alarms.get()>>>(motion.get(), minutes, device_place.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
        CUDA_CHECK(cudaMemset(motion.get(), 0, size_t{kStations} * minutes * sizeof(unsigned)));
    }

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"watch"};
        std::vector<unsigned> samples(kSamples);
        for (int minute = 0; minute < minutes; ++minute) {
            if (minute == minutes / 2) {  // once a night the gains are set anew
                for (Station& station : stations) station.launch();
                CUDA_CHECK(cudaMemcpy(device_gains.get(), &gains[kStations], kStations * sizeof(unsigned),
                                      cudaMemcpyHostToDevice));
            }
            const char* const its_moved = &moved[size_t{kStations} * minute];
            for (int s = 0; s < kStations; ++s) {
                std::copy_n(&sent[(size_t{kStations} * minute + s) * kSamples], kSamples, samples.begin());
                stations[s].take(samples, its_moved[s]);
            }
            if (!is_shock(its_moved)) continue;
            for (Station& station : stations) {
                station.launch();
                CUDA_CHECK(cudaStreamWaitEvent(alarms.get(), station.filtered.get()));
            }
            locate<<<1, 1, 0, alarms.get()>>>(&motion[minute], minutes, device_place.get());
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
