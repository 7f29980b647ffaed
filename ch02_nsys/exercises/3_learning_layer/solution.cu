// Trains a layer of neurons. The samples are kept encoded; four threads decode batches while the GPU learns
// from earlier ones, and the weights are kept after every step.
//
// Right: there are so many places that the next batches are ready even while a heavy one is decoded, and
// training takes them in order.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx_mark.hpp"
#include "common/options.hpp"

namespace cg = cooperative_groups;

constexpr int kNeurons = 32, kThreads = 256;
constexpr size_t kWorkers = 4, kPlaces = 32;
constexpr size_t kMeasured = 4;              // threads by which the GPU's work is sized
constexpr size_t kSlice = 1024;              // numbers that are decoded together, for the cache's sake
constexpr uint32_t kCodes = 32, kKeep = 29;  // rounds of the lightest code; factor of a weight per step

/// A linear congruential generator: it codes numbers, and is the neurons' response.
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
constexpr Generator kCode{1664525, 1013904223}, kResponse{22695477, 12345};

__global__ void activate(const uint32_t* inputs, int count, int rounds, Generator response,
                         uint32_t* states) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= count) return;
    uint32_t x = inputs[i];
    for (int round = 0; round < rounds; ++round) x = response(x);
    states[i] = x;
}

/// One warp per neuron.
__global__ void add_up(const uint32_t* states, int samples, uint32_t* slopes) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    uint32_t sum = 0;
    for (int i = threadIdx.x; i < samples; i += 32) sum += states[i * kNeurons + blockIdx.x];
    sum = cg::reduce(warp, sum, cg::plus<uint32_t>());
    if (threadIdx.x == 0) slopes[blockIdx.x] = sum;
}

__global__ void update(const uint32_t* slopes, uint32_t* weights) {
    weights[threadIdx.x] = kKeep * weights[threadIdx.x] + slopes[threadIdx.x];
}

/// The samples as they are kept: each batch is encoded by some number of rounds.
struct Archive {
    std::vector<uint32_t> rounds, encoded;

    Archive(size_t batches, size_t count) : rounds(batches), encoded(batches * count) {
        std::mt19937 random(258);
        for (uint32_t& its : rounds) {
            its = kCodes;
            for (auto bits = static_cast<uint32_t>(random()) | 32; bits % 2 == 0; bits /= 2) its *= 2;
        }
        for (uint32_t& number : encoded) number = static_cast<uint32_t>(random());
    }
};

/// Batches between the workers that decode them and the thread that trains, which takes them in order.
class Queue {
  public:
    Queue(size_t batches, size_t count)
        : batches_(batches), places_(kPlaces, std::vector<uint32_t>(count)), is_ready_(batches) {}

    [[nodiscard]] uint32_t* place(size_t batch) { return places_[batch % kPlaces].data(); }

    /// The next batch that no worker has begun, once there is a place for it; `batches` if there is none.
    size_t begin() {
        std::unique_lock lock(mutex_);
        const size_t batch = std::min(begun_, batches_);
        if (batch < batches_) ++begun_;
        changed_.wait(lock, [&] { return batch < taken_ + kPlaces || batch == batches_; });
        return batch;
    }
    void end(size_t batch) {
        const std::lock_guard lock(mutex_);
        is_ready_[batch] = true;
        changed_.notify_all();
    }
    void wait_for(size_t batch) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return is_ready_[batch]; });
    }
    /// The batch has been copied, and its place may be filled again.
    void take(size_t batch) {
        const std::lock_guard lock(mutex_);
        taken_ = batch + 1;
        changed_.notify_all();
    }
    /// For the account: so many numbers more have been decoded.
    void count(size_t numbers) {
        const std::lock_guard lock(mutex_);
        decoded_ += numbers;
    }
    [[nodiscard]] size_t decoded() const { return decoded_; }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    size_t batches_, begun_ = 0, taken_ = 0, decoded_ = 0;
    std::vector<std::vector<uint32_t>> places_;
    std::vector<bool> is_ready_;
};

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
    const int samples = static_cast<int>(options.integer("--samples", 4096, 1, 65'536, "samples in a batch"));
    const size_t steps = options.integer("--steps", 64, 1, 1000, "steps of training, one batch each");
    options.done();
    const size_t count = static_cast<size_t>(samples) * kNeurons, bytes = count * sizeof(uint32_t);
    require_gpu(2 * bytes + 2 * kNeurons * sizeof(uint32_t));

    const Archive archive(steps, count);
    Queue queue(steps, count);
    const nvtx3::named_category loader{1, "loader"};
    const auto decode = [&](size_t batch, uint32_t rounds) {
        const uint32_t* const encoded = &archive.encoded[batch * count];
        uint32_t* const numbers = queue.place(batch);
        for (size_t first = 0; first < count; first += kSlice) {
            const size_t last = std::min(first + kSlice, count);
            std::copy(encoded + first, encoded + last, numbers + first);
            for (uint32_t round = 0; round < rounds; ++round)
                for (size_t i = first; i < last; ++i) numbers[i] = kCode(numbers[i]);
            queue.count(last - first);
        }
    };
    const auto load = [&](size_t batch) {
        nvtx3::scoped_range range{"load"};
        decode(batch, archive.rounds[batch]);
        nvtx3::mark("batch ready", loader, nvtx3::payload{batch});
    };
    const auto inputs = device_array<uint32_t>(count), states = device_array<uint32_t>(count),
               weights = device_array<uint32_t>(kNeurons), slopes = device_array<uint32_t>(kNeurons);
    std::vector<uint32_t> history(steps * kNeurons);  // the weights after each step
    int rounds = 1;
    const auto forward = [&] {
        nvtx3::scoped_range range{"forward"};
        activate<<<static_cast<int>((count + kThreads - 1) / kThreads), kThreads>>>(
            inputs.get(), static_cast<int>(count), rounds, kResponse, states.get());
        CUDA_CHECK(cudaGetLastError());
    };
    const auto backward = [&] {
        nvtx3::scoped_range range{"backward"};
        add_up<<<kNeurons, 32>>>(states.get(), samples, slopes.get());
        CUDA_CHECK(cudaGetLastError());
    };
    const auto opt = [&] {
        nvtx3::scoped_range range{"opt"};
        update<<<1, kNeurons>>>(slopes.get(), weights.get());
        CUDA_CHECK(cudaGetLastError());
    };

    {
        nvtx3::scoped_range range{"warm-up"};
        CUDA_CHECK(cudaMemset(inputs.get(), 0, bytes));
        CUDA_CHECK(cudaMemset(weights.get(), 0, kNeurons * sizeof(uint32_t)));
        forward();
        backward();
        opt();
        CUDA_CHECK(cudaMemset(weights.get(), 0, kNeurons * sizeof(uint32_t)));
        // On any machine a step takes the GPU 1.5 times as long as four threads take for a batch, on average.
        double codes = 0, forward_ms = 0;
        for (const uint32_t its : archive.rounds) codes += static_cast<double>(its) / kCodes / steps;
        const auto decode_some = [&] {
            std::vector<std::thread> workers;
            for (size_t w = 0; w < kMeasured; ++w) workers.emplace_back(decode, w % steps, kCodes);
            for (std::thread& worker : workers) worker.join();
        };
        const double code_ms =
            std::min({milliseconds(decode_some), milliseconds(decode_some), milliseconds(decode_some)});
        while (forward_ms < 10) {
            rounds *= 2;
            forward_ms = std::min(milliseconds(forward), milliseconds(forward));
        }
        rounds = std::max(1, static_cast<int>(rounds * (1.5 * codes * code_ms / kMeasured / forward_ms)));
    }

    const size_t decoded_before = queue.decoded();
    const double elapsed_ms = milliseconds([&] {
        nvtx3::scoped_range range{"train"};
        std::vector<std::thread> workers;
        for (size_t worker = 0; worker < kWorkers; ++worker)
            workers.emplace_back([&] {
                for (size_t batch; (batch = queue.begin()) < steps; queue.end(batch)) load(batch);
            });
        for (size_t step = 0; step < steps; ++step) {
            {
                nvtx3::scoped_range waiting{"next"};
                queue.wait_for(step);
            }
            {
                nvtx3::scoped_range copying{"copy"};
                CUDA_CHECK(cudaMemcpy(inputs.get(), queue.place(step), bytes, cudaMemcpyHostToDevice));
            }
            queue.take(step);
            forward();
            backward();
            opt();
            nvtx3::scoped_range saving{"save"};
            CUDA_CHECK(cudaMemcpy(&history[step * kNeurons], weights.get(), kNeurons * sizeof(uint32_t),
                                  cudaMemcpyDeviceToHost));
        }
        for (std::thread& worker : workers) worker.join();
    });

    size_t wrong = 0;
    std::vector<uint32_t> expected(kNeurons);
    const Generator response = kResponse.repeated(rounds);
    for (size_t step = 0; step < steps; ++step) {
        const Generator code = kCode.repeated(archive.rounds[step]);
        for (size_t neuron = 0; neuron < kNeurons; ++neuron) {
            expected[neuron] *= kKeep;
            for (size_t i = neuron; i < count; i += kNeurons)
                expected[neuron] += response(code(archive.encoded[step * count + i]));
            wrong += history[step * kNeurons + neuron] != expected[neuron];
        }
    }
    std::printf("%zu steps of %d samples, %d rounds each, %zu numbers decoded: %.2f ms\n", steps, samples,
                rounds, queue.decoded() - decoded_before, elapsed_ms);
    std::printf("weight 0: expected %u, found %u; %zu weights wrong on the way\n", expected[0],
                history[(steps - 1) * kNeurons], wrong);
    return wrong == 0 ? 0 : 1;
}
