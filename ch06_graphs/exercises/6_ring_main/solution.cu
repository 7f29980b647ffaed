// A ring main of 128 pipes brings water round a town. In a tick the water of each cell moves on by some
// cells, one after the other, and in each it takes on some of the temperature outside; it can't move on
// before all water has moved. Heat meters add up what's lost. One kernel stays for all ticks of an hour, then
// some gauges are read.
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

constexpr int kPipes = 128, kThreads = 256;
constexpr int kMeetings = 4;           // of a cell's water with the temperature outside, per step
constexpr float kExchange = 0.00025f;  // of the difference to the outside, per meeting

// ---- what a town looks like ------------------------------------------------------------------------------

struct Town {
    int speed;        // steps of a tick: the water moves by one cell in each
    int far;          // a pipe that goes by the next town is so many times as long as others
    int surveyed;     // cells of a stretch: stretches were surveyed, and lie in memory, in any order
    int meter_every;  // cells from one heat meter to the next
    int gauges;       // read after each hour
};

Town draw_town(std::mt19937& random) {
    Town town{};
    town.speed = 1 << random() % 4;
    town.far = 1 << random() % 6;
    town.surveyed = 1 << random() % 8;
    town.meter_every = 1 << random() % 12;
    town.gauges = 1 << random() % 6;
    return town;
}

/// Cells have numbers in the order in which water meets them. The arrays of `water` and `outside` are in the
/// order of the survey.
struct Pipes {
    std::vector<int> first;  // cells: where each pipe begins, and how many there are
    std::vector<int> place;  // of each cell in `water` and `outside`
    std::vector<float> water, outside;
    std::vector<int> gauges;  // cells
};

Pipes draw_pipes(const Town& town, std::mt19937& random) {
    Pipes pipes{{0}, {}, {}, {}, {}};
    for (int pipe = 0; pipe < kPipes; ++pipe) {
        int length = 128 + random() % 384;
        if (random() % 128 == 0) length *= town.far;
        pipes.first.push_back(pipes.first.back() + length);
    }
    const int cells = pipes.first.back();
    std::vector<int> stretches;  // by their first cells
    for (int cell = 0; cell < cells; cell += town.surveyed) stretches.push_back(cell);
    for (size_t i = stretches.size(); i > 1; --i) std::swap(stretches[i - 1], stretches[random() % i]);
    pipes.place.resize(cells);
    int next = 0;
    for (const int stretch : stretches)
        for (int cell = stretch; cell < std::min(cells, stretch + town.surveyed); ++cell)
            pipes.place[cell] = next++;
    for (int i = 0; i < cells; ++i) {
        pipes.water.push_back(random() % 10'000 / 100.0f);
        pipes.outside.push_back(random() % 3'000 / 100.0f);
    }
    for (int i = 0; i < town.gauges; ++i) pipes.gauges.push_back(random() % cells);
    return pipes;
}

// ---- the flow --------------------------------------------------------------------------------------------

template <class T>
__host__ __device__ T meet(T came, T outside) {
    for (int i = 0; i < kMeetings; ++i) came += T{kExchange} * (outside - came);
    return came;
}

/// All steps of an hour. Block b computes the cells from first[b] up to first[b + 1].
__global__ void flow(float* water, float* next, const float* outside, double* lost, const int* first,
                     const int* place, int cells, int meter_every, int steps) {
    const auto grid = cooperative_groups::this_grid();
    const int end = first[blockIdx.x + 1];
    for (int step = 0; step < steps; ++step) {
        for (int cell = first[blockIdx.x] + threadIdx.x; cell < end; cell += kThreads) {
            const int here = place[cell], before = place[cell == 0 ? cells - 1 : cell - 1];
            const float came = water[before], goes = meet(came, outside[here]);
            if (cell % meter_every == 0) atomicAdd(lost, double{came - goes});
            next[here] = goes;
        }
        grid.sync();
        float* const done = next;
        next = water;
        water = done;
    }
}

/// The ring on the GPU.
class Ring {
  public:
    Ring(const Town& town, const Pipes& pipes)
        : town_(town),
          cells_(static_cast<int>(pipes.place.size())),
          water_(on_device(pipes.water)),
          next_(on_device(pipes.water)),
          outside_(on_device(pipes.outside)),
          lost_(on_device(std::vector<double>{0})),
          first_(on_device(pipes.first)),
          place_(on_device(pipes.place)) {
        for (const int cell : pipes.gauges) gauges_.push_back(pipes.place[cell]);
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    /// Launches the ticks of an hour, and copies the water at the gauges to the host.
    void run(int ticks, float* readings) {
        float *water = water_.get(), *next = next_.get(), *outside = outside_.get();
        double* lost = lost_.get();
        int *first = first_.get(), *place = place_.get(), steps = ticks * town_.speed;
        void* arguments[] = {&water, &next,   &outside,           &lost, &first,
                             &place, &cells_, &town_.meter_every, &steps};
        CUDA_CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(flow), dim3(kPipes),
                                               dim3(kThreads), arguments, 0, stream_.get()));
        if (steps % 2 != 0) water_.swap(next_);
        for (const int gauge : gauges_)
            CUDA_CHECK(cudaMemcpyAsync(readings++, &water_[gauge], sizeof(float), cudaMemcpyDeviceToHost,
                                       stream_.get()));
        CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
    }

    [[nodiscard]] std::vector<float> water() const {
        std::vector<float> all(cells_);
        CUDA_CHECK(cudaMemcpy(all.data(), water_.get(), cells_ * sizeof(float), cudaMemcpyDeviceToHost));
        return all;
    }

    /// Degrees that the water has lost at all meters.
    [[nodiscard]] double loss() const {
        double sum = 0;
        CUDA_CHECK(cudaMemcpy(&sum, lost_.get(), sizeof sum, cudaMemcpyDeviceToHost));
        return sum;
    }

  private:
    template <class T>
    static std::unique_ptr<T[], DeviceFree> on_device(const std::vector<T>& host) {
        auto device = device_array<T>(host.size());
        CUDA_CHECK(cudaMemcpy(device.get(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
        return device;
    }

    Town town_;
    int cells_;
    std::unique_ptr<float[], DeviceFree> water_, next_, outside_;
    std::unique_ptr<double[], DeviceFree> lost_;
    std::unique_ptr<int[], DeviceFree> first_, place_;
    std::vector<int> gauges_;  // places
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
    const int seed = static_cast<int>(options.integer("--town", 18201, 0, 1'000'000, "the town"));
    const int hours = static_cast<int>(options.integer("--hours", 8, 1, 1000, "hours"));
    const int ticks = static_cast<int>(options.integer("--ticks", 40, 1, 10'000, "ticks in an hour"));
    options.done();
    require_gpu(64 << 20);
    require_room();

    std::mt19937 random(seed);
    const Town town = draw_town(random);
    const Pipes pipes = draw_pipes(town, random);
    const int cells = pipes.first.back();
    {
        Ring dry(town, {std::vector<int>(kPipes + 1), {0}, {0}, {0}, {}});
        dry.run(1, nullptr);  // loads the kernel
        nvtx3::scoped_range range{"dry"};
        dry.run(ticks, nullptr);
    }
    Pipes shares = pipes;
    for (int block = 0; block <= kPipes; ++block)
        shares.first[block] = static_cast<int>(int64_t{cells} * block / kPipes);
    Ring ring(town, shares);
    double elapsed_us = 0;
    std::vector<std::vector<float>> read(hours, std::vector<float>(town.gauges));
    {
        nvtx3::scoped_range range{"day"};
        const auto start = std::chrono::steady_clock::now();
        for (int hour = 0; hour < hours; ++hour) ring.run(ticks, read[hour].data());
        elapsed_us =
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    }
    std::vector<double> expected(cells), next(cells);
    for (int i = 0; i < cells; ++i) expected[i] = pipes.water[pipes.place[i]];
    double expected_loss = 0;
    int wrong_readings = 0, wrong = 0;
    const auto is_wrong = [](double found, double right) { return !(std::fabs(found - right) <= 2e-3); };
    for (int hour = 0; hour < hours; ++hour) {
        for (int step = 0; step < ticks * town.speed; ++step, expected.swap(next))
            for (int i = 0; i < cells; ++i) {
                const double came = expected[i == 0 ? cells - 1 : i - 1];
                next[i] = meet(came, double{pipes.outside[pipes.place[i]]});
                if (i % town.meter_every == 0) expected_loss += came - next[i];
            }
        for (int i = 0; i < town.gauges; ++i)
            wrong_readings += is_wrong(read[hour][i], expected[pipes.gauges[i]]);
    }
    const std::vector<float> found = ring.water();
    for (int i = 0; i < cells; ++i) wrong += is_wrong(found[pipes.place[i]], expected[i]);
    const double loss = ring.loss();
    const bool is_loss_wrong = !(std::fabs(loss - expected_loss) <= 1e-3 * std::fabs(expected_loss));
    std::printf("%d hours of %d ticks: %.2f us a tick\n", hours, ticks, elapsed_us / hours / ticks);
    std::printf("wrong: %d of %d cells, %d of %d readings; lost: %.1f degrees, expected %.1f\n", wrong, cells,
                wrong_readings, hours * town.gauges, loss, expected_loss);
    return wrong + wrong_readings == 0 && !is_loss_wrong ? 0 : 1;
}
