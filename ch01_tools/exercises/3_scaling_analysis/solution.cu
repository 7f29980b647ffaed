// Runs one kernel in launches of one block to hundreds of blocks per SM: one launch of
// blocks that work for long (`grid`), and launch after launch of blocks that are soon done (`batch`). Each
// size is a job, which begins with sand that has just come in. Then ships both with the size that a rule
// picks from the measured throughput.
//
// Right: it ships the fewest blocks per launch whose throughput is within 10 % of the best, on any GPU.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <algorithm>
#include <chrono>
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
constexpr int kKinds = 4001;  // of grains, which differ in their size
constexpr float kWeight = 9.81F, kForm = 0.4F;
constexpr size_t kMostBytes = size_t{64} << 20;

/// What the sand of all jobs is like, and the liquid in which it sinks.
struct Sand {
    int bags;         // it's delivered in
    double quartz;    // its share of the grains; the rest is shell, which is thrown away
    float viscosity;  // of the liquid
};

Sand draw_sand(std::mt19937& random) {
    const auto between = [&](double least, double most) {
        return least * std::pow(most / least, static_cast<double>(random()) / std::mt19937::max());
    };
    return {static_cast<int>(between(1, 64)), between(0.003, 1), static_cast<float>(between(0.01, 1))};
}

/// The diameter of the next grain of quartz, in mm.
float draw_grain(std::mt19937& random, const Sand& sand) {
    while (random() >= sand.quartz * std::mt19937::max()) {  // shell
    }
    return 0.6F + static_cast<float>(random() % 801) / 1000;
}

/// In every step a grain keeps a part of its speed and gains some by its weight.
struct Kind {
    float keep, gain;
};

/// The drag of each kind of grain where it equals the weight. It grows with the speed, and the speed depends
/// on it, so each is worked out from the other until they agree.
__global__ void settle(const float* diameters, Kind* kinds, float viscosity, int steps) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kKinds; i += gridDim.x * blockDim.x) {
        const float viscous = viscosity / (diameters[i] * diameters[i]), form = kForm / diameters[i];
        float speed = 1, before = 0, drag = 0;
        while (fabsf(speed - before) > 1e-4F * speed) {
            before = speed;
            drag = viscous + form * speed;
            speed = kWeight / drag;
        }
        kinds[i] = {1 - drag / steps, kWeight / steps};
    }
}

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

/// The speed of a grain after its steps, on the host.
double expected_speed(double diameter, double viscosity, int steps) {
    const double half = viscosity / (diameter * diameter) / 2;
    const double drag = half + std::sqrt(half * half + double{kForm} / diameter * kWeight);
    return kWeight / drag * (1 - std::pow(1 - drag / steps, steps));
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
    const auto seed = static_cast<unsigned>(options.integer("--seed", 2280, 0, 1'000'000, "of the sand"));
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

    std::mt19937 random(seed);
    const Sand sand = draw_sand(random);
    std::printf("sand: %d bags, %.1f %% quartz, viscosity %.3f\n", sand.bags, 100 * sand.quartz,
                sand.viscosity);
    std::vector<float> diameters(kKinds), speeds(size_t{kThreads} * largest);
    const auto gpu_speeds = device_array<float>(speeds.size());

    size_t wrong = 0;
    // Does the launches of a workload with so many blocks each, for sand of its own; checks every grain.
    const auto run = [&](const Workload& work, int blocks, const std::string& name) {
        const size_t grains = size_t{kThreads} * blocks, bytes = grains * sizeof(float);
        const auto begin = std::chrono::steady_clock::now();
        {
            const nvtx3::scoped_range job{"job " + name};
            const auto gpu_diameters = device_array<float>(kKinds);
            const auto gpu_kinds = device_array<Kind>(kKinds);
            const int bag = (kKinds + sand.bags - 1) / sand.bags;
            for (int first = 0; first < kKinds; first += bag) {
                const int count = std::min(bag, kKinds - first);
                for (int i = 0; i < count; ++i) diameters[first + i] = draw_grain(random, sand);
                CUDA_CHECK(cudaMemcpy(&gpu_diameters[first], &diameters[first], count * sizeof(float),
                                      cudaMemcpyHostToDevice));
            }
            settle<<<(kKinds + kThreads - 1) / kThreads, kThreads>>>(gpu_diameters.get(), gpu_kinds.get(),
                                                                     sand.viscosity, work.steps);
            CUDA_CHECK(cudaGetLastError());
            CUDA_CHECK(cudaMemset(gpu_speeds.get(), 0xFF, bytes));  // not a number
            CUDA_CHECK(cudaDeviceSynchronize());
            const nvtx3::scoped_range range{name};
            for (int launch = 0; launch < work.launches; ++launch) {
                sink<<<blocks, kThreads>>>(gpu_kinds.get(), gpu_speeds.get(), work.steps);
                CUDA_CHECK(cudaGetLastError());
            }
            CUDA_CHECK(cudaDeviceSynchronize());
        }
        const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - begin;
        std::vector<double> expected;
        for (const float diameter : diameters)
            expected.push_back(expected_speed(diameter, sand.viscosity, work.steps));
        CUDA_CHECK(cudaMemcpy(speeds.data(), gpu_speeds.get(), bytes, cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < grains; ++i)
            wrong += !(std::fabs(speeds[i] / expected[i % kKinds] - 1) <= 5e-3);
        return Sample{blocks, 1.0 * work.launches * blocks / ms.count()};
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
