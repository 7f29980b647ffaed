// Water flows round five rings of pipe, one cell per tick, and takes on some of the warmth outside.
// A tick of a ring is one kernel. A step is two hundred ticks of each ring, and after every step the host
// checks on it. The rings need nothing of each other, so each has its own stream.
//
// Symptom: a step takes nearly four times as long as all of its kernels together, although they're in
// five streams.
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

constexpr float kExchange = 2e-5f;  // share of the difference to the outside, per tick

/// One tick: the water of each cell moves on to the next, and meets the temperature outside it.
__global__ void flow(const float* water, float* next, const float* outside, int cells) {
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells) return;
    const float came = water[cell == 0 ? cells - 1 : cell - 1];
    next[cell] = came + kExchange * (outside[cell] - came);
}

/// The rings, one after the other in memory. Each has a stream, and the event marks points in streams.
struct Rings {
    int cells, pairs;
    std::vector<Stream> streams;
    Event event = make_event(cudaEventDisableTiming);
    std::unique_ptr<float[], DeviceFree> water = device_array<float>(streams.size() * cells),
                                         next = device_array<float>(streams.size() * cells),
                                         outside = device_array<float>(streams.size() * cells);

    Rings(int count, int cells, int pairs) : cells(cells), pairs(pairs), streams(count) {
        for (Stream& s : streams) s = make_stream(cudaStreamNonBlocking);
    }
};

/// Queues a step, two ticks of each ring at a time: from `water` to `next` and back. All streams begin after
/// what is in the first one, and the first continues when all are done.
void queue_ticks(const Rings& rings) {
    const cudaStream_t first = rings.streams[0].get();
    const cudaEvent_t event = rings.event.get();
    CUDA_CHECK(cudaEventRecord(event, first));
    for (const Stream& stream : rings.streams) CUDA_CHECK(cudaStreamWaitEvent(stream.get(), event));
    const int cells = rings.cells, threads = 256, blocks = (cells + threads - 1) / threads;
    for (int pair = 0; pair < rings.pairs; ++pair)
        for (size_t ring = 0; ring < rings.streams.size(); ++ring) {
            const cudaStream_t stream = rings.streams[ring].get();
            float *const water = &rings.water[ring * cells], *const next = &rings.next[ring * cells];
            const float* const outside = &rings.outside[ring * cells];
            flow<<<blocks, threads, 0, stream>>>(water, next, outside, cells);
            CUDA_CHECK(cudaGetLastError());
            flow<<<blocks, threads, 0, stream>>>(next, water, outside, cells);
            CUDA_CHECK(cudaGetLastError());
        }
    for (const Stream& stream : rings.streams) {
        CUDA_CHECK(cudaEventRecord(event, stream.get()));
        CUDA_CHECK(cudaStreamWaitEvent(first, event));
    }
}

double now_ms() {
    const std::chrono::duration<double, std::milli> now = std::chrono::steady_clock::now().time_since_epoch();
    return now.count();
}

/// The value below which `share` of all values are.
double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(share * (values.size() - 1))];
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Lets water flow round rings of pipe, in steps of many ticks.");
    const int count = options.integer("--rings", 5, 1, 32, "rings, each in a stream of its own");
    const int cells = options.integer("--cells", 251, 1, 10'000'000, "cells of a ring");
    const int pairs = options.integer("--pairs", 100, 1, 5'000, "pairs of ticks in a step");
    const int steps =
        options.integer("--steps", 200, 1, 10'000, "steps that are timed, after as many to warm up");
    options.done();
    const size_t all = size_t{1} * count * cells, bytes = all * sizeof(float);
    require_gpu(3 * bytes);

    std::mt19937 random(6);
    std::vector<float> water(all), outside(all), found(all);
    for (size_t i = 0; i < all; ++i)
        water[i] = random() % 10'000 / 100.0f, outside[i] = random() % 3'000 / 100.0f;
    const Rings rings(count, cells, pairs);
    const cudaStream_t stream = rings.streams[0].get();
    CUDA_CHECK(cudaMemcpy(rings.water.get(), water.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(rings.outside.get(), outside.data(), bytes, cudaMemcpyHostToDevice));
    flow<<<1, 1, 0, stream>>>(nullptr, nullptr, nullptr, 0);  // loads the kernel, and does nothing
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());  // the copies are not in these streams

    {
        nvtx3::scoped_range range{"warm-up"};
        for (int step = 0; step < steps; ++step) queue_ticks(rings);
        CUDA_CHECK(cudaStreamSynchronize(stream));
    }
    std::vector<double> submit_ms, step_ms;
    for (int step = 0; step < steps; ++step) {
        nvtx3::scoped_range range{"step"};
        const double start = now_ms();
        queue_ticks(rings);
        submit_ms.push_back(now_ms() - start);
        CUDA_CHECK(cudaStreamSynchronize(stream));
        step_ms.push_back(now_ms() - start);
    }

    // The host follows water round its ring: after n ticks, what was in cell c is in cell c + n. If there are
    // very many cells it follows only some, or it would take far longer than the GPU.
    CUDA_CHECK(cudaMemcpy(found.data(), rings.water.get(), bytes, cudaMemcpyDeviceToHost));
    const long long ticks = 4LL * pairs * steps;
    size_t checked = 0, wrong = 0;
    for (size_t i = 0; i < all; i += std::max<size_t>(1, all / 1000), ++checked) {
        const size_t ring = i - i % cells;  // where it begins
        double expected = water[i];
        int cell = static_cast<int>(i - ring);
        for (long long tick = 0; tick < ticks; ++tick) {
            if (++cell == cells) cell = 0;
            expected += double{kExchange} * (outside[ring + cell] - expected);
        }
        wrong += !(std::fabs(found[ring + cell] - expected) <= 1e-2);
    }
    std::printf(
        "%d rings of %d cells, %d steps of %d kernels: median submit %.4f ms, median step %.3f ms, "
        "half of them from %.3f to %.3f ms\n",
        count, cells, steps, 2 * pairs * count, quantile(submit_ms, 0.5), quantile(step_ms, 0.5),
        quantile(step_ms, 0.25), quantile(step_ms, 0.75));
    std::printf("after %lld ticks: %zu of %zu cells wrong\n", ticks, wrong, checked);
    return wrong == 0 ? 0 : 1;
}
