// Runs three bursts of the same kernel: a start-up, the steady state, which alone is worth recording, and a
// tail. The steady burst can be cut out of the run by cudaProfilerStart/Stop, by an NVTX range, or by time.
//
// Symptom: the first way records 32 iterations instead of 20, the second makes no report at all, and the
// third shows the wrong burst. Task: exactly the 20 iterations of the steady burst in each of the
// three recordings.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <cuda_profiler_api.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <thread>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;
constexpr int kStartUp = 7, kSteady = 20, kTail = 5;  // iterations
constexpr uint32_t kFactor = 1664525, kStep = 1013904223;

// All times count from the start of main. The window is open from 4 s to 6 s after nsys has started the
// program.
// TODO(learner): 3. let the steady burst begin at a time that keeps well clear of both ends of the window.
constexpr std::chrono::milliseconds kSteadyAt{3000};
constexpr std::chrono::milliseconds kQuiet{2000};    // from the steady burst to the tail
constexpr std::chrono::milliseconds kMostLate{500};  // for the steady burst: later it would miss the window

/// One iteration: moves each number on by `rounds` steps of a recurrence, modulo 2^32.
__global__ void iterate(uint32_t* x, int count, int rounds) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= count) return;
    uint32_t value = x[i];
    for (int round = 0; round < rounds; ++round) value = kFactor * value + kStep;
    x[i] = value;
}

/// The range that `--nvtx-capture=steady@*` waits for, by NVTX's C API, which all toolkits have.
class SteadyRange {
  public:
    explicit SteadyRange(nvtxDomainHandle_t domain) : domain_(domain) {
        nvtxEventAttributes_t attributes{};
        attributes.version = NVTX_VERSION;
        attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
        // TODO(learner): 2. register the string, and pass what that returns.
        attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
        attributes.message.ascii = "steady";
        nvtxDomainRangePushEx(domain_, &attributes);
    }
    SteadyRange(const SteadyRange&) = delete;
    SteadyRange& operator=(const SteadyRange&) = delete;
    ~SteadyRange() { nvtxDomainRangePop(domain_); }

  private:
    nvtxDomainHandle_t domain_;
};

int main(int argc, char** argv) {
    const auto program_start = std::chrono::steady_clock::now();
    Options options(argc, argv, "Iterates a recurrence in three bursts: start-up, steady state, tail.");
    const int count = static_cast<int>(options.integer("--count", 500'003, 1, 10'000'000, "numbers"));
    const int rounds =
        static_cast<int>(options.integer("--rounds", 100'000, 1, 1'000'000, "steps an iteration"));
    options.done();
    require_gpu(count * sizeof(uint32_t));

    const auto x = pinned_array<uint32_t>(count), found = pinned_array<uint32_t>(count);
    std::mt19937 random(5);
    for (int i = 0; i < count; ++i) x[i] = static_cast<uint32_t>(random());
    const auto device_x = device_array<uint32_t>(count);
    CUDA_CHECK(cudaMemcpy(device_x.get(), x.get(), count * sizeof(uint32_t), cudaMemcpyHostToDevice));
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("lab");

    const auto burst = [&](int iterations) {
        for (int i = 0; i < iterations; ++i)
            iterate<<<(count + kThreads - 1) / kThreads, kThreads>>>(device_x.get(), count, rounds);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());  // or the next phase would begin with kernels of this one
    };

    // TODO(learner): 1. start and stop the profiler around the steady burst, and nothing else.
    CUDA_CHECK(cudaProfilerStart());
    {
        nvtx3::scoped_range range{"start-up"};
        burst(kStartUp);
    }
    const std::chrono::duration<double> ready = std::chrono::steady_clock::now() - program_start;
    if (ready > kSteadyAt + kMostLate) {
        std::fprintf(stderr, "no suitable GPU: start-up took %.1f s, and the window won't wait for it\n",
                     ready.count());
        return 77;
    }
    // A real program loads and compiles meanwhile. Here it waits, so that time alone can tell the bursts
    // apart.
    std::this_thread::sleep_until(program_start + kSteadyAt);
    const std::chrono::duration<double> steady = std::chrono::steady_clock::now() - program_start;
    {
        SteadyRange range{domain};
        burst(kSteady);
    }
    std::this_thread::sleep_until(program_start + kSteadyAt + kQuiet);
    {
        nvtx3::scoped_range range{"tail"};
        burst(kTail);
    }
    CUDA_CHECK(cudaProfilerStop());
    CUDA_CHECK(cudaMemcpy(found.get(), device_x.get(), count * sizeof(uint32_t), cudaMemcpyDeviceToHost));

    // All steps in one: a step after `factor * x + step` is again of that form.
    uint32_t factor = 1, step = 0;
    for (int64_t i = 0; i < int64_t{rounds} * (kStartUp + kSteady + kTail); ++i) {
        factor = kFactor * factor;
        step = kFactor * step + kStep;
    }
    int wrong = 0, first_wrong = 0;
    for (int i = 0; i < count; ++i)
        if (found[i] != factor * x[i] + step && wrong++ == 0) first_wrong = i;
    std::printf("start-up done after %.2f s, steady burst begun after %.2f s\n", ready.count(),
                steady.count());
    std::printf("number %d: expected %u, found %u; %d of %d wrong\n", first_wrong,
                factor * x[first_wrong] + step, found[first_wrong], wrong, count);
    return wrong == 0 ? 0 : 1;
}
