// Shifts an array by two places: out[i] = x[i + 2]. There are two results fewer than elements. The program
// fetches these, and checks every one.
//
// Fixed: the guard checks the element that is read. The array's last two threads have nothing to do, like
// those that fill up the last block.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I. ch04_sanitizer/fixed.cu -o fixed
// look:    compute-sanitizer --tool memcheck --leak-check full ./fixed
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 32, kShift = 2;

__global__ void shift(const float* x, float* out, int count) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i + kShift < count) out[i] = x[i + kShift];
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Shifts an array of random numbers by two places.");
    const int count =
        static_cast<int>(options.integer("--count", 100, kShift + 1, 100'000, "numbers in the array"));
    options.done();
    require_gpu(2 * count * sizeof(float));

    std::vector<float> x(count), out(count - kShift, NAN);
    std::mt19937 random(4);
    for (float& number : x) number = static_cast<float>(random() >> 8) / (1 << 24);
    const auto device_x = device_array<float>(count), device_out = device_array<float>(count);
    CUDA_CHECK(cudaMemcpy(device_x.get(), x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));

    {
        nvtx3::scoped_range range{"shift"};
        const int blocks = (count + kThreads - 1) / kThreads;
        shift<<<blocks, kThreads>>>(device_x.get(), device_out.get(), count);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    CUDA_CHECK(cudaMemcpy(out.data(), device_out.get(), out.size() * sizeof(float), cudaMemcpyDeviceToHost));

    size_t wrong = 0;
    for (size_t i = 0; i < out.size(); ++i) wrong += !(out[i] == x[i + kShift]);
    std::printf("%d numbers, shifted by %d places: %zu results\n", count, kShift, out.size());
    std::printf("last result: expected %.6f, found %.6f; %zu of %zu results wrong\n", x.back(), out.back(),
                wrong, out.size());
    return wrong == 0 ? 0 : 1;
}
