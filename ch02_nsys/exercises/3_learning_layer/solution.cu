// Trains a layer of neurons. The samples are kept encoded, in volumes; four threads decode the batches of a
// volume while the GPU learns from earlier ones. The weights are kept after every step, and from time to time
// the host notes how the neurons' states are spread.
//
// Right: there are so many places that the next batches are ready even while a heavy one is decoded, and
// training takes them in order.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <algorithm>
#include <array>
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
constexpr size_t kMeasured = 4, kMeasuredSlice = 1024;  // threads by which the GPU's work is sized
constexpr uint32_t kCodes = 256, kKeep = 29;            // rounds that they do; factor of a weight per step

/// What training is like on an archive.
struct Training {
    uint32_t lightest;  ///< rounds of the lightest code
    int doublings;      ///< of that, at most: half of the batches have none, a quarter has one, and so on
    int quarters;       ///< of the time that four threads should take for a batch: the GPU's for a step
    size_t slice;       ///< numbers that are decoded together, for the cache's sake
    size_t volume;      ///< batches that are kept together
    size_t judged, steps_per_look;  ///< states that the host sorts, and how often
};

Training training_of(std::mt19937& random) {
    const auto power = [&random](int low, int high) { return 1u << (low + random() % (high - low + 1)); };
    const uint32_t lightest = power(2, 6);
    const int doublings = static_cast<int>(random() % 6), quarters = 1 + static_cast<int>(random() % 8);
    return {lightest, doublings, quarters, power(4, 13), power(3, 6), power(6, 14), power(0, 4)};
}

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

    Archive(size_t batches, size_t count, const Training& training, std::mt19937& random)
        : rounds(batches), encoded(batches * count) {
        const uint32_t heaviest = 1u << training.doublings;
        for (uint32_t& its : rounds) {
            its = training.lightest;
            for (auto bits = static_cast<uint32_t>(random()) | heaviest; bits % 2 == 0; bits /= 2) its *= 2;
        }
        for (uint32_t& number : encoded) number = static_cast<uint32_t>(random());
    }
};

/// Batches between the workers that decode them and the thread that trains, which takes them in order.
class Queue {
  public:
    Queue(size_t batches, size_t count)
        : places_(kPlaces, std::vector<uint32_t>(count)), is_ready_(batches) {}

    [[nodiscard]] uint32_t* place(size_t batch) { return places_[batch % kPlaces].data(); }

    /// From now on batches before `last` may be begun.
    void open(size_t last) {
        const std::lock_guard lock(mutex_);
        last_ = last;
    }
    /// The next batch that no worker has begun, once there is a place for it; `last` if there is none.
    size_t begin() {
        std::unique_lock lock(mutex_);
        const size_t batch = std::min(begun_, last_);
        if (batch < last_) ++begun_;
        changed_.wait(lock, [&] { return batch < taken_ + kPlaces || batch == last_; });
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
    size_t last_ = 0, begun_ = 0, taken_ = 0, decoded_ = 0;
    std::vector<std::vector<uint32_t>> places_;
    std::vector<bool> is_ready_;
};

using Quartiles = std::array<uint32_t, 3>;

/// Sorts the states.
Quartiles quartiles_of(std::vector<uint32_t>& states) {
    std::sort(states.begin(), states.end());
    return {states[states.size() / 4], states[states.size() / 2], states[states.size() * 3 / 4]};
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
    const int samples = static_cast<int>(options.integer("--samples", 4096, 1, 65'536, "samples in a batch"));
    const size_t steps = options.integer("--steps", 64, kMeasured, 1000, "steps of training, one batch each");
    const auto seed =
        static_cast<unsigned>(options.integer("--seed", 245'928, 0, 1'000'000, "of the archive"));
    options.done();
    const size_t count = static_cast<size_t>(samples) * kNeurons, bytes = count * sizeof(uint32_t);
    require_gpu(2 * bytes + 2 * kNeurons * sizeof(uint32_t));

    std::mt19937 random(seed);
    Training training = training_of(random);
    training.judged = std::min(training.judged, count);
    const Archive archive(steps, count, training, random);
    Queue queue(steps, count);
    const nvtx3::named_category loader{1, "loader"};
    const auto decode = [&](size_t batch, uint32_t rounds, size_t slice) {
        const uint32_t* const encoded = &archive.encoded[batch * count];
        uint32_t* const numbers = queue.place(batch);
        for (size_t first = 0; first < count; first += slice) {
            const size_t last = std::min(first + slice, count);
            std::copy(encoded + first, encoded + last, numbers + first);
            for (uint32_t round = 0; round < rounds; ++round)
                for (size_t i = first; i < last; ++i) numbers[i] = kCode(numbers[i]);
            queue.count(last - first);
        }
    };
    const auto load = [&](size_t batch) {
        nvtx3::scoped_range range{"load"};
        decode(batch, archive.rounds[batch], training.slice);
        nvtx3::mark("batch ready", loader, nvtx3::payload{batch});
    };
    const auto inputs = device_array<uint32_t>(count), states = device_array<uint32_t>(count),
               weights = device_array<uint32_t>(kNeurons), slopes = device_array<uint32_t>(kNeurons);
    std::vector<uint32_t> history(steps * kNeurons);  // the weights after each step
    std::vector<uint32_t> judged(training.judged);
    std::vector<Quartiles> quartiles;
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
    const auto judge = [&] {
        nvtx3::scoped_range range{"judge"};
        CUDA_CHECK(cudaMemcpy(judged.data(), states.get(), judged.size() * sizeof(uint32_t),
                              cudaMemcpyDeviceToHost));
        quartiles.push_back(quartiles_of(judged));
    };

    {
        nvtx3::scoped_range range{"warm-up"};
        CUDA_CHECK(cudaMemset(inputs.get(), 0, bytes));
        CUDA_CHECK(cudaMemset(weights.get(), 0, kNeurons * sizeof(uint32_t)));
        forward();
        backward();
        opt();
        CUDA_CHECK(cudaMemset(weights.get(), 0, kNeurons * sizeof(uint32_t)));
        // On any machine a step takes the GPU that share of what four threads should take, on average.
        double codes = 0, forward_ms = 0;
        for (const uint32_t its : archive.rounds) codes += static_cast<double>(its) / kCodes / steps;
        const auto decode_some = [&] {
            std::vector<std::thread> workers;
            for (size_t w = 0; w < kMeasured; ++w) workers.emplace_back(decode, w, kCodes, kMeasuredSlice);
            for (std::thread& worker : workers) worker.join();
        };
        const double code_ms =
            std::min({milliseconds(decode_some), milliseconds(decode_some), milliseconds(decode_some)});
        while (forward_ms < 10) {
            rounds *= 2;
            forward_ms = std::min(milliseconds(forward), milliseconds(forward));
        }
        rounds = std::max(1, static_cast<int>(rounds * (training.quarters / 4.0 * codes * code_ms /
                                                        kMeasured / forward_ms)));
    }

    const size_t decoded_before = queue.decoded();
    const double elapsed_ms = milliseconds([&] {
        nvtx3::scoped_range range{"train"};
        for (size_t first = 0; first < steps; first += training.volume) {
            nvtx3::scoped_range opened{"volume"};
            const size_t last = std::min(first + training.volume, steps);
            queue.open(last);
            std::vector<std::thread> workers;
            for (size_t worker = 0; worker < kWorkers; ++worker)
                workers.emplace_back([&] {
                    for (size_t batch; (batch = queue.begin()) < last; queue.end(batch)) load(batch);
                });
            for (size_t step = first; step < last; ++step) {
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
                {
                    nvtx3::scoped_range saving{"save"};
                    CUDA_CHECK(cudaMemcpy(&history[step * kNeurons], weights.get(),
                                          kNeurons * sizeof(uint32_t), cudaMemcpyDeviceToHost));
                }
                if (step % training.steps_per_look == 0) judge();
            }
            for (std::thread& worker : workers) worker.join();
        }
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
        if (step % training.steps_per_look != 0) continue;
        for (size_t i = 0; i < judged.size(); ++i)
            judged[i] = response(code(archive.encoded[step * count + i]));
        wrong += quartiles[step / training.steps_per_look] != quartiles_of(judged);
    }
    std::printf("%zu steps of %d samples, %d rounds each, %zu numbers decoded: %.2f ms\n", steps, samples,
                rounds, queue.decoded() - decoded_before, elapsed_ms);
    std::printf("weight 0: expected %u, found %u; %zu weights and quartiles wrong on the way\n", expected[0],
                history[(steps - 1) * kNeurons], wrong);
    return wrong == 0 ? 0 : 1;
}
