// Statistics of three tables of amounts, mostly by CUB's device-wide algorithms. The amounts of a table lie
// group by group: it has a total, running totals, a histogram, its large amounts, and for each group the
// largest amount and the median.
//
// Symptom: the answers are right. With these tables the statistics take far longer than with others of the
// same size.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <nvtx3/nvToolsExt.h>  // the C API: CUB may bring a copy of NVTX's C++ API of its own

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_select.cuh>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/options.hpp"

constexpr int kThreads = 256, kTables = 3, kBins = 32;
constexpr const char* kNames[kTables] = {"sales", "returns", "orders"};
constexpr uint32_t kAmounts = 1000;  // amounts are below it, so that a table's total fits into 32 bits
constexpr uint32_t kLarge = 900;
constexpr size_t kScratchBytes = size_t{64} << 20;  // plenty for CUB, which would refuse too little

struct IsLarge {
    __host__ __device__ bool operator()(uint32_t amount) const { return amount >= kLarge; }
};

/// The middle one of each group, or the upper one of the two in the middle; 0 if there is none.
__global__ void pick_medians(const uint32_t* sorted, const int* offsets, int groups, uint32_t* medians) {
    const int group = blockIdx.x * kThreads + threadIdx.x;
    if (group >= groups) return;
    const int first = offsets[group], last = offsets[group + 1];
    medians[group] = first < last ? sorted[first + (last - first) / 2] : 0;
}

/// A table in device memory, and where its results go.
struct Table {
    Table(const std::vector<uint32_t>& host_amounts, const std::vector<int>& host_offsets)
        : count(static_cast<int>(host_amounts.size())), groups(static_cast<int>(host_offsets.size()) - 1) {
        CUDA_CHECK(
            cudaMemcpy(amounts.get(), host_amounts.data(), count * sizeof(uint32_t), cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemcpy(offsets.get(), host_offsets.data(), (groups + 1) * sizeof(int),
                              cudaMemcpyHostToDevice));
    }

    void find_statistics(void* scratch) const {
        const int* const first = offsets.get();
        size_t bytes = kScratchBytes;
        CUDA_CHECK(cub::DeviceReduce::Sum(scratch, bytes, amounts.get(), total.get(), count));
        CUDA_CHECK(cub::DeviceScan::InclusiveSum(scratch, bytes, amounts.get(), running.get(), count));
        CUDA_CHECK(cub::DeviceHistogram::HistogramEven(scratch, bytes, amounts.get(), bins.get(), kBins + 1,
                                                       0u, kAmounts, count));
        CUDA_CHECK(cub::DeviceSelect::If(scratch, bytes, amounts.get(), large.get(), large_count.get(), count,
                                         IsLarge{}));
        CUDA_CHECK(cub::DeviceSegmentedReduce::Max(scratch, bytes, amounts.get(), largest.get(), groups,
                                                   first, first + 1));
        CUDA_CHECK(cub::DeviceSegmentedRadixSort::SortKeys(scratch, bytes, amounts.get(), sorted.get(), count,
                                                           groups, first, first + 1));
        pick_medians<<<(groups + kThreads - 1) / kThreads, kThreads>>>(sorted.get(), first, groups,
                                                                       medians.get());
        CUDA_CHECK(cudaGetLastError());
    }

    int count, groups;
    std::unique_ptr<uint32_t[], DeviceFree> amounts = device_array<uint32_t>(count),
                                            running = device_array<uint32_t>(count),
                                            large = device_array<uint32_t>(count),
                                            sorted = device_array<uint32_t>(count),
                                            total = device_array<uint32_t>(1),
                                            large_count = device_array<uint32_t>(1),
                                            bins = device_array<uint32_t>(kBins),
                                            largest = device_array<uint32_t>(groups),
                                            medians = device_array<uint32_t>(groups);
    std::unique_ptr<int[], DeviceFree> offsets = device_array<int>(groups + 1);
};

/// Where each group begins, and at the end how many amounts there are. Some groups are larger than others.
std::vector<int> draw_groups(std::mt19937& random, int count) {
    std::vector<double> weights(60 + random() % 60);
    double sum = 0, before = 0;
    for (double& weight : weights) sum += weight = 1 / (1.0 + static_cast<double>(random()));
    std::vector<int> offsets;
    for (const double weight : weights) {
        offsets.push_back(static_cast<int>(before / sum * count));
        before += weight;
    }
    offsets.push_back(count);
    return offsets;
}

std::vector<uint32_t> copy_back(const std::unique_ptr<uint32_t[], DeviceFree>& found, size_t count) {
    std::vector<uint32_t> host(count);
    CUDA_CHECK(cudaMemcpy(host.data(), found.get(), count * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    return host;
}

/// How many results of the table are wrong.
size_t count_wrong(const Table& table, const std::vector<uint32_t>& amounts,
                   const std::vector<int>& offsets) {
    const std::vector<uint32_t> running = copy_back(table.running, table.count),
                                largest = copy_back(table.largest, table.groups),
                                medians = copy_back(table.medians, table.groups),
                                bins = copy_back(table.bins, kBins);
    std::vector<uint32_t> expected_bins(kBins), large;
    uint32_t total = 0;
    size_t wrong = 0;
    for (int i = 0; i < table.count; ++i) {
        wrong += running[i] != (total += amounts[i]);
        ++expected_bins[amounts[i] * kBins / kAmounts];
        if (IsLarge{}(amounts[i])) large.push_back(amounts[i]);
    }
    wrong += copy_back(table.total, 1)[0] != total;
    wrong +=
        copy_back(table.large_count, 1)[0] != large.size() || copy_back(table.large, large.size()) != large;
    for (int bin = 0; bin < kBins; ++bin) wrong += bins[bin] != expected_bins[bin];
    for (int group = 0; group < table.groups; ++group) {
        std::vector<uint32_t> its(amounts.begin() + offsets[group], amounts.begin() + offsets[group + 1]);
        const auto middle = its.begin() + its.size() / 2;
        std::nth_element(its.begin(), middle, its.end());
        wrong += medians[group] != (its.empty() ? 0 : *middle);
        wrong += largest[group] != (its.empty() ? 0 : *std::max_element(its.begin(), its.end()));
    }
    return wrong;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Statistics of three tables of random amounts.");
    const int count =
        static_cast<int>(options.integer("--count", 4'000'003, 1000, 4'200'000, "amounts in a table"));
    options.done();
    require_gpu(kTables * size_t{6} * count * sizeof(uint32_t) + kScratchBytes);
    if (CUB_VERSION < 200700) {  // CUDA 12.8 brings 2.7
        std::fprintf(stderr, "CUB %d names its algorithms only in part: build with CUDA 12.8 or later\n",
                     CUB_VERSION);
        return 77;
    }

    std::mt19937 random(337);
    std::vector<std::vector<int>> offsets;
    std::vector<std::vector<uint32_t>> amounts(kTables, std::vector<uint32_t>(count));
    std::vector<Table> tables;
    for (int t = 0; t < kTables; ++t) offsets.push_back(draw_groups(random, count));
    for (int t = 0; t < kTables; ++t) {
        for (uint32_t& amount : amounts[t]) amount = static_cast<uint32_t>(random()) % kAmounts;
        tables.emplace_back(amounts[t], offsets[t]);
    }
    const auto scratch = device_array<char>(kScratchBytes);
    nvtxRangePushA("warm-up");
    for (const Table& table : tables) {
        table.find_statistics(scratch.get());
        CUDA_CHECK(cudaMemset(table.medians.get(), 0xFF, table.groups * sizeof(uint32_t)));
    }
    CUDA_CHECK(cudaDeviceSynchronize());
    nvtxRangePop();

    const auto start = std::chrono::steady_clock::now();
    nvtxRangePushA("statistics");
    for (int t = 0; t < kTables; ++t) {
        nvtxRangePushA(kNames[t]);
        tables[t].find_statistics(scratch.get());
        nvtxRangePop();
    }
    CUDA_CHECK(cudaDeviceSynchronize());
    nvtxRangePop();
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    size_t wrong = 0;
    for (int t = 0; t < kTables; ++t) wrong += count_wrong(tables[t], amounts[t], offsets[t]);
    std::printf("%d tables of %d amounts: %.2f ms\n", kTables, count, elapsed.count());
    std::printf("wrong numbers: expected 0, found %zu\n", wrong);
    return wrong == 0 ? 0 : 1;
}
