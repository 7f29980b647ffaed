// A server cools a big batch of samples, one kernel of very many blocks. Meanwhile small urgent requests
// arrive, one every millisecond, and go to a stream of their own.
//
// Right: the requests' stream has the greatest priority and the batch's the least, so a request's blocks take
// the next places that become free on the GPU, ahead of the blocks of the batch that still wait.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <thread>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;
constexpr int kRequestSamples = 1000;
constexpr int kBatchSteps = 16384, kRequestSteps = 512;
constexpr float kRoom = 20;  // degrees Celsius

/// What starts at `from` degrees and is kept at `to` degrees, after `steps` small steps in time: about 13 %
/// of the difference is left.
__device__ float approach(float from, float to, int steps) {
    const float rate = 2.0f / static_cast<float>(steps);
    for (int step = 0; step < steps; ++step) from += rate * (to - from);
    return from;
}

__global__ void cool_batch(const float* start, float* end, size_t count) {
    const size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x;
    if (i < count) end[i] = approach(start[i], kRoom, kBatchSteps);
}

__global__ void answer_request(const float* start, float* end, size_t count) {
    const size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x;
    if (i < count) end[i] = approach(start[i], kRoom, kRequestSteps);
}

unsigned blocks_for(size_t count) {
    return static_cast<unsigned>((count + kThreads - 1) / kThreads);
}

cudaStream_t make_stream(int priority) {
    cudaStream_t stream = nullptr;
    CUDA_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
    return stream;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Answers small urgent requests while a big batch has the GPU.");
    const size_t batch = options.integer("--batch", 20'000'003, 1, 200'000'000, "samples in the batch");
    const size_t requests = options.integer("--requests", 5, 1, 100, "urgent requests");
    options.done();
    const size_t total = batch + requests * kRequestSamples, bytes = total * sizeof(float);
    require_gpu(2 * bytes);

    const auto start = pinned_array<float>(total), end = pinned_array<float>(total);
    std::mt19937 random(6);
    for (size_t i = 0; i < total; ++i) start[i] = 60 + static_cast<float>(random() % 4000) / 100;
    const auto device_start = device_array<float>(total), device_end = device_array<float>(total);
    CUDA_CHECK(cudaMemcpy(device_start.get(), start.get(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(device_end.get(), 0xFF, bytes));  // not a number, until somebody writes it

    int least = 0, greatest = 0;  // the greatest priority is the lowest number
    CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    const cudaStream_t background = make_stream(least), urgent = make_stream(greatest);
    {
        nvtx3::scoped_range range{"warm-up"};
        cool_batch<<<1, kThreads, 0, background>>>(device_start.get(), device_end.get(), 0);
        CUDA_CHECK(cudaGetLastError());
        answer_request<<<1, kThreads, 0, urgent>>>(device_start.get(), device_end.get(), 0);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    const auto began = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"serve"};
        cool_batch<<<blocks_for(batch), kThreads, 0, background>>>(device_start.get(), device_end.get(),
                                                                   batch);
        CUDA_CHECK(cudaGetLastError());
        for (size_t request = 0; request < requests; ++request) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));  // until the next request arrives
            const size_t first = batch + request * kRequestSamples;
            answer_request<<<blocks_for(kRequestSamples), kThreads, 0, urgent>>>(
                &device_start[first], &device_end[first], kRequestSamples);
            CUDA_CHECK(cudaGetLastError());
        }
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - began;

    CUDA_CHECK(cudaMemcpy(end.get(), device_end.get(), bytes, cudaMemcpyDeviceToHost));
    const double batch_left = std::pow(1 - 2.0 / kBatchSteps, kBatchSteps);
    const double request_left = std::pow(1 - 2.0 / kRequestSteps, kRequestSteps);
    size_t wrong = 0;
    for (size_t i = 0; i < total; ++i) {
        const double expected = kRoom + (start[i] - kRoom) * (i < batch ? batch_left : request_left);
        if (!(std::fabs(end[i] - expected) <= 0.01) && ++wrong == 1)
            std::printf("sample %zu: expected %.2f degrees, found %.2f\n", i, expected, end[i]);
    }
    std::printf("%zu samples in the batch, %zu requests: %.2f ms\n", batch, requests, elapsed.count());
    std::printf("wrong samples: expected 0, found %zu of %zu\n", wrong, total);
    return wrong == 0 ? 0 : 1;
}
