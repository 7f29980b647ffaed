// Multiplies two matrices, C = A B. A block has one thread for each of 32 x 32 numbers of C. If the sums are
// cut into slices, it has a slice of them, and C adds up the slices. Each job has its own matrices: they can
// be tall or wide, deep or shallow.
//
// Right: a block loads each element of A and B once into shared memory, for all of its threads.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    ncu -k regex:multiply --launch-count 1 --set full --import-source yes -f -o solution ./solution
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kTile = 32;  // rows and columns of C that a block computes; a warp has one row
constexpr int kThreads = kTile * kTile;
constexpr double kTolerance = 4e-5;  // of the root of inner: rounding leaves less, and a lost product more
constexpr unsigned kSeed = 1'207;

/// What one product is like. All need about as many multiplications.
struct Job {
    int rows, inner, columns;  // A has rows x inner numbers, B has inner x columns
    int depth;                 // of a slice: so many products, at most, are added up by one thread
    bool by_columns;           // B is stored column by column, otherwise row by row
};

Job job_of(std::mt19937& random) {
    const int height = 1 + random() % 8, width = 4 + random() % 5;
    return {(3 << height) + 1, (3 << (24 - height - width)) + 19, (3 << width) + 5, 2 << random() % 16,
            random() % 2 == 0};
}

/// A matrix on the device. Neighbors in a column are `down` numbers apart, those in a row `across`.
struct Matrix {
    const float* numbers;
    int down, across;
};

/// C (rows x columns) += A (rows x inner) B (inner x columns). A and C are stored row by row.
__global__ void __launch_bounds__(kThreads)
    multiply(const float* a, Matrix b, float* c, int rows, int inner, int columns, int depth) {
    const int row = blockIdx.z * kTile + threadIdx.y, column = blockIdx.y * kTile + threadIdx.x;
    const int begin = blockIdx.x * depth, end = min(inner, begin + depth);  // of the block's slice
    float sum = 0;
    __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
    for (int first = begin; first < end; first += kTile) {
        // Neighbors in a warp load neighbors in a row. What lies outside of a matrix or slice counts as zero.
        const int a_column = first + threadIdx.x, b_row = first + threadIdx.y;
        const bool in_a = row < rows && a_column < end, in_b = b_row < end && column < columns;
        a_tile[threadIdx.y][threadIdx.x] = in_a ? a[row * inner + a_column] : 0;
        b_tile[threadIdx.y][threadIdx.x] = in_b ? b.numbers[b_row * b.down + column * b.across] : 0;
        __syncthreads();  // both tiles are complete
        for (int k = 0; k < kTile; ++k) sum += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x];
        __syncthreads();  // all threads are done with them
    }
    if (row < rows && column < columns) atomicAdd(&c[row * columns + column], sum);
}

std::vector<float> random_matrix(int count, std::mt19937& random) {
    std::vector<float> numbers(count);
    for (float& number : numbers) number = static_cast<float>(random() >> 8) / (1 << 23) - 1;
    return numbers;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Multiplies two matrices of random numbers.");
    std::mt19937 random(options.integer("--seed", kSeed, 0, 1'000'000, "of the job"));
    const Job job = job_of(random);
    const int rows = options.integer("--rows", job.rows, 1, 4096, "rows of A and C");
    const int inner = options.integer("--inner", job.inner, 1, 4096, "columns of A, and rows of B");
    const int columns = options.integer("--columns", job.columns, 1, 4096, "columns of B and C");
    options.done();
    if (1LL * std::max(rows, columns) * inner > INT_MAX) {  // an index is an int
        std::fprintf(stderr, "A or B has more than %d numbers: give fewer --rows or --columns, or --inner\n",
                     INT_MAX);
        return 2;
    }
    require_gpu((size_t(rows) * inner + size_t(inner) * columns + rows * columns) * sizeof(float));

    const std::vector<float> a = random_matrix(rows * inner, random),
                             b = random_matrix(inner * columns, random);
    const int down = job.by_columns ? 1 : columns, across = job.by_columns ? inner : 1;
    std::vector<float> stored_b(b.size()), c(rows * columns);
    for (int k = 0; k < inner; ++k)
        for (int j = 0; j < columns; ++j) stored_b[k * down + j * across] = b[k * columns + j];
    const auto device_a = device_array<float>(a.size()), device_b = device_array<float>(b.size()),
               device_c = device_array<float>(c.size());
    CUDA_CHECK(cudaMemcpy(device_a.get(), a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_b.get(), stored_b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));

    const auto run = [&](const char* name) {
        CUDA_CHECK(cudaMemset(device_c.get(), 0, c.size() * sizeof(float)));
        CUDA_CHECK(cudaDeviceSynchronize());
        const nvtx3::scoped_range range{name};
        const dim3 blocks((inner + job.depth - 1) / job.depth, (columns + kTile - 1) / kTile,
                          (rows + kTile - 1) / kTile),
            threads(kTile, kTile);
        multiply<<<blocks, threads>>>(device_a.get(), {device_b.get(), down, across}, device_c.get(), rows,
                                      inner, columns, job.depth);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    run("warm-up");
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
            const bool right = std::fabs(c[at] - expected[j]) <= kTolerance * std::sqrt(inner);
            if (at == 0 || (!right && wrong == 0)) shown = at, shown_expected = expected[j];
            wrong += !right;
        }
    }
    std::printf("row %zu, column %zu: expected %.5f, found %.5f; %zu of %zu numbers wrong\n", shown / columns,
                shown % columns, shown_expected, c[shown], wrong, c.size());
    return wrong == 0 ? 0 : 1;
}
