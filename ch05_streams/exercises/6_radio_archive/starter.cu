// A radio station digitizes its archive. Tapes are cleaned and discs restored on the GPU, each by itself. The
// program runs both with 1, 2, 4, 8 and 16 streams, several times over, then once more with the number of
// streams that it ships with.
//
// Symptom: the two shipped numbers were guessed, and neither is what the sweep says.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kStreamsForTapes = 1;
constexpr int kStreamsForDiscs = 16;

constexpr int kSweep[] = {1, 2, 4, 8, 16};
constexpr int kMostStreams = 16;
constexpr int kTapes = 20, kTapeBlocks = 64, kTapeThreads = 128;
constexpr int kDiscs = 16, kDiscBlocks = 2048, kDiscThreads = 64, kDiscSamples = 16384;
constexpr int kShapes = 12288, kClicks = 8;  // shapes of a click, and clicks that are looked for
static_assert(kStreamsForTapes >= 1 && kStreamsForTapes <= kMostStreams);
static_assert(kStreamsForDiscs >= 1 && kStreamsForDiscs <= kMostStreams);

/// `steps` steps of x = factor * x + 1, modulo 2^32.
struct Filter {
    unsigned factor;
    int steps;
    __host__ __device__ unsigned operator()(unsigned x) const {
        for (int step = 0; step < steps; ++step) x = factor * x + 1;
        return x;
    }
};

__host__ __device__ unsigned shape_of(unsigned click, unsigned factor) {
    return factor * click ^ click >> 3;
}

/// Adds the values of a warp's lanes to `sum`.
__device__ void add(unsigned value, unsigned* sum) {
    for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_down_sync(~0u, value, lanes);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, value);
}

/// Adds up what the filter makes of a tape: of its samples each thread has every 8192nd.
__global__ void clean(const unsigned* samples, int count, Filter filter, unsigned* sum) {
    unsigned noise = 0;
#pragma unroll 8
    for (int i = blockIdx.x * kTapeThreads + threadIdx.x; i < count; i += kTapeBlocks * kTapeThreads)
        noise = filter.factor * noise + samples[i];
    add(filter(noise), sum);
}

/// Adds up what a disc sounds like, once each thread has taken eight clicks off it.
__global__ void restore(const unsigned* samples, Filter filter, unsigned* sum) {
    __shared__ unsigned shapes[kShapes];
    for (int click = threadIdx.x; click < kShapes; click += kDiscThreads)
        shapes[click] = shape_of(click, filter.factor);
    __syncthreads();
    const unsigned groove = blockIdx.x * kDiscThreads + threadIdx.x;
    unsigned sound = samples[groove % kDiscSamples] + groove;
    for (int click = 0; click < kClicks; ++click) {
        sound = filter(sound);
        sound -= shapes[sound % kShapes];
    }
    add(sound, sum);
}

/// All steps of the filter as a single one, factor * x + increment, by squaring, as a reference.
struct AllAtOnce {
    unsigned factor = 1, increment = 0;
    explicit AllAtOnce(Filter filter) {
        unsigned square = filter.factor, step = 1;
        for (int steps = filter.steps; steps > 0; steps /= 2, step = square * step + step, square *= square)
            if (steps % 2) increment = square * increment + step, factor *= square;
    }
    unsigned operator()(unsigned x) const { return factor * x + increment; }
};

unsigned cleaned(const unsigned* samples, int count, Filter filter) {
    std::vector<unsigned> noise(kTapeBlocks * kTapeThreads);
    for (int i = 0; i < count; ++i) {
        unsigned& its_noise = noise[i % noise.size()];
        its_noise = filter.factor * its_noise + samples[i];
    }
    const AllAtOnce all(filter);
    unsigned sum = 0;
    for (const unsigned its_noise : noise) sum += all(its_noise);
    return sum;
}

unsigned restored(const unsigned* samples, Filter filter) {
    const AllAtOnce all(filter);
    unsigned sum = 0;
    for (unsigned groove = 0; groove < kDiscBlocks * kDiscThreads; ++groove) {
        unsigned sound = samples[groove % kDiscSamples] + groove;
        for (int click = 0; click < kClicks; ++click) {
            sound = all(sound);
            sound -= shape_of(sound % kShapes, filter.factor);
        }
        sum += sound;
    }
    return sum;
}

/// Holds a vector's memory while the GPU copies from it.
class Held {
  public:
    explicit Held(std::vector<unsigned>& numbers) : numbers_(numbers) {
        CUDA_CHECK(
            cudaHostRegister(numbers.data(), numbers.size() * sizeof(unsigned), cudaHostRegisterDefault));
    }
    ~Held() { report_cuda(cudaHostUnregister(numbers_.data()), "cudaHostUnregister"); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

  private:
    std::vector<unsigned>& numbers_;
};

/// `jobs` tapes or discs with `samples` samples each. Each has a filter of its own.
struct Workload {
    std::string name;
    int jobs, samples, steps;
    [[nodiscard]] Filter filter(int job) const { return {8u * static_cast<unsigned>(job) + 5, steps}; }
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Runs two workloads with 1 to 16 streams, then with the shipped numbers.");
    const int tape = static_cast<int>(options.integer("--tape", 1'048'571, 1, 1 << 22, "samples of a tape"));
    const int steps = static_cast<int>(options.integer("--steps", 61'440, 8, 1 << 20, "steps of a filter"));
    const int repetitions =
        static_cast<int>(options.integer("--repetitions", 5, 1, 100, "runs of the sweep"));
    options.done();
    const Workload tapes{"tapes", kTapes, tape, steps}, discs{"discs", kDiscs, kDiscSamples, steps / kClicks};
    const size_t inputs = size_t{1} * kTapes * std::max(tape, kDiscSamples);
    require_gpu((inputs + kTapes) * sizeof(unsigned));

    std::mt19937 random(7);
    std::vector<unsigned> samples(inputs);
    for (unsigned& sample : samples) sample = static_cast<unsigned>(random());
    const Held held(samples);
    std::map<std::string, std::vector<unsigned>> expected;
    for (int job = 0; job < tapes.jobs; ++job)
        expected["tapes"].push_back(cleaned(&samples[size_t{1} * job * tape], tape, tapes.filter(job)));
    for (int job = 0; job < discs.jobs; ++job)
        expected["discs"].push_back(restored(&samples[size_t{1} * job * kDiscSamples], discs.filter(job)));
    const auto input = device_array<unsigned>(inputs), sums = device_array<unsigned>(kTapes);
    std::vector<Stream> streams(kMostStreams);
    for (Stream& stream : streams) stream = make_stream(cudaStreamNonBlocking);

    size_t wrong = 0, checked = 0;
    // Runs the jobs on the first `used` streams, in a range of that name, and checks each sum; in ms.
    const auto run = [&](const Workload& work, int used, const std::string& name) {
        CUDA_CHECK(cudaMemset(sums.get(), 0, kTapes * sizeof(unsigned)));
        CUDA_CHECK(cudaDeviceSynchronize());
        const auto began = std::chrono::steady_clock::now();
        {
            const nvtx3::scoped_range range{name};
            for (int job = 0; job < work.jobs; ++job) {
                const size_t first = size_t{1} * job * work.samples;
                const cudaStream_t stream = streams[job % used].get();
                CUDA_CHECK(cudaMemcpyAsync(&input[first], &samples[first], work.samples * sizeof(unsigned),
                                           cudaMemcpyHostToDevice, stream));
                if (work.name == "tapes") {
                    clean<<<kTapeBlocks, kTapeThreads, 0, stream>>>(&input[first], work.samples,
                                                                    work.filter(job), &sums[job]);
                    CUDA_CHECK(cudaGetLastError());
                } else {
                    restore<<<kDiscBlocks, kDiscThreads, 0, stream>>>(&input[first], work.filter(job),
                                                                      &sums[job]);
                    CUDA_CHECK(cudaGetLastError());
                }
            }
            CUDA_CHECK(cudaDeviceSynchronize());
        }
        const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - began;
        std::vector<unsigned> found(work.jobs);
        CUDA_CHECK(
            cudaMemcpy(found.data(), sums.get(), work.jobs * sizeof(unsigned), cudaMemcpyDeviceToHost));
        for (int job = 0; job < work.jobs; ++job) wrong += found[job] != expected[work.name][job];
        checked += work.jobs;
        return elapsed.count();
    };

    for (const Workload& work : {tapes, discs}) run(work, kMostStreams, "warm-up");
    for (const Workload& work : {tapes, discs}) {
        std::map<int, std::vector<double>> times_ms;  // by the number of streams
        for (int repetition = 0; repetition < repetitions; ++repetition)
            for (const int used : kSweep)
                times_ms[used].push_back(run(work, used, work.name + " x" + std::to_string(used)));
        for (const int used : kSweep)
            std::printf("%s x%d: %.2f ms\n", work.name.c_str(), used, median(times_ms[used]));
        const int shipped = work.name == "tapes" ? kStreamsForTapes : kStreamsForDiscs;
        std::printf("ship %s x%d: %.2f ms\n", work.name.c_str(), shipped,
                    run(work, shipped, "ship " + work.name));
    }
    std::printf("wrong sums: expected 0, found %zu of %zu\n", wrong, checked);
    return wrong == 0 ? 0 : 1;
}
