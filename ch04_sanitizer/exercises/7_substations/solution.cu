// Measures the energy in batches of readings that substations send. `square` writes the squares of a batch to
// memory from CUDA's memory pool, and `add_up` adds them up. What is done besides depends on the batch: some
// are audited, in some the strongest readings are marked and counted, others are added up in parts. Each
// takes memory of its own.
//
// Right: the stream that gives a batch in parts back comes after each stream that uses it.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. -Xcompiler=-rdynamic solution.cu -o solution
//          (in this folder)
// look:    compute-sanitizer --tool memcheck --leak-check full --track-stream-ordered-races all ./solution
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256, kSums = 4 * kThreads;  // threads of a block; partial sums in a row
constexpr int kBatches = 10, kLanes = 2, kRows = 3;  // rows of sums: a batch has up to three
constexpr int kPart = 30'000;                        // readings of a part, at most
constexpr int kShort = 10'000;  // marking fewer readings takes less time than a wait for another stream
constexpr float kStrong = 0.9F, kStronger = 0.98F;

__global__ void square(const float* readings, float* squares, int count) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) squares[i] = readings[i] * readings[i];
}

/// Each thread adds up every kSums-th number from its own on.
template <class T>
__global__ void add_up(const T* numbers, float* sums, int count) {
    const int first = blockIdx.x * kThreads + threadIdx.x;
    float sum = 0;
    for (int i = first; i < count; i += kSums) sum += numbers[i];
    sums[first] = sum;
}

__global__ void mark(const float* squares, char* marks, int count, float level) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) marks[i] = squares[i] > level;
}

enum class Kind { plain, marked, parted };

struct Batch {
    Kind kind;
    bool is_audited;      // a plain one: it's added up twice, and the sums are compared
    bool is_calm;         // none of its readings is strong
    bool has_two_levels;  // a marked one: the readings above kStronger are counted, too
    std::vector<float> readings;

    [[nodiscard]] int count() const { return static_cast<int>(readings.size()); }
};

/// A stream, and an event that marks what it has been given so far.
struct Lane {
    Stream stream = make_stream(cudaStreamNonBlocking);
    Event reached = make_event(cudaEventDisableTiming);

    [[nodiscard]] cudaStream_t get() const { return stream.get(); }
    /// What this lane is given from now on comes after all that `other` has been given until now.
    void follow(const Lane& other) const {
        CUDA_CHECK(cudaEventRecord(other.reached.get(), other.get()));
        CUDA_CHECK(cudaStreamWaitEvent(get(), other.reached.get()));
    }
};

struct Lanes {
    Lane squaring, adding[kLanes];
};

template <class T>
T* take(int count, const Lane& lane) {
    void* memory = nullptr;
    CUDA_CHECK(cudaMallocAsync(&memory, count * sizeof(T), lane.get()));
    return static_cast<T*>(memory);
}

void launch_square(const float* readings, float* squares, int count, const Lane& lane) {
    square<<<(count + kThreads - 1) / kThreads, kThreads, 0, lane.get()>>>(readings, squares, count);
    CUDA_CHECK(cudaGetLastError());
}

template <class T>
void launch_add_up(const T* numbers, float* sums, int count, const Lane& lane) {
    add_up<<<kSums / kThreads, kThreads, 0, lane.get()>>>(numbers, sums, count);
    CUDA_CHECK(cudaGetLastError());
}

void launch_mark(const float* squares, char* marks, int count, float level, const Lane& lane) {
    mark<<<(count + kThreads - 1) / kThreads, kThreads, 0, lane.get()>>>(squares, marks, count, level);
    CUDA_CHECK(cudaGetLastError());
}

// Three functions of their own, so that backtraces can name them. `sums` has room for kRows rows.

__attribute__((noinline)) void work_on_plain(const float* readings, const Batch& batch, float* sums,
                                             Lanes& lanes) {
    const int count = batch.count();
    float* const squares = take<float>(count, lanes.squaring);
    launch_square(readings, squares, count, lanes.squaring);
    for (const Lane& lane : lanes.adding) lane.follow(lanes.squaring);
    launch_add_up(squares, sums, count, lanes.adding[0]);
    if (batch.is_audited) launch_add_up(squares, &sums[kSums], count, lanes.adding[1]);
    CUDA_CHECK(cudaFreeAsync(squares, lanes.adding[0].get()));
}

__attribute__((noinline)) void work_on_marked(const float* readings, const Batch& batch, float* sums,
                                              Lanes& lanes) {
    const int count = batch.count();
    const Lane& marking = count < kShort ? lanes.squaring : lanes.adding[1];
    float* const squares = take<float>(count, lanes.squaring);
    char* const marks = take<char>(count, lanes.adding[1]);
    launch_square(readings, squares, count, lanes.squaring);
    for (const Lane& lane : lanes.adding) lane.follow(lanes.squaring);
    launch_add_up(squares, sums, count, lanes.adding[0]);
    if (batch.is_calm) {
        CUDA_CHECK(cudaFreeAsync(squares, lanes.adding[0].get()));
        return;
    }
    launch_mark(squares, marks, count, kStrong, marking);
    lanes.adding[0].follow(marking);
    CUDA_CHECK(cudaFreeAsync(squares, lanes.adding[0].get()));
    launch_add_up(marks, &sums[kSums], count, lanes.adding[0]);
    if (batch.has_two_levels) {
        launch_mark(squares, marks, count, kStronger, lanes.adding[0]);
        launch_add_up(marks, &sums[2 * kSums], count, lanes.adding[0]);
    }
    CUDA_CHECK(cudaFreeAsync(marks, lanes.adding[0].get()));
}

__attribute__((noinline)) void work_on_parted(const float* readings, const Batch& batch, float* sums,
                                              Lanes& lanes) {
    const int count = batch.count();
    float* const squares = take<float>(count, lanes.squaring);
    launch_square(readings, squares, count, lanes.squaring);
    const int parts = (count + kPart - 1) / kPart, each = (count + parts - 1) / parts;
    for (int part = 0; part < parts; ++part) {
        const int begin = part * each;
        lanes.adding[part].follow(lanes.squaring);
        launch_add_up(&squares[begin], &sums[part * kSums], std::min(each, count - begin),
                      lanes.adding[part]);
    }
    for (const Lane& lane : lanes.adding) lanes.squaring.follow(lane);
    CUDA_CHECK(cudaFreeAsync(squares, lanes.squaring.get()));
}

/// What a day's batches are like: one in so many, on average.
struct Day {
    unsigned audited, calm, with_two_levels;
    unsigned shorter;  // has fewer than kShort readings
    unsigned longer;   // has more than kPart
};

Day day_of(std::mt19937& random) {
    const auto average = [&random] { return 2U << random() % 5; };
    return {average(), average(), average(), average(), average()};
}

Batch draw_batch(const Day& day, std::mt19937& random) {
    const auto below = [&random](int end) { return static_cast<int>(random() % end); };
    const auto one_in = [&random](unsigned average) { return random() % average == 0; };
    Batch batch{};
    batch.kind = static_cast<Kind>(below(3));
    batch.is_audited = one_in(day.audited);
    batch.is_calm = one_in(day.calm);
    batch.has_two_levels = one_in(day.with_two_levels);
    int count = kShort + below(kPart - kShort);
    if (one_in(day.shorter)) count = 1 + below(kShort - 1);
    if (one_in(day.longer)) count = kPart + 1 + below(kPart);
    batch.readings.resize(count);
    const float most = batch.is_calm ? 0.5F : 1;
    for (float& reading : batch.readings) reading = most * (static_cast<float>(below(2001)) / 1000 - 1);
    return batch;
}

/// Prints what a batch's energy should be, and what the sums make of it; whether they agree, and the counts
/// of marks and the audit with them.
bool show(int number, const Batch& batch, const float* sums) {
    double expected = 0, row[kRows] = {};
    int strong = 0, stronger = 0;
    for (const float reading : batch.readings) {
        expected += static_cast<double>(reading) * reading;
        strong += reading * reading > kStrong;
        stronger += reading * reading > kStronger;
    }
    for (int i = 0; i < kRows * kSums; ++i) row[i / kSums] += sums[i];
    const double found = batch.kind == Kind::parted ? row[0] + row[1] : row[0];
    std::printf("batch %d: %d readings; expected %.3f, found %.3f\n", number, batch.count(), expected, found);
    bool right = std::fabs(found - expected) <= 1e-4 * expected;
    if (batch.kind == Kind::plain && batch.is_audited) right = right && row[1] == row[0];
    if (batch.kind == Kind::marked) right = right && row[1] == strong;
    if (batch.kind == Kind::marked && batch.has_two_levels) right = right && row[2] == stronger;
    return right;
}

/// Lets the device's memory pool keep what is freed, for the next batch; by default it goes back to the
/// driver when the host waits. Ends the program with exit code 77 where there are no memory pools.
void keep_freed_memory() {
    int supported = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    if (!supported) {
        std::fprintf(stderr, "no suitable GPU: it has no memory pools\n");
        std::exit(77);
    }
    cudaMemPool_t pool = nullptr;
    CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    uint64_t bytes_to_keep = UINT64_MAX;
    CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes_to_keep));
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Measures the energy of batches of readings, with memory from a pool.");
    const auto seed = static_cast<unsigned>(options.integer("--seed", 1890, 0, 1'000'000, "of the day"));
    options.done();
    require_gpu(size_t{64} << 20);
    keep_freed_memory();

    std::mt19937 random(seed);
    std::vector<Batch> batches;
    const Day day = day_of(random);
    for (int i = 0; i < kBatches; ++i) batches.push_back(draw_batch(day, random));
    constexpr size_t kSumsBytes = kRows * kSums * sizeof(float);
    const auto sums = pinned_array<float>(kRows * kSums);
    const auto readings = device_array<float>(2 * kPart), device_sums = device_array<float>(kRows * kSums);
    Lanes lanes;
    int wrong = 0;
    {
        nvtx3::scoped_range range{"energy"};
        for (int i = 0; i < kBatches; ++i) {
            const Batch& batch = batches[i];
            CUDA_CHECK(cudaMemcpyAsync(readings.get(), batch.readings.data(), batch.count() * sizeof(float),
                                       cudaMemcpyHostToDevice, lanes.squaring.get()));
            CUDA_CHECK(cudaMemsetAsync(device_sums.get(), 0, kSumsBytes, lanes.squaring.get()));
            const auto work = batch.kind == Kind::plain    ? work_on_plain
                              : batch.kind == Kind::marked ? work_on_marked
                                                           : work_on_parted;
            work(readings.get(), batch, device_sums.get(), lanes);
            lanes.adding[0].follow(lanes.adding[1]);
            CUDA_CHECK(cudaMemcpyAsync(sums.get(), device_sums.get(), kSumsBytes, cudaMemcpyDeviceToHost,
                                       lanes.adding[0].get()));
            CUDA_CHECK(cudaStreamSynchronize(lanes.adding[0].get()));
            wrong += !show(i + 1, batch, sums.get());
        }
    }
    std::printf("wrong batches: expected 0, found %d of %d\n", wrong, kBatches);
    return wrong == 0 ? 0 : 1;
}
