// Lets savings grow: every account starts with a random sum, and every month adds interest to it.
//
// Symptom: the balances are right, every checked call succeeds, and it takes as long as without a GPU.
// Task: find out why, make the program say so by itself, and let the GPU do all of the work.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr float kMonthlyRate = 0.0025f;
constexpr float kNotComputed = -1;  // no balance is negative

__host__ __device__ float grown(float deposit, int months) {
    for (int month = 0; month < months; ++month) deposit += kMonthlyRate * deposit;
    return deposit;
}

/// One thread per account.
__global__ void add_interest(const float* deposits, float* balances, int accounts, int months) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < accounts) balances[i] = grown(deposits[i], months);
}

__global__ void mark_as_not_computed(float* balances, int accounts) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < accounts) balances[i] = kNotComputed;
}

/// Each thread takes one account, so there must be as many threads as accounts, or a few more.
void start_on_gpu(const float* deposits, float* balances, int accounts, int months, int threads) {
    // TODO(learner): what becomes of this launch, and what would tell you?
    const int blocks = (accounts + threads - 1) / threads;
    add_interest<<<blocks, threads>>>(deposits, balances, accounts, months);
}

/// For machines whose GPU can't do it: computes what hasn't been computed. Returns for how many accounts.
int compute_the_rest(const std::vector<float>& deposits, std::vector<float>& balances, int months) {
    nvtx3::scoped_range range{"host fallback"};
    int computed = 0;
    for (size_t i = 0; i < balances.size(); ++i) {
        if (balances[i] != kNotComputed) continue;
        balances[i] = grown(deposits[i], months);
        ++computed;
    }
    return computed;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Adds monthly interest to accounts with random deposits.");
    const int accounts = options.integer("--accounts", 1'000'003, 1, 100'000'000, "accounts");
    const int months = options.integer("--months", 360, 0, 1200, "months");
    const int threads = options.integer("--threads", 2048, 32, 4096, "threads in a block");
    options.done();
    const size_t bytes = accounts * sizeof(float);
    require_gpu(2 * bytes);

    std::mt19937 random(1);
    std::vector<float> deposits(accounts), balances(accounts);
    for (float& deposit : deposits) deposit = 100 + static_cast<float>(random() % 100'000) / 100;
    const auto device_deposits = device_array<float>(accounts),
               device_balances = device_array<float>(accounts);
    {
        nvtx3::scoped_range range{"warm-up"};
        mark_as_not_computed<<<(accounts + 255) / 256, 256>>>(device_balances.get(), accounts);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"interest"};
        CUDA_CHECK(cudaMemcpy(device_deposits.get(), deposits.data(), bytes, cudaMemcpyHostToDevice));
        start_on_gpu(device_deposits.get(), device_balances.get(), accounts, months, threads);
        CUDA_CHECK(cudaMemcpy(balances.data(), device_balances.get(), bytes, cudaMemcpyDeviceToHost));
    }
    if (balances.back() == kNotComputed) compute_the_rest(deposits, balances, months);
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    double expected_total = 0, found_total = 0;
    int wrong = 0;
    for (int i = 0; i < accounts; ++i) {
        const double expected = deposits[i] * std::pow(1 + double{kMonthlyRate}, months);
        expected_total += expected;
        found_total += balances[i];
        wrong += !(std::fabs(balances[i] - expected) <= 1e-4 * expected);
    }
    std::printf("%d accounts after %d months: %.2f ms\n", accounts, months, elapsed.count());
    std::printf("all balances: expected %.0f, found %.0f; %d of %d accounts wrong\n", expected_total,
                found_total, wrong, accounts);
    return wrong == 0 ? 0 : 1;
}
