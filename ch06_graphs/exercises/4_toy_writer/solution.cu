// A toy language model writes texts, one after the other: one token per step, until it writes one that ends
// a text. The steps are in a graph, and the host looks after each launch whether the text is over.
//
// Right: the graph is a WHILE node. Its body is one step, and the step's last kernel says whether to repeat.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node -f true
//              -o solution ./solution
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <vector>

#include "common/graph_compat.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

namespace cg = cooperative_groups;

constexpr unsigned kWidth = 32;    // values in the model's state, and threads of a block
constexpr unsigned kPrompts = 48;  // the first prompt's number

/// What a model is like, and how it's run.
struct Habits {
    unsigned vocabulary;  // tokens it can write
    unsigned length;      // tokens of a text, on average
    unsigned layers;
    unsigned barred;  // tokens that a prompt bars from its text
};

Habits draw_habits(unsigned seed) {
    std::mt19937 random(seed);
    Habits habits{};
    habits.vocabulary = 512u << random() % 8;
    habits.length = 4u << random() % 6;
    habits.layers = 1u << random() % 4;
    habits.barred = 1u << random() % 8;
    return habits;
}

/// Where the model and its state are on the device. Everything is an integer below 2^32, and sums wrap
/// around, so the host and the GPU get exactly the same tokens.
struct Writer {
    const unsigned *embedding, *weights;  // kWidth x vocabulary; layers x kWidth x kWidth
    unsigned* barred;                     // of each token: may it not be written?
    unsigned* state;                      // layers + 1 rows of kWidth: what each layer reads; the result
    unsigned long long* best;             // of each block of tokens the best score, and below it the token
    unsigned *token, *text;               // the newest token; is it over, how many there are, all of them
    unsigned vocabulary, ends, layers;    // tokens below `ends` end a text
    unsigned limit;                       // the text may have `limit` tokens
};

/// Mixes the newest token into what the step before left.
__global__ void embed(Writer w) {
    if (w.text[0]) return;
    w.state[threadIdx.x] =
        w.state[w.layers * kWidth + threadIdx.x] + w.embedding[threadIdx.x * w.vocabulary + *w.token];
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

/// Scores every token, and keeps the best of each block.
__global__ void score(Writer w) {
    if (w.text[0]) return;
    const unsigned token = blockIdx.x * kWidth + threadIdx.x;
    unsigned long long mine = 0;
    if (!w.barred[token])
        mine = static_cast<unsigned long long>(
                   product(w.embedding, w.vocabulary, token, w.state + w.layers * kWidth))
                   << 32 |
               token;
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    mine = cg::reduce(warp, mine, cg::greater<unsigned long long>());
    if (warp.thread_rank() == 0) w.best[blockIdx.x] = mine;
}

/// Writes the best token of all. In a loop of the GPU, says whether it goes on.
__global__ void append(Writer w, bool in_loop, cudaGraphConditionalHandle goes_on) {
    if (w.text[0]) return;
    unsigned long long best = 0;
    for (unsigned block = 0; block < w.vocabulary / kWidth; ++block) best = max(best, w.best[block]);
    const unsigned count = ++w.text[1], written = static_cast<unsigned>(best);
    w.text[1 + count] = *w.token = written;
    w.text[0] = written < w.ends || count == w.limit;
    if (in_loop) cudaGraphSetConditional(goes_on, !w.text[0]);
}

/// Queues the kernels of one step.
void enqueue_step(const Writer& writer, cudaStream_t stream, bool in_loop = false,
                  cudaGraphConditionalHandle goes_on = 0) {
    embed<<<1, kWidth, 0, stream>>>(writer);
    CUDA_CHECK(cudaGetLastError());
    for (unsigned i = 0; i < writer.layers; ++i) {
        layer<<<1, kWidth, 0, stream>>>(writer, i);
        CUDA_CHECK(cudaGetLastError());
    }
    score<<<writer.vocabulary / kWidth, kWidth, 0, stream>>>(writer);
    CUDA_CHECK(cudaGetLastError());
    append<<<1, 1, 0, stream>>>(writer, in_loop, goes_on);
    CUDA_CHECK(cudaGetLastError());
}

/// The steps as a graph: captured, not run.
Graph make_steps(const Writer& writer, cudaStream_t stream) {
    Graph graph = make_graph();
    const cudaGraphConditionalHandle goes_on = make_condition(graph.get(), 1);  // at every launch
    cudaGraph_t body = add_conditional(graph.get(), {}, goes_on, cudaGraphCondTypeWhile);
    CUDA_CHECK(
        cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal));
    enqueue_step(writer, stream, true, goes_on);
    CUDA_CHECK(cudaStreamEndCapture(stream, &body));
    return graph;
}

/// What a text begins with.
struct Prompt {
    std::vector<unsigned> state;
    unsigned token;
    std::vector<unsigned> barred;

    Prompt(unsigned number, const Habits& habits) : state(kWidth), barred(habits.barred) {
        std::mt19937 random(number);
        std::generate(state.begin(), state.end(), std::ref(random));
        token = random() % habits.vocabulary;
        for (unsigned& each : barred) each = random() % habits.vocabulary;
    }
};

/// The model's values on the host: what to copy to the GPU, and what to compare with.
struct Model {
    Habits habits;
    std::vector<unsigned> embedding, weights;

    explicit Model(const Habits& drawn)
        : habits(drawn), embedding(kWidth * drawn.vocabulary), weights(drawn.layers * kWidth * kWidth) {
        std::mt19937 random(6);
        for (auto* numbers : {&embedding, &weights})
            std::generate(numbers->begin(), numbers->end(), std::ref(random));
    }

    [[nodiscard]] unsigned ends() const { return habits.vocabulary / habits.length; }

    [[nodiscard]] std::vector<unsigned> write(const Prompt& prompt, unsigned limit) const {
        std::vector<unsigned> text, state = prompt.state, next(kWidth);
        std::vector<bool> is_barred(habits.vocabulary);
        for (const unsigned each : prompt.barred) is_barred[each] = true;
        unsigned token = prompt.token;
        do {
            for (unsigned i = 0; i < kWidth; ++i) state[i] += embedding[i * habits.vocabulary + token];
            for (unsigned l = 0; l < habits.layers; ++l) {
                for (unsigned i = 0; i < kWidth; ++i)
                    next[i] = product(&weights[l * kWidth * kWidth], kWidth, i, state.data());
                std::copy(next.begin(), next.end(), state.begin());
            }
            unsigned best = token = 0;
            for (unsigned t = 0; t < habits.vocabulary; ++t) {
                if (is_barred[t]) continue;
                if (const unsigned score = product(embedding.data(), habits.vocabulary, t, state.data());
                    score >= best)
                    best = score, token = t;
            }
            text.push_back(token);
        } while (token >= ends() && text.size() < limit);
        return text;
    }
};

int main(int argc, char** argv) {
    Options options(argc, argv, "Writes texts until each is over, and compares them with the host's.");
    const auto seed = static_cast<unsigned>(options.integer("--seed", 7978, 0, 1'000'000, "the habits"));
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

    const Habits habits = draw_habits(seed);
    const Model model(habits);
    const auto embedding = device_array<unsigned>(model.embedding.size()),
               weights = device_array<unsigned>(model.weights.size()),
               barred = device_array<unsigned>(habits.vocabulary),
               state = device_array<unsigned>((habits.layers + 1) * kWidth),
               token = device_array<unsigned>(1), text = device_array<unsigned>(limit + 2);
    const auto best = device_array<unsigned long long>(habits.vocabulary / kWidth);
    const auto looked_at = pinned_array<unsigned>(2);
    const auto copy = [](unsigned* to, const unsigned* from, size_t count) {
        CUDA_CHECK(cudaMemcpy(to, from, count * sizeof(unsigned), cudaMemcpyDefault));
    };
    const auto clear = [](unsigned* numbers, size_t count) {
        CUDA_CHECK(cudaMemset(numbers, 0, count * sizeof(unsigned)));
    };
    copy(embedding.get(), model.embedding.data(), model.embedding.size());
    copy(weights.get(), model.weights.data(), model.weights.size());

    const Stream own_stream = make_stream(cudaStreamNonBlocking);
    const cudaStream_t stream = own_stream.get();
    const Writer writer{embedding.get(), weights.get(), barred.get(), state.get(),
                        best.get(),      token.get(),   text.get(),   habits.vocabulary,
                        model.ends(),    habits.layers, limit};
    const auto begin = [&](unsigned number) {
        const Prompt prompt(number, habits);
        const unsigned is_barred = 1;
        copy(state.get() + habits.layers * kWidth, prompt.state.data(), kWidth);
        copy(token.get(), &prompt.token, 1);
        clear(barred.get(), habits.vocabulary);
        for (const unsigned each : prompt.barred) copy(&barred[each], &is_barred, 1);
        clear(text.get(), limit + 2);
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    begin(kPrompts);
    enqueue_step(writer, stream);  // loads the kernels
    CUDA_CHECK(cudaStreamSynchronize(stream));
    const Graph steps = make_steps(writer, stream);
    const GraphExec exec = instantiate(steps);

    const auto write = [&](unsigned number) {
        begin(number);
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
        wrong += found[i] != model.write(Prompt(kPrompts + i + 1, habits), limit);
        tokens += found[i].size();
    }
    std::printf("%u texts of %zu tokens: %.2f us a token\n", texts, tokens, elapsed.count() / tokens);
    std::printf("texts wrong: %zu of %u\n", wrong, texts);
    return wrong == 0 ? 0 : 1;
}
