// Processes a telescope's spectra of one night. A table turns the camera's readings into brightness. Each
// spectrum is smoothed and scaled to a level of 1. A series gives the depth at each channel, and a search
// finds the deepest channel of each spectrum.
//
// Symptom: some nights take longer than others, up to several times, though they have as many readings.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;
constexpr int kReadingBits = 24;  // of which the upper 12 choose a gain and an offset
constexpr int kCodeBits = 12;
constexpr int kTerms = 128;      // of the series
constexpr int kFloatDigits = 7;  // that a float holds

// ---- what a night looks like -----------------------------------------------------------------------------

/// How long spectra are, and how the program is set up for them.
struct Night {
    int channels;    // of a spectrum
    int table_bits;  // of a reading, by which its gain is looked up
    int digits;      // that the astronomers want
    int in_a_block;  // spectra that a block searches, one after the other
};

Night draw_night(std::mt19937& random) {
    Night night;
    night.channels = 2000 + random() % 14'000;
    night.table_bits = kCodeBits + random() % (kReadingBits - kCodeBits + 1);
    night.digits = 3 + random() % 10;
    night.in_a_block = 1 << random() % 9;
    return night;
}

// ---- kernels ---------------------------------------------------------------------------------------------

/// How a reading becomes brightness.
struct Gain {
    float factor, offset;
};

__host__ __device__ float brightness(unsigned reading, Gain gain) {
    return gain.offset + gain.factor * (reading & ((1u << kCodeBits) - 1));
}

/// For `values` elements of each array. The upper bits of a reading choose the entry of the table.
__global__ void convert(const unsigned* readings, const Gain* table, int shift, float* bright, int values) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < values) bright[i] = brightness(readings[i], table[readings[i] >> shift]);
}

/// What `merge` makes of a number of each thread of the block, for all of them.
template <class T, class Merge>
__device__ T over_block(T mine, Merge merge) {
    __shared__ T all[kThreads];
    all[threadIdx.x] = mine;
    for (int half = kThreads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) all[threadIdx.x] = merge(all[threadIdx.x], all[threadIdx.x + half]);
    }
    __syncthreads();
    const T result = all[0];
    __syncthreads();  // before the array is used again
    return result;
}

__device__ float sum_over_block(float mine) {
    return over_block(mine, [](float a, float b) { return a + b; });
}

/// A channel and its two neighbours.
__host__ __device__ float smoothed(const float* spectrum, int i, int channels) {
    return 0.25f * spectrum[i > 0 ? i - 1 : 0] + 0.5f * spectrum[i] +
           0.25f * spectrum[i + 1 < channels ? i + 1 : i];
}

/// A block for each spectrum, which is in shared memory meanwhile: smoothed, and divided by its mean.
__global__ void flatten(const float* bright, float* flat, int channels) {
    extern __shared__ float spectrum[];
    const size_t first = size_t{blockIdx.x} * channels;
    for (int i = threadIdx.x; i < channels; i += kThreads) spectrum[i] = bright[first + i];
    __syncthreads();
    float sum = 0;
    for (int i = threadIdx.x; i < channels; i += kThreads) sum += smoothed(spectrum, i, channels);
    const float scale = channels / sum_over_block(sum);
    for (int i = threadIdx.x; i < channels; i += kThreads)
        flat[first + i] = scale * smoothed(spectrum, i, channels);
}

/// The same in three kernels, for spectra of any length: one block per spectrum.
__global__ void smooth(const float* bright, float* smooth_bright, int channels) {
    const size_t first = size_t{blockIdx.x} * channels;
    for (int i = threadIdx.x; i < channels; i += kThreads)
        smooth_bright[first + i] = smoothed(bright + first, i, channels);
}

__global__ void level(const float* smooth_bright, float* scales, int channels) {
    const size_t first = size_t{blockIdx.x} * channels;
    float sum = 0;
    for (int i = threadIdx.x; i < channels; i += kThreads) sum += smooth_bright[first + i];
    sum = sum_over_block(sum);
    if (threadIdx.x == 0) scales[blockIdx.x] = channels / sum;
}

__global__ void scale(const float* smooth_bright, const float* scales, float* flat, int channels) {
    const size_t first = size_t{blockIdx.x} * channels;
    for (int i = threadIdx.x; i < channels; i += kThreads)
        flat[first + i] = scales[blockIdx.x] * smooth_bright[first + i];
}

/// The sum of the powers of x / 4.
template <class Number>
__device__ Number series(Number x) {
    const Number z = x * Number(0.25);
    Number sum = 1;
    for (int term = 0; term < kTerms; ++term) sum = sum * z + 1;
    return sum;
}

__global__ void fit(const float* flat, float* depths, int values, int digits) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= values) return;
    if (digits > kFloatDigits)
        depths[i] = static_cast<float>(series<double>(flat[i]));
    else
        depths[i] = series<float>(flat[i]);
}

struct Deepest {
    float depth;
    int channel;
};

/// The deepest channel of each spectrum, and the mean of its depths.
__global__ void search(const float* depths, Deepest* deepest, double* means, int spectra, int channels,
                       int in_a_block) {
    for (int n = blockIdx.x * in_a_block; n < min(spectra, (blockIdx.x + 1) * in_a_block); ++n) {
        Deepest own{0, 0};
        double sum = 0;
        for (int i = threadIdx.x; i < channels; i += kThreads) {
            const float depth = depths[size_t(n) * channels + i];
            if (depth > own.depth) own = {depth, i};
            sum += depth;
        }
        own = over_block(own, [](Deepest a, Deepest b) { return a.depth >= b.depth ? a : b; });
        sum = over_block(sum, [](double a, double b) { return a + b; });
        if (threadIdx.x == 0) deepest[n] = own, means[n] = sum / channels;
    }
}

// ---- the program -----------------------------------------------------------------------------------------

/// A copy of `host` in device memory.
template <class T>
auto on_device(const std::vector<T>& host) {
    auto device = device_array<T>(host.size());
    CUDA_CHECK(cudaMemcpy(device.get(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

template <class T>
std::vector<T> on_host(const T* device, size_t count) {
    std::vector<T> host(count);
    CUDA_CHECK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}

/// Bytes of shared memory that `flatten` may have for a spectrum.
size_t room_for_spectrum() {
    int bytes = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlock, 0));
    return bytes - kThreads * sizeof(float);  // for its sum
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Finds the deepest channel of each spectrum of a night.");
    const int seed = options.integer("--seed", 2050, 0, 1'000'000, "of the night");
    const int most = options.integer("--values", 33'000'000, 1, 200'000'000, "readings, about");
    options.done();
    std::mt19937 random(seed);
    const Night night = draw_night(random);
    const int channels = night.channels, spectra = std::max(1, most / channels);
    const int values = spectra * channels, blocks = (values + kThreads - 1) / kThreads;
    const int table_bits = night.table_bits, in_a_block = night.in_a_block;
    const size_t entries = size_t{1} << table_bits;
    require_gpu(size_t(values) * 5 * sizeof(float) + entries * sizeof(Gain));

    std::vector<Gain> gains(1 << kCodeBits), table(entries);
    for (Gain& gain : gains)
        gain = {(500 + random() % 1000) / 1000.0f / (1 << kCodeBits), 1 + random() % 1000 / 1000.0f};
    for (size_t i = 0; i < entries; ++i) table[i] = gains[i >> (table_bits - kCodeBits)];
    std::vector<unsigned> readings(values);
    for (unsigned& reading : readings) reading = static_cast<unsigned>(random()) >> (32 - kReadingBits);

    const auto device_readings = on_device(readings);
    const auto device_table = on_device(table);
    const auto bright = device_array<float>(values), smooth_bright = device_array<float>(values);
    const auto flat = device_array<float>(values), depths = device_array<float>(values);
    const auto scales = device_array<float>(spectra);
    const auto deepest = device_array<Deepest>(spectra);
    const auto means = device_array<double>(spectra);
    const size_t spectrum_bytes = channels * sizeof(float);
    const bool fits = spectrum_bytes <= room_for_spectrum();

    const auto reduce_night = [&](const char* name) {
        const nvtx3::scoped_range range{name};
        convert<<<blocks, kThreads>>>(device_readings.get(), device_table.get(), kReadingBits - table_bits,
                                      bright.get(), values);
        CUDA_CHECK(cudaGetLastError());
        if (fits) {
            flatten<<<spectra, kThreads, spectrum_bytes>>>(bright.get(), flat.get(), channels);
            CUDA_CHECK(cudaGetLastError());
        } else {
            smooth<<<spectra, kThreads>>>(bright.get(), smooth_bright.get(), channels);
            CUDA_CHECK(cudaGetLastError());
            level<<<spectra, kThreads>>>(smooth_bright.get(), scales.get(), channels);
            CUDA_CHECK(cudaGetLastError());
            scale<<<spectra, kThreads>>>(smooth_bright.get(), scales.get(), flat.get(), channels);
            CUDA_CHECK(cudaGetLastError());
        }
        fit<<<blocks, kThreads>>>(flat.get(), depths.get(), values, night.digits);
        CUDA_CHECK(cudaGetLastError());
        search<<<(spectra + in_a_block - 1) / in_a_block, kThreads>>>(
            depths.get(), deepest.get(), means.get(), spectra, channels, in_a_block);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    reduce_night("warm-up");
    reduce_night("night");

    // The series of so many terms is 1 / (1 - x / 4), to more digits than are compared.
    const std::vector<float> found = on_host(depths.get(), values);
    const std::vector<Deepest> found_deepest = on_host(deepest.get(), spectra);
    const std::vector<double> found_means = on_host(means.get(), spectra);
    const auto off = [](double expected, double is) {
        return !(std::fabs(is - expected) <= 1e-4 * expected);
    };
    int wrong = 0, wrong_spectra = 0;
    std::vector<float> own(channels);
    for (int n = 0; n < spectra; ++n) {
        const size_t first = size_t(n) * channels;
        double mean = 0, mean_depth = 0, largest = 0;
        for (int i = 0; i < channels; ++i)
            own[i] = brightness(readings[first + i], gains[readings[first + i] >> kCodeBits]);
        for (int i = 0; i < channels; ++i) mean += double{smoothed(own.data(), i, channels)} / channels;
        for (int i = 0; i < channels; ++i) {
            const double depth = 1 / (1 - smoothed(own.data(), i, channels) / mean / 4);
            mean_depth += depth / channels;
            largest = std::max(largest, depth);
            if (off(depth, found[first + i]) && ++wrong == 1)
                std::printf("spectrum %d, channel %d: expected %.6f, found %.6f\n", n, i, depth,
                            found[first + i]);
        }
        const Deepest& its = found_deepest[n];
        wrong_spectra += off(mean_depth, found_means[n]) || off(largest, its.depth) || its.channel < 0 ||
                         its.channel >= channels || found[first + its.channel] != its.depth;
    }
    std::printf("%d spectra of %d channels\n", spectra, channels);
    std::printf("wrong depths: expected 0, found %d of %d\n", wrong, values);
    std::printf("wrong spectra: expected 0, found %d of %d\n", wrong_spectra, spectra);
    return wrong + wrong_spectra == 0 ? 0 : 1;
}
