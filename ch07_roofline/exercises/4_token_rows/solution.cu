// What follows a product in a network that reads text: each token's row gets a bias, the activation SiLU and
// the residual, is scaled to a mean square of 1 (RMS norm), and each of its heads is turned by the token's
// position (rotary embedding). The result goes into pages, as the next kernel wants it.
//
// Right: the sines and cosines of a token are computed once, and kept in shared memory for all of its heads.
// The pages stay as they are.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    ncu --section MemoryWorkloadAnalysis --launch-count 2 -f -o solution ./solution
#include <cub/block/block_reduce.cuh>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;                   // per block, which takes one token's row
constexpr int kPairs = 32, kHead = 2 * kPairs;  // numbers of a head, of which two are turned together
constexpr int kMostKept = 12'000;  // numbers of a row in shared memory, of which a block gets 48 KiB unasked
constexpr int kPage = 16;          // tokens of a page
constexpr int kMessage = 256;      // tokens of a message, which has a conversation before it
constexpr int kMostTokens = 100'000;
constexpr float kBase = 10'000;    // the frequencies of a head's pairs are powers of it, from 1 downwards
constexpr float kEpsilon = 1e-5f;  // added to the mean square, so that a row of zeros can be scaled

/// How large the model is, how it's served, and what conversations are like.
struct Batch {
    int heads;       // of a row
    int chunk;       // tokens that a launch takes
    int piece_bits;  // 2^piece_bits numbers of a token lie together in a page
    int history;     // tokens before a message: at least half of this, and less than all
};

Batch draw_batch(std::mt19937& random) {
    Batch batch;
    batch.heads = 16 + random() % 240;
    batch.chunk = 1 << (6 + random() % 8);
    batch.piece_bits = random() % 6;
    batch.history = 1 << (12 + random() % 9);
    return batch;
}

/// Arrays in device memory, one row per token. `bias` and `weight` are one row for all tokens.
struct Layer {
    int tokens, width, chunk, piece_bits;
    const float *x, *bias, *residual, *weight;
    const int* positions;      // of each token in its conversation
    const float* frequencies;  // of the pairs of a head, in radians per position
    float* out;                // pages
};

/// Where number `i` of a token's row is in the pages: pieces of all tokens of a page take turns.
__host__ __device__ unsigned place_of(unsigned token, unsigned i, unsigned width, int piece_bits) {
    const unsigned in_piece = i & ((1u << piece_bits) - 1);
    return (token / kPage * width + i - in_piece) * kPage + (token % kPage << piece_bits) + in_piece;
}

/// The sum of a number of each thread of the block, for all of them.
__device__ float block_sum(float mine) {
    using Reduce = cub::BlockReduce<float, kThreads>;
    __shared__ typename Reduce::TempStorage storage;
    __shared__ float sum;
    mine = Reduce(storage).Sum(mine);  // of all, in thread 0
    if (threadIdx.x == 0) sum = mine;
    __syncthreads();
    return sum;
}

__device__ float silu(float x) {
    return __fdividef(x, 1 + expf(-x));
}

/// A block for each token. A row that is too long to be kept in shared memory is computed twice.
template <bool keep>
__global__ void finish(Layer layer, int first_token) {
    extern __shared__ float kept[];
    const int token = first_token + blockIdx.x, width = layer.width;
    const size_t row = size_t(token) * width;
    const auto value = [&](int i) {
        return silu(layer.x[row + i] + layer.bias[i]) + layer.residual[row + i];
    };
    __shared__ float2 turns[kPairs];  // sines and cosines of the token's angles
    if (threadIdx.x < kPairs) {
        const float angle = layer.positions[token] * layer.frequencies[threadIdx.x];
        sincosf(angle, &turns[threadIdx.x].x, &turns[threadIdx.x].y);
    }
    float squares = 0;
    for (int i = threadIdx.x; i < width; i += kThreads) {
        const float mine = value(i);
        if (keep) kept[i] = mine;
        squares += mine * mine;
    }
    const float scale = rsqrtf(block_sum(squares) / width + kEpsilon);
    const auto scaled = [&](int i) { return (keep ? kept[i] : value(i)) * scale * layer.weight[i]; };
    for (int pair = threadIdx.x; pair < width / 2; pair += kThreads) {
        const int i = pair / kPairs * kHead + pair % kPairs;  // the other one is half a head further on
        const float x = scaled(i), y = scaled(i + kPairs);
        const float sine = turns[pair % kPairs].x, cosine = turns[pair % kPairs].y;
        layer.out[place_of(token, i, width, layer.piece_bits)] = x * cosine - y * sine;
        layer.out[place_of(token, i + kPairs, width, layer.piece_bits)] = x * sine + y * cosine;
    }
}

void run_step(const Layer& layer) {
    const bool keep = layer.width <= kMostKept;
    const auto kernel = keep ? finish<true> : finish<false>;
    const size_t kept_bytes = keep ? layer.width * sizeof(float) : 0;
    for (int first = 0; first < layer.tokens; first += layer.chunk) {
        kernel<<<std::min(layer.chunk, layer.tokens - first), kThreads, kept_bytes>>>(layer, first);
        CUDA_CHECK(cudaGetLastError());
    }
}

/// Random numbers from -2 to 2. One multiplication per number, whose upper bits are random.
std::vector<float> random_numbers(size_t count, uint64_t seed) {
    std::linear_congruential_engine<uint64_t, 6364136223846793005, 1442695040888963407, 0> random(seed);
    std::vector<float> numbers(count);
    for (float& number : numbers) number = static_cast<float>(random() >> 40) / (1 << 22) - 2;
    return numbers;
}

/// Where each token stands in its conversation.
std::vector<int> draw_positions(int tokens, int history, std::mt19937& random) {
    std::vector<int> positions(tokens);
    int before = 0;
    for (int token = 0; token < tokens; ++token) {
        if (token % kMessage == 0) before = history / 2 + random() % (history / 2);
        positions[token] = before + token % kMessage;
    }
    return positions;
}

/// A copy of `host` in device memory.
template <class T>
auto on_device(const std::vector<T>& host) {
    auto device = device_array<T>(host.size());
    CUDA_CHECK(cudaMemcpy(device.get(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Activates, normalises and turns rows of random numbers, into pages.");
    const int seed = options.integer("--seed", 18565, 0, 1'000'000'000, "the batch");
    const int tokens = options.integer("--tokens", 8192, 1, kMostTokens, "tokens, each a row");
    const int steps = options.integer("--steps", 10, 1, 1000, "times that the layer is computed");
    options.done();
    std::mt19937 random(seed);
    const Batch batch = draw_batch(random);
    const int width = batch.heads * kHead;
    const size_t count = size_t(tokens) * width, bytes = count * sizeof(float),
                 paged = size_t(tokens + kPage - 1) / kPage * kPage * width;
    require_gpu(2 * bytes + paged * sizeof(float) + 2 * width * sizeof(float) + tokens * sizeof(int));

    const std::vector<float> x = random_numbers(count, 41), residual = random_numbers(count, 42),
                             bias = random_numbers(width, 43), weight = random_numbers(width, 44);
    const std::vector<int> positions = draw_positions(tokens, batch.history, random);
    std::vector<float> frequencies(kPairs);
    for (int pair = 0; pair < kPairs; ++pair)
        frequencies[pair] = std::pow(kBase, -static_cast<float>(pair) / kPairs);
    const auto device_x = on_device(x), device_residual = on_device(residual), device_bias = on_device(bias),
               device_weight = on_device(weight), device_frequencies = on_device(frequencies),
               out = device_array<float>(paged);
    const auto device_positions = on_device(positions);
    const Layer layer{tokens,
                      width,
                      batch.chunk,
                      batch.piece_bits,
                      device_x.get(),
                      device_bias.get(),
                      device_residual.get(),
                      device_weight.get(),
                      device_positions.get(),
                      device_frequencies.get(),
                      out.get()};
    {
        nvtx3::scoped_range range{"warm-up"};
        run_step(layer);
        // Nothing of this may pass for an answer: four bytes of 0xFF are a NaN.
        CUDA_CHECK(cudaMemset(out.get(), 0xFF, paged * sizeof(float)));
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"layer"};
        for (int step = 0; step < steps; ++step) run_step(layer);
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
    std::vector<float> found(paged);
    CUDA_CHECK(cudaMemcpy(found.data(), out.get(), paged * sizeof(float), cudaMemcpyDeviceToHost));

    size_t wrong = 0;
    double worst = 0;
    const auto compare = [&](int token, int i, double expected) {
        const double error = std::fabs(found[place_of(token, i, width, batch.piece_bits)] - expected);
        wrong += !(error <= 2e-5);
        if (!(error <= worst)) worst = error;  // NaN, too
    };
    std::vector<double> values(width);
    for (int token = 0; token < tokens; ++token) {
        const size_t row = size_t(token) * width;
        double squares = 0;
        for (int i = 0; i < width; ++i) {
            const double sum = double{x[row + i]} + bias[i];
            values[i] = sum / (1 + std::exp(-sum)) + residual[row + i];
            squares += values[i] * values[i];
        }
        const double scale = 1 / std::sqrt(squares / width + kEpsilon);
        for (int i = 0; i < width; ++i) values[i] *= scale * weight[i];
        for (int pair = 0; pair < kPairs; ++pair) {
            const float angle = positions[token] * frequencies[pair];
            const double sine = std::sin(double{angle}), cosine = std::cos(double{angle});
            for (int i = pair; i < width; i += kHead) {
                compare(token, i, values[i] * cosine - values[i + kPairs] * sine);
                compare(token, i + kPairs, values[i] * sine + values[i + kPairs] * cosine);
            }
        }
    }
    std::printf("%d tokens of %d numbers: %.1f us a step, %.0f GB/s of x, the residual and the result\n",
                tokens, width, elapsed.count() / steps, 3e-3 * bytes * steps / elapsed.count());
    std::printf("expected an error of 2e-05 at most, found %.1e; %zu of %zu numbers wrong\n", worst, wrong,
                count);
    return wrong == 0 ? 0 : 1;
}
