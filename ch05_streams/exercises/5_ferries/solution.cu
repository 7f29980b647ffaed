// Every night a server works out forecasts for six lakes, one after the other. Meanwhile ferries ask what to
// expect on their route, one while each lake is worked on. Ferries have a stream of their own.
//
// Symptom: all numbers are right. Some ferries have their answer soon, others wait for milliseconds.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cuda/atomic>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kLakes = 6, kThreads = 256;
constexpr int kSlice = 10'000;  // steps of a launch at most
constexpr int kRoute = 1000, kRouteSteps = 512, kWindSteps = 20'000;

/// A flag in pinned host memory that the GPU sets and the host reads meanwhile.
using Flag = cuda::atomic_ref<int, cuda::thread_scope_system>;

/// A cell of water takes `steps` steps of x = factor * x + 1, modulo 2^32. All cells of a lake are as deep.
struct Lake {
    size_t first, cells;
    int steps;
    unsigned factor;
    [[nodiscard]] unsigned blocks() const { return static_cast<unsigned>((cells + kThreads - 1) / kThreads); }
};

__host__ __device__ unsigned mixed(unsigned x, unsigned factor, int steps) {
    for (int step = 0; step < steps; ++step) x = factor * x + 1;
    return x;
}

/// The same for all `cells`, by squaring, as a reference.
void mix_all(unsigned* cells, size_t count, unsigned factor, int steps) {
    unsigned all = 1, increment = 0, step_increment = 1;
    for (; steps > 0; steps /= 2) {
        if (steps % 2) increment = factor * increment + step_increment, all *= factor;
        step_increment = factor * step_increment + step_increment, factor *= factor;
    }
    for (size_t i = 0; i < count; ++i) cells[i] = all * cells[i] + increment;
}

__host__ __device__ unsigned wind_over(int lake) {
    return mixed(lake, 5, kWindSteps) / 8 * 8 + 5;
}

__global__ void blow(int lake, unsigned* winds) {
    winds[lake] = wind_over(lake);
}

/// Works on a lake; its first block says that it has begun.
__global__ void forecast(unsigned* cells, size_t count, unsigned factor, int steps, int* begun) {
    if (blockIdx.x == 0 && threadIdx.x == 0) Flag(*begun).store(1, cuda::memory_order_relaxed);
    const size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x;
    if (i < count) cells[i] = mixed(cells[i], factor, steps);
}

/// What a ferry asks for: its route under the wind of now.
__global__ void answer(unsigned* route, const unsigned* wind) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < kRoute) route[i] = mixed(route[i], *wind, kRouteSteps);
}

/// Does the stream still have work? Asking also makes Windows' WDDM driver, WSL2's too, send off launches
/// that it holds back.
bool is_busy(cudaStream_t stream) {
    const cudaError_t status = cudaStreamQuery(stream);
    if (status != cudaErrorNotReady) CUDA_CHECK(status);
    (void)cudaGetLastError();  // "not ready" is kept as the last error
    return status == cudaErrorNotReady;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Answers ferries while forecasts for six lakes have the GPU.");
    const int waves =
        static_cast<int>(options.integer("--waves", 32, 1, 64, "times a wide lake fills the GPU"));
    const int steps =
        static_cast<int>(options.integer("--steps", 10'000, 1, 30'000, "steps of a shallow lake"));
    options.done();
    require_gpu(0);
    int sms = 0, blocks_per_sm = 0, low = 0, high = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, forecast, kThreads, 0));
    CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&low, &high));

    // Lakes hold about as much water each: a deeper one is narrower.
    std::mt19937 random(8);
    std::vector<Lake> lakes(kLakes);
    int depth[kLakes] = {0, 1, 2, 3, 4, 5};
    for (int i = kLakes - 1; i > 0; --i) std::swap(depth[i], depth[random() % (i + 1)]);
    size_t total = 0;
    for (int i = 0; i < kLakes; ++i) {
        const size_t cells = size_t{1} * std::max(1, waves >> depth[i]) * sms * blocks_per_sm * kThreads - 1;
        lakes[i] = {total, cells, steps << depth[i], static_cast<unsigned>(random()) / 8 * 8 + 5};
        total += cells;
    }
    require_gpu(total * sizeof(unsigned));
    std::vector<unsigned> expected(total), found(total), route(kRoute), routes[kLakes];
    for (unsigned& cell : expected) cell = static_cast<unsigned>(random());
    const auto cells = device_array<unsigned>(total), device_route = device_array<unsigned>(kRoute),
               winds = device_array<unsigned>(kLakes);
    CUDA_CHECK(cudaMemcpy(cells.get(), expected.data(), total * sizeof(unsigned), cudaMemcpyHostToDevice));
    const auto begun = pinned_array<int>(kLakes);

    const Stream nightly = make_stream(cudaStreamNonBlocking, low),
                 ferries = make_stream(cudaStreamNonBlocking, high);
    std::vector<Event> wind_known(kLakes);
    for (Event& event : wind_known) event = make_event(cudaEventDisableTiming);
    {
        nvtx3::scoped_range range{"warm-up"};
        blow<<<1, 1, 0, nightly.get()>>>(0, winds.get());
        CUDA_CHECK(cudaGetLastError());
        forecast<<<1, kThreads, 0, nightly.get()>>>(cells.get(), 0, 0, 0, begun.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
        CUDA_CHECK(cudaMemset(device_route.get(), 0, kRoute * sizeof(unsigned)));
        CUDA_CHECK(cudaDeviceSynchronize());
        answer<<<1, kThreads, 0, ferries.get()>>>(device_route.get(), winds.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    std::fill_n(begun.get(), kLakes, 0);

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"night"};
        for (int i = 0; i < kLakes; ++i) {
            const Lake& lake = lakes[i];
            blow<<<1, 1, 0, nightly.get()>>>(i, winds.get());
            CUDA_CHECK(cudaGetLastError());
            CUDA_CHECK(cudaEventRecord(wind_known[i].get(), nightly.get()));
            for (int done = 0; done < lake.steps; done += kSlice) {
                forecast<<<lake.blocks(), kThreads, 0, nightly.get()>>>(
                    &cells[lake.first], lake.cells, lake.factor, std::min(kSlice, lake.steps - done),
                    &begun[i]);
                CUDA_CHECK(cudaGetLastError());
            }
        }
        for (int i = 0; i < kLakes; ++i) {
            // The next ferry asks when the next lake has begun.
            while (Flag(begun[i]).load(cuda::memory_order_relaxed) == 0 && is_busy(nightly.get()))
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            std::copy_n(&expected[lakes[i].first], kRoute, route.begin());
            CUDA_CHECK(cudaMemcpyAsync(device_route.get(), route.data(), kRoute * sizeof(unsigned),
                                       cudaMemcpyHostToDevice, ferries.get()));
            CUDA_CHECK(cudaStreamWaitEvent(ferries.get(), wind_known[i].get()));
            answer<<<(kRoute + kThreads - 1) / kThreads, kThreads, 0, ferries.get()>>>(device_route.get(),
                                                                                       &winds[i]);
            CUDA_CHECK(cudaGetLastError());
            (void)is_busy(ferries.get());
            CUDA_CHECK(cudaMemcpyAsync(route.data(), device_route.get(), kRoute * sizeof(unsigned),
                                       cudaMemcpyDeviceToHost, ferries.get()));
            CUDA_CHECK(cudaStreamSynchronize(ferries.get()));
            routes[i] = route;
        }
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    CUDA_CHECK(cudaMemcpy(found.data(), cells.get(), total * sizeof(unsigned), cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    for (int i = 0; i < kLakes; ++i) {
        const Lake& lake = lakes[i];
        std::copy_n(&expected[lake.first], kRoute, route.begin());
        mix_all(route.data(), kRoute, wind_over(i), kRouteSteps);
        for (int at = 0; at < kRoute; ++at) wrong += routes[i][at] != route[at];
        mix_all(&expected[lake.first], lake.cells, lake.factor, lake.steps);
    }
    for (size_t i = 0; i < total; ++i)
        if (found[i] != expected[i] && ++wrong == 1)
            std::printf("cell %zu: expected %u, found %u\n", i, expected[i], found[i]);
    std::printf("%d lakes of %zu cells in all, %d ferries: %.2f ms\n", kLakes, total, kLakes,
                elapsed.count());
    std::printf("wrong numbers: expected 0, found %zu of %zu\n", wrong, total + size_t{kLakes} * kRoute);
    return wrong == 0 ? 0 : 1;
}
