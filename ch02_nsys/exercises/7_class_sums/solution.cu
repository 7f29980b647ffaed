// Learns a table of classes from batches of samples. A sample's features are stored encoded; a loader decodes
// them. A step projects a batch, adds each class's samples to its row of the table, and ages the table of
// moments. Losses are reported now and then, and so are checkpoints of the moments. The seed decides all
// sizes.
//
// Right: steps are quick with any seed, whatever it draws for batches, losses, activations, classes and
// checkpoints.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cub/device/device_reduce.cuh>
#include <future>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;
constexpr size_t kBlocks = 1024;  // that add rows, at least: where there are few classes, several share one
constexpr size_t kAhead = 4;      // batches that may be loaded before their step
constexpr size_t kSlabBytes = size_t{40} << 20;

/// A linear congruential generator: it decodes features, mixes activations and ages moments.
struct Generator {
    uint32_t factor = 1, summand = 0;
    __host__ __device__ uint32_t operator()(uint32_t x) const { return x * factor + summand; }

    /// Many rounds in one.
    [[nodiscard]] Generator repeated(uint32_t rounds) const {
        Generator all;
        for (uint32_t round = 0; round < rounds; ++round) all = {all.factor * factor, (*this)(all.summand)};
        return all;
    }
};

/// What the seed decides.
struct Shape {
    size_t samples, features, width, classes, moments;  // of a batch; of a sample; of a row; rows; numbers
    uint32_t code, depth;             // rounds that decode a feature; rounds of a projection
    size_t report_every, save_every;  // steps
    Generator mix;

    explicit Shape(unsigned seed) {
        std::mt19937 random(seed);
        const auto power_of_two = [&](unsigned lowest, unsigned highest) {
            return size_t{1} << (lowest + random() % (highest - lowest + 1));
        };
        samples = power_of_two(11, 15) + random() % 512;
        features = power_of_two(2, 4);
        width = power_of_two(6, 9);
        classes = power_of_two(1, 9) + random() % 2;
        moments = power_of_two(16, 23);
        code = static_cast<uint32_t>(power_of_two(0, 9));
        depth = static_cast<uint32_t>(power_of_two(2, 10));
        report_every = power_of_two(0, 4);
        save_every = power_of_two(0, 4);
        mix = {static_cast<uint32_t>(random()) | 1, static_cast<uint32_t>(random())};
    }
};

/// Device memory for a step. What fits into the slab comes from there; more is allocated, until the next
/// step.
class Scratch {
  public:
    explicit Scratch(size_t bytes) : bytes_(bytes), slab_(device_array<char>(bytes)) {}
    template <class T>
    [[nodiscard]] T* take(size_t count) {
        const size_t bytes = (count * sizeof(T) + 255) / 256 * 256;
        if (used_ + bytes > bytes_) {
            more_.push_back(device_array<char>(bytes));
            return reinterpret_cast<T*>(more_.back().get());
        }
        used_ += bytes;
        return reinterpret_cast<T*>(slab_.get() + used_ - bytes);
    }
    void reset() {
        used_ = 0;
        more_.clear();
    }

  private:
    size_t bytes_, used_ = 0;
    std::unique_ptr<char[], DeviceFree> slab_;
    std::vector<std::unique_ptr<char[], DeviceFree>> more_;
};

/// One thread per activation. Row s is made of sample `order[s]`.
__global__ void project(const uint32_t* batch, const uint32_t* order, size_t samples, size_t features,
                        size_t width, uint32_t depth, Generator mix, uint32_t* activations) {
    const size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x;
    if (i >= samples * width) return;
    const size_t s = i / width, w = i % width;
    uint32_t x = batch[order[s] * features + w % features] + static_cast<uint32_t>(w);
    for (uint32_t round = 0; round < depth; ++round) x = mix(x);
    activations[i] = x;
}

/// The samples of a class follow each other: class c has those from samples * c / classes on.
__host__ __device__ size_t first_of(size_t c, size_t samples, size_t classes) {
    return samples * c / classes;
}

/// Adds the rows of each class to its row of the table.
__global__ void add_rows(const uint32_t* activations, size_t samples, size_t width, size_t classes,
                         uint32_t* table) {
    const size_t c = blockIdx.x, last = first_of(c + 1, samples, classes);
    for (size_t w = threadIdx.x; w < width; w += kThreads) {
        uint32_t sum = 0;
        for (size_t s = first_of(c, samples, classes) + blockIdx.y; s < last; s += gridDim.y)
            sum += activations[s * width + w];
        atomicAdd(&table[c * width + w], sum);
    }
}

__global__ void age(uint32_t* moments, size_t count, Generator mix, uint32_t step) {
    const size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x;
    if (i < count) moments[i] = mix(moments[i] + static_cast<uint32_t>(i) + step);
}

unsigned blocks_for(size_t threads) {
    return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Learns a table of classes from batches of samples.");
    const auto seed = static_cast<unsigned>(options.integer("--seed", 1, 1, 1'000'000, "decides all sizes"));
    const size_t steps = options.integer("--steps", 12, 1, 100, "steps, one batch each");
    const size_t most = options.integer("--most", 100'000, 1, 100'000, "samples in a batch, at most");
    options.done();
    Shape shape(seed);
    shape.samples = std::min(shape.samples, most);
    const size_t samples = shape.samples, batch_count = samples * shape.features,
                 activated = samples * shape.width, table_count = shape.classes * shape.width;
    require_gpu(kSlabBytes +
                2 * (activated + batch_count + table_count + shape.moments + steps) * sizeof(uint32_t));

    std::mt19937 random(seed + 1);
    std::vector<uint32_t> encoded(steps * batch_count);
    for (uint32_t& x : encoded) x = static_cast<uint32_t>(random());
    const auto batches = pinned_array<uint32_t>(steps * batch_count);  // decoded
    const auto orders = pinned_array<uint32_t>(steps * samples);
    const auto losses = pinned_array<uint32_t>(steps);
    const auto checkpoint = pinned_array<uint32_t>(shape.moments);

    const Stream owner = make_stream(cudaStreamNonBlocking);
    const cudaStream_t stream = owner.get();
    const auto batch = device_array<uint32_t>(batch_count), order = device_array<uint32_t>(samples);
    const auto table = device_array<uint32_t>(table_count), moments = device_array<uint32_t>(shape.moments);
    const auto device_losses = device_array<uint32_t>(steps);
    size_t reduce_bytes = 0;
    CUDA_CHECK(cub::DeviceReduce::Sum(nullptr, reduce_bytes, static_cast<const uint32_t*>(nullptr),
                                      device_losses.get(), static_cast<int>(activated), stream));
    Scratch scratch(std::max(kSlabBytes, activated * sizeof(uint32_t) + reduce_bytes + 512));

    const auto load = [&](size_t step) {
        nvtx3::scoped_range range{"load"};
        for (size_t i = step * batch_count; i < (step + 1) * batch_count; ++i) {
            uint32_t x = encoded[i];
            for (uint32_t round = 0; round < shape.code; ++round) x = shape.mix(x);
            batches[i] = x;
        }
    };
    std::vector<std::future<void>> loaded(steps);
    const auto start_load = [&](size_t step) {
        if (step >= steps) return;
        loaded[step] = std::async(std::launch::async, load, step);
    };
    const auto is_due = [&](size_t step, size_t every) {
        return (step + 1) % every == 0 || step + 1 == steps;
    };

    /// The samples of a step in the order in which they are learned from.
    const auto choose_order = [&](size_t step) {
        nvtx3::scoped_range range{"order"};
        uint32_t* const first = &orders[step * samples];
        std::iota(first, first + samples, 0u);
        std::shuffle(first, first + samples, random);
    };
    const auto run = [&](size_t step) {
        nvtx3::scoped_range range{"step"};
        CUDA_CHECK(cudaMemcpyAsync(batch.get(), &batches[step * batch_count], batch_count * sizeof(uint32_t),
                                   cudaMemcpyHostToDevice, stream));
        CUDA_CHECK(cudaMemcpyAsync(order.get(), &orders[step * samples], samples * sizeof(uint32_t),
                                   cudaMemcpyHostToDevice, stream));
        scratch.reset();
        uint32_t* const activations = scratch.take<uint32_t>(activated);
        project<<<blocks_for(activated), kThreads, 0, stream>>>(batch.get(), order.get(), samples,
                                                                shape.features, shape.width, shape.depth,
                                                                shape.mix, activations);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cub::DeviceReduce::Sum(scratch.take<char>(reduce_bytes), reduce_bytes, activations,
                                          &device_losses[step], static_cast<int>(activated), stream));
        const dim3 adders(static_cast<unsigned>(shape.classes),
                          static_cast<unsigned>((kBlocks + shape.classes - 1) / shape.classes));
        add_rows<<<adders, kThreads, 0, stream>>>(activations, samples, shape.width, shape.classes,
                                                  table.get());
        CUDA_CHECK(cudaGetLastError());
        age<<<blocks_for(shape.moments), kThreads, 0, stream>>>(moments.get(), shape.moments, shape.mix,
                                                                static_cast<uint32_t>(step));
        CUDA_CHECK(cudaGetLastError());
        if (is_due(step, shape.report_every))
            CUDA_CHECK(cudaMemcpyAsync(&losses[step], &device_losses[step], sizeof(uint32_t),
                                       cudaMemcpyDeviceToHost, stream));
        if (is_due(step, shape.save_every))
            CUDA_CHECK(cudaMemcpyAsync(checkpoint.get(), moments.get(), shape.moments * sizeof(uint32_t),
                                       cudaMemcpyDeviceToHost, stream));
    };
    const auto clear = [&] {
        CUDA_CHECK(cudaMemsetAsync(table.get(), 0, table_count * sizeof(uint32_t), stream));
        CUDA_CHECK(cudaMemsetAsync(moments.get(), 0, shape.moments * sizeof(uint32_t), stream));
    };
    {
        nvtx3::scoped_range range{"warm-up"};
        load(0);
        choose_order(0);
        clear();
        run(0);
        clear();
        CUDA_CHECK(cudaStreamSynchronize(stream));
        for (size_t step = 0; step < kAhead; ++step) start_load(step);
    }

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"train"};
        for (size_t step = 0; step < steps; ++step) {
            start_load(step + kAhead);
            choose_order(step);
            loaded[step].get();
            run(step);
        }
        CUDA_CHECK(cudaStreamSynchronize(stream));
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    std::vector<uint32_t> found_table(table_count), expected_table(table_count, 0),
        expected_moments(shape.moments, 0);
    CUDA_CHECK(
        cudaMemcpy(found_table.data(), table.get(), table_count * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    const Generator decode = shape.mix.repeated(shape.code), projection = shape.mix.repeated(shape.depth);
    for (size_t step = 0; step < steps; ++step) {
        uint32_t loss = 0;
        for (size_t c = 0; c < shape.classes; ++c)
            for (size_t s = first_of(c, samples, shape.classes); s < first_of(c + 1, samples, shape.classes);
                 ++s) {
                const uint32_t* const sample =
                    &encoded[step * batch_count + orders[step * samples + s] * shape.features];
                for (size_t w = 0; w < shape.width; ++w) {
                    const uint32_t x = decode(sample[w % shape.features]);
                    const uint32_t activation = projection(x + static_cast<uint32_t>(w));
                    expected_table[c * shape.width + w] += activation;
                    loss += activation;
                }
            }
        for (size_t i = 0; i < shape.moments; ++i)
            expected_moments[i] =
                shape.mix(expected_moments[i] + static_cast<uint32_t>(i) + static_cast<uint32_t>(step));
        wrong += is_due(step, shape.report_every) && losses[step] != loss;
    }
    const size_t wrong_losses = wrong;
    for (size_t i = 0; i < table_count; ++i) wrong += found_table[i] != expected_table[i];
    for (size_t i = 0; i < shape.moments; ++i) wrong += checkpoint[i] != expected_moments[i];
    std::printf("%zu steps: %.2f ms\n", steps, elapsed.count());
    std::printf("wrong numbers: expected 0, found %zu (%zu of them losses)\n", wrong, wrong_losses);
    return wrong == 0 ? 0 : 1;
}
