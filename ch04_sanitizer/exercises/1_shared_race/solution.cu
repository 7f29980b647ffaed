// Adds up triangles of numbers, one block per triangle. Thread t adds the t + 1 numbers of column t, then the
// block adds its column sums by a tree reduction in shared memory.
//
// Right: a barrier between the last write of a column's sum and the first read of one. From there on, every
// step of the tree ends with a barrier.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    compute-sanitizer --tool racecheck ./solution --triangles 3
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kSide = 256;  // columns of a triangle, and threads of a block

/// Of each square of kSide x kSide numbers, only the triangle on and above the diagonal counts.
__global__ void sum_triangles(const float* squares, float* sums) {
    __shared__ float tree[kSide];
    const float* const square = squares + size_t{blockIdx.x} * kSide * kSide;
    float sum = 0;
    for (int row = 0; row <= threadIdx.x; ++row) sum += square[row * kSide + threadIdx.x];
    tree[threadIdx.x] = sum;
    __syncthreads();
    for (int half = kSide / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) tree[threadIdx.x] += tree[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = tree[0];
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Adds up triangles of random numbers, one block a triangle.");
    const int triangles = static_cast<int>(options.integer("--triangles", 101, 1, 2000, "triangles"));
    options.done();
    constexpr size_t kNumbers = size_t{1} * kSide * kSide;
    require_gpu(triangles * (kNumbers + 1) * sizeof(float));

    std::vector<float> squares(triangles * kNumbers), sums(triangles, NAN);
    std::vector<double> expected(triangles, 0);
    std::mt19937 random(1);
    for (size_t i = 0; i < squares.size(); ++i) {
        squares[i] = static_cast<float>(random() >> 8) / (1 << 24);
        const size_t row = i % kNumbers / kSide, column = i % kSide;
        if (row <= column) expected[i / kNumbers] += squares[i];
    }
    const auto device_squares = device_array<float>(squares.size()),
               device_sums = device_array<float>(triangles);
    CUDA_CHECK(cudaMemcpy(device_squares.get(), squares.data(), squares.size() * sizeof(float),
                          cudaMemcpyHostToDevice));
    {
        nvtx3::scoped_range range{"sum"};
        sum_triangles<<<triangles, kSide>>>(device_squares.get(), device_sums.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    CUDA_CHECK(
        cudaMemcpy(sums.data(), device_sums.get(), sums.size() * sizeof(float), cudaMemcpyDeviceToHost));

    int wrong = 0, worst = 0;
    for (int i = 0; i < triangles; ++i) {
        const auto off = [&](int t) { return std::fabs(sums[t] - expected[t]); };
        wrong += !(off(i) <= 1e-4 * expected[i]);
        if (!(off(i) <= off(worst))) worst = i;
    }
    std::printf("triangle %d: expected %.3f, found %.3f\n", worst, expected[worst], sums[worst]);
    std::printf("wrong sums: expected 0, found %d of %d\n", wrong, triangles);
    return wrong == 0 ? 0 : 1;
}
