// A server answers requests of 1 to 32 rows, each by one of six networks. Sizes are rounded up, and the
// graphs of all sizes and networks are captured before the first request. What a day brings is drawn.
//
// Symptom: all answers are right, but some requests take a good deal longer than others of as many rows.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node -f true
//              -o starter ./starter
#include <algorithm>
#include <array>
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
constexpr int kCustomers = 8, kNetworks = 6;
constexpr int kLayers = 4, kMostLayers = 2 * kLayers;
constexpr int kMostKept = 12;  // instantiated graphs: each keeps memory for as long as it lives
constexpr int kThreads = 256;
constexpr int kPhases = 8, kSteps = 32;  // phases of a layer, steps of a phase
constexpr float kRate = 0.15f / (kPhases * kSteps);

/// One layer of a network: a row is a row of blocks. In each phase, each element drifts towards its column's
/// goal.
__global__ void layer(float* rows, int width, const float* goals) {
    const int column = blockIdx.y * kThreads + threadIdx.x;
    if (column >= width) return;
    float* const number = rows + size_t{blockIdx.x} * width + column;
    float value = *number;
    for (int phase = 0; phase < kPhases; ++phase) {
        const float goal = goals[size_t{1} * phase * width + column];
        for (int step = 0; step < kSteps; ++step) value += kRate * (goal - value);
    }
    *number = value;
}

/// What a day brings.
struct Day {
    int step;                           // sizes are rounded up to its multiples
    int places;                         // of networks whose goals are on the GPU
    int pinned;                         // of the customers: the others' rows are in pageable memory
    int stays;                          // requests for one network, before another is drawn, on average
    std::array<int, kNetworks> layers;  // of each network
};

Day draw_day(std::mt19937& random) {
    Day day{};
    day.step = 1 << random() % 4;
    day.places = kNetworks >> random() % 2;
    day.pinned = kCustomers >> random() % 2;
    day.stays = 2 << random() % 4;
    const int depths = 1 << random() % 2;
    for (int& layers : day.layers) layers = kLayers * (1 + static_cast<int>(random() % depths));
    return day;
}

/// The goals of a network: of each layer, phase and column.
using Network = std::vector<float>;

struct Request {
    int rows, network, customer;
};

std::vector<Request> draw_requests(const Day& day, std::mt19937& random, int count) {
    std::vector<Request> requests;
    int network = 0;
    for (int i = 0; i < count; ++i) {
        if (random() % day.stays == 0) network = static_cast<int>(random() % kNetworks);
        const int rows = static_cast<int>(random() % kMostRows) + 1;
        requests.push_back({rows, network, static_cast<int>(random() % kCustomers)});
    }
    return requests;
}

/// Keeps graphs, which work in place on up to kMostRows rows.
class Server {
  public:
    Server(const Day& day, std::vector<Network> networks, int width)
        : day_(day),
          networks_(std::move(networks)),
          width_(width),
          most_goals_(size_t{kMostLayers * kPhases} * width),
          rows_(device_array<float>(size_t{kMostRows} * width)),
          goals_(device_array<float>(day.places * most_goals_)) {
        there_.fill(-1);
        CUDA_CHECK(cudaMemset(rows_.get(), 0, size_t{kMostRows} * width * sizeof(float)));
        layer<<<kMostRows, kThreads, 0, stream_.get()>>>(rows_.get(), 0, nullptr);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    /// Called before the first request.
    void prepare() {
        nvtx3::scoped_range range{"prepare"};
        for (int network = 0; network < kNetworks; ++network) {
            bring(network);
            for (int rows = graph_rows(1); rows <= kMostRows; rows += day_.step) {
                captured_[{rows, network}] = capture(rows, network);
                graph_for(rows, network);
            }
        }
        CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
    }

    void serve(const Request& request, const float* from, float* to) {
        nvtx3::scoped_range range{"request"};
        const size_t bytes = size_t{1} * request.rows * width_ * sizeof(float);
        CUDA_CHECK(cudaMemcpyAsync(rows_.get(), from, bytes, cudaMemcpyHostToDevice, stream_.get()));
        bring(request.network);
        CUDA_CHECK(cudaGraphLaunch(graph_for(graph_rows(request.rows), request.network), stream_.get()));
        CUDA_CHECK(cudaMemcpyAsync(to, rows_.get(), bytes, cudaMemcpyDeviceToHost, stream_.get()));
        CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
    }

  private:
    struct Kept {
        GraphExec exec;
        int network = -1, used = 0;
    };

    /// How many rows does the graph have that serves `rows` rows?
    [[nodiscard]] int graph_rows(int rows) const { return (rows + day_.step - 1) / day_.step * day_.step; }

    /// Where the goals of a network are while they're on the GPU. Other networks may have the same place.
    [[nodiscard]] float* place_of(int network) { return &goals_[network % day_.places * most_goals_]; }

    /// Copies the goals of a network to the GPU, unless they're there.
    void bring(int network) {
        int& there = there_[network % day_.places];
        if (there == network) return;
        const Network& goals = networks_[network];
        CUDA_CHECK(cudaMemcpyAsync(place_of(network), goals.data(), goals.size() * sizeof(float),
                                   cudaMemcpyHostToDevice, stream_.get()));
        there = network;
    }

    Graph capture(int rows, int network) {
        cudaGraph_t graph = nullptr;
        const dim3 blocks(rows, (width_ + kThreads - 1) / kThreads);
        CUDA_CHECK(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal));
        for (size_t first = 0; first < networks_[network].size(); first += size_t{kPhases} * width_) {
            layer<<<blocks, kThreads, 0, stream_.get()>>>(rows_.get(), width_, place_of(network) + first);
            CUDA_CHECK(cudaGetLastError());
        }
        CUDA_CHECK(cudaStreamEndCapture(stream_.get(), &graph));
        return Graph(graph);
    }

    /// A graph for so many rows: one that is kept, with this network in it.
    cudaGraphExec_t graph_for(int rows, int network) {
        Kept& kept = kept_[rows];
        kept.used = ++uses_;
        if (kept_.size() > kMostKept) drop_unused();
        if (kept.network == network) return kept.exec.get();
        const Graph& graph = captured_[{rows, network}];
        cudaGraphExecUpdateResultInfo result{};
        if (!kept.exec || cudaGraphExecUpdate(kept.exec.get(), graph.get(), &result) != cudaSuccess) {
            (void)cudaGetLastError();
            kept.exec = instantiate(graph);
            CUDA_CHECK(cudaGraphUpload(kept.exec.get(), stream_.get()));
        }
        kept.network = network;
        return kept.exec.get();
    }

    /// Drops the graph that has been unused for longest.
    void drop_unused() {
        kept_.erase(std::min_element(kept_.begin(), kept_.end(), [](const auto& one, const auto& other) {
            return one.second.used < other.second.used;
        }));
    }

    Day day_;
    std::vector<Network> networks_;
    int width_;
    size_t most_goals_;  // of a network
    std::unique_ptr<float[], DeviceFree> rows_, goals_;
    std::array<int, kNetworks> there_;  // which network's goals a place has
    Stream stream_ = make_stream(cudaStreamNonBlocking);
    std::map<std::pair<int, int>, Graph> captured_;  // by rows and network
    std::map<int, Kept> kept_;
    int uses_ = 0;
};

/// What a network makes of zeros, in each column. A number that begins elsewhere keeps some of the distance.
std::vector<double> outcome_of_zeros(const Network& network, int width, double left) {
    std::vector<double> outcome(width);
    for (size_t i = 0; i < network.size(); ++i)
        outcome[i % width] = network[i] + (outcome[i % width] - network[i]) * left;
    return outcome;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Serves requests of 1 to 32 rows by graphs of six networks.");
    const auto seed = static_cast<unsigned>(options.integer("--seed", 273, 0, 1'000'000, "of the day"));
    const int count = static_cast<int>(options.integer("--requests", 128, 1, 10'000, "requests"));
    const int width = static_cast<int>(options.integer("--width", 4096, 1, 65'536, "numbers in a row"));
    options.done();
    require_gpu(size_t{kNetworks * kMostLayers * kPhases + kMostRows} * width * sizeof(float) + (64 << 20));

    std::mt19937 random(seed);
    const Day day = draw_day(random);
    const std::vector<Request> requests = draw_requests(day, random, count);
    const auto pinned_pool = pinned_array<float>(size_t{kPool} * width),
               answer = pinned_array<float>(size_t{kMostRows} * width);
    for (int i = 0; i < kPool * width; ++i) pinned_pool[i] = random() % 10'000 / 100.0f;
    const std::vector<float> pageable_pool(&pinned_pool[0], &pinned_pool[size_t{kPool} * width]);
    const double left = std::pow(1 - double{kRate}, kSteps);  // of the way to the goal, after a phase
    std::vector<Network> networks;
    std::vector<std::vector<double>> outcomes;
    for (const int layers : day.layers) {
        Network& network = networks.emplace_back(size_t{1} * layers * kPhases * width);
        for (float& goal : network) goal = 10 + random() % 700 / 100.0f;
        outcomes.push_back(outcome_of_zeros(network, width, left));
    }

    Server server(day, networks, width);
    server.prepare();
    std::vector<double> latency_us;
    size_t wrong = 0, numbers = 0;
    {
        nvtx3::scoped_range range{"serve"};
        for (const Request& request : requests) {
            const size_t first = size_t{random() % (kPool - request.rows + 1)} * width;
            const float* const from =
                request.customer < day.pinned ? &pinned_pool[first] : &pageable_pool[first];
            const auto began = std::chrono::steady_clock::now();
            server.serve(request, from, answer.get());
            const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
            latency_us.push_back(took.count());
            const std::vector<double>& outcome = outcomes[request.network];
            const double kept = std::pow(left, kPhases * day.layers[request.network]);
            for (int i = 0; i < request.rows * width; ++i)
                wrong += !(std::fabs(answer[i] - (outcome[i % width] + from[i] * kept)) <= 0.01);
            numbers += size_t{1} * request.rows * width;
        }
    }
    std::sort(latency_us.begin(), latency_us.end());
    std::printf("%zu requests: median %.0f us, slowest %.0f us\n", requests.size(),
                latency_us[latency_us.size() / 2], latency_us.back());
    std::printf("numbers wrong: %zu of %zu\n", wrong, numbers);
    return wrong == 0 ? 0 : 1;
}
