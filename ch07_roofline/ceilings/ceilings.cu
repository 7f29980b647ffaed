// Measures the roofs of this GPU: how many bytes per second its memories and PCIe move, how many FLOP per
// second its units do, and what a launch costs. Prints a table, and the same as JSON in the last
// line.
//
// How it measures, in all cases:
// - bytes: each one that the kernel requests, once; an element that is read and written counts twice.
// - FLOP: a multiplication and an addition are two, also when one instruction does both.
// - time: of a batch of launches, by events, after warm-up; the median of the repeats.
// - shape: where it matters (loads in flight per thread, threads, blocks, the part of L2 that is read, the
//   depth of a product, the algorithm), the program tries several, takes the fastest, and then measures that
//   one again: it doesn't keep the time of a trial, since the best of many flatters.
// - data: random, since switching bits costs power, and power is what limits a GPU's clock.
// - load: the tensor cores are measured twice, in about a tenth of a second of work each: in batches of some
//   10 ms, before which the GPU rests, and after `--soak` ms of the same work, at the clock that it can hold.
//   FMA work for as long before; memories need no such care.
// - clock: as found, and printed for the units: each SM's cycles over the time of the batch that counts.
//   Theoretical roofs are for the highest clock that the driver names; a GPU may not hold it, and a few go
//   beyond.
// - answers: checked in one launch more of the shape that was measured, after what the others wrote is
//   cleared; those of PCIe, after its last copies.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../.. ceilings.cu -o ceilings -lcublasLt
//          (in this folder)
// look:    ncu --nvtx --nvtx-include "counted/" --metrics dram__bytes.sum ./ceilings
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <chrono>
#include <string>
#include <vector>

#include "ch07_roofline/ceilings/roofs_compute.cuh"
#include "ch07_roofline/ceilings/roofs_measure.cuh"
#include "ch07_roofline/ceilings/roofs_memory.cuh"
#include "common/check.cuh"
#include "common/graph_compat.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

__global__ void empty() {}

/// Seconds per kernel, of a batch of empty ones, from the first launch to the end of the last.
Roof launch_roof(const std::string& name, int launches, int repeats,
                 const std::function<void()>& launch_all) {
    nvtx3::scoped_range range{name};
    std::vector<double> seconds(repeats + 1);
    for (double& s : seconds) {
        CUDA_CHECK(cudaDeviceSynchronize());
        const auto start = std::chrono::steady_clock::now();
        launch_all();
        CUDA_CHECK(cudaDeviceSynchronize());
        s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / launches;
    }
    std::nth_element(seconds.begin() + 1, seconds.begin() + 1 + repeats / 2,
                     seconds.end());  // not the warm-up
    return {name, "s", seconds[1 + repeats / 2], NAN, NAN, std::to_string(launches) + " empty kernels"};
}

/// One chain of kernels in one stream, and by a graph; then by a graph of several chains, which do not wait
/// for each other.
void launch_roofs(int launches, int repeats, std::vector<Roof>& roofs) {
    constexpr int kMostChains = 8;
    std::vector<Stream> streams;
    for (int c = 0; c < kMostChains; ++c) streams.push_back(make_stream(cudaStreamNonBlocking));
    const cudaStream_t first = streams[0].get();
    const Event event = make_event(cudaEventDisableTiming);
    const auto launch_in = [&](int chains) {
        for (int i = 0; i < launches; ++i) {
            empty<<<1, 1, 0, streams[i % chains].get()>>>();
            CUDA_CHECK(cudaGetLastError());
        }
    };
    roofs.push_back(launch_roof("launch, stream", launches, repeats, [&] { launch_in(1); }));
    for (const int chains : {1, kMostChains}) {
        cudaGraph_t captured = nullptr;
        CUDA_CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
        CUDA_CHECK(cudaEventRecord(event.get(), first));
        for (int c = 1; c < chains; ++c) CUDA_CHECK(cudaStreamWaitEvent(streams[c].get(), event.get()));
        launch_in(chains);
        for (int c = 1; c < chains; ++c) {
            CUDA_CHECK(cudaEventRecord(event.get(), streams[c].get()));
            CUDA_CHECK(cudaStreamWaitEvent(first, event.get()));
        }
        CUDA_CHECK(cudaStreamEndCapture(first, &captured));
        const GraphExec ready = instantiate(Graph(captured));
        roofs.push_back(launch_roof(chains == 1 ? "launch, graph" : "launch, graph of 8 chains", launches,
                                    repeats, [&] { CUDA_CHECK(cudaGraphLaunch(ready.get(), first)); }));
    }
}

std::string json(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return std::isnan(value) ? "null" : text;
}

void print(const std::vector<Roof>& roofs) {
    const double clock_Hz = highest_clock();
    char clock[32] = "unknown";
    if (!std::isnan(clock_Hz)) std::snprintf(clock, sizeof clock, "%.2f GHz", clock_Hz / 1e9);
    std::printf("\n%d SMs, highest clock by the driver %s\n\n", sm_count(), clock);
    std::printf("%-34s %15s %15s  %6s  %s\n", "roof", "measured", "theoretical", "share", "how");
    std::string line = "{\"clock_Hz\": " + json(clock_Hz) + ", \"roofs\": [";
    for (const Roof& roof : roofs) {
        const double share = 100 * roof.measured / roof.theoretical;
        char percent[16] = "-";
        if (!std::isnan(share)) std::snprintf(percent, sizeof percent, "%.1f%%", share);
        std::printf("%-34s %15s %15s  %6s  %s\n", roof.name.c_str(), shown(roof.measured, roof.unit).c_str(),
                    shown(roof.theoretical, roof.unit).c_str(), percent, roof.how.c_str());
        line += std::string(&roof == &roofs.front() ? "" : ", ") + "{\"name\": \"" + roof.name +
                "\", \"unit\": \"" + roof.unit + "\", \"measured\": " + json(roof.measured) +
                ", \"theoretical\": " + json(roof.theoretical) + ", \"work\": " + json(roof.work) +
                ", \"clock_Hz\": " + json(roof.clock_Hz) + ", \"how\": \"" + roof.how + "\"}";
    }
    std::printf("\n%s]}\n", line.c_str());
}

int main(int argc, char** argv) {
    Options options(argc, argv,
                    "Measures the roofs of this GPU: memories, units, link to the host, launches.");
    const size_t megabytes = options.integer("--megabytes", 2048, 1, 16'384,
                                             "MiB of an array in DRAM, or a quarter of what is free");
    const int n =
        static_cast<int>(options.integer("--matrix", 8192, 64, 32'768, "rows and columns of a product"));
    const int microseconds =
        static_cast<int>(options.integer("--microseconds", 5000, 1, 100'000, "of a launch of chains of FMA"));
    const int launches =
        static_cast<int>(options.integer("--launches", 1000, 1, 10'000, "empty kernels in a batch"));
    const int repeats = static_cast<int>(
        options.integer("--repeats", 9, 1, 1000, "measurements, of which the median counts"));
    const int offers = static_cast<int>(
        options.integer("--offers", 16, 1, 100, "algorithms for a product to ask cuBLASLt for"));
    const int soak_ms = static_cast<int>(options.integer(
        "--soak", 300, 0, 10'000, "ms that a unit works before what it sustains is measured"));
    options.done();
    require_gpu(12ull * n * n + (64 << 20));

    const FmaRates rates = fma_rates();
    const TensorOptions tensor{n, offers, soak_ms, repeats};
    const TensorKind tf32{CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 80},
        short_tf32{CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 80, false, true},
        fp16{CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 75},
        bf16{CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 80},
        fp8{CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 89},
        fast_fp8{CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 89, true};
    std::vector<Roof> roofs;
    memory_roofs(megabytes, repeats, roofs);
    roofs.push_back(fma_roof<float>("FP32 FMA", rates.fp32, microseconds, soak_ms, repeats));
    roofs.push_back(fma_roof<double>("FP64 FMA", rates.fp64, microseconds, soak_ms, repeats));
    tensor_roofs<float, float>("TF32 tensor", tf32, rates.tf32, tensor, roofs);
    tensor_roofs<float, float>("TF32 tensor, few bits", short_tf32, rates.tf32, tensor, roofs);
    tensor_roofs<__half, __half>("FP16 tensor", fp16, rates.fp16, tensor, roofs);
    tensor_roofs<__nv_bfloat16, __nv_bfloat16>("BF16 tensor", bf16, rates.fp16, tensor, roofs);
    tensor_roofs<__nv_fp8_e4m3, __nv_bfloat16>("FP8 tensor", fast_fp8, rates.fp8, tensor, roofs);
    tensor_roofs<__nv_fp8_e4m3, __nv_bfloat16>("FP8 tensor, default sums", fp8, rates.fp8, tensor, roofs);
    launch_roofs(launches, repeats, roofs);
    print(roofs);
    return 0;
}
