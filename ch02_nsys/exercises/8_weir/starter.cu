// A river from its spring to a weir, computed step by step in managed memory, which the CPU and the GPU
// share. Before each step the host sets how much water comes, after it the host notes what stands before the
// weir, and how many floods were higher. From time to time there is a new forecast of rain, towns report how
// high the river stands, and a picture of the river is kept.
//
// Symptom: all numbers are right, and a step takes many times as long as expected. Task: find out by nsys
// what costs the time, and repair it.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --cuda-um-cpu-page-faults=true --cuda-um-gpu-page-faults=true
//          --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <cub/block/block_reduce.cuh>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;
constexpr int kWarmUp = 25;       // steps before those that are timed
constexpr float kSpread = 0.25f;  // of the difference to each neighbor, that flows in a step

/// What is done on this river beside its steps: how much of it, and how often.
struct Duties {
    int parts, steps_per_forecast;       ///< parts of the river with a forecast of rain each
    int towns, apart, steps_per_report;  ///< cells from one town to the next
    int points, steps_per_picture;       ///< cells of a picture
    int reach;                           ///< cells before the weir whose water it feels
    int floods;                          ///< that are known from former years

    /// Cells of all pictures in so many steps.
    [[nodiscard]] size_t painted(int steps) const {
        return (static_cast<size_t>(steps - 1) / steps_per_picture + 1) * points;
    }
};

Duties duties_of(std::mt19937& random) {
    const auto power = [&random](int low, int high) { return 1 << (low + random() % (high - low + 1)); };
    return {power(12, 19), power(0, 6), power(0, 5),   power(4, 16), power(0, 6),
            power(10, 17), power(0, 4), power(10, 20), power(8, 22)};
}

__host__ __device__ int cell_of_town(int town, int apart) {
    return town * apart + apart / 2;
}

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
                     int parts, const Settings* settings, int cells) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= cells) return;
    const float here = before[i];
    float change = rain[static_cast<size_t>(i) * parts / cells];
    if (i > 0) change += kSpread * (before[i - 1] - here);
    if (i == 0) change += settings->inflow;
    if (i + 1 < cells) change += kSpread * (before[i + 1] - here);
    if (i + 1 == cells) change -= settings->gate * here;
    after[i] = here + change;
}

/// One block adds up the water before the weir.
__global__ void measure(const float* __restrict__ levels, Gauges* gauges, int cells, Duties duties) {
    using Reduce = cub::BlockReduce<float, kThreads>;
    __shared__ typename Reduce::TempStorage storage;
    float water = 0;
    for (int i = max(cells - duties.reach, 0) + static_cast<int>(threadIdx.x); i < cells; i += kThreads)
        water += levels[i];
    water = Reduce(storage).Sum(water);
    if (threadIdx.x == 0) gauges->at_weir = water;
}

__global__ void paint(const float* levels, int cells, float* picture, int points) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < points) picture[i] = levels[static_cast<size_t>(i) * cells / points];
}

/// The river, and what the host exchanges with it.
class River {
  public:
    River(int cells, int steps, const Duties& duties)
        : cells_(cells),
          duties_(duties),
          before_(managed_array<float>(cells)),
          after_(managed_array<float>(cells)),
          rain_(managed_array<float>(duties.parts)),
          pictures_(managed_array<float>(duties.painted(steps))),
          settings_(managed_array<Settings>(1)),
          gauges_(managed_array<Gauges>(1)) {
        keep_on_host(settings_.get(), sizeof(Settings));
        keep_on_host(gauges_.get(), sizeof(Gauges));
        std::fill_n(before_.get(), cells_, 1.f);
        std::fill_n(after_.get(), cells_, 0.f);
    }

    [[gnu::noinline]] void forecast(int step) {
        for (int i = 0; i < duties_.parts; ++i) rain_[i] = 1e-3f * static_cast<float>((i + step) % 7);
    }

    [[gnu::noinline]] void open_gate(int step) {
        settings_[0] = {0.5f + 0.01f * static_cast<float>(step % 10), 0.125f};
    }

    void step(int step) {
        flow<<<(cells_ + kThreads - 1) / kThreads, kThreads>>>(before_.get(), after_.get(), rain_.get(),
                                                               duties_.parts, settings_.get(), cells_);
        CUDA_CHECK(cudaGetLastError());
        measure<<<1, kThreads>>>(after_.get(), gauges_.get(), cells_, duties_);
        CUDA_CHECK(cudaGetLastError());
        if (step % duties_.steps_per_picture == 0) {
            float* picture = &pictures_[size_t(step / duties_.steps_per_picture) * duties_.points];
            paint<<<(duties_.points + kThreads - 1) / kThreads, kThreads>>>(after_.get(), cells_, picture,
                                                                            duties_.points);
            CUDA_CHECK(cudaGetLastError());
        }
        CUDA_CHECK(cudaDeviceSynchronize());
        std::swap(before_, after_);
    }

    [[nodiscard]] [[gnu::noinline]] float at_weir() const { return gauges_[0].at_weir; }

    [[gnu::noinline]] void at_towns(std::vector<double>& levels) const {
        for (int town = 0; town < duties_.towns; ++town)
            levels.push_back(before_[cell_of_town(town, duties_.apart)]);
    }

    [[nodiscard]] const float* levels() const { return before_.get(); }
    [[nodiscard]] const float* pictures() const { return pictures_.get(); }

  private:
    int cells_;
    Duties duties_;
    std::unique_ptr<float[], DeviceFree> before_, after_, rain_, pictures_;
    std::unique_ptr<Settings[], DeviceFree> settings_;
    std::unique_ptr<Gauges[], DeviceFree> gauges_;
};

/// What is noted in the course of the steps.
struct Log {
    std::vector<double> at_weir, at_towns, pictures;
    std::vector<size_t> higher_floods;
};

void run(River& river, const Duties& duties, const std::vector<float>& floods, int first, int last,
         Log& log) {
    for (int step = first; step < last; ++step) {
        if (step % duties.steps_per_forecast == 0) river.forecast(step);
        river.open_gate(step);
        river.step(step);
        const float now = river.at_weir();
        log.at_weir.push_back(now);
        log.higher_floods.push_back(
            std::count_if(floods.begin(), floods.end(), [now](float flood) { return flood > now; }));
        if (step % duties.steps_per_report == 0) river.at_towns(log.at_towns);
    }
}

/// The same in double precision on the CPU, without floods. `levels` are those at the end.
Log oracle(int cells, int steps, const Duties& duties, std::vector<double>& levels) {
    Log log;
    std::vector<double> after(cells), rain(cells);
    levels.assign(cells, 1);
    for (int step = 0; step < steps; ++step) {
        if (step % duties.steps_per_forecast == 0)
            for (int i = 0; i < cells; ++i)
                rain[i] =
                    1e-3f * static_cast<float>((static_cast<size_t>(i) * duties.parts / cells + step) % 7);
        for (int i = 1; i + 1 < cells; ++i)
            after[i] = levels[i] + kSpread * (levels[i - 1] - 2 * levels[i] + levels[i + 1]) + rain[i];
        after[0] = levels[0] + 0.5f + 0.01f * static_cast<float>(step % 10) +
                   kSpread * (levels[1] - levels[0]) + rain[0];
        after[cells - 1] = levels[cells - 1] * (1 - 0.125) +
                           kSpread * (levels[cells - 2] - levels[cells - 1]) + rain[cells - 1];
        levels.swap(after);
        double water = 0;
        for (int i = std::max(cells - duties.reach, 0); i < cells; ++i) water += levels[i];
        log.at_weir.push_back(water);
        for (int town = 0; town < duties.towns && step % duties.steps_per_report == 0; ++town)
            log.at_towns.push_back(levels[cell_of_town(town, duties.apart)]);
        for (int i = 0; i < duties.points && step % duties.steps_per_picture == 0; ++i)
            log.pictures.push_back(levels[static_cast<size_t>(i) * cells / duties.points]);
    }
    return log;
}

/// How many of `found` are not within a thousandth of what is expected.
template <class T>
size_t wrong_in(const T* found, const std::vector<double>& expected) {
    size_t wrong = 0;
    for (size_t i = 0; i < expected.size(); ++i)
        wrong += !(std::fabs(found[i] - expected[i]) <= 1e-3 * std::fabs(expected[i]));
    return wrong;
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
        options.integer("--cells", 2'097'152, 64, 16'777'216, "cells from the spring to the weir"));
    const int steps = static_cast<int>(options.integer("--steps", 50, 1, 1'000, "steps"));
    const auto seed = static_cast<unsigned>(options.integer("--seed", 153'054, 0, 1'000'000, "of the river"));
    options.done();
    std::mt19937 random(seed);
    Duties duties = duties_of(random);
    duties.apart = std::min(duties.apart, cells / duties.towns);
    const size_t painted = duties.painted(kWarmUp + steps);
    require_gpu(sizeof(float) * (2 * size_t(cells) + duties.parts + painted));
    require_page_faults();

    std::vector<float> floods(duties.floods);
    for (float& flood : floods) flood = static_cast<float>(duties.reach) * (1 + random() * 0x1p-32f);
    River river(cells, kWarmUp + steps, duties);
    Log log;
    {
        nvtx3::scoped_range range{"warm-up"};  // the river comes to the GPU
        run(river, duties, floods, 0, kWarmUp, log);
    }
    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"river"};
        run(river, duties, floods, kWarmUp, kWarmUp + steps, log);
    }
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;

    std::vector<double> levels;
    const Log expected = oracle(cells, kWarmUp + steps, duties, levels);
    std::vector<float> found(cells), pictures(painted);
    CUDA_CHECK(cudaMemcpy(found.data(), river.levels(), cells * sizeof(float), cudaMemcpyDefault));
    CUDA_CHECK(cudaMemcpy(pictures.data(), river.pictures(), painted * sizeof(float), cudaMemcpyDefault));
    size_t wrong = wrong_in(found.data(), levels) + wrong_in(pictures.data(), expected.pictures) +
                   wrong_in(log.at_weir.data(), expected.at_weir) +
                   wrong_in(log.at_towns.data(), expected.at_towns);
    std::sort(floods.begin(), floods.end());
    for (size_t i = 0; i < log.at_weir.size(); ++i)
        wrong += log.higher_floods[i] !=
                 static_cast<size_t>(floods.end() -
                                     std::upper_bound(floods.begin(), floods.end(), log.at_weir[i]));
    std::printf("%d steps of %d cells: %.1f us a step\n", steps, cells, elapsed.count() / steps);
    std::printf("at the weir at last: expected %.3f, found %.3f; at a town: expected %.3f, found %.3f\n",
                expected.at_weir.back(), log.at_weir.back(), expected.at_towns.back(), log.at_towns.back());
    std::printf("expected 0 wrong levels and gauges, found %zu\n", wrong);
    return wrong == 0 ? 0 : 1;
}
