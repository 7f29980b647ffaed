// Runs batches of random number generators, each batch with a multiplier and an increment of its own, and
// adds up the states in which the generators of a batch end. The batches are spread over four streams.
//
// Symptom: a batch fills two blocks, so four of them fit on any GPU at once, and each has a stream to run
// in; yet the timeline never shows two kernels side by side.
// Task: let the batches run beside each other. Nothing in the range "advance" may use the default stream.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <chrono>
#include <cstdio>
#include <cub/block/block_reduce.cuh>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kBlocks = 2, kThreads = 128, kBatchSize = kBlocks * kThreads;
constexpr size_t kStreams = 4;

/// One step of a generator: x becomes multiplier * x + increment, modulo 2^32.
struct Step {
    unsigned multiplier, increment;
};

/// One generator a thread: a chain of multiplications, each of which waits for the one before.
__global__ void advance(const unsigned* first, Step step, int steps, unsigned* last) {
    const unsigned i = blockIdx.x * kThreads + threadIdx.x;
    unsigned x = first[i];
    for (int n = 0; n < steps; ++n) x = step.multiplier * x + step.increment;
    last[i] = x;
}

/// One block adds up a batch.
__global__ void add_up(const unsigned* last, unsigned* sum) {
    using BlockReduce = cub::BlockReduce<unsigned, kBatchSize>;
    __shared__ typename BlockReduce::TempStorage storage;
    const unsigned total = BlockReduce(storage).Sum(last[threadIdx.x]);
    if (threadIdx.x == 0) *sum = total;
}

/// `steps` steps as a single one, by squaring: the oracle.
Step all_at_once(Step step, int steps) {
    Step all{1, 0};
    for (; steps > 0; steps /= 2) {
        if (steps % 2)
            all = {step.multiplier * all.multiplier, step.multiplier * all.increment + step.increment};
        step = {step.multiplier * step.multiplier, step.multiplier * step.increment + step.increment};
    }
    return all;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Runs batches of random number generators over four streams.");
    const size_t batches = options.integer("--batches", 16, 1, 1024, "batches");
    const int steps = options.integer("--steps", 1'000'000, 1, 10'000'000, "steps of each generator");
    options.done();
    const size_t count = batches * kBatchSize;
    require_gpu((2 * count + batches) * sizeof(unsigned));

    std::mt19937 random(3);
    std::vector<unsigned> first(count), expected(batches), found(batches);
    std::vector<Step> step(batches);
    for (size_t batch = 0; batch < batches; ++batch) {
        // Multipliers 8n + 5 and odd increments give the longest period.
        step[batch] = {static_cast<unsigned>(random()) / 8 * 8 + 5, static_cast<unsigned>(random()) | 1};
        const Step all = all_at_once(step[batch], steps);
        for (size_t i = batch * kBatchSize; i < (batch + 1) * kBatchSize; ++i) {
            first[i] = static_cast<unsigned>(random());
            expected[batch] += all.multiplier * first[i] + all.increment;
        }
    }
    const auto device_first = device_array<unsigned>(count), device_last = device_array<unsigned>(count),
               sums = device_array<unsigned>(batches);
    CUDA_CHECK(
        cudaMemcpy(device_first.get(), first.data(), count * sizeof(unsigned), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(device_last.get(), 0, count * sizeof(unsigned)));
    CUDA_CHECK(cudaMemset(sums.get(), 0, batches * sizeof(unsigned)));
    CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<Stream> streams(kStreams);
    for (Stream& stream : streams) stream = make_stream();

    {
        nvtx3::scoped_range range{"warm-up"};
        for (const Stream& stream : streams) {
            advance<<<kBlocks, kThreads, 0, stream.get()>>>(device_first.get(), step[0], 0,
                                                            device_last.get());
            CUDA_CHECK(cudaGetLastError());
            add_up<<<1, kBatchSize, 0, stream.get()>>>(device_first.get(), sums.get());
            CUDA_CHECK(cudaGetLastError());
        }
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"advance"};
        for (size_t batch = 0; batch < batches; ++batch) {
            const cudaStream_t stream = streams[batch % kStreams].get();
            unsigned* const last = device_last.get() + batch * kBatchSize;
            // TODO(learner): which of these launches keeps all the others waiting, and why?
            advance<<<kBlocks, kThreads, 0, stream>>>(device_first.get() + batch * kBatchSize, step[batch],
                                                      steps, last);
            CUDA_CHECK(cudaGetLastError());
            add_up<<<1, kBatchSize>>>(last, &sums[batch]);
            CUDA_CHECK(cudaGetLastError());
        }
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    CUDA_CHECK(cudaMemcpy(found.data(), sums.get(), batches * sizeof(unsigned), cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    for (size_t batch = 0; batch < batches; ++batch) wrong += found[batch] != expected[batch];
    std::printf("%zu batches in %zu streams: %.2f ms\n", batches, kStreams, elapsed.count());
    std::printf("first batch: expected %u, found %u; %zu of %zu batches wrong\n", expected[0], found[0],
                wrong, batches);
    return wrong == 0 ? 0 : 1;
}
