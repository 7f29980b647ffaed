// Lets wind blow over sand. In every step a gust pushes each dune, the more the stronger the wind is, and
// then the sand settles in many small kernels. The wind changes with every step. The program makes all steps
// twice, without graphs and with graphs, and compares.
//
// Right: the graph is instantiated once. Before each launch, the one node that reads the wind gets its new
// arguments.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=graph:host-only
//              -f true -o solution ./solution
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/graph_compat.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;

__global__ void push(float* sand, const float* gusts, int cells, float wind) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < cells) sand[i] += wind * gusts[i];
}

/// Each cell of the ring gives a quarter of its sand to either neighbor.
__global__ void settle(const float* sand, float* settled, int cells) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= cells) return;
    const float left = sand[i == 0 ? cells - 1 : i - 1], right = sand[i + 1 == cells ? 0 : i + 1];
    settled[i] = 0.25f * left + 0.5f * sand[i] + 0.25f * right;
}

/// A ring of dunes, and the stream for its kernels.
struct Dunes {
    std::unique_ptr<float[], DeviceFree> sand, settled, gusts;
    int cells, pairs;  // of settling kernels
    Stream stream = make_stream(cudaStreamNonBlocking);
};

/// Queues a step: one gust, then the sand settles.
void queue_step(const Dunes& d, float wind) {
    const int blocks = (d.cells + kThreads - 1) / kThreads;
    push<<<blocks, kThreads, 0, d.stream.get()>>>(d.sand.get(), d.gusts.get(), d.cells, wind);
    CUDA_CHECK(cudaGetLastError());
    for (int pair = 0; pair < d.pairs; ++pair) {
        settle<<<blocks, kThreads, 0, d.stream.get()>>>(d.sand.get(), d.settled.get(), d.cells);
        CUDA_CHECK(cudaGetLastError());
        settle<<<blocks, kThreads, 0, d.stream.get()>>>(d.settled.get(), d.sand.get(), d.cells);
        CUDA_CHECK(cudaGetLastError());
    }
}

Graph record_step(const Dunes& d, float wind) {
    cudaGraph_t recorded = nullptr;
    CUDA_CHECK(cudaStreamBeginCapture(d.stream.get(), cudaStreamCaptureModeThreadLocal));
    queue_step(d, wind);
    CUDA_CHECK(cudaStreamEndCapture(d.stream.get(), &recorded));
    return Graph(recorded);
}

/// Gives the step's node `push`, the only one that waits for no other, new arguments for later
/// launches.
void set_wind(const GraphExec& step, const Graph& recorded, const Dunes& d, float wind) {
    cudaGraphNode_t node = nullptr;
    size_t roots = 1;
    CUDA_CHECK(cudaGraphGetRootNodes(recorded.get(), &node, &roots));
    float *sand = d.sand.get(), *gusts = d.gusts.get();
    int cells = d.cells;
    void* arguments[] = {&sand, &gusts, &cells, &wind};  // copied by the call below
    cudaKernelNodeParams params{};
    params.func = reinterpret_cast<void*>(push);
    params.gridDim = dim3((d.cells + kThreads - 1) / kThreads);
    params.blockDim = dim3(kThreads);
    params.kernelParams = arguments;
    CUDA_CHECK(cudaGraphExecKernelNodeSetParams(step.get(), node, &params));
}

/// Makes all steps with one launch each.
void blow_with_graphs(const Dunes& d, const std::vector<float>& winds) {
    const Graph recorded = record_step(d, 0);
    const GraphExec step = instantiate(recorded);
    for (const float wind : winds) {
        set_wind(step, recorded, d, wind);  // launches in flight keep their wind
        CUDA_CHECK(cudaGraphLaunch(step.get(), d.stream.get()));
    }
    CUDA_CHECK(cudaStreamSynchronize(d.stream.get()));
}

void blow_without_graphs(const Dunes& d, const std::vector<float>& winds) {
    for (const float wind : winds) queue_step(d, wind);
    CUDA_CHECK(cudaStreamSynchronize(d.stream.get()));
}

/// The sand after all steps, in double precision on the host.
std::vector<double> expected_sand(const std::vector<float>& first, const std::vector<float>& gusts,
                                  const std::vector<float>& winds, int settlings) {
    const size_t cells = first.size();
    std::vector<double> sand(first.begin(), first.end()), settled(cells);
    for (const float wind : winds) {
        for (size_t i = 0; i < cells; ++i) sand[i] += double{wind} * gusts[i];
        for (int n = 0; n < settlings; ++n) {
            for (size_t i = 0; i < cells; ++i)
                settled[i] =
                    0.25 * sand[(i + cells - 1) % cells] + 0.5 * sand[i] + 0.25 * sand[(i + 1) % cells];
            sand.swap(settled);
        }
    }
    return sand;
}

/// Lets the wind blow over the same sand each time. Returns us per step, and how many cells are wrong then.
template <class Blow>
std::pair<double, int> measured(const char* name, Blow blow, const Dunes& d, const std::vector<float>& first,
                                const std::vector<float>& winds, const std::vector<double>& expected) {
    const size_t bytes = first.size() * sizeof(float);
    CUDA_CHECK(cudaMemcpy(d.sand.get(), first.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaDeviceSynchronize());  // the copy isn't in that stream
    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{name};
        blow(d, winds);
    }
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
    std::vector<float> found(first.size());
    CUDA_CHECK(cudaMemcpy(found.data(), d.sand.get(), bytes, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (size_t i = 0; i < found.size(); ++i) wrong += !(std::fabs(found[i] - expected[i]) <= 1e-3);
    return {elapsed.count() / winds.size(), wrong};
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Lets wind blow over dunes of sand, without graphs and with graphs.");
    const int cells = options.integer("--cells", 2003, 1, 10'000'000, "cells of the ring");
    const int steps = options.integer("--steps", 60, 1, 10'000, "steps, each with a wind of its own");
    const int pairs = options.integer("--pairs", 5, 0, 10'000, "pairs of settling kernels in a step");
    options.done();
    require_gpu(3 * cells * sizeof(float));

    std::mt19937 random(62);
    const auto random_numbers = [&](size_t count, float least, float most) {
        std::vector<float> numbers(count);
        for (float& x : numbers) x = least + (most - least) * static_cast<float>(random() % 10'001) / 10'000;
        return numbers;
    };
    const std::vector<float> first = random_numbers(cells, 0, 10), gusts = random_numbers(cells, -1, 1),
                             winds = random_numbers(steps, -1, 1);
    const std::vector<double> expected = expected_sand(first, gusts, winds, 2 * pairs);
    const Dunes dunes{device_array<float>(cells), device_array<float>(cells), device_array<float>(cells),
                      cells, pairs};
    CUDA_CHECK(cudaMemcpy(dunes.gusts.get(), gusts.data(), cells * sizeof(float), cudaMemcpyHostToDevice));
    const std::vector<float> calm{0};
    measured("warm-up", blow_without_graphs, dunes, first, calm, expected);
    measured("warm-up", blow_with_graphs, dunes, first, calm, expected);

    const auto [plain_us, plain_wrong] =
        measured("without graphs", blow_without_graphs, dunes, first, winds, expected);
    const auto [graph_us, graph_wrong] =
        measured("with graphs", blow_with_graphs, dunes, first, winds, expected);
    std::printf("a step: %.2f us without graphs, %.2f us with graphs; ratio %.3f\n", plain_us, graph_us,
                graph_us / plain_us);
    std::printf("cells that are wrong: %d without graphs, %d with graphs, of %d\n", plain_wrong, graph_wrong,
                cells);
    return plain_wrong + graph_wrong == 0 ? 0 : 1;
}
