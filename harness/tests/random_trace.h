// Traces that nobody recorded: small, and full of what is rare in real ones.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>

#include "evidence/launches.h"

namespace lab {

constexpr int64_t kTick_ns = 1000;  ///< all times of a random trace are whole ticks
constexpr int64_t kTicks = 160;     ///< and lie within so many

/// Work of one or two processes on up to three GPUs, launched now and then inside ranges called "a" and "b".
/// No two pieces of work start at the same instant, so that what follows a gap is never in doubt. Some work
/// takes no time, overlaps, nests or is launched after other work has ended; some has no call at all.
class RandomTrace {
  public:
    explicit RandomTrace(unsigned seed) : random_(seed) {}

    Trace make() {
        trace_ = {};
        trace_.names = {"k0", "k1", "k2", "cudaLaunchKernel", "cudaMemcpyAsync"};
        starts_.resize(static_cast<std::size_t>(kTicks));
        std::iota(starts_.begin(), starts_.end(), int64_t{0});
        std::shuffle(starts_.begin(), starts_.end(), random_);
        processes_ = up_to(2) + 1, devices_ = up_to(3) + 1;
        const int64_t kernels = up_to(14), copies = up_to(10), ranges = up_to(5);
        for (int64_t i = 0; i < kernels; ++i) add_kernel();
        for (int64_t i = 0; i < copies; ++i) add_copy();
        for (int64_t i = 0; i < ranges; ++i) add_range();
        const auto by_start = [](const auto& x, const auto& y) { return x.start_ns < y.start_ns; };
        std::sort(trace_.kernels.begin(), trace_.kernels.end(), by_start);
        std::sort(trace_.copies.begin(), trace_.copies.end(), by_start);
        std::stable_sort(trace_.api_calls.begin(), trace_.api_calls.end(), by_start);
        std::stable_sort(trace_.ranges.begin(), trace_.ranges.end(), by_start);
        link_to_calls(trace_);
        return trace_;
    }

  private:
    int64_t up_to(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random_); }

    template <class Work>
    void place(Work& work) {
        work.start_ns = starts_.back() * kTick_ns;
        starts_.pop_back();
        const int64_t longest = up_to(4) == 0 ? 60 : 8;
        work.end_ns = work.start_ns + (up_to(8) == 0 ? 0 : up_to(longest) + 1) * kTick_ns;
        work.stream = up_to(3) + 7;
        work.device = up_to(devices_);
        work.process = up_to(processes_) + 1;
        work.correlation = ++calls_of_[static_cast<std::size_t>(work.process)];
    }

    template <class Work>
    void call(const Work& work, int64_t name) {
        if (up_to(12) == 0) return;
        ApiCall call;
        call.start_ns = std::max<int64_t>(0, work.start_ns - up_to(40) * kTick_ns);
        call.end_ns = call.start_ns + kTick_ns;
        call.correlation = work.correlation, call.process = work.process;
        call.thread = up_to(2) + 1;
        call.name = name;
        call.result = up_to(10) == 0;
        trace_.api_calls.push_back(call);
    }

    void add_kernel() {
        Kernel kernel;
        place(kernel);
        kernel.name = up_to(3);
        trace_.kernels.push_back(kernel);
        call(kernel, 3);
    }
    void add_copy() {
        Copy copy;
        place(copy);
        copy.bytes = up_to(1000);
        copy.direction = static_cast<Direction>(up_to(6));
        copy.from = up_to(2) ? "pinned" : "device", copy.to = "device";
        trace_.copies.push_back(copy);
        call(copy, 4);
    }
    void add_range() {
        Range range;
        range.start_ns = up_to(kTicks) * kTick_ns;
        range.end_ns = range.start_ns + up_to(60) * kTick_ns;
        range.process = up_to(processes_) + 1, range.thread = up_to(2) + 1;
        range.crosses_threads = up_to(3) == 0;
        range.name = up_to(2) ? "a" : "b";
        trace_.ranges.push_back(range);
    }

    std::mt19937 random_;
    Trace trace_;
    std::vector<int64_t> starts_;
    int64_t processes_ = 1, devices_ = 1;
    int64_t calls_of_[3] = {};
};

}  // namespace lab
