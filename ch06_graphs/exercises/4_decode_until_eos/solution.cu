// A toy language model writes one token a step, until it writes the end token. Three versions: the host
// launches every kernel; the host launches every step, as a graph; the host launches once, and the GPU loops.
//
// Right: the third version is a graph with a WHILE node. Its body is the step, whose last kernel sets the
// condition that the node reads.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node -f true
//              -o solution ./solution
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "common/graph_compat.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

namespace cg = cooperative_groups;

constexpr unsigned kWidth = 32;         // numbers in the model's state
constexpr unsigned kVocabulary = 1009;  // tokens it can write
constexpr unsigned kEnd = 0;            // the token that says stop

/// Where the model and its state lie on the device. Everything is a whole number below 2^32, and sums wrap
/// around: the host and every version on the GPU come to exactly the same tokens.
struct Decoder {
    const unsigned *embedding, *weights;  // kWidth x kVocabulary; layers x kWidth x kWidth
    unsigned* state;                      // layers + 1 rows of kWidth: what each layer reads; the result
    unsigned long long* best;             // the best score so far, and in its low half the token that has it
    unsigned *token, *text;               // the newest token; how many there are, then all of them
    unsigned layers, limit;               // the text may have `limit` tokens
};

/// Mixes the newest token into what the step before left.
__global__ void embed(const unsigned* embedding, const unsigned* token, const unsigned* in, unsigned* out) {
    out[threadIdx.x] = in[threadIdx.x] + embedding[threadIdx.x * kVocabulary + *token];
}

__host__ __device__ unsigned product(const unsigned* matrix, unsigned columns, unsigned column,
                                     const unsigned* vector) {
    unsigned sum = 0;
    for (unsigned j = 0; j < kWidth; ++j) sum += matrix[j * columns + column] * vector[j];
    return sum ^ (sum >> 15);
}

__global__ void layer(const unsigned* weights, const unsigned* in, unsigned* out) {
    out[threadIdx.x] = product(weights, kWidth, threadIdx.x, in);
}

/// Scores every token and keeps the best.
__global__ void score(const unsigned* embedding, const unsigned* in, unsigned long long* best) {
    const unsigned token = blockIdx.x * kWidth + threadIdx.x;
    unsigned long long mine = 0;
    if (token < kVocabulary)
        mine = static_cast<unsigned long long>(product(embedding, kVocabulary, token, in)) << 32 | token;
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    mine = cg::reduce(warp, mine, cg::greater<unsigned long long>());
    if (warp.thread_rank() == 0) atomicMax(best, mine);
}

/// Writes the best token. Does the text go on after it?
__device__ bool append_best(unsigned long long* best, unsigned* token, unsigned* text, unsigned limit) {
    const unsigned count = text[0] + 1, written = static_cast<unsigned>(*best);
    *best = 0;
    text[0] = count;
    text[count] = *token = written;
    return written != kEnd && count < limit;
}

__global__ void append(unsigned long long* best, unsigned* token, unsigned* text, unsigned limit) {
    append_best(best, token, text, limit);
}

/// The same in a WHILE node's body: tells the node whether to run the body again.
__global__ void append_and_decide(unsigned long long* best, unsigned* token, unsigned* text, unsigned limit,
                                  cudaGraphConditionalHandle goes_on) {
    cudaGraphSetConditional(goes_on, append_best(best, token, text, limit));
}

/// Queues the kernels of one step. In the body of a WHILE node, `goes_on` is the node's condition.
void enqueue_step(const Decoder& d, cudaStream_t stream,
                  const cudaGraphConditionalHandle* goes_on = nullptr) {
    unsigned* const last = d.state + d.layers * kWidth;
    embed<<<1, kWidth, 0, stream>>>(d.embedding, d.token, last, d.state);
    CUDA_CHECK(cudaGetLastError());
    for (unsigned i = 0; i < d.layers; ++i) {
        layer<<<1, kWidth, 0, stream>>>(d.weights + i * kWidth * kWidth, d.state + i * kWidth,
                                        d.state + (i + 1) * kWidth);
        CUDA_CHECK(cudaGetLastError());
    }
    score<<<(kVocabulary + kWidth - 1) / kWidth, kWidth, 0, stream>>>(d.embedding, last, d.best);
    CUDA_CHECK(cudaGetLastError());
    if (goes_on) {
        append_and_decide<<<1, 1, 0, stream>>>(d.best, d.token, d.text, d.limit, *goes_on);
        CUDA_CHECK(cudaGetLastError());
    } else {
        append<<<1, 1, 0, stream>>>(d.best, d.token, d.text, d.limit);
        CUDA_CHECK(cudaGetLastError());
    }
}

/// A step as a graph: captured, not run.
Graph make_step(const Decoder& decoder, cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    enqueue_step(decoder, stream);
    CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    return Graph(graph);
}

/// The whole decoding as a graph, and the graph inside it that is one step.
struct Loop {
    Graph graph;
    cudaGraph_t body = nullptr;
};

Loop make_loop(const Decoder& decoder, cudaStream_t stream) {
    Loop loop{make_graph()};
    const cudaGraphConditionalHandle goes_on = make_condition(loop.graph.get(), 1);  // at every launch
    loop.body = add_conditional(loop.graph.get(), {}, goes_on, cudaGraphCondTypeWhile);
    CUDA_CHECK(cudaStreamBeginCaptureToGraph(stream, loop.body, nullptr, nullptr, 0,
                                             cudaStreamCaptureModeThreadLocal));
    enqueue_step(decoder, stream, &goes_on);
    CUDA_CHECK(cudaStreamEndCapture(stream, &loop.body));
    return loop;
}

/// The model's numbers, for the host: what to copy up, and what to compare with.
struct Model {
    std::vector<unsigned> embedding, weights;
    unsigned layers;

    /// A prompt is a state and a first token.
    static std::vector<unsigned> prompt(unsigned seed) {
        std::mt19937 random(seed);
        std::vector<unsigned> numbers(kWidth + 1);
        std::generate(numbers.begin(), numbers.end(), random);
        numbers[kWidth] %= kVocabulary;
        return numbers;
    }

    std::vector<unsigned> decode(unsigned seed, unsigned limit) const {
        std::vector<unsigned> text, state = prompt(seed), next(kWidth);
        unsigned token = state[kWidth];
        do {
            for (unsigned i = 0; i < kWidth; ++i) state[i] += embedding[i * kVocabulary + token];
            for (unsigned l = 0; l < layers; ++l) {
                for (unsigned i = 0; i < kWidth; ++i)
                    next[i] = product(&weights[l * kWidth * kWidth], kWidth, i, state.data());
                std::copy(next.begin(), next.end(), state.begin());
            }
            unsigned best = token = 0;
            for (unsigned t = 0; t < kVocabulary; ++t)
                if (const unsigned score = product(embedding.data(), kVocabulary, t, state.data());
                    score >= best)
                    best = score, token = t;
            text.push_back(token);
        } while (token != kEnd && text.size() < limit);
        return text;
    }
};

/// Is it `nodes` nodes, each behind the one before?
bool is_chain(cudaGraph_t graph, const char* name, size_t nodes) {
    size_t found = 0;
    CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &found));
    const auto edges = edges_of(graph);
    bool chain = found == nodes && edges.size() + 1 == nodes;
    for (size_t i = 0; i < edges.size(); ++i)
        for (size_t j = 0; j < i; ++j)
            chain = chain && edges[i].first != edges[j].first && edges[i].second != edges[j].second;
    std::printf("%s: %zu nodes, %zu edges: %s\n", name, found, edges.size(), chain ? "a chain" : "no chain");
    return chain;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Writes tokens until the end token, three times over; the host checks each.");
    const auto seed = static_cast<unsigned>(options.integer("--prompt", 24, 1, 1'000'000, "which prompt"));
    const auto layers = static_cast<unsigned>(options.integer("--layers", 4, 1, 64, "layers of the model"));
    const auto limit = static_cast<unsigned>(options.integer("--limit", 512, 1, 4096, "tokens at most"));
    const auto rounds = options.integer("--rounds", 20, 1, 1000, "times that each version decodes");
    options.done();
    require_gpu(64 << 20);
    int driver = 0;
    CUDA_CHECK(cudaDriverGetVersion(&driver));
    if (driver < 12040) {
        std::fprintf(stderr,
                     "no suitable GPU: its driver knows CUDA %d.%d, and WHILE nodes need 12.4 or later\n",
                     driver / 1000, driver % 1000 / 10);
        return 77;
    }

    std::mt19937 random(6);
    Model model{std::vector<unsigned>(kWidth * kVocabulary), std::vector<unsigned>(layers * kWidth * kWidth),
                layers};
    for (auto* numbers : {&model.embedding, &model.weights})
        std::generate(numbers->begin(), numbers->end(), random);
    const auto embedding = device_array<unsigned>(model.embedding.size()),
               weights = device_array<unsigned>(model.weights.size()),
               state = device_array<unsigned>((layers + 1) * kWidth), token = device_array<unsigned>(1),
               text = device_array<unsigned>(limit + 1);
    const auto best = device_array<unsigned long long>(1);
    const auto copied = pinned_array<unsigned>(limit + 1);
    const auto upload = [](unsigned* to, const unsigned* from, size_t count) {
        CUDA_CHECK(cudaMemcpy(to, from, count * sizeof(unsigned), cudaMemcpyHostToDevice));
    };
    upload(embedding.get(), model.embedding.data(), model.embedding.size());
    upload(weights.get(), model.weights.data(), model.weights.size());

    const Stream own_stream = make_stream(cudaStreamNonBlocking);
    const cudaStream_t stream = own_stream.get();
    const Decoder decoder{embedding.get(), weights.get(), state.get(), best.get(),
                          token.get(),     text.get(),    layers,      limit};

    // Launches steps by `launch` and reads each token, until one is the end.
    const auto step_by_step = [&](auto&& launch) {
        std::vector<unsigned> tokens;
        do {
            launch();
            CUDA_CHECK(
                cudaMemcpyAsync(copied.get(), token.get(), sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
            CUDA_CHECK(cudaStreamSynchronize(stream));
            tokens.push_back(copied[0]);
        } while (tokens.back() != kEnd && tokens.size() < limit);
        return tokens;
    };
    const auto host_loop = [&] { return step_by_step([&] { enqueue_step(decoder, stream); }); };

    bool right = true;
    // Decodes in a range of that name, and compares every token with the host's. Returns us a token.
    const auto run = [&](const std::string& name, unsigned prompt_seed, auto&& decode) {
        const std::vector<unsigned> prompt = Model::prompt(prompt_seed),
                                    expected = model.decode(prompt_seed, limit);
        upload(state.get() + layers * kWidth, prompt.data(), kWidth);
        upload(token.get(), &prompt[kWidth], 1);
        CUDA_CHECK(cudaMemset(best.get(), 0, sizeof(unsigned long long)));
        CUDA_CHECK(cudaMemset(text.get(), 0, (limit + 1) * sizeof(unsigned)));
        CUDA_CHECK(cudaDeviceSynchronize());
        std::vector<unsigned> found;
        const auto began = std::chrono::steady_clock::now();
        {
            const nvtx3::scoped_range range{name};
            found = decode();
        }
        const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - began;
        if (found != expected)
            std::printf("%s: %zu tokens, and not the %zu right ones\n", name.c_str(), found.size(),
                        expected.size());
        right = right && found == expected;
        return elapsed.count() / expected.size();
    };

    constexpr unsigned kShortPrompt = 4;      // its text is short
    run("warm-up", kShortPrompt, host_loop);  // and with that the kernels are loaded, before any capture

    const Graph step = make_step(decoder, stream);
    const Loop loop = make_loop(decoder, stream);
    bool chains = is_chain(step.get(), "step", layers + 3);
    if (loop.graph) chains = is_chain(loop.body, "body of the loop", layers + 3) && chains;
    const GraphExec step_exec = instantiate(step), loop_exec = loop.graph ? instantiate(loop.graph) : nullptr;

    const auto graph_per_step = [&] {
        return step_by_step([&] { CUDA_CHECK(cudaGraphLaunch(step_exec.get(), stream)); });
    };
    const auto one_launch = [&] {
        if (!loop_exec) return graph_per_step();
        CUDA_CHECK(cudaGraphLaunch(loop_exec.get(), stream));
        CUDA_CHECK(cudaMemcpyAsync(copied.get(), text.get(), (limit + 1) * sizeof(unsigned),
                                   cudaMemcpyDeviceToHost, stream));
        CUDA_CHECK(cudaStreamSynchronize(stream));
        return std::vector<unsigned>(&copied[1], &copied[1] + copied[0]);
    };

    run("warm-up", kShortPrompt, graph_per_step);
    run("warm-up", kShortPrompt, one_launch);
    std::vector<double> host_us, step_us, launch_us;
    for (int round = 0; round < rounds; ++round) {
        host_us.push_back(run("host loop", seed, host_loop));
        step_us.push_back(run("graph per step", seed, graph_per_step));
        launch_us.push_back(run("one launch", seed, one_launch));
    }
    const auto median = [](std::vector<double>& values) {
        std::sort(values.begin(), values.end());
        return values[values.size() / 2];
    };
    std::printf("us a token, median of %lld: host loop %.2f, graph per step %.2f, one launch %.2f\n", rounds,
                median(host_us), median(step_us), median(launch_us));
    return right && chains ? 0 : 1;
}
