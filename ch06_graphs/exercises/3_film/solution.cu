// Develops a film of many scenes. Every frame of a scene is bent by the table of its lens, gets some
// grain and perhaps a title, and its shades are counted in another stream. A scene is captured once, and each
// of its frames is one launch of that graph.
//
// Right: the table of every lens that the film needs is on the GPU before the first capture begins.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node
//              -f true -o solution ./solution
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <random>
#include <vector>

#include "common/graph_compat.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kShades = 256, kThreads = 256, kTable = 1024, kLenses = 40, kLetters = 64;
constexpr int kRoom = 18'000;  // pixels per frame, at first

__host__ __device__ int place_of(int i, int shift, int pixels) {
    return (i + shift) % pixels;
}
__host__ __device__ int grainy(int shade, int i) {
    return (5 * shade + i) % kShades;
}

__global__ void bend(const int* picture, const int* table, int* bent, int pixels) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < pixels) bent[i] = picture[place_of(i, table[i % kTable], pixels)];
}

__global__ void add_grain(const int* bent, int* picture, int pixels) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < pixels) picture[i] = grainy(bent[i], i);
}

__global__ void set_title(const int* letters, int* picture) {
    picture[threadIdx.x] = letters[threadIdx.x];
}

/// Each block counts in its own shared memory, then adds its counts to those of all.
__global__ void count_shades(const int* bent, unsigned* counts, int pixels) {
    static_assert(kShades == kThreads, "a thread looks after a shade");
    __shared__ unsigned found[kShades];
    found[threadIdx.x] = 0;
    __syncthreads();
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < pixels) atomicAdd(&found[bent[i]], 1u);
    __syncthreads();
    if (found[threadIdx.x] > 0) atomicAdd(&counts[threadIdx.x], found[threadIdx.x]);
}

struct Scene {
    int pixels, lens;
    bool titled;
    std::array<int, kLetters> letters;
};

/// The scenes, and the lenses that the camera's log names.
struct Film {
    std::vector<Scene> scenes;
    std::vector<int> logged;
};

Film draw_film(std::mt19937& random, int scenes) {
    Film film;
    for (int i = 0; i < 2 * kLenses; ++i) film.logged.push_back(static_cast<int>(random() % kLenses));
    for (int i = 0; i < scenes; ++i) {
        const int width = 48 + random() % 96, height = 64 + random() % 96;
        Scene scene{width * height, static_cast<int>(random() % kLenses), random() % 3 == 0, {}};
        for (int& letter : scene.letters) letter = random() % kShades;
        film.scenes.push_back(scene);
    }
    return film;
}

// Hands an error on to the caller, who may know a way around.
#define TRY(call)                                                                    \
    do {                                                                             \
        if (const cudaError_t status = (call); status != cudaSuccess) return status; \
    } while (0)

/// What frames are developed in.
class Studio {
  public:
    explicit Studio(const int* tables) : host_tables_(tables) {
        CUDA_CHECK(cudaMemset(counts_.get(), 0, kShades * sizeof(unsigned)));
    }

    /// Brings the table of a lens to the GPU.
    cudaError_t load(int lens) {
        if (there_[lens]) return cudaSuccess;
        TRY(cudaMemcpyAsync(&tables_[lens * kTable], &host_tables_[lens * kTable], kTable * sizeof(int),
                            cudaMemcpyHostToDevice, loads_.get()));
        TRY(cudaEventRecord(loaded_.get(), loads_.get()));
        TRY(cudaStreamWaitEvent(stream_.get(), loaded_.get()));
        there_[lens] = true;
        return cudaSuccess;
    }

    /// Queues a frame; the shades are counted in the other stream, as soon as the frame is bent.
    cudaError_t queue(const Scene& scene) {
        const int pixels = scene.pixels, blocks = (pixels + kThreads - 1) / kThreads;
        int* picture = nullptr;
        TRY(room_for(pixels, &picture));
        int* const bent = picture + pixels;
        TRY(load(scene.lens));
        bend<<<blocks, kThreads, 0, stream_.get()>>>(picture, &tables_[scene.lens * kTable], bent, pixels);
        TRY(cudaGetLastError());
        TRY(cudaEventRecord(event_.get(), stream_.get()));
        TRY(cudaStreamWaitEvent(beside_.get(), event_.get()));
        count_shades<<<blocks, kThreads, 0, beside_.get()>>>(bent, counts_.get(), pixels);
        TRY(cudaGetLastError());
        add_grain<<<blocks, kThreads, 0, stream_.get()>>>(bent, picture, pixels);
        TRY(cudaGetLastError());
        TRY(cudaEventRecord(event_.get(), beside_.get()));
        if (scene.titled) {
            TRY(cudaMemcpyAsync(letters_.get(), scene.letters.data(), sizeof(scene.letters),
                                cudaMemcpyHostToDevice, stream_.get()));
            set_title<<<1, kLetters, 0, stream_.get()>>>(letters_.get(), picture);
            TRY(cudaGetLastError());
        }
        return cudaStreamWaitEvent(stream_.get(), event_.get());
    }

    /// A frame of the scene as a graph; none if it can't be captured, for then its frames are queued.
    GraphExec record(const Scene& scene) {
        cudaGraph_t recorded = nullptr;
        CUDA_CHECK(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal));
        const cudaError_t queued = queue(scene), ended = cudaStreamEndCapture(stream_.get(), &recorded);
        const Graph graph(recorded);
        (void)cudaGetLastError();  // whatever it was
        if (queued != cudaSuccess || ended != cudaSuccess) return nullptr;
        return instantiate(graph);
    }

    /// Develops so many frames of a picture, one after the other. Returns us per frame.
    double develop(const Scene& scene, const GraphExec& graph, std::vector<int>& picture, int frames) {
        const size_t bytes = scene.pixels * sizeof(int);
        int* place = nullptr;
        CUDA_CHECK(room_for(scene.pixels, &place));
        CUDA_CHECK(cudaMemcpy(place, picture.data(), bytes, cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaDeviceSynchronize());
        const auto start = std::chrono::steady_clock::now();
        {
            nvtx3::scoped_range range{"scene"};
            for (int frame = 0; frame < frames; ++frame) {
                if (graph)
                    CUDA_CHECK(cudaGraphLaunch(graph.get(), stream_.get()));
                else
                    CUDA_CHECK(queue(scene));
                CUDA_CHECK(cudaDeviceSynchronize());
            }
        }
        const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
        CUDA_CHECK(cudaMemcpy(picture.data(), place, bytes, cudaMemcpyDeviceToHost));
        return elapsed.count() / frames;
    }

    std::vector<unsigned> take_counts() {
        std::vector<unsigned> counts(kShades);
        CUDA_CHECK(
            cudaMemcpy(counts.data(), counts_.get(), kShades * sizeof(unsigned), cudaMemcpyDeviceToHost));
        CUDA_CHECK(cudaMemset(counts_.get(), 0, kShades * sizeof(unsigned)));
        CUDA_CHECK(cudaDeviceSynchronize());
        return counts;
    }

  private:
    /// Where a frame of so many pixels lies, and behind it the bent one. Most find room in the first place.
    cudaError_t room_for(int pixels, int** picture) {
        const int room = std::max(pixels, kRoom);
        std::unique_ptr<int[], DeviceFree>& place = rooms_[room];
        void* made = nullptr;
        if (!place) TRY(cudaMalloc(&made, 2 * room * sizeof(int)));
        if (made) place.reset(static_cast<int*>(made));
        *picture = place.get();
        return cudaSuccess;
    }

    const int* host_tables_;
    std::map<int, std::unique_ptr<int[], DeviceFree>> rooms_;
    std::unique_ptr<int[], DeviceFree> tables_ = device_array<int>(kLenses * kTable),
                                       letters_ = device_array<int>(kLetters);
    std::unique_ptr<unsigned[], DeviceFree> counts_ = device_array<unsigned>(kShades);
    std::array<bool, kLenses> there_{};
    Stream stream_ = make_stream(cudaStreamNonBlocking), beside_ = make_stream(cudaStreamNonBlocking),
           loads_ = make_stream(cudaStreamNonBlocking);
    Event event_ = make_event(cudaEventDisableTiming), loaded_ = make_event(cudaEventDisableTiming);
};

/// Develops so many frames of a picture on the host, and counts their shades.
void develop_on_host(const Scene& scene, const int* table, std::vector<int>& picture,
                     std::vector<unsigned>& counts, int frames) {
    std::vector<int> bent(picture.size());
    for (int frame = 0; frame < frames; ++frame) {
        for (int i = 0; i < scene.pixels; ++i)
            ++counts[bent[i] = picture[place_of(i, table[i % kTable], scene.pixels)]];
        for (int i = 0; i < scene.pixels; ++i) picture[i] = grainy(bent[i], i);
        if (scene.titled) std::copy(scene.letters.begin(), scene.letters.end(), picture.begin());
    }
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Develops the scenes of a film, and counts the shades in them.");
    const int scenes = static_cast<int>(options.integer("--scenes", 24, 1, 1000, "scenes"));
    const int frames = static_cast<int>(options.integer("--frames", 4, 1, 1000, "frames of a scene"));
    options.done();
    require_gpu(16 << 20);

    std::mt19937 random(65);
    const Film film = draw_film(random, scenes);
    const auto tables = pinned_array<int>(kLenses * kTable);
    for (int i = 0; i < kLenses * kTable; ++i) tables[i] = static_cast<int>(random() % 4096);
    Studio studio(tables.get());
    for (const int lens : film.logged) CUDA_CHECK(studio.load(lens));
    for (const Scene& scene : film.scenes) CUDA_CHECK(studio.load(scene.lens));
    {
        nvtx3::scoped_range range{"warm-up"};
        Scene first = film.scenes[0];
        first.lens = film.logged[0], first.titled = true;
        std::vector<int> picture(first.pixels);
        studio.develop(first, nullptr, picture, 1);
        (void)studio.take_counts();
    }
    std::vector<GraphExec> graphs;
    {
        nvtx3::scoped_range range{"graphs"};
        for (const Scene& scene : film.scenes) graphs.push_back(studio.record(scene));
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    std::vector<double> frame_us;
    std::vector<unsigned> counts(kShades);
    size_t pixels = 0, wrong = 0, wrong_counts = 0;
    {
        nvtx3::scoped_range range{"film"};
        for (int i = 0; i < scenes; ++i) {
            const Scene& scene = film.scenes[i];
            std::vector<int> picture(scene.pixels);
            for (int& shade : picture) shade = static_cast<int>(random() % kShades);
            std::vector<int> expected = picture;
            frame_us.push_back(studio.develop(scene, graphs[i], picture, frames));
            develop_on_host(scene, &tables[scene.lens * kTable], expected, counts, frames);
            for (int k = 0; k < scene.pixels; ++k) wrong += picture[k] != expected[k];
            pixels += scene.pixels;
        }
    }
    const std::vector<unsigned> found_counts = studio.take_counts();
    for (int i = 0; i < kShades; ++i) wrong_counts += found_counts[i] != counts[i];
    std::sort(frame_us.begin(), frame_us.end());
    std::printf("%d scenes: %.2f us a frame in the fastest, %.2f us in the slowest\n", scenes, frame_us[0],
                frame_us.back());
    std::printf("%zu of %zu pixels and %zu of %d counts are wrong\n", wrong, pixels, wrong_counts, kShades);
    return wrong + wrong_counts == 0 ? 0 : 1;
}
