// A ship sounds the sea floor along a line. Each ping is an echo of some hundred samples: it's sharpened and
// leveled on the GPU, its strength is averaged over bands of depth, and the bottom is tracked from ping to
// ping. A line has several legs, which are worked on one after the other.
//
// Right: no ping is read past its end, all of a table is set before it is read, and all warps meet at each
// barrier, of which one is before shared memory is written anew.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    compute-sanitizer --tool memcheck ./solution    (and racecheck, initcheck, synccheck)
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kWarp = 32, kMostWarps = 32, kMostPings = 64;
constexpr int kThreads = 128, kBandThreads = 64;
constexpr int kFade = 64;  // samples over which a ping fades in and out
constexpr int kKeep = 8;   // sixteenths of an average that are kept from leg to leg

// ---- what a line looks like ------------------------------------------------------------------------------

/// Sizes of a line, and how the program is set up for it.
struct Line {
    int pings, samples;  // pings in a leg, samples in a ping
    int stride;          // from ping to ping in memory, in samples
    int level_threads;   // of a block of `level`
    int per_band;        // samples in a band of depth
    int track_warps;     // of the block of `track`

    [[nodiscard]] int bands() const { return (samples + per_band - 1) / per_band; }
};

int round_up(int count, int multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

Line draw_line(std::mt19937& random) {
    Line line{};
    line.pings = 24 + static_cast<int>(random() % 41);
    line.samples = 96 + static_cast<int>(random() % 865);
    line.stride = round_up(line.samples, 4 << random() % 3);
    line.level_threads = 2 * kWarp * (1 + static_cast<int>(random() % 4));
    line.per_band = 12 + static_cast<int>(random() % 37);
    line.track_warps = 2 + static_cast<int>(random() % 7);
    return line;
}

// ---- kernels ---------------------------------------------------------------------------------------------

/// The sum over the threads of a warp, for its lane 0.
__device__ int warp_sum(int number) {
    for (int step = kWarp / 2; step > 0; step /= 2) number += __shfl_down_sync(0xFFFFFFFF, number, step);
    return number;
}

/// Sets off each sample from its two neighbors. A ping has silence on both sides, and fades into it.
__global__ void sharpen(const int* pings, const int* fade, int* sharp, int samples, int stride) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= samples) return;
    const int* const ping = &pings[blockIdx.y * stride];
    const int before = i > 0 ? ping[i - 1] : 0;
    const int after = i + 1 < samples ? ping[i + 1] : 0;
    sharp[blockIdx.y * stride + i] = (2 * ping[i] - before - after) * fade[i];
}

/// Takes a ping's mean from each of its samples. One block per ping.
__global__ void level(int* sharp, int samples, int stride) {
    __shared__ int partial[kMostWarps];
    int* const ping = &sharp[blockIdx.x * stride];
    const int warps = blockDim.x / kWarp;
    int sum = 0;
    for (int begin = 0; begin < samples; begin += blockDim.x) {
        const int i = begin + threadIdx.x, number = warp_sum(i < samples ? ping[i] : 0);
        __syncthreads();  // all have read what was in `partial` before
        if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = number;
        __syncthreads();
        for (int warp = 0; warp < warps; ++warp) sum += partial[warp];
    }
    for (int i = threadIdx.x; i < samples; i += blockDim.x) ping[i] -= sum / samples;
}

/// How strong the echo of a ping is in each band of depth, on average: one block per band.
__global__ void average(const int* levelled, int* averages, int keep, int pings, int samples, int stride,
                        int per_band) {
    __shared__ int partial[kBandThreads / kWarp];
    const int begin = blockIdx.x * per_band, end = min(begin + per_band, samples);
    int own = 0;
    for (int ping = 0; ping < pings; ++ping)
        for (int i = begin + threadIdx.x; i < end; i += kBandThreads) own += abs(levelled[ping * stride + i]);
    const int sum = warp_sum(own);
    if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = sum;
    __syncthreads();
    if (threadIdx.x > 0) return;
    averages[blockIdx.x] = averages[blockIdx.x] * keep / 16 + (partial[0] + partial[1]) / pings;
}

/// The sample of a ping at which the echo is strongest, for lane 0 of a warp.
__device__ int strongest(const int* ping, int samples) {
    int best = INT_MIN;
    for (int i = threadIdx.x % kWarp; i < samples; i += kWarp) best = max(best, ping[i] * 1024 + i);
    for (int step = kWarp / 2; step > 0; step /= 2)
        best = max(best, __shfl_down_sync(0xFFFFFFFF, best, step));
    return best % 1024;
}

/// Where each ping has met the bottom, and how that has changed from the ping before: one warp per ping.
__global__ void track(const int* levelled, int* bottom, int* changes, int pings, int samples, int stride) {
    __shared__ int found[kMostPings];
    const int warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
    for (int first = 0; first < pings; first += warps) {
        const int ping = first + warp;
        const bool leads = ping < pings && threadIdx.x % kWarp == 0;
        const int its = ping < pings ? strongest(&levelled[ping * stride], samples) : 0;
        if (leads) found[ping] = its;
        __syncthreads();
        if (leads) changes[ping] = ping > 0 ? its - found[ping - 1] : 0;
    }
    __syncthreads();
    for (int ping = threadIdx.x; ping < pings; ping += blockDim.x)
        bottom[ping] = (found[max(ping - 1, 0)] + found[ping] + found[min(ping + 1, pings - 1)]) / 3;
}

// ---- the reference ---------------------------------------------------------------------------------------

/// What's asked of a line: averages of bands after the last leg, bottom and change of each ping.
struct Chart {
    std::vector<int> averages, bottom, changes;

    explicit Chart(const Line& line, int legs)
        : averages(line.bands()), bottom(line.pings * legs), changes(line.pings * legs) {}
};

/// The same on the host, one leg after the other.
void chart_leg(const Line& line, const int* pings, const std::vector<int>& fade, int leg, Chart& chart) {
    std::vector<int> sums(line.bands()), found(line.pings), levelled(line.samples);
    for (int p = 0; p < line.pings; ++p) {
        const int* const ping = &pings[(leg * line.pings + p) * line.stride];
        const auto at = [&](int i) { return i >= 0 && i < line.samples ? ping[i] : 0; };
        int sum = 0, best = INT_MIN;
        for (int i = 0; i < line.samples; ++i)
            sum += levelled[i] = (2 * at(i) - at(i - 1) - at(i + 1)) * fade[i];
        for (int i = 0; i < line.samples; ++i) {
            levelled[i] -= sum / line.samples;
            sums[i / line.per_band] += std::abs(levelled[i]);
            best = std::max(best, levelled[i] * 1024 + i);
        }
        found[p] = best % 1024;
    }
    for (int band = 0; band < line.bands(); ++band)
        chart.averages[band] = chart.averages[band] * (leg > 0 ? kKeep : 0) / 16 + sums[band] / line.pings;
    for (int p = 0; p < line.pings; ++p) {
        const int before = found[std::max(p - 1, 0)], behind = found[std::min(p + 1, line.pings - 1)];
        chart.bottom[leg * line.pings + p] = (before + found[p] + behind) / 3;
        chart.changes[leg * line.pings + p] = p > 0 ? found[p] - before : 0;
    }
}

// ---- the survey ------------------------------------------------------------------------------------------

/// Everything that a line needs on the GPU.
class Survey {
  public:
    Survey(const Line& line, int legs, const int* pings, const std::vector<int>& fade)
        : line_(line),
          pings_(device_array<int>(size_t{1} * legs * line.pings * line.stride)),
          sharp_(device_array<int>(size_t{1} * line.pings * line.stride)),
          fade_(device_array<int>(fade.size())),
          averages_(device_array<int>(line.bands())),
          bottom_(device_array<int>(size_t{1} * legs * line.pings)),
          changes_(device_array<int>(size_t{1} * legs * line.pings)) {
        CUDA_CHECK(cudaMemcpy(pings_.get(), pings, sizeof(int) * legs * line.pings * line.stride,
                              cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemcpy(fade_.get(), fade.data(), fade.size() * sizeof(int), cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemset(averages_.get(), 0, line.bands() * sizeof(int)));
    }

    /// Queues all the work for a leg.
    void take(int leg) {
        const int pings = line_.pings, samples = line_.samples, stride = line_.stride;
        const dim3 blocks((samples + kThreads - 1) / kThreads, pings);
        sharpen<<<blocks, kThreads>>>(&pings_[size_t{1} * leg * pings * stride], fade_.get(), sharp_.get(),
                                      samples, stride);
        CUDA_CHECK(cudaGetLastError());
        level<<<pings, line_.level_threads>>>(sharp_.get(), samples, stride);
        CUDA_CHECK(cudaGetLastError());
        average<<<line_.bands(), kBandThreads>>>(sharp_.get(), averages_.get(), leg > 0 ? kKeep : 0, pings,
                                                 samples, stride, line_.per_band);
        CUDA_CHECK(cudaGetLastError());
        track<<<1, line_.track_warps * kWarp>>>(sharp_.get(), &bottom_[size_t{1} * leg * pings],
                                                &changes_[size_t{1} * leg * pings], pings, samples, stride);
        CUDA_CHECK(cudaGetLastError());
    }

    [[nodiscard]] Chart chart(int legs) const {
        Chart chart(line_, legs);
        fetch(chart.averages, averages_.get());
        fetch(chart.bottom, bottom_.get());
        fetch(chart.changes, changes_.get());
        return chart;
    }

  private:
    static void fetch(std::vector<int>& to, const int* from) {
        CUDA_CHECK(cudaMemcpy(to.data(), from, to.size() * sizeof(int), cudaMemcpyDeviceToHost));
    }

    Line line_;
    std::unique_ptr<int[], DeviceFree> pings_, sharp_, fade_, averages_, bottom_, changes_;
};

/// How many numbers differ; prints the first of them.
size_t wrong_in(const char* what, const std::vector<int>& expected, const std::vector<int>& found) {
    size_t wrong = 0;
    for (size_t i = 0; i < expected.size(); ++i)
        if (found[i] != expected[i] && ++wrong == 1)
            std::printf("%s %zu: expected %d, found %d\n", what, i, expected[i], found[i]);
    return wrong;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Sharpens, levels and averages the echoes of a line, and tracks the bottom.");
    const auto seed = static_cast<unsigned>(options.integer("--seed", 31701, 0, 1'000'000, "of the line"));
    const int legs = static_cast<int>(options.integer("--legs", 3, 1, 8, "legs of the line"));
    options.done();
    std::mt19937 random(seed);
    const Line line = draw_line(random);
    require_gpu(size_t{64} << 20);

    std::vector<int> pings(size_t{1} * legs * line.pings * line.stride), fade(line.samples);
    for (int ping = 0; ping < legs * line.pings; ++ping)
        for (int i = 0; i < line.samples; ++i)
            pings[size_t{1} * ping * line.stride + i] = static_cast<int>(random() % 1024);
    for (int i = 0; i < line.samples; ++i) fade[i] = std::min({i, line.samples - 1 - i, kFade});
    Chart expected(line, legs);
    for (int leg = 0; leg < legs; ++leg) chart_leg(line, pings.data(), fade, leg, expected);

    Survey survey(line, legs, pings.data(), fade);
    {
        nvtx3::scoped_range range{"survey"};
        for (int leg = 0; leg < legs; ++leg) survey.take(leg);
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const Chart found = survey.chart(legs);
    std::printf("%d legs of %d pings; a ping has %d samples, %d in memory, and %d bands of %d\n", legs,
                line.pings, line.samples, line.stride, line.bands(), line.per_band);
    const size_t wrong = wrong_in("average", expected.averages, found.averages) +
                         wrong_in("bottom", expected.bottom, found.bottom) +
                         wrong_in("change", expected.changes, found.changes);
    std::printf("wrong numbers: expected 0, found %zu\n", wrong);
    return wrong == 0 ? 0 : 1;
}
