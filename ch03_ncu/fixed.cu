// Adds two arrays, c = a + b: a small pair of half a million numbers, and a large pair that fits no cache.
//
// Right: the literal 0.0f makes the numbers float, on the host and, because the type is deduced from there,
// in the kernel too. Half as many bytes move, and no thread executes an FP64 instruction.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I. ch03_ncu/fixed.cu -o fixed
// look:    ncu -k vecadd --launch-skip 1 --launch-count 4 --set full -f -o fixed ./fixed
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256, kPerThread = 4;
constexpr int kSmallLaunches = 3, kLargeLaunches = 15;

/// Room for `count` numbers in host memory.
auto host_numbers(size_t count) {
    return std::vector(count, 0.0f);
}
using Number = decltype(host_numbers(0))::value_type;

/// Each thread adds four numbers, and loads all of them first: enough bytes in flight to keep DRAM busy.
__global__ void vecadd(const Number* __restrict__ a, const Number* __restrict__ b, Number* __restrict__ c,
                       size_t count) {
    const size_t first = size_t(blockIdx.x) * kThreads * kPerThread + threadIdx.x;
    Number x[kPerThread] = {}, y[kPerThread] = {};
    for (int k = 0; k < kPerThread; ++k) {
        const size_t i = first + k * kThreads;
        if (i < count) x[k] = a[i], y[k] = b[i];
    }
    for (int k = 0; k < kPerThread; ++k) {
        const size_t i = first + k * kThreads;
        if (i < count) c[i] = x[k] + y[k];
    }
}

/// As many numbers as one load of a thread can bring: 16 bytes of them.
struct alignas(16) Pack {
    static constexpr size_t kNumbers = 16 / sizeof(Number);
    Number numbers[kNumbers];
};

/// The roof: a triad over the same numbers, c = a + 3 b, one pack per thread, as STREAM does it.
__global__ void triad(const Pack* __restrict__ a, const Pack* __restrict__ b, Pack* __restrict__ c,
                      size_t count) {
    const size_t i = size_t(blockIdx.x) * kThreads + threadIdx.x;
    if (i >= count) return;
    const Pack x = a[i], y = b[i];
    Pack sum;
    for (size_t k = 0; k < Pack::kNumbers; ++k) sum.numbers[k] = x.numbers[k] + 3 * y.numbers[k];
    c[i] = sum;
}

/// Random numbers from 0 to 1, from a generator that costs one multiplication per number.
class Random {
  public:
    explicit Random(uint64_t seed) : random_(seed) {}
    float next() { return static_cast<float>(random_() >> 40) / (1 << 24); }

  private:
    std::linear_congruential_engine<uint64_t, 6364136223846793005, 1442695040888963407, 0> random_;
};

unsigned blocks_for(size_t count, size_t per_block) {
    return static_cast<unsigned>((count + per_block - 1) / per_block);
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Adds two small and two large arrays of random numbers on the GPU.");
    const size_t small = options.integer("--small", 500'000, 1, 200'000'000, "numbers in a small array");
    const size_t large =
        options.integer("--large", 64'000'000, 1'000, 200'000'000, "numbers in a large array");
    options.done();
    const size_t most = std::max(small, large);
    require_gpu(3 * most * sizeof(Number));

    auto host = host_numbers(most);
    const auto a = device_array<Number>(most), b = device_array<Number>(most), c = device_array<Number>(most);
    uint64_t seed = 31;
    for (Number* const array : {a.get(), b.get()}) {
        Random random(seed++);
        for (Number& number : host) number = random.next();
        CUDA_CHECK(cudaMemcpy(array, host.data(), most * sizeof(Number), cudaMemcpyHostToDevice));
    }

    const auto add = [&](size_t count) {
        vecadd<<<blocks_for(count, kThreads * kPerThread), kThreads>>>(a.get(), b.get(), c.get(), count);
        CUDA_CHECK(cudaGetLastError());
    };
    // A pack is made of numbers, so the triad, too, reads and writes numbers as numbers.
    const auto packs_of = [](const auto& numbers) { return reinterpret_cast<Pack*>(numbers.get()); };
    const size_t packs = large / Pack::kNumbers;
    const auto measure_roof = [&] {
        triad<<<blocks_for(packs, kThreads), kThreads>>>(packs_of(a), packs_of(b), packs_of(c), packs);
        CUDA_CHECK(cudaGetLastError());
    };
    const auto wrong_sums = [&](size_t count) {
        CUDA_CHECK(cudaMemcpy(host.data(), c.get(), count * sizeof(Number), cudaMemcpyDeviceToHost));
        Random random_a(31), random_b(32);
        size_t wrong = 0;
        for (size_t i = 0; i < count; ++i) {
            const double expected = double{random_a.next()} + random_b.next();
            wrong += !(std::fabs(host[i] - expected) <= 1e-7 * expected);
        }
        return wrong;
    };

    {
        nvtx3::scoped_range range{"warm-up"};
        add(large);
        measure_roof();
        // This must not pass for an answer: bytes of 0xFF are a NaN.
        CUDA_CHECK(cudaMemset(c.get(), 0xFF, most * sizeof(Number)));
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    {
        nvtx3::scoped_range range{"small"};
        for (int launch = 0; launch < kSmallLaunches; ++launch) add(small);
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const size_t wrong_small = wrong_sums(small);
    {
        nvtx3::scoped_range range{"roof"};
        for (int launch = 0; launch < kLargeLaunches; ++launch) measure_roof();
        CUDA_CHECK(cudaMemset(c.get(), 0xFF, most * sizeof(Number)));
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    {
        nvtx3::scoped_range range{"large"};
        for (int launch = 0; launch < kLargeLaunches; ++launch) add(large);
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const size_t wrong_large = wrong_sums(large);

    const double expected = double{Random(31).next()} + Random(32).next();
    std::printf("first sum: expected %.6f, found %.6f\n", expected, static_cast<double>(host[0]));
    std::printf("%zu of %zu small sums wrong, %zu of %zu large sums wrong\n", wrong_small, small, wrong_large,
                large);
    return wrong_small + wrong_large == 0 ? 0 : 1;
}
