// Cools an array of temperatures (in degrees Celsius) by Newton's law, in parts: each part is copied to
// the GPU, cooled and copied back in a stream of its own.
//
// Symptom: four non-blocking streams, every copy asynchronous by name, and still no copy runs next to a
// kernel; the host waits inside the copy calls as well.
// Task: make the copies really asynchronous.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr unsigned kThreads = 256;
constexpr size_t kStreams = 4;
constexpr float kAmbient = 20;        // degrees Celsius
constexpr float kRate = 1.0f / 4096;  // share of the distance to the ambient temperature lost in a time step

/// One thread per temperature. Arithmetic only, so a part takes longer to cool than to copy at full rate.
__global__ void cool(float* temperature, size_t count, int steps) {
    const size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x;
    if (i >= count) return;
    float t = temperature[i];
    for (int step = 0; step < steps; ++step) t += kRate * (kAmbient - t);
    temperature[i] = t;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Cools an array of random temperatures, in four parts, one stream a part.");
    const size_t count = options.integer("--count", 32'000'003, kStreams, 500'000'000, "temperatures");
    const int steps = options.integer("--steps", 6000, 1, 100'000, "time steps");
    options.done();
    require_gpu(count * sizeof(float));

    // TODO(learner): every copy below reads one of these two or writes the other.
    std::vector<float> hot(count), cooled(count);
    std::mt19937 random(2);
    for (size_t i = 0; i < count; ++i) {
        hot[i] = kAmbient + static_cast<float>(random() >> 8) * 80 / (1 << 24);
        cooled[i] = NAN;
    }
    const auto device = device_array<float>(count);
    std::vector<Stream> streams(kStreams);
    for (Stream& stream : streams) stream = make_stream(cudaStreamNonBlocking);

    const auto cool_part = [&](size_t begin, size_t length, int part_steps, cudaStream_t stream) {
        const auto blocks = static_cast<unsigned>((length + kThreads - 1) / kThreads);
        CUDA_CHECK(cudaMemcpyAsync(device.get() + begin, &hot[begin], length * sizeof(float),
                                   cudaMemcpyHostToDevice, stream));
        cool<<<blocks, kThreads, 0, stream>>>(device.get() + begin, length, part_steps);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemcpyAsync(&cooled[begin], device.get() + begin, length * sizeof(float),
                                   cudaMemcpyDeviceToHost, stream));
    };

    // A GPU that reads the host's page tables (ATS) needn't show what this program is about.
    int reads_pageable = 0;
    cudaPointerAttributes memory{};
    CUDA_CHECK(cudaDeviceGetAttribute(&reads_pageable, cudaDevAttrPageableMemoryAccessUsesHostPageTables, 0));
    CUDA_CHECK(cudaPointerGetAttributes(&memory, &hot[0]));
    if (reads_pageable && memory.type == cudaMemoryTypeUnregistered) {
        std::fprintf(stderr, "no suitable GPU: it reads pageable memory through the host's page tables\n");
        return 77;
    }

    {
        nvtx3::scoped_range range{"warm-up"};
        for (const Stream& stream : streams) cool_part(0, 1, 0, stream.get());
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"cool"};
        for (size_t part = 0; part < kStreams; ++part) {
            const size_t begin = count * part / kStreams, end = count * (part + 1) / kStreams;
            cool_part(begin, end - begin, steps, streams[part].get());
        }
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    // What all time steps together leave of the distance to the ambient temperature, in one formula.
    const double left = std::pow(1 - double{kRate}, steps);
    double expected_sum = 0, found_sum = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < count; ++i) {
        const double expected = kAmbient + left * (hot[i] - kAmbient);
        expected_sum += expected;
        found_sum += cooled[i];
        wrong += !(std::fabs(cooled[i] - expected) <= 0.02);
    }
    std::printf("%zu temperatures in %zu parts: %.2f ms\n", count, kStreams, elapsed.count());
    std::printf("mean: expected %.4f, found %.4f; %zu of %zu temperatures wrong\n", expected_sum / count,
                found_sum / count, wrong, count);
    return wrong == 0 ? 0 : 1;
}
