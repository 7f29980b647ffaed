// A server cools a big batch of samples, one kernel that fills the GPU a hundred times over. Meanwhile small
// urgent requests arrive and go to a stream of their own.
//
// Right: the requests' stream has the greatest priority and the batch's the least, so a request's blocks take
// the next places that become free on the GPU, ahead of the blocks of the batch that still wait.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cuda/atomic>
#include <random>
#include <thread>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;
constexpr int kParts = 10;  // of the batch; a request arrives whenever another part has begun
constexpr int kRequestSamples = 1000;
constexpr int kBatchSteps = 16384, kRequestSteps = 512;
constexpr float kRoom = 20;  // degrees Celsius

/// A flag in pinned host memory that the GPU sets and the host reads meanwhile.
using Flag = cuda::atomic_ref<int, cuda::thread_scope_system>;

/// What starts at `from` degrees and is kept at `to` degrees, after `steps` small steps in time: about 13 %
/// of the difference is left.
__device__ float approach(float from, float to, int steps) {
    const float rate = 2.0f / static_cast<float>(steps);
    for (int step = 0; step < steps; ++step) from += rate * (to - from);
    return from;
}

/// The first block of each tenth part says that this part has begun.
__global__ void cool_batch(const float* start, float* end, size_t count, int* begun) {
    const unsigned blocks_per_part = (gridDim.x + kParts - 1) / kParts;
    if (threadIdx.x == 0 && blockIdx.x % blocks_per_part == 0)
        Flag(begun[blockIdx.x / blocks_per_part]).store(1, cuda::memory_order_relaxed);
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

/// Does the stream still have work? Asking also makes Windows' WDDM driver, WSL2's too, send off launches
/// that it holds back.
bool is_busy(cudaStream_t stream) {
    const cudaError_t status = cudaStreamQuery(stream);
    if (status != cudaErrorNotReady) CUDA_CHECK(status);
    (void)cudaGetLastError();  // "not ready" is kept as the last error
    return status == cudaErrorNotReady;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Answers small urgent requests while a big batch has the GPU.");
    const size_t waves = options.integer("--waves", 100, 1, 1000, "times that the batch fills the GPU");
    const size_t requests = options.integer("--requests", 5, 1, kParts - 1, "urgent requests");
    options.done();
    require_gpu(0);
    int sms = 0, blocks_per_sm = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, cool_batch, kThreads, 0));
    const size_t batch = waves * sms * blocks_per_sm * kThreads - 1;  // the last block is not quite full
    const size_t total = batch + requests * kRequestSamples, bytes = total * sizeof(float);
    require_gpu(2 * bytes);

    const auto start = pinned_array<float>(total), end = pinned_array<float>(total);
    const auto begun = pinned_array<int>(kParts);
    std::mt19937 random(6);
    for (size_t i = 0; i < total; ++i) start[i] = 60 + static_cast<float>(random() % 4000) / 100;
    const auto device_start = device_array<float>(total), device_end = device_array<float>(total);
    CUDA_CHECK(cudaMemcpy(device_start.get(), start.get(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(device_end.get(), 0xFF, bytes));  // not a number, until somebody writes it

    int least = 0, greatest = 0;  // the greatest priority is the lowest number
    CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    const Stream background = make_stream(cudaStreamNonBlocking, least),
                 urgent = make_stream(cudaStreamNonBlocking, greatest);
    {
        nvtx3::scoped_range range{"warm-up"};
        cool_batch<<<1, kThreads, 0, background.get()>>>(device_start.get(), device_end.get(), 0,
                                                         begun.get());
        CUDA_CHECK(cudaGetLastError());
        answer_request<<<1, kThreads, 0, urgent.get()>>>(device_start.get(), device_end.get(), 0);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    for (int part = 0; part < kParts; ++part) begun[part] = 0;

    const auto began = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"serve"};
        cool_batch<<<blocks_for(batch), kThreads, 0, background.get()>>>(device_start.get(), device_end.get(),
                                                                         batch, begun.get());
        CUDA_CHECK(cudaGetLastError());
        for (size_t request = 0; request < requests; ++request) {
            // The next request arrives when the next part has begun, so the batch is running.
            while (Flag(begun[request + 1]).load(cuda::memory_order_relaxed) == 0 &&
                   is_busy(background.get()))
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            const size_t first = batch + request * kRequestSamples;
            answer_request<<<blocks_for(kRequestSamples), kThreads, 0, urgent.get()>>>(
                &device_start[first], &device_end[first], kRequestSamples);
            CUDA_CHECK(cudaGetLastError());
            (void)is_busy(urgent.get());
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
