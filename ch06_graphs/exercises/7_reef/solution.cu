// A day on a reef, hour by hour. The reef has eight patches, which are independent within an hour:
// each grows and spreads in a few rounds, more of them at one tide than at another. The light of each hour
// comes from the host, and the hour's totals go back to it.
//
// Right on every day: each tide has a graph that is kept, which holds all patches side by side, and the host
// is hours ahead of the GPU.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node -f true
//              -o solution ./solution
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <random>
#include <vector>

#include "common/graph_compat.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kPatches = 8, kThreads = 256;
constexpr int kLight = 16'384;         // values of light in an hour
constexpr int kGrowth = 16'384;        // steps of a cell in a round
constexpr int kFewest = 2, kMost = 5;  // rounds of a patch per hour

using Totals = std::array<unsigned, kPatches>;

// ---- what a day looks like -------------------------------------------------------------------------------

/// Rounds of each patch, and how the program is set up.
struct Day {
    std::vector<std::array<int, kPatches>> tides;  // what a patch has to do at each tide
    int span;                                      // hours until the tide is another
    int scratch_cells;                             // room for patches that are at work
    int deepest;                                   // rounds of a patch that is worth a place in a graph
    int slots;                                     // hours that the host may have given away

    [[nodiscard]] int tide_of(int hour) const { return hour / span % static_cast<int>(tides.size()); }
};

Day draw_day(std::mt19937& random, int cells) {
    Day day;
    day.tides.resize(2 + random() % 2);
    for (auto& rounds : day.tides)
        for (int& of_patch : rounds) of_patch = kFewest + random() % (kMost - kFewest + 1);
    day.span = 1 + random() % 12;
    day.scratch_cells = cells * (1 + random() % 12);
    day.deepest = 1 + random() % 8;
    day.slots = 1 + random() % 8;
    return day;
}

// ---- kernels ---------------------------------------------------------------------------------------------

/// What becomes of a cell, in its own time.
__global__ void grow(const unsigned* cells, int count, unsigned food, const unsigned* light,
                     unsigned* grown) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= count) return;
    unsigned x = cells[i];
    const unsigned add = light[i % kLight];
    for (int step = 0; step < kGrowth; ++step) x = food * x + add;
    grown[i] = x;
}

/// Takes on some of the next cell, in a ring.
__global__ void spread(const unsigned* grown, int count, unsigned* cells) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) cells[i] = grown[i] + (grown[i + 1 < count ? i + 1 : 0] >> 3);
}

/// How much of an hour's light reaches the ground.
__global__ void shade(unsigned* light, unsigned hour) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < kLight) light[i] = (light[i] >> 1) + hour;
}

/// A block for each patch.
__global__ void count_up(const unsigned* cells, int count, unsigned* totals) {
    __shared__ unsigned sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    unsigned own = 0;
    for (int i = threadIdx.x; i < count; i += kThreads) own += cells[blockIdx.x * count + i];
    atomicAdd(&sum, own);
    __syncthreads();
    if (threadIdx.x == 0) totals[blockIdx.x] = sum;
}

// ---- the oracle ------------------------------------------------------------------------------------------

void light_of(unsigned seed, int hour, unsigned* light) {
    std::mt19937 random(seed + 1000 * hour);
    for (int i = 0; i < kLight; ++i) light[i] = static_cast<unsigned>(random());
}

/// An hour of a patch on the host; all steps of `grow` are one, by squaring.
void expected_hour(std::vector<unsigned>& cells, int rounds, unsigned food,
                   const std::vector<unsigned>& light) {
    unsigned factor = 1, steps = 0, power = food, sum = 1;
    for (int left = kGrowth; left > 0; left /= 2) {
        if (left % 2) steps = steps * power + sum, factor *= power;
        sum += sum * power, power *= power;
    }
    std::vector<unsigned> grown(cells.size());
    for (int round = 0; round < rounds; ++round) {
        for (size_t i = 0; i < cells.size(); ++i) grown[i] = factor * cells[i] + steps * light[i % kLight];
        for (size_t i = 0; i < cells.size(); ++i) cells[i] = grown[i] + (grown[(i + 1) % cells.size()] >> 3);
    }
}

// ---- the reef on the GPU ---------------------------------------------------------------------------------

/// A stream with scratch for one patch at a time.
struct Lane {
    Stream stream = make_stream(cudaStreamNonBlocking);
    std::unique_ptr<unsigned[], DeviceFree> grown;
};

/// What goes to the GPU for an hour, and what comes back.
struct Slot {
    std::unique_ptr<unsigned[], PinnedFree> light = pinned_array<unsigned>(kLight),
                                            totals = pinned_array<unsigned>(kPatches);
    Event done = make_event(cudaEventDisableTiming);
    int hour = -1;  // that it was given away for
};

class Reef {
  public:
    Reef(const Day& day, int count, const std::vector<unsigned>& cells, const std::vector<unsigned>& food)
        : day_(day),
          count_(count),
          food_(food),
          cells_(device_array<unsigned>(cells.size())),
          light_(device_array<unsigned>(kLight)),
          totals_(device_array<unsigned>(kPatches)),
          lanes_(kPatches),
          slots_(std::max(day.slots, 8)),
          graphs_(day.tides.size()) {
        for (Lane& lane : lanes_) lane.grown = device_array<unsigned>(count);
        CUDA_CHECK(
            cudaMemcpy(cells_.get(), cells.data(), cells.size() * sizeof(unsigned), cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaDeviceSynchronize());  // the copy isn't in these streams
    }

    /// Queues an hour; its totals are in `log` once `finish` has been called.
    void pass(int hour, unsigned seed, std::vector<Totals>& log) {
        const cudaStream_t stream = stream_.get();
        Slot& slot = slots_[next_++ % slots_.size()];
        take_back(slot, log);
        light_of(seed, hour, slot.light.get());
        CUDA_CHECK(cudaMemcpyAsync(light_.get(), slot.light.get(), kLight * sizeof(unsigned),
                                   cudaMemcpyHostToDevice, stream));
        shade<<<(kLight + kThreads - 1) / kThreads, kThreads, 0, stream>>>(light_.get(), hour);
        CUDA_CHECK(cudaGetLastError());
        const int tide = day_.tide_of(hour);
        CUDA_CHECK(cudaGraphLaunch(graph_of(tide), stream));
        CUDA_CHECK(cudaMemcpyAsync(slot.totals.get(), totals_.get(), kPatches * sizeof(unsigned),
                                   cudaMemcpyDeviceToHost, stream));
        CUDA_CHECK(cudaEventRecord(slot.done.get(), stream));
        slot.hour = hour;
    }

    void finish(std::vector<Totals>& log) {
        CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
        for (Slot& slot : slots_) take_back(slot, log);
    }

  private:
    /// Writes down the totals of the hour that the slot was given away for, if there is one.
    static void take_back(Slot& slot, std::vector<Totals>& log) {
        if (slot.hour < 0) return;
        CUDA_CHECK(cudaEventSynchronize(slot.done.get()));
        std::copy_n(slot.totals.get(), kPatches, log[slot.hour].begin());
        slot.hour = -1;
    }

    /// All rounds of a patch, in one stream.
    void queue(int patch, int tide, cudaStream_t stream, unsigned* grown) {
        unsigned* const cells = &cells_[size_t{1} * patch * count_];
        const int blocks = (count_ + kThreads - 1) / kThreads;
        for (int round = 0; round < day_.tides[tide][patch]; ++round) {
            grow<<<blocks, kThreads, 0, stream>>>(cells, count_, food_[patch], light_.get(), grown);
            CUDA_CHECK(cudaGetLastError());
            spread<<<blocks, kThreads, 0, stream>>>(grown, count_, cells);
            CUDA_CHECK(cudaGetLastError());
        }
    }

    /// Records the patches side by side, as far as there are lanes, and what is to be done behind them.
    Graph record(int tide) {
        const cudaStream_t stream = stream_.get();
        cudaGraph_t graph = nullptr;
        CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        CUDA_CHECK(cudaEventRecord(event_.get(), stream));
        for (const Lane& lane : lanes_) CUDA_CHECK(cudaStreamWaitEvent(lane.stream.get(), event_.get()));
        for (int patch = 0; patch < kPatches; ++patch) {
            const Lane& lane = lanes_[patch % lanes_.size()];
            queue(patch, tide, lane.stream.get(), lane.grown.get());
        }
        for (const Lane& lane : lanes_) {
            CUDA_CHECK(cudaEventRecord(event_.get(), lane.stream.get()));
            CUDA_CHECK(cudaStreamWaitEvent(stream, event_.get()));
        }
        count_up<<<kPatches, kThreads, 0, stream>>>(cells_.get(), count_, totals_.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
        return Graph(graph);
    }

    /// The graph of a tide is made when the tide comes for the first time.
    cudaGraphExec_t graph_of(int tide) {
        if (!graphs_[tide]) graphs_[tide] = instantiate(record(tide));
        return graphs_[tide].get();
    }

    const Day& day_;
    int count_;  // cells per patch
    const std::vector<unsigned>& food_;
    std::unique_ptr<unsigned[], DeviceFree> cells_, light_, totals_;
    std::vector<Lane> lanes_;
    std::vector<Slot> slots_;
    std::vector<GraphExec> graphs_;
    size_t next_ = 0;
    Stream stream_ = make_stream(cudaStreamNonBlocking);
    Event event_ = make_event(cudaEventDisableTiming);
};

int main(int argc, char** argv) {
    Options options(argc, argv, "Lets the patches of a reef grow for a day, hour by hour.");
    const auto seed = static_cast<unsigned>(options.integer("--seed", 1056, 0, 1'000'000, "of the day"));
    const int hours = options.integer("--hours", 24, 1, 1000, "of the day");
    const int count = options.integer("--cells", 2003, 1, 100'000, "cells of a patch");
    options.done();
    const size_t all = size_t{kPatches} * count;
    require_gpu(3 * all * sizeof(unsigned) + (64 << 20));

    std::mt19937 random(seed);
    const Day day = draw_day(random, count);
    std::vector<unsigned> cells(all), food(kPatches);
    for (unsigned& cell : cells) cell = static_cast<unsigned>(random());
    for (unsigned& of_patch : food) of_patch = static_cast<unsigned>(random()) | 1;

    // The hour before the day is the first one's twin.
    std::vector<Totals> log(hours + 1);
    Reef reef(day, count, cells, food);
    {
        nvtx3::scoped_range range{"warm-up"};
        reef.pass(0, seed, log);
        reef.finish(log);
    }
    const Totals before = log[0];
    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"day"};
        for (int hour = 0; hour < hours; ++hour) reef.pass(hour, seed, log);
        reef.finish(log);
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    std::vector<std::vector<unsigned>> patches;
    for (int patch = 0; patch < kPatches; ++patch)
        patches.emplace_back(cells.begin() + size_t{1} * patch * count,
                             cells.begin() + size_t{1} * (patch + 1) * count);
    int wrong = 0;
    for (int hour = -1; hour < hours; ++hour) {
        const int now = std::max(hour, 0);
        std::vector<unsigned> light(kLight);
        light_of(seed, now, light.data());
        for (unsigned& value : light) value = (value >> 1) + now;
        for (int patch = 0; patch < kPatches; ++patch) {
            expected_hour(patches[patch], day.tides[day.tide_of(now)][patch], food[patch], light);
            unsigned expected = 0;
            for (const unsigned cell : patches[patch]) expected += cell;
            const unsigned found = hour < 0 ? before[patch] : log[hour][patch];
            if (found != expected && ++wrong == 1)
                std::printf("hour %d, patch %d: expected %u, found %u\n", hour, patch, expected, found);
        }
    }
    std::printf("%d hours of %d patches: %.2f ms\n", hours, kPatches, elapsed.count());
    std::printf("wrong totals: expected 0, found %d of %d\n", wrong, (hours + 1) * kPatches);
    return wrong == 0 ? 0 : 1;
}
