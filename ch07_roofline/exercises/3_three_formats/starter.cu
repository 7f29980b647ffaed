// To decode a token, each weight matrix is multiplied by one vector, y = W x. W is in FP32, BF16 and FP8. How
// a layer was brought to FP8 is drawn.
//
// Symptom: BF16 takes half the time of FP32. FP8 has a quarter of the bytes, and takes longer than BF16.
// Task: find out by counters what holds FP8 up, and fix it. What's stored stays as it is.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    ncu -k regex:gemv --launch-count 3 --set full --import-source yes -f -o starter ./starter
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 128, kWarp = 32, kWarps = kThreads / kWarp;
constexpr int kRows = 8, kRowsFp8 = 4;  // of a warp at a time
constexpr int kRuns = 15;               // measured launches of each kernel
constexpr int kPadding = 512;           // zeros pad a row to a multiple of what a warp can load at once
constexpr int kScales = 256;
constexpr float kLargestFp8 = 448;   // of E4M3: 4 bits of exponent, 3 of mantissa
constexpr double kTolerance = 1e-6;  // of the sum of all |w x|
namespace cg = cooperative_groups;
using Bf16 = __nv_bfloat16;
using Fp8 = __nv_fp8_e4m3;

/// How a layer was brought to FP8, and how it's served.
struct Layer {
    int bundle_bits;    // columns were sorted by importance, 2^bundle_bits neighbors together
    int group_bits;     // 2^group_bits weights that lie together share a scale
    int used_scales;    // of kScales
    int outliers;       // numbers of a row that are too large for FP8
    int rows_of_shard;  // that a launch takes
};

Layer draw_layer(std::mt19937& random) {
    const auto below = [&random](int end) { return static_cast<int>(random() % end); };
    return {below(6), 3 + below(6), 4 << below(7), 2 << below(10), 1024 << below(6)};
}

/// What FP8 lacks of the weight in this column.
struct Outlier {
    int column;
    float value;
};

/// W three times, row by row, `stride` weights apart. In FP8, place `p` of a row belongs to `column[p]`. Its
/// weight is what is stored, times the scale of its group. Outliers are added.
struct Matrix {
    const float* fp32;
    const Bf16* bf16;
    const Fp8* fp8;
    const unsigned char* scale;  // of each group: which of `scales`
    const int* column;
    const Outlier* outliers;  // row by row
    int rows, stride, group_bits, outliers_of_row;
};
__constant__ float scales[kScales];

__device__ float warp_sum(float sum) {
    return cg::reduce(cg::tiled_partition<kWarp>(cg::this_thread_block()), sum, cg::plus<float>());
}

/// The weights in 16 bytes.
__device__ void unpack(uint4 bytes, float (&weight)[4]) {
    const unsigned word[] = {bytes.x, bytes.y, bytes.z, bytes.w};
    for (int i = 0; i < 4; ++i) weight[i] = __uint_as_float(word[i]);
}
__device__ void unpack(uint4 bytes, float (&weight)[8]) {
    const unsigned word[] = {bytes.x, bytes.y, bytes.z, bytes.w};
    for (int i = 0; i < 4; ++i) {  // BF16 is the upper half of FP32
        weight[2 * i] = __uint_as_float(word[i] << 16);
        weight[2 * i + 1] = __uint_as_float(word[i] & 0xFFFF0000u);
    }
}
__device__ void unpack(uint2 bytes, float (&weight)[8]) {
    const unsigned word[] = {bytes.x, bytes.y};
    for (int i = 0; i < 4; ++i) {  // FP8: a pair becomes two halves, exactly
        const auto pair = static_cast<__nv_fp8x2_storage_t>(word[i / 2] >> 16 * (i % 2));
        const float2 two = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(pair, __NV_E4M3)));
        weight[2 * i] = two.x, weight[2 * i + 1] = two.y;
    }
}

/// kRows of y for each warp.
template <class Weight>
__device__ void rows_times_x(const Weight* weights, const float* x, float* y, int rows, int stride) {
    constexpr int kAtOnce = sizeof(uint4) / sizeof(Weight);
    const int first = (blockIdx.x * kWarps + threadIdx.x / kWarp) * kRows, lane = threadIdx.x % kWarp;
    if (first >= rows) return;
    float sum[kRows] = {};
    for (int c = lane * kAtOnce; c < stride; c += kWarp * kAtOnce) {
        uint4 bytes[kRows];
        for (int r = 0; r < kRows; ++r) {
            const size_t row = min(first + r, rows - 1);  // the last one again, where there are no more
            bytes[r] = *reinterpret_cast<const uint4*>(weights + row * stride + c);
        }
        float factor[kAtOnce], weight[kAtOnce];
        for (int i = 0; i < kAtOnce; i += 4) {
            const float4 four = *reinterpret_cast<const float4*>(x + c + i);
            factor[i] = four.x, factor[i + 1] = four.y, factor[i + 2] = four.z, factor[i + 3] = four.w;
        }
        for (int r = 0; r < kRows; ++r) {
            unpack(bytes[r], weight);
            for (int i = 0; i < kAtOnce; ++i) sum[r] += weight[i] * factor[i];
        }
    }
    for (int r = 0; r < kRows; ++r) {
        const float total = warp_sum(sum[r]);
        if (lane == 0 && first + r < rows) y[first + r] = total;
    }
}

__global__ void gemv_fp32(Matrix w, const float* x, float* y) {
    rows_times_x(w.fp32, x, y, w.rows, w.stride);
}
__global__ void gemv_bf16(Matrix w, const float* x, float* y) {
    rows_times_x(w.bf16, x, y, w.rows, w.stride);
}

/// A launch takes the rows of a shard, from `first_row` on. With 8 blocks per SM, a thread has registers for
/// all that it loads in a step.
__global__ void __launch_bounds__(kThreads, 8) gemv_fp8(Matrix w, const float* x, float* y, int first_row) {
    constexpr int kAtOnce = sizeof(uint2);
    const int first = first_row + (blockIdx.x * kWarps + threadIdx.x / kWarp) * kRowsFp8;
    const int lane = threadIdx.x % kWarp, groups = w.stride >> w.group_bits;
    if (first >= w.rows) return;
    float sum[kRowsFp8] = {};
    for (int p = lane * kAtOnce; p < w.stride; p += kWarp * kAtOnce) {
        uint2 bytes[kRowsFp8];
        unsigned char scale[kRowsFp8];
        for (int r = 0; r < kRowsFp8; ++r) {
            const size_t row = min(first + r, w.rows - 1);  // the last one again, where there are no more
            bytes[r] = *reinterpret_cast<const uint2*>(w.fp8 + row * w.stride + p);
            scale[r] = w.scale[row * groups + (p >> w.group_bits)];
        }
        float factor[kAtOnce], weight[kAtOnce];
        for (int i = 0; i < kAtOnce; i += 4) {
            const int4 four = *reinterpret_cast<const int4*>(w.column + p + i);
            factor[i] = x[four.x], factor[i + 1] = x[four.y];
            factor[i + 2] = x[four.z], factor[i + 3] = x[four.w];
        }
        for (int r = 0; r < kRowsFp8; ++r) {
            unpack(bytes[r], weight);
            float part = 0;
            for (int i = 0; i < kAtOnce; ++i) part += weight[i] * factor[i];
            sum[r] += part * scales[scale[r]];
        }
    }
    for (int r = 0; r < kRowsFp8 && first + r < w.rows; ++r) {
        const Outlier* outliers = w.outliers + size_t(first + r) * w.outliers_of_row;
        for (int i = lane; i < w.outliers_of_row; i += kWarp)
            sum[r] += outliers[i].value * x[outliers[i].column];
        const float total = warp_sum(sum[r]);
        if (lane == 0) y[first + r] = total;
    }
}

/// Always the same bits for the same `i`.
__device__ unsigned random_bits(unsigned i) {
    i = (i ^ i >> 16) * 0x85EBCA6Bu;
    i = (i ^ i >> 13) * 0xC2B2AE35u;
    return i ^ i >> 16;
}

/// Fills a row in all three formats, one block per row. Weights are bell-shaped, and as large as the scale of
/// their group allows.
__global__ void make_row(float* fp32, Bf16* bf16, Fp8* fp8, unsigned char* scale, Matrix w, int used_scales,
                         int columns) {
    const size_t row = size_t(blockIdx.x) * w.stride;
    for (int p = threadIdx.x; p < w.stride; p += kThreads) {
        const unsigned bits = random_bits(row + p), group = (row + p) >> w.group_bits;
        const unsigned char scale_of_group = kScales - 1 - random_bits(~group) % used_scales;
        const float bell = static_cast<float>((bits & 0xFFFF) + (bits >> 16)) / 65536 - 1;
        const float weight = w.column[p] < columns ? bell * kLargestFp8 : 0;
        fp32[row + w.column[p]] = weight * scales[scale_of_group];
        fp8[row + p] = Fp8(weight);
        scale[group] = scale_of_group;
    }
    __syncthreads();
    const Outlier* outliers = w.outliers + size_t(blockIdx.x) * w.outliers_of_row;
    for (int i = threadIdx.x; i < w.outliers_of_row; i += kThreads)
        atomicAdd(&fp32[row + outliers[i].column], outliers[i].value);
    __syncthreads();
    for (int c = threadIdx.x; c < w.stride; c += kThreads) bf16[row + c] = Bf16(fp32[row + c]);
}

/// For each row: y in FP32, BF16 and FP8, and the sum of |w x|.
struct Oracle {
    double y[3], size;
};
__global__ void double_precision(Matrix w, const float* x, Oracle* oracle) {
    Oracle sum{};
    const size_t row = size_t(blockIdx.x) * w.stride;
    for (int c = threadIdx.x; c < w.stride; c += kWarp) {
        sum.y[0] += double{w.fp32[row + c]} * x[c];
        sum.y[1] += double{float(w.bf16[row + c])} * x[c];
        sum.y[2] +=
            double{float(w.fp8[row + c])} * scales[w.scale[(row + c) >> w.group_bits]] * x[w.column[c]];
        sum.size += fabs(double{w.fp32[row + c]} * x[c]);
    }
    const Outlier* outliers = w.outliers + size_t(blockIdx.x) * w.outliers_of_row;
    for (int i = threadIdx.x; i < w.outliers_of_row; i += kWarp)
        sum.y[2] += double{outliers[i].value} * x[outliers[i].column];
    for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
        for (double& y : sum.y) y += __shfl_xor_sync(~0u, y, lanes);
        sum.size += __shfl_xor_sync(~0u, sum.size, lanes);
    }
    if (threadIdx.x == 0) oracle[blockIdx.x] = sum;
}

/// The column of each place of a row in FP8. Bundles of columns are shuffled. Then the columns are dealt to
/// the threads of a warp, one to each in turn.
std::vector<int> draw_columns(int stride, int bundle_bits, std::mt19937& random) {
    std::vector<int> bundles(stride >> bundle_bits), columns(stride);
    for (size_t b = 0; b < bundles.size(); ++b) {
        bundles[b] = static_cast<int>(b);
        std::swap(bundles[b], bundles[random() % (b + 1)]);
    }
    constexpr int kAtOnce = sizeof(uint2), kTile = kWarp * kAtOnce;
    for (int p = 0; p < stride; ++p) {
        const int i = p / kTile * kTile + p % kAtOnce * kWarp + p % kTile / kAtOnce;
        columns[p] = (bundles[i >> bundle_bits] << bundle_bits) + i % (1 << bundle_bits);
    }
    return columns;
}

/// A copy of `host` in device memory.
template <class T>
auto on_device(const std::vector<T>& host) {
    auto device = device_array<T>(host.size());
    CUDA_CHECK(cudaMemcpy(device.get(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Multiplies a matrix in FP32, BF16 and FP8 by a vector.");
    const int rows = options.integer("--rows", 28672, 1, 1 << 17, "rows of the matrix");
    const int columns = options.integer("--columns", 8192, 1, 1 << 15, "columns of the matrix");
    const int seed = options.integer("--seed", 19726, 0, 1'000'000'000, "the layer");
    options.done();
    const int stride = (columns + kPadding - 1) / kPadding * kPadding;
    const size_t count = size_t(rows) * stride;

    std::mt19937 random(seed);
    const Layer layer = draw_layer(random);
    const size_t groups = count >> layer.group_bits;
    std::vector<float> x(stride), host_scales(kScales);  // x is zero from `columns` on
    for (int c = 0; c < columns; ++c) x[c] = static_cast<float>(random() >> 8) / (1 << 23) - 1;
    for (int i = 0; i < kScales; ++i)  // 16 per power of two; with the largest, the largest weight is 1
        host_scales[i] = std::exp2(static_cast<float>(i - kScales + 1) / 16) / kLargestFp8;
    std::vector<Outlier> outliers(size_t(rows) * layer.outliers);
    for (Outlier& outlier : outliers)  // from -4 to 4
        outlier = {static_cast<int>(random() % columns), static_cast<float>(random() >> 8) / (1 << 21) - 4};
    require_gpu(9 * count + (1 << 26));  // 7 bytes per weight, and up to 2 for scales and outliers

    CUDA_CHECK(cudaMemcpyToSymbol(scales, host_scales.data(), sizeof(scales)));
    const auto device_x = on_device(x), fp32 = device_array<float>(count);
    const auto bf16 = device_array<Bf16>(count);
    const auto fp8 = device_array<Fp8>(count);
    const auto scale = device_array<unsigned char>(groups);
    const auto column = on_device(draw_columns(stride, layer.bundle_bits, random));
    const auto device_outliers = on_device(outliers);
    const auto device_y = device_array<float>(3 * rows);
    const auto device_oracle = device_array<Oracle>(rows);
    const Matrix w{
        fp32.get(), bf16.get(), fp8.get(),        scale.get(),   column.get(), device_outliers.get(),
        rows,       stride,     layer.group_bits, layer.outliers};
    make_row<<<rows, kThreads>>>(fp32.get(), bf16.get(), fp8.get(), scale.get(), w, layer.used_scales,
                                 columns);
    CUDA_CHECK(cudaGetLastError());
    double_precision<<<rows, kWarp>>>(w, device_x.get(), device_oracle.get());
    CUDA_CHECK(cudaGetLastError());

    const auto run = [&](const char* name) {
        const nvtx3::scoped_range range{name};
        const auto blocks = [](int all, int of_block) { return (all + of_block - 1) / of_block; };
        float* y = device_y.get();
        gemv_fp32<<<blocks(rows, kWarps * kRows), kThreads>>>(w, device_x.get(), y);
        CUDA_CHECK(cudaGetLastError());
        gemv_bf16<<<blocks(rows, kWarps * kRows), kThreads>>>(w, device_x.get(), y + rows);
        CUDA_CHECK(cudaGetLastError());
        for (int first = 0; first < rows; first += layer.rows_of_shard) {
            const int rows_of_shard = std::min(layer.rows_of_shard, rows - first);
            gemv_fp8<<<blocks(rows_of_shard, kWarps * kRowsFp8), kThreads>>>(w, device_x.get(), y + 2 * rows,
                                                                             first);
            CUDA_CHECK(cudaGetLastError());
        }
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    run("warm-up");
    CUDA_CHECK(cudaMemset(device_y.get(), 0xFF, 3 * rows * sizeof(float)));  // not a number
    for (int i = 0; i < kRuns; ++i) run("decode");

    std::vector<float> y(3 * rows);
    std::vector<Oracle> oracle(rows);
    CUDA_CHECK(cudaMemcpy(y.data(), device_y.get(), y.size() * sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(oracle.data(), device_oracle.get(), rows * sizeof(Oracle), cudaMemcpyDeviceToHost));
    const char* const names[] = {"fp32", "bf16", "fp8"};
    const size_t matrix_bytes[] = {
        count * sizeof(float), count * sizeof(Bf16),
        count * sizeof(Fp8) + groups + stride * sizeof(int) + outliers.size() * sizeof(Outlier)};
    double error[3];  // root of the mean square, against the weights before rounding, of that of y
    int wrong_rows = 0;
    for (int format = 0; format < 3; ++format) {
        int wrong = 0, shown = 0;
        double squares = 0, all_squares = 0;
        for (int row = 0; row < rows; ++row) {
            const float found = y[format * rows + row];
            const bool right = std::fabs(found - oracle[row].y[format]) <= kTolerance * oracle[row].size;
            if (!right && wrong++ == 0) shown = row;  // also if not a number
            squares += std::pow(found - oracle[row].y[0], 2);
            all_squares += std::pow(oracle[row].y[0], 2);
        }
        error[format] = std::sqrt(squares / all_squares);
        std::printf("%s, row %d: expected %.6f, found %.6f; %d of %d rows wrong; error of rounding %.3g\n",
                    names[format], shown, oracle[shown].y[format], y[format * rows + shown], wrong, rows,
                    error[format]);
        wrong_rows += wrong;
    }
    for (int format = 0; format < 3; ++format)  // the same for a program to read
        std::printf("%s\"%s\": {\"flop\": %.0f, \"bytes\": %zu, \"error\": %.6g}%s", format == 0 ? "{" : ", ",
                    names[format], 2.0 * count, matrix_bytes[format] + (stride + rows) * sizeof(float),
                    error[format], format == 2 ? "}\n" : "");
    return wrong_rows == 0 ? 0 : 1;
}
