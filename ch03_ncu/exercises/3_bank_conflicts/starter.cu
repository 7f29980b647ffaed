// Transposes a matrix of random numbers, tile by tile through shared memory, so that both reading and writing
// global memory go along rows.
//
// Symptom: the columns of a tile lie in one bank each, and a warp that reads a column waits 32 times.
// Task: lay the tile out so that the 32 numbers of a column are in 32 different banks.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    ncu --section MemoryWorkloadAnalysis_Tables --section SourceCounters -f -o starter ./starter
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kTile = 32;          // numbers along an edge of a tile: one for each thread of a warp
constexpr int kWarpsPerBlock = 8;  // each takes every eighth row of the tile

__global__ void transpose(const float* in, float* out, int rows, int columns) {
    // TODO(learner): where in this array are the numbers of one column, and in which banks?
    __shared__ float tile[kTile][kTile];
    const int column = blockIdx.x * kTile + threadIdx.x;
    for (int y = threadIdx.y; y < kTile; y += kWarpsPerBlock) {
        const int row = blockIdx.y * kTile + y;
        if (row < rows && column < columns) tile[y][threadIdx.x] = in[size_t(row) * columns + column];
    }
    __syncthreads();
    const int out_column = blockIdx.y * kTile + threadIdx.x;
    for (int y = threadIdx.y; y < kTile; y += kWarpsPerBlock) {
        const int out_row = blockIdx.x * kTile + y;
        if (out_row < columns && out_column < rows)
            out[size_t(out_row) * rows + out_column] = tile[threadIdx.x][y];
    }
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Transposes a matrix of random numbers.");
    const int rows = options.integer("--rows", 4096, 1, 16'384, "rows of the matrix");
    const int columns = options.integer("--columns", 4096, 1, 16'384, "columns of the matrix");
    options.done();
    const size_t count = size_t(rows) * columns, bytes = count * sizeof(float);
    require_gpu(2 * bytes);

    std::vector<float> input(count), found(count);
    // One multiplication a number, of which the upper bits are random.
    std::linear_congruential_engine<uint64_t, 6364136223846793005, 1442695040888963407, 0> random(35);
    for (float& number : input) number = static_cast<float>(random() >> 40) / (1 << 24);
    const auto in = device_array<float>(count), out = device_array<float>(count);
    CUDA_CHECK(cudaMemcpy(in.get(), input.data(), bytes, cudaMemcpyHostToDevice));
    const dim3 threads(kTile, kWarpsPerBlock);
    const dim3 blocks((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile);

    {
        nvtx3::scoped_range range{"warm-up"};
        transpose<<<blocks, threads>>>(in.get(), out.get(), rows, columns);
        CUDA_CHECK(cudaGetLastError());
        // Nothing of this may pass for an answer: four bytes of 0xFF are a NaN.
        CUDA_CHECK(cudaMemset(out.get(), 0xFF, bytes));
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    {
        nvtx3::scoped_range range{"transpose"};
        transpose<<<blocks, threads>>>(in.get(), out.get(), rows, columns);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    CUDA_CHECK(cudaMemcpy(found.data(), out.get(), bytes, cudaMemcpyDeviceToHost));

    size_t wrong = 0, first_wrong = 0;
    const auto expected = [&](size_t i) { return input[i % rows * columns + i / rows]; };
    for (size_t i = 0; i < count; ++i)
        if (!(found[i] == expected(i)) && wrong++ == 0) first_wrong = i;
    std::printf("row %zu, column %zu: expected %.6f, found %.6f; %zu of %zu numbers wrong\n",
                first_wrong / rows, first_wrong % rows, expected(first_wrong), found[first_wrong], wrong,
                count);
    return wrong == 0 ? 0 : 1;
}
