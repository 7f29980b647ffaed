// Divides an array by its sum: copied up, summed by a kernel of many threads and a kernel of one, divided,
// copied down.
//
// Right: the host memory is pinned, so that the copy engine reads and writes it directly; a warm-up before
// the clock starts pays for the first launches; and NVTX ranges name the phases.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I. ch02_nsys/fixed.cu -o fixed
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o fixed ./fixed
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kBlocks = 1280, kThreads = 256;

/// One partial sum a block: a grid-stride loop, then a tree in shared memory.
__global__ void partial_reduce(const float* x, size_t count, float* partial) {
    __shared__ float tree[kThreads];
    float sum = 0;
    for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < count; i += size_t{kBlocks} * kThreads)
        sum += x[i];
    tree[threadIdx.x] = sum;
    for (int half = kThreads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) tree[threadIdx.x] += tree[threadIdx.x + half];
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = tree[0];
}

/// Adds the partial sums with one thread, and leaves the rest of the GPU idle.
__global__ void single_thread_sum(const float* partial, float* sum) {
    *sum = 0;
    for (int i = 0; i < kBlocks; ++i) *sum += partial[i];
}

__global__ void divide_by(float* x, size_t count, const float* sum) {
    const float divisor = *sum;
    for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < count; i += size_t{kBlocks} * kThreads)
        x[i] /= divisor;
}

/// Random numbers above 0 and up to 1, from a generator that costs one multiplication a number.
class Numbers {
  public:
    float next() { return static_cast<float>((random_() >> 40) + 1) / (1 << 24); }

  private:
    std::linear_congruential_engine<uint64_t, 6364136223846793005, 1442695040888963407, 0> random_{2};
};

int main(int argc, char** argv) {
    Options options(argc, argv, "Divides an array of random numbers by its sum.");
    const size_t count = options.integer("--count", 100'000'000, 1, 1'000'000'000, "numbers in the array");
    options.done();
    require_gpu((count + kBlocks + 1) * sizeof(float));

    const size_t bytes = count * sizeof(float);
    const auto x = pinned_array<float>(count);
    double expected_total = 0;
    Numbers numbers;
    for (size_t i = 0; i < count; ++i) {
        x[i] = numbers.next();
        expected_total += x[i];
    }
    const auto device_x = device_array<float>(count), partial = device_array<float>(kBlocks),
               sum = device_array<float>(1);

    // All that the measured part does, once; the array itself comes down as it went up.
    {
        nvtx3::scoped_range range{"warm-up"};
        CUDA_CHECK(cudaMemcpy(device_x.get(), x.get(), bytes, cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemcpy(x.get(), device_x.get(), bytes, cudaMemcpyDeviceToHost));
        partial_reduce<<<kBlocks, kThreads>>>(device_x.get(), count, partial.get());
        CUDA_CHECK(cudaGetLastError());
        single_thread_sum<<<1, 1>>>(partial.get(), sum.get());
        CUDA_CHECK(cudaGetLastError());
        divide_by<<<kBlocks, kThreads>>>(device_x.get(), count, sum.get());
        CUDA_CHECK(cudaGetLastError());
        // Nothing of this may pass for an answer: four bytes of 0xFF are a NaN.
        CUDA_CHECK(cudaMemset(device_x.get(), 0xFF, bytes));
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range whole{"normalise"};
        {
            nvtx3::scoped_range range{"H2D"};
            CUDA_CHECK(cudaMemcpy(device_x.get(), x.get(), bytes, cudaMemcpyHostToDevice));
        }
        {
            nvtx3::scoped_range range{"kernels"};
            partial_reduce<<<kBlocks, kThreads>>>(device_x.get(), count, partial.get());
            CUDA_CHECK(cudaGetLastError());
            single_thread_sum<<<1, 1>>>(partial.get(), sum.get());
            CUDA_CHECK(cudaGetLastError());
            divide_by<<<kBlocks, kThreads>>>(device_x.get(), count, sum.get());
            CUDA_CHECK(cudaGetLastError());
        }
        {
            nvtx3::scoped_range range{"D2H"};
            CUDA_CHECK(cudaMemcpy(x.get(), device_x.get(), bytes, cudaMemcpyDeviceToHost));
        }
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    double found_total = 0;
    size_t wrong = 0;
    numbers = Numbers();  // the same numbers again
    for (size_t i = 0; i < count; ++i) {
        const double expected = numbers.next() / expected_total;
        found_total += x[i];
        wrong += !(std::fabs(x[i] - expected) <= 1e-4 * expected);
    }
    std::printf("%zu numbers with the sum %.1f: %.2f ms\n", count, expected_total, elapsed.count());
    std::printf("sum afterwards: expected 1, found %.6f; %zu of %zu numbers wrong\n", found_total, wrong,
                count);
    return wrong == 0 ? 0 : 1;
}
