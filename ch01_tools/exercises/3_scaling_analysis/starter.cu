// Runs one kernel in launches of one block to hundreds of blocks per SM: one launch of
// blocks that work for long (`grid`), and launch after launch of blocks that are soon done (`batch`). Then
// ships both with the size that a rule picks from the measured throughput.
//
// Symptom: what it ships takes several times as long as a smaller launch would, which does nearly as many
// blocks per second.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 128;  // four warps: one for each scheduler of an SM
constexpr int kBlocksPerSm[] = {1, 2, 3, 4, 6, 8, 16, 32, 64, 128, 256, 512};
constexpr int kRepetitions = 3;
constexpr int kKinds = 4001;  // of grains, which differ in their drag
constexpr size_t kMostBytes = size_t{64} << 20;

/// In every step a grain keeps a part of its speed and gains some by its weight.
struct Kind {
    float keep, gain;
};

/// Each thread lets one grain of sand sink from rest. A step needs the result of the one before, so a warp by
/// itself mostly waits for its own arithmetic.
__global__ void sink(const Kind* kinds, float* speeds, int steps) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    const Kind kind = kinds[i % kKinds];
    float speed = 0;
#pragma unroll 16
    for (int step = 0; step < steps; ++step) speed = speed * kind.keep + kind.gain;
    speeds[i] = speed;
}

/// One measurement of a sweep, which measures every size several times.
struct Sample {
    int blocks;  // in one launch
    double blocks_per_ms;
};

/// The blocks per launch to ship: the fewest whose throughput is within 10 % of the best.
int choose(const std::vector<Sample>& samples) {
    double best = 0;
    for (const Sample& sample : samples) best = std::max(best, sample.blocks_per_ms);
    int fewest = INT_MAX;
    for (const Sample& sample : samples)
        if (sample.blocks_per_ms >= 0.9 * best) fewest = std::min(fewest, sample.blocks);
    return fewest;
}

struct Workload {
    std::string name;
    int launches, steps;
};

int main(int argc, char** argv) {
    Options options(argc, argv, "Sweeps the blocks a launch, for long and for short blocks, and ships both.");
    const auto steps = static_cast<int>(
        options.integer("--steps", 131'072, 128, 200'000, "steps of a long block; a short one has 1/128"));
    const auto most = options.integer("--most", 512, 1, 512, "most blocks for each multiprocessor");
    options.done();
    require_gpu(kMostBytes);  // 256 KiB per SM
    int multiprocessors = 0, resident = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, sink, kThreads, 0));
    const int wave = resident * multiprocessors;  // blocks that the GPU holds at once
    std::vector<int> sizes{1};
    for (const int blocks : kBlocksPerSm)
        if (blocks <= most) sizes.push_back(blocks * multiprocessors);
    const int largest = std::max(sizes.back(), wave + 1);

    std::vector<Kind> kinds(kKinds);
    std::vector<float> speeds(size_t{kThreads} * largest);
    const auto gpu_kinds = device_array<Kind>(kKinds);
    const auto gpu_speeds = device_array<float>(speeds.size());
    const Event before = make_event(), after = make_event();

    size_t wrong = 0;
    // Does the launches of a workload with so many blocks each, in a range of that name; checks every grain.
    const auto run = [&](const Workload& work, int blocks, const std::string& name) {
        CUDA_CHECK(cudaEventRecord(before.get()));
        std::mt19937 random(3);
        std::vector<double> expected;
        for (Kind& kind : kinds) {  // ends within e^-2, about 13 %, of the speed at which drag equals weight
            const double drag = (1.5 + static_cast<double>(random() % 1000) / 1000) / work.steps;
            kind = {static_cast<float>(1 - drag), static_cast<float>(9.81 / work.steps)};
            expected.push_back(kind.gain * (1 - std::pow(double{kind.keep}, work.steps)) / (1.0 - kind.keep));
        }
        const size_t grains = size_t{kThreads} * blocks, bytes = grains * sizeof(float);
        CUDA_CHECK(cudaMemcpy(gpu_kinds.get(), kinds.data(), kKinds * sizeof(Kind), cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemset(gpu_speeds.get(), 0xFF, bytes));  // not a number
        CUDA_CHECK(cudaDeviceSynchronize());
        {
            const nvtx3::scoped_range range{name};
            for (int launch = 0; launch < work.launches; ++launch) {
                sink<<<blocks, kThreads>>>(gpu_kinds.get(), gpu_speeds.get(), work.steps);
                CUDA_CHECK(cudaGetLastError());
            }
            CUDA_CHECK(cudaEventRecord(after.get()));
            CUDA_CHECK(cudaDeviceSynchronize());
        }
        float ms = 0;
        CUDA_CHECK(cudaEventElapsedTime(&ms, before.get(), after.get()));
        CUDA_CHECK(cudaMemcpy(speeds.data(), gpu_speeds.get(), bytes, cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < grains; ++i)
            wrong += !(std::fabs(speeds[i] / expected[i % kKinds] - 1) <= 1e-3);
        return Sample{blocks, 1.0 * work.launches * blocks / ms};
    };

    const Workload grid{"grid", 1, steps}, batch{"batch", 16, steps / 128};
    for (const Workload& work : {grid, batch}) {
        run(work, largest, "warm-up");
        std::vector<Sample> samples;
        // The whole sweep, then the whole sweep again: a moment of noise meets one sample of a size, not all.
        for (int repetition = 0; repetition < kRepetitions; ++repetition)
            for (const int blocks : sizes)
                samples.push_back(run(work, blocks, work.name + " " + std::to_string(blocks)));
        for (size_t i = 0; i < sizes.size(); ++i) {
            std::printf("%-5s %7d blocks a launch:", work.name.c_str(), sizes[i]);
            for (size_t j = i; j < samples.size(); j += sizes.size())
                std::printf(" %9.2f", samples[j].blocks_per_ms);
            std::printf(" blocks/ms\n");
        }
        const Sample shipped = run(work, std::clamp(choose(samples), 1, largest), "ship " + work.name);
        std::printf("ship %s: %d blocks a launch, %.2f blocks/ms\n", work.name.c_str(), shipped.blocks,
                    shipped.blocks_per_ms);
    }
    for (int repetition = 0; repetition < kRepetitions; ++repetition)
        for (const int extra : {0, 1}) run(grid, wave + extra, extra == 0 ? "wave" : "wave + 1");
    std::printf("wrong grains: expected 0, found %zu\n", wrong);
    return wrong == 0 ? 0 : 1;
}
