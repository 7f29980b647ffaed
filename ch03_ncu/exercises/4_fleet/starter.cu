// Does the accounts of a fleet of lorries in the evening. Convoys of 32 drive along roads that are given as a
// table: from each place one road leads on, an hour long, and each place takes a toll. What the tolls of the
// coming drive cost today is computed for every lorry; a toll counts for a little less with every hour that
// it lies ahead. Some lorries also keep a log of each hour's fuel, and three numbers are made of each log.
//
// Symptom: the accounts take longer than the evening leaves for them.
// Task: find what costs the time, and repair it. The accounts stay as they are.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    ncu --launch-skip 4 --launch-count 4 --set full --import-source yes -f -o starter ./starter
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kConvoy = 32;  // lorries that drive together: neighbors in the table, lanes of one warp
constexpr int kWeek = 168, kDay = 24;  // hours
constexpr int kLevels = 16;            // of fuel, each 16 units wide
constexpr float kDiscount = 0.98f;     // what a toll counts for when it lies an hour further ahead
constexpr int kSpreadThreads = 256, kBusiestThreads = 64, kUsualThreads = 32, kDriveThreads = 256;  // a block

/// Standard deviation of a week's fuel. The log is [hour][lorry]. The mean is taken off before anything is
/// squared, as sums of squares lose digits.
__global__ void spread(const uint8_t* log, float* deviation, int lorries) {
    const int lorry = blockIdx.x * blockDim.x + threadIdx.x;
    if (lorry >= lorries) return;
    float fuel[kWeek], sum = 0, squares = 0;
#pragma unroll
    for (int hour = 0; hour < kWeek; ++hour) {
        fuel[hour] = log[hour * lorries + lorry];
        sum += fuel[hour];
    }
#pragma unroll
    for (int hour = 0; hour < kWeek; ++hour) {
        const float off = fuel[hour] - sum / kWeek;
        squares += off * off;
    }
    deviation[lorry] = sqrtf(squares / kWeek);
}

/// The most fuel of any 24 hours on end.
__global__ void busiest(const uint8_t* log, int* most, int lorries) {
    __shared__ int fuel[kWeek][kBusiestThreads];
    const int lorry = blockIdx.x * blockDim.x + threadIdx.x;
    if (lorry >= lorries) return;
#pragma unroll 24
    for (int hour = 0; hour < kWeek; ++hour) fuel[hour][threadIdx.x] = log[hour * lorries + lorry];
    int sum = 0, highest = 0;
    for (int hour = 0; hour < kWeek; ++hour) {
        sum += fuel[hour][threadIdx.x];
        if (hour >= kDay) sum -= fuel[hour - kDay][threadIdx.x];
        highest = max(highest, sum);
    }
    most[lorry] = highest;
}

/// The level of fuel that the last day had most often; the lowest of them if there are several.
__global__ void usual(const uint8_t* log, int* level, int lorries) {
    const int lorry = blockIdx.x * blockDim.x + threadIdx.x;
    if (lorry >= lorries) return;
    int hours_at[kLevels] = {};
    for (int hour = kWeek - kDay; hour < kWeek; ++hour) ++hours_at[log[hour * lorries + lorry] / 16];
    int best = 0;
    for (int i = 1; i < kLevels; ++i)
        if (hours_at[i] > hours_at[best]) best = i;
    level[lorry] = best;
}

/// What the tolls of `hours` hours cost today, one thread per lorry. Each place alone knows the next one.
__global__ void drive(const int* next, const float* toll, float* cost, int lorries, int hours) {
    const int lorry = blockIdx.x * blockDim.x + threadIdx.x;
    if (lorry >= lorries) return;
    int at = lorry;
    float sum = 0;
    float tolls[kWeek];
    for (int hour = 0; hour < hours; ++hour) {
        tolls[hour] = toll[at];
        at = next[at];
    }
    for (int hour = hours - 1; hour >= 0; --hour) sum = tolls[hour] + kDiscount * sum;
    cost[lorry] = sum;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Does the accounts of a fleet of lorries in the evening.");
    const int convoys = options.integer("--convoys", 31'251, 1, 200'000, "convoys of 32 lorries");
    const int hours = options.integer("--hours", kWeek, 1, kWeek, "hours of the coming drive");
    options.done();
    const int lorries = convoys * kConvoy, logged = (convoys + 3) / 4 * kConvoy;
    const size_t bytes = lorries * sizeof(float), log_bytes = size_t(logged) * kWeek;
    require_gpu(3 * bytes + log_bytes + 3 * logged * sizeof(int));

    // One road leads from each convoy's places to those of the next, in random order, and back to the first.
    std::mt19937 random(4);
    std::vector<int> order(convoys);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    const auto next = pinned_array<int>(lorries);
    const auto toll = pinned_array<float>(lorries), cost = pinned_array<float>(lorries);
    for (int i = 0; i < convoys; ++i)
        for (int lane = 0; lane < kConvoy; ++lane)
            next[order[i] * kConvoy + lane] = order[(i + 1) % convoys] * kConvoy + lane;
    for (int i = 0; i < lorries; ++i) toll[i] = static_cast<float>(random() >> 8) / (1 << 24);
    // A convoy's lorries need much the same: its hour has a level, and each lorry adds a little.
    const auto log = pinned_array<uint8_t>(log_bytes);
    for (int hour = 0; hour < kWeek; ++hour)
        for (int first = 0; first < logged; first += kConvoy) {
            const int of_all = static_cast<int>(random() % 240);
            for (int lane = 0, bits = static_cast<int>(random()); lane < kConvoy; ++lane, bits >>= 1)
                log[size_t(hour) * logged + first + lane] = static_cast<uint8_t>(of_all + 8 * (bits & 1));
        }
    const auto device_next = device_array<int>(lorries);
    const auto device_toll = device_array<float>(lorries), device_cost = device_array<float>(lorries);
    const auto device_log = device_array<uint8_t>(log_bytes);
    const auto device_deviation = device_array<float>(logged);
    const auto device_most = device_array<int>(logged), device_level = device_array<int>(logged);
    CUDA_CHECK(cudaMemcpy(device_next.get(), next.get(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_toll.get(), toll.get(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_log.get(), log.get(), log_bytes, cudaMemcpyHostToDevice));

    const auto account = [&](const char* name) {
        const nvtx3::scoped_range range{name};
        const auto blocks = [](int threads, int of_block) { return (threads + of_block - 1) / of_block; };
        spread<<<blocks(logged, kSpreadThreads), kSpreadThreads>>>(device_log.get(), device_deviation.get(),
                                                                   logged);
        CUDA_CHECK(cudaGetLastError());
        busiest<<<blocks(logged, kBusiestThreads), kBusiestThreads>>>(device_log.get(), device_most.get(),
                                                                      logged);
        CUDA_CHECK(cudaGetLastError());
        usual<<<blocks(logged, kUsualThreads), kUsualThreads>>>(device_log.get(), device_level.get(), logged);
        CUDA_CHECK(cudaGetLastError());
        drive<<<blocks(lorries, kDriveThreads), kDriveThreads>>>(device_next.get(), device_toll.get(),
                                                                 device_cost.get(), lorries, hours);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    account("warm-up");
    CUDA_CHECK(cudaMemset(device_cost.get(), 0xFF, bytes));  // not a number
    CUDA_CHECK(cudaMemset(device_deviation.get(), 0xFF, logged * sizeof(float)));
    CUDA_CHECK(cudaMemset(device_most.get(), 0xFF, logged * sizeof(int)));
    CUDA_CHECK(cudaMemset(device_level.get(), 0xFF, logged * sizeof(int)));
    account("evening");
    std::vector<float> deviation(logged);
    std::vector<int> most(logged), level(logged);
    CUDA_CHECK(cudaMemcpy(cost.get(), device_cost.get(), bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(
        cudaMemcpy(deviation.data(), device_deviation.get(), logged * sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(most.data(), device_most.get(), logged * sizeof(int), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(level.data(), device_level.get(), logged * sizeof(int), cudaMemcpyDeviceToHost));

    int wrong = 0, shown = 0;
    double shown_expected = 0;
    for (int first = 0; first < lorries; first += kConvoy) {  // a convoy at a time: the CPU has lanes, too
        double expected[kConvoy] = {}, weight = 1;
        int at[kConvoy];
        std::iota(at, at + kConvoy, first);
        for (int hour = 0; hour < hours; ++hour, weight *= kDiscount)
            for (int lane = 0; lane < kConvoy; ++lane) {
                expected[lane] += weight * toll[at[lane]];
                at[lane] = next[at[lane]];
            }
        for (int lane = 0; lane < kConvoy; ++lane) {
            const bool right = std::fabs(cost[first + lane] - expected[lane]) <= 1e-4 * expected[lane];
            if (first + lane == 0 || (!right && wrong == 0))
                shown = first + lane, shown_expected = expected[lane];
            wrong += !right;
        }
    }
    int wrong_logs = 0;
    for (int lorry = 0; lorry < logged; ++lorry) {
        int sum = 0, squares = 0, of_day = 0, highest = 0, hours_at[kLevels] = {};
        for (int hour = 0; hour < kWeek; ++hour) {
            const auto fuel = [&](int of_hour) { return int{log[size_t(of_hour) * logged + lorry]}; };
            sum += fuel(hour);
            squares += fuel(hour) * fuel(hour);
            of_day += fuel(hour) - (hour >= kDay ? fuel(hour - kDay) : 0);
            highest = std::max(highest, of_day);
            if (hour >= kWeek - kDay) ++hours_at[fuel(hour) / 16];
        }
        const double expected = std::sqrt((squares - double(sum) * sum / kWeek) / kWeek);
        const auto usual_level = std::max_element(hours_at, hours_at + kLevels) - hours_at;
        wrong_logs += !(std::fabs(deviation[lorry] - expected) <= 1e-3) || most[lorry] != highest ||
                      level[lorry] != usual_level;
    }
    std::printf("lorry %d: expected %.5f, found %.5f; %d of %d costs and %d of %d logs wrong\n", shown,
                shown_expected, cost[shown], wrong, lorries, wrong_logs, logged);
    return wrong == 0 && wrong_logs == 0 ? 0 : 1;
}
