// Converts the temperatures of many weather readings from degrees Celsius to degrees Fahrenheit.
//
// Symptom: the kernel needs one of the eight numbers of a reading, but it fetches all eight from memory.
// Task: lay the readings out on the device as one array for each kind of number, so that the kernel fetches
// only what it needs.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    ncu --section MemoryWorkloadAnalysis_Tables --section SpeedOfLight -f -o starter ./starter
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;

/// One reading, as the weather station sends it.
struct Reading {
    float time, temperature, pressure, humidity, wind, rain, light, voltage;
};

// TODO(learner): these are an array of structs on the device. Make them a struct of arrays.
struct Readings {
    std::unique_ptr<Reading[], DeviceFree> all;
};

Readings upload(const std::vector<Reading>& host) {
    auto device = device_array<Reading>(host.size());
    CUDA_CHECK(cudaMemcpy(device.get(), host.data(), host.size() * sizeof(Reading), cudaMemcpyHostToDevice));
    return {std::move(device)};
}

__global__ void to_fahrenheit(const Reading* readings, float* fahrenheit, size_t count) {
    const size_t i = size_t(blockIdx.x) * kThreads + threadIdx.x;
    if (i < count) fahrenheit[i] = readings[i].temperature * 1.8f + 32;
}

void convert(const Readings& readings, float* fahrenheit, size_t count) {
    const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
    to_fahrenheit<<<blocks, kThreads>>>(readings.all.get(), fahrenheit, count);
    CUDA_CHECK(cudaGetLastError());
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Converts the temperatures of random weather readings.");
    const size_t count = options.integer("--count", 4'000'037, 1, 100'000'000, "readings");
    options.done();
    require_gpu(count * (sizeof(Reading) + sizeof(float)));

    std::vector<Reading> host(count);
    // One multiplication per number. Its upper bits are random.
    std::linear_congruential_engine<uint64_t, 6364136223846793005, 1442695040888963407, 0> random(34);
    const auto draw = [&](float low, float high) {
        return low + (high - low) * static_cast<float>(random() >> 40) / (1 << 24);
    };
    for (size_t i = 0; i < count; ++i)
        host[i] = {static_cast<float>(i), draw(-40, 60), draw(950, 1050), draw(0, 100),
                   draw(0, 40),           draw(0, 20),   draw(0, 1000),   draw(3, 4)};
    const Readings readings = upload(host);
    const auto fahrenheit = device_array<float>(count);

    {
        nvtx3::scoped_range range{"warm-up"};
        convert(readings, fahrenheit.get(), count);
        // Nothing of this may pass for an answer: four bytes of 0xFF are a NaN.
        CUDA_CHECK(cudaMemset(fahrenheit.get(), 0xFF, count * sizeof(float)));
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    {
        nvtx3::scoped_range range{"convert"};
        convert(readings, fahrenheit.get(), count);
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    std::vector<float> found(count);
    CUDA_CHECK(cudaMemcpy(found.data(), fahrenheit.get(), count * sizeof(float), cudaMemcpyDeviceToHost));

    size_t wrong = 0, worst = 0;
    const auto expected = [&](size_t i) { return host[i].temperature * 1.8 + 32; };
    const auto error = [&](size_t i) { return std::fabs(found[i] - expected(i)); };
    for (size_t i = 0; i < count; ++i) {
        wrong += !(error(i) <= 1e-4);
        if (!(error(i) <= error(worst))) worst = i;
    }
    std::printf("reading %zu: expected %.4f, found %.4f degrees; %zu of %zu wrong\n", worst, expected(worst),
                found[worst], wrong, count);
    return wrong == 0 ? 0 : 1;
}
