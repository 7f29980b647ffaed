// A pipeline of two stages, one stream each: the first stage cools a batch of cups, the second holds a
// thermometer into every cup of that batch, while the first is already at the next batch.
//
// Symptom: readings come out as not a number, yet no call reports an error.
// Task: make each batch's `measure` start after that batch's `cool` is done. The GPU must do the waiting, not
// the host, and batches must still overlap.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;
constexpr int kCoolSteps = 32768, kMeasureSteps = 16384;
constexpr float kRoom = 20;  // degrees Celsius

/// What starts at `from` degrees and is kept at `to` degrees, after `steps` small steps in time: about 13 %
/// of the difference is left.
__device__ float approach(float from, float to, int steps) {
    const float rate = 2.0f / static_cast<float>(steps);
    for (int step = 0; step < steps; ++step) from += rate * (to - from);
    return from;
}

__global__ void cool(const float* poured, float* cups, int count, int steps) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) cups[i] = approach(poured[i], kRoom, steps);
}

__global__ void measure(const float* cups, float* readings, int count, int steps) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) readings[i] = approach(kRoom, cups[i], steps);
}

/// Share of the difference that `approach` leaves, worked out without the steps.
double share_left(int steps) {
    return std::pow(1 - 2.0 / steps, steps);
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Cools batches of cups in one stream and measures them in another.");
    const int cups = static_cast<int>(options.integer("--cups", 2003, 1, 4096, "cups in a batch"));
    const int batches = static_cast<int>(options.integer("--batches", 8, 1, 64, "batches"));
    options.done();
    const size_t total = size_t{1} * cups * batches, bytes = total * sizeof(float);
    require_gpu(3 * bytes);

    const auto poured = pinned_array<float>(total), readings = pinned_array<float>(total);
    std::mt19937 random(4);
    for (size_t i = 0; i < total; ++i) poured[i] = 60 + static_cast<float>(random() % 4000) / 100;
    const auto device_poured = device_array<float>(total), device_cups = device_array<float>(total),
               device_readings = device_array<float>(total);
    CUDA_CHECK(cudaMemcpy(device_poured.get(), poured.get(), bytes, cudaMemcpyHostToDevice));
    // All bits set is not a number: a cup that is read too early cannot give a right reading by luck.
    CUDA_CHECK(cudaMemset(device_cups.get(), 0xFF, bytes));
    CUDA_CHECK(cudaMemset(device_readings.get(), 0xFF, bytes));

    const Stream cooling = make_stream(cudaStreamNonBlocking), measuring = make_stream(cudaStreamNonBlocking);
    const int blocks = (cups + kThreads - 1) / kThreads;
    {
        nvtx3::scoped_range range{"warm-up"};
        cool<<<blocks, kThreads, 0, cooling.get()>>>(device_poured.get(), device_cups.get(), 0, 1);
        CUDA_CHECK(cudaGetLastError());
        measure<<<blocks, kThreads, 0, measuring.get()>>>(device_cups.get(), device_readings.get(), 0, 1);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"pipeline"};
        for (int batch = 0; batch < batches; ++batch) {
            const size_t first = size_t{1} * batch * cups;
            // TODO(learner): let the measuring stream wait for this batch's cups.
            cool<<<blocks, kThreads, 0, cooling.get()>>>(&device_poured[first], &device_cups[first], cups,
                                                         kCoolSteps);
            CUDA_CHECK(cudaGetLastError());
            measure<<<blocks, kThreads, 0, measuring.get()>>>(&device_cups[first], &device_readings[first],
                                                              cups, kMeasureSteps);
            CUDA_CHECK(cudaGetLastError());
        }
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    CUDA_CHECK(cudaMemcpy(readings.get(), device_readings.get(), bytes, cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    for (size_t i = 0; i < total; ++i) {
        const double cup = kRoom + (poured[i] - kRoom) * share_left(kCoolSteps);
        const double expected = cup + (kRoom - cup) * share_left(kMeasureSteps);
        if (!(std::fabs(readings[i] - expected) <= 0.01) && ++wrong == 1)
            std::printf("batch %zu, cup %zu: expected %.2f degrees, found %.2f\n", i / cups, i % cups,
                        expected, readings[i]);
    }
    std::printf("%d batches of %d cups: %.2f ms\n", batches, cups, elapsed.count());
    std::printf("wrong readings: expected 0, found %zu of %zu\n", wrong, total);
    return wrong == 0 ? 0 : 1;
}
