// Adds two arrays in host memory on the GPU: both are copied up, added, and the sum is copied down.
//
// Right: the arrays are cut into chunks, and chunk after chunk goes to the next of four streams. While one
// chunk goes up, another is added and a third comes down; within a stream the order still holds. Copies are
// quicker in large pieces, but the last one down has nothing to run beside: the chunks get smaller.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kBlocks = 1280, kThreads = 256;
constexpr size_t kStreams = 4;

__global__ void add(const float* a, const float* b, float* c, size_t count) {
    for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < count; i += size_t{kBlocks} * kThreads)
        c[i] = a[i] + b[i];
}

void copy_up(float* device, const float* host, size_t count, cudaStream_t stream) {
    CUDA_CHECK(cudaMemcpyAsync(device, host, count * sizeof(float), cudaMemcpyHostToDevice, stream));
}

void copy_down(float* host, const float* device, size_t count, cudaStream_t stream) {
    CUDA_CHECK(cudaMemcpyAsync(host, device, count * sizeof(float), cudaMemcpyDeviceToHost, stream));
}

/// Does `work` in an NVTX range, from an idle GPU to an idle GPU; returns the milliseconds on the clock.
template <class Work>
double timed_ms(const char* name, Work work) {
    CUDA_CHECK(cudaDeviceSynchronize());
    const auto start = std::chrono::steady_clock::now();
    nvtx3::scoped_range range{name};
    work();
    CUDA_CHECK(cudaDeviceSynchronize());
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Adds two arrays of random numbers that live in host memory.");
    const size_t count = options.integer("--count", 100'000'007, 1, 1'000'000'000, "numbers in each array");
    const size_t chunks = options.integer("--chunks", 12, 1, 1024, "chunks that the arrays are cut into");
    options.done();
    require_gpu(3 * count * sizeof(float));

    const auto a = pinned_array<float>(count), b = pinned_array<float>(count), c = pinned_array<float>(count);
    std::mt19937 random(1);
    for (size_t i = 0; i < count; ++i) {
        const auto bits = static_cast<unsigned>(random());
        a[i] = static_cast<float>(bits >> 8) / (1 << 24);
        b[i] = static_cast<float>(bits % (1 << 24)) / (1 << 24);
    }
    const auto device_a = device_array<float>(count), device_b = device_array<float>(count),
               device_c = device_array<float>(count);
    std::vector<cudaStream_t> streams(kStreams);
    for (cudaStream_t& stream : streams)
        CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    timed_ms("warm-up", [&] {
        for (const cudaStream_t stream : streams) {
            copy_up(device_c.get(), a.get(), 1, stream);
            add<<<kBlocks, kThreads, 0, stream>>>(device_a.get(), device_b.get(), device_c.get(), 0);
            CUDA_CHECK(cudaGetLastError());
            copy_down(c.get(), device_c.get(), 1, stream);
        }
    });

    // The bound: all copies of the task at once, up in one stream and down in another, with nothing to wait
    // for. No pipeline moves the same bytes sooner, and none is done before its kernels are.
    const auto all_up = [&] {
        copy_up(device_a.get(), a.get(), count, streams[0]);
        copy_up(device_b.get(), b.get(), count, streams[0]);
    };
    const auto all_down = [&] { copy_down(c.get(), device_c.get(), count, streams[1]); };
    const double up_ms = timed_ms("bound: up", all_up);
    const double kernel_ms = timed_ms("bound: kernel", [&] {
        add<<<kBlocks, kThreads, 0, streams[0]>>>(device_a.get(), device_b.get(), device_c.get(), count);
        CUDA_CHECK(cudaGetLastError());
    });
    const double down_ms = timed_ms("bound: down", all_down);
    double both_ms = INFINITY;  // the best of three: a bound that can be beaten is none
    for (int i = 0; i < 3; ++i)
        both_ms = std::min(both_ms, timed_ms("bound: both", [&] {
                               all_up();
                               all_down();
                           }));
    const double bound_ms = std::max(both_ms, kernel_ms);

    // Nothing of the above may pass for an answer: four bytes of 0xFF are a NaN.
    std::fill(c.get(), c.get() + count, NAN);
    for (float* const array : {device_a.get(), device_b.get(), device_c.get()})
        CUDA_CHECK(cudaMemset(array, 0xFF, count * sizeof(float)));

    const double pipeline_ms = timed_ms("pipeline", [&] {
        // Large chunks first: copies are quicker in large pieces, and only the last one has nothing to run
        // beside.
        const auto edge = [&](size_t chunk) {
            const double left = 1 - static_cast<double>(chunk) / static_cast<double>(chunks);
            return static_cast<size_t>(static_cast<double>(count) * (1 - left * left));
        };
        for (size_t chunk = 0; chunk < chunks; ++chunk) {
            const size_t begin = edge(chunk), length = edge(chunk + 1) - begin;
            const cudaStream_t stream = streams[chunk % kStreams];
            copy_up(device_a.get() + begin, &a[begin], length, stream);
            copy_up(device_b.get() + begin, &b[begin], length, stream);
            add<<<kBlocks, kThreads, 0, stream>>>(device_a.get() + begin, device_b.get() + begin,
                                                  device_c.get() + begin, length);
            CUDA_CHECK(cudaGetLastError());
            copy_down(&c[begin], device_c.get() + begin, length, stream);
        }
    });

    size_t wrong = 0, first_wrong = 0;
    for (size_t i = 0; i < count; ++i)
        if (!(c[i] == a[i] + b[i]) && wrong++ == 0) first_wrong = i;
    std::printf("alone: up %.2f ms, kernel %.2f ms, down %.2f ms; up and down at once %.2f ms\n", up_ms,
                kernel_ms, down_ms, both_ms);
    std::printf("bound %.2f ms, pipeline %.2f ms: %.2f of the bound\n", bound_ms, pipeline_ms,
                bound_ms / pipeline_ms);
    std::printf("number %zu: expected %.6f, found %.6f; %zu of %zu numbers wrong\n", first_wrong,
                a[first_wrong] + b[first_wrong], c[first_wrong], wrong, count);
    return wrong == 0 ? 0 : 1;
}
