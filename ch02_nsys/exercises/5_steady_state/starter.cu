// Moves a series of numbers on, iteration by iteration: a start-up, twenty iterations in a steady state,
// which alone are worth recording, and a tail. How long start-up and tail are, and when the series is saved
// and checked and the launch is tuned meanwhile, the numbers decide.
//
// Symptom: recorded by profiler calls, the report has too few iterations. Recorded by an NVTX range, there is
// no report.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <cuda_profiler_api.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kSteady = 20, kLongest = 64;  // iterations of the steady state; of start-up and tail, at most
constexpr int kChecked = 4096;              // numbers
constexpr uint32_t kFactor = 1664525, kStep = 1013904223;

/// One iteration: moves each number on by `rounds` steps of a recurrence, modulo 2^32.
__global__ void iterate(uint32_t* x, int count, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    uint32_t value = x[i];
    for (int round = 0; round < rounds; ++round) value = kFactor * value + kStep;
    x[i] = value;
}

/// The names of ranges, in the domain `series`. Each is registered once, by NVTX's C API, which all toolkits
/// have.
class Names {
  public:
    [[nodiscard]] nvtxDomainHandle_t domain() const { return domain_; }

    [[nodiscard]] nvtxEventAttributes_t attributes_of(const char* name) {
        Entry& entry = entries_[place_of(name)];
        if (entry.name.empty()) entry = {name, nvtxDomainRegisterStringA(domain_, name)};
        nvtxEventAttributes_t attributes{};
        attributes.version = NVTX_VERSION;
        attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
        if (entry.name == name) {
            attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
            attributes.message.registered = entry.handle;
        } else {
            attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
            attributes.message.ascii = name;
        }
        return attributes;
    }

  private:
    struct Entry {
        std::string name;
        nvtxStringHandle_t handle = nullptr;
    };

    [[nodiscard]] static size_t place_of(const char* name) {
        uint32_t hash = 2166136261;
        for (; *name; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 16777619;
        return hash >> 29;
    }

    nvtxDomainHandle_t domain_ = nvtxDomainCreateA("series");
    std::array<Entry, 8> entries_;
};

/// A range on this thread, from here to the end of the scope.
class Range {
  public:
    Range(Names& names, const char* name) : domain_(names.domain()) {
        const nvtxEventAttributes_t attributes = names.attributes_of(name);
        nvtxDomainRangePushEx(domain_, &attributes);
    }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;
    ~Range() { nvtxDomainRangePop(domain_); }

  private:
    nvtxDomainHandle_t domain_;
};

/// The profiler, by its two calls.
class Recorder {
  public:
    void start() {
        CUDA_CHECK(cudaProfilerStart());
        is_on_ = true;
    }
    void stop() {
        CUDA_CHECK(cudaProfilerStop());
        is_on_ = false;
    }
    [[nodiscard]] bool is_on() const { return is_on_; }

  private:
    bool is_on_ = false;
};

/// Leaves out of the recording what isn't an iteration.
class Pause {
  public:
    explicit Pause(Recorder& recorder) : recorder_(recorder), was_on_(recorder.is_on()) {
        if (was_on_) recorder_.stop();
    }
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
    options.done();
    const size_t bytes = count * sizeof(uint32_t);
    require_gpu(bytes);

    const auto x = pinned_array<uint32_t>(count), saved = pinned_array<uint32_t>(count),
               found = pinned_array<uint32_t>(count);
    std::mt19937 random(45);
    for (int i = 0; i < count; ++i) x[i] = static_cast<uint32_t>(random());
    const auto device_x = device_array<uint32_t>(count);
    CUDA_CHECK(cudaMemcpy(device_x.get(), x.get(), bytes, cudaMemcpyHostToDevice));
    Names names;
    Recorder recorder;
    int threads = 256, iterations = 0, iterations_saved = 0, odd = 0;

    const auto save = [&] {
        Range range{names, "save"};
        Pause pause{recorder};
        CUDA_CHECK(cudaMemcpy(saved.get(), device_x.get(), bytes, cudaMemcpyDeviceToHost));
        iterations_saved = iterations;
    };
    const auto check = [&] {
        Range range{names, "check"};
        Pause pause{recorder};
        std::vector<uint32_t> some(kChecked);
        CUDA_CHECK(
            cudaMemcpy(some.data(), device_x.get(), kChecked * sizeof(uint32_t), cudaMemcpyDeviceToHost));
        for (const uint32_t number : some) odd += number % 2;
    };
    const auto tune = [&] {
        Range range{names, "tune"};
        Pause pause{recorder};
        threads = threads == 1024 ? 128 : 2 * threads;
    };
    /// Returns whether the series has come to a turn.
    const auto go_on = [&] {
        uint32_t first = 0;
        {
            Range range{names, "iteration"};
            iterate<<<(count + threads - 1) / threads, threads>>>(device_x.get(), count, rounds);
            CUDA_CHECK(cudaGetLastError());
            CUDA_CHECK(cudaMemcpy(&first, device_x.get(), sizeof(uint32_t), cudaMemcpyDeviceToHost));
            ++iterations;
        }
        if ((first >> 8) % 8 == 0) save();
        if ((first >> 12) % 9 == 0) check();
        if ((first >> 16) % 11 == 0) tune();
        return first >> 28 == 0;
    };

    const auto start = std::chrono::steady_clock::now();
    {
        Range range{names, "start-up"};
        for (int i = 0; i < kLongest && !go_on(); ++i) continue;
    }
    recorder.start();
    {
        Range range{names, "steady"};
        for (int i = 0; i < kSteady; ++i) go_on();
    }
    recorder.stop();
    {
        Range range{names, "tail"};
        for (int i = 0; i < kLongest && !go_on(); ++i) continue;
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    CUDA_CHECK(cudaMemcpy(found.get(), device_x.get(), bytes, cudaMemcpyDeviceToHost));

    const Recurrence all(int64_t{rounds} * iterations), until_saved(int64_t{rounds} * iterations_saved);
    int wrong = 0;
    for (int i = 0; i < count; ++i) {
        wrong += found[i] != all.factor * x[i] + all.step;
        wrong += iterations_saved > 0 && saved[i] != until_saved.factor * x[i] + until_saved.step;
    }
    std::printf("%d odd numbers seen: %.2f ms\n", odd, elapsed.count());
    std::printf("last number: expected %u, found %u; %d wrong\n", all.factor * x[count - 1] + all.step,
                found[count - 1], wrong);
    return wrong == 0 ? 0 : 1;
}
