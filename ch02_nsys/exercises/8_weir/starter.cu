// A river from its spring to a weir, computed step by step in managed memory, which the CPU and the GPU
// share. Before each step the host sets how much water comes, after it the host notes what stands before the
// weir, and how high the river stands at the town. Every 25 steps there is a new forecast of rain.
//
// Symptom: a step takes several times as long as its two kernels need. Task: find out by nsys what costs the
// time, and save it.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --cuda-um-cpu-page-faults=true --cuda-um-gpu-page-faults=true -o
// starter ./starter
#include <cub/block/block_reduce.cuh>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;
constexpr int kWarmUp = 25;        // steps before those that are timed
constexpr int kReach = 1024;       // cells before the weir whose water it feels
constexpr int kForecasts = 16384;  // parts of the river with a forecast of rain each
constexpr float kSpread = 0.25f;   // of the difference to each neighbor, that flows in a step

/// What the host sets before a step.
struct Settings {
    float inflow;  ///< water that comes from the spring
    float gate;    ///< share of the last cell that goes over the weir
};

/// What a step tells the host.
struct Gauges {
    float at_weir;
};

/// `count` elements that both the CPU and the GPU may touch.
template <class T>
std::unique_ptr<T[], DeviceFree> managed_array(size_t count) {
    void* p = nullptr;
    CUDA_CHECK(cudaMallocManaged(&p, count * sizeof(T)));
    return std::unique_ptr<T[], DeviceFree>(static_cast<T*>(p));
}

#if CUDART_VERSION >= 13000
const cudaMemLocation kHost{cudaMemLocationTypeHost, 0}, kGpu{cudaMemLocationTypeDevice, 0};
#else
constexpr int kHost = cudaCpuDeviceId, kGpu = 0;
#endif

/// Leaves managed memory in the host's, where the GPU reads and writes it over PCIe.
void keep_on_host(void* p, size_t bytes) {
    CUDA_CHECK(cudaMemAdvise(p, bytes, cudaMemAdviseSetPreferredLocation, kHost));
    CUDA_CHECK(cudaMemAdvise(p, bytes, cudaMemAdviseSetAccessedBy, kGpu));
}

__global__ void flow(const float* __restrict__ before, float* __restrict__ after, const float* rain,
                     const Settings* settings, int cells) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= cells) return;
    const float here = before[i];
    float change = rain[static_cast<size_t>(i) * kForecasts / cells];
    if (i > 0) change += kSpread * (before[i - 1] - here);
    if (i == 0) change += settings->inflow;
    if (i + 1 < cells) change += kSpread * (before[i + 1] - here);
    if (i + 1 == cells) change -= settings->gate * here;
    after[i] = here + change;
}

/// One block adds up the water before the weir.
__global__ void measure(const float* __restrict__ levels, Gauges* gauges, int cells) {
    using Reduce = cub::BlockReduce<float, kThreads>;
    __shared__ typename Reduce::TempStorage storage;
    float water = 0;
    for (int i = max(cells - kReach, 0) + static_cast<int>(threadIdx.x); i < cells; i += kThreads)
        water += levels[i];
    water = Reduce(storage).Sum(water);
    if (threadIdx.x == 0) gauges->at_weir = water;
}

/// The river, and what the host exchanges with it.
class River {
  public:
    explicit River(int cells)
        : cells_(cells),
          before_(managed_array<float>(cells)),
          after_(managed_array<float>(cells)),
          rain_(managed_array<float>(kForecasts)),
          settings_(managed_array<Settings>(1)),
          gauges_(managed_array<Gauges>(1)) {
        keep_on_host(settings_.get(), sizeof(Settings));
        std::fill_n(before_.get(), cells_, 1.f);
        std::fill_n(after_.get(), cells_, 0.f);
    }

    [[gnu::noinline]] void forecast(int step) {
        for (int i = 0; i < kForecasts; ++i) rain_[i] = 1e-3f * static_cast<float>((i + step) % 7);
    }

    [[gnu::noinline]] void open_gate(int step) {
        settings_[0] = {0.5f + 0.01f * static_cast<float>(step % 10), 0.125f};
    }

    void step() {
        flow<<<(cells_ + kThreads - 1) / kThreads, kThreads>>>(before_.get(), after_.get(), rain_.get(),
                                                               settings_.get(), cells_);
        CUDA_CHECK(cudaGetLastError());
        measure<<<1, kThreads>>>(after_.get(), gauges_.get(), cells_);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
        std::swap(before_, after_);
    }

    [[nodiscard]] [[gnu::noinline]] float at_weir() const { return gauges_[0].at_weir; }

    [[nodiscard]] [[gnu::noinline]] float at_town() const { return before_[town()]; }

    [[nodiscard]] int town() const { return cells_ / 3; }

    [[nodiscard]] const float* levels() const { return before_.get(); }

  private:
    int cells_;
    std::unique_ptr<float[], DeviceFree> before_, after_, rain_;
    std::unique_ptr<Settings[], DeviceFree> settings_;
    std::unique_ptr<Gauges[], DeviceFree> gauges_;
};

/// What the host has noted, step by step.
struct Log {
    std::vector<double> at_weir, at_town;
};

void run(River& river, int first, int last, Log& log) {
    for (int step = first; step < last; ++step) {
        if (step % 25 == 0) river.forecast(step);
        river.open_gate(step);
        river.step();
        log.at_weir.push_back(river.at_weir());
        log.at_town.push_back(river.at_town());
    }
}

/// The same in double precision on the CPU. `levels` are those at the end.
Log oracle(int cells, int steps, std::vector<double>& levels) {
    Log log;
    std::vector<double> after(cells), rain(cells);
    levels.assign(cells, 1);
    for (int step = 0; step < steps; ++step) {
        if (step % 25 == 0)
            for (int i = 0; i < cells; ++i)
                rain[i] =
                    1e-3f * static_cast<float>((static_cast<size_t>(i) * kForecasts / cells + step) % 7);
        for (int i = 1; i + 1 < cells; ++i)
            after[i] = levels[i] + kSpread * (levels[i - 1] - 2 * levels[i] + levels[i + 1]) + rain[i];
        after[0] = levels[0] + 0.5f + 0.01f * static_cast<float>(step % 10) +
                   kSpread * (levels[1] - levels[0]) + rain[0];
        after[cells - 1] = levels[cells - 1] * (1 - 0.125) +
                           kSpread * (levels[cells - 2] - levels[cells - 1]) + rain[cells - 1];
        levels.swap(after);
        double water = 0;
        for (int i = std::max(cells - kReach, 0); i < cells; ++i) water += levels[i];
        log.at_weir.push_back(water);
        log.at_town.push_back(levels[cells / 3]);
    }
    return log;
}

/// Ends the program with 77 where managed memory doesn't move by page faults, page by page.
void require_page_faults() {
    int concurrent = 0, shared_tables = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
    CUDA_CHECK(cudaDeviceGetAttribute(&shared_tables, cudaDevAttrPageableMemoryAccessUsesHostPageTables, 0));
    if (concurrent && !shared_tables) return;
    std::fprintf(stderr, "no suitable GPU: managed memory does not move by page faults here\n");
    std::exit(77);
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Computes a river step by step and notes what its gauges say.");
    const int cells = static_cast<int>(
        options.integer("--cells", 2'097'152, 3, 16'777'216, "cells from the spring to the weir"));
    const int steps = static_cast<int>(options.integer("--steps", 100, 1, 10'000, "steps"));
    options.done();
    require_gpu(3 * sizeof(float) * cells);
    require_page_faults();

    River river(cells);
    Log log;
    {
        nvtx3::scoped_range range{"warm-up"};  // the river comes to the GPU
        run(river, 0, kWarmUp, log);
    }
    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"river"};
        run(river, kWarmUp, kWarmUp + steps, log);
    }
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;

    std::vector<double> levels;
    const Log expected = oracle(cells, kWarmUp + steps, levels);
    std::vector<float> found(cells);
    CUDA_CHECK(cudaMemcpy(found.data(), river.levels(), cells * sizeof(float), cudaMemcpyDefault));
    size_t wrong = 0;
    for (int i = 0; i < cells; ++i)
        wrong += !(std::fabs(found[i] - levels[i]) <= 1e-3 * std::fabs(levels[i]));
    for (size_t i = 0; i < expected.at_town.size(); ++i) {
        wrong += !(std::fabs(log.at_weir[i] - expected.at_weir[i]) <= 1e-3 * expected.at_weir[i]);
        wrong += !(std::fabs(log.at_town[i] - expected.at_town[i]) <= 1e-3 * expected.at_town[i]);
    }
    std::printf("%d steps of %d cells: %.1f us a step\n", steps, cells, elapsed.count() / steps);
    std::printf("at the weir at last: expected %.3f, found %.3f; at the town: expected %.3f, found %.3f\n",
                expected.at_weir.back(), log.at_weir.back(), expected.at_town.back(), log.at_town.back());
    std::printf("expected 0 wrong levels and gauges, found %zu\n", wrong);
    return wrong == 0 ? 0 : 1;
}
