// The store of an observatory takes the frames that its cameras have sent overnight: each is decoded,
// smoothed and summed up on the GPU, and the sums go back. Frames have nothing to do with each other, and are
// spread over four streams.
//
// Right: a night takes about as long as any other with as many frames, whatever its cameras are like.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <utility>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kBlocks = 8, kThreads = 256;  // of every kernel: a corner of the GPU
constexpr int kLanes = 4, kCameras = 8, kTable = 256;
constexpr int kDecodeSteps = 512;
constexpr size_t kTile = 4096;  // pixels; frames come in whole tiles

// ---- what a night looks like -----------------------------------------------------------------------------

struct Frame {
    unsigned camera;  // its serial number
    size_t pixels;
};

/// Frames in the order in which they have come, and how the store is set up for them.
struct Night {
    std::vector<Frame> frames;
    size_t pinned_pixels;   // of the archive in host memory
    size_t device_pixels;   // for frames on the GPU
    size_t scratch_pixels;  // of a lane, for a start
    size_t spare;           // how many times too large it may be and is kept

    [[nodiscard]] size_t largest() const {
        size_t most = 0;
        for (const Frame& frame : frames) most = std::max(most, frame.pixels);
        return most;
    }
    [[nodiscard]] size_t total() const {
        size_t sum = 0;
        for (const Frame& frame : frames) sum += frame.pixels;
        return sum;
    }
};

Night draw_night(std::mt19937& random, int frames, int tiles) {
    Night night;
    const size_t unit = kTile * tiles;
    const unsigned serial = 1000 + random() % 9000, between = 1 + random() % 8;
    for (int i = 0; i < frames; ++i) {
        const unsigned camera = serial + between * (random() % kCameras);
        night.frames.push_back({camera, unit / 4 + kTile * (random() % (3 * tiles / 4 + 1))});
    }
    night.pinned_pixels = unit * frames * (1 + random() % 16) / 16;
    night.device_pixels = unit * (1 + random() % 16);
    night.scratch_pixels = unit * (1 + random() % 8) / 8;
    night.spare = 1 + random() % 8;
    return night;
}

// ---- the archive: frames in host memory ------------------------------------------------------------------

/// Keeps the pixels of a night: pinned while there is room, in ordinary memory from then on.
class Archive {
  public:
    explicit Archive(const Night& night)
        : pinned_(pinned_array<unsigned>(night.total())), room_(night.total()) {
        for (const Frame& frame : night.frames) places_.push_back(place(frame.pixels));
    }

    [[nodiscard]] unsigned* operator[](size_t frame) const { return places_[frame]; }

  private:
    unsigned* place(size_t pixels) {
        if (used_ + pixels <= room_) return &pinned_[std::exchange(used_, used_ + pixels)];
        spilled_.emplace_back(pixels);
        return spilled_.back().data();
    }

    std::unique_ptr<unsigned[], PinnedFree> pinned_;
    size_t room_, used_ = 0;
    std::vector<std::vector<unsigned>> spilled_;
    std::vector<unsigned*> places_;
};

// ---- kernels ---------------------------------------------------------------------------------------------

struct Sums {
    unsigned all, bright, odd;

    bool operator==(const Sums& other) const {
        return all == other.all && bright == other.bright && odd == other.odd;
    }
};

/// Where the neighbor of a pixel lies that it is smoothed with.
__host__ __device__ size_t neighbour(size_t i, size_t pixels) {
    return i + 1 < pixels ? i + 1 : 0;
}

/// Undoes the coding of a camera: a chain of steps for each pixel.
__global__ void decode(unsigned* frame, size_t pixels, const unsigned* table) {
    for (size_t i = blockIdx.x * kThreads + threadIdx.x; i < pixels; i += kBlocks * kThreads) {
        unsigned x = frame[i];
        const unsigned add = table[i % kTable];
        for (int step = 0; step < kDecodeSteps; ++step) x = 5 * x + add;
        frame[i] = x;
    }
}

__global__ void smooth(const unsigned* frame, size_t pixels, unsigned* smoothed) {
    for (size_t i = blockIdx.x * kThreads + threadIdx.x; i < pixels; i += kBlocks * kThreads)
        smoothed[i] = frame[i] / 2 + frame[neighbour(i, pixels)] / 2;
}

__global__ void sum_up(const unsigned* smoothed, size_t pixels, Sums* sums) {
    Sums own{};
    for (size_t i = blockIdx.x * kThreads + threadIdx.x; i < pixels; i += kBlocks * kThreads) {
        own.all += smoothed[i];
        own.bright += smoothed[i] >> 31;
        own.odd += smoothed[i] & 1;
    }
    atomicAdd(&sums->all, own.all);
    atomicAdd(&sums->bright, own.bright);
    atomicAdd(&sums->odd, own.odd);
}

// ---- the reference ---------------------------------------------------------------------------------------

/// The same on the host; all steps of `decode` are one, by squaring.
Sums expected_sums(const unsigned* coded, size_t pixels, const unsigned* table) {
    unsigned factor = 1, steps = 0, power = 5, sum = 1;
    for (int left = kDecodeSteps; left > 0; left /= 2) {
        if (left % 2) steps = steps * power + sum, factor *= power;
        sum += sum * power, power *= power;
    }
    const auto decoded = [&](size_t i) { return factor * coded[i] + steps * table[i % kTable]; };
    Sums sums{};
    for (size_t i = 0; i < pixels; ++i) {
        const unsigned x = decoded(i) / 2 + decoded(neighbour(i, pixels)) / 2;
        sums.all += x;
        sums.bright += x >> 31;
        sums.odd += x & 1;
    }
    return sums;
}

// ---- the store -------------------------------------------------------------------------------------------

/// Room for a frame on the GPU. A frame in another lane waits until the one before is done with it.
struct Buffer {
    std::unique_ptr<unsigned[], DeviceFree> pixels;
    Event done = make_event(cudaEventDisableTiming);
    int lane = -1;  // that has used it last
};

/// A stream with what only its own frames use, one after the other.
struct Lane {
    Stream stream = make_stream(cudaStreamNonBlocking);
    std::unique_ptr<unsigned[], DeviceFree> scratch, table = device_array<unsigned>(kTable);
    size_t scratch_pixels = 0;

    void reserve(size_t pixels, size_t spare) {
        if (pixels <= scratch_pixels && scratch_pixels <= spare * pixels) return;
        scratch = device_array<unsigned>(pixels);
        scratch_pixels = pixels;
    }
};

class Store {
  public:
    explicit Store(const Night& night)
        : spare_(night.spare),
          sums_(device_array<Sums>(night.frames.size())),
          lanes_(kLanes),
          buffers_(std::max<size_t>(2 * kLanes, night.device_pixels / night.largest())) {
        for (Lane& lane : lanes_) lane.reserve(night.largest(), spare_);
        for (Buffer& buffer : buffers_) buffer.pixels = device_array<unsigned>(night.largest());
    }

    /// Queues all the work for a frame; its sums are in `sums` once the GPU is done.
    void take(size_t number, const Frame& frame, const unsigned* coded, const unsigned* table, Sums* sums) {
        const int its = static_cast<int>(number % kLanes);
        Lane& lane = lanes_[its];
        const cudaStream_t stream = lane.stream.get();
        Buffer& buffer = buffers_[number % buffers_.size()];
        if (buffer.lane >= 0 && buffer.lane != its)
            CUDA_CHECK(cudaStreamWaitEvent(stream, buffer.done.get()));
        CUDA_CHECK(cudaMemcpyAsync(lane.table.get(), table, kTable * sizeof(unsigned), cudaMemcpyHostToDevice,
                                   stream));
        CUDA_CHECK(cudaMemcpyAsync(buffer.pixels.get(), coded, frame.pixels * sizeof(unsigned),
                                   cudaMemcpyHostToDevice, stream));
        CUDA_CHECK(cudaMemsetAsync(&sums_[number], 0, sizeof(Sums), stream));
        decode<<<kBlocks, kThreads, 0, stream>>>(buffer.pixels.get(), frame.pixels, lane.table.get());
        CUDA_CHECK(cudaGetLastError());
        smooth<<<kBlocks, kThreads, 0, stream>>>(buffer.pixels.get(), frame.pixels, lane.scratch.get());
        CUDA_CHECK(cudaGetLastError());
        sum_up<<<kBlocks, kThreads, 0, stream>>>(lane.scratch.get(), frame.pixels, &sums_[number]);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemcpyAsync(sums, &sums_[number], sizeof(Sums), cudaMemcpyDeviceToHost, stream));
        CUDA_CHECK(cudaEventRecord(buffer.done.get(), stream));
        buffer.lane = its;
        CUDA_CHECK(cudaLaunchHostFunc(stream, count_frame, &taken_));
    }

    [[nodiscard]] int taken() const { return taken_; }

  private:
    static void CUDART_CB count_frame(void* taken) { ++*static_cast<std::atomic<int>*>(taken); }

    size_t spare_;
    std::unique_ptr<Sums[], DeviceFree> sums_;
    std::vector<Lane> lanes_;
    std::vector<Buffer> buffers_;
    std::atomic<int> taken_{0};
};

int main(int argc, char** argv) {
    Options options(argc, argv, "Decodes, smooths and sums up the frames of a night, in four streams.");
    const auto seed = static_cast<unsigned>(options.integer("--seed", 1078, 0, 1'000'000, "of the night"));
    const int frames = static_cast<int>(options.integer("--frames", 40, 1, 256, "frames of the night"));
    const int tiles = static_cast<int>(
        options.integer("--tiles", 128, 4, 256, "tiles of 4096 pixels in the largest frame there may be"));
    options.done();
    std::mt19937 random(seed);
    const Night night = draw_night(random, frames, tiles);
    require_gpu((night.device_pixels + (kLanes + 1) * night.largest()) * 2 * sizeof(unsigned));

    std::vector<std::vector<unsigned>> tables(kCameras, std::vector<unsigned>(kTable));
    for (std::vector<unsigned>& table : tables)
        for (unsigned& add : table) add = static_cast<unsigned>(random()) | 1;
    const Archive archive(night);
    for (size_t i = 0; i < night.frames.size(); ++i)
        for (size_t k = 0; k < night.frames[i].pixels; ++k) archive[i][k] = static_cast<unsigned>(random());
    const auto table_of = [&](const Frame& frame) { return tables[frame.camera % kCameras].data(); };
    const auto sums = pinned_array<Sums>(night.frames.size());

    Store store(night);
    {
        nvtx3::scoped_range range{"warm-up"};
        store.take(0, night.frames[0], archive[0], table_of(night.frames[0]), &sums[0]);
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"store"};
        for (size_t i = 0; i < night.frames.size(); ++i)
            store.take(i, night.frames[i], archive[i], table_of(night.frames[i]), &sums[i]);
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    size_t wrong = 0;
    for (size_t i = 0; i < night.frames.size(); ++i) {
        const Frame& frame = night.frames[i];
        const Sums expected = expected_sums(archive[i], frame.pixels, table_of(frame));
        if (!(sums[i] == expected) && ++wrong == 1)
            std::printf("frame %zu: expected the sum %u, found %u\n", i, expected.all, sums[i].all);
    }
    std::printf("%d frames, %.1f MB: %.2f ms\n", store.taken() - 1, night.total() * sizeof(unsigned) / 1e6,
                elapsed.count());
    std::printf("wrong frames: expected 0, found %zu of %d\n", wrong, frames);
    return wrong == 0 && store.taken() == frames + 1 ? 0 : 1;
}
