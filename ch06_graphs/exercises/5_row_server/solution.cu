// A server answers requests of 1 to 32 rows, each by one of six networks. Sizes are rounded up to a power of
// two, and the graphs of all sizes are made before the first request.
//
// Right: a graph is kept for each size and number of layers, so that every update is accepted.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node -f true
//              -o solution ./solution
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "common/graph_compat.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kMostRows = 32;  // per request
constexpr int kPool = 64;      // rows of which requests are made
constexpr int kNetworks = 6, kFewestLayers = 7;
constexpr int kThreads = 256;
constexpr int kSteps = 256;  // of a layer
constexpr float kRate = 0.15f / kSteps;

/// One layer of a network: a row is a row of blocks, and each of its elements drifts towards `goal`.
__global__ void layer(float* rows, int width, float goal) {
    const int column = blockIdx.y * kThreads + threadIdx.x;
    if (column >= width) return;
    float* const number = rows + size_t{blockIdx.x} * width + column;
    float value = *number;
    for (int step = 0; step < kSteps; ++step) value += kRate * (goal - value);
    *number = value;
}

/// The goals of a network's layers.
using Network = std::vector<float>;

struct Request {
    int rows, network;
};

/// Most requests go to the network of the one before.
std::vector<Request> draw_requests(std::mt19937& random, int count) {
    std::vector<Request> requests;
    int network = 0;
    for (int i = 0; i < count; ++i) {
        if (random() % 16 == 0) network = static_cast<int>(random() % kNetworks);
        requests.push_back({static_cast<int>(random() % kMostRows) + 1, network});
    }
    return requests;
}

/// How many rows does the graph have that serves `rows` rows?
int graph_rows(int rows) {
    int size = 2;
    while (size < rows) size *= 2;
    return size;
}

/// Keeps graphs, which work in place on up to kMostRows rows.
class Server {
  public:
    Server(std::vector<Network> networks, int width)
        : networks_(std::move(networks)),
          width_(width),
          rows_(device_array<float>(size_t{kMostRows} * width)) {
        CUDA_CHECK(cudaMemset(rows_.get(), 0, size_t{kMostRows} * width * sizeof(float)));
        layer<<<kMostRows, kThreads, 0, stream_.get()>>>(rows_.get(), 0, 0);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    /// Called before the first request.
    void prepare() {
        nvtx3::scoped_range range{"prepare"};
        for (int network = 0; network < kNetworks; ++network)
            for (int rows = graph_rows(1); rows <= kMostRows; rows *= 2) graph_for(rows, network);
        CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
    }

    void serve(const Request& request, const float* from, float* to) {
        nvtx3::scoped_range range{"request"};
        const size_t bytes = size_t{1} * request.rows * width_ * sizeof(float);
        CUDA_CHECK(cudaMemcpyAsync(rows_.get(), from, bytes, cudaMemcpyHostToDevice, stream_.get()));
        CUDA_CHECK(cudaGraphLaunch(graph_for(graph_rows(request.rows), request.network), stream_.get()));
        CUDA_CHECK(cudaMemcpyAsync(to, rows_.get(), bytes, cudaMemcpyDeviceToHost, stream_.get()));
        CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
    }

  private:
    struct Kept {
        GraphExec exec;
        int network = -1;
    };

    Graph record(int rows, const Network& network) {
        cudaGraph_t graph = nullptr;
        const dim3 blocks(rows, (width_ + kThreads - 1) / kThreads);
        CUDA_CHECK(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal));
        for (const float goal : network) {
            layer<<<blocks, kThreads, 0, stream_.get()>>>(rows_.get(), width_, goal);
            CUDA_CHECK(cudaGetLastError());
        }
        CUDA_CHECK(cudaStreamEndCapture(stream_.get(), &graph));
        return Graph(graph);
    }

    /// A graph for so many rows: one that is kept, with this network in it.
    cudaGraphExec_t graph_for(int rows, int network) {
        Kept& kept = kept_[{rows, networks_[network].size()}];
        if (kept.network == network) return kept.exec.get();
        const Graph graph = record(rows, networks_[network]);
        cudaGraphExecUpdateResultInfo result{};
        if (!kept.exec || cudaGraphExecUpdate(kept.exec.get(), graph.get(), &result) != cudaSuccess) {
            (void)cudaGetLastError();
            kept.exec = instantiate(graph);
            CUDA_CHECK(cudaGraphUpload(kept.exec.get(), stream_.get()));
        }
        kept.network = network;
        return kept.exec.get();
    }

    std::vector<Network> networks_;
    int width_;
    std::unique_ptr<float[], DeviceFree> rows_;
    Stream stream_ = make_stream(cudaStreamNonBlocking);
    std::map<std::pair<int, size_t>, Kept> kept_;
};

int main(int argc, char** argv) {
    Options options(argc, argv, "Serves requests of 1 to 32 rows by graphs of six networks.");
    const int count = static_cast<int>(options.integer("--requests", 128, 1, 10'000, "requests"));
    const int width = static_cast<int>(options.integer("--width", 4096, 1, 65'536, "numbers in a row"));
    options.done();
    require_gpu(kMostRows * width * sizeof(float) + (64 << 20));

    std::mt19937 random(5);
    const auto pool = pinned_array<float>(size_t{kPool} * width),
               answer = pinned_array<float>(size_t{kMostRows} * width);
    for (int i = 0; i < kPool * width; ++i) pool[i] = random() % 10'000 / 100.0f;
    std::vector<Network> networks(kNetworks);
    for (Network& network : networks) {
        network.resize(kFewestLayers + random() % 3);
        for (float& goal : network) goal = 10 + random() % 700 / 100.0f;
    }
    const double left = std::pow(1 - double{kRate}, kSteps);  // of the way to the goal, after a layer
    const auto expected = [&](double value, const Network& network) {
        for (const float goal : network) value = goal + (value - goal) * left;
        return value;
    };
    const std::vector<Request> requests = draw_requests(random, count);

    Server server(networks, width);
    server.prepare();
    std::vector<double> latency_us;
    size_t wrong = 0, numbers = 0;
    {
        nvtx3::scoped_range range{"serve"};
        for (const Request& request : requests) {
            const float* const from = &pool[size_t{random() % (kPool - request.rows + 1)} * width];
            const auto began = std::chrono::steady_clock::now();
            server.serve(request, from, answer.get());
            const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
            latency_us.push_back(took.count());
            for (int i = 0; i < request.rows * width; ++i)
                wrong += !(std::fabs(answer[i] - expected(from[i], networks[request.network])) <= 0.01);
            numbers += size_t{1} * request.rows * width;
        }
    }
    std::sort(latency_us.begin(), latency_us.end());
    std::printf("%zu requests: median %.0f us, slowest %.0f us\n", requests.size(),
                latency_us[latency_us.size() / 2], latency_us.back());
    std::printf("numbers wrong: %zu of %zu\n", wrong, numbers);
    return wrong == 0 ? 0 : 1;
}
