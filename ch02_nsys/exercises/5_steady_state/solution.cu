// Moves a series of numbers on, iteration by iteration: a start-up, twenty iterations in a steady state,
// which alone are worth recording, and a tail. Meanwhile the series is saved and checked now and then, and
// the launch is tuned. How often, and how long start-up and tail are, is drawn for each series.
//
// Right: tuning the launch marks nothing as worth recording, so the twenty iterations are the first that do.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <cuda_profiler_api.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kSteady = 20;     // iterations of the steady state
constexpr int kChecked = 4096;  // numbers that a check looks at
constexpr uint32_t kFactor = 1664525, kStep = 1013904223;

/// How a series goes, in iterations.
struct Series {
    int start_up, tail;
    int saved, checked, tuned;  // from one save, check or tuning to the next
    int warm;                   // until the GPU's clock is up: none is worth recording before
    int longest;                // that a report may have
    int tolerance;              // of a check, in numbers
};

Series series_of(std::mt19937& random) {
    const auto between = [&random](int least, int most) {
        return least + static_cast<int>(random() % (most - least + 1));
    };
    const int start_up = between(16, 48), tail = between(16, 48), saved = between(20, 120);
    const int checked = between(4, 12), tuned = between(24, 120), warm = between(8, 36);
    const int longest = between(8, 48), tolerance = between(36, 80);
    return {start_up, tail, saved, checked, tuned, warm, longest, tolerance};
}

/// One iteration: moves each number on by `rounds` steps of a recurrence, modulo 2^32.
__global__ void iterate(uint32_t* x, int count, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    uint32_t value = x[i];
    for (int round = 0; round < rounds; ++round) value = kFactor * value + kStep;
    x[i] = value;
}

/// Marks what is worth recording, for both ways: by profiler calls, and by the range `recorded`. The name of
/// the range is registered, by NVTX's C API, which all toolkits have.
class Recorder {
  public:
    /// A report has `longest` iterations at most.
    explicit Recorder(int longest) : longest_(longest) {}

    void start() {
        if (is_on_) return;
        nvtxEventAttributes_t attributes{};
        attributes.version = NVTX_VERSION;
        attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
        attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        attributes.message.registered = name_;
        nvtxDomainRangePushEx(domain_, &attributes);
        CUDA_CHECK(cudaProfilerStart());
        is_on_ = true;
        iterations_ = 0;
    }
    void stop() {
        if (!is_on_) return;
        CUDA_CHECK(cudaProfilerStop());
        nvtxDomainRangePop(domain_);
        is_on_ = false;
    }
    [[nodiscard]] bool is_on() const { return is_on_; }
    void count_iteration() {
        if (++iterations_ >= longest_) stop();
    }

  private:
    nvtxDomainHandle_t domain_ = nvtxDomainCreateA("series");
    nvtxStringHandle_t name_ = nvtxDomainRegisterStringA(domain_, "recorded");
    bool is_on_ = false;
    int longest_, iterations_ = 0;
};

/// Records from here to the end of the scope.
class Recording {
  public:
    explicit Recording(Recorder& recorder) : recorder_(recorder) { recorder_.start(); }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording() { recorder_.stop(); }

  private:
    Recorder& recorder_;
};

/// Leaves out of a recording what isn't an iteration.
class Pause {
  public:
    explicit Pause(Recorder& recorder) : recorder_(recorder), was_on_(recorder.is_on()) { recorder_.stop(); }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    ~Pause() {
        if (was_on_) recorder_.start();
    }

  private:
    Recorder& recorder_;
    bool was_on_;
};

/// All steps of so many rounds in one: a step after `factor * x + step` is again of that form.
struct Recurrence {
    uint32_t factor = 1, step = 0;
    explicit Recurrence(int64_t rounds) {
        for (int64_t i = 0; i < rounds; ++i) {
            factor = kFactor * factor;
            step = kFactor * step + kStep;
        }
    }
};

int main(int argc, char** argv) {
    Options options(argc, argv, "Iterates a recurrence: start-up, steady state, tail.");
    const int count = static_cast<int>(options.integer("--count", 500'003, kChecked, 10'000'000, "numbers"));
    const int rounds =
        static_cast<int>(options.integer("--rounds", 100'000, 1, 1'000'000, "steps an iteration"));
    const auto seed = static_cast<unsigned>(options.integer("--seed", 3147, 0, 1'000'000, "of the series"));
    options.done();
    const size_t bytes = count * sizeof(uint32_t);
    require_gpu(2 * bytes);

    std::mt19937 random(seed);
    const Series series = series_of(random);
    const auto x = pinned_array<uint32_t>(count), saved = pinned_array<uint32_t>(count),
               found = pinned_array<uint32_t>(count);
    for (int i = 0; i < count; ++i) x[i] = static_cast<uint32_t>(random());
    const auto device_x = device_array<uint32_t>(count), tried_x = device_array<uint32_t>(count);
    CUDA_CHECK(cudaMemcpy(device_x.get(), x.get(), bytes, cudaMemcpyHostToDevice));
    Recorder recorder(series.longest);
    int threads = 256, iterations = 0, iterations_saved = 0, astray = 0;

    const auto launch = [&](uint32_t* numbers, int block) {
        iterate<<<(count + block - 1) / block, block>>>(numbers, count, rounds);
        CUDA_CHECK(cudaGetLastError());
    };
    const auto save = [&] {
        nvtx3::scoped_range range{"save"};
        Pause pause{recorder};
        CUDA_CHECK(cudaMemcpy(saved.get(), device_x.get(), bytes, cudaMemcpyDeviceToHost));
        iterations_saved = iterations;
    };
    /// Of a series that has gone astray, nothing more is worth recording.
    const auto check = [&] {
        nvtx3::scoped_range range{"check"};
        std::vector<uint32_t> some(kChecked);
        CUDA_CHECK(
            cudaMemcpy(some.data(), device_x.get(), kChecked * sizeof(uint32_t), cudaMemcpyDeviceToHost));
        const auto large = std::count_if(some.begin(), some.end(), [](uint32_t each) { return each >> 31; });
        if (std::abs(large - kChecked / 2) <= series.tolerance) return;
        recorder.stop();
        ++astray;
    };
    /// Tries launches on a copy of the series, and keeps the fastest.
    const auto tune = [&] {
        nvtx3::scoped_range range{"tune"};
        CUDA_CHECK(cudaMemcpy(tried_x.get(), device_x.get(), bytes, cudaMemcpyDeviceToDevice));
        auto fastest = std::chrono::steady_clock::duration::max();
        for (const int tried : {128, 256, 512, 1024}) {
            const auto start = std::chrono::steady_clock::now();
            launch(tried_x.get(), tried);
            CUDA_CHECK(cudaDeviceSynchronize());
            const auto elapsed = std::chrono::steady_clock::now() - start;
            if (elapsed >= fastest) continue;
            fastest = elapsed;
            threads = tried;
        }
    };
    const auto go_on = [&] {
        {
            nvtx3::scoped_range range{"iteration"};
            uint32_t first = 0;
            launch(device_x.get(), threads);
            CUDA_CHECK(cudaMemcpy(&first, device_x.get(), sizeof(uint32_t), cudaMemcpyDeviceToHost));
            ++iterations;
        }
        recorder.count_iteration();
        if (iterations % series.saved == 0) save();
        if (iterations % series.checked == 0) check();
        if (iterations % series.tuned == 0) tune();
    };

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"start-up"};
        for (int i = 0; i < series.start_up; ++i) go_on();
    }
    {
        nvtx3::scoped_range range{"steady"};
        std::optional<Recording> recording;
        for (int i = 0; i < kSteady; ++i) {
            if (!recording && iterations >= series.warm) recording.emplace(recorder);
            go_on();
        }
    }
    {
        nvtx3::scoped_range range{"tail"};
        for (int i = 0; i < series.tail; ++i) go_on();
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    CUDA_CHECK(cudaMemcpy(found.get(), device_x.get(), bytes, cudaMemcpyDeviceToHost));

    const Recurrence all(int64_t{rounds} * iterations), until_saved(int64_t{rounds} * iterations_saved);
    int wrong = 0;
    for (int i = 0; i < count; ++i) {
        wrong += found[i] != all.factor * x[i] + all.step;
        wrong += iterations_saved > 0 && saved[i] != until_saved.factor * x[i] + until_saved.step;
    }
    std::printf("%d iterations, astray in %d checks: %.2f ms\n", iterations, astray, elapsed.count());
    std::printf("last number: expected %u, found %u; %d wrong\n", all.factor * x[count - 1] + all.step,
                found[count - 1], wrong);
    return wrong == 0 ? 0 : 1;
}
