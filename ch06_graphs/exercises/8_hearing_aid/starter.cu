// A hearing aid takes noise out of sound. Every few milliseconds a frame of 1,024 samples goes through a
// neural network of many small layers, and is made as loud as the wearer likes it. Weights are stored as two
// codes per eight weights. Each code names eight values of a book, and every layer has its own books. A frame
// is one launch of a graph. How the aid is set is drawn for each wearer.
//
// Symptom: a frame takes too long for its wearer, although it is one launch of a graph.
// Task: find out where the time goes, and make a frame shorter. What it computes stays as it is.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node -f true
//              -o starter ./starter --frames 4
#include <cooperative_groups.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "common/graph_compat.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kWidth = 1024;          // samples per frame, and values that a layer takes and gives
constexpr int kRows = 8;              // values that a block of a layer gives, a warp each
constexpr int kThreads = 32 * kRows;  // per block of a layer
constexpr int kBlocks = kWidth / kRows;
constexpr int kCluster = 8;  // blocks of `loudness`
constexpr int kAtOnce = 8;   // weights that have a common pair of codes
constexpr int kPairs = kWidth / kAtOnce, kFours = kAtOnce / 4;
constexpr int kMostEntries = 256;       // of a book
constexpr int kShift = 7, kMost = 127;  // of what a layer gives
constexpr int kClips = 4;               // different frames, which come by turns

/// How the aid is set for its wearer.
struct Fitting {
    int dials;       // volumes, of as many bands of samples
    int entries;     // of a book, each of eight values
    int knees;       // of the curve that bends what a layer gives
    int stretch;     // layers from one event of the log to the next
    int remembered;  // frames: the loudest sample of all of them counts
};

Fitting draw_fitting(std::mt19937& random) {
    const auto one_of = [&](int powers) { return 1 << random() % powers; };  // of two
    return {one_of(7), 8 * one_of(6), one_of(9), one_of(6), one_of(9)};
}

/// What a layer makes of the sum of its products: above each knee, its curve is half as steep.
__host__ __device__ int bent(int sum, const int* knees, int count) {
    int value = abs(sum >> kShift);
    for (int i = 0; i < count; ++i)
        if (value > knees[i]) value = (value + knees[i]) / 2;
    if (value > kMost) value = kMost;
    return sum < 0 ? -value : value;
}

/// A sample as it is played, if the loudest has this value.
__host__ __device__ int played(int sample, int loudest, int volume) {
    return sample * volume / (loudest + 1);
}

/// One layer: out = bent(weights * in). Each block gives eight values, each warp one of them.
__global__ void layer(const int* in, int* out, const uint16_t* codes, const int4* books, const int* knees,
                      Fitting fitting) {
    __shared__ int4 book[2 * kMostEntries * kFours];
    __shared__ int4 weights[kRows * kWidth / 4];
    for (int i = threadIdx.x; i < 2 * fitting.entries * kFours; i += kThreads) book[i] = books[i];
    __syncthreads();
    for (int i = threadIdx.x; i < kRows * kPairs; i += kThreads) {
        const unsigned pair = codes[blockIdx.x * kRows * kPairs + i];
        for (int four = 0; four < kFours; ++four) {
            const int4 a = book[(pair & 255) * kFours + four];
            const int4 b = book[(fitting.entries + (pair >> 8)) * kFours + four];
            weights[i * kFours + four] = int4{a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
        }
    }
    __syncthreads();
    const int row = threadIdx.x / 32, lane = threadIdx.x % 32;
    int sum = 0;
    for (int i = lane; i < kWidth / 4; i += 32) {
        const int4 w = weights[row * kWidth / 4 + i], x = reinterpret_cast<const int4*>(in)[i];
        sum += w.x * x.x + w.y * x.y + w.z * x.z + w.w * x.w;
    }
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(~0u, sum, lanes);
    if (lane == 0) out[blockIdx.x * kRows + row] = bent(sum, knees, fitting.knees);
}

/// Makes a frame as loud as the dials say, in one cluster. `past` has the frames that are remembered, and
/// `count` how many there have been.
__global__ void loudness(const int* in, int* out, int* past, int* count, const int* dials, Fitting fitting) {
#if __CUDA_ARCH__ >= 900
    __shared__ int most;
    const auto cluster = cooperative_groups::this_cluster();
    int* const loudest = cluster.map_shared_rank(&most, 0);  // one for all blocks
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) most = 0;
    cluster.sync();
    past[*count % fitting.remembered * kWidth + i] = abs(in[i]);
    for (int frame = 0; frame < fitting.remembered; ++frame) atomicMax(loudest, past[frame * kWidth + i]);
    cluster.sync();
    out[i] = played(in[i], *loudest, dials[i * fitting.dials / kWidth]);
    if (i == 0) ++*count;
    cluster.sync();  // block 0 stays as long as others read from it
#endif
}

/// The weights on the host, and on the GPU.
struct Network {
    int layers;
    Fitting fitting;
    std::vector<uint16_t> codes;
    std::vector<int4> books;
    std::vector<int> knees;
    std::unique_ptr<uint16_t[], DeviceFree> device_codes;
    std::unique_ptr<int4[], DeviceFree> device_books;
    std::unique_ptr<int[], DeviceFree> device_knees;

    Network(int layers, const Fitting& fitting, std::mt19937& random)
        : layers(layers),
          fitting(fitting),
          codes(size_t{kWidth} * kPairs * layers),
          books(size_t{2} * fitting.entries * kFours * layers),
          knees(size_t{1} * fitting.knees * layers) {
        const unsigned code = fitting.entries - 1;  // its bits
        for (uint16_t& pair : codes) pair = static_cast<uint16_t>(random() & (code << 8 | code));
        const auto drawn = [&] { return static_cast<int>(random() % 15) - 7; };
        for (auto four = books.begin(); four != books.end(); four += 2 * kFours)
            for (int i = 0; i < kFours; ++i) {
                four[i] = int4{drawn(), drawn(), drawn(), drawn()};
                four[i + kFours] = int4{-four[i].x, -four[i].y, -four[i].z, -four[i].w};  // of the next entry
            }
        for (int& knee : knees) knee = kMost / 2 + static_cast<int>(random() % 256);
        device_codes = on_device(codes), device_books = on_device(books), device_knees = on_device(knees);
    }

    template <class T>
    static std::unique_ptr<T[], DeviceFree> on_device(const std::vector<T>& host) {
        auto device = device_array<T>(host.size());
        CUDA_CHECK(cudaMemcpy(device.get(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
        return device;
    }

    /// What the last layer should give.
    [[nodiscard]] std::vector<int> expected(std::vector<int> clip) const {
        std::vector<int> next(kWidth);
        for (int n = 0; n < layers; ++n, clip.swap(next)) {
            const int4* const book = &books[size_t{2} * fitting.entries * kFours * n];
            for (int row = 0; row < kWidth; ++row) {
                int sum = 0;
                for (int group = 0; group < kPairs; ++group) {
                    const unsigned pair = codes[(size_t{kWidth} * n + row) * kPairs + group];
                    for (int i = 0; i < kAtOnce; ++i)
                        sum += clip[group * kAtOnce + i] *
                               ((&book[(pair & 255) * kFours].x)[i] +
                                (&book[(fitting.entries + (pair >> 8)) * kFours].x)[i]);
                }
                next[row] = bent(sum, &knees[size_t{1} * fitting.knees * n], fitting.knees);
            }
        }
        return clip;
    }
};

/// What a frame needs on its way. The host can access `heard`, `played` and `volumes`, too.
struct Aid {
    const Network& network;
    std::unique_ptr<int[], PinnedFree> heard = pinned_array<int>(kWidth), played = pinned_array<int>(kWidth),
                                       volumes = pinned_array<int>(network.fitting.dials);
    std::unique_ptr<int[], DeviceFree> sound = device_array<int>(kWidth), next = device_array<int>(kWidth),
                                       past =
                                           device_array<int>(size_t{1} * network.fitting.remembered * kWidth),
                                       count = device_array<int>(1),
                                       dials = device_array<int>(network.fitting.dials);
    std::vector<Event> log;
    Stream stream = make_stream(cudaStreamNonBlocking);

    explicit Aid(const Network& network) : network(network) {
        for (int n = 0; n <= network.layers; n += network.fitting.stretch) log.push_back(make_event());
        CUDA_CHECK(cudaMemset(past.get(), 0, network.fitting.remembered * kWidth * sizeof(int)));
        CUDA_CHECK(cudaMemset(count.get(), 0, sizeof(int)));
    }
};

/// Queues a frame. Under capture, events become nodes that record them in each launch.
void queue_frame(const Aid& aid, bool captured) {
    const Network& network = aid.network;
    const Fitting& fitting = network.fitting;
    const cudaStream_t stream = aid.stream.get();
    const auto note = [&](int layer) {
        if (layer % fitting.stretch != 0) return;
        CUDA_CHECK(cudaEventRecordWithFlags(aid.log[layer / fitting.stretch].get(), stream,
                                            captured ? cudaEventRecordExternal : cudaEventRecordDefault));
    };
    CUDA_CHECK(cudaMemcpyAsync(aid.sound.get(), aid.heard.get(), kWidth * sizeof(int), cudaMemcpyHostToDevice,
                               stream));
    for (int dial = 0; dial < fitting.dials; ++dial)
        CUDA_CHECK(cudaMemcpyAsync(&aid.dials[dial], &aid.volumes[dial], sizeof(int), cudaMemcpyHostToDevice,
                                   stream));
    int *in = aid.sound.get(), *out = aid.next.get();
    for (int n = 0; n < network.layers; ++n, std::swap(in, out)) {
        note(n);
        const uint16_t* const codes = &network.device_codes[size_t{kWidth} * kPairs * n];
        const int4* const books = &network.device_books[size_t{2} * fitting.entries * kFours * n];
        const int* const knees = &network.device_knees[size_t{1} * fitting.knees * n];
        layer<<<kBlocks, kThreads, 0, stream>>>(in, out, codes, books, knees, fitting);
        CUDA_CHECK(cudaGetLastError());
    }
    note(network.layers);
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {kCluster, 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = kCluster, config.blockDim = kWidth / kCluster, config.stream = stream;
    config.attrs = &cluster, config.numAttrs = 1;
    CUDA_CHECK(cudaLaunchKernelEx(&config, loudness, in, out, aid.past.get(), aid.count.get(),
                                  aid.dials.get(), fitting));
    CUDA_CHECK(cudaMemcpyAsync(aid.played.get(), out, kWidth * sizeof(int), cudaMemcpyDeviceToHost, stream));
}

GraphExec capture_frame(const Aid& aid) {
    cudaGraph_t graph = nullptr;
    CUDA_CHECK(cudaStreamBeginCapture(aid.stream.get(), cudaStreamCaptureModeThreadLocal));
    queue_frame(aid, true);
    CUDA_CHECK(cudaStreamEndCapture(aid.stream.get(), &graph));
    return instantiate(Graph(graph));
}

/// Ends the program on GPUs before Hopper: they have no clusters.
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
    const int wearer = options.integer("--wearer", 616, 0, 1'000'000, "whose fitting and network are drawn");
    options.done();
    require_gpu(static_cast<size_t>(layers) * kWidth * kPairs * 2 + (64 << 20));
    require_hopper();

    std::mt19937 random(wearer);
    const Fitting fitting = draw_fitting(random);
    const Network network(layers, fitting, random);
    const Aid aid(network);
    std::vector<std::vector<int>> clips(kClips, std::vector<int>(kWidth)), expected;
    std::vector<int> loudest;
    for (std::vector<int>& clip : clips) {
        for (int& sample : clip) sample = static_cast<int>(random() % (2 * kMost + 1)) - kMost;
        expected.push_back(network.expected(clip));
        loudest.push_back(0);
        for (const int sample : expected.back()) loudest.back() = std::max(loudest.back(), std::abs(sample));
    }
    CUDA_CHECK(cudaDeviceSynchronize());  // the copies of the weights aren't in that stream
    const GraphExec exec = graph ? capture_frame(aid) : nullptr;

    int wrong = 0, heard = 0;
    std::vector<double> frame_us, log_us;
    const auto play = [&] {
        const std::vector<int>& clip = clips[heard % kClips];
        std::copy(clip.begin(), clip.end(), aid.heard.get());
        for (int dial = 0; dial < fitting.dials; ++dial) aid.volumes[dial] = 100 + (heard + dial) % 7;
        std::fill_n(aid.played.get(), kWidth, -1000);
        const auto start = std::chrono::steady_clock::now();
        if (graph)
            CUDA_CHECK(cudaGraphLaunch(exec.get(), aid.stream.get()));
        else
            queue_frame(aid, false);
        CUDA_CHECK(cudaStreamSynchronize(aid.stream.get()));
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
        float log_ms = 0;
        CUDA_CHECK(cudaEventElapsedTime(&log_ms, aid.log.front().get(), aid.log.back().get()));
        frame_us.push_back(took.count());
        log_us.push_back(1e3 * log_ms);
        int most = 0;
        for (int frame = std::max(0, heard - std::min(fitting.remembered, kClips) + 1); frame <= heard;
             ++frame)
            most = std::max(most, loudest[frame % kClips]);
        bool right = true;
        for (int i = 0; i < kWidth; ++i)
            right = right && aid.played[i] == played(expected[heard % kClips][i], most,
                                                     aid.volumes[i * fitting.dials / kWidth]);
        wrong += !right;
        ++heard;
    };
    {
        nvtx3::scoped_range range{"warm-up"};
        for (int frame = 0; frame < frames; ++frame) play();
    }
    frame_us.clear(), log_us.clear();
    {
        nvtx3::scoped_range range{"play"};
        for (int frame = 0; frame < frames; ++frame) play();
    }
    const auto median = [](std::vector<double>& of) {
        std::nth_element(of.begin(), of.begin() + of.size() / 2, of.end());
        return of[of.size() / 2];
    };
    std::printf("a frame: %.1f us, and %.1f us from the first event of its log to the last (medians)\n",
                median(frame_us), median(log_us));
    std::printf("wrong: %d of %d frames\n", wrong, heard);
    return wrong == 0 ? 0 : 1;
}
