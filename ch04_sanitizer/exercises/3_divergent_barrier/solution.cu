// Adds the squares of an array. Half of the threads of a block are loaders, who fetch the next tile into
// shared memory, and half are workers, who square and add the tile before it. Two tiles take turns.
//
// Right: one loop for all, with the roles inside and the barrier outside of any branch. In each step the
// loaders fill one tile, and the workers add the other, which was filled in the step before.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    compute-sanitizer --tool synccheck ./solution --count 100003
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kBlocks = 80, kTile = 128;  // a tile has a loader and a worker for each number

__device__ float number_at(const float* x, size_t i, size_t count) {
    return i < count ? x[i] : 0;
}

/// Block b takes the tiles b * tiles to (b + 1) * tiles - 1, and leaves one sum a worker.
__global__ void add_squares(const float* x, size_t count, int tiles, double* sums) {
    __shared__ float tile[2][kTile];
    const bool loads = threadIdx.x < kTile;
    const int lane = threadIdx.x % kTile;
    const size_t first = size_t{blockIdx.x} * tiles * kTile + lane;
    double sum = 0;
    for (int step = 0; step <= tiles; ++step) {
        float* const filled = tile[(step + 1) % 2];  // in the step before
        if (loads && step < tiles) tile[step % 2][lane] = number_at(x, first + size_t{kTile} * step, count);
        if (!loads && step > 0) sum += double{filled[lane]} * filled[lane];
        __syncthreads();
    }
    if (!loads) sums[blockIdx.x * kTile + lane] = sum;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Adds the squares of random numbers, with loaders and workers in a block.");
    const size_t count = options.integer("--count", 10'000'019, 1, 200'000'000, "numbers");
    options.done();
    constexpr size_t kWorkers = size_t{kBlocks} * kTile;
    require_gpu(count * sizeof(float) + kWorkers * sizeof(double));

    std::vector<float> x(count);
    double expected = 0, found = 0;
    std::mt19937 random(3);
    for (float& number : x) {
        number = static_cast<float>(random() >> 8) / (1 << 24);
        expected += double{number} * number;
    }
    const auto device_x = device_array<float>(count);
    const auto device_sums = device_array<double>(kWorkers);
    CUDA_CHECK(cudaMemcpy(device_x.get(), x.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    {
        nvtx3::scoped_range range{"squares"};
        const int tiles = static_cast<int>((count + kWorkers - 1) / kWorkers);
        add_squares<<<kBlocks, 2 * kTile>>>(device_x.get(), count, tiles, device_sums.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    std::vector<double> sums(kWorkers);
    CUDA_CHECK(cudaMemcpy(sums.data(), device_sums.get(), kWorkers * sizeof(double), cudaMemcpyDeviceToHost));
    for (const double sum : sums) found += sum;
    std::printf("%zu squares: expected %.6f, found %.6f\n", count, expected, found);
    return std::fabs(found - expected) <= 1e-9 * expected ? 0 : 1;
}
