// Divides two arrays by their sums, one after the other: copies one to the GPU, sums it with a kernel of many
// threads and a kernel of one, divides it, and copies it back.
//
// Symptom: the answer is right, but an array takes tens of milliseconds, in one run more than in another. The
// timeline does not say what belongs to which array.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I. ch02_nsys/buggy.cu -o buggy
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o buggy ./buggy
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cub/block/block_reduce.cuh>
#include <memory>
#include <random>

#include "common/check.cuh"
#include "common/options.hpp"

constexpr int kBlocks = 1280, kThreads = 256, kArrays = 2;

/// One partial sum per block: a grid-stride loop, then CUB adds what the threads have.
__global__ void partial_reduce(const float* x, size_t count, float* partial) {
    using BlockSum = cub::BlockReduce<float, kThreads>;
    __shared__ BlockSum::TempStorage shared;
    float sum = 0;
    for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < count; i += size_t{kBlocks} * kThreads)
        sum += x[i];
    sum = BlockSum(shared).Sum(sum);  // only thread 0 gets it
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

/// Adds the partial sums with one thread. The rest of the GPU is idle.
__global__ void single_thread_sum(const float* partial, float* sum) {
    *sum = 0;
    for (int i = 0; i < kBlocks; ++i) *sum += partial[i];
}

__global__ void divide_by(float* x, size_t count, const float* sum) {
    const float divisor = *sum;
    for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < count; i += size_t{kBlocks} * kThreads)
        x[i] /= divisor;
}

/// Queues the kernels for an array that's on the device.
void queue_kernels(float* x, size_t count, float* partial, float* sum) {
    partial_reduce<<<kBlocks, kThreads>>>(x, count, partial);
    CUDA_CHECK(cudaGetLastError());
    single_thread_sum<<<1, 1>>>(partial, sum);
    CUDA_CHECK(cudaGetLastError());
    divide_by<<<kBlocks, kThreads>>>(x, count, sum);
    CUDA_CHECK(cudaGetLastError());
}

/// Random numbers above 0 and up to 1, from a generator that costs one multiplication per number.
class Numbers {
  public:
    float next() { return static_cast<float>((random_() >> 40) + 1) / (1 << 24); }

  private:
    std::linear_congruential_engine<uint64_t, 6364136223846793005, 1442695040888963407, 0> random_{2};
};

int main(int argc, char** argv) {
    Options options(argc, argv, "Divides two arrays of random numbers by their sums.");
    const size_t count = options.integer("--count", 50'000'000, 1, 500'000'000, "numbers in an array");
    options.done();
    require_gpu((count + kBlocks + 1) * sizeof(float));

    const size_t bytes = count * sizeof(float);
    const auto x = std::make_unique<float[]>(kArrays * count);
    double totals[kArrays] = {};
    Numbers numbers;
    for (size_t i = 0; i < kArrays * count; ++i) totals[i / count] += x[i] = numbers.next();
    const auto device_x = device_array<float>(count), partial = device_array<float>(kBlocks),
               sum = device_array<float>(1);

    const auto start = std::chrono::steady_clock::now();
    for (size_t array = 0; array < kArrays; ++array) {
        float* const numbers_of_array = &x[array * count];
        CUDA_CHECK(cudaMemcpy(device_x.get(), numbers_of_array, bytes, cudaMemcpyHostToDevice));
        queue_kernels(device_x.get(), count, partial.get(), sum.get());
        CUDA_CHECK(cudaMemcpy(numbers_of_array, device_x.get(), bytes, cudaMemcpyDeviceToHost));
    }
    const std::chrono::duration<double, std::milli> elapsed =
        (std::chrono::steady_clock::now() - start) / kArrays;

    double found_totals[kArrays] = {};
    size_t wrong = 0;
    numbers = Numbers();  // the same numbers again
    for (size_t i = 0; i < kArrays * count; ++i) {
        const double expected = numbers.next() / totals[i / count];
        found_totals[i / count] += x[i];
        wrong += !(std::fabs(x[i] - expected) <= 1e-4 * expected);
    }
    // For comparison: how fast one thread copies memory here.
    const auto copy_start = std::chrono::steady_clock::now();
    std::memcpy(&x[0], &x[count], bytes);
    const std::chrono::duration<double, std::nano> copying = std::chrono::steady_clock::now() - copy_start;
    wrong += x[0] != x[count];

    std::printf("%d arrays of %zu numbers: %.2f ms for one\n", kArrays, count, elapsed.count());
    std::printf("last sum afterwards: expected 1, found %.6f; %zu of %zu numbers wrong\n",
                found_totals[kArrays - 1], wrong, kArrays * count);
    std::printf("one thread copies host memory at %.2f GB/s\n", static_cast<double>(bytes) / copying.count());
    return wrong == 0 ? 0 : 1;
}
