// To decode a token, each weight matrix is multiplied by one vector, y = W x. W is in FP32, BF16 and FP8.
//
// Right: a thread loads 16 bytes at a time, whatever they hold, and converts FP8 in pairs. The time follows
// the bytes.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    ncu -k regex:gemv --launch-count 3 --set full --import-source yes -f -o solution ./solution
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 128, kWarp = 32, kWarps = kThreads / kWarp;
constexpr int kRows = 8;       // of a warp at a time, in `rows_times_x`; the kernel of FP8 has its own number
constexpr int kRuns = 15;      // measured launches of each kernel
constexpr int kPadding = 512;  // zeros pad a row to a multiple of what a warp can load at once
constexpr float kLargestFp8 = 448;   // of E4M3: 4 bits of exponent, 3 of mantissa
constexpr double kTolerance = 1e-6;  // of the sum of all |w x|
namespace cg = cooperative_groups;
using Bf16 = __nv_bfloat16;
using Fp8 = __nv_fp8_e4m3;

/// W three times, row by row, `stride` weights apart. In FP8 a weight is what is stored, times its row's
/// scale.
struct Matrix {
    const float* fp32;
    const Bf16* bf16;
    const Fp8* fp8;
    const float* scale;
    int rows, stride;
};

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

/// kRows of y for each warp.
template <class Weight>
__device__ void rows_times_x(const Weight* weights, const float* scale, const float* x, float* y, int rows,
                             int stride) {
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
        if (lane == 0 && first + r < rows) y[first + r] = scale ? total * scale[first + r] : total;
    }
}

__global__ void gemv_fp32(Matrix w, const float* x, float* y) {
    rows_times_x(w.fp32, nullptr, x, y, w.rows, w.stride);
}
__global__ void gemv_bf16(Matrix w, const float* x, float* y) {
    rows_times_x(w.bf16, nullptr, x, y, w.rows, w.stride);
}

/// Two weights of FP8. From compute capability 8.9 on there is an instruction that makes two halves of them.
/// Before, their bits go where a half has them; its exponent begins at -15 and not at -7, hence the 2^8.
__device__ float2 two_floats(unsigned pair) {
#if __CUDA_ARCH__ >= 890
    return __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(static_cast<unsigned short>(pair), __NV_E4M3)));
#else
    const unsigned low = (pair & 0x80) << 8 | (pair & 0x7F) << 7;
    const unsigned high = (pair & 0x8000) << 16 | (pair & 0x7F00) << 15;
    const __half2_raw halves{static_cast<unsigned short>(low), static_cast<unsigned short>(high >> 16)};
    const float2 small = __half22float2(__half2(halves));
    return {small.x * 256, small.y * 256};
#endif
}
__device__ void unpack(uint4 bytes, float (&weight)[16]) {
    const unsigned word[] = {bytes.x, bytes.y, bytes.z, bytes.w};
    for (int i = 0; i < 8; ++i) {
        const float2 two = two_floats(word[i / 2] >> 16 * (i % 2) & 0xFFFF);
        weight[2 * i] = two.x, weight[2 * i + 1] = two.y;
    }
}

constexpr int kRowsOfBlockFp8 = kWarps * kRows;
__global__ void gemv_fp8(Matrix w, const float* x, float* y) {
    rows_times_x(w.fp8, w.scale, x, y, w.rows, w.stride);
}

/// A bell-shaped number of -1 to 1, always the same for the same `i`.
__device__ float random_number(unsigned i) {
    i = (i ^ i >> 16) * 0x85EBCA6Bu;
    i = (i ^ i >> 13) * 0xC2B2AE35u;
    i ^= i >> 16;
    return static_cast<float>((i & 0xFFFF) + (i >> 16)) / 65536 - 1;
}

/// Fills a row in all three formats, one block per row. Rows differ in size, so their scales differ.
__global__ void make_row(float* fp32, Bf16* bf16, Fp8* fp8, float* scale, int columns, int stride) {
    __shared__ unsigned largest;  // bits of a float; those of larger floats are larger
    if (threadIdx.x == 0) largest = 0;
    __syncthreads();
    const size_t row = size_t(blockIdx.x) * stride;
    for (int c = threadIdx.x; c < stride; c += kThreads) {
        fp32[row + c] = c < columns ? random_number(row + c) * (1 + blockIdx.x % 7) : 0;
        atomicMax(&largest, __float_as_uint(fabsf(fp32[row + c])));
    }
    __syncthreads();
    const float step = fmaxf(__uint_as_float(largest), 1e-20f) / kLargestFp8;
    if (threadIdx.x == 0) scale[blockIdx.x] = step;
    for (int c = threadIdx.x; c < stride; c += kThreads) {
        bf16[row + c] = Bf16(fp32[row + c]);
        fp8[row + c] = Fp8(fp32[row + c] / step);
    }
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
        sum.y[2] += double{float(w.fp8[row + c])} * w.scale[blockIdx.x] * x[c];
        sum.size += fabs(double{w.fp32[row + c]} * x[c]);
    }
    for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
        for (double& y : sum.y) y += __shfl_xor_sync(~0u, y, lanes);
        sum.size += __shfl_xor_sync(~0u, sum.size, lanes);
    }
    if (threadIdx.x == 0) oracle[blockIdx.x] = sum;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Multiplies a matrix in FP32, BF16 and FP8 by a vector.");
    const int rows = options.integer("--rows", 28672, 1, 1 << 17, "rows of the matrix");
    const int columns = options.integer("--columns", 8192, 1, 1 << 15, "columns of the matrix");
    options.done();
    const int stride = (columns + kPadding - 1) / kPadding * kPadding;
    const size_t count = size_t(rows) * stride;
    require_gpu(count * (sizeof(float) + sizeof(Bf16) + sizeof(Fp8)) + (1 << 26));

    std::mt19937 random(3);
    std::vector<float> x(stride);  // zeros from `columns` on
    for (int c = 0; c < columns; ++c) x[c] = static_cast<float>(random() >> 8) / (1 << 23) - 1;
    const auto device_x = device_array<float>(stride), fp32 = device_array<float>(count);
    const auto bf16 = device_array<Bf16>(count);
    const auto fp8 = device_array<Fp8>(count);
    const auto scale = device_array<float>(rows), device_y = device_array<float>(3 * rows);
    const auto device_oracle = device_array<Oracle>(rows);
    CUDA_CHECK(cudaMemcpy(device_x.get(), x.data(), stride * sizeof(float), cudaMemcpyHostToDevice));
    make_row<<<rows, kThreads>>>(fp32.get(), bf16.get(), fp8.get(), scale.get(), columns, stride);
    CUDA_CHECK(cudaGetLastError());
    const Matrix w{fp32.get(), bf16.get(), fp8.get(), scale.get(), rows, stride};
    double_precision<<<rows, kWarp>>>(w, device_x.get(), device_oracle.get());
    CUDA_CHECK(cudaGetLastError());

    const auto run = [&](const char* name) {
        const nvtx3::scoped_range range{name};
        const auto blocks = [&](int rows_of_block) { return (rows + rows_of_block - 1) / rows_of_block; };
        float* y = device_y.get();
        gemv_fp32<<<blocks(kWarps * kRows), kThreads>>>(w, device_x.get(), y);
        CUDA_CHECK(cudaGetLastError());
        gemv_bf16<<<blocks(kWarps * kRows), kThreads>>>(w, device_x.get(), y + rows);
        CUDA_CHECK(cudaGetLastError());
        gemv_fp8<<<blocks(kRowsOfBlockFp8), kThreads>>>(w, device_x.get(), y + 2 * rows);
        CUDA_CHECK(cudaGetLastError());
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
    const size_t weight_bytes[] = {sizeof(float), sizeof(Bf16), sizeof(Fp8)};
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
                    names[format], 2.0 * count,
                    count * weight_bytes[format] + (stride + rows) * sizeof(float), error[format],
                    format == 2 ? "}\n" : "");
    return wrong_rows == 0 ? 0 : 1;
}
