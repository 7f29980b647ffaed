// How long do blocks take to meet? Water flows round a ring of pipe, 256 cells in the shared memory of each
// block, and after every tick each block needs the last cell of the block before it. First all blocks of a
// cooperative grid meet, and pass the cell on in global memory. Then those of a thread block cluster do, and
// read the cell from the other block's shared memory.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I. ch06_graphs/meetings/meetings.cu -o meetings
// look:    ./meetings
#include <cooperative_groups.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/options.hpp"

constexpr int kThreads = 256;  // per block, one cell each
constexpr int kLaunches = 21;  // timed
constexpr float kExchange = 2e-5f;

enum class Meet { grid, cluster };

/// All ticks of a ring. Only the grid's blocks use `ends`: the last cells of all blocks, twice.
template <Meet kMeet>
__global__ void flow(float* water, const float* outside, float* ends, int ticks) {
#if __CUDA_ARCH__ >= 900
    __shared__ float cells[2][kThreads];
    const int me = threadIdx.x, blocks = gridDim.x, cell = blockIdx.x * kThreads + me;
    const int left = (blockIdx.x + blocks - 1) % blocks;
    const bool is_last = me == kThreads - 1;
    const float around = outside[cell];
    cells[0][me] = water[cell];
    if (kMeet == Meet::grid && is_last) ends[blockIdx.x] = water[cell];
    const auto meet = [] {
        if constexpr (kMeet == Meet::grid)
            cooperative_groups::this_grid().sync();
        else
            cooperative_groups::this_cluster().sync();
    };
    const float* of_left = nullptr;
    if constexpr (kMeet == Meet::cluster)
        of_left = cooperative_groups::this_cluster().map_shared_rank(&cells[0][0], left);
    meet();
    for (int tick = 0; tick < ticks; ++tick) {
        const int now = tick % 2, then = 1 - now;
        float came;
        if (me > 0)
            came = cells[now][me - 1];
        else if constexpr (kMeet == Meet::grid)
            came = ends[now * blocks + left];
        else
            came = of_left[now * kThreads + kThreads - 1];
        came += kExchange * (around - came);
        cells[then][me] = came;
        if (kMeet == Meet::grid && is_last) ends[then * blocks + blockIdx.x] = came;
        meet();
    }
    water[cell] = cells[ticks % 2][me];
#endif
}

template <Meet kMeet>
void launch(int blocks, float* water, const float* outside, float* ends, int ticks) {
    cudaLaunchAttribute attribute{};
    if (kMeet == Meet::grid) {
        attribute.id = cudaLaunchAttributeCooperative;
        attribute.val.cooperative = 1;
    } else {
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
    }
    cudaLaunchConfig_t config{};
    config.gridDim = blocks, config.blockDim = kThreads;
    config.attrs = &attribute, config.numAttrs = 1;
    CUDA_CHECK(cudaLaunchKernelEx(&config, flow<kMeet>, water, outside, ends, ticks));
}

/// The median of us per tick. Adds the number of wrong cells to `wrong`.
template <Meet kMeet>
double us_a_tick(int blocks, int ticks, int& wrong) {
    const int count = blocks * kThreads;
    std::mt19937 random(blocks);
    std::vector<float> water(count), outside(count), found(count);
    for (int i = 0; i < count; ++i)
        water[i] = random() % 10'000 / 100.0f, outside[i] = random() % 3'000 / 100.0f;
    const auto device_water = device_array<float>(count), device_outside = device_array<float>(count),
               ends = device_array<float>(2 * blocks);
    const size_t bytes = count * sizeof(float);
    CUDA_CHECK(cudaMemcpy(device_outside.get(), outside.data(), bytes, cudaMemcpyHostToDevice));
    std::vector<double> us;
    for (int n = 0; n <= kLaunches; ++n) {  // one more, to warm up
        CUDA_CHECK(cudaMemcpy(device_water.get(), water.data(), bytes, cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaDeviceSynchronize());
        const auto start = std::chrono::steady_clock::now();
        launch<kMeet>(blocks, device_water.get(), device_outside.get(), ends.get(), ticks);
        CUDA_CHECK(cudaDeviceSynchronize());
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
        if (n > 0) us.push_back(took.count() / ticks);
    }
    CUDA_CHECK(cudaMemcpy(found.data(), device_water.get(), bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; ++i) {  // follows the water of a cell round the ring
        double expected = water[i];
        int cell = i;
        for (int tick = 0; tick < ticks; ++tick) {
            if (++cell == count) cell = 0;
            expected += double{kExchange} * (outside[cell] - expected);
        }
        wrong += !(std::fabs(found[cell] - expected) <= 1e-2);
    }
    std::sort(us.begin(), us.end());
    return us[us.size() / 2];
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Times how long blocks take to meet, as a grid and as a cluster.");
    const int ticks = options.integer("--ticks", 2000, 1, 1'000'000, "ticks of a launch");
    options.done();
    require_gpu(1 << 20);
    int major = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major < 9) {
        std::fprintf(stderr, "no suitable GPU: clusters need compute capability 9.0 (Hopper) or later\n");
        return 77;
    }
    int wrong = 0;
    for (const int blocks : {2, 4, 8}) {
        const double grid = us_a_tick<Meet::grid>(blocks, ticks, wrong);
        const double cluster = us_a_tick<Meet::cluster>(blocks, ticks, wrong);
        std::printf("grid of %d: %.3f us\ncluster of %d: %.3f us\n", blocks, grid, blocks, cluster);
    }
    std::printf("%d cells wrong\n", wrong);
    return wrong == 0 ? 0 : 1;
}
