// What every chapter program shares: error checking, the GPU it needs, memory that frees itself.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

/// Ends the program with exit code 1 and one sentence that names the failed call, where it stands and why.
/// Kernel launches return nothing: check `cudaGetLastError()` after them.
inline void check_cuda(cudaError_t status, const char* call, const char* file, int line) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s:%d: %s failed: %s (%s)\n", file, line, call, cudaGetErrorString(status),
                 cudaGetErrorName(status));
    std::exit(1);
}
#define CUDA_CHECK(call) check_cuda((call), #call, __FILE__, __LINE__)

/// Ends the program with exit code 77 and the reason in one line, unless the current device is of Turing
/// (compute capability 7.5) or later and has `device_bytes` of free memory.
inline void require_gpu(std::size_t device_bytes) {
    const auto refuse = [](const char* reason) {
        std::fprintf(stderr, "no suitable GPU: %s\n", reason);
        std::exit(77);
    };
    int devices = 0, major = 0, minor = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess) refuse(cudaGetErrorString(status));
    if (devices == 0) refuse("the driver reports no device");
    CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    if (major * 10 + minor < 75) refuse("compute capability 7.5 (Turing) or later is needed");
    std::size_t free_bytes = 0, total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (free_bytes < device_bytes)
        refuse("too little free device memory; choose a smaller size (see --help)");
}

struct DeviceFree {
    void operator()(void* p) const { CUDA_CHECK(cudaFree(p)); }
};
struct PinnedFree {
    void operator()(void* p) const { CUDA_CHECK(cudaFreeHost(p)); }
};

/// `count` uninitialised elements in device memory.
template <class T>
[[nodiscard]] std::unique_ptr<T[], DeviceFree> device_array(std::size_t count) {
    void* p = nullptr;
    CUDA_CHECK(cudaMalloc(&p, count * sizeof(T)));
    return std::unique_ptr<T[], DeviceFree>(static_cast<T*>(p));
}

/// `count` uninitialised elements in pinned (page-locked) host memory, which the copy engines read directly.
template <class T>
[[nodiscard]] std::unique_ptr<T[], PinnedFree> pinned_array(std::size_t count) {
    void* p = nullptr;
    CUDA_CHECK(cudaMallocHost(&p, count * sizeof(T)));
    return std::unique_ptr<T[], PinnedFree>(static_cast<T*>(p));
}
