// Reports on five tide gauges, with functions from a library that it opens at run time. Both are in this
// file: with BUILD_LIBRARY defined it's the library, else the program. A gauge's record is smoothed as a
// whole, its last third is smoothed once more, with another filter, and the record is thinned out for the
// archive. Up an estuary the tide comes later, and so the last third begins later. The first samples of a new
// sensor aren't archived.
//
// Right: the late tide of a gauge is as long as what its record has left from there on.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. -Xcompiler=-rdynamic solution.cu -o solution
//          nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. -Xcompiler=-fPIC -shared -DBUILD_LIBRARY
//               solution.cu -o solution.so    (both in this folder)
// look:    compute-sanitizer --tool memcheck ./solution
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

/// Weight k of a filter, counted from 0: they rise to the middle and fall again.
inline int weight_of(int k, int width) {
    return std::min(k + 1, width - k);
}

/// What the library offers under these names. Number i of `smoothed` becomes the weighted sum of the samples
/// i to i + width - 1. `smooth` reads the `given` samples and writes given - width + 1 numbers.
extern "C" cudaError_t smooth(const int* samples, int given, int* smoothed, int width);

/// Number i of `thinned` becomes the largest of the samples i * every to (i + 1) * every - 1. `thin` reads
/// the `given` samples; the last number is of as many as are left.
extern "C" cudaError_t thin(const int* samples, int given, int* thinned, int every);

inline int round_up(int count, int multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

#ifdef BUILD_LIBRARY

constexpr int kThreads = 128, kMostWidth = 12, kMostEvery = 10;

struct Weights {
    int of[kMostWidth];
};

__global__ void weigh(const int* samples, int count, int* smoothed, const __grid_constant__ Weights weights,
                      int steps) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= count) return;
    int sum = 0;
    for (int k = 0; k < steps; ++k) sum += weights.of[k] * samples[i + k];
    smoothed[i] = sum;
}

/// A thread makes a number. First its block fetches the samples of all its groups, side by side.
__global__ void pick(const int* samples, int given, int* thinned, int every) {
    __shared__ int fetched[kThreads * kMostEvery];
    const int first = blockIdx.x * kThreads, groups = min(kThreads, (given + every - 1) / every - first);
    for (int k = threadIdx.x; k < groups * every; k += kThreads) fetched[k] = samples[first * every + k];
    __syncthreads();
    const int group = threadIdx.x;
    if (group >= groups) return;
    int largest = 0;
    for (int k = 0; k < min(every, given - (first + group) * every); ++k)
        largest = max(largest, fetched[group * every + k]);
    thinned[first + group] = largest;
}

cudaError_t smooth(const int* samples, int given, int* smoothed, int width) {
    Weights weights{};
    for (int k = 0; k < width; ++k) weights.of[k] = weight_of(k, width);
    const int count = given - width + 1, steps = round_up(width, 4);  // rolls out well
    weigh<<<(count + kThreads - 1) / kThreads, kThreads>>>(samples, count, smoothed, weights, steps);
    return cudaGetLastError();  // of the library's own CUDA runtime, which the program's does not know of
}

cudaError_t thin(const int* samples, int given, int* thinned, int every) {
    const int count = (given + every - 1) / every;
    pick<<<(count + kThreads - 1) / kThreads, kThreads>>>(samples, given, thinned, every);
    return cudaGetLastError();
}

#else

constexpr int kGauges = 5, kLine = 16;  // gauges; numbers are kept in whole lines of so many
constexpr int kLongest = 16;            // the longest lag, and the longest settling, in samples

struct Library {
    decltype(&::smooth) smooth;
    decltype(&::thin) thin;
};

/// The library's functions, from the file that is called like this program with ".so" after it. The library
/// stays open for as long as the program runs.
Library open_library() {
    const std::string path = std::filesystem::read_symlink("/proc/self/exe").string() + ".so";
    void* const file = dlopen(path.c_str(), RTLD_NOW);
    const auto function = [&](const char* name) {
        void* const found = file ? dlsym(file, name) : nullptr;
        if (found) return found;
        std::fprintf(stderr, "the library is missing: %s. This file's first lines say how to build it.\n",
                     dlerror());
        std::exit(1);
    };
    return {reinterpret_cast<decltype(&smooth)>(function("smooth")),
            reinterpret_cast<decltype(&thin)>(function("thin"))};
}

/// What a day's gauges are like: one in so many, on average.
struct Day {
    unsigned up_estuaries, with_new_sensors;
};

Day day_of(std::mt19937& random) {
    const auto average = [&random] { return 2U << random() % 3; };
    return {average(), average()};
}

/// A gauge: its record, on the host and on the GPU, and what is made of it.
struct Gauge {
    int given, width, late_width, every;
    int lag;                  // samples that the tide comes later by; 0 on the coast
    int settling;             // samples that a new sensor takes to settle; 0 for an old one
    std::vector<int> record;  // in whole lines; the last one ends in zeros
    std::unique_ptr<int[], DeviceFree> samples, tide, late_tide, archive;

    [[nodiscard]] int late() const { return given / 3; }
    [[nodiscard]] int late_begin() const { return given - late() + lag; }
    /// Only whole groups are of use in the archive.
    [[nodiscard]] int archived() const { return (given - settling) / every; }
};

Gauge draw_gauge(const Day& day, std::mt19937& random) {
    const auto below = [&random](int end) { return static_cast<int>(random() % end); };
    Gauge gauge{};
    gauge.given = 500 + below(1500);
    gauge.width = 3 + below(9);
    gauge.late_width = 3 + below(9);
    gauge.every = 2 + below(9);
    if (random() % day.up_estuaries == 0) gauge.lag = 1 + below(kLongest);
    if (random() % day.with_new_sensors == 0) gauge.settling = 1 + below(kLongest);
    gauge.record.resize(round_up(gauge.given, kLine));
    for (int i = 0; i < gauge.given; ++i) gauge.record[i] = below(4096);
    return gauge;
}

void print(int number, const Gauge& gauge) {
    std::printf("gauge %d: record of %d lines, %d samples, lag %d, settling %d; widths %d and %d, every %d\n",
                number, round_up(gauge.given, kLine) / kLine, gauge.given, gauge.lag, gauge.settling,
                gauge.width, gauge.late_width, gauge.every);
}

/// Room on the GPU for `count` results, in whole lines. No result is negative, and these numbers are: one
/// that is never written can't be right by luck.
std::unique_ptr<int[], DeviceFree> room_for(int count) {
    const int whole = round_up(count, kLine);
    auto numbers = device_array<int>(whole);
    CUDA_CHECK(cudaMemset(numbers.get(), 0xFF, whole * sizeof(int)));
    return numbers;
}

// Three functions of their own, so that backtraces can name them.

__attribute__((noinline)) void report_tide(const Library& library, const Gauge& gauge) {
    CUDA_CHECK(library.smooth(gauge.samples.get(), gauge.given, gauge.tide.get(), gauge.width));
}

__attribute__((noinline)) void report_late_tide(const Library& library, const Gauge& gauge) {
    const int* const samples = &gauge.samples[gauge.late_begin()];
    CUDA_CHECK(library.smooth(samples, gauge.late() - gauge.lag, gauge.late_tide.get(), gauge.late_width));
}

__attribute__((noinline)) void fill_archive(const Library& library, const Gauge& gauge) {
    const int* const samples = &gauge.samples[gauge.settling];
    CUDA_CHECK(library.thin(samples, gauge.given, gauge.archive.get(), gauge.every));
}

/// How many of `count` numbers on the GPU aren't what `expected` says.
template <class Expected>
size_t wrong_in(const int* numbers, int count, Expected expected) {
    std::vector<int> found(count);
    CUDA_CHECK(cudaMemcpy(found.data(), numbers, count * sizeof(int), cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    for (int i = 0; i < count; ++i)
        if (found[i] != expected(i) && ++wrong == 1)
            std::printf("number %d: expected %d, found %d\n", i, expected(i), found[i]);
    return wrong;
}

size_t wrong_of(const Gauge& gauge) {
    const auto smoothed = [&](int first, int width) {
        int sum = 0;
        for (int k = 0; k < width; ++k) sum += weight_of(k, width) * gauge.record[first + k];
        return sum;
    };
    return wrong_in(gauge.tide.get(), gauge.given - gauge.width + 1,
                    [&](int i) { return smoothed(i, gauge.width); }) +
           wrong_in(gauge.late_tide.get(), gauge.late() - gauge.lag - gauge.late_width + 1,
                    [&](int i) { return smoothed(gauge.late_begin() + i, gauge.late_width); }) +
           wrong_in(gauge.archive.get(), gauge.archived(), [&](int i) {
               const auto first = gauge.record.begin() + gauge.settling + i * gauge.every;
               return *std::max_element(first, first + gauge.every);
           });
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Reports on five tide gauges, with functions from a library.");
    const auto seed = static_cast<unsigned>(options.integer("--seed", 14005, 0, 1'000'000, "of the day"));
    options.done();
    require_gpu(size_t{64} << 20);
    const Library library = open_library();

    std::mt19937 random(seed);
    const Day day = day_of(random);
    std::vector<Gauge> gauges;
    for (int i = 0; i < kGauges; ++i) {
        Gauge& gauge = gauges.emplace_back(draw_gauge(day, random));
        print(i + 1, gauge);
        gauge.samples = device_array<int>(gauge.record.size());
        gauge.tide = room_for(gauge.given);
        gauge.late_tide = room_for(gauge.late());
        gauge.archive = room_for(gauge.given / gauge.every);
        CUDA_CHECK(cudaMemcpy(gauge.samples.get(), gauge.record.data(), gauge.record.size() * sizeof(int),
                              cudaMemcpyHostToDevice));
    }
    {
        nvtx3::scoped_range range{"report"};
        for (const Gauge& gauge : gauges) {
            report_tide(library, gauge);
            report_late_tide(library, gauge);
            fill_archive(library, gauge);
        }
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    size_t wrong = 0;
    for (const Gauge& gauge : gauges) wrong += wrong_of(gauge);
    std::printf("wrong numbers of %d gauges: expected 0, found %zu\n", kGauges, wrong);
    return wrong == 0 ? 0 : 1;
}

#endif
