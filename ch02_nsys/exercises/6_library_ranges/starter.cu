// Statistics of three tables of amounts, mostly by CUB's device-wide algorithms. The amounts of a table lie
// group by group. It has totals, in which no amount counts for more than a cap, running totals on each page,
// a histogram, and for each group the large amounts, the largest and the median.
//
// Symptom: the answers are right. But the statistics of these three tables take several times as long as they
// need to.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <nvtx3/nvToolsExt.h>  // the C API: CUB may bring a copy of NVTX's C++ API of its own

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_select.cuh>
#include <iterator>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/options.hpp"

constexpr int kThreads = 256, kTables = 3;
constexpr const char* kNames[kTables] = {"sales", "returns", "orders"};
constexpr uint32_t kAmounts = 1000;  // amounts are below it, so that a table's total fits into 32 bits
constexpr uint32_t kLarge = 900;
constexpr size_t kScratchBytes = size_t{64} << 20;  // plenty for CUB, which would refuse too little

/// What a table is like, and what its owner wants to know.
struct Shape {
    int caps;                  ///< totals
    int pages;                 ///< on which running totals begin anew
    int bins;                  ///< of the histogram
    int zeros;                 ///< sixteenths of the amounts that are set to zero
    std::vector<int> offsets;  ///< where each group begins, and at the end how many amounts there are

    [[nodiscard]] int groups() const { return static_cast<int>(offsets.size()) - 1; }
    [[nodiscard]] uint32_t cap(int i) const { return kAmounts * (i + 1) / caps; }
    [[nodiscard]] int page(int i, int count) const {  // where it begins
        return static_cast<int>(static_cast<long long>(count) * i / pages);
    }
};

/// One group has more amounts than the others, which are alike.
Shape draw_shape(std::mt19937& random, int count) {
    const auto between = [&](double least, double most) {
        return least * std::pow(most / least, static_cast<double>(random()) / std::mt19937::max());
    };
    Shape shape{};
    shape.caps = static_cast<int>(between(1, 2048));
    shape.pages = static_cast<int>(between(1, 2048));
    shape.bins = static_cast<int>(between(8, 256));
    shape.zeros = static_cast<int>(random() % 16);
    const int groups = static_cast<int>(between(16, 1536)), place = static_cast<int>(random() % groups);
    const int others = groups - 1;
    const int large = std::min(count - others, static_cast<int>(between(1.0 / groups, 1) * count));
    for (int group = 0; group <= groups; ++group) {
        const int before = group - (group > place);  // of the others
        shape.offsets.push_back(static_cast<int>(static_cast<long long>(count - large) * before / others) +
                                (group > place ? large : 0));
    }
    return shape;
}

struct Capped {
    uint32_t cap;
    __host__ __device__ uint32_t operator()(uint32_t amount) const { return amount < cap ? amount : cap; }
};
struct Add {
    __host__ __device__ uint32_t operator()(uint32_t a, uint32_t b) const { return a + b; }
};
struct IsLarge {
    __host__ __device__ bool operator()(uint32_t amount) const { return amount >= kLarge; }
};

/// The middle one of each group, or the upper one of the two in the middle.
__global__ void pick_medians(const uint32_t* sorted, const int* offsets, int groups, uint32_t* medians) {
    const int group = blockIdx.x * kThreads + threadIdx.x;
    if (group >= groups) return;
    const int first = offsets[group], last = offsets[group + 1];
    medians[group] = sorted[first + (last - first) / 2];
}

/// A table in device memory, and where its results go.
struct Table {
    Table(const std::vector<uint32_t>& host_amounts, const Shape& its_shape)
        : shape(its_shape), count(static_cast<int>(host_amounts.size())), groups(shape.groups()) {
        CUDA_CHECK(
            cudaMemcpy(amounts.get(), host_amounts.data(), count * sizeof(uint32_t), cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemcpy(offsets.get(), shape.offsets.data(), (groups + 1) * sizeof(int),
                              cudaMemcpyHostToDevice));
    }

    void find_statistics(void* scratch) const {
        const int* const first = offsets.get();
        size_t bytes = kScratchBytes;
        for (int i = 0; i < shape.caps; ++i)
            CUDA_CHECK(cub::DeviceReduce::TransformReduce(scratch, bytes, amounts.get(), &totals[i], count,
                                                          Add{}, Capped{shape.cap(i)}, 0u));
        for (int i = 0; i < shape.pages; ++i) {
            const int from = shape.page(i, count);
            CUDA_CHECK(cub::DeviceScan::InclusiveSum(scratch, bytes, &amounts[from], &running[from],
                                                     shape.page(i + 1, count) - from));
        }
        CUDA_CHECK(cub::DeviceHistogram::HistogramEven(scratch, bytes, amounts.get(), bins.get(),
                                                       shape.bins + 1, 0u, kAmounts, count));
        for (int i = 0; i < groups; ++i) {
            const int from = shape.offsets[i];
            CUDA_CHECK(cub::DeviceSelect::If(scratch, bytes, &amounts[from], &large[from], &large_counts[i],
                                             shape.offsets[i + 1] - from, IsLarge{}));
        }
        CUDA_CHECK(cub::DeviceSegmentedReduce::Max(scratch, bytes, amounts.get(), largest.get(), groups,
                                                   first, first + 1));
        CUDA_CHECK(cub::DeviceSegmentedRadixSort::SortKeys(scratch, bytes, amounts.get(), sorted.get(), count,
                                                           groups, first, first + 1));
        pick_medians<<<(groups + kThreads - 1) / kThreads, kThreads>>>(sorted.get(), first, groups,
                                                                       medians.get());
        CUDA_CHECK(cudaGetLastError());
    }

    Shape shape;
    int count, groups;
    std::unique_ptr<uint32_t[], DeviceFree> amounts = device_array<uint32_t>(count),
                                            running = device_array<uint32_t>(count),
                                            large = device_array<uint32_t>(count),
                                            sorted = device_array<uint32_t>(count),
                                            totals = device_array<uint32_t>(shape.caps),
                                            bins = device_array<uint32_t>(shape.bins),
                                            large_counts = device_array<uint32_t>(groups),
                                            largest = device_array<uint32_t>(groups),
                                            medians = device_array<uint32_t>(groups);
    std::unique_ptr<int[], DeviceFree> offsets = device_array<int>(groups + 1);
};

std::vector<uint32_t> copy_back(const std::unique_ptr<uint32_t[], DeviceFree>& found, size_t count) {
    std::vector<uint32_t> host(count);
    CUDA_CHECK(cudaMemcpy(host.data(), found.get(), count * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    return host;
}

/// How many results of the table are wrong.
size_t count_wrong(const Table& table, const std::vector<uint32_t>& amounts) {
    const Shape& shape = table.shape;
    const std::vector<uint32_t> running = copy_back(table.running, table.count),
                                large = copy_back(table.large, table.count),
                                totals = copy_back(table.totals, shape.caps),
                                bins = copy_back(table.bins, shape.bins),
                                large_counts = copy_back(table.large_counts, table.groups),
                                largest = copy_back(table.largest, table.groups),
                                medians = copy_back(table.medians, table.groups);
    std::vector<uint32_t> times(kAmounts), expected_bins(shape.bins);
    size_t wrong = 0;
    for (int page = 0; page < shape.pages; ++page) {
        uint32_t total = 0;
        for (int i = shape.page(page, table.count); i < shape.page(page + 1, table.count); ++i) {
            wrong += running[i] != (total += amounts[i]);
            ++times[amounts[i]];
        }
    }
    for (uint32_t amount = 0; amount < kAmounts; ++amount)
        expected_bins[amount * shape.bins / kAmounts] += times[amount];
    for (int bin = 0; bin < shape.bins; ++bin) wrong += bins[bin] != expected_bins[bin];
    for (int i = 0; i < shape.caps; ++i) {
        uint32_t total = 0;
        for (uint32_t amount = 0; amount < kAmounts; ++amount)
            total += times[amount] * Capped{shape.cap(i)}(amount);
        wrong += totals[i] != total;
    }
    for (int group = 0; group < table.groups; ++group) {
        const int first = shape.offsets[group];
        std::vector<uint32_t> its(&amounts[first], amounts.data() + shape.offsets[group + 1]), its_large;
        std::copy_if(its.begin(), its.end(), std::back_inserter(its_large), IsLarge{});
        wrong += large_counts[group] != its_large.size() ||
                 !std::equal(its_large.begin(), its_large.end(), large.begin() + first);
        const auto middle = its.begin() + its.size() / 2;
        std::nth_element(its.begin(), middle, its.end());
        wrong += medians[group] != *middle;
        wrong += largest[group] != *std::max_element(its.begin(), its.end());
    }
    return wrong;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Statistics of three tables of random amounts.");
    const int count =
        static_cast<int>(options.integer("--count", 4'000'003, 10'000, 4'200'000, "amounts in a table"));
    const auto seed = static_cast<unsigned>(options.integer("--seed", 7068, 0, 1'000'000, "of the tables"));
    options.done();
    require_gpu(kTables * size_t{6} * count * sizeof(uint32_t) + kScratchBytes);
    if (CUB_VERSION < 200700) {  // CUDA 12.8 brings 2.7
        std::fprintf(stderr, "CUB %d names its algorithms only in part: build with CUDA 12.8 or later\n",
                     CUB_VERSION);
        return 77;
    }

    std::mt19937 random(seed);
    std::vector<Shape> shapes;
    for (int t = 0; t < kTables; ++t) shapes.push_back(draw_shape(random, count));
    std::vector<std::vector<uint32_t>> amounts(kTables, std::vector<uint32_t>(count));
    std::vector<Table> tables;
    for (int t = 0; t < kTables; ++t) {
        for (uint32_t& amount : amounts[t])
            amount = static_cast<int>(random() % 16) < shapes[t].zeros ? 0 : random() % kAmounts;
        tables.emplace_back(amounts[t], shapes[t]);
    }
    const auto scratch = device_array<char>(kScratchBytes);
    nvtxRangePushA("warm-up");
    for (const Table& table : tables) {
        table.find_statistics(scratch.get());
        CUDA_CHECK(cudaMemset(table.medians.get(), 0xFF, table.groups * sizeof(uint32_t)));
        CUDA_CHECK(cudaMemset(table.large.get(), 0xFF, table.count * sizeof(uint32_t)));
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
    for (int t = 0; t < kTables; ++t) wrong += count_wrong(tables[t], amounts[t]);
    std::printf("%d tables of %d amounts: %.2f ms\n", kTables, count, elapsed.count());
    std::printf("wrong numbers: expected 0, found %zu\n", wrong);
    return wrong == 0 ? 0 : 1;
}
