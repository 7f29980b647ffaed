// Computes y = a x + y and then sets to zero what is negative, four ways: with two kernels of its own, with
// Thrust, with cuBLAS, and with one kernel for both steps.
//
// Right: each rung of the ladder does what its name says, the host waits in none of them, and the fused
// kernel reads and writes each number of y once instead of twice.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution -lcublas
// look:    nsys profile --trace=cuda,nvtx,cublas --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <cublas_v2.h>
#include <thrust/execution_policy.h>
#include <thrust/transform.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256, kRepetitions = 3;
constexpr float kA = 2.5f;
constexpr size_t kCublasBytes = size_t{128} << 20;  // for the workspace and the code of cuBLAS

void check_cublas(cublasStatus_t status) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    std::fprintf(stderr, "a call of cuBLAS failed: %s\n", cublasGetStatusString(status));
    std::exit(1);
}

/// The two steps, as function objects: a kernel can call them, and Thrust too.
struct Saxpy {
    __host__ __device__ float operator()(float x, float y) const { return kA * x + y; }
};
struct Rectify {  // known as ReLU where networks are trained
    __host__ __device__ float operator()(float y) const { return y > 0 ? y : 0; }
};

__global__ void saxpy(const float* x, float* y, int count) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) y[i] = Saxpy{}(x[i], y[i]);
}

__global__ void rectify(float* y, int count) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) y[i] = Rectify{}(y[i]);
}

__global__ void saxpy_rectify(const float* x, float* y, int count) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) y[i] = Rectify{}(Saxpy{}(x[i], y[i]));
}

int blocks_for(int count) {
    return (count + kThreads - 1) / kThreads;
}

void by_hand(const float* x, float* y, int count) {
    saxpy<<<blocks_for(count), kThreads>>>(x, y, count);
    CUDA_CHECK(cudaGetLastError());
    rectify<<<blocks_for(count), kThreads>>>(y, count);
    CUDA_CHECK(cudaGetLastError());
}

void by_thrust(const float* x, float* y, int count) {
    thrust::transform(thrust::cuda::par_nosync, x, x + count, y, y, Saxpy{});
    thrust::transform(thrust::cuda::par_nosync, y, y + count, y, Rectify{});
}

void by_cublas([[maybe_unused]] cublasHandle_t handle, const float* x, float* y, int count) {
    check_cublas(cublasSaxpy(handle, count, &kA, x, 1, y, 1));
    rectify<<<blocks_for(count), kThreads>>>(y, count);
    CUDA_CHECK(cudaGetLastError());
}

void fused(const float* x, float* y, int count) {
    saxpy_rectify<<<blocks_for(count), kThreads>>>(x, y, count);
    CUDA_CHECK(cudaGetLastError());
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Computes y = a x + y and rectifies y, in four ways.");
    const int count = options.integer("--count", 50'000'017, 1, 500'000'000, "numbers in x and in y");
    options.done();
    const size_t bytes = count * sizeof(float);
    require_gpu(6 * bytes + kCublasBytes);  // x, y, and a copy of y for each rung

    const auto x = pinned_array<float>(count), y = pinned_array<float>(count),
               found = pinned_array<float>(count);
    std::mt19937 random(4);
    for (int i = 0; i < count; ++i) {
        const auto bits = static_cast<unsigned>(random());
        x[i] = static_cast<float>(bits >> 8) / (1 << 23) - 1;
        y[i] = static_cast<float>(bits % (1 << 24)) / (1 << 23) - 1;
    }
    const auto device_x = device_array<float>(count), device_y = device_array<float>(count);
    CUDA_CHECK(cudaMemcpy(device_x.get(), x.get(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_y.get(), y.get(), bytes, cudaMemcpyHostToDevice));
    cublasHandle_t handle = nullptr;
    check_cublas(cublasCreate(&handle));

    struct Rung {
        std::string name;
        std::function<void(const float* x, float* y, int count)> run;
        std::unique_ptr<float[], DeviceFree> y = nullptr;
    };
    const auto with_cublas = [&](const float* x, float* y, int count) { by_cublas(handle, x, y, count); };
    Rung rungs[] = {{"hand", by_hand}, {"thrust", by_thrust}, {"cublas", with_cublas}, {"fused", fused}};
    for (Rung& rung : rungs) rung.y = device_array<float>(count);

    // Each rung on a fresh copy of y, in a range of its name.
    const auto climb = [&](const std::string& prefix) {
        for (const Rung& rung : rungs) {
            CUDA_CHECK(cudaMemcpy(rung.y.get(), device_y.get(), bytes, cudaMemcpyDeviceToDevice));
            {
                const nvtx3::scoped_range range{prefix + rung.name};
                rung.run(device_x.get(), rung.y.get(), count);
            }
            CUDA_CHECK(cudaDeviceSynchronize());
        }
    };
    climb("warm-up: ");
    {
        const nvtx3::scoped_range range{"ladder"};
        for (int repetition = 0; repetition < kRepetitions; ++repetition) climb("");
    }

    size_t wrong_in_all = 0;
    for (const Rung& rung : rungs) {
        CUDA_CHECK(cudaMemcpy(found.get(), rung.y.get(), bytes, cudaMemcpyDeviceToHost));
        size_t wrong = 0;
        for (int i = 0; i < count; ++i) {
            const double expected = std::fmax(double{kA} * x[i] + y[i], 0);
            wrong += !(std::fabs(found[i] - expected) <= 1e-6);
        }
        std::printf("%-6s: wrong numbers: expected 0, found %zu of %d\n", rung.name.c_str(), wrong, count);
        wrong_in_all += wrong;
    }
    check_cublas(cublasDestroy(handle));
    return wrong_in_all == 0 ? 0 : 1;
}
