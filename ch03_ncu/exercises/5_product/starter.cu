// Multiplies two matrices, C = A B, with one thread per element of C and one block per 32 x 32 of them.
//
// Symptom: the product takes more than ten times as long as the GPU's multipliers would need for it.
// Task: find what costs the time, and repair it. Sizes stay as they are, and the kernel's name does; the rest
// is yours to choose.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    ncu -k regex:multiply --launch-count 1 --set full --import-source yes -f -o starter ./starter
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kTile = 32;  // rows and columns of C that a block computes; a warp has one row
constexpr int kThreads = kTile * kTile;
constexpr double kTolerance = 1e-3;  // rounding leaves far less, and one lost product nearly always more

/// C (rows x columns) = A (rows x inner) B (inner x columns), all stored row by row.
__global__ void __launch_bounds__(kThreads)
    multiply(const float* a, const float* b, float* c, int rows, int inner, int columns) {
    const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
    float sum = 0;
    // Threads beyond the last row or column have no element of C.
    if (row < rows && column < columns)
        for (int k = 0; k < inner; ++k) sum += a[row * inner + k] * b[k * columns + column];
    if (row < rows && column < columns) c[row * columns + column] = sum;
}

std::vector<float> random_matrix(int count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<float> numbers(count);
    for (float& number : numbers) number = static_cast<float>(random() >> 8) / (1 << 23) - 1;
    return numbers;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Multiplies two matrices of random numbers.");
    const int rows = options.integer("--rows", 769, 1, 4096, "rows of A and C");
    const int inner = options.integer("--inner", 787, 1, 4096, "columns of A, and rows of B");
    const int columns = options.integer("--columns", 773, 1, 4096, "columns of B and C");
    options.done();
    require_gpu((rows * inner + inner * columns + rows * columns) * sizeof(float));

    const std::vector<float> a = random_matrix(rows * inner, 3), b = random_matrix(inner * columns, 5);
    std::vector<float> c(rows * columns);
    const auto device_a = device_array<float>(a.size()), device_b = device_array<float>(b.size()),
               device_c = device_array<float>(c.size());
    CUDA_CHECK(cudaMemcpy(device_a.get(), a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_b.get(), b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));

    const auto run = [&](const char* name) {
        const nvtx3::scoped_range range{name};
        const dim3 blocks((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile), threads(kTile, kTile);
        multiply<<<blocks, threads>>>(device_a.get(), device_b.get(), device_c.get(), rows, inner, columns);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    run("warm-up");
    CUDA_CHECK(cudaMemset(device_c.get(), 0xFF, c.size() * sizeof(float)));  // not a number
    run("multiply");
    CUDA_CHECK(cudaMemcpy(c.data(), device_c.get(), c.size() * sizeof(float), cudaMemcpyDeviceToHost));

    size_t wrong = 0, shown = 0;
    double shown_expected = 0;
    std::vector<double> expected(columns);
    for (int i = 0; i < rows; ++i) {
        expected.assign(columns, 0);
        for (int k = 0; k < inner; ++k)
            for (int j = 0; j < columns; ++j) expected[j] += double{a[i * inner + k]} * b[k * columns + j];
        for (int j = 0; j < columns; ++j) {
            const size_t at = size_t(i) * columns + j;
            const bool right = std::fabs(c[at] - expected[j]) <= kTolerance;
            if (at == 0 || (!right && wrong == 0)) shown = at, shown_expected = expected[j];
            wrong += !right;
        }
    }
    std::printf("row %zu, column %zu: expected %.5f, found %.5f; %zu of %zu numbers wrong\n", shown / columns,
                shown % columns, shown_expected, c[shown], wrong, c.size());
    return wrong == 0 ? 0 : 1;
}
