// Water flows round a ring of pipe, as in the chapter's pair: no tick can begin before all cells are done
// with the one before. Two versions, for rings of 1, 4 and 16 blocks and of as many as the GPU holds: a graph
// of a kernel a tick, and one kernel that stays for all ticks.
//
// Right: the second version is a cooperative kernel, whose blocks wait for each other at a barrier.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node -f true
//              -o solution ./solution
#include <cooperative_groups.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "common/graph_compat.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;
constexpr float kExchange = 0.001f;  // of the difference to the outside, a tick

/// One tick of this thread's cell: water comes from the cell before, and meets the temperature outside.
__device__ void flow_here(const float* water, float* next, const float* outside, int cells) {
    const int cell = blockIdx.x * kThreads + threadIdx.x;
    if (cell >= cells) return;
    const float came = water[cell == 0 ? cells - 1 : cell - 1];
    next[cell] = came + kExchange * (outside[cell] - came);
}

__global__ void flow(const float* water, float* next, const float* outside, int cells) {
    flow_here(water, next, outside, cells);
}

/// All ticks. No pointer is __restrict__: what a block reads after the barrier, another has written before.
__global__ void flow_on(float* water, float* next, const float* outside, int cells, int ticks) {
    const auto grid = cooperative_groups::this_grid();
    for (int tick = 0; tick < ticks; ++tick) {
        flow_here(water, next, outside, cells);
        if (gridDim.x == 1)
            __syncthreads();  // a block is a whole grid here, and its own barrier is the cheaper one
        else
            grid.sync();
        float* const done = next;
        next = water;
        water = done;
    }
}

/// A ring with a cell a thread, but for the last thread.
struct Ring {
    float *water, *next, *outside;
    int blocks, cells, ticks;
    cudaStream_t stream;
};

/// A graph of all ticks, a kernel each.
GraphExec make_graph_of_ticks(const Ring& ring) {
    cudaGraph_t graph = nullptr;
    float *water = ring.water, *next = ring.next;
    CUDA_CHECK(cudaStreamBeginCapture(ring.stream, cudaStreamCaptureModeThreadLocal));
    for (int tick = 0; tick < ring.ticks; ++tick) {
        flow<<<ring.blocks, kThreads, 0, ring.stream>>>(water, next, ring.outside, ring.cells);
        CUDA_CHECK(cudaGetLastError());
        std::swap(water, next);
    }
    CUDA_CHECK(cudaStreamEndCapture(ring.stream, &graph));
    return instantiate(Graph(graph));
}

/// The kernel that stays: how many blocks the GPU holds at once depends on what a block of it takes.
const void* resident_kernel() {
    return reinterpret_cast<const void*>(flow_on);
}

/// Launches all ticks as one kernel. False: there is none.
bool launch_resident(Ring ring) {
    void* arguments[] = {&ring.water, &ring.next, &ring.outside, &ring.cells, &ring.ticks};
    CUDA_CHECK(
        cudaLaunchCooperativeKernel(resident_kernel(), ring.blocks, kThreads, arguments, 0, ring.stream));
    return true;
}

/// The most blocks that wait for each other. Ends the program if `blocks` are more: one that finds no place
/// would wait for another to end, and that one at the barrier for it, for ever.
int most_blocks(int blocks) {
    int cooperative = 0, multiprocessors = 0, on_each = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
    CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&on_each, resident_kernel(), kThreads, 0));
    const int most = cooperative ? on_each * multiprocessors : 0;
    if (blocks > most) {
        std::fprintf(stderr,
                     "no suitable GPU: %d blocks of %d threads would have to be resident at once, and this "
                     "one holds %d (%d on each of %d multiprocessors)%s; see --blocks\n",
                     blocks, kThreads, most, on_each, multiprocessors,
                     cooperative ? "" : ", since it has no cooperative launch");
        std::exit(77);
    }
    std::printf("resident at once: %d blocks of %d threads, %d on each of %d multiprocessors\n", most,
                kThreads, on_each, multiprocessors);
    return most;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Lets water flow round rings of pipe: a kernel a tick, or one for all.");
    const int ticks = options.integer("--ticks", 500, 1, 100'000, "ticks");
    const int asked =
        options.integer("--blocks", 0, 0, 1'000'000, "blocks of the largest ring; 0: as many as fit");
    const int rounds = options.integer("--rounds", 20, 1, 1000, "times that each version runs");
    options.done();
    require_gpu(64 << 20);
    const int most = most_blocks(std::max(asked, 16));
    const int full = asked > 0 ? asked : most;

    const auto capacity = size_t{1} * std::max(full, 16) * kThreads;
    const auto device_water = device_array<float>(capacity), device_next = device_array<float>(capacity),
               device_outside = device_array<float>(capacity);
    std::mt19937 random(6);
    std::vector<float> water(capacity), outside(capacity), found(capacity);
    for (size_t i = 0; i < capacity; ++i)
        water[i] = random() % 10'000 / 100.0f, outside[i] = random() % 3'000 / 100.0f;
    CUDA_CHECK(
        cudaMemcpy(device_outside.get(), outside.data(), capacity * sizeof(float), cudaMemcpyHostToDevice));
    const Stream own_stream = make_stream(cudaStreamNonBlocking);
    const cudaStream_t stream = own_stream.get();
    flow<<<1, 1, 0, stream>>>(nullptr, nullptr, nullptr, 0);  // loads the kernel, and does nothing
    CUDA_CHECK(cudaGetLastError());

    size_t wrong = 0, checked = 0;
    // Runs the ticks in a range of that name and compares every cell; in us a tick.
    const auto run = [&](const Ring& ring, const std::string& name, const std::vector<double>& expected,
                         auto&& launch) {
        const size_t bytes = ring.cells * sizeof(float);
        CUDA_CHECK(cudaMemcpy(ring.water, water.data(), bytes, cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemset(ring.next, 0xFF, bytes));  // not a number
        CUDA_CHECK(cudaDeviceSynchronize());
        const auto began = std::chrono::steady_clock::now();
        {
            const nvtx3::scoped_range range{name};
            launch();
            CUDA_CHECK(cudaStreamSynchronize(stream));
        }
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
        CUDA_CHECK(cudaMemcpy(found.data(), ring.ticks % 2 == 0 ? ring.water : ring.next, bytes,
                              cudaMemcpyDeviceToHost));
        for (int i = 0; i < ring.cells; ++i) wrong += !(std::fabs(found[i] - expected[i]) <= 2e-3);
        checked += ring.cells;
        return took.count() / ring.ticks;
    };

    const auto median = [](std::vector<double>& values) {
        std::sort(values.begin(), values.end());
        return values[values.size() / 2];
    };
    const auto compare = [&](int blocks, const std::string& name) {
        const Ring ring{device_water.get(),
                        device_next.get(),
                        device_outside.get(),
                        blocks,
                        blocks * kThreads - 1,
                        ticks,
                        stream};
        std::vector<double> expected(water.begin(), water.begin() + ring.cells), next(ring.cells);
        for (int tick = 0; tick < ticks; ++tick, expected.swap(next))
            for (int i = 0; i < ring.cells; ++i) {
                const double came = expected[i == 0 ? ring.cells - 1 : i - 1];
                next[i] = came + double{kExchange} * (outside[i] - came);
            }
        const GraphExec exec = make_graph_of_ticks(ring);
        CUDA_CHECK(cudaGraphUpload(exec.get(), stream));
        const auto graph = [&] { CUDA_CHECK(cudaGraphLaunch(exec.get(), stream)); };
        const auto resident = [&] {
            if (!launch_resident(ring)) graph();
        };
        std::vector<double> graph_us, resident_us;
        for (int round = 0; round < rounds; ++round) {
            graph_us.push_back(run(ring, "graph " + name, expected, graph));
            resident_us.push_back(run(ring, "resident " + name, expected, resident));
        }
        if (name != "warm-up")
            std::printf("%s: graph %.3f us a tick, resident %.3f us (median of %d)\n", name.c_str(),
                        median(graph_us), median(resident_us), rounds);
    };
    compare(1, "warm-up");
    for (const int blocks : {1, 4, 16}) compare(blocks, "x" + std::to_string(blocks));
    compare(full, "full");
    std::printf("wrong cells: %zu of %zu\n", wrong, checked);
    return wrong == 0 ? 0 : 1;
}
