// What does cuBLAS answer if a product of FP32 matrices shall be emulated by nine products in BF16? Time and
// error of it, beside FP32 and TF32.
//
// build:   nvcc -std=c++17 -O3 -arch=native -I. ch07_roofline/emulated/emulated.cu -o emulated -lcublas
#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256, kRuns = 5;

void check_blas(cublasStatus_t status, const char* call, int line) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    std::fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, line, call, cublasGetStatusString(status));
    std::exit(1);
}
#define BLAS_CHECK(call) check_blas((call), #call, __LINE__)

__global__ void widen(const float* from, size_t count, double* to) {
    const size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x;
    if (i < count) to[i] = from[i];
}

/// Adds up the squares of the errors, and of what is right.
__global__ void add_squares(const float* found, const double* right, size_t count, double* sums) {
    const size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x;
    if (i >= count) return;
    const double error = found[i] - right[i];
    atomicAdd(&sums[0], error * error);
    atomicAdd(&sums[1], right[i] * right[i]);
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Multiplies FP32 matrices in several ways, and compares time and error.");
    const int n = static_cast<int>(options.integer("--size", 4096, 1, 16'384, "rows and columns"));
    options.done();
    const size_t count = size_t{1} * n * n;
    require_gpu(count * (3 * sizeof(float) + 3 * sizeof(double)) + (256 << 20));
    const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);

    std::mt19937 random(9);
    std::normal_distribution<float> normal;
    const auto numbers = [&] {
        std::vector<float> host(count);
        for (float& x : host) x = normal(random);
        auto device = device_array<float>(count);
        CUDA_CHECK(cudaMemcpy(device.get(), host.data(), count * sizeof(float), cudaMemcpyHostToDevice));
        return device;
    };
    const auto a = numbers(), b = numbers(), c = device_array<float>(count);
    const auto wide_a = device_array<double>(count), wide_b = device_array<double>(count),
               right = device_array<double>(count), sums = device_array<double>(2);
    cublasHandle_t blas = nullptr;
    BLAS_CHECK(cublasCreate(&blas));
    widen<<<blocks, kThreads>>>(a.get(), count, wide_a.get());
    CUDA_CHECK(cudaGetLastError());
    widen<<<blocks, kThreads>>>(b.get(), count, wide_b.get());
    CUDA_CHECK(cudaGetLastError());
    const double one_d = 1, zero_d = 0;
    BLAS_CHECK(cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one_d, wide_a.get(), n, wide_b.get(), n,
                           &zero_d, right.get(), n));

    double largest_error = 0;
    const auto multiply = [&](const char* name, cublasComputeType_t type) {
        const float one = 1, zero = 0;
        const auto call = [&] {
            return cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.get(), CUDA_R_32F, n,
                                b.get(), CUDA_R_32F, n, &zero, c.get(), CUDA_R_32F, n, type,
                                CUBLAS_GEMM_DEFAULT);
        };
        CUDA_CHECK(cudaMemset(c.get(), 0xFF, count * sizeof(float)));  // NaN
        const cublasStatus_t answer = call();
        CUDA_CHECK(cudaDeviceSynchronize());
        if (answer != CUBLAS_STATUS_SUCCESS) {
            std::printf("%s_answer %s\n", name, cublasGetStatusString(answer));
            return;
        }
        std::vector<float> ms(kRuns);
        const Event begin = make_event(), end = make_event();
        {
            const nvtx3::scoped_range range{name};
            for (float& its : ms) {
                CUDA_CHECK(cudaEventRecord(begin.get()));
                BLAS_CHECK(call());
                CUDA_CHECK(cudaEventRecord(end.get()));
                CUDA_CHECK(cudaDeviceSynchronize());
                CUDA_CHECK(cudaEventElapsedTime(&its, begin.get(), end.get()));
            }
        }
        std::sort(ms.begin(), ms.end());
        double squares[2];
        CUDA_CHECK(cudaMemset(sums.get(), 0, sizeof squares));
        add_squares<<<blocks, kThreads>>>(c.get(), right.get(), count, sums.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemcpy(squares, sums.get(), sizeof squares, cudaMemcpyDeviceToHost));
        const double error = std::sqrt(squares[0] / squares[1]);
        largest_error = std::max(largest_error, std::isfinite(error) ? error : INFINITY);
        std::printf("%s_answer %s, %s_ms %.3f, %s_TFLOP %.1f per s, %s_error %.2e\n", name,
                    cublasGetStatusString(answer), name, ms[kRuns / 2], name,
                    2.0 * n * n * n / ms[kRuns / 2] / 1e9, name, error);
    };
    multiply("fp32", CUBLAS_COMPUTE_32F);
    multiply("tf32", CUBLAS_COMPUTE_32F_FAST_TF32);
    multiply("bf16", CUBLAS_COMPUTE_32F_FAST_16BF);
#if CUDART_VERSION >= 13000
    multiply("bf16x9", CUBLAS_COMPUTE_32F_EMULATED_16BFX9);
    BLAS_CHECK(cublasSetEmulationStrategy(blas, CUBLAS_EMULATION_STRATEGY_EAGER));
    multiply("bf16x9_eager", CUBLAS_COMPUTE_32F_EMULATED_16BFX9);
    BLAS_CHECK(cublasSetMathMode(blas, CUBLAS_FP32_EMULATED_BF16X9_MATH));
    multiply("mode_eager", CUBLAS_COMPUTE_32F);
#else
    std::printf("BF16x9: CUDA 13.0 or later is needed\n");
#endif
    BLAS_CHECK(cublasDestroy(blas));
    std::printf("largest relative error: expected below 0.01, found %.2e\n", largest_error);
    return largest_error < 0.01 ? 0 : 1;
}
