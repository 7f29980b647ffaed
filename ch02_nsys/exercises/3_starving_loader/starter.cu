// Trains a layer of neurons: its weights learn the states in which the neurons settle. The samples are stored
// encoded, and the host decodes them, batch by batch.
//
// Symptom: the answer is right, and the GPU waits for the host again and again.
// Task: let workers decode batches ahead of time, so that the GPU always has the next batch to go on with.
// `places` and `keep_full` are there for it.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx_mark.hpp"
#include "common/options.hpp"

namespace cg = cooperative_groups;

constexpr int kNeurons = 32, kThreads = 256;
constexpr int kFewestRounds = 100;  // enough for a neuron to settle
constexpr float kRate = 0.1f;
constexpr size_t kWorkers = 4;

/// A neuron settles where z + z³ is its input. More rounds take longer and end at the same place.
__global__ void settle(const float* inputs, int count, int rounds, float* states) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= count) return;
    const float input = inputs[i];
    float z = 0;
    for (int round = 0; round < rounds; ++round) z += 0.25f * (input - z - z * z * z);
    states[i] = z;
}

/// One warp a neuron: the slope of the loss, which is the mean of (weight - state)² / 2.
__global__ void find_slopes(const float* states, const float* weights, int samples, float* slopes) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    float sum = 0;
    for (int i = threadIdx.x; i < samples; i += 32)
        sum += weights[blockIdx.x] - states[i * kNeurons + blockIdx.x];
    sum = cg::reduce(warp, sum, cg::plus<float>());
    if (threadIdx.x == 0) slopes[blockIdx.x] = sum / static_cast<float>(samples);
}

__global__ void descend(const float* slopes, float* weights) {
    weights[threadIdx.x] -= kRate * slopes[threadIdx.x];
}

/// A worker's place: pinned memory for one batch, an event to record behind the copy out of it, and whose
/// turn it is. The worker fills the place when it is not `full`, and the main thread empties it when it is.
class Place {
  public:
    explicit Place(size_t count) : inputs(pinned_array<float>(count)) {}
    const std::unique_ptr<float[], PinnedFree> inputs;
    const Event copied = make_event(cudaEventBlockingSync | cudaEventDisableTiming);

    void wait_until(bool full) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return full_ == full; });
    }
    void mark(bool full) {
        const std::lock_guard lock(mutex_);
        full_ = full;
        changed_.notify_one();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool full_ = false;
};

/// A worker: loads every `kWorkers`-th batch into its place, once the batch before has been copied out of it.
/// (To wait for an event that was never recorded takes no time.)
template <class Load>
void keep_full(Place& place, size_t first, size_t batches, const Load& load) {
    for (size_t batch = first; batch < batches; batch += kWorkers) {
        place.wait_until(/*full=*/false);
        CUDA_CHECK(cudaEventSynchronize(place.copied.get()));
        load(batch, place.inputs.get());
        place.mark(/*full=*/true);
    }
}

/// Does `work`, on the GPU too, and returns how long it takes.
template <class Work>
double milliseconds(Work work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    CUDA_CHECK(cudaDeviceSynchronize());
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Trains a layer of neurons on batches that the host decodes.");
    const int samples = static_cast<int>(options.integer("--samples", 8192, 1, 65'536, "samples in a batch"));
    const size_t steps = options.integer("--steps", 40, 1, 1000, "steps of training, one batch each");
    options.done();
    const size_t count = static_cast<size_t>(samples) * kNeurons, bytes = count * sizeof(float);
    require_gpu(2 * bytes + 2 * kNeurons * sizeof(float));

    // The states are drawn. From them follow the inputs, and from these the encoded samples (µ-law).
    std::mt19937 random(3);
    std::vector<float> drawn(steps * count), encoded(steps * count);
    for (size_t i = 0; i < drawn.size(); ++i) {
        const double z = drawn[i] = 0.68f * static_cast<float>(random() >> 8) / (1 << 24);
        encoded[i] = static_cast<float>(std::log1p(255 * (z + z * z * z)) / std::log(256));
    }
    const nvtx3::named_category loader{1, "loader"};
    const auto load = [&](size_t step, float* inputs) {
        nvtx3::scoped_range range{"load"};
        for (size_t i = 0; i < count; ++i)
            inputs[i] = static_cast<float>(std::expm1(encoded[step * count + i] * std::log(256)) / 255);
        nvtx3::mark("batch ready", loader, nvtx3::payload{step});
    };
    std::deque<Place> places;  // they stay where they are
    for (size_t worker = 0; worker < kWorkers; ++worker) places.emplace_back(count);
    const auto inputs = device_array<float>(count), states = device_array<float>(count),
               weights = device_array<float>(kNeurons), slopes = device_array<float>(kNeurons);
    const auto history = pinned_array<float>(steps * kNeurons);  // the weights after each step
    int rounds = kFewestRounds;
    const auto forward = [&] {
        nvtx3::scoped_range range{"forward"};
        settle<<<static_cast<int>((count + kThreads - 1) / kThreads), kThreads>>>(
            inputs.get(), static_cast<int>(count), rounds, states.get());
        CUDA_CHECK(cudaGetLastError());
    };
    const auto backward = [&] {
        nvtx3::scoped_range range{"backward"};
        find_slopes<<<kNeurons, 32>>>(states.get(), weights.get(), samples, slopes.get());
        CUDA_CHECK(cudaGetLastError());
    };
    const auto opt = [&] {
        nvtx3::scoped_range range{"opt"};
        descend<<<1, kNeurons>>>(slopes.get(), weights.get());
        CUDA_CHECK(cudaGetLastError());
    };

    {
        nvtx3::scoped_range range{"warm-up"};
        CUDA_CHECK(cudaMemset(inputs.get(), 0, bytes));
        CUDA_CHECK(cudaMemset(weights.get(), 0, kNeurons * sizeof(float)));
        forward();
        backward();
        opt();  // it changes nothing: states and weights are 0
        // A batch shall keep the GPU busy for half as long again as the workers need for one, all together.
        const auto load_all = [&] {
            std::vector<std::thread> workers;
            for (Place& place : places) workers.emplace_back(load, 0, place.inputs.get());
            for (std::thread& worker : workers) worker.join();
        };
        const double load_ms =
            std::min({milliseconds(load_all), milliseconds(load_all), milliseconds(load_all)}) / kWorkers;
        double forward_ms = 0;
        while (forward_ms < 10) {
            rounds *= 2;
            forward_ms = std::min(milliseconds(forward), milliseconds(forward));
        }
        rounds = std::max(kFewestRounds, static_cast<int>(rounds * (1.5 * load_ms / forward_ms)));
    }

    const double elapsed_ms = milliseconds([&] {
        nvtx3::scoped_range range{"train"};
        // TODO(learner): load in workers, copy from their places, and wait for nothing but the next batch.
        std::vector<float> batch(count);
        for (size_t step = 0; step < steps; ++step) {
            load(step, batch.data());
            CUDA_CHECK(cudaMemcpy(inputs.get(), batch.data(), bytes, cudaMemcpyHostToDevice));
            forward();
            backward();
            opt();
            CUDA_CHECK(cudaMemcpy(&history[step * kNeurons], weights.get(), kNeurons * sizeof(float),
                                  cudaMemcpyDeviceToHost));
        }
    });

    size_t wrong = 0;
    std::vector<double> expected(kNeurons);
    for (size_t step = 0; step < steps; ++step)
        for (size_t neuron = 0; neuron < kNeurons; ++neuron) {
            double sum = 0;
            for (size_t i = neuron; i < count; i += kNeurons) sum += drawn[step * count + i];
            expected[neuron] += kRate * (sum / samples - expected[neuron]);
            wrong += !(std::fabs(history[step * kNeurons + neuron] - expected[neuron]) <= 1e-5);
        }
    std::printf("%zu steps of %d samples, %d rounds each: %.2f ms\n", steps, samples, rounds, elapsed_ms);
    std::printf("weight 0: expected %.6f, found %.6f; %zu weights wrong on the way\n", expected[0],
                history[(steps - 1) * kNeurons], wrong);
    return wrong == 0 ? 0 : 1;
}
