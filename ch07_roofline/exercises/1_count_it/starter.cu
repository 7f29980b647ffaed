// Runs five kernels over one matrix, saxpy, stencil, softmax, gemv and gemm, and prints how many FLOP and
// bytes a launch of each is worth.
//
// Symptom: the counters disagree with every number in the table.
// Task: count again, from the kernels below. A FLOP is an addition, a subtraction or a multiplication of
// floats. The bytes are the compulsory ones: each element that must come from DRAM or go there, once.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    ncu --launch-count 5 --set roofline -f -o starter ./starter
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256, kWarp = 32, kTile = 32;
constexpr int kOutputs = 64;  // columns of B, and of the gemm's result
constexpr int kRounds = 5;    // measured launches of each kernel
constexpr float kFactor = 0.75f, kLog2E = 1.44269504f;

/// What one launch is worth: additions, subtractions and multiplications of floats, and bytes to and from
/// DRAM.
struct Work {
    double flop, bytes;
};
// TODO(learner): put right what a colleague counted, as formulas of the sizes.
Work saxpy_work(double n) {
    return {n, 8 * n};  // an instruction a number; one of x comes, one of y goes
}
Work stencil_work(double rows, double columns) {
    return {9 * rows * columns, 24 * rows * columns};  // 5 products and 4 sums; 5 loads and a store
}
Work softmax_work(double rows, double columns) {
    return {3 * rows * columns, 16 * rows * columns};  // subtract, multiply, add; 3 passes and a store
}
Work gemv_work(double rows, double columns) {
    return {rows * columns, 8 * rows * columns};  // an instruction a number of A; one of A and one of x
}
Work gemm_work(double rows, double inner, double columns) {
    return {rows * inner * columns, 8 * rows * inner * columns};  // one of A and one of B a product
}

/// y = factor x + y
__global__ void saxpy(const float* x, float* y, size_t count) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) y[i] = kFactor * x[i] + y[i];
}

/// Each cell moves toward its four neighbors; beyond an edge it's the cell at the edge.
__global__ void stencil(const float* in, float* out, int rows, int columns) {
    const int row = blockIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    const size_t i = size_t(row) * columns + column;
    const float up = in[row > 0 ? i - columns : i], down = in[row + 1 < rows ? i + columns : i];
    const float left = in[column > 0 ? i - 1 : i], right = in[column + 1 < columns ? i + 1 : i];
    out[i] = 0.5f * in[i] + 0.125f * (up + down + left + right);
}

/// The sum over a warp's lanes, in lane 0: 31 additions. (cub::WarpReduce is the usual way. Here each of
/// them is to be seen.)
__device__ float warp_sum(float sum) {
    for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
        const float other = __shfl_down_sync(~0u, sum, lanes);
        if (threadIdx.x % kWarp < lanes) sum += other;
    }
    return sum;
}

/// out = exp(in), divided by its sum over the row; one warp per row. e^x is 2^(x log2 e).
__global__ void softmax(const float* in, float* out, int columns) {
    const size_t row = size_t(blockIdx.x) * columns;
    float largest = -FLT_MAX, sum = 0;
    for (int c = threadIdx.x; c < columns; c += kWarp) largest = fmaxf(largest, in[row + c]);
    for (int lanes = kWarp / 2; lanes > 0; lanes /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, lanes));
    for (int c = threadIdx.x; c < columns; c += kWarp) sum += exp2f((in[row + c] - largest) * kLog2E);
    const float share = 1 / __shfl_sync(~0u, warp_sum(sum), 0);
    for (int c = threadIdx.x; c < columns; c += kWarp)
        out[row + c] = exp2f((in[row + c] - largest) * kLog2E) * share;
}

/// y = A x, one warp per row.
__global__ void gemv(const float* a, const float* x, float* y, int rows, int columns) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
    if (row >= rows) return;
    float sum = 0;
    for (int c = threadIdx.x % kWarp; c < columns; c += kWarp) sum += a[size_t(row) * columns + c] * x[c];
    sum = warp_sum(sum);
    if (threadIdx.x % kWarp == 0) y[row] = sum;
}

/// C (rows x kOutputs) = A (rows x inner) B (inner x kOutputs), one tile of C per block. What's outside is 0.
__global__ void __launch_bounds__(kTile* kTile)
    gemm(const float* a, const float* b, float* c, int rows, int inner) {
    __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
    const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < inner; first += kTile) {
        const int a_column = first + threadIdx.x, b_row = first + threadIdx.y;
        const bool in_a = row < rows && a_column < inner;
        a_tile[threadIdx.y][threadIdx.x] = in_a ? a[size_t(row) * inner + a_column] : 0;
        b_tile[threadIdx.y][threadIdx.x] = b_row < inner ? b[b_row * kOutputs + column] : 0;
        __syncthreads();
        for (int k = 0; k < kTile; ++k) sum += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x];
        __syncthreads();
    }
    if (row < rows) c[size_t(row) * kOutputs + column] = sum;
}

std::vector<float> random_numbers(size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<float> numbers(count);
    for (float& number : numbers) number = static_cast<float>(random() >> 8) / (1 << 23) - 1;
    return numbers;
}

auto uploaded(const std::vector<float>& numbers) {
    auto device = device_array<float>(numbers.size());
    CUDA_CHECK(cudaMemcpy(device.get(), numbers.data(), numbers.size() * sizeof(float), cudaMemcpyDefault));
    return device;
}

/// How many elements of a result, row by row, aren't what `expected(row)` says.
template <class Expected>
size_t wrong_numbers(const char* name, const float* device, int rows, int columns, Expected expected) {
    std::vector<float> found(size_t(rows) * columns);
    CUDA_CHECK(cudaMemcpy(found.data(), device, found.size() * sizeof(float), cudaMemcpyDefault));
    size_t wrong = 0;
    for (int row = 0; row < rows; ++row) {
        const std::vector<double> right = expected(row);
        for (int c = 0; c < columns; ++c) {
            const float number = found[size_t(row) * columns + c];
            const bool is_right =
                std::fabs(number - right[c]) <= 1e-3 * std::fabs(right[c]) + 1e-4;  // no NaN
            if (!is_right && wrong++ == 0)
                std::printf("%s, row %d: expected %g, found %g\n", name, row, right[c], number);
        }
    }
    return wrong;
}

int main(int argc, char** argv) {
    Options options(argc, argv,
                    "Runs five kernels over one matrix, and counts their FLOP and bytes by hand.");
    const int rows = options.integer("--rows", 32771, 1, 65535, "rows of the matrix");
    const int columns = options.integer("--columns", 1024, 1, 4096, "columns of the matrix");
    options.done();
    const size_t count = size_t(rows) * columns;
    require_gpu((4 * count + rows * (kOutputs + 1) + columns * (kOutputs + 1)) * sizeof(float));

    const std::vector<float> a = random_numbers(count, 3), y = random_numbers(count, 5);
    const std::vector<float> x = random_numbers(columns, 7), b = random_numbers(columns * kOutputs, 11);
    const auto device_a = uploaded(a), device_y = uploaded(y), device_x = uploaded(x), device_b = uploaded(b);
    const auto smooth = device_array<float>(count), shares = device_array<float>(count);
    const auto product = device_array<float>(rows), products = device_array<float>(size_t(rows) * kOutputs);

    const auto run_all = [&](const char* name) {
        const nvtx3::scoped_range range{name};
        const float* in = device_a.get();
        const dim3 cells((columns + kThreads - 1) / kThreads, rows), tile(kTile, kTile);
        const dim3 tiles(kOutputs / kTile, (rows + kTile - 1) / kTile);
        saxpy<<<(count + kThreads - 1) / kThreads, kThreads>>>(in, device_y.get(), count);
        CUDA_CHECK(cudaGetLastError());
        stencil<<<cells, kThreads>>>(in, smooth.get(), rows, columns);
        CUDA_CHECK(cudaGetLastError());
        softmax<<<rows, kWarp>>>(in, shares.get(), columns);
        CUDA_CHECK(cudaGetLastError());
        gemv<<<(rows + 7) / 8, 8 * kWarp>>>(in, device_x.get(), product.get(), rows, columns);
        CUDA_CHECK(cudaGetLastError());
        gemm<<<tiles, tile>>>(in, device_b.get(), products.get(), rows, columns);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    run_all("warm-up");
    for (int round = 0; round < kRounds; ++round) run_all("kernels");

    size_t wrong = 0;
    std::vector<double> right(columns), right_products(kOutputs);
    const auto at = [&](int row, int c) { return double{a[size_t(row) * columns + c]}; };
    wrong += wrong_numbers("saxpy", device_y.get(), rows, columns, [&](int row) {
        for (int c = 0; c < columns; ++c)
            right[c] = y[size_t(row) * columns + c] + (kRounds + 1.0) * kFactor * at(row, c);
        return right;
    });
    wrong += wrong_numbers("stencil", smooth.get(), rows, columns, [&](int row) {
        const int up = row > 0 ? row - 1 : 0, down = row + 1 < rows ? row + 1 : row;
        for (int c = 0; c < columns; ++c)
            right[c] = 0.5 * at(row, c) + 0.125 * (at(up, c) + at(down, c) + at(row, c > 0 ? c - 1 : 0) +
                                                   at(row, c + 1 < columns ? c + 1 : c));
        return right;
    });
    wrong += wrong_numbers("softmax", shares.get(), rows, columns, [&](int row) {
        double sum = 0;
        for (int c = 0; c < columns; ++c) sum += right[c] = std::exp(at(row, c));
        for (double& share : right) share /= sum;
        return right;
    });
    wrong += wrong_numbers("gemv", product.get(), rows, 1, [&](int row) {
        double sum = 0;
        for (int c = 0; c < columns; ++c) sum += at(row, c) * x[c];
        return std::vector<double>{sum};
    });
    wrong += wrong_numbers("gemm", products.get(), rows, kOutputs, [&](int row) {
        right_products.assign(kOutputs, 0);
        for (int k = 0; k < columns; ++k)
            for (int j = 0; j < kOutputs; ++j) right_products[j] += at(row, k) * b[k * kOutputs + j];
        return right_products;
    });
    std::printf("expected 0 wrong numbers, found %zu\n", wrong);

    struct {
        const char* name;
        Work work;
    } const table[] = {{"saxpy", saxpy_work(count)},
                       {"stencil", stencil_work(rows, columns)},
                       {"softmax", softmax_work(rows, columns)},
                       {"gemv", gemv_work(rows, columns)},
                       {"gemm", gemm_work(rows, columns, kOutputs)}};
    for (const auto& [name, work] : table)
        std::printf("%-8s %15.0f FLOP %15.0f bytes %8.3f FLOP/byte\n", name, work.flop, work.bytes,
                    work.flop / work.bytes);
    for (const auto& [name, work] : table)  // the same for a program to read
        std::printf("%s\"%s\": {\"flop\": %.0f, \"bytes\": %.0f}%s", name == table[0].name ? "{" : ", ", name,
                    work.flop, work.bytes, name == table[4].name ? "}\n" : "");
    return wrong == 0 ? 0 : 1;
}
