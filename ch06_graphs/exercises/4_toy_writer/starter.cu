// A toy language model writes texts, one after the other: one token per step, until it writes one that ends
// a text. The steps are in a graph, and the host looks now and then whether the text is over.
//
// Symptom: all texts are right, and a token takes much longer than the kernels of a step.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node -f true
//              -o starter ./starter
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <vector>

#include "common/graph_compat.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

namespace cg = cooperative_groups;

constexpr unsigned kWidth = 32;         // values in the model's state
constexpr unsigned kVocabulary = 1009;  // tokens it can write
constexpr unsigned kEnds = 48;          // tokens below it end a text
constexpr unsigned kLayers = 2;
constexpr int kTogether = 64;      // steps in the graph
constexpr unsigned kPrompts = 48;  // the first prompt's number

/// Where the model and its state are on the device. Everything is an integer below 2^32, and sums wrap
/// around, so the host and the GPU get exactly the same tokens.
struct Writer {
    const unsigned *embedding, *weights;  // kWidth x kVocabulary; kLayers x kWidth x kWidth
    unsigned* state;                      // kLayers + 1 rows of kWidth: what each layer reads; the result
    unsigned long long* best;             // the best score so far, and in its low half the token that has it
    unsigned *token, *text;               // the newest token; is it over, how many there are, all of them
    unsigned limit;                       // the text may have `limit` tokens
};

/// Mixes the newest token into what the step before left.
__global__ void embed(Writer w) {
    if (w.text[0]) return;
    w.state[threadIdx.x] =
        w.state[kLayers * kWidth + threadIdx.x] + w.embedding[threadIdx.x * kVocabulary + *w.token];
}

__host__ __device__ unsigned product(const unsigned* matrix, unsigned columns, unsigned column,
                                     const unsigned* vector) {
    unsigned sum = 0;
    for (unsigned j = 0; j < kWidth; ++j) sum += matrix[j * columns + column] * vector[j];
    return sum ^ (sum >> 15);
}

__global__ void layer(Writer w, unsigned number) {
    if (w.text[0]) return;
    const unsigned* const in = w.state + number * kWidth;
    w.state[(number + 1) * kWidth + threadIdx.x] =
        product(w.weights + number * kWidth * kWidth, kWidth, threadIdx.x, in);
}

/// Scores every token and keeps the best.
__global__ void score(Writer w) {
    if (w.text[0]) return;
    const unsigned token = blockIdx.x * kWidth + threadIdx.x;
    unsigned long long mine = 0;
    if (token < kVocabulary)
        mine = static_cast<unsigned long long>(
                   product(w.embedding, kVocabulary, token, w.state + kLayers * kWidth))
                   << 32 |
               token;
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    mine = cg::reduce(warp, mine, cg::greater<unsigned long long>());
    if (warp.thread_rank() == 0) atomicMax(w.best, mine);
}

/// Writes the best token.
__global__ void append(Writer w) {
    if (w.text[0]) return;
    const unsigned count = ++w.text[1], written = static_cast<unsigned>(*w.best);
    *w.best = 0;
    w.text[1 + count] = *w.token = written;
    w.text[0] = written < kEnds || count == w.limit;
}

/// Queues the kernels of one step.
void enqueue_step(const Writer& writer, cudaStream_t stream) {
    embed<<<1, kWidth, 0, stream>>>(writer);
    CUDA_CHECK(cudaGetLastError());
    for (unsigned i = 0; i < kLayers; ++i) {
        layer<<<1, kWidth, 0, stream>>>(writer, i);
        CUDA_CHECK(cudaGetLastError());
    }
    score<<<(kVocabulary + kWidth - 1) / kWidth, kWidth, 0, stream>>>(writer);
    CUDA_CHECK(cudaGetLastError());
    append<<<1, 1, 0, stream>>>(writer);
    CUDA_CHECK(cudaGetLastError());
}

/// The steps as a graph: captured, not run.
Graph make_steps(const Writer& writer, cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int step = 0; step < kTogether; ++step) enqueue_step(writer, stream);
    CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    return Graph(graph);
}

/// The model's values on the host: what to copy to the GPU, and what to compare with.
struct Model {
    std::vector<unsigned> embedding, weights;

    /// A prompt is a state and a first token.
    static std::vector<unsigned> prompt(unsigned seed) {
        std::mt19937 random(seed);
        std::vector<unsigned> numbers(kWidth + 1);
        std::generate(numbers.begin(), numbers.end(), random);
        numbers[kWidth] %= kVocabulary;
        return numbers;
    }

    std::vector<unsigned> write(unsigned seed, unsigned limit) const {
        std::vector<unsigned> text, state = prompt(seed), next(kWidth);
        unsigned token = state[kWidth];
        do {
            for (unsigned i = 0; i < kWidth; ++i) state[i] += embedding[i * kVocabulary + token];
            for (unsigned l = 0; l < kLayers; ++l) {
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
        } while (token >= kEnds && text.size() < limit);
        return text;
    }
};

int main(int argc, char** argv) {
    Options options(argc, argv, "Writes texts until each is over, and compares them with the host's.");
    const auto texts = static_cast<unsigned>(options.integer("--texts", 8, 1, 1000, "texts"));
    const auto limit = static_cast<unsigned>(options.integer("--limit", 256, 1, 4096, "tokens at most"));
    options.done();
    require_gpu(64 << 20);
    int driver = 0;
    CUDA_CHECK(cudaDriverGetVersion(&driver));
    if (driver < 12040) {
        std::fprintf(stderr, "no suitable GPU: its driver knows CUDA %d.%d, and 12.4 or later is needed\n",
                     driver / 1000, driver % 1000 / 10);
        return 77;
    }

    std::mt19937 random(6);
    Model model{std::vector<unsigned>(kWidth * kVocabulary),
                std::vector<unsigned>(kLayers * kWidth * kWidth)};
    for (auto* numbers : {&model.embedding, &model.weights})
        std::generate(numbers->begin(), numbers->end(), random);
    const auto embedding = device_array<unsigned>(model.embedding.size()),
               weights = device_array<unsigned>(model.weights.size()),
               state = device_array<unsigned>((kLayers + 1) * kWidth), token = device_array<unsigned>(1),
               text = device_array<unsigned>(limit + 2);
    const auto best = device_array<unsigned long long>(1);
    const auto looked_at = pinned_array<unsigned>(2);
    const auto copy = [](unsigned* to, const unsigned* from, size_t count) {
        CUDA_CHECK(cudaMemcpy(to, from, count * sizeof(unsigned), cudaMemcpyDefault));
    };
    copy(embedding.get(), model.embedding.data(), model.embedding.size());
    copy(weights.get(), model.weights.data(), model.weights.size());
    CUDA_CHECK(cudaMemset(best.get(), 0, sizeof(unsigned long long)));

    const Stream own_stream = make_stream(cudaStreamNonBlocking);
    const cudaStream_t stream = own_stream.get();
    const Writer writer{embedding.get(), weights.get(), state.get(), best.get(),
                        token.get(),     text.get(),    limit};
    const auto begin = [&](unsigned seed) {
        const std::vector<unsigned> prompt = Model::prompt(seed);
        copy(state.get() + kLayers * kWidth, prompt.data(), kWidth);
        copy(token.get(), &prompt[kWidth], 1);
        CUDA_CHECK(cudaMemset(text.get(), 0, (limit + 2) * sizeof(unsigned)));
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    begin(kPrompts);
    enqueue_step(writer, stream);  // loads the kernels
    CUDA_CHECK(cudaStreamSynchronize(stream));
    const Graph steps = make_steps(writer, stream);
    const GraphExec exec = instantiate(steps);

    const auto write = [&](unsigned seed) {
        begin(seed);
        do {
            CUDA_CHECK(cudaGraphLaunch(exec.get(), stream));
            CUDA_CHECK(cudaMemcpyAsync(looked_at.get(), text.get(), 2 * sizeof(unsigned),
                                       cudaMemcpyDeviceToHost, stream));
            CUDA_CHECK(cudaStreamSynchronize(stream));
        } while (!looked_at[0]);
        std::vector<unsigned> tokens(looked_at[1]);
        copy(tokens.data(), text.get() + 2, tokens.size());
        return tokens;
    };
    {
        nvtx3::scoped_range range{"warm-up"};
        write(kPrompts);
    }
    std::vector<std::vector<unsigned>> found;
    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"write"};
        for (unsigned i = 1; i <= texts; ++i) found.push_back(write(kPrompts + i));
    }
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;

    size_t tokens = 0, wrong = 0;
    for (unsigned i = 0; i < texts; ++i) {
        wrong += found[i] != model.write(kPrompts + i + 1, limit);
        tokens += found[i].size();
    }
    std::printf("%u texts of %zu tokens: %.2f us a token\n", texts, tokens, elapsed.count() / tokens);
    std::printf("texts wrong: %zu of %u\n", wrong, texts);
    return wrong == 0 ? 0 : 1;
}
