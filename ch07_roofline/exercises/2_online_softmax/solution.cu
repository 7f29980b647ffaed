// Computes a soft argmax: the mean position, if each element of a row is as likely as softmax says.
//
// Right: one kernel reads the matrix once, and rescales its sums when a larger score comes.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    ncu -k regex:row --launch-count 3 --section MemoryWorkloadAnalysis ./solution
#include <cub/block/block_reduce.cuh>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 512;
constexpr int kMostRows = 65535, kFewestRows = 501;
constexpr int kRuns = 5;  // measured

/// What `merge` makes of the values of all threads of the block, in thread 0. Once in a kernel.
template <class Value, class Merge>
__device__ Value over_block(Value mine, Merge merge) {
    using Reduce = cub::BlockReduce<Value, kThreads>;
    __shared__ typename Reduce::TempStorage storage;
    return Reduce(storage).Reduce(mine, merge);
}

/// What is known of some scores: the largest, the sum of e^(score - largest), and of that times the position.
struct Seen {
    float largest, sum, weighted;
};

__device__ Seen merged(Seen a, Seen b) {
    const float largest = fmaxf(a.largest, b.largest);
    const float of_a = __expf(a.largest - largest), of_b = __expf(b.largest - largest);
    return {largest, a.sum * of_a + b.sum * of_b, a.weighted * of_a + b.weighted * of_b};
}

__global__ void row_mean(const float* scores, float* mean, int columns) {
    constexpr int kBatch = 4;  // loads under way, and scores for each rescaling
    const float* row = scores + size_t(blockIdx.x) * columns;
    Seen seen{-FLT_MAX, 0, 0};  // not -infinity: the difference of two is no number
    for (int first = threadIdx.x; first < columns; first += kBatch * kThreads) {
        float score[kBatch], largest = seen.largest, position = first;
        for (int i = 0; i < kBatch; ++i) {
            score[i] = first + i * kThreads < columns ? row[first + i * kThreads] : -INFINITY;
            largest = fmaxf(largest, score[i]);
        }
        const float rescale = __expf(seen.largest - largest);
        seen = {largest, seen.sum * rescale, seen.weighted * rescale};
        for (int i = 0; i < kBatch; ++i) {
            const float weight = __expf(score[i] - largest);
            seen.sum += weight;
            seen.weighted += weight * (position + i * kThreads);
        }
    }
    seen = over_block(seen, [](Seen a, Seen b) { return merged(a, b); });
    if (threadIdx.x == 0) mean[blockIdx.x] = seen.weighted / seen.sum;
}

void soft_argmax(const float* scores, float* mean, int rows, int columns) {
    row_mean<<<rows, kThreads>>>(scores, mean, columns);
    CUDA_CHECK(cudaGetLastError());
}

/// Scores that rise or fall along the row by more than e^x can bear, are far above 0, or begin with a mask.
std::vector<float> random_scores(int rows, int columns) {
    std::mt19937 random(3);
    std::vector<float> scores(size_t(rows) * columns);
    for (size_t i = 0; i < scores.size(); ++i) {
        const int kind = i / columns % 4, column = i % columns;
        const float noise = static_cast<float>(random() >> 8) / (1 << 21) - 4,
                    along = 90.0f * column / columns;
        scores[i] = noise + (kind == 0 ? along : kind == 1 ? 90 - along : kind == 2 ? 1000 : 0);
        if (kind == 3 && column < columns / 2) scores[i] = -INFINITY;
    }
    return scores;
}

/// The expected position, in double precision.
double expected_mean(const float* row, int columns) {
    double largest = -INFINITY, sum = 0, weighted = 0;
    for (int c = 0; c < columns; ++c) largest = std::fmax(largest, row[c]);
    for (int c = 0; c < columns; ++c) {
        const double weight = std::exp(row[c] - largest);
        sum += weight;
        weighted += weight * c;
    }
    return weighted / sum;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Computes the position that softmax expects in each row of a matrix.");
    int rows =
        options.integer("--rows", 0, 0, kMostRows, "rows of the matrix; 0: 501, or twice what L2 holds");
    const int columns = options.integer("--columns", 65544, 1, 1 << 20, "columns of the matrix");
    options.done();
    require_gpu(0);
    if (rows == 0) {  // if it fit into L2, DRAM wouldn't see it read again
        int l2_bytes = 0;
        CUDA_CHECK(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0));
        rows = std::clamp<int>(2.0 * l2_bytes / (columns * sizeof(float)), kFewestRows, kMostRows);
    }
    const size_t bytes = size_t(rows) * columns * sizeof(float);
    require_gpu(bytes + 3 * kMostRows * sizeof(float));

    const std::vector<float> scores = random_scores(rows, columns);
    std::vector<float> mean(rows);
    const auto device_scores = device_array<float>(scores.size()), device_mean = device_array<float>(rows);
    CUDA_CHECK(cudaMemcpy(device_scores.get(), scores.data(), bytes, cudaMemcpyHostToDevice));

    const auto run = [&](const char* name) {
        const nvtx3::scoped_range range{name};
        soft_argmax(device_scores.get(), device_mean.get(), rows, columns);
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    run("warm-up");
    CUDA_CHECK(cudaMemset(device_mean.get(), 0xFF, rows * sizeof(float)));  // not a number
    for (int i = 0; i < kRuns; ++i) run("softmax");
    CUDA_CHECK(cudaMemcpy(mean.data(), device_mean.get(), rows * sizeof(float), cudaMemcpyDeviceToHost));

    int wrong = 0, shown = 0;
    for (int row = 0; row < rows; ++row) {
        const double expected = expected_mean(&scores[size_t(row) * columns], columns);
        const bool right = std::fabs(mean[row] - expected) <= 1e-5 * columns;  // false if not a number
        if (!right && wrong++ == 0) shown = row;
    }
    std::printf("row %d: expected position %.2f, found %.2f; %d of %d rows wrong\n", shown,
                expected_mean(&scores[size_t(shown) * columns], columns), mean[shown], wrong, rows);
    return wrong == 0 ? 0 : 1;
}
