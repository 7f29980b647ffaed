// Answers requests, one after the other: the numbers of a request go to the GPU, which adds them up. A
// request whose numbers are not all finite, or do not add up to the sum that came with it, is turned down.
//
// Right: an owner frees the memory on every way out, also on those that somebody adds later.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -Xcompiler=-rdynamic -arch=native -I../../.. solution.cu -o solution
// look:    compute-sanitizer --tool memcheck --leak-check full ./solution --count 1003    (in this folder)
#include <cub/block/block_reduce.cuh>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kBlocks = 80, kThreads = 256;
constexpr int kRequests = 40;  // of which every 7th has a wrong sum, and every 11th a number that is none

struct Request {
    std::vector<float> numbers;
    double claimed = 0;  // what the sender says that they add up to
    bool is_good = true;
};

__global__ void add_up(const float* x, size_t count, double* sum) {
    using BlockReduce = cub::BlockReduce<double, kThreads>;
    __shared__ BlockReduce::TempStorage storage;
    double mine = 0;
    for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < count; i += size_t{kBlocks} * kThreads)
        mine += x[i];
    const double of_block = BlockReduce(storage).Sum(mine);  // thread 0 has it
    if (threadIdx.x == 0) atomicAdd(sum, of_block);
}

/// Is the request in order? Never inlined, so that a backtrace shows its name.
[[gnu::noinline]] bool answer_request(const Request& request) {
    const size_t count = request.numbers.size(), bytes = count * sizeof(float);
    const auto numbers = device_array<float>(count);
    const auto sum = device_array<double>(1);
    double found = 0;
    CUDA_CHECK(cudaMemcpy(numbers.get(), request.numbers.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(sum.get(), 0, sizeof(double)));
    add_up<<<kBlocks, kThreads>>>(numbers.get(), count, sum.get());
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(&found, sum.get(), sizeof(double), cudaMemcpyDeviceToHost));
    if (!std::isfinite(found)) return false;
    if (std::fabs(found - request.claimed) > 1e-9 * request.claimed) return false;
    return true;
}

Request make_request(int number, size_t count, std::mt19937& random) {
    Request request;
    request.numbers.resize(count);
    for (float& x : request.numbers) {
        x = static_cast<float>((random() >> 8) + 1) / (1 << 24);
        request.claimed += x;
    }
    if (number % 7 == 0) request.claimed *= 2;
    if (number % 11 == 0) request.numbers[random() % count] = NAN;
    request.is_good = number % 7 != 0 && number % 11 != 0;
    return request;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Answers requests to add numbers, good ones and bad ones.");
    const size_t count = options.integer("--count", 250'007, 1, 1'000'000, "numbers in a request");
    options.done();
    require_gpu(kRequests * (count + 2) * sizeof(float));

    std::mt19937 random(4);
    int accepted = 0, expected = 0, wrong = 0;
    for (int number = 1; number <= kRequests; ++number) {
        const Request request = make_request(number, count, random);
        nvtx3::scoped_range range{"request"};
        const bool accepts = answer_request(request);
        accepted += accepts;
        expected += request.is_good;
        wrong += accepts != request.is_good;
    }
    std::printf("requests accepted: expected %d, found %d of %d; %d answers wrong\n", expected, accepted,
                kRequests, wrong);
    return wrong == 0 ? 0 : 1;
}
