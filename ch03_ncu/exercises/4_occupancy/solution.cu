// Convoys of 32 vehicles drive along roads that are given as a table: from each place one road leads on, an
// hour long, and each place takes a toll. The program computes what a week of tolls costs each vehicle today,
// when a toll counts for a little less with every hour that it lies ahead.
//
// Right: each toll is added when it is met, with the weight that it has by then. A thread keeps two numbers
// in place of a week of tolls, and its multiprocessor is as full of warps as it can be.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    ncu -k regex:cost_today --launch-count 1 --section Occupancy --section LaunchStats ./solution
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kConvoy = 32;  // vehicles that drive side by side: neighbours in the table, lanes of one warp
constexpr int kHours = 168, kThreads = 256;
constexpr float kDiscount = 0.98f;  // what a toll counts for when it lies an hour further ahead

/// One thread a vehicle. It cannot know where it is going before it gets there: each load waits for the last.
__global__ void cost_today(const int* next, const float* toll, float* cost, int vehicles) {
    const int vehicle = blockIdx.x * kThreads + threadIdx.x;
    if (vehicle >= vehicles) return;
    int at = vehicle;
    float sum = 0;
    float weight = 1;
    for (int hour = 0; hour < kHours; ++hour) {
        sum += weight * toll[at];
        weight *= kDiscount;
        at = next[at];
    }
    cost[vehicle] = sum;
}

int main(int argc, char** argv) {
    Options options(argc, argv,
                    "Sums up a week of tolls along roads that are given as a table, one thread a vehicle.");
    const int convoys = options.integer("--convoys", 31'251, 1, 1'000'000, "convoys of 32 vehicles");
    options.done();
    const int vehicles = convoys * kConvoy;
    const size_t bytes = vehicles * sizeof(float);
    require_gpu(3 * bytes);

    // One road leads from each convoy's places to those of the next, in random order, and back to the first.
    std::mt19937 random(4);
    std::vector<int> order(convoys);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    const auto next = pinned_array<int>(vehicles);
    const auto toll = pinned_array<float>(vehicles), cost = pinned_array<float>(vehicles);
    for (int i = 0; i < convoys; ++i)
        for (int lane = 0; lane < kConvoy; ++lane)
            next[order[i] * kConvoy + lane] = order[(i + 1) % convoys] * kConvoy + lane;
    for (int i = 0; i < vehicles; ++i) toll[i] = static_cast<float>(random() >> 8) / (1 << 24);
    const auto device_next = device_array<int>(vehicles);
    const auto device_toll = device_array<float>(vehicles), device_cost = device_array<float>(vehicles);
    CUDA_CHECK(cudaMemcpy(device_next.get(), next.get(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_toll.get(), toll.get(), bytes, cudaMemcpyHostToDevice));

    const auto drive = [&](const char* name) {
        const nvtx3::scoped_range range{name};
        const int blocks = (vehicles + kThreads - 1) / kThreads;
        cost_today<<<blocks, kThreads>>>(device_next.get(), device_toll.get(), device_cost.get(), vehicles);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    drive("warm-up");
    CUDA_CHECK(cudaMemset(device_cost.get(), 0xFF, bytes));  // not a number
    drive("drive");
    CUDA_CHECK(cudaMemcpy(cost.get(), device_cost.get(), bytes, cudaMemcpyDeviceToHost));

    int wrong = 0, shown = 0;
    double shown_expected = 0;
    for (int first = 0; first < vehicles; first += kConvoy) {  // a convoy at a time: the CPU has lanes, too
        double expected[kConvoy] = {}, weight = 1;
        int at[kConvoy];
        std::iota(at, at + kConvoy, first);
        for (int hour = 0; hour < kHours; ++hour, weight *= kDiscount)
            for (int lane = 0; lane < kConvoy; ++lane) {
                expected[lane] += weight * toll[at[lane]];
                at[lane] = next[at[lane]];
            }
        for (int lane = 0; lane < kConvoy; ++lane) {
            const bool right = std::fabs(cost[first + lane] - expected[lane]) <= 1e-4 * expected[lane];
            if (first + lane == 0 || (!right && wrong == 0))
                shown = first + lane, shown_expected = expected[lane];
            wrong += !right;
        }
    }
    std::printf("vehicle %d: expected %.5f, found %.5f; %d of %d vehicles wrong\n", shown, shown_expected,
                cost[shown], wrong, vehicles);
    return wrong == 0 ? 0 : 1;
}
