// Listens to the beehives of an apiary for a night. The hives stand in four rows, which are heard in turn,
// and each row has a stream. A hive's recordings are added up; every hour the sum of all hives is noted.
//
// Right: the factor of each air has a place of its own, so that a new one waits for no row.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <chrono>
#include <cstdio>
#include <cub/block/block_reduce.cuh>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kRows = 4, kHivesInRow = 3, kHives = kRows * kHivesInRow;
constexpr int kThreads = 128, kAirSteps = 20'000;

/// x becomes factor * x + 1, modulo 2^32.
struct Step {
    unsigned factor, increment;
};

struct Recording {
    int hive, air, steps;  // the hive, what the air is like, and how long the recording is filtered
    std::vector<unsigned> samples;
};

/// What a night is like.
struct Night {
    int other_hive;  // recordings until a row turns to another hive, on average
    int other_air;   // recordings until the air has changed, on average
    int longer;      // recordings until one is twice as long, on average
    int hour;        // recordings in an hour
    int blocks;      // of kThreads samples in a usual recording
};

Night night_of(std::mt19937& random) {
    const auto average = [&random] { return 1 << random() % 6; };
    return {average(), average(), average(), 4 << random() % 4, 4 << random() % 8};
}

/// `steps` steps as a single one, by squaring, as a reference.
Step all_at_once(Step step, int steps) {
    Step all{1, 0};
    for (; steps > 0; steps /= 2) {
        if (steps % 2) all = {step.factor * all.factor, step.factor * all.increment + step.increment};
        step = {step.factor * step.factor, step.factor * step.increment + step.increment};
    }
    return all;
}

__host__ __device__ unsigned filtered(unsigned x, unsigned factor, int steps) {
    for (int step = 0; step < steps; ++step) x = factor * x + 1;
    return x;
}

/// What damp air does to sound; 8n + 5 gives the longest period.
__host__ __device__ unsigned factor_of(unsigned air) {
    return filtered(air, 5, kAirSteps) / 8 * 8 + 5;
}

__global__ void measure_air(int air, unsigned* factor) {
    *factor = factor_of(air);
}

/// One thread per sample. The sum of a recording is added to what the hive hums.
__global__ void listen(const unsigned* samples, const unsigned* factor, int steps, unsigned* hum) {
    using BlockReduce = cub::BlockReduce<unsigned, kThreads>;
    __shared__ typename BlockReduce::TempStorage storage;
    const unsigned sample = samples[blockIdx.x * kThreads + threadIdx.x];
    const unsigned sum = BlockReduce(storage).Sum(filtered(sample, *factor, steps));
    if (threadIdx.x == 0) atomicAdd(hum, sum);
}

/// Adds what a hive has hummed to its account.
__global__ void note(unsigned* hum, unsigned* account) {
    *account += *hum;
}

/// The sum of all that has been heard so far.
__global__ void sum_up(const unsigned* hums, const unsigned* accounts, unsigned* sum) {
    *sum = 0;
    for (int row = 0; row < kRows; ++row) *sum += hums[row];
    for (int hive = 0; hive < kHives; ++hive) *sum += accounts[hive];
}

class Apiary {
  public:
    /// There is room for a recording of `length` samples in each row, and for the factors of `airs` airs.
    Apiary(int length, int airs) : factors_(device_array<unsigned>(airs)) {
        for (int number = 0; number < kRows; ++number) {
            rows_[number].hive = number * kHivesInRow;
            rows_[number].samples = device_array<unsigned>(rows_[number].length = length);
        }
        CUDA_CHECK(cudaMemset(hums_.get(), 0, kRows * sizeof(unsigned)));
        CUDA_CHECK(cudaMemset(accounts_.get(), 0, kHives * sizeof(unsigned)));
    }

    void hear(const Recording& recording) {
        const int number = recording.hive / kHivesInRow, length = static_cast<int>(recording.samples.size());
        Row& row = rows_[number];
        const cudaStream_t stream = row.stream.get();
        unsigned* const hum = &hums_[number];
        if (recording.air != air_) {
            measure_air<<<1, 1, 0, weather_.get()>>>(recording.air, &factors_[recording.air]);
            CUDA_CHECK(cudaGetLastError());
            air_ = recording.air;
            CUDA_CHECK(cudaEventRecord(measured_.get(), weather_.get()));
        }
        if (length != row.length) row.samples = device_array<unsigned>(row.length = length);
        if (recording.hive != row.hive) {
            note<<<1, 1, 0, stream>>>(hum, &accounts_[row.hive]);
            CUDA_CHECK(cudaGetLastError());
            CUDA_CHECK(cudaMemset(hum, 0, sizeof(unsigned)));
            row.hive = recording.hive;
        }
        CUDA_CHECK(cudaMemcpyAsync(row.samples.get(), recording.samples.data(), length * sizeof(unsigned),
                                   cudaMemcpyHostToDevice, stream));
        CUDA_CHECK(cudaStreamWaitEvent(stream, measured_.get()));
        listen<<<length / kThreads, kThreads, 0, stream>>>(row.samples.get(), &factors_[recording.air],
                                                           recording.steps, hum);
        CUDA_CHECK(cudaGetLastError());
    }

    [[nodiscard]] unsigned sum() {
        unsigned sum = 0;
        sum_up<<<1, 1>>>(hums_.get(), accounts_.get(), sum_.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemcpy(&sum, sum_.get(), sizeof(unsigned), cudaMemcpyDeviceToHost));
        return sum;
    }

  private:
    struct Row {
        Stream stream = make_stream();
        std::unique_ptr<unsigned[], DeviceFree> samples;
        int length = 0, hive = 0;
    };

    Row rows_[kRows];
    Stream weather_ = make_stream();
    Event measured_ = make_event(cudaEventDisableTiming);
    int air_ = -1;
    std::unique_ptr<unsigned[], DeviceFree> factors_, hums_ = device_array<unsigned>(kRows),
                                                      accounts_ = device_array<unsigned>(kHives),
                                                      sum_ = device_array<unsigned>(1);
};

/// What is recorded in a night. The rows are heard in turn.
std::vector<Recording> recordings_of(const Night& night, int count, int steps, std::mt19937& random) {
    std::vector<Recording> recordings(count);
    int air = 0, hives[kRows] = {};  // the hive of its row that is heard
    for (int i = 0; i < count; ++i) {
        int& hive = hives[i % kRows];
        if (random() % night.other_hive == 0)
            hive = (hive + 1 + static_cast<int>(random() % (kHivesInRow - 1))) % kHivesInRow;
        if (random() % night.other_air == 0) ++air;
        const int blocks = (random() % night.longer == 0 ? 2 : 1) * night.blocks;
        recordings[i] = {i % kRows * kHivesInRow + hive, air,
                         steps / 2 + static_cast<int>(random() % (steps + 1)),
                         std::vector<unsigned>(size_t{kThreads} * blocks)};
        for (unsigned& sample : recordings[i].samples) sample = static_cast<unsigned>(random());
    }
    return recordings;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Listens to beehives, with a stream for each row of them.");
    const int count = static_cast<int>(options.integer("--recordings", 48, 1, 4096, "recordings"));
    const int steps = static_cast<int>(options.integer("--steps", 300'000, 1, 1'000'000, "steps on average"));
    const auto seed = static_cast<unsigned>(options.integer("--seed", 202148, 0, 1'000'000, "of the night"));
    options.done();
    require_gpu(1 << 24);

    std::mt19937 random(seed);
    const Night night = night_of(random);
    const std::vector<Recording> recordings = recordings_of(night, count, steps, random);
    const auto hour_ends = [&](int i) { return (i + 1) % night.hour == 0 || i + 1 == count; };
    std::vector<unsigned> expected, found;
    unsigned heard = 0;
    for (int i = 0; i < count; ++i) {
        const Step all = all_at_once({factor_of(recordings[i].air), 1}, recordings[i].steps);
        for (const unsigned sample : recordings[i].samples) heard += all.factor * sample + all.increment;
        if (hour_ends(i)) expected.push_back(heard);
    }

    Apiary apiary(kThreads * night.blocks, recordings.back().air + 1);
    {
        nvtx3::scoped_range range{"warm-up"};
        Apiary other(kThreads * night.blocks, 1);
        // It has to outlive its copies.
        Recording silence{0, 0, 0, std::vector<unsigned>(size_t{kThreads} * night.blocks)};
        for (; silence.hive < kHives; ++silence.hive) other.hear(silence);
        (void)other.sum();
    }

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"night"};
        for (int i = 0; i < count; ++i) {
            apiary.hear(recordings[i]);
            if (hour_ends(i)) found.push_back(apiary.sum());
        }
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    size_t wrong = 0;
    for (size_t hour = 0; hour < expected.size(); ++hour)
        if (found[hour] != expected[hour] && ++wrong == 1)
            std::printf("hour %zu: expected sum %u, found %u\n", hour, expected[hour], found[hour]);
    std::printf("%d recordings of %d rows: %.2f ms\n", count, kRows, elapsed.count());
    std::printf("wrong sums: expected 0, found %zu of %zu\n", wrong, expected.size());
    return wrong == 0 ? 0 : 1;
}
