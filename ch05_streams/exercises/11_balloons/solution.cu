// Follows weather balloons through a night. Four receivers take the flights in turn, and each has a stream.
// The soundings of a flight, of several readings each, drift with the wind and are counted on a map of the
// sky; then what the map says at the places of all soundings is added up. How large a map is depends on how
// high the balloon was.
//
// Right: maps come from a memory pool, so that giving one back waits for no other flight.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cub/block/block_reduce.cuh>
#include <random>
#include <unordered_map>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kReceivers = 4, kThreads = 128;
constexpr int kLayer = 1 << 19, kLowest = 9, kHighest = 40;  // cells of a layer; layers of a map

/// x becomes factor * x + 1, modulo 2^32.
struct Step {
    unsigned factor, increment;
};

struct Flight {
    int layers, wind, steps;  // of its map; which wind there is, and how long the soundings drift
    std::vector<unsigned> readings;
};

/// What a night is like.
struct Night {
    int heights;              // that balloons fly at, and so sizes of a map
    int other_wind;           // flights until the wind has changed, on average
    int longer;               // flights until one is ten times as long, on average
    int wind_steps;           // of a measurement of the wind
    int soundings, readings;  // of a flight
};

Night night_of(std::mt19937& random) {
    const auto up_to_32 = [&random] { return 1 << random() % 6; };
    return {up_to_32(),           up_to_32(),           2 * up_to_32(), 200'000 << random() % 3,
            2048 << random() % 6, 65536 << random() % 6};
}

/// `steps` steps as a single one, by squaring, as a reference.
Step all_at_once(Step step, int steps) {
    Step all{1, 0};
    for (; steps > 0; steps /= 2) {
        if (steps % 2) all = {step.factor * all.factor, step.factor * all.increment + step.increment};
        step = {step.factor * step.factor, step.factor * step.increment + step.increment};
    }
    return all;
}

__host__ __device__ unsigned drifted(unsigned x, unsigned factor, int steps) {
    for (int step = 0; step < steps; ++step) x = factor * x + 1;
    return x;
}

/// What a wind does to a sounding; 8n + 5 gives the longest period.
__host__ __device__ unsigned factor_of(unsigned wind, int steps) {
    return drifted(wind, 8 * wind + 5, steps) / 8 * 8 + 5;
}

__host__ __device__ unsigned cell_of(unsigned place, int layers) {
    return place / 256 % (unsigned{kLayer} * layers);
}

__global__ void measure_wind(int wind, int steps, unsigned* factors) {
    factors[wind] = factor_of(wind, steps);
}

/// One thread per sounding: it adds up its readings, notes where it ends up, and counts it on the map.
__global__ void drift(const unsigned* readings, int count, const unsigned* factor, int steps, int layers,
                      unsigned* map, unsigned* cells) {
    const int i = blockIdx.x * kThreads + threadIdx.x, soundings = gridDim.x * kThreads;
    unsigned sounding = 0;
    for (int reading = i; reading < count; reading += soundings) sounding += readings[reading];
    const unsigned place = drifted(sounding, *factor, steps);
    cells[i] = cell_of(place, layers);
    atomicAdd(&map[cells[i]], place);
}

/// What the map says at the cells of all soundings.
__global__ void add_up(const unsigned* map, const unsigned* cells, unsigned* sum) {
    using BlockReduce = cub::BlockReduce<unsigned, kThreads>;
    __shared__ typename BlockReduce::TempStorage storage;
    const unsigned of_block = BlockReduce(storage).Sum(map[cells[blockIdx.x * kThreads + threadIdx.x]]);
    if (threadIdx.x == 0) atomicAdd(sum, of_block);
}

/// Gives a map back when the stream is done with what it has been given so far.
struct GiveBack {
    cudaStream_t stream;
    void operator()(unsigned* p) const noexcept { report_cuda(cudaFreeAsync(p, stream), "cudaFreeAsync"); }
};
using Map = std::unique_ptr<unsigned[], GiveBack>;

[[nodiscard]] Map map_from_pool(int layers, cudaStream_t stream) {
    void* map = nullptr;
    CUDA_CHECK(cudaMallocAsync(&map, size_t{kLayer} * layers * sizeof(unsigned), stream));
    return {static_cast<unsigned*>(map), {stream}};
}

/// Lets the pool keep all that is given back; without this it goes to the driver whenever the host waits.
void keep_freed_memory() {
    cudaMemPool_t pool = nullptr;
    CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    uint64_t bytes_to_keep = UINT64_MAX;
    CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes_to_keep));
}

class Station {
  public:
    Station(const Night& night, int flights, int winds)
        : night_(night),
          factors_(device_array<unsigned>(winds)),
          sums_(device_array<unsigned>(flights)),
          found_(pinned_array<unsigned>(flights)) {
        for (Receiver& receiver : receivers_) {
            receiver.readings = device_array<unsigned>(night.readings);
            receiver.cells = device_array<unsigned>(night.soundings);
        }
        CUDA_CHECK(cudaMemset(sums_.get(), 0, flights * sizeof(unsigned)));
        CUDA_CHECK(cudaDeviceSynchronize());  // the receivers' streams don't wait for this memset
    }

    void follow(const Flight& flight, int number) {
        Receiver& receiver = receivers_[number % kReceivers];
        const cudaStream_t stream = receiver.stream.get();
        const auto blocks = static_cast<unsigned>(night_.soundings / kThreads);
        if (flight.wind != wind_) {
            measure_wind<<<1, 1, 0, weather_.get()>>>(wind_ = flight.wind, night_.wind_steps, factors_.get());
            CUDA_CHECK(cudaGetLastError());
            CUDA_CHECK(cudaEventRecord(measured_.get(), weather_.get()));
        }
        wait_for(receiver);
        const Map taken = map_from_pool(flight.layers, stream);
        unsigned* const map = taken.get();
        CUDA_CHECK(cudaMemsetAsync(map, 0, size_t{kLayer} * flight.layers * sizeof(unsigned), stream));
        CUDA_CHECK(cudaMemcpyAsync(receiver.readings.get(), flight.readings.data(),
                                   night_.readings * sizeof(unsigned), cudaMemcpyHostToDevice, stream));
        CUDA_CHECK(cudaStreamWaitEvent(stream, measured_.get()));
        drift<<<blocks, kThreads, 0, stream>>>(receiver.readings.get(), night_.readings,
                                               &factors_[flight.wind], flight.steps, flight.layers, map,
                                               receiver.cells.get());
        CUDA_CHECK(cudaGetLastError());
        add_up<<<blocks, kThreads, 0, stream>>>(map, receiver.cells.get(), &sums_[number]);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemcpyAsync(&found_[number], &sums_[number], sizeof(unsigned), cudaMemcpyDeviceToHost,
                                   stream));
    }

    void wait_for_all() {
        for (Receiver& receiver : receivers_) wait_for(receiver);
    }

    [[nodiscard]] unsigned found(int number) const { return found_[number]; }

  private:
    struct Receiver {
        Stream stream = make_stream(cudaStreamNonBlocking);
        std::unique_ptr<unsigned[], DeviceFree> readings, cells;
    };

    /// Until its flight is over, a receiver has no room for the next.
    void wait_for(Receiver& receiver) { CUDA_CHECK(cudaStreamSynchronize(receiver.stream.get())); }

    Night night_;
    Receiver receivers_[kReceivers];
    Stream weather_ = make_stream(cudaStreamNonBlocking);
    Event measured_ = make_event(cudaEventDisableTiming);
    int wind_ = -1;
    std::unique_ptr<unsigned[], DeviceFree> factors_, sums_;
    std::unique_ptr<unsigned[], PinnedFree> found_;
};

std::vector<Flight> flights_of(const Night& night, int count, int steps, std::mt19937& random) {
    std::vector<Flight> flights(count);
    int wind = 0;
    for (Flight& flight : flights) {
        flight.layers = kLowest + static_cast<int>(random() % night.heights);
        if (random() % night.other_wind == 0) ++wind;
        flight.wind = wind;
        const int times = random() % night.longer == 0 ? 10 : 1;
        flight.steps = times * (steps / 2 + static_cast<int>(random() % (steps + 1)));
        flight.readings.resize(night.readings);
    }
    for (Flight& flight : flights)
        for (unsigned& reading : flight.readings) reading = static_cast<unsigned>(random());
    return flights;
}

/// What `add_up` should find for a flight.
unsigned expected_of(const Flight& flight, const Night& night) {
    const Step all = all_at_once({factor_of(flight.wind, night.wind_steps), 1}, flight.steps);
    std::vector<unsigned> soundings(night.soundings), cells;
    for (int i = 0; i < night.readings; ++i) soundings[i % night.soundings] += flight.readings[i];
    std::unordered_map<unsigned, unsigned> map;
    for (const unsigned sounding : soundings) {
        const unsigned place = all.factor * sounding + all.increment;
        cells.push_back(cell_of(place, flight.layers));
        map[cells.back()] += place;
    }
    unsigned sum = 0;
    for (const unsigned cell : cells) sum += map[cell];
    return sum;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Follows weather balloons, with a stream for each of four receivers.");
    const int count = static_cast<int>(options.integer("--flights", 96, 1, 1024, "flights"));
    const int steps = static_cast<int>(options.integer("--steps", 250'000, 1, 1'000'000, "steps on average"));
    const auto seed = static_cast<unsigned>(options.integer("--seed", 72880, 0, 1'000'000, "of the night"));
    options.done();
    require_gpu(size_t{5 * kReceivers} * kLayer * kHighest * sizeof(unsigned));
    keep_freed_memory();

    std::mt19937 random(seed);
    const Night night = night_of(random);
    const std::vector<Flight> flights = flights_of(night, count, steps, random);
    Station station(night, count + kReceivers, flights.back().wind + 1);
    {
        nvtx3::scoped_range range{"warm-up"};
        const Flight highest{kHighest, 0, 1, std::vector<unsigned>(night.readings)};
        for (int i = 0; i < kReceivers; ++i) station.follow(highest, count + i);
        station.wait_for_all();
    }

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"night"};
        for (int i = 0; i < count; ++i) station.follow(flights[i], i);
        station.wait_for_all();
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    int wrong = 0;
    for (int i = 0; i < count; ++i) {
        const unsigned expected = expected_of(flights[i], night), found = station.found(i);
        if (found != expected && ++wrong == 1)
            std::printf("flight %d: expected sum %u, found %u\n", i, expected, found);
    }
    std::printf("%d flights, %d receivers: %.2f ms\n", count, kReceivers, elapsed.count());
    std::printf("wrong sums: expected 0, found %d of %d\n", wrong, count);
    return wrong == 0 ? 0 : 1;
}
