// Divides an array by its sum, in parts: each part is meant to have a stream of its own, so that its copies
// and kernels can run next to those of the other parts.
//
// Symptom: the answer is right, and it takes as long as these parts would one after the other.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I. ch05_streams/buggy.cu -o buggy
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o buggy ./buggy
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cub/block/block_reduce.cuh>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

// A block leaves one partial sum. The number of blocks is fixed, not chosen to fit the GPU, so that every GPU
// has as many sums to add up.
constexpr int kBlocks = 1280, kThreads = 256;

/// One partial sum per block: a grid-stride loop, then a reduction in the block.
__global__ void partial_reduce(const float* x, size_t count, float* partial) {
    using BlockReduce = cub::BlockReduce<float, kThreads>;
    __shared__ typename BlockReduce::TempStorage storage;
    float sum = 0;
    for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < count; i += size_t{kBlocks} * kThreads)
        sum += x[i];
    sum = BlockReduce(storage).Sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

/// Adds the partial sums with one thread, and leaves the rest of the GPU idle for others.
__global__ void single_thread_sum(const float* partial, float* sum) {
    *sum = 0;
    for (int i = 0; i < kBlocks; ++i) *sum += partial[i];
}

__global__ void divide_by(float* x, size_t count, float divisor) {
    for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < count; i += size_t{kBlocks} * kThreads)
        x[i] /= divisor;
}

/// One stream per part. These are raw handles, and nothing destroys them: they live as long as the program.
std::vector<cudaStream_t> make_streams(size_t parts) {
    return std::vector<cudaStream_t>(parts, make_stream(cudaStreamNonBlocking).release());
}

int main(int argc, char** argv) {
    Options options(argc, argv,
                    "Divides an array of random numbers by its sum, in parts, one stream a part.");
    const size_t count = options.integer("--count", 100'000'000, 1, 1'000'000'000, "numbers in the array");
    const size_t parts = options.integer("--streams", 4, 1, 64, "parts, and streams");
    const int repetitions = options.integer("--repetitions", 50, 1, 10'000, "times each part is summed");
    options.done();
    require_gpu((count + parts * (kBlocks + 1)) * sizeof(float));

    const auto x = pinned_array<float>(count), sums = pinned_array<float>(parts);
    std::mt19937 random(5);
    double expected_total = 0;
    for (size_t i = 0; i < count; ++i) {
        x[i] = static_cast<float>((random() >> 8) + 1) / (1 << 24);
        expected_total += x[i];
    }
    const std::vector<float> input(x.get(), x.get() + count);

    const auto device_x = device_array<float>(count), partial = device_array<float>(parts * kBlocks),
               device_sums = device_array<float>(parts);
    const auto streams = make_streams(parts);
    const auto first = [&](size_t part) { return count * part / parts; };

    {
        nvtx3::scoped_range range{"warm-up"};
        partial_reduce<<<kBlocks, kThreads>>>(device_x.get(), 0, partial.get());
        CUDA_CHECK(cudaGetLastError());
        single_thread_sum<<<1, 1>>>(partial.get(), device_sums.get());
        CUDA_CHECK(cudaGetLastError());
        divide_by<<<kBlocks, kThreads>>>(device_x.get(), 0, 1);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"normalise"};
        for (size_t part = 0; part < parts; ++part) {
            const size_t begin = first(part), length = first(part + 1) - begin;
            const cudaStream_t stream = streams[part];
            float* const part_x = device_x.get() + begin;
            float* const part_partial = partial.get() + part * kBlocks;
            CUDA_CHECK(
                cudaMemcpyAsync(part_x, &x[begin], length * sizeof(float), cudaMemcpyHostToDevice, stream));
            for (int repetition = 0; repetition < repetitions; ++repetition) {
                partial_reduce<<<kBlocks, kThreads, 0, stream>>>(part_x, length, part_partial);
                CUDA_CHECK(cudaGetLastError());
                single_thread_sum<<<1, 1, 0, stream>>>(part_partial, &device_sums[part]);
                CUDA_CHECK(cudaGetLastError());
            }
            CUDA_CHECK(cudaMemcpyAsync(&sums[part], &device_sums[part], sizeof(float), cudaMemcpyDeviceToHost,
                                       stream));
        }
        CUDA_CHECK(cudaDeviceSynchronize());
        double total = 0;
        for (size_t part = 0; part < parts; ++part) total += sums[part];
        for (size_t part = 0; part < parts; ++part) {
            const size_t begin = first(part), length = first(part + 1) - begin;
            const cudaStream_t stream = streams[part];
            divide_by<<<kBlocks, kThreads, 0, stream>>>(device_x.get() + begin, length,
                                                        static_cast<float>(total));
            CUDA_CHECK(cudaGetLastError());
            CUDA_CHECK(cudaMemcpyAsync(&x[begin], device_x.get() + begin, length * sizeof(float),
                                       cudaMemcpyDeviceToHost, stream));
        }
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    double found_total = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < count; ++i) {
        const double expected = input[i] / expected_total;
        found_total += x[i];
        wrong += !(std::fabs(x[i] - expected) <= 1e-4 * expected);
    }
    std::printf("%zu numbers in %zu parts: %.2f ms\n", count, parts, elapsed.count());
    std::printf("sum afterwards: expected 1, found %.6f; %zu of %zu numbers wrong\n", found_total, wrong,
                count);
    return wrong == 0 ? 0 : 1;
}
