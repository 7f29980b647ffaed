// Adds two arrays in host memory on the GPU: both are copied there, added, and the sum is copied back.
//
// Symptom: a GPU can copy to it, compute and copy from it at the same time, but here each step waits for the
// one before, so PCIe is idle in one direction or in both.
// Task: cut the work into chunks over the streams, so that the pipeline comes close to the bound that this
// program measures.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr size_t kStreams = 4;
constexpr int kRuns = 3;  // of the bound and of the pipeline; the best of each counts

__global__ void add(const float* a, const float* b, float* c, size_t count) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        c[i] = a[i] + b[i];
}

void copy_h2d(float* device, const float* host, size_t count, cudaStream_t stream) {
    CUDA_CHECK(cudaMemcpyAsync(device, host, count * sizeof(float), cudaMemcpyHostToDevice, stream));
}

void copy_d2h(float* host, const float* device, size_t count, cudaStream_t stream) {
    CUDA_CHECK(cudaMemcpyAsync(host, device, count * sizeof(float), cudaMemcpyDeviceToHost, stream));
}

/// Does `work` in an NVTX range, from an idle GPU to an idle GPU; returns the milliseconds on the clock.
template <class Work>
double timed_ms(const char* name, Work work) {
    CUDA_CHECK(cudaDeviceSynchronize());
    const auto start = std::chrono::steady_clock::now();
    nvtx3::scoped_range range{name};
    work();
    CUDA_CHECK(cudaDeviceSynchronize());
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Adds two arrays of random numbers that live in host memory.");
    const size_t count = options.integer("--count", 100'000'007, 1, 1'000'000'000, "numbers in each array");
    options.done();
    require_gpu(3 * count * sizeof(float));
    int copy_engines = 0, blocks = 0, threads = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&copy_engines, cudaDevAttrAsyncEngineCount, 0));
    if (copy_engines < 2) {
        std::fprintf(stderr, "no suitable GPU: with one copy engine it can't copy both ways at once\n");
        return 77;
    }
    CUDA_CHECK(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, add));  // just fills the GPU

    const auto a = pinned_array<float>(count), b = pinned_array<float>(count), c = pinned_array<float>(count);
    std::mt19937 random(1);
    for (size_t i = 0; i < count; ++i) {
        const auto bits = static_cast<unsigned>(random());
        a[i] = static_cast<float>(bits >> 8) / (1 << 24);
        b[i] = static_cast<float>(bits % (1 << 24)) / (1 << 24);
    }
    const auto device_a = device_array<float>(count), device_b = device_array<float>(count),
               device_c = device_array<float>(count);
    std::vector<Stream> streams(kStreams);
    for (Stream& stream : streams) stream = make_stream(cudaStreamNonBlocking);

    timed_ms("warm-up", [&] {
        for (const Stream& stream : streams) {
            copy_h2d(device_c.get(), a.get(), 1, stream.get());
            add<<<blocks, threads, 0, stream.get()>>>(device_a.get(), device_b.get(), device_c.get(), 0);
            CUDA_CHECK(cudaGetLastError());
            copy_d2h(c.get(), device_c.get(), 1, stream.get());
        }
    });

    // The bound: all copies of the task at once, H2D in one stream and D2H in another, with nothing to wait
    // for. No pipeline moves the same bytes sooner, and none is done before its kernels are.
    const auto all_h2d = [&] {
        copy_h2d(device_a.get(), a.get(), count, streams[0].get());
        copy_h2d(device_b.get(), b.get(), count, streams[0].get());
    };
    const auto all_d2h = [&] { copy_d2h(c.get(), device_c.get(), count, streams[1].get()); };
    const double h2d_ms = timed_ms("bound: H2D", all_h2d);
    const double kernel_ms = timed_ms("bound: kernel", [&] {
        add<<<blocks, threads, 0, streams[0].get()>>>(device_a.get(), device_b.get(), device_c.get(), count);
        CUDA_CHECK(cudaGetLastError());
    });
    const double d2h_ms = timed_ms("bound: D2H", all_d2h);
    double both_ms = INFINITY, pipeline_ms = INFINITY;
    for (int run = 0; run < kRuns; ++run)
        both_ms = std::min(both_ms, timed_ms("bound: both", [&] {
                               all_h2d();
                               all_d2h();
                           }));
    const double bound_ms = std::max(both_ms, kernel_ms);

    for (int run = 0; run < kRuns; ++run) {
        // Nothing of the above may pass for an answer: four bytes of 0xFF are a NaN.
        std::fill(c.get(), c.get() + count, NAN);
        for (float* const array : {device_a.get(), device_b.get(), device_c.get()})
            CUDA_CHECK(cudaMemset(array, 0xFF, count * sizeof(float)));

        const double run_ms = timed_ms(run == 0 ? "pipeline" : "pipeline again", [&] {
            // TODO(learner): replace these four steps; timed_ms waits for all streams at the end.
            const cudaStream_t stream = streams[0].get();
            copy_h2d(device_a.get(), a.get(), count, stream);
            copy_h2d(device_b.get(), b.get(), count, stream);
            add<<<blocks, threads, 0, stream>>>(device_a.get(), device_b.get(), device_c.get(), count);
            CUDA_CHECK(cudaGetLastError());
            copy_d2h(c.get(), device_c.get(), count, stream);
        });
        pipeline_ms = std::min(pipeline_ms, run_ms);
    }

    size_t wrong = 0, first_wrong = 0;
    for (size_t i = 0; i < count; ++i)
        if (!(c[i] == a[i] + b[i]) && wrong++ == 0) first_wrong = i;
    std::printf("alone: H2D %.2f ms, kernel %.2f ms, D2H %.2f ms; H2D and D2H at once %.2f ms\n", h2d_ms,
                kernel_ms, d2h_ms, both_ms);
    std::printf("bound %.2f ms, pipeline %.2f ms: %.2f of the bound\n", bound_ms, pipeline_ms,
                bound_ms / pipeline_ms);
    std::printf("number %zu: expected %.6f, found %.6f; %zu of %zu numbers wrong\n", first_wrong,
                a[first_wrong] + b[first_wrong], c[first_wrong], wrong, count);
    return wrong == 0 ? 0 : 1;
}
