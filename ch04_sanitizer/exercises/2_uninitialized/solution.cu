// Counts the bytes of several recordings, 64 kinds each, in four chunks per recording. Every block counts its
// share of a chunk in shared memory, then one thread per kind adds what the blocks found to the bin.
//
// Right: the bins are set to zero before the first chunk of each recording is added. Until then they hold the
// counts of the recording before, and in the first recording whatever the memory held.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    compute-sanitizer --tool initcheck ./solution --recordings 1
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kBlocks = 80, kThreads = 256;
constexpr int kKinds = 64, kShare = 256 / kKinds;  // values of a byte that are of one kind
constexpr int kChunks = 4;

/// Each block's own count of its share of the bytes: partial[block][kind].
__global__ void count_chunk(const unsigned char* bytes, size_t count, unsigned* partial) {
    __shared__ unsigned found[kKinds];
    if (threadIdx.x < kKinds) found[threadIdx.x] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < count; i += size_t{kBlocks} * kThreads)
        atomicAdd(&found[bytes[i] / kShare], 1u);
    __syncthreads();
    if (threadIdx.x < kKinds) partial[blockIdx.x * kKinds + threadIdx.x] = found[threadIdx.x];
}

/// Adds a chunk's counts to the bins of the recording, with one thread a kind.
__global__ void add_chunk(const unsigned* partial, unsigned* bins) {
    unsigned found = 0;
    for (int block = 0; block < kBlocks; ++block) found += partial[block * kKinds + threadIdx.x];
    bins[threadIdx.x] += found;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Counts the bytes of several random recordings by kind.");
    const size_t count = options.integer("--bytes", 1'000'003, kChunks, 100'000'000, "bytes in a recording");
    const size_t recordings = options.integer("--recordings", 3, 1, 16, "recordings");
    options.done();
    const size_t bins_bytes = kKinds * sizeof(unsigned);
    require_gpu(recordings * count + (kBlocks + 1) * bins_bytes);

    std::vector<unsigned char> bytes(recordings * count);
    std::vector<unsigned> expected(recordings * kKinds, 0), found(recordings * kKinds, 0);
    std::mt19937 random(2);
    for (size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<unsigned char>(random() >> 24);
        ++expected[i / count * kKinds + bytes[i] / kShare];
    }
    const auto device_bytes = device_array<unsigned char>(bytes.size());
    const auto partial = device_array<unsigned>(kBlocks * kKinds), bins = device_array<unsigned>(kKinds);
    CUDA_CHECK(cudaMemcpy(device_bytes.get(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));

    for (size_t recording = 0; recording < recordings; ++recording) {
        nvtx3::scoped_range range{"count"};
        CUDA_CHECK(cudaMemset(bins.get(), 0, bins_bytes));
        for (size_t chunk = 0; chunk < kChunks; ++chunk) {
            const size_t begin = count * chunk / kChunks, length = count * (chunk + 1) / kChunks - begin;
            count_chunk<<<kBlocks, kThreads>>>(&device_bytes[recording * count + begin], length,
                                               partial.get());
            CUDA_CHECK(cudaGetLastError());
            add_chunk<<<1, kKinds>>>(partial.get(), bins.get());
            CUDA_CHECK(cudaGetLastError());
        }
        CUDA_CHECK(cudaMemcpy(&found[recording * kKinds], bins.get(), bins_bytes, cudaMemcpyDeviceToHost));
    }

    size_t wrong = 0;
    for (size_t i = 0; i < found.size(); ++i)
        if (found[i] != expected[i] && ++wrong == 1)
            std::printf("recording %zu, kind %zu: expected %u, found %u\n", i / kKinds, i % kKinds,
                        expected[i], found[i]);
    std::printf("%zu recordings of %zu bytes; wrong bins: expected 0, found %zu of %zu\n", recordings, count,
                wrong, found.size());
    return wrong == 0 ? 0 : 1;
}
