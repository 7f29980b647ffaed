// Measures the roofs of this GPU: how many bytes a second its memories and its link to the host move, how
// many FLOP a second its units do, and what a launch costs. Prints a table, and the same as JSON in the last
// line.
//
// How it measures, in all cases:
// - bytes: each one that the kernel asks for, once; a number that is read and one that is written are two.
// - FLOP: a multiplication and an addition are two, also when one instruction does both.
// - time: of a batch of launches, by events, after one launch for warm-up; the median of the repeats.
// - shape: where it matters (loads in flight a thread, blocks), the program tries several, takes the fastest,
//   and then measures that one anew: the time of a trial is not kept, since the best of many flatters.
// - data: random, since switching bits costs power, and power is what limits a GPU's clock.
// - clocks: as found. Theoretical roofs are for the highest clock that the driver names. A GPU may not
//   hold it under such load, and a few go beyond.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I. ch07_roofline/ceilings.cu -o ceilings -lcublasLt
// look:    ncu --nvtx --nvtx-include "counted/" --metrics dram__bytes.sum ./ceilings
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256, kMostLoads = 8, kSums = 4096, kChains = 8;
constexpr size_t kTileBytes = kThreads * kMostLoads * sizeof(uint4);  // arrays are whole tiles

/// One line of the table. What is not known, or not on this GPU, is not a number.
struct Roof {
    std::string name, unit;
    double measured = NAN, theoretical = NAN;
    double work = NAN;  ///< bytes or FLOP that one launch was counted as, to be compared with a counter
    std::string how = {};
};

int attribute(cudaDeviceAttr which) {
    int value = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&value, which, 0));
    return value;
}

int compute_capability() {
    return 10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor);
}

/// Of an SM in a clock: results of FP32 and FP64 fused multiply-adds (CUDA C++ Programming Guide, "Arithmetic
/// Instructions"), and dense ones on tensor cores (architecture whitepapers of the A100 and the H100; on 8.6
/// and 8.9 they differ between products, and of later ones this table does not know).
struct FmaRates {
    double fp32 = NAN, fp64 = NAN, tf32 = NAN, bf16 = NAN, fp8 = NAN;
};
FmaRates fma_rates() {
    switch (compute_capability()) {
        case 75:
            return {64, 2};
        case 80:
            return {64, 32, 512, 1024};
        case 86:
        case 87:
        case 89:
        case 120:
        case 121:
            return {128, 2};
        case 90:
            return {128, 64, 1024, 2048, 4096};
        case 100:
            return {128, 64};
        default:
            return {};
    }
}

/// FLOP/s of all SMs at the highest clock.
double at_highest_clock(double fma_per_clock) {
    return fma_per_clock * 2 * attribute(cudaDevAttrMultiProcessorCount) * attribute(cudaDevAttrClockRate) *
           1e3;
}

/// Seconds of one run of `work`: the median of `repeats` batches that each last for about 10 ms, in a range
/// of this name.
double seconds_of(const std::string& name, int repeats, const std::function<void()>& work) {
    nvtx3::scoped_range range{name};
    cudaEvent_t start = nullptr, end = nullptr;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&end));
    const auto batch_seconds = [&](int batch) {
        float ms = 0;
        CUDA_CHECK(cudaEventRecord(start));
        for (int i = 0; i < batch; ++i) work();
        CUDA_CHECK(cudaEventRecord(end));
        CUDA_CHECK(cudaEventSynchronize(end));
        CUDA_CHECK(cudaEventElapsedTime(&ms, start, end));
        return ms * 1e-3 / batch;
    };
    batch_seconds(1);
    const int batch = static_cast<int>(std::clamp(10e-3 / batch_seconds(1), 1.0, 100.0));
    std::vector<double> seconds(repeats);
    for (double& s : seconds) s = batch_seconds(batch);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventDestroy(end));
    std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
    return seconds[repeats / 2];
}

/// A random number from its place, the same each time (the finaliser of MurmurHash3).
__device__ unsigned random_at(size_t i) {
    unsigned h = static_cast<unsigned>(i) * 2654435761u + static_cast<unsigned>(i >> 32);
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

/// Random numbers from -1 to 1.
template <class T>
__global__ void fill(T* x, size_t count, size_t seed) {
    for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < count; i += gridDim.x * size_t{kThreads})
        x[i] = T(static_cast<int>(random_at(i + seed)) * 0x1p-31f);
}

/// Adds to one of `sums` for each warp, so that they do not wait for each other.
__device__ void add_up(unsigned sum, unsigned* sums) {
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(~0u, sum, lanes);
    const unsigned warp = (blockIdx.x * kThreads + threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) atomicAdd(&sums[warp % kSums], sum);
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
        for (int i = 0; i < kLoads; ++i) sum += x[i].x + x[i].y + x[i].z + x[i].w;
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

/// Reads `passes` tiles a block, past L1, so that the blocks together read each tile equally often.
__global__ void read_l2(const uint4* in, unsigned tiles, unsigned passes, unsigned* sums) {
    unsigned sum = 0, tile = blockIdx.x % tiles;
    const unsigned step = gridDim.x % tiles;
    for (unsigned pass = 0; pass < passes; ++pass) {
        uint4 x[kMostLoads];
        const uint4* const first = in + size_t{tile} * kThreads * kMostLoads + threadIdx.x;
#pragma unroll
        for (int i = 0; i < kMostLoads; ++i) x[i] = __ldcg(first + i * kThreads);
#pragma unroll
        for (int i = 0; i < kMostLoads; ++i) sum += x[i].x + x[i].y + x[i].z + x[i].w;
        tile = tile + step < tiles ? tile + step : tile + step - tiles;
    }
    add_up(sum, sums);
}

/// Nanoseconds by a clock that runs evenly, whatever the SMs' clock does.
__device__ long long nanoseconds() {
    long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

/// What the first thread took, by both clocks.
struct Taken {
    long long cycles, ns;
};

/// Chains of x = a x + b, eight a thread, none of which waits for another. With a = -1 and b = 1, and x a
/// multiple of 2^-19 from 0 to 1, nothing is rounded, and every other step brings x back.
template <class T>
__global__ void fma_chains(T* sums, T a, T b, int steps, Taken* taken) {
    const unsigned i = blockIdx.x * kThreads + threadIdx.x;
    const long long cycles = clock64(), ns = nanoseconds();
    const T seed = static_cast<T>(random_at(i) >> 16) / 65536;
    T x[kChains];
    for (int j = 0; j < kChains; ++j) x[j] = seed * (j + 1) / kChains;
#pragma unroll 32
    for (int step = 0; step < steps; ++step)
#pragma unroll
        for (int j = 0; j < kChains; ++j) x[j] = fma(x[j], a, b);
    T sum = 0;
    for (int j = 0; j < kChains; ++j) sum += x[j];
    sums[i] = sum - seed * (kChains + 1) / 2;  // 0, if it is right
    if (i == 0) *taken = {clock64() - cycles, nanoseconds() - ns};
}

__global__ void empty() {}

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

/// Counts the wrong ones of 1,024 numbers of a product, drawn at random. The tolerance leaves room for the
/// rounding of factors and sums; a product of other numbers misses by four times as much, and more.
template <class In, class Out>
__global__ void count_wrong_products(const In* a, const In* b, const Out* d, int n, unsigned* wrong) {
    const unsigned sample = blockIdx.x * kThreads + threadIdx.x;
    const size_t row = random_at(2 * sample) % n, column = random_at(2 * sample + 1) % n;
    double sum = 0, size = 0;
    for (int k = 0; k < n; ++k) {
        const double product = static_cast<double>(float(a[row * n + k])) * float(b[column * n + k]);
        sum += product;
        size += fabs(product);
    }
    if (!(fabs(float(d[column * n + row]) - sum) <= size / 256)) atomicAdd(wrong, 1u);
}

/// Ends the program if a roof was not earned: a kernel that leaves work out is fast.
void require_right(const std::string& name, bool right) {
    if (right) return;
    std::fprintf(stderr, "%s: the answer is wrong, so its rate means nothing\n", name.c_str());
    std::exit(1);
}

/// Sums on the device, to begin from 0 each time.
class Sums {
  public:
    /// What `work` adds up in all of them, modulo 2^32.
    unsigned of(const std::function<void(unsigned*)>& work) {
        CUDA_CHECK(cudaMemset(device_.get(), 0, kSums * sizeof(unsigned)));
        work(device_.get());
        CUDA_CHECK(cudaGetLastError());
        std::vector<unsigned> host(kSums);
        CUDA_CHECK(cudaMemcpy(host.data(), device_.get(), kSums * sizeof(unsigned), cudaMemcpyDeviceToHost));
        unsigned sum = 0;
        for (const unsigned s : host) sum += s;
        return sum;
    }
    unsigned* get() { return device_.get(); }

  private:
    std::unique_ptr<unsigned[], DeviceFree> device_ = device_array<unsigned>(kSums);
};

template <class Kernel>
unsigned blocks_that_fit(Kernel kernel) {
    int blocks = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, 0));
    return blocks * attribute(cudaDevAttrMultiProcessorCount);
}

/// read_all, copy_all or triad_all with 1, 2, 4 and 8 loads.
using DramKernels = std::vector<void (*)(const uint4*, uint4*, size_t, unsigned*)>;

/// The rate of the fastest shape: how many loads a thread has in flight, and as many blocks as there are
/// tiles or as fit at a time. `bytes` is what one launch moves. Then once more for a counter to look at.
Roof dram_roof(const std::string& name, const DramKernels& kernels, const uint4* in, uint4* out, size_t count,
               double bytes, unsigned* sums, int repeats) {
    double least = INFINITY;
    std::function<void()> fastest;
    Roof roof{name, "B/s"};
    for (size_t k = 0; k < kernels.size(); ++k) {
        const auto kernel = kernels[k];
        const unsigned tiles = count / (size_t{kThreads} << k);
        for (const unsigned blocks : {tiles, std::min(tiles, blocks_that_fit(kernel))}) {
            const auto work = [=] { kernel<<<blocks, kThreads>>>(in, out, count, sums); };
            const double seconds = seconds_of("trial", 1, work);
            if (seconds >= least) continue;
            least = seconds;
            fastest = work;
            roof.how = std::to_string(1 << k) + " x 16 bytes in flight a thread, " + std::to_string(blocks) +
                       " blocks";
        }
    }
    roof.measured = bytes / seconds_of(name, repeats, fastest);
    roof.work = bytes;
    roof.theoretical =
        2e3 * attribute(cudaDevAttrMemoryClockRate) * attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
    if (roof.theoretical == 0) roof.theoretical = NAN;
    nvtx3::scoped_range counted{"counted"};
    fastest();
    CUDA_CHECK(cudaDeviceSynchronize());
    return roof;
}

Roof l2_roof(const uint4* in, size_t most_bytes, Sums& sums, int repeats) {
    // A quarter: on a GPU whose L2 has two halves, each may hold a copy of what the other has.
    const size_t wanted = std::min<size_t>(most_bytes, attribute(cudaDevAttrL2CacheSize) / 4);
    const unsigned tiles = std::max<size_t>(1, wanted / kTileBytes), blocks = blocks_that_fit(read_l2);
    const unsigned once = sums.of([&](unsigned* s) {
        sum_words<<<blocks, kThreads>>>(reinterpret_cast<const unsigned*>(in), tiles * kTileBytes / 4, s);
    });
    const auto read = [&](unsigned* s) { read_l2<<<blocks, kThreads>>>(in, tiles, tiles, s); };
    require_right("L2 read",
                  sums.of(read) == once * blocks);  // each tile is read as often as there are blocks
    const double seconds = seconds_of("L2 read", repeats, [&] { read(sums.get()); });
    const double bytes = 1.0 * blocks * tiles * kTileBytes;
    return {"L2 read", "B/s", bytes / seconds,
            NAN,       bytes, std::to_string(tiles * kTileBytes >> 10) + " KiB, again and again"};
}

/// DRAM, L2 and the link, on one set of arrays.
void memory_roofs(size_t megabytes, int repeats, std::vector<Roof>& roofs) {
    size_t free_bytes = 0, all_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &all_bytes));
    const size_t bytes = std::min(megabytes << 20, free_bytes / 4) / kTileBytes * kTileBytes;
    const size_t count = bytes / sizeof(uint4);
    const auto in = device_array<uint4>(2 * count), out = device_array<uint4>(count);
    const auto* const numbers = reinterpret_cast<const float4*>(in.get());
    Sums sums;
    const unsigned blocks = 32 * attribute(cudaDevAttrMultiProcessorCount);
    fill<<<blocks, kThreads>>>(reinterpret_cast<float*>(in.get()), 2 * bytes / 4, 0);
    CUDA_CHECK(cudaMemset(out.get(), 0xFF, bytes));
    CUDA_CHECK(cudaMemset(sums.get(), 0, kSums * sizeof(unsigned)));

    roofs.push_back(dram_roof("DRAM read", {read_all<1>, read_all<2>, read_all<4>, read_all<8>}, in.get(),
                              nullptr, 2 * count, 2.0 * bytes, sums.get(), repeats));
    const unsigned expected = sums.of([&](unsigned* s) {
        sum_words<<<blocks, kThreads>>>(reinterpret_cast<const unsigned*>(in.get()), 2 * bytes / 4, s);
    });
    const unsigned found =
        sums.of([&](unsigned* s) { read_all<8><<<blocks, kThreads>>>(in.get(), nullptr, 2 * count, s); });
    require_right("DRAM read", found == expected);
    const auto wrong = [&](bool triad) {
        return sums.of([&](unsigned* s) {
            count_wrong<<<blocks, kThreads>>>(numbers, reinterpret_cast<const float4*>(out.get()), count,
                                              triad, s);
        });
    };
    roofs.push_back(dram_roof("DRAM copy", {copy_all<1>, copy_all<2>, copy_all<4>, copy_all<8>}, in.get(),
                              out.get(), count, 2.0 * bytes, nullptr, repeats));
    require_right("DRAM copy", wrong(false) == 0);
    roofs.push_back(dram_roof("DRAM triad", {triad_all<1>, triad_all<2>, triad_all<4>, triad_all<8>},
                              in.get(), out.get(), count, 3.0 * bytes, nullptr, repeats));
    require_right("DRAM triad", wrong(true) == 0);
    roofs.push_back(l2_roof(in.get(), bytes, sums, repeats));

    // The link: pinned memory, from `in` to the host and back into `out`. What the link could do the runtime
    // does not say; nvidia-smi does (pcie.link.gen.current, pcie.link.width.current).
    const size_t part = std::min<size_t>(bytes, 128 << 20);
    const auto up = pinned_array<char>(part), down = pinned_array<char>(part);
    cudaStream_t other = nullptr;
    cudaEvent_t begun = nullptr, done = nullptr;
    CUDA_CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CUDA_CHECK(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
    CUDA_CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    const auto to_host = [&](cudaStream_t stream) {
        CUDA_CHECK(cudaMemcpyAsync(down.get(), in.get(), part, cudaMemcpyDeviceToHost, stream));
    };
    const auto to_device = [&] {
        CUDA_CHECK(cudaMemcpyAsync(out.get(), up.get(), part, cudaMemcpyHostToDevice));
    };
    const auto link_roof = [&](const char* name, double moved, const std::function<void()>& work) {
        roofs.push_back({name, "B/s", moved / seconds_of(name, repeats, work), NAN, moved, "pinned memory"});
    };
    CUDA_CHECK(cudaMemset(out.get(), 0, part));
    to_host(nullptr);
    CUDA_CHECK(cudaStreamSynchronize(nullptr));
    std::memcpy(up.get(), down.get(), part);
    link_roof("host to device", part, to_device);
    link_roof("device to host", part, [&] { to_host(nullptr); });
    link_roof("both directions", 2.0 * part, [&] {
        CUDA_CHECK(cudaEventRecord(begun));
        CUDA_CHECK(cudaStreamWaitEvent(other, begun));
        to_host(other);
        to_device();
        CUDA_CHECK(cudaEventRecord(done, other));
        CUDA_CHECK(cudaStreamWaitEvent(nullptr, done));
    });
    CUDA_CHECK(cudaDeviceSynchronize());
    std::memset(up.get(), 0, part);
    CUDA_CHECK(cudaMemcpy(up.get(), out.get(), part, cudaMemcpyDeviceToHost));
    require_right("the link", std::memcmp(up.get(), down.get(), part) == 0);
    CUDA_CHECK(cudaEventDestroy(begun));
    CUDA_CHECK(cudaEventDestroy(done));
    CUDA_CHECK(cudaStreamDestroy(other));
}

/// FLOP/s of fused multiply-adds in chains. `microseconds` is what one launch would take at the theoretical
/// rate.
template <class T>
Roof fma_roof(const std::string& name, double fma_per_clock, int microseconds, int repeats) {
    const unsigned blocks = blocks_that_fit(fma_chains<T>), threads = blocks * kThreads;
    const double rate = at_highest_clock(std::isnan(fma_per_clock) ? 2 : fma_per_clock);
    const double flop_a_step = 2.0 * kChains * threads;
    const int steps = 32 * std::max(1, static_cast<int>(microseconds * 1e-6 * rate / flop_a_step / 32));
    const auto sums = device_array<T>(threads);
    const auto device_taken = device_array<Taken>(1);
    const auto work = [&] {
        fma_chains<T><<<blocks, kThreads>>>(sums.get(), T(-1), T(1), steps, device_taken.get());
    };
    const double seconds = seconds_of(name, repeats, work);
    Taken taken{};  // by the last launch that was measured
    CUDA_CHECK(cudaMemcpy(&taken, device_taken.get(), sizeof taken, cudaMemcpyDeviceToHost));
    {
        nvtx3::scoped_range counted{"counted"};
        work();
    }
    std::vector<T> off(threads);
    CUDA_CHECK(cudaMemcpy(off.data(), sums.get(), threads * sizeof(T), cudaMemcpyDeviceToHost));
    require_right(name, std::all_of(off.begin(), off.end(), [](T x) { return x == 0; }));
    const double flop = flop_a_step * steps;
    char how[64];
    std::snprintf(how, sizeof how, "%d chains a thread, SM clock %.2f GHz", kChains,
                  static_cast<double>(taken.cycles) / std::max(taken.ns, 1LL));
    return {name, "FLOP/s", flop / seconds, at_highest_clock(fma_per_clock), flop, how};
}

void check_lt(cublasStatus_t status, const char* call, int line) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    std::fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, line, call, cublasLtGetStatusString(status));
    std::exit(1);
}
#define LT_CHECK(call) check_lt((call), #call, __LINE__)

/// FLOP/s of the product of two n x n matrices by cuBLASLt: 2 n^3 by arithmetic, since no instruction counter
/// sees what tensor cores add up. Both lie along the sum's direction, which every type of tensor core can
/// read.
template <class In, class Out>
Roof tensor_roof(const std::string& name, cudaDataType_t in_type, cudaDataType_t out_type,
                 cublasComputeType_t compute, int least_capability, double fma_per_clock, int n, int offers,
                 int repeats) {
    if (compute_capability() < least_capability) return {name, "FLOP/s", NAN, NAN, NAN, "not on this GPU"};
    const size_t count = size_t{1} * n * n, workspace_bytes = 32 << 20;
    const auto a = device_array<In>(count), b = device_array<In>(count);
    const auto d = device_array<Out>(count);
    const auto workspace = device_array<char>(workspace_bytes);
    const unsigned blocks = 32 * attribute(cudaDevAttrMultiProcessorCount);
    fill<<<blocks, kThreads>>>(a.get(), count, 0);
    fill<<<blocks, kThreads>>>(b.get(), count, count);
    CUDA_CHECK(cudaMemset(d.get(), 0xFF, count * sizeof(Out)));

    cublasLtHandle_t lt = nullptr;
    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t in_layout = nullptr, out_layout = nullptr;
    cublasLtMatmulPreference_t wanted = nullptr;
    const cublasOperation_t transposed = CUBLAS_OP_T;
    LT_CHECK(cublasLtCreate(&lt));
    LT_CHECK(cublasLtMatmulDescCreate(&product, compute, CUDA_R_32F));
    LT_CHECK(
        cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
    LT_CHECK(cublasLtMatrixLayoutCreate(&in_layout, in_type, n, n, n));
    LT_CHECK(cublasLtMatrixLayoutCreate(&out_layout, out_type, n, n, n));
    LT_CHECK(cublasLtMatmulPreferenceCreate(&wanted));
    LT_CHECK(cublasLtMatmulPreferenceSetAttribute(wanted, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                  &workspace_bytes, sizeof workspace_bytes));
    std::vector<cublasLtMatmulHeuristicResult_t> offered(offers);
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(lt, product, in_layout, in_layout, out_layout, out_layout, wanted,
                                       static_cast<int>(offered.size()), offered.data(), &found);
    Roof roof{
        name, "FLOP/s", NAN, at_highest_clock(fma_per_clock), 2.0 * n * n * n, "cuBLASLt offers nothing"};
    if (status == CUBLAS_STATUS_SUCCESS && found > 0) {
        const auto multiply = [&](int i) {
            const float one = 1, zero = 0;
            LT_CHECK(cublasLtMatmul(lt, product, &one, a.get(), in_layout, b.get(), in_layout, &zero, d.get(),
                                    out_layout, d.get(), out_layout, &offered[i].algo, workspace.get(),
                                    workspace_bytes, nullptr));
        };
        int fastest = 0;
        double least = seconds_of("trial", 1, [&] { multiply(0); });
        const int tried = std::min(found, 1 + static_cast<int>(0.1 / least));  // no long search on a slow GPU
        for (int i = 1; i < tried; ++i) {
            const double seconds = seconds_of("trial", 1, [&] { multiply(i); });
            if (seconds < least) least = seconds, fastest = i;
        }
        roof.measured = roof.work / seconds_of(name, repeats, [&] { multiply(fastest); });
        roof.how = "the fastest of " + std::to_string(tried) + " algorithms";
        Sums sums;
        require_right(name, sums.of([&](unsigned* wrong) {
            count_wrong_products<<<1024 / kThreads, kThreads>>>(a.get(), b.get(), d.get(), n, wrong);
        }) == 0);
    }
    LT_CHECK(cublasLtMatmulPreferenceDestroy(wanted));
    LT_CHECK(cublasLtMatrixLayoutDestroy(in_layout));
    LT_CHECK(cublasLtMatrixLayoutDestroy(out_layout));
    LT_CHECK(cublasLtMatmulDescDestroy(product));
    LT_CHECK(cublasLtDestroy(lt));
    return roof;
}

/// Seconds a kernel, of a batch of empty ones, from the first launch to the end of the last.
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
    CUDA_CHECK(cudaGetLastError());
    std::nth_element(seconds.begin() + 1, seconds.begin() + 1 + repeats / 2,
                     seconds.end());  // not the warm-up
    return {name, "s", seconds[1 + repeats / 2], NAN, NAN, std::to_string(launches) + " empty kernels"};
}

/// One chain of kernels in one stream, and by a graph; then by a graph of several chains, which do not wait
/// for each other.
void launch_roofs(int launches, int repeats, std::vector<Roof>& roofs) {
    constexpr int kMostChains = 8;
    std::vector<cudaStream_t> streams(kMostChains);
    for (cudaStream_t& stream : streams)
        CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaEvent_t event = nullptr;
    CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    const auto launch_in = [&](int chains) {
        for (int i = 0; i < launches; ++i) empty<<<1, 1, 0, streams[i % chains]>>>();
    };
    roofs.push_back(launch_roof("launch, stream", launches, repeats, [&] { launch_in(1); }));
    for (const int chains : {1, kMostChains}) {
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t ready = nullptr;
        CUDA_CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal));
        CUDA_CHECK(cudaEventRecord(event, streams[0]));
        for (int c = 1; c < chains; ++c) CUDA_CHECK(cudaStreamWaitEvent(streams[c], event));
        launch_in(chains);
        for (int c = 1; c < chains; ++c) {
            CUDA_CHECK(cudaEventRecord(event, streams[c]));
            CUDA_CHECK(cudaStreamWaitEvent(streams[0], event));
        }
        CUDA_CHECK(cudaStreamEndCapture(streams[0], &graph));
        CUDA_CHECK(cudaGraphInstantiate(&ready, graph, 0));
        roofs.push_back(launch_roof(chains == 1 ? "launch, graph" : "launch, graph of 8 chains", launches,
                                    repeats, [&] { CUDA_CHECK(cudaGraphLaunch(ready, streams[0])); }));
        CUDA_CHECK(cudaGraphExecDestroy(ready));
        CUDA_CHECK(cudaGraphDestroy(graph));
    }
    CUDA_CHECK(cudaEventDestroy(event));
    for (const cudaStream_t stream : streams) CUDA_CHECK(cudaStreamDestroy(stream));
}

/// In the unit that suits: "4.52 TB/s", "2.1 us".
std::string shown(double value, const std::string& unit) {
    if (std::isnan(value)) return "-";
    const std::vector<std::string> prefixes =
        unit == "s" ? std::vector<std::string>{"n", "u", "m", ""} : std::vector<std::string>{"G", "T"};
    double scaled = unit == "s" ? value * 1e9 : value / 1e9;
    size_t prefix = 0;
    while (scaled >= 1000 && prefix + 1 < prefixes.size()) scaled /= 1000, ++prefix;
    char text[32];
    std::snprintf(text, sizeof text, "%.2f %s%s", scaled, prefixes[prefix].c_str(), unit.c_str());
    return text;
}

std::string json(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return std::isnan(value) ? "null" : text;
}

void print(const std::vector<Roof>& roofs) {
    const double clock_Hz = 1e3 * attribute(cudaDevAttrClockRate);
    std::printf("%d SMs, highest clock by the driver %.2f GHz\n\n", attribute(cudaDevAttrMultiProcessorCount),
                clock_Hz / 1e9);
    std::printf("%-25s %15s %15s  %6s  %s\n", "roof", "measured", "theoretical", "share", "how");
    std::string line = "{\"clock_Hz\": " + json(clock_Hz) + ", \"roofs\": [";
    for (const Roof& roof : roofs) {
        const double share = 100 * roof.measured / roof.theoretical;
        char percent[16] = "-";
        if (!std::isnan(share)) std::snprintf(percent, sizeof percent, "%.1f%%", share);
        std::printf("%-25s %15s %15s  %6s  %s\n", roof.name.c_str(), shown(roof.measured, roof.unit).c_str(),
                    shown(roof.theoretical, roof.unit).c_str(), percent, roof.how.c_str());
        line += std::string(&roof == &roofs.front() ? "" : ", ") + "{\"name\": \"" + roof.name +
                "\", \"unit\": \"" + roof.unit + "\", \"measured\": " + json(roof.measured) +
                ", \"theoretical\": " + json(roof.theoretical) + ", \"work\": " + json(roof.work) +
                ", \"how\": \"" + roof.how + "\"}";
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
        options.integer("--offers", 8, 1, 100, "algorithms for a product to ask cuBLASLt for"));
    options.done();
    require_gpu(12ull * n * n + (64 << 20));

    const FmaRates rates = fma_rates();
    std::vector<Roof> roofs;
    memory_roofs(megabytes, repeats, roofs);
    roofs.push_back(fma_roof<float>("FP32 FMA", rates.fp32, microseconds, repeats));
    roofs.push_back(fma_roof<double>("FP64 FMA", rates.fp64, microseconds, repeats));
    roofs.push_back(tensor_roof<float, float>("TF32 tensor", CUDA_R_32F, CUDA_R_32F,
                                              CUBLAS_COMPUTE_32F_FAST_TF32, 80, rates.tf32, n, offers,
                                              repeats));
    roofs.push_back(tensor_roof<__nv_bfloat16, __nv_bfloat16>(
        "BF16 tensor", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 80, rates.bf16, n, offers, repeats));
    roofs.push_back(tensor_roof<__nv_fp8_e4m3, __nv_bfloat16>(
        "FP8 tensor", CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 89, rates.fp8, n, offers, repeats));
    launch_roofs(launches, repeats, roofs);
    print(roofs);
    return 0;
}
