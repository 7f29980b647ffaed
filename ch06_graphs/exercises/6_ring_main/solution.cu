// A ring main of 128 pipes brings water round a town. In a tick the water of each cell moves on to the next
// and takes on some of the temperature outside; no tick can begin before all cells are done with the one
// before. One kernel stays for all ticks of an hour, then some gauges are read.
//
// Right: every block computes as many cells as any other, wherever pipes begin.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <cooperative_groups.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kPipes = 128, kThreads = 256, kGauges = 16;
constexpr int kMeetings = 4;           // of a cell's water with the temperature outside, per tick
constexpr float kExchange = 0.00025f;  // of the difference to the outside, per meeting

template <class T>
__host__ __device__ T meet(T came, T outside) {
    for (int i = 0; i < kMeetings; ++i) came += T{kExchange} * (outside - came);
    return came;
}

/// All ticks of an hour. Block b computes the cells from first[b] up to first[b + 1].
__global__ void flow(float* water, float* next, const float* outside, const int* first, int cells,
                     int ticks) {
    const auto grid = cooperative_groups::this_grid();
    const int end = first[blockIdx.x + 1];
    for (int tick = 0; tick < ticks; ++tick) {
        for (int cell = first[blockIdx.x] + threadIdx.x; cell < end; cell += kThreads)
            next[cell] = meet(water[cell == 0 ? cells - 1 : cell - 1], outside[cell]);
        grid.sync();
        float* const done = next;
        next = water;
        water = done;
    }
}

/// Where each pipe begins, in cells, and how many cells there are.
std::vector<int> draw_pipes(std::mt19937& random) {
    std::vector<int> first{0};
    for (int pipe = 0; pipe < kPipes; ++pipe) {
        int length = 128 + random() % 384;
        if (random() % 64 == 0) length *= 1 + random() % 32;  // to the next town
        first.push_back(first.back() + length);
    }
    return first;
}

/// The ring on the GPU.
class Ring {
  public:
    Ring(const std::vector<int>& first, const std::vector<float>& water, const std::vector<float>& outside)
        : cells_(static_cast<int>(water.size())),
          water_(device_array<float>(cells_)),
          next_(device_array<float>(cells_)),
          outside_(device_array<float>(cells_)),
          first_(device_array<int>(first.size())) {
        copy(water_.get(), water);
        copy(next_.get(), water);
        copy(outside_.get(), outside);
        copy(first_.get(), first);
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    /// Launches the ticks of an hour, and copies the gauges in the first cells to the host.
    void run(int ticks, float* gauges) {
        float *water = water_.get(), *next = next_.get(), *outside = outside_.get();
        int* first = first_.get();
        void* arguments[] = {&water, &next, &outside, &first, &cells_, &ticks};
        CUDA_CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(flow), dim3(kPipes),
                                               dim3(kThreads), arguments, 0, stream_.get()));
        if (ticks % 2 != 0) water_.swap(next_);
        CUDA_CHECK(cudaMemcpyAsync(gauges, water_.get(), std::min(kGauges, cells_) * sizeof(float),
                                   cudaMemcpyDeviceToHost, stream_.get()));
        CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
    }

    [[nodiscard]] std::vector<float> water() const {
        std::vector<float> all(cells_);
        CUDA_CHECK(cudaMemcpy(all.data(), water_.get(), cells_ * sizeof(float), cudaMemcpyDeviceToHost));
        return all;
    }

  private:
    template <class T>
    static void copy(T* to, const std::vector<T>& from) {
        CUDA_CHECK(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    }

    int cells_;
    std::unique_ptr<float[], DeviceFree> water_, next_, outside_;
    std::unique_ptr<int[], DeviceFree> first_;
    Stream stream_ = make_stream(cudaStreamNonBlocking);
};

/// Ends the program unless all blocks are resident at once: only then can they wait for each other.
void require_room() {
    int cooperative = 0, multiprocessors = 0, on_each = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
    CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&on_each, flow, kThreads, 0));
    if (cooperative && on_each * multiprocessors >= kPipes) return;
    std::fprintf(stderr, "no suitable GPU: %d blocks of %d threads would have to be resident at once\n",
                 kPipes, kThreads);
    std::exit(77);
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Lets water flow round a ring main for some hours.");
    const int hours = static_cast<int>(options.integer("--hours", 8, 1, 1000, "hours"));
    const int ticks = static_cast<int>(options.integer("--ticks", 40, 1, 10'000, "ticks in an hour"));
    options.done();
    require_gpu(64 << 20);
    require_room();

    std::mt19937 random(42);
    const std::vector<int> first = draw_pipes(random);
    const int cells = first.back();
    std::vector<float> water(cells), outside(cells);
    for (int i = 0; i < cells; ++i)
        water[i] = random() % 10'000 / 100.0f, outside[i] = random() % 3'000 / 100.0f;

    float gauges[kGauges];
    {
        Ring dry(std::vector<int>(kPipes + 1), {0}, {0});
        dry.run(1, gauges);  // loads the kernel
        nvtx3::scoped_range range{"dry"};
        dry.run(ticks, gauges);
    }
    std::vector<int> share;
    for (int block = 0; block <= kPipes; ++block)
        share.push_back(static_cast<int>(int64_t{cells} * block / kPipes));
    Ring ring(share, water, outside);
    std::vector<double> expected(water.begin(), water.end()), next(cells);
    double elapsed_us = 0;
    int wrong_gauges = 0, wrong = 0;
    std::vector<std::vector<float>> read(hours, std::vector<float>(kGauges));
    {
        nvtx3::scoped_range range{"day"};
        const auto start = std::chrono::steady_clock::now();
        for (int hour = 0; hour < hours; ++hour) ring.run(ticks, read[hour].data());
        elapsed_us =
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    }
    const auto is_wrong = [](double found, double right) { return !(std::fabs(found - right) <= 2e-3); };
    for (int hour = 0; hour < hours; ++hour) {
        for (int tick = 0; tick < ticks; ++tick, expected.swap(next))
            for (int i = 0; i < cells; ++i)
                next[i] = meet(expected[i == 0 ? cells - 1 : i - 1], double{outside[i]});
        for (int i = 0; i < kGauges; ++i) wrong_gauges += is_wrong(read[hour][i], expected[i]);
    }
    const std::vector<float> found = ring.water();
    for (int i = 0; i < cells; ++i) wrong += is_wrong(found[i], expected[i]);
    std::printf("%d hours of %d ticks: %.2f us a tick\n", hours, ticks, elapsed_us / hours / ticks);
    std::printf("wrong: %d of %d cells, %d of %d readings\n", wrong, cells, wrong_gauges, hours * kGauges);
    return wrong + wrong_gauges == 0 ? 0 : 1;
}
