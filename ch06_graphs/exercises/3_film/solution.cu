// Develops a film of many scenes. Every frame of a scene is bent by the table of its lens, gets some
// grain and perhaps a title, and its shades are counted in other streams. A scene is captured once, and each
// of its frames is one launch of that graph. What the camera's log names is made ready before.
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

constexpr int kShades = 256, kThreads = 256, kTable = 1024, kLenses = 40, kFonts = 12, kLetters = 64;
constexpr int kLines = 128;  // of a frame, at most, whose shades are counted in one go
constexpr int kBeside = 2;   // streams for that

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

/// A font has a shade for each letter.
__global__ void set_title(const int* letters, const int* font, int* picture) {
    picture[threadIdx.x] = font[letters[threadIdx.x]];
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
    int width, height, lens, font;
    bool titled;
    std::array<int, kLetters> letters;

    [[nodiscard]] int pixels() const { return width * height; }
};

/// What the camera's log says of a film: the largest frame, and the lenses and fonts.
struct Log {
    int pixels;
    std::vector<int> lenses, fonts;
};

struct Film {
    Log log;
    std::vector<Scene> scenes;
};

Film draw_film(std::mt19937& random, int scenes) {
    const auto names = [&random](int kinds) {
        std::vector<int> named(static_cast<size_t>(kinds) << random() % 5);
        for (int& name : named) name = static_cast<int>(random() % kinds);
        return named;
    };
    Film film;
    film.log.pixels = 8'000 + static_cast<int>(random() % 16'000);
    film.log.lenses = names(kLenses);
    film.log.fonts = names(kFonts);
    const int width = 64 + random() % 64, height = 64 + random() % 64;  // at least
    for (int i = 0; i < scenes; ++i) {
        Scene scene{};
        scene.width = width + static_cast<int>(random() % 32);
        scene.height = height + static_cast<int>(random() % 32);
        scene.lens = static_cast<int>(random() % kLenses);
        scene.titled = random() % 2 == 0;
        scene.font = static_cast<int>(random() % kFonts);
        for (int& letter : scene.letters) letter = static_cast<int>(random() % kShades);
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
    /// There is room for a frame of so many pixels.
    Studio(int pixels, const int* tables, const int* fonts)
        : room_(pixels), host_tables_(tables), host_fonts_(fonts) {
        CUDA_CHECK(cudaMemset(counts_.get(), 0, kShades * sizeof(unsigned)));
    }

    /// Brings the table of a lens to the GPU.
    cudaError_t load(int lens) {
        if (lens_there_[lens]) return cudaSuccess;
        TRY(cudaMemcpyAsync(&tables_[lens * kTable], &host_tables_[lens * kTable], kTable * sizeof(int),
                            cudaMemcpyHostToDevice, loads_.get()));
        TRY(cudaEventRecord(loaded_.get(), loads_.get()));
        TRY(cudaStreamWaitEvent(stream_.get(), loaded_.get()));
        lens_there_[lens] = true;
        return cudaSuccess;
    }

    /// Brings a font to the GPU. The next one goes through the same pinned memory.
    cudaError_t bring(int font) {
        if (font_there_[font]) return cudaSuccess;
        std::copy_n(&host_fonts_[font * kShades], kShades, pinned_font_.get());
        TRY(cudaMemcpyAsync(&fonts_[font * kShades], pinned_font_.get(), kShades * sizeof(int),
                            cudaMemcpyHostToDevice, loads_.get()));
        TRY(cudaStreamSynchronize(loads_.get()));
        font_there_[font] = true;
        return cudaSuccess;
    }

    /// Queues a frame; the shades are counted in the other streams, as soon as the frame is bent.
    cudaError_t queue(const Scene& scene) {
        const int pixels = scene.pixels(), blocks = blocks_of(pixels);
        int* picture = nullptr;
        TRY(room_for(pixels, &picture));
        int* const bent = picture + pixels;
        TRY(load(scene.lens));
        bend<<<blocks, kThreads, 0, stream_.get()>>>(picture, &tables_[scene.lens * kTable], bent, pixels);
        TRY(cudaGetLastError());
        TRY(cudaEventRecord(bent_.get(), stream_.get()));
        for (int line = 0; line < scene.height; line += kLines) {
            const int first = line * scene.width, count = std::min(kLines * scene.width, pixels - first);
            const cudaStream_t beside = beside_[line / kLines % kBeside].get();
            TRY(cudaStreamWaitEvent(beside, bent_.get()));
            count_shades<<<blocks_of(count), kThreads, 0, beside>>>(bent + first, counts_.get(), count);
            TRY(cudaGetLastError());
            TRY(cudaEventRecord(counted_.get(), beside));
        }
        add_grain<<<blocks, kThreads, 0, stream_.get()>>>(bent, picture, pixels);
        TRY(cudaGetLastError());
        if (scene.titled) {
            TRY(bring(scene.font));
            TRY(cudaMemcpyAsync(letters_.get(), scene.letters.data(), sizeof(scene.letters),
                                cudaMemcpyHostToDevice, stream_.get()));
            set_title<<<1, kLetters, 0, stream_.get()>>>(letters_.get(), &fonts_[scene.font * kShades],
                                                         picture);
            TRY(cudaGetLastError());
        }
        return cudaStreamWaitEvent(stream_.get(), counted_.get());
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
        const size_t bytes = scene.pixels() * sizeof(int);
        int* place = nullptr;
        CUDA_CHECK(room_for(scene.pixels(), &place));
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
    static int blocks_of(int pixels) { return (pixels + kThreads - 1) / kThreads; }

    /// Where a frame of so many pixels lies, and behind it the bent one. Most find room in the first place.
    cudaError_t room_for(int pixels, int** picture) {
        const int room = std::max(pixels, room_);
        std::unique_ptr<int[], DeviceFree>& place = rooms_[room];
        void* made = nullptr;
        if (!place) TRY(cudaMalloc(&made, 2 * room * sizeof(int)));
        if (made) place.reset(static_cast<int*>(made));
        *picture = place.get();
        return cudaSuccess;
    }

    int room_;
    const int *host_tables_, *host_fonts_;
    std::map<int, std::unique_ptr<int[], DeviceFree>> rooms_;
    std::unique_ptr<int[], DeviceFree> tables_ = device_array<int>(kLenses * kTable),
                                       fonts_ = device_array<int>(kFonts * kShades),
                                       letters_ = device_array<int>(kLetters);
    std::unique_ptr<int[], PinnedFree> pinned_font_ = pinned_array<int>(kShades);
    std::unique_ptr<unsigned[], DeviceFree> counts_ = device_array<unsigned>(kShades);
    std::array<bool, kLenses> lens_there_{};
    std::array<bool, kFonts> font_there_{};
    Stream stream_ = make_stream(cudaStreamNonBlocking), loads_ = make_stream(cudaStreamNonBlocking);
    Stream beside_[kBeside] = {make_stream(cudaStreamNonBlocking), make_stream(cudaStreamNonBlocking)};
    Event bent_ = make_event(cudaEventDisableTiming), counted_ = make_event(cudaEventDisableTiming),
          loaded_ = make_event(cudaEventDisableTiming);
};

/// Develops so many frames of a picture on the host, and counts their shades.
void develop_on_host(const Scene& scene, const int* table, const int* font, std::vector<int>& picture,
                     std::vector<unsigned>& counts, int frames) {
    const int pixels = scene.pixels();
    std::vector<int> bent(picture.size());
    for (int frame = 0; frame < frames; ++frame) {
        for (int i = 0; i < pixels; ++i) ++counts[bent[i] = picture[place_of(i, table[i % kTable], pixels)]];
        for (int i = 0; i < pixels; ++i) picture[i] = grainy(bent[i], i);
        if (scene.titled)
            for (int i = 0; i < kLetters; ++i) picture[i] = font[scene.letters[i]];
    }
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Develops the scenes of a film, and counts the shades in them.");
    const int scenes = static_cast<int>(options.integer("--scenes", 24, 1, 1000, "scenes"));
    const int frames = static_cast<int>(options.integer("--frames", 4, 1, 1000, "frames of a scene"));
    const auto seed = static_cast<unsigned>(options.integer("--seed", 28758, 0, 1'000'000, "of the film"));
    options.done();
    require_gpu(16 << 20);

    std::mt19937 random(seed);
    const Film film = draw_film(random, scenes);
    const auto tables = pinned_array<int>(kLenses * kTable);
    for (int i = 0; i < kLenses * kTable; ++i) tables[i] = static_cast<int>(random() % 4096);
    std::vector<int> fonts(kFonts * kShades);
    for (int& shade : fonts) shade = static_cast<int>(random() % kShades);
    Studio studio(film.log.pixels, tables.get(), fonts.data());
    for (const int lens : film.log.lenses) CUDA_CHECK(studio.load(lens));
    for (const Scene& scene : film.scenes) CUDA_CHECK(studio.load(scene.lens));
    for (const int font : film.log.fonts) CUDA_CHECK(studio.bring(font));
    {
        nvtx3::scoped_range range{"warm-up"};
        Scene first = film.scenes[0];
        first.lens = film.log.lenses[0], first.font = film.log.fonts[0], first.titled = true;
        std::vector<int> picture(first.pixels());
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
            std::vector<int> picture(scene.pixels());
            for (int& shade : picture) shade = static_cast<int>(random() % kShades);
            std::vector<int> expected = picture;
            frame_us.push_back(studio.develop(scene, graphs[i], picture, frames));
            develop_on_host(scene, &tables[scene.lens * kTable], &fonts[scene.font * kShades], expected,
                            counts, frames);
            for (int k = 0; k < scene.pixels(); ++k) wrong += picture[k] != expected[k];
            pixels += scene.pixels();
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
