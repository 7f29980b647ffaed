// What programs for two GPUs share: which two they need.
#pragma once

#include <cstring>

#include "common/check.cuh"

/// Ends the program with exit code 77 and the reason in one line, unless two GPUs of one kind are here: what
/// one of them does is held against the other. Makes no context, so a program may start others behind it.
inline void require_two_gpus() {
    const auto refuse = [](const char* reason, const char* more = "") {
        std::fprintf(stderr, "no suitable GPU: %s%s\n", reason, more);
        std::exit(77);
    };
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess) refuse(cudaGetErrorString(status));
    if (devices < 2)
        refuse(devices == 0 ? "the driver reports no device" : "two are needed, and one is here");
    cudaDeviceProp first{}, second{};
    CUDA_CHECK(cudaGetDeviceProperties(&first, 0));
    CUDA_CHECK(cudaGetDeviceProperties(&second, 1));
    if (std::strcmp(first.name, second.name) != 0)
        refuse("two of one kind are needed, and the second is another: ", second.name);
}

/// The same, unless each of the two can reach the other's memory.
inline void require_peer_access() {
    for (const int device : {0, 1}) {
        int can = 0;
        CUDA_CHECK(cudaDeviceCanAccessPeer(&can, device, 1 - device));
        if (can) continue;
        std::fprintf(stderr,
                     "no suitable GPU: the two cannot reach each other's memory (nvidia-smi topo -p2p r)\n");
        std::exit(77);
    }
}
