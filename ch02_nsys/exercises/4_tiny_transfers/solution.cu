// Sends 10,000 records that lie scattered in pinned host memory to the GPU, where a kernel takes a checksum
// of each.
//
// Right: the host packs the records one behind the other into one pinned buffer, and one copy sends them all.
// What a copy costs to start is paid once instead of 10,000 times.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 128;
constexpr size_t kWords = 1049;      // of a record: 4 KiB and a bit
constexpr size_t kSlotWords = 2048;  // of a place in host memory: a record and the gap behind it

/// What a word adds to its record's checksum. The factor is odd and differs from place to place, so that
/// neither a changed word nor two swapped ones go unseen.
__host__ __device__ uint32_t weighed(uint32_t word, size_t place) {
    return word * static_cast<uint32_t>(2 * place + 1);
}

/// One block a record.
__global__ void take_checksums(const uint32_t* records, uint32_t* checksums) {
    __shared__ uint32_t sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    const uint32_t* const record = records + blockIdx.x * kWords;
    for (size_t i = threadIdx.x; i < kWords; i += kThreads) atomicAdd(&sum, weighed(record[i], i));
    __syncthreads();
    if (threadIdx.x == 0) checksums[blockIdx.x] = sum;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Sends records that lie scattered in host memory to the GPU.");
    const size_t records = options.integer("--records", 10'000, 1, 100'000, "records of 4,196 bytes each");
    options.done();
    const size_t total_bytes = records * kWords * sizeof(uint32_t);
    require_gpu(total_bytes + records * sizeof(uint32_t));

    // Records live wherever there was room when they came in: here, in slots of a pool, in random order.
    const auto pool = pinned_array<uint32_t>(records * kSlotWords);
    std::vector<size_t> place(records);  // of each record's first word in the pool
    std::iota(place.begin(), place.end(), size_t{0});
    std::mt19937 random(2);
    std::shuffle(place.begin(), place.end(), random);
    for (size_t& p : place) p *= kSlotWords;
    std::vector<uint32_t> expected(records, 0);
    for (size_t record = 0; record < records; ++record)
        for (size_t i = 0; i < kWords; ++i) {
            pool[place[record] + i] = static_cast<uint32_t>(random());
            expected[record] += weighed(pool[place[record] + i], i);
        }

    // Record r belongs at device_records + r * kWords.
    const auto device_records = device_array<uint32_t>(records * kWords);
    const auto device_checksums = device_array<uint32_t>(records);
    const auto found = pinned_array<uint32_t>(records);
    // Pinning memory takes long: the buffer is made once, outside the range, for all that is ever sent.
    const auto packed = pinned_array<uint32_t>(records * kWords);
    const Stream owner = make_stream(cudaStreamNonBlocking);
    const cudaStream_t stream = owner.get();
    {
        nvtx3::scoped_range range{"warm-up"};
        CUDA_CHECK(cudaMemcpyAsync(device_records.get(), pool.get(), kWords * sizeof(uint32_t),
                                   cudaMemcpyHostToDevice, stream));
        take_checksums<<<1, kThreads, 0, stream>>>(device_records.get(), device_checksums.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemsetAsync(device_records.get(), 0xFF, total_bytes, stream));
        CUDA_CHECK(cudaStreamSynchronize(stream));
    }

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"send"};
        {
            nvtx3::scoped_range packing{"pack"};
            for (size_t record = 0; record < records; ++record)
                std::copy_n(&pool[place[record]], kWords, &packed[record * kWords]);
        }
        CUDA_CHECK(
            cudaMemcpyAsync(device_records.get(), packed.get(), total_bytes, cudaMemcpyHostToDevice, stream));
        CUDA_CHECK(cudaStreamSynchronize(stream));
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

    take_checksums<<<static_cast<unsigned>(records), kThreads, 0, stream>>>(device_records.get(),
                                                                            device_checksums.get());
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpyAsync(found.get(), device_checksums.get(), records * sizeof(uint32_t),
                               cudaMemcpyDeviceToHost, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    size_t wrong = 0;
    for (size_t record = 0; record < records; ++record)
        if (found[record] != expected[record] && wrong++ == 0)
            std::printf("record %zu: expected checksum %08x, found %08x\n", record, expected[record],
                        found[record]);
    std::printf("%zu records, %.1f MB: %.2f ms, %.1f GB/s\n", records, static_cast<double>(total_bytes) / 1e6,
                seconds.count() * 1e3, static_cast<double>(total_bytes) / 1e9 / seconds.count());
    std::printf("wrong records: expected 0, found %zu of %zu\n", wrong, records);
    return wrong == 0 ? 0 : 1;
}
