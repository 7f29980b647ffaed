// A running sum over blocks, in one kernel: each block waits for the sum of the block before it and adds its
// own. It never ends. docs/sanitizer.md finds out where it waits, with cuda-gdb and by a dump on demand.
//
// Wrong: 0 means "not there yet", but the numbers up to the end of a block can add up to 0. With some 60 %
// of all seeds they don't, and the program ends.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I. docs/hang.cu -o hang
// look:    ./hang & cuda-gdb -batch -p $! -ex 'info cuda kernels' -ex 'info cuda blocks'
#include <cstdio>
#include <cub/block/block_scan.cuh>
#include <cuda/atomic>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/options.hpp"

constexpr int kBlocks = 64, kThreads = 128;

/// What all numbers add up to, to the end of a block.
__device__ int published[kBlocks];
using Published = cuda::atomic_ref<int, cuda::thread_scope_device>;

__device__ int sum_before(int block) {
    if (block == 0) return 0;
    int sum = 0;
    while (sum == 0) sum = Published(published[block - 1]).load(cuda::memory_order_acquire);
    return sum;
}

__global__ void __launch_bounds__(kThreads) add_up(const int* numbers, int* sums) {
    using Scan = cub::BlockScan<int, kThreads>;
    __shared__ Scan::TempStorage storage;
    __shared__ int before;
    const int i = blockIdx.x * kThreads + threadIdx.x;
    int sum = 0, of_block = 0;
    Scan(storage).InclusiveSum(numbers[i], sum, of_block);
    if (threadIdx.x == 0) {
        before = sum_before(blockIdx.x);
        Published(published[blockIdx.x]).store(before + of_block, cuda::memory_order_release);
    }
    __syncthreads();  // all threads need it
    sums[i] = before + sum;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Adds up numbers from -1 to 1.");
    const auto seed = static_cast<unsigned>(options.integer("--seed", 52, 0, 1'000'000, "of the numbers"));
    options.done();
    require_gpu(2 * kBlocks * kThreads * sizeof(int));

    std::mt19937 random(seed);
    std::vector<int> numbers(kBlocks * kThreads), sums(numbers.size());
    for (int& number : numbers) number = static_cast<int>(random() % 3) - 1;
    const auto device_numbers = device_array<int>(numbers.size()),
               device_sums = device_array<int>(sums.size());
    const size_t bytes = numbers.size() * sizeof(int);
    CUDA_CHECK(cudaMemcpy(device_numbers.get(), numbers.data(), bytes, cudaMemcpyHostToDevice));
    add_up<<<kBlocks, kThreads>>>(device_numbers.get(), device_sums.get());
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(sums.data(), device_sums.get(), bytes, cudaMemcpyDeviceToHost));

    int expected = 0, wrong = 0;
    for (size_t i = 0; i < numbers.size(); ++i) wrong += sums[i] != (expected += numbers[i]);
    std::printf("last sum: expected %d, found %d; %d of %zu wrong\n", expected, sums.back(), wrong,
                sums.size());
    return wrong == 0 ? 0 : 1;
}
