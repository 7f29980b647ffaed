// Capacitors lose a little of their charge in every step. After each step, the energy that is left in all of
// them goes into a log, as a line of text.
//
// Right: each step leaves its energy in an array on the GPU. The array is copied back once, after the last
// step, and the log is written then.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <cub/block/block_reduce.cuh>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 1024;
constexpr float kLoss = 1.0f / 1024;  // share of the voltage lost per step

/// One thread per capacitor.
__global__ void lose_charge(float* volts, int capacitors) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < capacitors) volts[i] -= kLoss * volts[i];
}

/// One block adds up half the square of every voltage: the energy in joules at a capacitance of 1 farad.
__global__ void add_energy(const float* volts, int capacitors, double* joules) {
    using BlockReduce = cub::BlockReduce<double, kThreads>;
    __shared__ BlockReduce::TempStorage storage;
    float mine = 0;
    for (int i = threadIdx.x; i < capacitors; i += kThreads) mine += 0.5f * volts[i] * volts[i];
    const double sum = BlockReduce(storage).Sum(mine);  // thread 0 has it
    if (threadIdx.x == 0) *joules = sum;
}

void write_line(std::vector<std::string>& log, int step, double joules) {
    char line[64];
    std::snprintf(line, sizeof(line), "step %d: %.9g J", step, joules);
    log.push_back(line);
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Logs the energy of capacitors that lose charge step by step.");
    const int capacitors = options.integer("--capacitors", 50'021, 1, 10'000'000, "capacitors");
    const int steps = options.integer("--steps", 307, 1, 40'000, "steps");
    options.done();
    require_gpu(capacitors * sizeof(float) + steps * sizeof(double));

    std::mt19937 random(2);
    std::vector<float> volts(capacitors);
    double first_joules = 0;
    for (float& v : volts) {
        v = 1 + static_cast<float>(random() % 9000) / 1000;
        first_joules += 0.5 * v * v;
    }
    const auto device_volts = device_array<float>(capacitors);
    const auto device_joules = device_array<double>(steps);
    const int blocks = (capacitors + kThreads - 1) / kThreads;
    double joules = 0;
    {
        nvtx3::scoped_range range{"warm-up"};
        lose_charge<<<blocks, kThreads>>>(device_volts.get(), 0);
        CUDA_CHECK(cudaGetLastError());
        add_energy<<<1, kThreads>>>(device_volts.get(), 0, device_joules.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemcpy(&joules, device_joules.get(), sizeof(double), cudaMemcpyDeviceToHost));
        CUDA_CHECK(
            cudaMemcpy(device_volts.get(), volts.data(), capacitors * sizeof(float), cudaMemcpyHostToDevice));
    }

    std::vector<std::string> log;
    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"discharge"};
        for (int step = 1; step <= steps; ++step) {
            lose_charge<<<blocks, kThreads>>>(device_volts.get(), capacitors);
            CUDA_CHECK(cudaGetLastError());
            add_energy<<<1, kThreads>>>(device_volts.get(), capacitors, &device_joules[step - 1]);
            CUDA_CHECK(cudaGetLastError());
        }
        std::vector<double> all_joules(steps);
        CUDA_CHECK(cudaMemcpy(all_joules.data(), device_joules.get(), steps * sizeof(double),
                              cudaMemcpyDeviceToHost));
        for (int step = 1; step <= steps; ++step) write_line(log, step, all_joules[step - 1]);
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    int wrong = 0;
    double expected = first_joules, found = 0;
    for (int step = 1; step <= steps; ++step) {
        int logged = 0;
        expected *= (1 - double{kLoss}) * (1 - double{kLoss});
        found = NAN;
        if (step <= static_cast<int>(log.size()))
            std::sscanf(log[step - 1].c_str(), "step %d: %lf J", &logged, &found);
        wrong += !(logged == step && std::fabs(found - expected) <= 1e-4 * expected);
    }
    std::printf("%d capacitors, %d steps: %.2f ms\n", capacitors, steps, elapsed.count());
    std::printf("last step: expected %.6g J, found %.6g J; lines: expected %d, found %zu; %d of them wrong\n",
                expected, found, steps, log.size(), wrong);
    return wrong == 0 && log.size() == static_cast<size_t>(steps) ? 0 : 1;
}
