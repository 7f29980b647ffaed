// A program that smooths a measurement with a filter from a library, and the library, which it opens at run
// time. Both are in this file: with BUILD_LIBRARY defined it is the library, else the program.
//
// Wrong: the index is held down to the length of the answer, not of the samples. Nothing is read out of
// bounds, and the last numbers are computed from the wrong samples.
#include <dlfcn.h>

#include <cstdio>
#include <filesystem>
#include <random>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kTaps = 5;  // samples that make up one number of the answer: 1, 4, 6, 4 and 1 times

/// What the library offers under the name "smooth": number i of `smoothed` becomes the weighted sum of the
/// samples i to i + kTaps - 1. So `samples` holds kTaps - 1 numbers more than `smoothed`, which holds
/// `count`.
extern "C" cudaError_t smooth(const int* samples, int* smoothed, int count);

#ifdef BUILD_LIBRARY

constexpr int kThreads = 256;
constexpr int kSteps = (kTaps + 3) / 4 * 4;          // a loop of a multiple of four steps rolls out well
__constant__ int weights[kSteps] = {1, 4, 6, 4, 1};  // the rest is zero, and adds nothing

__global__ void filter(const int* samples, int* smoothed, int count) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= count) return;
    int sum = 0;
    for (int k = 0; k < kSteps; ++k) sum += weights[k] * samples[min(i + k, count - 1)];
    smoothed[i] = sum;
}

cudaError_t smooth(const int* samples, int* smoothed, int count) {
    filter<<<(count + kThreads - 1) / kThreads, kThreads>>>(samples, smoothed, count);
    return cudaGetLastError();  // of the library's own CUDA runtime, which the program's does not know of
}

#else

/// The library's function, from the file that is called like this program with ".so" behind it. The library
/// stays open for as long as the program runs.
decltype(&smooth) open_library() {
    const std::string path = std::filesystem::read_symlink("/proc/self/exe").string() + ".so";
    void* library = dlopen(path.c_str(), RTLD_NOW);
    void* function = library ? dlsym(library, "smooth") : nullptr;
    if (!function) {
        std::fprintf(stderr, "the library is missing: %s. This file's first lines say how to build it.\n",
                     dlerror());
        std::exit(1);
    }
    return reinterpret_cast<decltype(&smooth)>(function);
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Smooths a measurement with a filter from a library.");
    const int count = static_cast<int>(options.integer("--count", 100003, 1, 64 << 20, "smoothed numbers"));
    options.done();
    const size_t given = size_t{1} * count + kTaps - 1;
    require_gpu((given + count) * sizeof(int));
    const auto smooth_on_gpu = open_library();

    const auto samples = pinned_array<int>(given), smoothed = pinned_array<int>(count);
    std::mt19937 random(6);
    for (size_t i = 0; i < given; ++i) samples[i] = static_cast<int>(random() % 4096);
    const auto device_samples = device_array<int>(given), device_smoothed = device_array<int>(count);
    CUDA_CHECK(cudaMemcpy(device_samples.get(), samples.get(), given * sizeof(int), cudaMemcpyHostToDevice));
    {
        nvtx3::scoped_range range{"warm-up"};
        CUDA_CHECK(smooth_on_gpu(device_samples.get(), device_smoothed.get(), 1));
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    // No sum of samples is negative: a number that is never written cannot be right by luck.
    CUDA_CHECK(cudaMemset(device_smoothed.get(), 0xFF, count * sizeof(int)));
    {
        nvtx3::scoped_range range{"smooth"};
        CUDA_CHECK(smooth_on_gpu(device_samples.get(), device_smoothed.get(), count));
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    CUDA_CHECK(
        cudaMemcpy(smoothed.get(), device_smoothed.get(), count * sizeof(int), cudaMemcpyDeviceToHost));

    size_t wrong = 0;
    for (int i = 0; i < count; ++i) {
        const long long expected =
            samples[i] + 4LL * samples[i + 1] + 6LL * samples[i + 2] + 4LL * samples[i + 3] + samples[i + 4];
        if (smoothed[i] != expected && ++wrong == 1)
            std::printf("number %d: expected %lld, found %d\n", i, expected, smoothed[i]);
    }
    std::printf("wrong numbers: expected 0, found %zu of %d\n", wrong, count);
    return wrong == 0 ? 0 : 1;
}

#endif
