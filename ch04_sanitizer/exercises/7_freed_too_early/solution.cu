// Measures the energy of batches of readings in two stages, a stream each: one squares the readings into
// memory from the pool, the other adds the squares up. Each batch's memory goes back to the pool.
//
// Right: the memory is freed in the stream of its last user, behind that user. The stream's order does the
// rest: no further event, and nobody waits.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. -Xcompiler=-rdynamic solution.cu -o solution
//          (in this folder)
// look:    compute-sanitizer --tool memcheck --track-stream-ordered-races all ./solution --count 1003
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;
constexpr int kSums = 4 * kThreads;  // partial sums of a batch, which the host adds up

__global__ void square(const float* readings, float* squares, int count) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) squares[i] = readings[i] * readings[i];
}

/// Each thread adds up every kSums-th square from its own number on.
__global__ void add_up(const float* squares, float* sums, int count) {
    const int first = blockIdx.x * kThreads + threadIdx.x;
    float sum = 0;
    for (int i = first; i < count; i += kSums) sum += squares[i];
    sums[first] = sum;
}

/// Lets the device's memory pool keep what is freed, for the next batch; by default it goes back to the
/// driver when the host waits. Ends the program with exit code 77 where there are no memory pools.
void keep_freed_memory() {
    int supported = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    if (!supported) {
        std::fprintf(stderr, "no suitable GPU: it has no memory pools\n");
        std::exit(77);
    }
    cudaMemPool_t pool = nullptr;
    CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    uint64_t bytes_to_keep = UINT64_MAX;
    CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes_to_keep));
}

/// Prints what a batch's energy should be, and what the sums make of it; whether they agree.
bool show(int batch, const float* readings, int count, const float* sums) {
    double expected = 0, found = 0;
    for (int i = 0; i < count; ++i) expected += static_cast<double>(readings[i]) * readings[i];
    for (int i = 0; i < kSums; ++i) found += sums[i];
    std::printf("batch %d: expected %.3f, found %.3f\n", batch, expected, found);
    return std::fabs(found - expected) <= 1e-4 * expected;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Measures the energy of batches of readings, with memory from a pool.");
    const int count =
        static_cast<int>(options.integer("--count", 1000003, 1, 1 << 24, "readings in a batch"));
    const int batches = static_cast<int>(options.integer("--batches", 4, 1, 16, "batches"));
    options.done();
    const size_t total = size_t{1} * count * batches, bytes = count * sizeof(float);
    require_gpu(batches * bytes + bytes + kSums * sizeof(float));
    keep_freed_memory();

    const auto readings = pinned_array<float>(total), sums = pinned_array<float>(kSums);
    std::mt19937 random(7);
    for (size_t i = 0; i < total; ++i) readings[i] = static_cast<float>(random() % 2001) / 1000 - 1;
    const auto device_readings = device_array<float>(total), device_sums = device_array<float>(kSums);
    CUDA_CHECK(cudaMemcpy(device_readings.get(), readings.get(), batches * bytes, cudaMemcpyHostToDevice));

    const Stream squaring = make_stream(cudaStreamNonBlocking), adding = make_stream(cudaStreamNonBlocking);
    const Event squared = make_event(cudaEventDisableTiming);
    const int blocks = (count + kThreads - 1) / kThreads;
    int wrong = 0;
    {
        nvtx3::scoped_range range{"energy"};
        for (int batch = 0; batch < batches; ++batch) {
            const size_t begin = size_t{1} * batch * count;
            float* squares = nullptr;
            CUDA_CHECK(cudaMallocAsync(&squares, bytes, squaring.get()));
            square<<<blocks, kThreads, 0, squaring.get()>>>(&device_readings[begin], squares, count);
            CUDA_CHECK(cudaGetLastError());
            CUDA_CHECK(cudaEventRecord(squared.get(), squaring.get()));
            CUDA_CHECK(cudaStreamWaitEvent(adding.get(), squared.get()));
            add_up<<<kSums / kThreads, kThreads, 0, adding.get()>>>(squares, device_sums.get(), count);
            CUDA_CHECK(cudaGetLastError());
            CUDA_CHECK(cudaFreeAsync(squares, adding.get()));
            CUDA_CHECK(cudaMemcpyAsync(sums.get(), device_sums.get(), kSums * sizeof(float),
                                       cudaMemcpyDeviceToHost, adding.get()));
            CUDA_CHECK(cudaStreamSynchronize(adding.get()));
            wrong += !show(batch, &readings[begin], count, sums.get());
        }
    }
    std::printf("wrong batches: expected 0, found %d of %d\n", wrong, batches);
    return wrong == 0 ? 0 : 1;
}
