// The roofs of what moves bytes: DRAM, L2 and PCIe.
#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cctype>
#include <cstring>
#include <fstream>

#include "ch07_roofline/ceilings/roofs_measure.cuh"

constexpr int kMostLoads = 8;
constexpr size_t kTileBytes = kThreads * kMostLoads * sizeof(uint4);  // arrays are whole tiles
constexpr int kCopies = 8;  // in a row in each direction, where both are busy at once

/// Adds to one of `sums` for each warp, so that they don't wait for each other.
__device__ void add_up(unsigned sum, unsigned* sums) {
    namespace cg = cooperative_groups;
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    sum = cg::reduce(warp, sum, cg::plus<unsigned>());
    const unsigned place = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (warp.thread_rank() == 0) atomicAdd(&sums[place % kSums], sum);
}

__device__ unsigned sum_of(uint2 x) {
    return x.x + x.y;
}
__device__ unsigned sum_of(uint4 x) {
    return x.x + x.y + x.z + x.w;
}

/// The sum of all 32-bit words, modulo 2^32: the same in whichever order.
template <int kLoads>
__global__ void read_all(const uint4* in, uint4*, size_t count, unsigned* sums) {
    constexpr size_t kTile = size_t{kThreads} * kLoads;
    unsigned sum = 0;
    for (size_t first = blockIdx.x * kTile + threadIdx.x; first < count; first += gridDim.x * kTile) {
        uint4 x[kLoads];
#pragma unroll
        for (int i = 0; i < kLoads; ++i) x[i] = in[first + i * kThreads];
#pragma unroll
        for (int i = 0; i < kLoads; ++i) sum += sum_of(x[i]);
    }
    add_up(sum, sums);
}

template <int kLoads>
__global__ void copy_all(const uint4* in, uint4* out, size_t count, unsigned*) {
    constexpr size_t kTile = size_t{kThreads} * kLoads;
    for (size_t first = blockIdx.x * kTile + threadIdx.x; first < count; first += gridDim.x * kTile) {
        uint4 x[kLoads];
#pragma unroll
        for (int i = 0; i < kLoads; ++i) x[i] = in[first + i * kThreads];
#pragma unroll
        for (int i = 0; i < kLoads; ++i) out[first + i * kThreads] = x[i];
    }
}

__device__ float4 add_scaled(float4 a, float4 b) {
    return {a.x + 3 * b.x, a.y + 3 * b.y, a.z + 3 * b.z, a.w + 3 * b.w};
}

/// c = a + 3 b, where a and b are the two halves of `in`.
template <int kLoads>
__global__ void triad_all(const uint4* in, uint4* out, size_t count, unsigned*) {
    constexpr size_t kTile = size_t{kThreads} * kLoads;
    const auto *const a = reinterpret_cast<const float4*>(in), *const b = a + count;
    auto* const c = reinterpret_cast<float4*>(out);
    for (size_t first = blockIdx.x * kTile + threadIdx.x; first < count; first += gridDim.x * kTile) {
        float4 x[kLoads], y[kLoads];
#pragma unroll
        for (int i = 0; i < kLoads; ++i) x[i] = a[first + i * kThreads], y[i] = b[first + i * kThreads];
#pragma unroll
        for (int i = 0; i < kLoads; ++i) c[first + i * kThreads] = add_scaled(x[i], y[i]);
    }
}

/// Reads one of `parts` parts, in loads of type T and tiles of 16 bytes a thread: the tiles of a part lie
/// `parts` apart, so that the blocks that run read all of L2's slices. No block reads a byte twice, so L1 is
/// no help.
template <class T>
__global__ void read_l2(const uint4* in, unsigned parts, unsigned steps, unsigned* sums) {
    constexpr int kLoads = sizeof(uint4) / sizeof(T);
    unsigned sum = 0;
    const size_t stride = size_t{parts} * kLoads * blockDim.x;
    auto* tile =
        reinterpret_cast<const T*>(in) + size_t{blockIdx.x % parts} * kLoads * blockDim.x + threadIdx.x;
#pragma unroll 4
    for (unsigned step = 0; step < steps; ++step, tile += stride) {
#pragma unroll
        for (int i = 0; i < kLoads; ++i) sum += sum_of(tile[i * blockDim.x]);
    }
    add_up(sum, sums);
}

/// The same sum as `read_all` and `read_l2`, in the plainest way.
__global__ void sum_words(const unsigned* in, size_t count, unsigned* sums) {
    unsigned sum = 0;
    for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < count; i += gridDim.x * size_t{kThreads})
        sum += in[i];
    atomicAdd(&sums[threadIdx.x], sum);
}

/// Counts the numbers of `out` that are not the copy, or the triad, of `in`.
__global__ void count_wrong(const float4* in, const float4* out, size_t count, bool triad, unsigned* wrong) {
    for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < count;
         i += gridDim.x * size_t{kThreads}) {
        const float4 x = triad ? add_scaled(in[i], in[count + i]) : in[i], y = out[i];
        if (!(x.x == y.x && x.y == y.y && x.z == y.z && x.w == y.w)) atomicAdd(wrong, 1u);
    }
}

/// The rate of `work`, which moves so many bytes. Then one launch more, for a counter to look at, and this
/// one is checked: `clear` takes away what the others left.
inline Roof memory_roof(const std::string& name, double bytes, int repeats, const std::function<void()>& work,
                        const std::function<void()>& clear, const std::function<bool()>& right) {
    Roof roof{name, "B/s", bytes / measure(name, {repeats}, work).seconds, NAN, bytes};
    clear();
    CUDA_CHECK(cudaDeviceSynchronize());
    {
        nvtx3::scoped_range counted{"counted"};
        work();
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    require_right(name, right());
    return roof;
}

/// read_all, copy_all or triad_all with 1, 2, 4 and 8 loads.
using DramKernels = std::vector<void (*)(const uint4*, uint4*, size_t, unsigned*)>;

/// The rate of the fastest shape: how many loads a thread has in flight, and as many blocks as there are
/// tiles or as fit at a time. `bytes` is what one launch moves.
inline Roof dram_roof(const std::string& name, const DramKernels& kernels, const uint4* in, uint4* out,
                      size_t count, double bytes, Sums& sums, int repeats,
                      const std::function<bool()>& right) {
    double least = INFINITY;
    std::function<void()> fastest;
    std::string how;
    for (size_t k = 0; k < kernels.size(); ++k) {
        const auto kernel = kernels[k];
        const unsigned tiles = count / (size_t{kThreads} << k);
        for (const unsigned blocks : {tiles, std::min(tiles, blocks_that_fit(kernel))}) {
            const auto work = [=, s = sums.get()] {
                kernel<<<blocks, kThreads>>>(in, out, count, s);
                CUDA_CHECK(cudaGetLastError());
            };
            const double seconds = measure("trial", {1}, work).seconds;
            if (seconds >= least) continue;
            least = seconds;
            fastest = work;
            how = std::to_string(1 << k) + " x 16 bytes in flight a thread, " + std::to_string(blocks) +
                  " blocks";
        }
    }
    const auto clear = [&] {
        sums.clear();
        // All bits set is a NaN: what isn't written again can't pass for right.
        if (out != nullptr) CUDA_CHECK(cudaMemset(out, 0xFF, count * sizeof(uint4)));
    };
    Roof roof = memory_roof(name, bytes, repeats, fastest, clear, right);
    roof.how = how;
    if (bytes < 4.0 * attribute(cudaDevAttrL2CacheSize))
        roof.how += "; much of it fits the L2 cache: no roof of DRAM";
    roof.theoretical =
        2e3 * attribute(cudaDevAttrMemoryClockRate) * attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
    if (roof.theoretical == 0) roof.theoretical = NAN;
    return roof;
}

/// Likewise of L2, from the first numbers of `in`. Blocks that read the same part have begun at different
/// times, so that few of their reads meet: what several request at once may be read once.
inline Roof l2_roof(const uint4* in, size_t most_bytes, Sums& sums, int repeats) {
    // A quarter at most: on a GPU whose L2 has two halves, each may hold a copy of what the other has.
    const size_t wanted = std::min<size_t>(most_bytes, attribute(cudaDevAttrL2CacheSize) / 4);
    double least = INFINITY, moved = 0;
    unsigned passes = 0;
    size_t read = 0;
    std::function<void()> fastest;
    std::string how;
    const auto kernels = {read_l2<uint2>, read_l2<uint4>};
    for (const auto kernel : kernels)
        for (const int threads : {512, 1024}) {
            const size_t tile_bytes = threads * sizeof(uint4);
            const unsigned parts = std::max<size_t>(16, wanted / (512 << 10));
            const unsigned steps = std::max<size_t>(1, wanted / (parts * tile_bytes));
            const unsigned times = (64 * blocks_that_fit(kernel, threads) + parts - 1) / parts;
            const size_t bytes = parts * steps * tile_bytes;
            const auto work = [=, s = sums.get()] {
                kernel<<<times * parts, threads>>>(in, parts, steps, s);
                CUDA_CHECK(cudaGetLastError());
            };
            const double seconds_a_byte = measure("trial", {1}, work).seconds / (1.0 * times * bytes);
            if (seconds_a_byte >= least) continue;
            least = seconds_a_byte, passes = times, read = bytes, moved = 1.0 * times * bytes;
            fastest = work;
            how = std::to_string(bytes >> 10) + " KiB, again and again, " +
                  (kernel == *kernels.begin() ? "8" : "16") + " bytes a load, " +
                  std::to_string(times * parts) + " blocks of " + std::to_string(threads);
        }
    const unsigned once = sums.of([&](unsigned* s) {
        sum_words<<<sm_count(), kThreads>>>(reinterpret_cast<const unsigned*>(in), read / 4, s);
        CUDA_CHECK(cudaGetLastError());
    });
    Roof roof = memory_roof(
        "L2 read", moved, repeats, fastest, [&] { sums.clear(); },
        [&] { return sums.total() == once * passes; });
    roof.how = how;
    return roof;
}

/// The NUMA nodes of a page of the host's memory, of this thread and of the GPU, in words. A container may
/// hide the first, and a virtual machine the last.
inline std::string numa_nodes(const void* page) {
    const auto words = [](int node) { return node < 0 ? std::string("unknown") : std::to_string(node); };
    constexpr unsigned long kNodeOfAddress = 3;  // MPOL_F_NODE | MPOL_F_ADDR
    int memory = -1, gpu = -1;
    unsigned cpu = 0, thread = 0;
    if (syscall(SYS_get_mempolicy, &memory, nullptr, 0ul, page, kNodeOfAddress) != 0) memory = -1;
    const bool known = syscall(SYS_getcpu, &cpu, &thread, nullptr) == 0;
    char id[32];
    CUDA_CHECK(cudaDeviceGetPCIBusId(id, sizeof id, 0));
    std::transform(id, id + std::strlen(id), id, [](unsigned char c) { return std::tolower(c); });
    std::ifstream("/sys/bus/pci/devices/" + std::string(id) + "/numa_node") >> gpu;
    return "NUMA nodes: memory " + words(memory) + ", thread " +
           words(known ? static_cast<int>(thread) : -1) + ", GPU " + words(gpu);
}

/// DRAM, L2 and PCIe, on one set of arrays.
inline void memory_roofs(size_t megabytes, int repeats, std::vector<Roof>& roofs) {
    size_t free_bytes = 0, all_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &all_bytes));
    const size_t bytes = std::min(megabytes << 20, free_bytes / 4) / kTileBytes * kTileBytes;
    const size_t count = bytes / sizeof(uint4);
    const auto in = device_array<uint4>(2 * count), out = device_array<uint4>(count);
    Sums sums;
    const unsigned blocks = 32 * sm_count();
    fill<<<blocks, kThreads>>>(reinterpret_cast<float*>(in.get()), 2 * bytes / 4, 0);
    CUDA_CHECK(cudaGetLastError());

    const unsigned expected = sums.of([&](unsigned* s) {
        sum_words<<<blocks, kThreads>>>(reinterpret_cast<const unsigned*>(in.get()), 2 * bytes / 4, s);
        CUDA_CHECK(cudaGetLastError());
    });
    const auto all_right = [&](bool triad) {
        const auto *const x = reinterpret_cast<const float4*>(in.get()), *const y =
                                                                             reinterpret_cast<const float4*>(
                                                                                 out.get());
        return sums.of([&](unsigned* wrong) {
            count_wrong<<<blocks, kThreads>>>(x, y, count, triad, wrong);
            CUDA_CHECK(cudaGetLastError());
        }) == 0;
    };
    roofs.push_back(dram_roof("DRAM read", {read_all<1>, read_all<2>, read_all<4>, read_all<8>}, in.get(),
                              nullptr, 2 * count, 2.0 * bytes, sums, repeats,
                              [&] { return sums.total() == expected; }));
    roofs.push_back(dram_roof("DRAM copy", {copy_all<1>, copy_all<2>, copy_all<4>, copy_all<8>}, in.get(),
                              out.get(), count, 2.0 * bytes, sums, repeats,
                              [&] { return all_right(false); }));
    roofs.push_back(dram_roof("DRAM triad", {triad_all<1>, triad_all<2>, triad_all<4>, triad_all<8>},
                              in.get(), out.get(), count, 3.0 * bytes, sums, repeats,
                              [&] { return all_right(true); }));
    roofs.push_back(l2_roof(in.get(), bytes, sums, repeats));

    // PCIe: pinned memory, from `in` to the host and back into `out`. The runtime doesn't say how fast PCIe
    // could be; nvidia-smi does (pcie.link.gen.current, pcie.link.width.current).
    const size_t part = std::min<size_t>(bytes, 128 << 20);
    const auto up = pinned_array<char>(part), down = pinned_array<char>(part);
    const Stream other = make_stream(cudaStreamNonBlocking);
    const Event begun = make_event(cudaEventDisableTiming), done = make_event(cudaEventDisableTiming);
    const auto to_host = [&](cudaStream_t stream) {
        CUDA_CHECK(cudaMemcpyAsync(down.get(), in.get(), part, cudaMemcpyDeviceToHost, stream));
    };
    const auto to_device = [&] {
        CUDA_CHECK(cudaMemcpyAsync(out.get(), up.get(), part, cudaMemcpyHostToDevice));
    };
    const std::string how = "pinned memory, " + numa_nodes(up.get());
    const bool one_engine = attribute(cudaDevAttrAsyncEngineCount) < 2;
    const auto link_roof = [&](const char* name, double moved, const std::string& how,
                               const std::function<void()>& work) {
        roofs.push_back({name, "B/s", moved / measure(name, {repeats}, work).seconds, NAN, moved, how});
    };
    CUDA_CHECK(cudaMemset(out.get(), 0, part));
    to_host(nullptr);
    CUDA_CHECK(cudaStreamSynchronize(nullptr));
    std::memcpy(up.get(), down.get(), part);
    link_roof("host to device", part, how, to_device);
    link_roof("device to host", part, how, [&] { to_host(nullptr); });
    // Several copies in each direction, and one wait: to wait for both after each leaves one idle meanwhile.
    link_roof("both directions", 2.0 * kCopies * part,
              how + (one_engine ? "; one copy engine, so they take turns" : ""), [&] {
                  CUDA_CHECK(cudaEventRecord(begun.get()));
                  CUDA_CHECK(cudaStreamWaitEvent(other.get(), begun.get()));
                  for (int i = 0; i < kCopies; ++i) {
                      to_host(other.get());
                      to_device();
                  }
                  CUDA_CHECK(cudaEventRecord(done.get(), other.get()));
                  CUDA_CHECK(cudaStreamWaitEvent(nullptr, done.get()));
              });
    CUDA_CHECK(cudaDeviceSynchronize());
    std::memset(up.get(), 0, part);
    CUDA_CHECK(cudaMemcpy(up.get(), out.get(), part, cudaMemcpyDeviceToHost));
    require_right("the link", std::memcmp(up.get(), down.get(), part) == 0);
}
