// Dunes of sand in several colors wander through a desert whose northern half belongs to one GPU and whose
// southern half to another, with a process for each. A step of the storm turns every height into a sum of its
// own, its four neighbors' of the same color and the wind, and then blows it about; loose sand longer than
// firm. Where the halves meet, the neighbors' rows come from the other GPU.
//
// Right: rows of all colors lie side by side, so that two puts a step carry them to the other half, and not
// two for each color.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -rdc=true -I../../.. solution.cu -o solution
//          -I$NVSHMEM_HOME/include $NVSHMEM_HOME/lib/libnvshmem_device.a
//          -Xlinker=$NVSHMEM_HOME/lib/libnvshmem_host.so.3 -Xlinker=-rpath,$NVSHMEM_HOME/lib
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <nvshmem.h>
#include <nvshmemx.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "common/check.cuh"
#include "common/gpus.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256, kWarmUp = 2;
constexpr int kZones = 8, kGusts = 32, kGustsOfLoose = 256;  // zones of the desert; gusts of a step

/// What a storm is like.
struct Storm {
    int colors;      // of the sand
    int rows;        // of a half
    int log_every;   // steps until a number goes into the log
    int other_wind;  // steps until the wind has changed, on average
    int loose;       // zones until one has loose sand, on average
};

Storm storm_of(std::mt19937& random) {
    const auto up_to_32 = [&random] { return 1 << random() % 6; };
    const int colors = up_to_32(), rows = 4 << random() % 9, log_every = up_to_32();
    return {colors, rows, log_every, up_to_32(), up_to_32()};
}

/// A gust turns a height into factor * height + 1, modulo 2^32. Zones have equally many rows.
struct Sand {
    unsigned factor;
    int gusts[kZones];
    /// `rows` of the whole desert; its rows count from 1.
    [[nodiscard]] __host__ __device__ int gusts_in(int row, int rows) const {
        return gusts[(row - 1) * kZones / rows];
    }
};

/// Rows `first` + 1 to `first` + `rows` of the desert, and one more at either side: rows 0 and `rows` + 1 are
/// copies of the other half's. The desert goes round.
struct Half {
    int first, rows, width, colors;
    [[nodiscard]] size_t cells() const { return size_t{1} * colors * (rows + 2) * width; }
    [[nodiscard]] __host__ __device__ size_t row(int number, int color) const {
        return (size_t{1} * number * colors + color) * width;
    }
};

/// Of a row of the whole desert, from 1 on; after the last comes the first.
__host__ __device__ unsigned first_height(int row, int color, int column, int rows) {
    const unsigned its = static_cast<unsigned>((row + rows - 1) % rows + 1);
    return its * 2654435761u + static_cast<unsigned>(column) * 40503u + static_cast<unsigned>(color);
}

/// What a height becomes before the gusts.
__host__ __device__ unsigned shifted(const unsigned* heights, const Half& half, int row, int color,
                                     int column, unsigned wind) {
    const int west = column == 0 ? half.width - 1 : column - 1;
    const int east = column + 1 == half.width ? 0 : column + 1;
    const unsigned* const its = &heights[half.row(row, color)];
    return 3 * its[column] + its[west] + its[east] + heights[half.row(row - 1, color) + column] +
           heights[half.row(row + 1, color) + column] + wind;
}

__global__ void heap_up(unsigned* heights, Half half) {
    const int column = blockIdx.x * kThreads + threadIdx.x, row = blockIdx.y, color = blockIdx.z;
    if (column < half.width)
        heights[half.row(row, color) + column] = first_height(half.first + row, color, column, 2 * half.rows);
}

/// A block a part of a row of a color. The wind is another in every column.
__global__ void blow(const unsigned* now, unsigned* then, Half half, const unsigned* wind, Sand sand) {
    const int column = blockIdx.x * kThreads + threadIdx.x, row = blockIdx.y + 1, color = blockIdx.z;
    if (column >= half.width) return;
    unsigned height = shifted(now, half, row, color, column, wind[column]);
    const int gusts = sand.gusts_in(half.first + row, 2 * half.rows);
    for (int gust = 0; gust < gusts; ++gust) height = sand.factor * height + 1;
    then[half.row(row, color) + column] = height;
}

/// The wind in each column.
std::vector<unsigned> wind_of(int number, int width) {
    std::mt19937 random(static_cast<unsigned>(number));
    std::vector<unsigned> wind(width);
    for (unsigned& of_column : wind) of_column = static_cast<unsigned>(random());
    return wind;
}

/// Starts this program once more, as the process of the second GPU. What is written into the returned pipe,
/// that process reads as its standard input.
std::pair<pid_t, int> start_other(char** argv) {
    int ends[2];
    posix_spawn_file_actions_t files;
    pid_t other = 0;
    ::setenv("DUNES_PROCESS", "1", 1);
    if (::pipe(ends) != 0 || ::posix_spawn_file_actions_init(&files) != 0 ||
        ::posix_spawn_file_actions_adddup2(&files, ends[0], 0) != 0 ||
        ::posix_spawn_file_actions_addclose(&files, ends[1]) != 0 ||
        ::posix_spawn(&other, "/proc/self/exe", &files, nullptr, argv, environ) != 0) {
        std::perror("the process of the second GPU cannot be started");
        std::exit(1);
    }
    ::posix_spawn_file_actions_destroy(&files);
    ::close(ends[0]);
    return {other, ends[1]};
}

/// Makes two processes one program. Returns the other, if this one has started it: 0 if mpirun or srun has.
pid_t meet(char** argv) {
    // Multicast needs a switch between the GPUs, and serves more of them. NCCL takes long to set up, and has
    // no part in puts and barriers.
    ::setenv("NVSHMEM_DISABLE_NVLS", "1", 0);
    ::setenv("NVSHMEM_DISABLE_NCCL", "1", 0);
    const char* const number = std::getenv("DUNES_PROCESS");
    const char* launcher = std::getenv("PMIX_RANK");
    if (!launcher) launcher = std::getenv("PMI_RANK");
    if (!number && launcher) {
        CUDA_CHECK(cudaSetDevice(std::atoi(launcher) % 2));
        return nvshmem_init(), 0;
    }
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    std::pair<pid_t, int> other{0, -1};
    bool met = true;
    if (number) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        met = std::fread(&id, sizeof(id), 1, stdin) == 1;
    } else {
        other = start_other(argv);
        met = nvshmemx_get_uniqueid(&id) == 0 && ::write(other.second, &id, sizeof(id)) == sizeof(id);
    }
    CUDA_CHECK(cudaSetDevice(number ? 1 : 0));
    nvshmemx_set_attr_uniqueid_args(number ? 1 : 0, 2, &id, &attributes);
    if (!met || nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0) {
        std::fprintf(stderr, "the processes of the two GPUs do not find each other\n");
        std::exit(1);
    }
    return other.first;
}

/// How many of this half's heights are wrong after a step with each of the winds.
size_t wrong_in(const std::vector<unsigned>& found, const Half& half, const Sand& sand,
                const std::vector<int>& winds) {
    const Half whole{0, 2 * half.rows, half.width, half.colors};
    std::vector<unsigned> now(whole.cells()), then(whole.cells());
    for (int color = 0; color < whole.colors; ++color)
        for (int row = 0; row <= whole.rows + 1; ++row)
            for (int column = 0; column < whole.width; ++column)
                now[whole.row(row, color) + column] = first_height(row, color, column, whole.rows);
    for (const int number : winds) {
        const std::vector<unsigned> wind = wind_of(number, whole.width);
        for (int color = 0; color < whole.colors; ++color) {
            for (int row = 1; row <= whole.rows; ++row) {
                unsigned factor = 1, increment = 0;  // of all gusts as a single one
                for (int gust = sand.gusts_in(row, whole.rows); gust > 0; --gust)
                    factor *= sand.factor, increment = sand.factor * increment + 1;
                for (int column = 0; column < whole.width; ++column)
                    then[whole.row(row, color) + column] =
                        factor * shifted(now.data(), whole, row, color, column, wind[column]) + increment;
            }
            std::copy_n(&then[whole.row(whole.rows, color)], whole.width, &then[whole.row(0, color)]);
            std::copy_n(&then[whole.row(1, color)], whole.width, &then[whole.row(whole.rows + 1, color)]);
        }
        std::swap(now, then);
    }
    size_t wrong = 0;
    for (int color = 0; color < half.colors; ++color)
        for (int row = 1; row <= half.rows; ++row)
            for (int column = 0; column < half.width; ++column) {
                const unsigned expected = now[whole.row(half.first + row, color) + column];
                const unsigned height = found[half.row(row, color) + column];
                if (height != expected && ++wrong == 1)
                    std::printf("color %d, row %d, column %d: expected %u, found %u\n", color,
                                half.first + row, column, expected, height);
            }
    return wrong;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Lets dunes wander through a desert that two GPUs share.");
    const auto heights =
        static_cast<int>(options.integer("--heights", 1 << 22, 256, 1 << 26, "of a half, in all colors"));
    const int steps =
        static_cast<int>(options.integer("--steps", 24, 1, 10'000, "steps behind those to warm up"));
    const auto seed = static_cast<unsigned>(options.integer("--seed", 175289, 0, 10'000'000, "of the storm"));
    options.done();
    require_two_gpus();
    require_peer_access();
    const pid_t other_process = meet(argv);
    const int me = nvshmem_my_pe(), other = 1 - me;
    if (nvshmem_n_pes() != 2) {
        std::fprintf(stderr, "two processes are needed, not %d: mpirun -n 2\n", nvshmem_n_pes());
        std::exit(2);
    }

    std::mt19937 random(seed);
    const Storm storm = storm_of(random);
    const Half half{me * storm.rows, storm.rows, std::max(1, heights / (storm.colors * storm.rows)),
                    storm.colors};
    require_gpu(4 * half.cells() * sizeof(unsigned));
    Sand sand{static_cast<unsigned>(random()) / 8 * 8 + 5, {}};
    for (int& gusts : sand.gusts) gusts = random() % storm.loose == 0 ? kGustsOfLoose : kGusts;
    std::vector<int> winds(kWarmUp + steps);
    for (size_t step = 1; step < winds.size(); ++step)
        winds[step] = winds[step - 1] + (random() % storm.other_wind == 0 ? 1 : 0);

    // Symmetric memory: the same number of bytes in both processes, and a put names the place by the own
    // address.
    auto* now = static_cast<unsigned*>(nvshmem_malloc(half.cells() * sizeof(unsigned)));
    auto* then = static_cast<unsigned*>(nvshmem_malloc(half.cells() * sizeof(unsigned)));
    if (!now || !then) {
        std::fprintf(stderr, "NVSHMEM has no room for this half; choose a smaller one (see --help)\n");
        std::exit(1);
    }
    const auto wind = device_array<unsigned>(half.width);
    const Stream stream = make_stream(cudaStreamNonBlocking);
    const dim3 grid((half.width + kThreads - 1) / kThreads, half.rows, half.colors);
    heap_up<<<dim3(grid.x, half.rows + 2, half.colors), kThreads, 0, stream.get()>>>(now, half);
    CUDA_CHECK(cudaGetLastError());

    int done = 0;
    std::vector<unsigned> log;
    const auto blow_on = [&](int steps_more) {
        std::vector<std::vector<unsigned>> blown;  // winds that a copy may still read
        for (const int last = done + steps_more; done < last; ++done) {
            if (done == 0 || winds[done] != winds[done - 1]) {
                blown.push_back(wind_of(winds[done], half.width));
                CUDA_CHECK(cudaMemcpyAsync(wind.get(), blown.back().data(), half.width * sizeof(unsigned),
                                           cudaMemcpyHostToDevice, stream.get()));
            }
            blow<<<grid, kThreads, 0, stream.get()>>>(now, then, half, wind.get(), sand);
            CUDA_CHECK(cudaGetLastError());
            // The first and the last own row, all colors in a piece, are the other's last and first.
            const size_t row_of_all = half.row(1, 0);
            nvshmemx_uint_put_on_stream(&then[half.row(half.rows + 1, 0)], &then[half.row(1, 0)], row_of_all,
                                        other, stream.get());
            nvshmemx_uint_put_on_stream(&then[half.row(0, 0)], &then[half.row(half.rows, 0)], row_of_all,
                                        other, stream.get());
            nvshmemx_barrier_all_on_stream(stream.get());
            std::swap(now, then);
            if ((done + 1) % storm.log_every == 0) {
                unsigned height = 0;
                CUDA_CHECK(cudaMemcpyAsync(&height, &now[half.row(1, 0)], sizeof(unsigned),
                                           cudaMemcpyDeviceToHost, stream.get()));
                CUDA_CHECK(cudaStreamSynchronize(stream.get()));
                log.push_back(height);
            }
        }
        CUDA_CHECK(cudaStreamSynchronize(stream.get()));
    };
    {
        nvtx3::scoped_range range{"warm-up"};
        blow_on(kWarmUp);
    }
    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"storm"};
        blow_on(steps);
    }
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;

    std::vector<unsigned> found(half.cells());
    CUDA_CHECK(cudaMemcpy(found.data(), now, found.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
    const size_t wrong = wrong_in(found, half, sand, winds);
    if (me == 0)
        std::printf("%d steps: %.2f us each, %zu numbers in the log, the last of them %u\n", steps,
                    elapsed.count() / steps, log.size(), log.empty() ? 0 : log.back());
    std::printf("half %d, wrong heights: expected 0, found %zu\n", me, wrong);
    std::fflush(stdout);
    nvshmem_free(now);
    nvshmem_free(then);
    nvshmem_finalize();
    int status = 0;
    if (other_process != 0 && ::waitpid(other_process, &status, 0) != other_process) status = -1;
    return wrong == 0 && status == 0 ? 0 : 1;
}
