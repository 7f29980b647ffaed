// Computes y = a x + y, piece by piece, and then sets to zero what is negative, four ways: with two kernels
// of its own, with Thrust, with cuBLAS, and with one kernel for both steps.
//
// Right: every rung takes its batch by reference, so that no vector on the GPU is copied.
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
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

using Numbers = thrust::device_vector<float>;

constexpr int kThreads = 256, kRepetitions = 3;
constexpr size_t kCublasBytes = size_t{128} << 20;  // for the workspace and the code of cuBLAS

void check_cublas(cublasStatus_t status) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    std::fprintf(stderr, "a call of cuBLAS failed: %s\n", cublasGetStatusString(status));
    std::exit(1);
}

/// A part of x with the same numbers in y. Pieces of a kind have the same a.
struct Piece {
    int first, count, kind;
};

/// x is added to the beginning of y, piece by piece. The factors, an a for each kind, are on the GPU as well.
struct Batch {
    Numbers x, factors;
    std::vector<Piece> pieces;
};

/// Draws to how many of y's `count` numbers x is added, how many pieces it has, and how many of these follow
/// each other until the kind changes, on average.
std::vector<Piece> draw_pieces(std::mt19937& random, int count) {
    const auto between = [&](double least, double most) {
        return least * std::pow(most / least, static_cast<double>(random()) / std::mt19937::max());
    };
    const auto length = static_cast<long long>(std::ceil(between(1.0 / 16384, 1) * count));
    const auto number = std::min(length, static_cast<long long>(between(1, 512)));
    const auto run = static_cast<unsigned>(between(1, 8));
    std::vector<Piece> pieces;
    for (long long i = 0; i < number; ++i) {
        const auto first = static_cast<int>(length * i / number);
        const bool other = i > 0 && random() % run == 0;
        pieces.push_back({first, static_cast<int>(length * (i + 1) / number) - first,
                          i == 0 ? 0 : pieces.back().kind + other});
    }
    return pieces;
}

/// The two steps, as function objects: a kernel can call them, and Thrust too.
struct Saxpy {
    float a;
    __host__ __device__ float operator()(float x, float y) const { return a * x + y; }
};
struct Rectify {  // known as ReLU where networks are trained
    __host__ __device__ float operator()(float y) const { return y > 0 ? y : 0; }
};

__global__ void saxpy(const float* a, const float* x, float* y, int count) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) y[i] = Saxpy{*a}(x[i], y[i]);
}

__global__ void rectify(float* y, int count) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) y[i] = Rectify{}(y[i]);
}

__global__ void saxpy_rectify(const float* a, const float* x, float* y, int count) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) y[i] = Rectify{}(Saxpy{*a}(x[i], y[i]));
}

int blocks_for(size_t count) {
    return static_cast<int>((count + kThreads - 1) / kThreads);
}

const float* pointer(const Numbers& numbers, int first = 0) {
    return thrust::raw_pointer_cast(numbers.data()) + first;
}
float* pointer(Numbers& numbers, int first = 0) {
    return thrust::raw_pointer_cast(numbers.data()) + first;
}

void rectify_from(int first, Numbers& y) {
    const int count = static_cast<int>(y.size()) - first;
    if (count == 0) return;
    rectify<<<blocks_for(count), kThreads>>>(pointer(y, first), count);
    CUDA_CHECK(cudaGetLastError());
}

void by_hand(const Batch& batch, Numbers& y) {
    for (const auto [first, count, kind] : batch.pieces) {
        saxpy<<<blocks_for(count), kThreads>>>(pointer(batch.factors, kind), pointer(batch.x, first),
                                               pointer(y, first), count);
        CUDA_CHECK(cudaGetLastError());
    }
    rectify_from(0, y);
}

void by_thrust(const Batch& batch, Numbers& y) {
    Saxpy saxpy{};
    int latest = -1;
    for (const auto [first, count, kind] : batch.pieces) {
        if (kind != latest) saxpy.a = batch.factors[latest = kind];
        const auto x = batch.x.begin() + first;
        thrust::transform(thrust::device, x, x + count, y.begin() + first, y.begin() + first, saxpy);
    }
    thrust::transform(thrust::device, y.begin(), y.end(), y.begin(), Rectify{});
}

void by_cublas(cublasHandle_t handle, const Batch& batch, Numbers& y) {
    for (const auto [first, count, kind] : batch.pieces)
        check_cublas(cublasSaxpy(handle, count, pointer(batch.factors, kind), pointer(batch.x, first), 1,
                                 pointer(y, first), 1));
    rectify_from(0, y);
}

void fused(const Batch& batch, Numbers& y) {
    for (const auto [first, count, kind] : batch.pieces) {
        saxpy_rectify<<<blocks_for(count), kThreads>>>(pointer(batch.factors, kind), pointer(batch.x, first),
                                                       pointer(y, first), count);
        CUDA_CHECK(cudaGetLastError());
    }
    rectify_from(static_cast<int>(batch.x.size()), y);
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Computes y = a x + y and rectifies y, in four ways.");
    const int count = options.integer("--count", 50'000'017, 1, 500'000'000, "numbers in y");
    const auto seed = static_cast<unsigned>(options.integer("--seed", 11048, 0, 1'000'000, "of the batch"));
    options.done();
    const size_t bytes = count * sizeof(float);
    require_gpu(7 * bytes + kCublasBytes);  // y, a copy for each rung, x, and some to spare

    std::mt19937 random(seed);
    Batch batch{{}, {}, draw_pieces(random, count)};
    const int x_count = batch.pieces.back().first + batch.pieces.back().count;
    const int kinds = batch.pieces.back().kind + 1;
    std::printf("%d of %d numbers get a part of x: pieces: %zu, kinds: %d\n", x_count, count,
                batch.pieces.size(), kinds);
    const auto x = pinned_array<float>(x_count), y = pinned_array<float>(count),
               found = pinned_array<float>(count);
    const auto draw = [&] { return static_cast<float>(random() >> 8) / (1 << 23) - 1; };  // from -1 to 1
    std::vector<float> factors(kinds), expected(count);
    for (float& factor : factors) factor = 2 + draw();
    for (int i = 0; i < x_count; ++i) x[i] = draw();
    for (int i = 0; i < count; ++i) expected[i] = y[i] = draw();
    for (const Piece& piece : batch.pieces)
        for (int i = piece.first; i < piece.first + piece.count; ++i)
            expected[i] = static_cast<float>(double{factors[piece.kind]} * x[i] + y[i]);
    for (float& number : expected) number = std::max(number, 0.0F);
    batch.x.assign(x.get(), x.get() + x_count);
    batch.factors = factors;
    const Numbers device_y(y.get(), y.get() + count);
    cublasHandle_t handle = nullptr;
    check_cublas(cublasCreate(&handle));
    check_cublas(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));  // the factors are there

    struct Rung {
        std::string name;
        std::function<void(const Batch& batch, Numbers& y)> run;
        Numbers y = {};
        double best_ms = INFINITY;
    };
    const auto with_cublas = [&](const Batch& batch, Numbers& y) { by_cublas(handle, batch, y); };
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
                rung.run(batch, rung.y);
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
        for (int i = 0; i < count; ++i) wrong += !(std::fabs(found[i] - expected[i]) <= 1e-6F);
        std::printf("%-6s: %.3f ms; wrong numbers: expected 0, found %zu of %d\n", rung.name.c_str(),
                    rung.best_ms, wrong, count);
        wrong_in_all += wrong;
    }
    check_cublas(cublasDestroy(handle));
    return wrong_in_all == 0 ? 0 : 1;
}
