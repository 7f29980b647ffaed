// What a weather radar makes of one scan. Readings of its receiver are summed up for the calibration; the
// echoes above each place become a map of rain, which is smoothed and turned for the display; and simulated
// drops fall out of the cloud into catchments, for which moments of their sizes are added up.
//
// Symptom: on some days a scan takes far longer than on others, though it is of the same size.
// Task: find what costs the time on your day, and mend it. All sums and the map stay as they are.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 128;              // of a block of most kernels
constexpr int kBlocks = 512;               // of kernels whose threads take many items each
constexpr int kSums = 3;                   // that the calibration asks for
constexpr int kCatchments = 24;            // into which drops fall
constexpr int kMoments = 8;                // sums of diameters to the power of 0, 1, 2 ... 7, modulo 2^32
constexpr int kQuantities = 2 * kMoments;  // the moments, and again times the steps of a drop
constexpr int kTile = 32;                  // places along an edge of a tile of the map
constexpr int kRowsAtOnce = 8;             // rows of a tile that a block moves at once
constexpr int kDrizzle = 2;                // diameter of small drops
constexpr int kDrizzleOneIn = 8;           // of so many showers one is of small drops

/// The weather of a day, and what the radar's set-up was.
struct Day {
    int levels;  // echoes above a place, of different heights
    int burst;   // readings that the receiver hands in at once
    int shower;  // drops of one kind that follow each other in the list
    int wind;    // the stronger, the nearer to the first catchment drops fall
};

Day day_of(std::mt19937& random) {
    const int levels = 40 + static_cast<int>(random() % 50);
    const int burst = 1 << random() % 9, shower = 1 << random() % 12;
    return {levels, burst, shower, 1 + static_cast<int>(random() % 30)};
}

/// Three fields of each reading, each in an array of its own.
struct Readings {
    const int *power, *phase, *noise;
};

struct Drop {
    int16_t diameter, height;
    int32_t catchment;
};

/// Adds up the fields of those readings that are valid.
__global__ void calibrate(Readings readings, const int* valid, int count, unsigned long long* sums) {
    __shared__ unsigned of_block[kSums];
    if (threadIdx.x < kSums) of_block[threadIdx.x] = 0;
    __syncthreads();
    unsigned sum[kSums] = {};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const int reading = valid[i];
        sum[0] += readings.power[reading];
        sum[1] += readings.phase[reading];
        sum[2] += readings.noise[reading];
    }
    for (int i = 0; i < kSums; ++i) {
        for (int lanes = 16; lanes > 0; lanes /= 2) sum[i] += __shfl_down_sync(~0u, sum[i], lanes);
        if (threadIdx.x % 32 == 0) atomicAdd(&of_block[i], sum[i]);
    }
    __syncthreads();
    if (threadIdx.x < kSums)
        atomicAdd(&sums[threadIdx.x], static_cast<unsigned long long>(of_block[threadIdx.x]));
}

/// The rain at each place: the echoes above half of the strongest one, less by how far they lie apart.
__global__ void profile(const int* echoes, int* rain, int places, int levels) {
    extern __shared__ int tile[];
    const int first = blockIdx.x * kThreads, here = min(kThreads, places - first);
    for (int i = threadIdx.x; i < here * levels; i += kThreads) tile[i] = echoes[size_t(first) * levels + i];
    __syncthreads();
    if (threadIdx.x >= here) return;
    const int* const above = tile + threadIdx.x * levels;
    int strongest = 0, sum = 0, count = 0, apart = 0;
    for (int level = 0; level < levels; ++level) strongest = max(strongest, above[level]);
    for (int level = 0; level < levels; ++level)
        if (2 * above[level] > strongest) sum += above[level], ++count;
    const int mean = count > 0 ? sum / count : 0;
    for (int level = 0; level < levels; ++level)
        if (2 * above[level] > strongest) apart += abs(above[level] - mean);
    rain[first + threadIdx.x] = sum - apart;
}

/// Each place of the map and the mean of its four neighbors, half and half.
__global__ void smooth(const int* in, int* out, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const auto at = [&](int column, int row) {
        return in[min(max(row, 0), height - 1) * width + min(max(column, 0), width - 1)];
    };
    out[y * width + x] = (4 * at(x, y) + at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1)) / 8;
}

/// [y][x] becomes [x][y].
__global__ void turn(const int* in, int* out, int width, int height) {
    __shared__ int tile[kTile][kTile];
    const int x = blockIdx.x * kTile + threadIdx.x, y_out = blockIdx.y * kTile + threadIdx.x;
    for (int row = threadIdx.y; row < kTile; row += kRowsAtOnce)
        if (const int y = blockIdx.y * kTile + row; x < width && y < height)
            tile[row][threadIdx.x] = in[y * width + x];
    __syncthreads();
    for (int row = threadIdx.y; row < kTile; row += kRowsAtOnce)
        if (const int x_out = blockIdx.x * kTile + row; x_out < width && y_out < height)
            out[x_out * height + y_out] = tile[threadIdx.x][row];
}

/// How many steps a drop falls until it is down: air brakes it, and the larger it is, the faster it gets.
__host__ __device__ int steps_of(Drop drop) {
    int left = drop.height, speed = 0, steps = 0;
    for (; left > 0; ++steps) {
        speed += (drop.diameter - speed + 3) >> 2;
        left -= speed;
    }
    return steps;
}

__global__ void fall(const Drop* drops, int* steps, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) steps[i] = steps_of(drops[i]);
}

/// Adds up each quantity for each catchment.
__global__ void tally(const Drop* drops, const int* steps, int count, unsigned* totals) {
    __shared__ unsigned of_block[kQuantities * kCatchments];
    for (int i = threadIdx.x; i < kQuantities * kCatchments; i += blockDim.x) of_block[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const Drop drop = drops[i];
        unsigned* const sums = of_block + drop.catchment;
        const int steps_down = steps[i];
        unsigned power = 1;
        for (int moment = 0; moment < kMoments; ++moment, power *= drop.diameter) {
            atomicAdd(&sums[moment * kCatchments], power);
            atomicAdd(&sums[(kMoments + moment) * kCatchments], power * steps_down);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kQuantities * kCatchments; i += blockDim.x)
        atomicAdd(&totals[i], of_block[i]);
}

/// The readings that are valid, in the order in which the receiver handed them in.
std::vector<int> valid_readings(int readings, int burst, std::mt19937& random) {
    std::vector<int> bursts((readings + burst - 1) / burst), valid;
    std::iota(bursts.begin(), bursts.end(), 0);
    for (size_t i = bursts.size(); i > 1; --i) std::swap(bursts[i - 1], bursts[random() % i]);
    valid.reserve(readings);
    for (const int first : bursts)
        for (int i = first * burst; i < std::min(readings, (first + 1) * burst); ++i)
            if (random() % 8 != 0) valid.push_back(i);
    return valid;
}

/// The drops of a day. Catchments are drawn by multiplying fractions of 2^16.
std::vector<Drop> falling_drops(int count, const Day& day, std::mt19937& random) {
    std::vector<Drop> drops(count);
    bool drizzle = false;
    for (int i = 0; i < count; ++i) {
        if (i % day.shower == 0) drizzle = random() % kDrizzleOneIn == 0;
        const uint32_t drawn = random(), share = drawn >> 16;
        uint32_t place = share;
        for (int gust = 1; gust < day.wind; ++gust) place = (place * share) >> 16;
        drops[i].diameter = static_cast<int16_t>(drizzle ? kDrizzle : 28 + drawn % 4);
        drops[i].height = static_cast<int16_t>(450 + drawn / 4 % 32);
        drops[i].catchment = static_cast<int32_t>((place * kCatchments) >> 16);
    }
    return drops;
}

/// The oracle of the map: what `profile`, `smooth` and `turn` should make of the echoes.
std::vector<int> expected_map(const std::vector<int>& echoes, int levels, int width, int height) {
    std::vector<int> rain(size_t(width) * height), map(rain.size());
    for (size_t place = 0; place < rain.size(); ++place) {
        const int* const above = &echoes[place * levels];
        const int strongest = *std::max_element(above, above + levels);
        int sum = 0, count = 0, apart = 0;
        for (int level = 0; level < levels; ++level)
            if (2 * above[level] > strongest) sum += above[level], ++count;
        for (int level = 0; level < levels; ++level)
            if (2 * above[level] > strongest) apart += std::abs(above[level] - sum / count);
        rain[place] = sum - apart;
    }
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            const auto at = [&](int column, int row) {
                return rain[std::clamp(row, 0, height - 1) * width + std::clamp(column, 0, width - 1)];
            };
            map[size_t(x) * height + y] =
                (4 * at(x, y) + at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1)) / 8;
        }
    return map;
}

/// A copy of `host` in device memory.
template <class T>
auto on_device(const std::vector<T>& host) {
    auto device = device_array<T>(host.size());
    CUDA_CHECK(cudaMemcpy(device.get(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

/// A copy of `count` elements of device memory on the host.
template <class T>
std::vector<T> on_host(const T* device, size_t count) {
    std::vector<T> host(count);
    CUDA_CHECK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Makes maps and sums of one scan of a weather radar.");
    const int seed = options.integer("--seed", 1, 0, 1'000'000'000, "the day");
    const int width = options.integer("--width", 367, 1, 1024, "places from west to east");
    const int height = options.integer("--height", 359, 1, 1024, "places from south to north");
    const int readings = options.integer("--readings", 4'000'037, 1, 10'000'000, "readings of the receiver");
    const int count = options.integer("--drops", 2'000'003, 1, 3'000'000, "drops that fall");
    options.done();
    const int places = width * height;

    std::mt19937 random(seed);
    const Day day = day_of(random);
    require_gpu(size_t(readings) * 16 + size_t(places) * (day.levels + 3) * 4 + size_t(count) * 12);
    std::array<std::vector<int>, kSums> fields;
    for (auto& field : fields) {
        field.resize(readings);
        for (int& value : field) value = static_cast<int>(random() >> 24);
    }
    const std::vector<int> valid = valid_readings(readings, day.burst, random);
    std::vector<int> echoes(size_t(places) * day.levels);
    for (int& echo : echoes) echo = 1 + static_cast<int>(random() >> 22);
    const std::vector<Drop> drops = falling_drops(count, day, random);

    const auto power = on_device(fields[0]), phase = on_device(fields[1]), noise = on_device(fields[2]);
    const auto device_valid = on_device(valid);
    const auto device_echoes = on_device(echoes);
    const auto device_drops = on_device(drops);
    const auto sums = device_array<unsigned long long>(kSums);
    const auto rain = device_array<int>(places), smoothed = device_array<int>(places);
    const auto map = device_array<int>(places), steps = device_array<int>(count);
    const auto totals = device_array<unsigned>(kQuantities * kCatchments);

    const auto scan = [&](const char* name) {
        CUDA_CHECK(cudaMemset(sums.get(), 0, kSums * sizeof(unsigned long long)));
        CUDA_CHECK(cudaMemset(totals.get(), 0, kQuantities * kCatchments * sizeof(unsigned)));
        CUDA_CHECK(cudaMemset(map.get(), 0xFF, places * sizeof(int)));
        CUDA_CHECK(cudaDeviceSynchronize());
        const nvtx3::scoped_range range{name};
        const dim3 tiles((width + kTile - 1) / kTile, (height + kTile - 1) / kTile);
        const dim3 tile(kTile, kRowsAtOnce);
        calibrate<<<kBlocks, 2 * kThreads>>>({power.get(), phase.get(), noise.get()}, device_valid.get(),
                                             static_cast<int>(valid.size()), sums.get());
        CUDA_CHECK(cudaGetLastError());
        profile<<<(places + kThreads - 1) / kThreads, kThreads, kThreads * day.levels * sizeof(int)>>>(
            device_echoes.get(), rain.get(), places, day.levels);
        CUDA_CHECK(cudaGetLastError());
        smooth<<<dim3(tiles.x, (height + kRowsAtOnce - 1) / kRowsAtOnce), tile>>>(rain.get(), smoothed.get(),
                                                                                  width, height);
        CUDA_CHECK(cudaGetLastError());
        turn<<<tiles, tile>>>(smoothed.get(), map.get(), width, height);
        CUDA_CHECK(cudaGetLastError());
        fall<<<(count + kThreads - 1) / kThreads, kThreads>>>(device_drops.get(), steps.get(), count);
        CUDA_CHECK(cudaGetLastError());
        tally<<<kBlocks, 2 * kThreads>>>(device_drops.get(), steps.get(), count, totals.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    scan("warm-up");
    scan("scan");

    int wrong = 0;
    const auto compare = [&](const char* what, const auto& expected, const auto& found) {
        size_t first = 0;
        int different = 0;
        for (size_t i = 0; i < expected.size(); ++i)
            if (expected[i] != found[i] && different++ == 0) first = i;
        std::printf("%s: expected %lld, found %lld; %d of %zu wrong\n", what,
                    static_cast<long long>(expected[first]), static_cast<long long>(found[first]), different,
                    expected.size());
        wrong += different;
    };
    std::vector<unsigned long long> expected_sums(kSums);
    for (const int reading : valid)
        for (int i = 0; i < kSums; ++i) expected_sums[i] += fields[i][reading];
    std::vector<unsigned> expected_totals(kQuantities * kCatchments);
    for (const Drop& drop : drops) {
        const int steps_down = steps_of(drop);
        unsigned power = 1;
        for (int moment = 0; moment < kMoments; ++moment, power *= drop.diameter) {
            expected_totals[moment * kCatchments + drop.catchment] += power;
            expected_totals[(kMoments + moment) * kCatchments + drop.catchment] += power * steps_down;
        }
    }
    compare("sums", expected_sums, on_host(sums.get(), kSums));
    compare("map", expected_map(echoes, day.levels, width, height), on_host(map.get(), places));
    compare("totals", expected_totals, on_host(totals.get(), kQuantities * kCatchments));
    return wrong == 0 ? 0 : 1;
}
