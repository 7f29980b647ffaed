// A hearing aid takes noise out of sound. Every few milliseconds a frame of 1,024 samples goes through a
// neural network of many small layers, and is made as loud as the wearer likes it. Weights are stored as two
// codes per eight weights. Each code names eight values of a book, and every layer has its own books. A frame
// is one launch of a graph.
//
// Symptom: a frame takes too long, and launching it as a graph saves little.
// Task: find out where the time goes, and make a frame shorter. What it computes stays as it is.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node -f true
//              -o starter ./starter --frames 4
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "common/graph_compat.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kWidth = 1024;  // samples per frame, and values that a layer takes and gives
constexpr int kThreads = 64;  // per block of a layer
constexpr int kRows = 8;      // values that a block of a layer gives
constexpr int kBlocks = kWidth / kRows;
constexpr int kAtOnce = 8;  // weights that have a common pair of codes
constexpr int kPairs = kWidth / kAtOnce, kEntries = 256, kFours = kAtOnce / 4;
constexpr int kBookFours = 2 * kEntries * kFours;  // both books of a layer, in groups of four numbers
constexpr int kShift = 7, kMost = 127;             // of what a layer gives
constexpr int kClips = 4;                          // different frames, which come by turns

/// What a layer makes of the sum of its products.
__host__ __device__ int bent(int sum) {
    const int value = sum >> kShift;
    return value < -kMost ? -kMost : value > kMost ? kMost : value;
}

/// A sample as it is played, if the loudest of the frame has this value.
__host__ __device__ int played(int sample, int loudest, int volume) {
    return sample * volume / (loudest + 1);
}

/// One layer: out = bent(weights * in). Each block gives eight values, each warp four of them.
__global__ void layer(const int* in, int* out, const uint16_t* codes, const int4* books) {
    __shared__ int4 book[kBookFours];
    __shared__ int4 weights[kRows * kWidth / 4];
    for (int i = threadIdx.x; i < kBookFours; i += kThreads) book[i] = books[i];
    __syncthreads();
    for (int i = threadIdx.x; i < kRows * kPairs; i += kThreads) {
        const unsigned pair = codes[blockIdx.x * kRows * kPairs + i];
        for (int four = 0; four < kFours; ++four) {
            const int4 a = book[(pair & 255) * kFours + four];
            const int4 b = book[(kEntries + (pair >> 8)) * kFours + four];
            weights[i * kFours + four] = int4{a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
        }
    }
    __syncthreads();
    const int lane = threadIdx.x % 32;
    for (int row = threadIdx.x / 32; row < kRows; row += kThreads / 32) {
        int sum = 0;
        for (int i = lane; i < kWidth / 4; i += 32) {
            const int4 w = weights[row * kWidth / 4 + i], x = reinterpret_cast<const int4*>(in)[i];
            sum += w.x * x.x + w.y * x.y + w.z * x.z + w.w * x.w;
        }
        for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(~0u, sum, lanes);
        if (lane == 0) out[blockIdx.x * kRows + row] = bent(sum);
    }
}

/// Makes a frame as loud as `volume` says, in one block. `loudest` is 0 before.
__global__ void loudness(const int* in, int* out, int* loudest, const int* volume) {
    const int sample = in[threadIdx.x];
    atomicMax(loudest, abs(sample));
    __syncthreads();
    out[threadIdx.x] = played(sample, *static_cast<volatile int*>(loudest), *volume);
}

/// The weights on the host, and on the GPU.
struct Network {
    int layers;
    std::vector<uint16_t> codes;
    std::vector<int4> books;
    std::unique_ptr<uint16_t[], DeviceFree> device_codes;
    std::unique_ptr<int4[], DeviceFree> device_books;

    Network(int layers, std::mt19937& random)
        : layers(layers),
          codes(size_t{kWidth} * kPairs * layers),
          books(size_t{kBookFours} * layers),
          device_codes(device_array<uint16_t>(codes.size())),
          device_books(device_array<int4>(books.size())) {
        for (uint16_t& pair : codes) pair = static_cast<uint16_t>(random() >> 16);
        const auto drawn = [&] { return static_cast<int>(random() % 15) - 7; };
        for (int4& four : books) four = make_int4(drawn(), drawn(), drawn(), drawn());
        CUDA_CHECK(cudaMemcpy(device_codes.get(), codes.data(), codes.size() * sizeof(uint16_t),
                              cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemcpy(device_books.get(), books.data(), books.size() * sizeof(int4),
                              cudaMemcpyHostToDevice));
    }

    /// The frame that should be played for `clip`.
    [[nodiscard]] std::vector<int> expected(std::vector<int> clip, int volume) const {
        std::vector<int> next(kWidth);
        for (int n = 0; n < layers; ++n, clip.swap(next)) {
            const int4* const book = &books[size_t{kBookFours} * n];
            for (int row = 0; row < kWidth; ++row) {
                int sum = 0;
                for (int group = 0; group < kPairs; ++group) {
                    const unsigned pair = codes[(size_t{kWidth} * n + row) * kPairs + group];
                    for (int i = 0; i < kAtOnce; ++i)
                        sum += clip[group * kAtOnce + i] * ((&book[(pair & 255) * kFours].x)[i] +
                                                            (&book[(kEntries + (pair >> 8)) * kFours].x)[i]);
                }
                next[row] = bent(sum);
            }
        }
        int loudest = 0;
        for (const int sample : clip) loudest = std::max(loudest, std::abs(sample));
        for (int& sample : clip) sample = played(sample, loudest, volume);
        return clip;
    }
};

/// What a frame needs on its way. The host can access `heard`, `played` and `volume`, too.
struct Aid {
    const Network& network;
    std::unique_ptr<int[], PinnedFree> heard = pinned_array<int>(kWidth), played = pinned_array<int>(kWidth),
                                       volume = pinned_array<int>(1);
    std::unique_ptr<int[], DeviceFree> sound = device_array<int>(kWidth), next = device_array<int>(kWidth),
                                       loudest = device_array<int>(1), dial = device_array<int>(1);
    Event begun = make_event(), half_way = make_event();
    Stream stream = make_stream(cudaStreamNonBlocking);
};

/// Queues a frame. Under capture, events become nodes that record them in each launch.
void queue_frame(const Aid& aid, bool captured) {
    const cudaStream_t stream = aid.stream.get();
    const unsigned how = captured ? cudaEventRecordExternal : cudaEventRecordDefault;
    CUDA_CHECK(cudaMemcpyAsync(aid.sound.get(), aid.heard.get(), kWidth * sizeof(int), cudaMemcpyHostToDevice,
                               stream));
    CUDA_CHECK(
        cudaMemcpyAsync(aid.dial.get(), aid.volume.get(), sizeof(int), cudaMemcpyHostToDevice, stream));
    CUDA_CHECK(cudaMemsetAsync(aid.loudest.get(), 0, sizeof(int), stream));
    CUDA_CHECK(cudaEventRecordWithFlags(aid.begun.get(), stream, how));
    int *in = aid.sound.get(), *out = aid.next.get();
    for (int n = 0; n < aid.network.layers; ++n, std::swap(in, out)) {
        if (n == aid.network.layers / 2)
            CUDA_CHECK(cudaEventRecordWithFlags(aid.half_way.get(), stream, how));
        const uint16_t* const codes = &aid.network.device_codes[size_t{kWidth} * kPairs * n];
        const int4* const books = &aid.network.device_books[size_t{kBookFours} * n];
        layer<<<kBlocks, kThreads, 0, stream>>>(in, out, codes, books);
        CUDA_CHECK(cudaGetLastError());
    }
    loudness<<<1, kWidth, 0, stream>>>(in, out, aid.loudest.get(), aid.dial.get());
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpyAsync(aid.played.get(), out, kWidth * sizeof(int), cudaMemcpyDeviceToHost, stream));
}

GraphExec capture_frame(const Aid& aid) {
    cudaGraph_t graph = nullptr;
    CUDA_CHECK(cudaStreamBeginCapture(aid.stream.get(), cudaStreamCaptureModeThreadLocal));
    queue_frame(aid, true);
    CUDA_CHECK(cudaStreamEndCapture(aid.stream.get(), &graph));
    return instantiate(Graph(graph));
}

/// Ends the program on GPUs before Hopper.
void require_hopper() {
    int major = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major >= 9) return;
    std::fprintf(stderr, "no suitable GPU: compute capability 9.0 (Hopper) or later is needed\n");
    std::exit(77);
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Takes noise out of frames of sound.");
    const int frames = options.integer("--frames", 400, 1, 100'000, "frames, after as many to warm up");
    const int layers = options.integer("--layers", 48, 1, 1000, "layers of the network");
    const bool graph = options.integer("--graph", 1, 0, 1, "1: a frame is one launch of a graph") == 1;
    options.done();
    require_gpu(static_cast<size_t>(layers) * (kWidth * kPairs * 2 + kBookFours * 16) + (1 << 20));
    require_hopper();

    std::mt19937 random(8);
    const Network network(layers, random);
    const Aid aid{network};
    std::vector<std::vector<int>> clips(kClips, std::vector<int>(kWidth)), expected;
    for (int n = 0; n < kClips; ++n) {
        for (int& sample : clips[n]) sample = static_cast<int>(random() % (2 * kMost + 1)) - kMost;
        expected.push_back(network.expected(clips[n], 100 + n));
    }
    CUDA_CHECK(cudaDeviceSynchronize());  // the copies of the weights aren't in that stream
    const GraphExec exec = graph ? capture_frame(aid) : nullptr;

    int wrong = 0;
    std::vector<double> frame_us, half_us;
    const auto play = [&](int frame) {
        std::copy(clips[frame % kClips].begin(), clips[frame % kClips].end(), aid.heard.get());
        *aid.volume.get() = 100 + frame % kClips;
        std::fill_n(aid.played.get(), kWidth, -1000);
        const auto start = std::chrono::steady_clock::now();
        if (graph)
            CUDA_CHECK(cudaGraphLaunch(exec.get(), aid.stream.get()));
        else
            queue_frame(aid, false);
        CUDA_CHECK(cudaStreamSynchronize(aid.stream.get()));
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
        float half_ms = 0;
        CUDA_CHECK(cudaEventElapsedTime(&half_ms, aid.begun.get(), aid.half_way.get()));
        frame_us.push_back(took.count());
        half_us.push_back(1e3 * half_ms);
        wrong += !std::equal(aid.played.get(), aid.played.get() + kWidth, expected[frame % kClips].begin());
    };
    {
        nvtx3::scoped_range range{"warm-up"};
        for (int frame = 0; frame < frames; ++frame) play(frame);
    }
    frame_us.clear(), half_us.clear();
    {
        nvtx3::scoped_range range{"play"};
        for (int frame = 0; frame < frames; ++frame) play(frame);
    }
    const auto median = [](std::vector<double>& of) {
        std::nth_element(of.begin(), of.begin() + of.size() / 2, of.end());
        return of[of.size() / 2];
    };
    std::printf("a frame: %.1f us, and %.1f us for half of its layers (medians)\n", median(frame_us),
                median(half_us));
    std::printf("wrong: %d of %d frames\n", wrong, 2 * frames);
    return wrong == 0 ? 0 : 1;
}
