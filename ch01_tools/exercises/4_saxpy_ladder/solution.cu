// Computes y = a x + y and then sets to zero what is negative, four ways: with two kernels of its own, with
// Thrust, with cuBLAS, and with one kernel for both steps.
//
// Right: the rung `thrust` takes as long as its two steps, and less than `hand`.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution -lcublas
// look:    nsys profile --trace=cuda,nvtx,cublas --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <cublas_v2.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/transform.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

using Numbers = thrust::device_vector<float>;

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

int blocks_for(const Numbers& numbers) {
    return (static_cast<int>(numbers.size()) + kThreads - 1) / kThreads;
}

const float* pointer(const Numbers& numbers) {
    return thrust::raw_pointer_cast(numbers.data());
}
float* pointer(Numbers& numbers) {
    return thrust::raw_pointer_cast(numbers.data());
}

void by_hand(const Numbers& x, Numbers& y) {
    saxpy<<<blocks_for(y), kThreads>>>(pointer(x), pointer(y), static_cast<int>(y.size()));
    CUDA_CHECK(cudaGetLastError());
    rectify<<<blocks_for(y), kThreads>>>(pointer(y), static_cast<int>(y.size()));
    CUDA_CHECK(cudaGetLastError());
}

void by_thrust(const Numbers& x, Numbers& y) {
    thrust::transform(thrust::cuda::par_nosync, x.begin(), x.end(), y.begin(), y.begin(), Saxpy{});
    thrust::transform(thrust::cuda::par_nosync, y.begin(), y.end(), y.begin(), Rectify{});
}

void by_cublas(cublasHandle_t handle, const Numbers& x, Numbers& y) {
    check_cublas(cublasSaxpy(handle, static_cast<int>(y.size()), &kA, pointer(x), 1, pointer(y), 1));
    rectify<<<blocks_for(y), kThreads>>>(pointer(y), static_cast<int>(y.size()));
    CUDA_CHECK(cudaGetLastError());
}

void fused(const Numbers& x, Numbers& y) {
    saxpy_rectify<<<blocks_for(y), kThreads>>>(pointer(x), pointer(y), static_cast<int>(y.size()));
    CUDA_CHECK(cudaGetLastError());
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Computes y = a x + y and rectifies y, in four ways.");
    const int count = options.integer("--count", 50'000'017, 1, 500'000'000, "numbers in x and in y");
    options.done();
    const size_t bytes = count * sizeof(float);
    require_gpu(7 * bytes + kCublasBytes);  // x, y, a copy of y for each rung, and some to spare

    const auto x = pinned_array<float>(count), y = pinned_array<float>(count),
               found = pinned_array<float>(count);
    std::mt19937 random(4);
    for (int i = 0; i < count; ++i) {
        const auto bits = static_cast<unsigned>(random());
        x[i] = static_cast<float>(bits >> 8) / (1 << 23) - 1;
        y[i] = static_cast<float>(bits % (1 << 24)) / (1 << 23) - 1;
    }
    const Numbers device_x(x.get(), x.get() + count), device_y(y.get(), y.get() + count);
    cublasHandle_t handle = nullptr;
    check_cublas(cublasCreate(&handle));

    struct Rung {
        std::string name;
        std::function<void(const Numbers& x, Numbers& y)> run;
        Numbers y = {};
        double best_ms = INFINITY;
    };
    const auto with_cublas = [&](const Numbers& x, Numbers& y) { by_cublas(handle, x, y); };
    Rung rungs[] = {{"hand", by_hand}, {"thrust", by_thrust}, {"cublas", with_cublas}, {"fused", fused}};
    for (Rung& rung : rungs) rung.y.resize(count);

    // Each rung on a fresh copy of y, in a range of its name.
    const auto climb = [&](const std::string& prefix) {
        for (Rung& rung : rungs) {
            CUDA_CHECK(cudaMemcpy(pointer(rung.y), pointer(device_y), bytes, cudaMemcpyDeviceToDevice));
            CUDA_CHECK(cudaDeviceSynchronize());
            const auto start = std::chrono::steady_clock::now();
            {
                const nvtx3::scoped_range range{prefix + rung.name};
                rung.run(device_x, rung.y);
            }
            CUDA_CHECK(cudaDeviceSynchronize());
            const std::chrono::duration<double, std::milli> elapsed =
                std::chrono::steady_clock::now() - start;
            rung.best_ms = std::min(rung.best_ms, elapsed.count());
        }
    };
    climb("warm-up: ");
    {
        const nvtx3::scoped_range range{"ladder"};
        for (int repetition = 0; repetition < kRepetitions; ++repetition) climb("");
    }

    size_t wrong_in_all = 0;
    for (const Rung& rung : rungs) {
        CUDA_CHECK(cudaMemcpy(found.get(), pointer(rung.y), bytes, cudaMemcpyDeviceToHost));
        size_t wrong = 0;
        for (int i = 0; i < count; ++i) {
            const double expected = std::fmax(double{kA} * x[i] + y[i], 0);
            wrong += !(std::fabs(found[i] - expected) <= 1e-6);
        }
        std::printf("%-6s: %.3f ms; wrong numbers: expected 0, found %zu of %d\n", rung.name.c_str(),
                    rung.best_ms, wrong, count);
        wrong_in_all += wrong;
    }
    check_cublas(cublasDestroy(handle));
    return wrong_in_all == 0 ? 0 : 1;
}
