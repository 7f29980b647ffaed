// What follows a GEMM in many networks: each token's row gets a bias, the activation SiLU and the residual,
// and is scaled to a mean square of 1 (RMS norm).
//
// Right: one kernel does all four. A block keeps its token's row in shared memory between the two loops, so
// it makes three passes over memory: it reads x and the residual, and writes the result.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    ncu --section MemoryWorkloadAnalysis --launch-count 4 -f -o solution ./solution
#include <cub/block/block_reduce.cuh>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;  // per block, which takes one token's row
constexpr int kFewestTokens = 8192, kMostTokens = 1'000'000;
constexpr float kEpsilon = 1e-5f;  // added to the mean square, so that a row of zeros can be scaled

/// Arrays in device memory, one row per token. `bias` and `weight` are one row for all tokens.
struct Layer {
    int tokens, width;
    const float *x, *bias, *residual, *weight;
    float* out;
};

/// The sum of a number of each thread of the block, for all of them.
__device__ float block_sum(float mine) {
    using Reduce = cub::BlockReduce<float, kThreads>;
    __shared__ typename Reduce::TempStorage storage;
    __shared__ float sum;
    mine = Reduce(storage).Sum(mine);  // of all, in thread 0
    if (threadIdx.x == 0) sum = mine;
    __syncthreads();
    return sum;
}

/// With fast division and exponential: exact to a few units in the last place for values like these.
__device__ float silu(float x) {
    return __fdividef(x, 1 + __expf(-x));
}

__global__ void fused(const float* __restrict__ x, const float* __restrict__ bias,
                      const float* __restrict__ residual, const float* __restrict__ weight,
                      float* __restrict__ out, int width) {
    extern __shared__ float values[];  // of this row; a thread reads only what it has written
    const size_t row = size_t(blockIdx.x) * width;
    float squares = 0;
    for (int i = threadIdx.x; i < width; i += kThreads) {
        values[i] = silu(x[row + i] + bias[i]) + residual[row + i];
        squares += values[i] * values[i];
    }
    const float scale = rsqrtf(block_sum(squares) / width + kEpsilon);
    for (int i = threadIdx.x; i < width; i += kThreads) out[row + i] = values[i] * scale * weight[i];
}

void run_step(const Layer& layer) {
    fused<<<layer.tokens, kThreads, layer.width * sizeof(float)>>>(layer.x, layer.bias, layer.residual,
                                                                   layer.weight, layer.out, layer.width);
    CUDA_CHECK(cudaGetLastError());
}

/// Random numbers from -2 to 2. One multiplication per number, whose upper bits are random.
std::vector<float> random_numbers(size_t count, uint64_t seed) {
    std::linear_congruential_engine<uint64_t, 6364136223846793005, 1442695040888963407, 0> random(seed);
    std::vector<float> numbers(count);
    for (float& number : numbers) number = static_cast<float>(random() >> 40) / (1 << 22) - 2;
    return numbers;
}

int main(int argc, char** argv) {
    Options options(argc, argv,
                    "Adds bias and residual to rows of random numbers, activated and normalised.");
    int tokens = options.integer("--tokens", 0, 0, kMostTokens,
                                 "tokens, each a row; 0: 8,192, or twice what L2 holds");
    const int width = options.integer("--width", 4096, 1, 8192, "numbers in a row");
    const int steps = options.integer("--steps", 10, 1, 1000, "times that the layer is computed");
    options.done();
    require_gpu(0);
    if (tokens == 0) {  // what L2 still holds when a kernel ends isn't counted
        int l2_bytes = 0;
        CUDA_CHECK(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0));
        tokens = std::clamp<int>(2.0 * l2_bytes / (width * sizeof(float)), kFewestTokens, kMostTokens);
    }
    const size_t count = size_t(tokens) * width, bytes = count * sizeof(float),
                 row_bytes = width * sizeof(float);
    require_gpu(3 * bytes + 2 * row_bytes);

    const std::vector<float> x = random_numbers(count, 41), residual = random_numbers(count, 42),
                             bias = random_numbers(width, 43), weight = random_numbers(width, 44);
    const auto device_x = device_array<float>(count), device_residual = device_array<float>(count),
               device_bias = device_array<float>(width), device_weight = device_array<float>(width),
               out = device_array<float>(count);
    CUDA_CHECK(cudaMemcpy(device_x.get(), x.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_residual.get(), residual.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_bias.get(), bias.data(), row_bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_weight.get(), weight.data(), row_bytes, cudaMemcpyHostToDevice));
    const Layer layer{
        tokens,   width, device_x.get(), device_bias.get(), device_residual.get(), device_weight.get(),
        out.get()};
    {
        nvtx3::scoped_range range{"warm-up"};
        run_step(layer);
        // Nothing of this may pass for an answer: four bytes of 0xFF are a NaN.
        CUDA_CHECK(cudaMemset(out.get(), 0xFF, bytes));
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"layer"};
        for (int step = 0; step < steps; ++step) run_step(layer);
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
    std::vector<float> found(count);
    CUDA_CHECK(cudaMemcpy(found.data(), out.get(), bytes, cudaMemcpyDeviceToHost));

    size_t wrong = 0;
    double worst = 0, squares = 0;
    std::vector<double> values(width);
    for (size_t row = 0; row < count; row += width) {
        squares = 0;
        for (int i = 0; i < width; ++i) {
            const double sum = double{x[row + i]} + bias[i];
            values[i] = sum / (1 + std::exp(-sum)) + residual[row + i];
            squares += values[i] * values[i];
        }
        const double scale = 1 / std::sqrt(squares / width + kEpsilon);
        for (int i = 0; i < width; ++i) {
            const double error = std::fabs(found[row + i] - values[i] * scale * weight[i]);
            wrong += !(error <= 2e-5);
            if (!(error <= worst)) worst = error;  // NaN, too
        }
    }
    std::printf("%d tokens of %d numbers: %.1f us a step, a rate of %.0f GB/s if it were three passes\n",
                tokens, width, elapsed.count() / steps, 3e-3 * bytes * steps / elapsed.count());
    std::printf("expected an error of 2e-05 at most, found %.1e; %zu of %zu numbers wrong\n", worst, wrong,
                count);
    return wrong == 0 ? 0 : 1;
}
