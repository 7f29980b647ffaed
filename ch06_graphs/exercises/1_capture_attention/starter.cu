// Answers questions about one document. A question is a few rows of queries, the document is rows of keys and
// of values, and attention gives the answer: softmax(queries x keys^T / sqrt(width)) x values.
//
// Symptom: the host makes three launch calls for every question.
// Task: capture the three kernels into one graph, once, and launch that graph once per question.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node -f true
//              -o starter ./starter
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cub/block/block_reduce.cuh>
#include <random>
#include <vector>

#include "common/graph_compat.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kWidth = 64, kThreads = 128;

/// weights = queries x keys^T / sqrt(width): a block per row, a thread per key.
__global__ void scores(const float* queries, const float* keys, float* weights, int rows) {
    for (int key = threadIdx.x; key < rows; key += kThreads) {
        float sum = 0;
        for (int i = 0; i < kWidth; ++i) sum += queries[blockIdx.x * kWidth + i] * keys[key * kWidth + i];
        weights[blockIdx.x * rows + key] = sum / sqrtf(kWidth);
    }
}

/// Combines the values of all threads of the block. All threads get the result.
template <class Combine>
__device__ float over_block(float value, Combine combine) {
    using Reduce = cub::BlockReduce<float, kThreads>;
    __shared__ typename Reduce::TempStorage scratch;
    __shared__ float combined;
    value = Reduce(scratch).Reduce(value, combine);
    if (threadIdx.x == 0) combined = value;  // only thread 0 has the block's value
    __syncthreads();
    return combined;
}

/// Each row of weights becomes positive, with the sum 1: a block per row.
__global__ void softmax(float* weights, int rows) {
    float* const row = weights + blockIdx.x * rows;
    float largest = -INFINITY, sum = 0;
    for (int key = threadIdx.x; key < rows; key += kThreads) largest = fmaxf(largest, row[key]);
    largest = over_block(largest, [](float a, float b) { return fmaxf(a, b); });
    for (int key = threadIdx.x; key < rows; key += kThreads) sum += row[key] = expf(row[key] - largest);
    sum = over_block(sum, [](float a, float b) { return a + b; });
    for (int key = threadIdx.x; key < rows; key += kThreads) row[key] /= sum;
}

/// answer = weights x values: a block per row, a thread per column.
__global__ void weigh(const float* weights, const float* values, float* answer, int rows) {
    float sum = 0;
    for (int key = 0; key < rows; ++key)
        sum += weights[blockIdx.x * rows + key] * values[key * kWidth + threadIdx.x];
    answer[blockIdx.x * kWidth + threadIdx.x] = sum;
}

/// The document and the current question, on the device, and the stream for their kernels.
struct Attention {
    std::unique_ptr<float[], DeviceFree> keys, values, queries, weights, answer;
    int rows, asked;  // rows of the document, and of a question
    Stream stream = make_stream(cudaStreamNonBlocking);
};

/// Queues the kernels that answer the question in `queries`.
void queue_attention(const Attention& a) {
    scores<<<a.asked, kThreads, 0, a.stream.get()>>>(a.queries.get(), a.keys.get(), a.weights.get(), a.rows);
    CUDA_CHECK(cudaGetLastError());
    softmax<<<a.asked, kThreads, 0, a.stream.get()>>>(a.weights.get(), a.rows);
    CUDA_CHECK(cudaGetLastError());
    weigh<<<a.asked, kWidth, 0, a.stream.get()>>>(a.weights.get(), a.values.get(), a.answer.get(), a.rows);
    CUDA_CHECK(cudaGetLastError());
}

std::vector<float> random_numbers(size_t count) {
    static std::mt19937 random(61);
    std::vector<float> numbers(count);
    for (float& x : numbers) x = static_cast<float>(random() % 20'001) / 10'000 - 1;
    return numbers;
}

/// How many elements of an answer differ from attention in double precision. All arrays are on the host.
int wrong_numbers(const float* queries, const std::vector<float>& keys, const std::vector<float>& values,
                  const float* answer, int asked) {
    const int rows = static_cast<int>(keys.size()) / kWidth;
    int wrong = 0;
    for (int q = 0; q < asked; ++q) {
        std::vector<double> weights(rows), expected(kWidth);
        double sum = 0;
        for (int key = 0; key < rows; ++key) {
            for (int i = 0; i < kWidth; ++i)
                weights[key] += double{queries[q * kWidth + i]} * keys[key * kWidth + i];
            sum += weights[key] = std::exp(weights[key] / std::sqrt(double{kWidth}));
        }
        for (int key = 0; key < rows; ++key)
            for (int i = 0; i < kWidth; ++i) expected[i] += weights[key] / sum * values[key * kWidth + i];
        for (int i = 0; i < kWidth; ++i) wrong += !(std::fabs(answer[q * kWidth + i] - expected[i]) <= 1e-5);
    }
    return wrong;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Answers questions about a document by attention to its keys and values.");
    const int questions = options.integer("--questions", 64, 1, 10'000, "questions, one after the other");
    const int asked = options.integer("--queries", 17, 1, 1024, "rows of queries in a question");
    const int rows = options.integer("--rows", 203, 1, 10'000, "rows of keys and of values in the document");
    options.done();
    const size_t document = size_t{1} * rows * kWidth, question = size_t{1} * asked * kWidth;
    require_gpu((2 * document + 2 * question + asked * rows) * sizeof(float));

    const std::vector<float> keys = random_numbers(document), values = random_numbers(document),
                             all_queries = random_numbers(questions * question);
    const auto queries = pinned_array<float>(questions * question),
               answers = pinned_array<float>(questions * question);
    std::copy(all_queries.begin(), all_queries.end(), queries.get());
    const Attention a{device_array<float>(document),
                      device_array<float>(document),
                      device_array<float>(question),
                      device_array<float>(asked * rows),
                      device_array<float>(question),
                      rows,
                      asked};
    const cudaStream_t stream = a.stream.get();
    CUDA_CHECK(cudaMemcpy(a.keys.get(), keys.data(), document * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(a.values.get(), values.data(), document * sizeof(float), cudaMemcpyHostToDevice));
    {
        nvtx3::scoped_range range{"warm-up"};
        CUDA_CHECK(cudaMemset(a.queries.get(), 0, question * sizeof(float)));
        CUDA_CHECK(cudaDeviceSynchronize());
        queue_attention(a);
        CUDA_CHECK(cudaStreamSynchronize(stream));
    }

    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    Clock::time_point asked_all;
    {
        nvtx3::scoped_range range{"answer"};
        for (int i = 0; i < questions; ++i) {
            const size_t at = i * question, bytes = question * sizeof(float);
            CUDA_CHECK(cudaMemcpyAsync(a.queries.get(), &queries[at], bytes, cudaMemcpyHostToDevice, stream));
            queue_attention(a);  // TODO(learner): three launches, the same ones for every question
            CUDA_CHECK(cudaMemcpyAsync(&answers[at], a.answer.get(), bytes, cudaMemcpyDeviceToHost, stream));
        }
        asked_all = Clock::now();
        CUDA_CHECK(cudaStreamSynchronize(stream));
    }
    const std::chrono::duration<double, std::micro> elapsed = Clock::now() - start,
                                                    asking = asked_all - start;

    int wrong = 0;
    for (int i = 0; i < questions; ++i)
        wrong += wrong_numbers(&queries[i * question], keys, values, &answers[i * question], asked);
    std::printf("%d questions: %.2f us each; the host had asked after %.2f us each\n", questions,
                elapsed.count() / questions, asking.count() / questions);
    std::printf("attention in double precision: %d of %zu numbers differ\n", wrong, questions * question);
    return wrong == 0 ? 0 : 1;
}
