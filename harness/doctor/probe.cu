// What `lab doctor` looks at each tool with: one kernel of 256 threads within an NVTX range, right as it
// stands, and with --fault one that writes behind its array.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I. harness/doctor/probe.cu -o probe
// look:    compute-sanitizer --tool memcheck ./probe --fault
#include <cstdio>
#include <cstring>

#include "common/check.cuh"
#include "common/nvtx.hpp"

__global__ void count_up(int* numbers, int first) {
    numbers[first + threadIdx.x] = static_cast<int>(threadIdx.x);
}

int main(int argc, char** argv) {
    constexpr int kCount = 256;
    const bool fault = argc > 1 && std::strcmp(argv[1], "--fault") == 0;
    require_gpu(kCount * sizeof(int));
    const auto numbers = device_array<int>(kCount);
    int found[kCount];
    {
        nvtx3::scoped_range range{"doctor"};
        count_up<<<1, kCount>>>(numbers.get(), fault ? 1 : 0);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemcpy(found, numbers.get(), sizeof(found), cudaMemcpyDeviceToHost));
    }
    for (int i = 0; i < kCount && !fault; ++i)
        if (found[i] != i) return std::printf("expected %d, found %d\n", i, found[i]), 1;
    return std::puts("the kernel ran"), 0;
}
