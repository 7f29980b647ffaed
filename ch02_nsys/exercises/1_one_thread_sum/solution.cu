// Sums fifty arrays that are on the device already: one kernel leaves a partial sum per block, another adds
// the partial sums.
//
// Right: one block adds the partial sums with all its threads, by cub::BlockReduce.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <cmath>
#include <cstdio>
#include <cub/block/block_reduce.cuh>
#include <memory>
#include <random>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kBlocks = 1280, kThreads = 256;

using BlockSum = cub::BlockReduce<float, kThreads>;

/// One partial sum per block: a grid-stride loop, then CUB adds what the threads have.
__global__ void partial_reduce(const float* x, size_t count, float* partial) {
    __shared__ BlockSum::TempStorage shared;
    float sum = 0;
    for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < count; i += size_t{kBlocks} * kThreads)
        sum += x[i];
    sum = BlockSum(shared).Sum(sum);  // only thread 0 gets it
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

/// Adds the partial sums with one block: each thread adds its share of them, then CUB adds what they have.
__global__ void sum_of_partials(const float* partial, float* sum) {
    __shared__ BlockSum::TempStorage shared;
    float mine = 0;
    for (int i = threadIdx.x; i < kBlocks; i += kThreads) mine += partial[i];
    mine = BlockSum(shared).Sum(mine);
    if (threadIdx.x == 0) *sum = mine;
}

/// Queues the sum of `count` numbers on the device. `partial` has room for kBlocks of them.
void queue_sum(const float* x, size_t count, [[maybe_unused]] float* partial, float* sum) {
    partial_reduce<<<kBlocks, kThreads>>>(x, count, partial);
    CUDA_CHECK(cudaGetLastError());
    sum_of_partials<<<1, kThreads>>>(partial, sum);
    CUDA_CHECK(cudaGetLastError());
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Sums many arrays of random numbers on the GPU, one after the other.");
    const size_t count = options.integer("--count", 500'003, 1, 100'000'000, "numbers in an array");
    const size_t arrays = options.integer("--arrays", 50, 1, 1'000, "arrays");
    options.done();
    require_gpu((arrays * (count + 1) + kBlocks) * sizeof(float));

    const auto x = pinned_array<float>(arrays * count), sums = pinned_array<float>(arrays);
    const auto expected = std::make_unique<double[]>(arrays);
    std::mt19937 random(21);
    for (size_t i = 0; i < arrays * count; ++i) {
        x[i] = static_cast<float>((random() >> 8) + 1) / (1 << 24);
        expected[i / count] += x[i];
    }
    const auto device_x = device_array<float>(arrays * count), partial = device_array<float>(kBlocks),
               device_sums = device_array<float>(arrays);
    CUDA_CHECK(cudaMemcpy(device_x.get(), x.get(), arrays * count * sizeof(float), cudaMemcpyHostToDevice));

    {
        nvtx3::scoped_range range{"warm-up"};
        queue_sum(device_x.get(), count, partial.get(), device_sums.get());
        // Nothing of this may pass for an answer: four bytes of 0xFF are a NaN.
        CUDA_CHECK(cudaMemset(partial.get(), 0xFF, kBlocks * sizeof(float)));
        CUDA_CHECK(cudaMemset(device_sums.get(), 0xFF, arrays * sizeof(float)));
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    {
        nvtx3::scoped_range range{"sum"};
        for (size_t array = 0; array < arrays; ++array)
            queue_sum(&device_x[array * count], count, partial.get(), &device_sums[array]);
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    CUDA_CHECK(cudaMemcpy(sums.get(), device_sums.get(), arrays * sizeof(float), cudaMemcpyDeviceToHost));

    size_t wrong = 0, worst = 0;
    const auto error = [&](size_t array) {
        return std::fabs(sums[array] - expected[array]) / expected[array];
    };
    for (size_t array = 0; array < arrays; ++array) {
        wrong += !(error(array) <= 1e-4);
        if (!(error(array) <= error(worst))) worst = array;
    }
    std::printf("sum of array %zu: expected %.1f, found %.1f; %zu of %zu sums wrong\n", worst,
                expected[worst], sums[worst], wrong, arrays);
    return wrong == 0 ? 0 : 1;
}
