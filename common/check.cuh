// What every chapter program shares: error checking, the GPU it needs, and owners of memory, streams and
// events.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

/// Ends the program with exit code 1 and one sentence that names the failed call, where it stands and why.
/// A kernel launch returns nothing: `CUDA_CHECK(cudaGetLastError());` belongs right behind every `<<<>>>`.
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
    int device = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    if (major * 10 + minor < 75) refuse("compute capability 7.5 (Turing) or later is needed");
    std::size_t free_bytes = 0, total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (free_bytes < device_bytes)
        refuse("too little free device memory; choose a smaller size (see --help)");
}

/// For destructors, which may run while the program ends because of an error, so they do not end it
/// themselves: the first failure is one sentence on stderr, those that follow from it are silent.
inline void report_cuda(cudaError_t status, const char* call) noexcept {
    static bool reported = false;
    if (status == cudaSuccess || reported) return;
    reported = true;
    std::fprintf(stderr, "%s failed: %s (%s)\n", call, cudaGetErrorString(status), cudaGetErrorName(status));
}

struct DeviceFree {
    void operator()(void* p) const noexcept { report_cuda(cudaFree(p), "cudaFree"); }
};
struct PinnedFree {
    void operator()(void* p) const noexcept { report_cuda(cudaFreeHost(p), "cudaFreeHost"); }
};
struct StreamDestroy {
    void operator()(cudaStream_t s) const noexcept { report_cuda(cudaStreamDestroy(s), "cudaStreamDestroy"); }
};
struct EventDestroy {
    void operator()(cudaEvent_t e) const noexcept { report_cuda(cudaEventDestroy(e), "cudaEventDestroy"); }
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

/// The owner of a stream: it can be moved and not copied. CUDA's calls take `stream.get()`.
using Stream = std::unique_ptr<CUstream_st, StreamDestroy>;
/// `flags` and `priority` as of cudaStreamCreateWithPriority: a smaller number is a higher priority.
[[nodiscard]] inline Stream make_stream(unsigned flags = cudaStreamDefault, int priority = 0) {
    cudaStream_t stream = nullptr;
    CUDA_CHECK(cudaStreamCreateWithPriority(&stream, flags, priority));
    return Stream(stream);
}

/// The owner of an event. CUDA's calls take `event.get()`.
using Event = std::unique_ptr<CUevent_st, EventDestroy>;
/// `flags` as of cudaEventCreateWithFlags: events that only order work need no time (cudaEventDisableTiming).
[[nodiscard]] inline Event make_event(unsigned flags = cudaEventDefault) {
    cudaEvent_t event = nullptr;
    CUDA_CHECK(cudaEventCreateWithFlags(&event, flags));
    return Event(event);
}
