// Checks soundings that ships send: the depths below a ship along its way, some with a weight for each depth,
// some with the tide at each depth. The ship gets one word back, and its latest good sounding is kept.
//
// Right: what a sounding takes on the GPU has an owner, which gives it back on each way out, also on those
// that someone adds later.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -Xcompiler=-rdynamic -arch=native -I../../.. solution.cu -o solution
// look:    compute-sanitizer --tool memcheck --leak-check full ./solution    (in this folder)
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

using Sum = unsigned long long;
constexpr int kBlocks = 40, kThreads = 256;
constexpr int kShips = 5, kMissing = -1, kSteep = 1000;  // depths and steps between them are in centimeters
constexpr size_t kLong = 20'000, kCoarse = 16;  // depths that need an outline; depths for one number of it
constexpr unsigned kSeed = 2883;

struct Sounding {
    int ship = 0;
    std::vector<int> depths, weights, tides;  // weights and tides may be empty
};
/// What the GPU finds out about a sounding.
struct Totals {
    Sum sum, missing, steepest, different, outline;
};
/// A ship's latest good sounding, on the GPU.
struct Kept {
    int* depths = nullptr;
    size_t count = 0;
};
enum Word { kGood, kDamaged, kTooSteep, kRepeated };
constexpr const char* kWords[] = {"good", "damaged", "too steep", "repeated"};

__global__ void level(int* depths, const int* tides, size_t count) {
    for (size_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += kBlocks * kThreads)
        if (depths[i] != kMissing) depths[i] -= tides[i];
}

__global__ void measure(const int* depths, const int* weights, size_t count, Totals* totals) {
    Sum sum = 0, missing = 0, steepest = 0;
    for (size_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += kBlocks * kThreads) {
        sum += Sum{1} * depths[i] * (weights ? weights[i] : 1);
        missing += depths[i] == kMissing;
        if (i > 0) steepest = max(steepest, Sum{1} * abs(depths[i] - depths[i - 1]));
    }
    atomicAdd(&totals->sum, sum);
    atomicAdd(&totals->missing, missing);
    atomicMax(&totals->steepest, steepest);
}

__global__ void compare(const int* depths, const int* kept, size_t count, Totals* totals) {
    for (size_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += kBlocks * kThreads)
        if (depths[i] != kept[i]) atomicAdd(&totals->different, Sum{1});
}

__global__ void draw(const int* depths, size_t count, int* outline, Totals* totals) {
    for (size_t i = blockIdx.x * kThreads + threadIdx.x; i < count / kCoarse; i += kBlocks * kThreads) {
        outline[i] = depths[i * kCoarse];
        for (size_t k = 1; k < kCoarse; ++k) outline[i] = min(outline[i], depths[i * kCoarse + k]);
        atomicAdd(&totals->outline, Sum{1} * outline[i]);
    }
}

// The functions that take room on the GPU are never inlined, so that backtraces show their names.
[[gnu::noinline]] int* depths_of(const Sounding& sounding) {
    const size_t bytes = sounding.depths.size() * sizeof(int);
    int* depths = nullptr;
    CUDA_CHECK(cudaMalloc(&depths, bytes));
    CUDA_CHECK(cudaMemcpy(depths, sounding.depths.data(), bytes, cudaMemcpyHostToDevice));
    return depths;
}

[[gnu::noinline]] int* weights_of(const Sounding& sounding) {
    const size_t bytes = sounding.weights.size() * sizeof(int);
    if (bytes == 0) return nullptr;
    int* weights = nullptr;
    CUDA_CHECK(cudaMalloc(&weights, bytes));
    CUDA_CHECK(cudaMemcpy(weights, sounding.weights.data(), bytes, cudaMemcpyHostToDevice));
    return weights;
}

[[gnu::noinline]] int* outline_for(size_t count) {
    if (count < kLong) return nullptr;
    int* outline = nullptr;
    CUDA_CHECK(cudaMalloc(&outline, count / kCoarse * sizeof(int)));
    CUDA_CHECK(cudaMemset(outline, 0, count / kCoarse * sizeof(int)));
    return outline;
}

[[gnu::noinline]] void subtract_tides(int* depths, const Sounding& sounding) {
    const size_t count = sounding.tides.size();
    if (count == 0) return;
    int* tides = nullptr;
    CUDA_CHECK(cudaMalloc(&tides, count * sizeof(int)));
    CUDA_CHECK(cudaMemcpy(tides, sounding.tides.data(), count * sizeof(int), cudaMemcpyHostToDevice));
    level<<<kBlocks, kThreads>>>(depths, tides, count);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaFree(tides));
}

void give_back(int* room) {
    if (room) CUDA_CHECK(cudaFree(room));
}

Totals fetch(const Totals* totals) {
    Totals found;
    CUDA_CHECK(cudaMemcpy(&found, totals, sizeof(Totals), cudaMemcpyDeviceToHost));
    return found;
}

/// `totals` is room on the GPU; `kept` is what is kept of the same ship; `sums` adds up what is found.
[[gnu::noinline]] Word check_sounding(const Sounding& sounding, Totals* totals, Kept& kept, Sum& sums) {
    const size_t count = sounding.depths.size();
    CUDA_CHECK(cudaMemset(totals, 0, sizeof(Totals)));
    using Room = std::unique_ptr<int[], DeviceFree>;
    Room depths(depths_of(sounding));
    const Room weights(weights_of(sounding)), outline(outline_for(count));
    subtract_tides(depths.get(), sounding);
    measure<<<kBlocks, kThreads>>>(depths.get(), weights.get(), count, totals);
    CUDA_CHECK(cudaGetLastError());
    const Totals found = fetch(totals);
    if (found.missing > 0) return kDamaged;
    if (found.steepest > kSteep) return kTooSteep;
    if (count == kept.count) {
        compare<<<kBlocks, kThreads>>>(depths.get(), kept.depths, count, totals);
        CUDA_CHECK(cudaGetLastError());
        if (fetch(totals).different == 0) return kRepeated;
    }
    sums += found.sum;
    if (outline) {
        draw<<<kBlocks, kThreads>>>(depths.get(), count, outline.get(), totals);
        CUDA_CHECK(cudaGetLastError());
        sums += fetch(totals).outline;
    }
    give_back(kept.depths);
    kept = {depths.release(), count};
    return kGood;
}

/// A sounding that may lack depths, or have one where the ground seems to jump.
Sounding new_sounding(int ship, std::mt19937& random) {
    Sounding sounding;
    sounding.ship = ship;
    sounding.depths.resize(2000 + random() % 30'000);
    for (int& depth : sounding.depths) depth = static_cast<int>(3000 + random() % 200);
    if (random() % 3 == 0) sounding.weights.resize(sounding.depths.size());
    for (int& weight : sounding.weights) weight = static_cast<int>(1 + random() % 9);
    if (random() % 2 == 0) sounding.tides.resize(sounding.depths.size());
    for (int& tide : sounding.tides) tide = static_cast<int>(random() % 100);
    int& any = sounding.depths[random() % sounding.depths.size()];
    if (const unsigned fault = random() % 6; fault < 2) any = fault == 0 ? kMissing : any + 2 * kSteep;
    return sounding;
}

/// The same on the host, for a ship whose latest good sounding was `good`.
Word expected_word(const Sounding& sounding, const Sounding& good, Sum& sums) {
    const size_t count = sounding.depths.size();
    const auto levelled = [](const Sounding& of, size_t i) {
        return of.depths[i] == kMissing || of.tides.empty() ? of.depths[i] : of.depths[i] - of.tides[i];
    };
    Sum sum = 0, outline = 0;
    bool is_steep = false, is_repeated = count == good.depths.size();
    for (size_t i = 0; i < count; ++i) {
        const int depth = levelled(sounding, i);
        if (sounding.depths[i] == kMissing) return kDamaged;
        if (i > 0) is_steep = is_steep || std::abs(depth - levelled(sounding, i - 1)) > kSteep;
        is_repeated = is_repeated && depth == levelled(good, i);
        sum += Sum{1} * depth * (sounding.weights.empty() ? 1 : sounding.weights[i]);
    }
    if (is_steep) return kTooSteep;
    if (is_repeated) return kRepeated;
    for (size_t i = 0; i < count / kCoarse && count >= kLong; ++i) {
        int least = levelled(sounding, i * kCoarse);
        for (size_t k = 1; k < kCoarse; ++k) least = std::min(least, levelled(sounding, i * kCoarse + k));
        outline += least;
    }
    sums += sum + outline;
    return kGood;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Checks soundings of five ships.");
    const int soundings = static_cast<int>(options.integer("--soundings", 60, 1, 10'000, "soundings sent"));
    options.done();
    require_gpu(size_t{kShips + 4} * 32'000 * sizeof(int));

    const auto totals = device_array<Totals>(1);
    std::mt19937 random(kSeed);
    Sounding latest[kShips], good[kShips];  // sent by each ship
    Kept kept[kShips];
    Sum sums = 0, expected_sums = 0;
    int wrong = 0;
    for (int number = 0; number < soundings; ++number) {
        const int ship = static_cast<int>(random() % kShips);
        const bool again = random() % 5 == 0 && !latest[ship].depths.empty();
        if (!again) latest[ship] = new_sounding(ship, random);
        const Sounding& sounding = latest[ship];
        Word word = kGood;
        {
            nvtx3::scoped_range range{"sounding"};
            word = check_sounding(sounding, totals.get(), kept[ship], sums);
            nvtx3::scoped_range reply{kWords[word]};
        }
        const Word expected = expected_word(sounding, good[ship], expected_sums);
        if (expected == kGood) good[ship] = sounding;
        wrong += word != expected;
    }
    for (Kept& of_ship : kept) give_back(of_ship.depths);
    std::printf("sums of good soundings: expected %llu, found %llu\n", expected_sums, sums);
    std::printf("wrong words: expected 0, found %d of %d\n", wrong, soundings);
    return wrong == 0 && sums == expected_sums ? 0 : 1;
}
