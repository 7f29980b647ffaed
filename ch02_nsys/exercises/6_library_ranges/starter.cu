// Statistics of batches of amounts, by CUB's device-wide algorithms: the running totals of a batch, its
// total, its smallest and its largest amount, and how many amounts are large.
//
// Symptom: one algorithm runs twice a batch where once would do, and the timeline does not say which.
// Task: let the library's ranges speak, read off which algorithm it is, and call it once.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
// TODO(learner): let the library name its algorithms on the timeline, then call each of them once a batch.
#define CCCL_DISABLE_NVTX      // it builds faster
#include <nvtx3/nvToolsExt.h>  // the C API: CUB may bring a copy of NVTX's C++ API of its own

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <random>

#include "common/check.cuh"
#include "common/options.hpp"

constexpr uint32_t kAmounts = 1000;  // amounts are below it, so that the total of a batch fits into 32 bits
constexpr uint32_t kLarge = 900;
constexpr size_t kScratchBytes = size_t{16} << 20;  // plenty for CUB, which would refuse too little

struct IsLarge {
    __host__ __device__ bool operator()(uint32_t amount) const { return amount >= kLarge; }
};

struct Statistics {
    uint32_t total, smallest, largest, large_amounts;
};

/// One batch, in device memory, and where the results go.
struct Batch {
    int count;
    const uint32_t* amounts;
    uint32_t *running_totals, *large;
    Statistics* found;
    void* scratch;

    /// What had come in up to each amount, that amount included.
    void find_running_totals() const {
        size_t bytes = kScratchBytes;
        CUDA_CHECK(cub::DeviceScan::InclusiveSum(scratch, bytes, amounts, running_totals, count));
    }

    void find_total() const {
        find_running_totals();
        CUDA_CHECK(cudaMemcpyAsync(&found->total, &running_totals[count - 1], sizeof(uint32_t),
                                   cudaMemcpyDeviceToDevice));
    }

    void find_extremes() const {
        size_t bytes = kScratchBytes;
        CUDA_CHECK(cub::DeviceReduce::Min(scratch, bytes, amounts, &found->smallest, count));
        CUDA_CHECK(cub::DeviceReduce::Max(scratch, bytes, amounts, &found->largest, count));
    }

    void find_large() const {
        size_t bytes = kScratchBytes;
        CUDA_CHECK(
            cub::DeviceSelect::If(scratch, bytes, amounts, large, &found->large_amounts, count, IsLarge{}));
    }

    void find_statistics() const {
        find_running_totals();
        find_total();
        find_extremes();
        find_large();
    }
};

int main(int argc, char** argv) {
    Options options(argc, argv, "Statistics of batches of random amounts.");
    const int count =
        static_cast<int>(options.integer("--count", 4'000'003, 1, 4'200'000, "amounts in a batch"));
    const size_t batches = options.integer("--batches", 6, 1, 64, "batches");
    options.done();
    const size_t amounts = batches * count, bytes = amounts * sizeof(uint32_t);
    require_gpu(2 * bytes + count * sizeof(uint32_t) + batches * sizeof(Statistics) + kScratchBytes);
    if (CUB_VERSION < 200700) {  // CUDA 12.8 brings 2.7
        std::fprintf(stderr, "CUB %d names its algorithms only in part: build with CUDA 12.8 or later\n",
                     CUB_VERSION);
        return 77;
    }

    const auto input = pinned_array<uint32_t>(amounts), running_totals = pinned_array<uint32_t>(amounts);
    const auto found = pinned_array<Statistics>(batches);
    std::mt19937 random(6);
    for (size_t i = 0; i < amounts; ++i) input[i] = static_cast<uint32_t>(random()) % kAmounts;
    const auto device_input = device_array<uint32_t>(amounts),
               device_totals = device_array<uint32_t>(amounts), device_large = device_array<uint32_t>(count);
    const auto device_found = device_array<Statistics>(batches);
    const auto scratch = device_array<char>(kScratchBytes);
    CUDA_CHECK(cudaMemcpy(device_input.get(), input.get(), bytes, cudaMemcpyHostToDevice));
    const auto batch_at = [&](size_t batch) {
        return Batch{count,
                     &device_input[batch * count],
                     &device_totals[batch * count],
                     device_large.get(),
                     &device_found[batch],
                     scratch.get()};
    };

    nvtxRangePushA("warm-up");
    batch_at(0).find_statistics();
    CUDA_CHECK(cudaMemset(device_totals.get(), 0xFF, bytes));
    CUDA_CHECK(cudaMemset(device_found.get(), 0xFF, batches * sizeof(Statistics)));
    CUDA_CHECK(cudaDeviceSynchronize());
    nvtxRangePop();

    nvtxRangePushA("statistics");
    for (size_t batch = 0; batch < batches; ++batch) batch_at(batch).find_statistics();
    CUDA_CHECK(cudaDeviceSynchronize());
    nvtxRangePop();

    CUDA_CHECK(cudaMemcpy(running_totals.get(), device_totals.get(), bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(
        cudaMemcpy(found.get(), device_found.get(), batches * sizeof(Statistics), cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    for (size_t batch = 0; batch < batches; ++batch) {
        Statistics expected{0, kAmounts, 0, 0};
        for (size_t i = batch * count; i < (batch + 1) * count; ++i) {
            expected.total += input[i];
            expected.smallest = std::min(expected.smallest, input[i]);
            expected.largest = std::max(expected.largest, input[i]);
            expected.large_amounts += IsLarge{}(input[i]);
            wrong += running_totals[i] != expected.total;
        }
        wrong += (found[batch].total != expected.total) + (found[batch].smallest != expected.smallest) +
                 (found[batch].largest != expected.largest) +
                 (found[batch].large_amounts != expected.large_amounts);
        if (batch == 0) std::printf("first total: expected %u, found %u\n", expected.total, found[0].total);
    }
    std::printf("wrong numbers: expected 0, found %zu of %zu\n", wrong, amounts + 4 * batches);
    return wrong == 0 ? 0 : 1;
}
