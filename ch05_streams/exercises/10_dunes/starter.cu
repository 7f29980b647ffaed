// Dunes wander through a desert whose northern half belongs to one GPU and whose southern half to another,
// with a process for each. A step of the wind turns every height into a sum of its own and its four
// neighbors'. Where the halves meet, the neighbors' row comes from the other GPU.
//
// Symptom: all heights are right. But a step takes several times as long as `blow` does.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -rdc=true -I../../.. starter.cu -o starter
//          -I$NVSHMEM_HOME/include -L$NVSHMEM_HOME/lib -lnvshmem_host -lnvshmem_device
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
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
#include <utility>
#include <vector>

#include "common/check.cuh"
#include "common/gpus.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256, kWarmUp = 2, kLogSteps = 32;

/// A half with a row of the other half at either side: rows 0 and `rows` + 1 are the other's. The desert goes
/// round.
struct Half {
    int rows, width;
    [[nodiscard]] size_t cells() const { return size_t{1} * (rows + 2) * width; }
    [[nodiscard]] __host__ __device__ size_t row(int number) const { return size_t{1} * number * width; }
};

/// Of a row of the whole desert, from 1 on; after the last comes the first.
__host__ __device__ unsigned first_height(int row, int column, int rows) {
    const unsigned its = static_cast<unsigned>((row + rows - 1) % rows + 1);
    return its * 2654435761u + static_cast<unsigned>(column) * 40503u;
}

__host__ __device__ unsigned blown(const unsigned* row, size_t width, size_t at) {
    const size_t west = at == 0 ? width - 1 : at - 1, east = at + 1 == width ? 0 : at + 1;
    return 3 * row[at] + row[west] + row[east] + *(row + at - width) + *(row + at + width);
}

__global__ void heap_up(unsigned* heights, Half half, int first_row) {
    const int column = blockIdx.x * kThreads + threadIdx.x, row = blockIdx.y;
    if (column < half.width)
        heights[half.row(row) + column] = first_height(first_row + row, column, 2 * half.rows);
}

/// A block a part of a row.
__global__ void blow(const unsigned* now, unsigned* then, Half half) {
    const int column = blockIdx.x * kThreads + threadIdx.x;
    const size_t row = half.row(blockIdx.y + 1);
    if (column < half.width) then[row + column] = blown(&now[row], half.width, column);
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
    ::setenv("NVSHMEM_DISABLE_NVLS", "1",
             0);  // multicast needs a switch between the GPUs, and serves more of them
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

/// How many of this half's heights are wrong.
size_t wrong_in(const std::vector<unsigned>& found, const Half& half, int me, int steps) {
    const Half whole{2 * half.rows, half.width};
    std::vector<unsigned> now(whole.cells()), then(whole.cells());
    for (int row = 0; row <= whole.rows + 1; ++row)
        for (int column = 0; column < whole.width; ++column)
            now[whole.row(row) + column] = first_height(row, column, whole.rows);
    for (int step = 0; step < steps; ++step) {
        for (int row = 1; row <= whole.rows; ++row) {
            const unsigned* const its = &now[whole.row(row)];
            unsigned* const blown_row = &then[whole.row(row)];
            blown_row[0] = blown(its, whole.width, 0);
            for (int column = 1; column + 1 < whole.width; ++column)
                blown_row[column] = 3 * its[column] + its[column - 1] + its[column + 1] +
                                    *(its + column - whole.width) + its[column + whole.width];
            blown_row[whole.width - 1] = blown(its, whole.width, whole.width - 1);
        }
        std::copy_n(&then[whole.row(whole.rows)], whole.width, &then[0]);
        std::copy_n(&then[whole.row(1)], whole.width, &then[whole.row(whole.rows + 1)]);
        std::swap(now, then);
    }
    size_t wrong = 0;
    for (size_t i = 0; i < found.size(); ++i) {
        const unsigned expected = now[whole.row(1 + me * half.rows) + i];
        if (found[i] != expected && ++wrong == 1)
            std::printf("half %d, height %zu: expected %u, found %u\n", me, i, expected, found[i]);
    }
    return wrong;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Lets dunes wander through a desert that two GPUs share.");
    Half half{};
    half.rows = static_cast<int>(options.integer("--rows", 1024, 2, 16'384, "rows of a half"));
    half.width = static_cast<int>(options.integer("--width", 4096, 2, 16'384, "heights of a row"));
    const int steps =
        static_cast<int>(options.integer("--steps", 96, 1, 10'000, "steps behind those to warm up"));
    options.done();
    require_two_gpus();
    require_peer_access();
    const pid_t other_process = meet(argv);
    require_gpu(4 * half.cells() * sizeof(unsigned));
    const int me = nvshmem_my_pe(), other = 1 - me;
    if (nvshmem_n_pes() != 2) {
        std::fprintf(stderr, "two processes are needed, not %d: mpirun -n 2\n", nvshmem_n_pes());
        std::exit(2);
    }

    // Symmetric memory: the same number of bytes in both processes, and a put names the place by the own
    // address.
    auto* now = static_cast<unsigned*>(nvshmem_malloc(half.cells() * sizeof(unsigned)));
    auto* then = static_cast<unsigned*>(nvshmem_malloc(half.cells() * sizeof(unsigned)));
    if (!now || !then) {
        std::fprintf(stderr, "NVSHMEM has no room for this half; choose a smaller one (see --help)\n");
        std::exit(1);
    }
    const Stream wind = make_stream(cudaStreamNonBlocking);
    const dim3 grid((half.width + kThreads - 1) / kThreads, half.rows);
    heap_up<<<dim3(grid.x, half.rows + 2), kThreads, 0, wind.get()>>>(now, half, me * half.rows);
    CUDA_CHECK(cudaGetLastError());

    int done = 0;
    unsigned logged = 0;
    const auto blow_on = [&](int steps_more) {
        for (const int last = done + steps_more; done < last; ++done) {
            blow<<<grid, kThreads, 0, wind.get()>>>(now, then, half);
            CUDA_CHECK(cudaGetLastError());
            // The first and the last own row are the other's last and first.
            nvshmemx_uint_put_on_stream(&then[half.row(half.rows + 1)], &then[half.row(1)], half.width, other,
                                        wind.get());
            nvshmemx_uint_put_on_stream(then, &then[half.row(half.rows)], half.width, other, wind.get());
            CUDA_CHECK(cudaStreamSynchronize(wind.get()));
            nvshmem_barrier_all();
            std::swap(now, then);
            if (done % kLogSteps == 0)
                CUDA_CHECK(
                    cudaMemcpyAsync(&logged, now, sizeof(unsigned), cudaMemcpyDeviceToHost, wind.get()));
        }
        CUDA_CHECK(cudaStreamSynchronize(wind.get()));
        nvshmem_barrier_all();
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

    std::vector<unsigned> found(size_t{1} * half.rows * half.width);
    CUDA_CHECK(
        cudaMemcpy(found.data(), &now[half.row(1)], found.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
    const size_t wrong = wrong_in(found, half, me, kWarmUp + steps);
    if (me == 0)
        std::printf("%d steps: %.2f us each, logged at last: %u\n", steps, elapsed.count() / steps, logged);
    std::printf("half %d, wrong heights: expected 0, found %zu of %zu\n", me, wrong, found.size());
    std::fflush(stdout);
    nvshmem_free(now);
    nvshmem_free(then);
    nvshmem_finalize();
    int status = 0;
    if (other_process != 0 && ::waitpid(other_process, &status, 0) != other_process) status = -1;
    return wrong == 0 && status == 0 ? 0 : 1;
}
