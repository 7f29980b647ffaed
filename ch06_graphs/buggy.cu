// Water flows round a ring of pipe, one cell a tick, and on its way takes on some of the warmth outside. A
// tick is a kernel, a step is a thousand ticks, and after every step the host looks whether all is well.
//
// Wrong: every tick is launched by itself, in every step again. A launch takes the host longer than a tick
// takes the GPU.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I. ch06_graphs/buggy.cu -o buggy
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node -f true
//              -o buggy ./buggy
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/graph_compat.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr float kExchange = 0.001f;  // of the difference to the outside, a tick

/// One tick: the water of each cell moves on to the next, and meets the temperature outside it.
__global__ void flow(const float* water, float* next, const float* outside, int cells) {
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells) return;
    const float came = water[cell == 0 ? cells - 1 : cell - 1];
    next[cell] = came + kExchange * (outside[cell] - came);
}

/// The ring and the stream in which it flows.
struct Ring {
    std::unique_ptr<float[], DeviceFree> water, next, outside;
    int cells, pairs;
    cudaStream_t stream;
};

/// Queues a step, two ticks at a time: from `water` to `next` and back.
void queue_ticks(const Ring& ring) {
    const int threads = 256, blocks = (ring.cells + threads - 1) / threads;
    float *const water = ring.water.get(), *const next = ring.next.get();
    for (int pair = 0; pair < ring.pairs; ++pair) {
        flow<<<blocks, threads, 0, ring.stream>>>(water, next, ring.outside.get(), ring.cells);
        flow<<<blocks, threads, 0, ring.stream>>>(next, water, ring.outside.get(), ring.cells);
    }
    CUDA_CHECK(cudaGetLastError());
}

/// Hands the GPU a step to do.
void submit_step(const Ring& ring) {
    queue_ticks(ring);
}

double now_ms() {
    const std::chrono::duration<double, std::milli> now = std::chrono::steady_clock::now().time_since_epoch();
    return now.count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Lets water flow round a ring of pipe, in steps of many ticks.");
    const int cells = options.integer("--cells", 1003, 1, 10'000'000, "cells of the ring");
    const int pairs = options.integer("--pairs", 500, 1, 50'000, "pairs of ticks in a step");
    const int steps = options.integer("--steps", 3, 1, 10'000, "steps after the one to warm up");
    options.done();
    require_gpu(3 * cells * sizeof(float));

    std::mt19937 random(6);
    std::vector<float> water(cells), outside(cells);
    for (int i = 0; i < cells; ++i)
        water[i] = random() % 10'000 / 100.0f, outside[i] = random() % 3'000 / 100.0f;
    cudaStream_t stream = nullptr;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const Ring ring{device_array<float>(cells),
                    device_array<float>(cells),
                    device_array<float>(cells),
                    cells,
                    pairs,
                    stream};
    CUDA_CHECK(cudaMemcpy(ring.water.get(), water.data(), cells * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(ring.outside.get(), outside.data(), cells * sizeof(float), cudaMemcpyHostToDevice));
    flow<<<1, 1, 0, stream>>>(nullptr, nullptr, nullptr, 0);  // loads the kernel, and does nothing
    CUDA_CHECK(cudaDeviceSynchronize());                      // the copies are not in this stream

    {
        nvtx3::scoped_range range{"warm-up"};
        submit_step(ring);
        CUDA_CHECK(cudaStreamSynchronize(stream));
    }
    std::vector<double> submit_ms, step_ms;
    for (int step = 0; step < steps; ++step) {
        nvtx3::scoped_range range{"step"};
        const double start = now_ms();
        submit_step(ring);
        submit_ms.push_back(now_ms() - start);
        CUDA_CHECK(cudaStreamSynchronize(stream));
        step_ms.push_back(now_ms() - start);
    }

    // The host follows the water round the ring: after n ticks, what was in cell c is in cell c + n.
    std::vector<float> found(cells);
    CUDA_CHECK(cudaMemcpy(found.data(), ring.water.get(), cells * sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaStreamDestroy(stream));
    const long long ticks = 2LL * pairs * (steps + 1);
    int wrong = 0;
    for (int i = 0; i < cells; ++i) {
        double expected = water[i];
        long long cell = i;
        for (long long tick = 0; tick < ticks; ++tick) {
            if (++cell == cells) cell = 0;
            expected += double{kExchange} * (outside[cell] - expected);
        }
        wrong += !(std::fabs(found[cell] - expected) <= 1e-3);
    }
    std::printf("%d cells, %d steps of %d ticks: median submit %.3f ms, median step %.3f ms\n", cells, steps,
                2 * pairs, median(submit_ms), median(step_ms));
    std::printf("after %lld ticks: %d of %d cells wrong\n", ticks, wrong, cells);
    return wrong == 0 ? 0 : 1;
}
