// A server answers requests of 1 to 32 rows, in random order. A graph's grids are fixed when it is captured,
// so each size needs a graph, which is made when it is first asked for and then kept.
//
// Right: six sizes have graphs, all made before the first request. A request takes the smallest that holds
// it, and nobody reads the rows behind its own.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node -f true
//              -o solution ./solution
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <random>
#include <vector>

#include "common/graph_compat.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kMostRows = 32;  // in a request
constexpr int kPool = 64;      // rows of which requests are made
constexpr int kThreads = 256;
constexpr int kSteps = 256;  // of a layer
constexpr float kRate = 0.15f / kSteps;

/// One layer of the network: a row is a row of blocks, and each of its numbers drifts towards `goal`.
__global__ void layer(float* rows, int width, float goal) {
    const int column = blockIdx.y * kThreads + threadIdx.x;
    if (column >= width) return;
    float* const number = rows + size_t{blockIdx.x} * width + column;
    float value = *number;
    for (int step = 0; step < kSteps; ++step) value += kRate * (goal - value);
    *number = value;
}

float goal_of(int layer) {
    return 10 + layer % 7;
}

/// The network, which works in place on up to kMostRows rows, and the stream in which it does.
struct Network {
    std::unique_ptr<float[], DeviceFree> rows;
    int width, layers;
    Stream stream = make_stream(cudaStreamNonBlocking);
};

/// Graphs of the network by their number of rows. One is made when it is first asked for.
struct GraphCache {
    const Network& network;
    std::map<int, GraphExec> execs;

    cudaGraphExec_t graph_for(int rows) {
        const cudaStream_t stream = network.stream.get();
        GraphExec& exec = execs[rows];
        if (!exec) {
            cudaGraph_t graph = nullptr;
            CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
            const dim3 blocks(rows, (network.width + kThreads - 1) / kThreads);
            for (int i = 0; i < network.layers; ++i) {
                layer<<<blocks, kThreads, 0, stream>>>(network.rows.get(), network.width, goal_of(i));
                CUDA_CHECK(cudaGetLastError());
            }
            CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
            exec = instantiate(Graph(graph));
            CUDA_CHECK(cudaGraphUpload(exec.get(), stream));
        }
        return exec.get();
    }
};

constexpr int kSizes[] = {1, 2, 4, 8, 16, 32};  // less than half of a graph is padding

/// Of how many rows is the graph that serves `rows` rows?
int graph_rows(int rows) {
    return *std::lower_bound(std::begin(kSizes), std::end(kSizes), rows);
}

/// Called before the first request.
void prepare(GraphCache& cache) {
    for (const int size : kSizes) cache.graph_for(size);
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Serves requests of 1 to 32 rows by graphs, each size equally often.");
    const int rounds = options.integer("--rounds", 6, 1, 1000, "requests of each size");
    const int width = options.integer("--width", 4096, 1, 65'536, "numbers in a row");
    const int layers = options.integer("--layers", 16, 1, 256, "layers of the network");
    options.done();
    const size_t row_bytes = width * sizeof(float);
    require_gpu(kMostRows * row_bytes + (64 << 20));

    std::mt19937 random(6);
    const auto pool = pinned_array<float>(size_t{kPool} * width),
               answer = pinned_array<float>(size_t{kMostRows} * width);
    std::vector<double> expected(size_t{kPool} * width);
    const double left = std::pow(1 - double{kRate}, kSteps);  // of the way to the goal, after a layer
    for (size_t i = 0; i < expected.size(); ++i) {
        expected[i] = pool[i] = random() % 10'000 / 100.0f;
        for (int j = 0; j < layers; ++j) expected[i] = goal_of(j) + (expected[i] - goal_of(j)) * left;
    }
    std::vector<int> requests;  // how many rows each has
    for (int i = 0; i < rounds * kMostRows; ++i) requests.push_back(i % kMostRows + 1);
    std::shuffle(requests.begin(), requests.end(), random);

    const Network network{device_array<float>(size_t{kMostRows} * width), width, layers};
    const cudaStream_t stream = network.stream.get();
    CUDA_CHECK(cudaMemset(network.rows.get(), 0, kMostRows * row_bytes));  // padding has a value too
    {
        nvtx3::scoped_range range{"warm-up"};
        layer<<<kMostRows, kThreads, 0, stream>>>(network.rows.get(), 0, 0);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    GraphCache cache{network, {}};
    using Clock = std::chrono::steady_clock;
    using Microseconds = std::chrono::duration<double, std::micro>;
    const Clock::time_point began_to_prepare = Clock::now();
    {
        nvtx3::scoped_range range{"prepare"};
        prepare(cache);
        CUDA_CHECK(cudaStreamSynchronize(stream));
    }
    const Microseconds preparation = Clock::now() - began_to_prepare;
    const size_t prepared = cache.execs.size();
    std::vector<double> latency_us;
    size_t wrong = 0, asked = 0, computed = 0;
    {
        nvtx3::scoped_range range{"serve"};
        for (const int rows : requests) {
            const int first = static_cast<int>(random() % (kPool - rows + 1));
            const Clock::time_point began = Clock::now();
            {
                nvtx3::scoped_range request{"request"};
                CUDA_CHECK(cudaMemcpyAsync(network.rows.get(), &pool[size_t{1} * first * width],
                                           rows * row_bytes, cudaMemcpyHostToDevice, stream));
                CUDA_CHECK(cudaGraphLaunch(cache.graph_for(graph_rows(rows)), stream));
                CUDA_CHECK(cudaMemcpyAsync(answer.get(), network.rows.get(), rows * row_bytes,
                                           cudaMemcpyDeviceToHost, stream));
                CUDA_CHECK(cudaStreamSynchronize(stream));
            }
            latency_us.push_back(Microseconds(Clock::now() - began).count());
            asked += rows;
            computed += graph_rows(rows);
            for (size_t i = 0; i < size_t{1} * rows * width; ++i)
                wrong += !(std::fabs(answer[i] - expected[size_t{1} * first * width + i]) <= 0.01);
        }
    }

    std::sort(latency_us.begin(), latency_us.end());
    std::printf("graphs: %zu, of them %zu made while serving; preparation: %.0f us\n", cache.execs.size(),
                cache.execs.size() - prepared, preparation.count());
    std::printf("%zu requests: median %.0f us, slowest %.0f us\n", requests.size(),
                latency_us[latency_us.size() / 2], latency_us.back());
    std::printf("rows asked for: %zu; computed: %zu; numbers wrong: %zu of %zu\n", asked, computed, wrong,
                asked * width);
    return wrong == 0 ? 0 : 1;
}
