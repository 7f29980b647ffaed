// Draws two matrices of random numbers, sorts each row of the first, and multiplies them: each step is left
// to a library (cuRAND, CUB, cuBLAS), and each has an NVTX range with a color of its own.
//
// Right: cuBLAS may round the factors to what tensor cores multiply; sums in single precision are less exact.
// The errors that the program prints say what that costs.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution -lcublas -lcurand
// look:    nsys profile --trace=cuda,nvtx --gpu-metrics-devices=cuda-visible -f true -o solution ./solution
#include <cublas_v2.h>
#include <curand.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <numeric>
#include <random>
#include <regex>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr nvtx3::rgb kGrey{153, 153, 153}, kOrange{230, 159, 0}, kBlue{86, 180, 233}, kGreen{0, 158, 115};

/// TF32 and half precision keep ten binary digits after the first: without the others a factor is at most
/// 2^-10 smaller, and a product of two, or a sum of such products, at most 2^-9.
constexpr double kTolerance = 1.0 / 512;

/// cuBLAS and cuRAND report errors in types of their own; in both, 0 is success.
template <class Status>
void require(Status status, const char* call) {
    if (static_cast<int>(status) == 0) return;
    std::fprintf(stderr, "%s failed with status %d\n", call, static_cast<int>(status));
    std::exit(1);
}

/// Ends the program with exit code 77 on a GPU without tensor cores. From Turing on these are Turing's
/// smaller chips: GeForce GTX 16 and MX, NVIDIA T400 to T2000. No attribute of a device says so, so its name
/// must.
void require_tensor_cores(const cudaDeviceProp& gpu) {
    if (gpu.major > 7 || !std::regex_search(gpu.name, std::regex("GTX|MX|T[0-9]{3}"))) return;
    std::fprintf(stderr, "no suitable GPU: %s has no tensor cores\n", gpu.name);
    std::exit(77);
}

/// Does `work` in an NVTX range of this name and color.
template <class Work>
void in_range(const char* name, nvtx3::rgb colour, Work work) {
    nvtx3::scoped_range range{name, colour};
    work();
}

std::vector<float> copied_down(const float* device, size_t count) {
    std::vector<float> host(count);
    CUDA_CHECK(cudaMemcpy(host.data(), device, count * sizeof(float), cudaMemcpyDeviceToHost));
    return host;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Multiplies two matrices of random numbers, the rows of the first sorted.");
    const int n = static_cast<int>(options.integer("--size", 10'000, 1, 40'000, "rows, and columns"));
    options.done();
    const size_t count = static_cast<size_t>(n) * n, bytes_of_libraries = 100'000'000;
    require_gpu(4 * count * sizeof(float) + bytes_of_libraries);
    cudaDeviceProp gpu{};
    CUDA_CHECK(cudaGetDeviceProperties(&gpu, 0));
    require_tensor_cores(gpu);

    const auto a = device_array<float>(count), spare = device_array<float>(count),
               b = device_array<float>(count), c = device_array<float>(count);
    cub::DoubleBuffer<float> rows(a.get(), spare.get());  // the sort goes to and fro between the two
    std::vector<int> row_starts(n + 1);
    for (int row = 0; row <= n; ++row) row_starts[row] = row * n;
    const auto starts = device_array<int>(n + 1);
    CUDA_CHECK(cudaMemcpy(starts.get(), row_starts.data(), (n + 1) * sizeof(int), cudaMemcpyHostToDevice));

    curandGenerator_t generator = nullptr;
    require(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10), "curandCreateGenerator");
    require(curandSetPseudoRandomGeneratorSeed(generator, 2), "curandSetPseudoRandomGeneratorSeed");
    cublasHandle_t blas = nullptr;
    require(cublasCreate(&blas), "cublasCreate");
    // Turing's tensor cores know no TF32. They take half precision: as many digits, a smaller range.
    const cublasComputeType_t arithmetic =
        gpu.major >= 8 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F_FAST_16F;

    const auto draw = [&] {  // the same numbers each time, from above 0 to 1
        require(curandSetGeneratorOffset(generator, 0), "curandSetGeneratorOffset");
        require(curandGenerateUniform(generator, rows.Current(), count), "curandGenerateUniform");
        require(curandGenerateUniform(generator, b.get(), count), "curandGenerateUniform");
    };
    size_t scratch_bytes = 0;
    const auto sort = [&](void* scratch) {  // given none, it only says how much it needs
        CUDA_CHECK(cub::DeviceSegmentedRadixSort::SortKeys(
            scratch, scratch_bytes, rows, static_cast<int>(count), n, starts.get(), starts.get() + 1));
    };
    sort(nullptr);
    const auto scratch = device_array<char>(scratch_bytes);
    const auto multiply = [&] {  // cuBLAS counts by columns: it sees transposed matrices, so the order turns
        const float one = 1, zero = 0;
        require(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b.get(), CUDA_R_32F, n,
                             rows.Current(), CUDA_R_32F, n, &zero, c.get(), CUDA_R_32F, n, arithmetic,
                             CUBLAS_GEMM_DEFAULT),
                "cublasGemmEx");
    };

    std::vector<float> drawn;
    in_range("warm-up", kGrey, [&] {
        draw();
        drawn = copied_down(rows.Current(), count);
        sort(scratch.get());
        multiply();
        // All bits set is a NaN: what isn't computed again can't pass for right.
        CUDA_CHECK(cudaMemset(c.get(), 0xFF, count * sizeof(float)));
        CUDA_CHECK(cudaDeviceSynchronize());
    });

    const auto start = std::chrono::steady_clock::now();
    in_range("step", kGrey, [&] {
        in_range("init", kOrange, draw);
        in_range("sort", kBlue, [&] { sort(scratch.get()); });
        in_range("dot", kGreen, multiply);
        CUDA_CHECK(cudaDeviceSynchronize());
    });
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    // All rows by C·v = A·(B·v) for random signs v, where what a row's numbers are off by adds up like their
    // squares; then one row number by number.
    const std::vector<float> sorted = copied_down(rows.Current(), count), right = copied_down(b.get(), count),
                             product = copied_down(c.get(), count);
    std::mt19937 random(2);
    std::vector<double> signs(n), right_signs(n);
    for (double& sign : signs) sign = random() % 2 ? 1 : -1;
    for (int k = 0; k < n; ++k)
        right_signs[k] =
            std::inner_product(signs.begin(), signs.end(), &right[static_cast<size_t>(k) * n], 0.0);
    size_t wrong_rows = 0;
    for (size_t first = 0; first < count; first += n) {
        double lost = 0, expected = 0, found = 0, squares = 0;
        for (int i = 0; i < n; ++i) {
            lost += double{drawn[first + i]} - sorted[first + i];
            expected += sorted[first + i] * right_signs[i];
            found += product[first + i] * signs[i];
            squares += double{product[first + i]} * product[first + i];
        }
        wrong_rows += !std::is_sorted(&sorted[first], &sorted[first] + n) || !(std::fabs(lost) < 1e-6) ||
                      !(std::fabs(found - expected) <= 4 * kTolerance * std::sqrt(squares));
    }
    const size_t row = random() % n * n;
    std::vector<double> expected(n);
    for (int k = 0; k < n; ++k)
        for (int j = 0; j < n; ++j)
            expected[j] += double{sorted[row + k]} * right[static_cast<size_t>(k) * n + j];
    double worst = 0;
    for (int j = 0; j < n; ++j) worst = std::max(worst, std::fabs(product[row + j] / expected[j] - 1));
    require(cublasDestroy(blas), "cublasDestroy");
    require(curandDestroyGenerator(generator), "curandDestroyGenerator");
    std::printf("%d x %d: %.2f ms; wrong rows: expected 0, found %zu\n", n, n, elapsed.count(), wrong_rows);
    std::printf("largest relative error: expected at most %.1e, found %.1e\n", kTolerance, worst);
    return wrong_rows == 0 && worst <= kTolerance ? 0 : 1;
}
