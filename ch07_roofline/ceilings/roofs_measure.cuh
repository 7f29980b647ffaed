// What every roof's measurement needs: seconds and clocks of a batch, random data, proof of the work.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"

constexpr int kThreads = 256, kSums = 4096, kMostSms = 1024;

/// One line of the table. What is unknown, or not on this GPU, is a NaN.
struct Roof {
    std::string name, unit;
    double measured = NAN, theoretical = NAN;
    double work = NAN;  ///< bytes or FLOP that one launch was counted as, to be compared with a counter
    std::string how = {};
    double clock_Hz = NAN;  ///< of the SMs meanwhile
};

inline int attribute(cudaDeviceAttr which) {
    int value = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&value, which, 0));
    return value;
}

inline int compute_capability() {
    return 10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor);
}

inline int sm_count() {
    return attribute(cudaDevAttrMultiProcessorCount);
}

/// Of an SM, in Hz, by the driver. A virtual GPU may not say.
inline double highest_clock() {
    const int kHz = attribute(cudaDevAttrClockRate);
    return kHz > 0 ? 1e3 * kHz : NAN;
}

template <class Kernel>
unsigned blocks_that_fit(Kernel kernel, int threads = kThreads) {
    int blocks = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0));
    return blocks * sm_count();
}

/// In the unit that suits: "4.52 TB/s", "2.1 us".
inline std::string shown(double value, const std::string& unit) {
    if (std::isnan(value)) return "-";
    const std::vector<std::string> prefixes =
        unit == "s" ? std::vector<std::string>{"n", "u", "m", ""} : std::vector<std::string>{"G", "T"};
    double scaled = unit == "s" ? value * 1e9 : value / 1e9;
    size_t prefix = 0;
    while (scaled >= 1000 && prefix + 1 < prefixes.size()) scaled /= 1000, ++prefix;
    char text[32];
    std::snprintf(text, sizeof text, "%.2f %s%s", scaled, prefixes[prefix].c_str(), unit.c_str());
    return text;
}

/// An SM's two clocks at one moment: its own, and one that runs evenly whatever that does.
struct Stamp {
    long long cycles;
    unsigned long long ns;
};

/// Each SM that gets a block notes its clocks where zeros stand. The first block does, if it gets two.
__global__ void stamp(Stamp* stamps) {
    unsigned sm;
    unsigned long long ns;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    const long long cycles = clock64();
    if (threadIdx.x == 0 && sm < kMostSms && atomicCAS(&stamps[sm].ns, 0, ns) == 0)
        stamps[sm].cycles = cycles;
}

/// Hz between two stamps, the median of the SMs that have both. The even clock may go on in steps of a
/// microsecond, so of less than a millisecond this says nothing.
inline double clock_between(const Stamp* begin, const Stamp* end) {
    std::vector<double> clocks;
    for (int sm = 0; sm < kMostSms; ++sm) {
        const double cycles = end[sm].cycles - begin[sm].cycles,
                     ns = static_cast<double>(end[sm].ns) - static_cast<double>(begin[sm].ns);
        if (begin[sm].ns > 0 && ns >= 1e6 && cycles > 0) clocks.push_back(1e9 * cycles / ns);
    }
    if (clocks.empty()) return NAN;
    std::nth_element(clocks.begin(), clocks.begin() + clocks.size() / 2, clocks.end());
    return clocks[clocks.size() / 2];
}

/// What one run of some work takes: in the median of the repeats, the fastest and the slowest of them. The
/// SMs' clock is that of the median.
struct Measured {
    double seconds = NAN, least = NAN, most = NAN, clock_Hz = NAN;
};

/// How often a batch is measured, and in which state the GPU is then: the work has run for so long before the
/// first, or nothing has run before each.
struct Conditions {
    int repeats, soak_ms = 0, pause_ms = 0;
};

/// Measures in a range of this name: batches of runs, each of about 10 ms or of 100 runs, and a run before
/// them for warm-up.
inline Measured measure(const std::string& name, const Conditions& conditions,
                        const std::function<void()>& work) {
    struct Batch {
        double seconds, clock_Hz;
    };
    nvtx3::scoped_range range{name};
    const Event start = make_event(), end = make_event();
    const auto stamps = device_array<Stamp>(2 * kMostSms);
    std::vector<Stamp> noted(2 * kMostSms);
    const size_t bytes = noted.size() * sizeof(Stamp);
    const int sms = sm_count();
    const auto batch_of = [&](int runs) {
        float ms = 0;
        CUDA_CHECK(cudaMemset(stamps.get(), 0, bytes));
        stamp<<<sms, 32>>>(stamps.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaEventRecord(start.get()));
        for (int i = 0; i < runs; ++i) work();
        CUDA_CHECK(cudaEventRecord(end.get()));
        stamp<<<sms, 32>>>(stamps.get() + kMostSms);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemcpy(noted.data(), stamps.get(), bytes, cudaMemcpyDeviceToHost));
        CUDA_CHECK(cudaEventElapsedTime(&ms, start.get(), end.get()));
        return Batch{ms * 1e-3 / runs, clock_between(&noted[0], &noted[kMostSms])};
    };
    batch_of(1);
    const double about = std::max(batch_of(1).seconds, 1e-6);
    for (int i = 0; i < conditions.soak_ms * 1e-3 / about; ++i) work();
    const int runs = static_cast<int>(std::clamp(10e-3 / about, 1.0, 100.0));
    std::vector<Batch> batches(conditions.repeats);
    for (Batch& batch : batches) {
        std::this_thread::sleep_for(std::chrono::milliseconds(conditions.pause_ms));
        batch = batch_of(runs);
    }
    std::sort(batches.begin(), batches.end(),
              [](const Batch& a, const Batch& b) { return a.seconds < b.seconds; });
    const Batch& middle = batches[batches.size() / 2];
    return {middle.seconds, batches.front().seconds, batches.back().seconds, middle.clock_Hz};
}

/// The rates of the slowest and the fastest repeat, and the clock: "366.10 to 381.20 TFLOP/s, SM clock ...".
inline std::string repeats_shown(const Measured& taken, double work, const std::string& unit) {
    std::string text = shown(work / taken.most, unit) + " to " + shown(work / taken.least, unit);
    char clock[32] = "";
    if (!std::isnan(taken.clock_Hz))
        std::snprintf(clock, sizeof clock, ", SM clock %.3f GHz", taken.clock_Hz / 1e9);
    return text + clock;
}

/// A random number from its place, the same each time (the finalizer of MurmurHash3).
__host__ __device__ inline unsigned random_at(size_t i) {
    unsigned h = static_cast<unsigned>(i) * 2654435761u + static_cast<unsigned>(i >> 32);
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

/// Random numbers from -1 to 1.
template <class T>
__global__ void fill(T* x, size_t count, size_t seed) {
    for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < count; i += gridDim.x * size_t{kThreads})
        x[i] = T(static_cast<int>(random_at(i + seed)) * 0x1p-31f);
}

/// The same with few bits: multiples of 1/64.
template <class T>
__global__ void fill_short(T* x, size_t count, size_t seed) {
    for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < count; i += gridDim.x * size_t{kThreads})
        x[i] = T((static_cast<int>(random_at(i + seed) % 129) - 64) / 64.0f);
}

/// Ends the program if a roof wasn't earned: a kernel that leaves work out is fast.
inline void require_right(const std::string& name, bool right) {
    if (right) return;
    std::fprintf(stderr, "%s: the answer is wrong, so its rate means nothing\n", name.c_str());
    std::exit(1);
}

/// Sums on the device, modulo 2^32.
class Sums {
  public:
    unsigned* get() { return device_.get(); }
    void clear() { CUDA_CHECK(cudaMemset(device_.get(), 0, kSums * sizeof(unsigned))); }
    unsigned total() {
        std::vector<unsigned> host(kSums);
        CUDA_CHECK(cudaMemcpy(host.data(), device_.get(), kSums * sizeof(unsigned), cudaMemcpyDeviceToHost));
        unsigned sum = 0;
        for (const unsigned s : host) sum += s;
        return sum;
    }
    /// What `work` adds up in all of them.
    unsigned of(const std::function<void(unsigned*)>& work) {
        clear();
        work(get());
        return total();
    }

  private:
    std::unique_ptr<unsigned[], DeviceFree> device_ = device_array<unsigned>(kSums);
};
