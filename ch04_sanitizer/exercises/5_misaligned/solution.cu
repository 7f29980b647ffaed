// Turns up the volume of one part of a recording, in place: of both channels, which lie one behind the other,
// the samples from number --first on are multiplied by a gain, four at a time.
//
// Right: the samples before the first multiple of 16 bytes are taken one by one, like those behind the last
// whole float4, so every 16-byte load and store begins where it may.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    compute-sanitizer --tool memcheck ./solution --count 202
#include <cmath>
#include <cstdio>
#include <random>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;
constexpr int kLanes = 4;    // samples in a float4
constexpr int kAfter = 103;  // samples behind the part, which stay as they are
constexpr float kGain = 1.5f;

/// Multiplies `count` samples from `part` on. A thread takes four that lie together, with one load and one
/// store; a few more threads take what is left over, one sample each.
__global__ void amplify(float* part, int count, float gain) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    const auto beyond = reinterpret_cast<size_t>(part) % sizeof(float4) / sizeof(float);
    const int head = min(count, static_cast<int>((kLanes - beyond) % kLanes));
    const int quads = (count - head) / kLanes;
    if (i < quads) {
        float4* quad = reinterpret_cast<float4*>(part + head) + i;
        float4 four = *quad;
        four.x *= gain, four.y *= gain, four.z *= gain, four.w *= gain;
        *quad = four;
    } else if (const int loose = i - quads; loose < count - quads * kLanes) {
        part[loose < head ? loose : quads * kLanes + loose] *= gain;
    }
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Turns up the volume of one part of a recording.");
    const auto first = static_cast<size_t>(options.integer("--first", 1, 0, 1000, "samples before the part"));
    const int count =
        static_cast<int>(options.integer("--count", 1000001, 1, 64 << 20, "samples in the part"));
    options.done();
    const size_t pitch = first + count + kAfter;  // samples of a channel
    const size_t total = 2 * pitch, bytes = total * sizeof(float);
    require_gpu(bytes);

    const auto before = pinned_array<float>(total), after = pinned_array<float>(total);
    std::mt19937 random(5);
    for (size_t i = 0; i < total; ++i) before[i] = static_cast<float>(random() % 20001) / 10000 - 1;
    const auto recording = device_array<float>(total);
    CUDA_CHECK(cudaMemcpy(recording.get(), before.get(), bytes, cudaMemcpyHostToDevice));

    const int threads = count / kLanes + 2 * kLanes;  // up to three samples are left over at either end
    const int blocks = (threads + kThreads - 1) / kThreads;
    {
        nvtx3::scoped_range range{"warm-up"};
        amplify<<<blocks, kThreads>>>(recording.get(), 0, kGain);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    for (const size_t channel : {size_t{0}, pitch}) {
        nvtx3::scoped_range range{channel == 0 ? "left" : "right"};
        amplify<<<blocks, kThreads>>>(&recording[channel + first], count, kGain);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    CUDA_CHECK(cudaMemcpy(after.get(), recording.get(), bytes, cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    for (size_t i = 0; i < total; ++i) {
        const bool inside = i % pitch >= first && i % pitch < first + count;
        const double expected = inside ? static_cast<double>(before[i]) * kGain : before[i];
        if (!(std::fabs(after[i] - expected) <= 1e-6) && ++wrong == 1)
            std::printf("sample %zu: expected %.6f, found %.6f\n", i, expected, after[i]);
    }
    std::printf("samples %zu to %zu of both channels amplified\n", first, first + count - 1);
    std::printf("wrong samples: expected 0, found %zu of %zu\n", wrong, total);
    return wrong == 0 ? 0 : 1;
}
