// A mill on one GPU grinds batches of grain, and a bakery on another makes loaves of them. Three customers
// order at the same time. All batches are of the same size.
//
// Right: the road is open all day, whichever orders come or go, so that flour goes from GPU to GPU without
// a detour.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/gpus.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kMill = 0, kBakery = 1;  // the GPUs
constexpr int kThreads = 256, kSacks = 2, kCustomers = 3, kSteps = 64;

/// What a batch needs. Of what has been baked by then, so many loaves are delivered.
struct Recipe {
    int mill_steps, bake_steps;
    size_t delivered;
};

/// What a day is like: from some turn on grain is ground finer, from some turn on bread is baked longer, and
/// from some turn on more than a sample of the loaves is delivered.
struct Day {
    unsigned factor;  // of a step
    int finer_from, finer, darker_from, darker, delivered_from;
    size_t delivered;

    [[nodiscard]] Recipe at(int turn) const {
        return {kSteps * (turn < finer_from ? 1 : finer), kSteps * (turn < darker_from ? 1 : darker),
                turn < delivered_from ? 1 : delivered};
    }
};

/// So many batches, one in `every` turns.
struct Customer {
    int batches, every;
};

Day day_of(size_t count, std::mt19937& random) {
    const auto turn = [&random] { return 2 + static_cast<int>(random() % 14); };
    const auto times = [&random] { return 1 << random() % 6; };
    return {static_cast<unsigned>(random()) / 8 * 8 + 5, turn(), times(), turn(), times(), turn(),
            std::max<size_t>(1, count >> random() % 4)};
}

/// `steps` steps of x = factor * x + 1, modulo 2^32.
__host__ __device__ unsigned mixed(unsigned x, unsigned factor, int steps) {
    for (int step = 0; step < steps; ++step) x = factor * x + 1;
    return x;
}

__host__ __device__ unsigned grain(size_t i, unsigned batch) {
    return static_cast<unsigned>(i) ^ (batch * 2654435761u);
}

__global__ void grind(unsigned* flour, size_t count, unsigned batch, unsigned factor, int steps) {
    const size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x;
    if (i < count) flour[i] = mixed(grain(i, batch), factor, steps);
}

__global__ void bake(unsigned* loaves, const unsigned* flour, size_t count, unsigned factor, int steps) {
    const size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x;
    if (i < count) loaves[i] = mixed(loaves[i] + flour[i], factor, steps);
}

/// The road between mill and bakery: while it's open, each GPU reaches the other's memory.
class Road {
  public:
    Road() {
        for (const int device : {kMill, kBakery}) {
            CUDA_CHECK(cudaSetDevice(device));
            const cudaError_t status = cudaDeviceEnablePeerAccess(1 - device, 0);
            was_open_ = status == cudaErrorPeerAccessAlreadyEnabled;
            if (!was_open_) CUDA_CHECK(status);
            (void)cudaGetLastError();  // it's kept as the last error
        }
    }
    ~Road() {
        if (was_open_) return;
        for (const int device : {kMill, kBakery}) {  // nothing may be on its way
            CUDA_CHECK(cudaSetDevice(device));
            CUDA_CHECK(cudaDeviceSynchronize());
        }
        for (const int device : {kMill, kBakery}) {
            CUDA_CHECK(cudaSetDevice(device));
            CUDA_CHECK(cudaDeviceDisablePeerAccess(1 - device));
        }
    }
    Road(const Road&) = delete;
    Road& operator=(const Road&) = delete;

  private:
    bool was_open_ = false;
};

/// Room for a batch on both sides of the road, and how far the batch in it is.
struct Sack {
    std::unique_ptr<unsigned[], DeviceFree> at_mill, at_bakery;
    Event ground, carried, baked;
};

/// What one customer has ordered.
class Order {
  public:
    Order(size_t count, int batches, unsigned* loaves, unsigned* delivered)
        : count_(count), batches_(batches), loaves_(loaves), delivered_(delivered) {
        for (Sack& sack : sacks_) {
            CUDA_CHECK(cudaSetDevice(kBakery));
            sack.at_bakery = device_array<unsigned>(count);
            sack.baked = make_event(cudaEventDisableTiming);
            CUDA_CHECK(cudaSetDevice(kMill));
            sack.at_mill = device_array<unsigned>(count);
            sack.ground = make_event(cudaEventDisableTiming);
            sack.carried = make_event(cudaEventDisableTiming);
        }
        milling_ = make_stream(cudaStreamNonBlocking);
        CUDA_CHECK(cudaSetDevice(kBakery));
        baking_ = make_stream(cudaStreamNonBlocking);
    }
    ~Order() { CUDA_CHECK(cudaStreamSynchronize(baking_.get())); }
    Order(const Order&) = delete;
    Order& operator=(const Order&) = delete;

    /// Has the next batch ground, carried over, baked and delivered. False if it was the last.
    bool go_on(const Recipe& recipe, unsigned factor, cudaStream_t lorry) {
        const auto blocks = static_cast<unsigned>((count_ + kThreads - 1) / kThreads);
        Sack& sack = sacks_[next_ % kSacks];
        CUDA_CHECK(cudaSetDevice(kMill));
        CUDA_CHECK(cudaStreamWaitEvent(milling_.get(), sack.carried.get()));
        grind<<<blocks, kThreads, 0, milling_.get()>>>(sack.at_mill.get(), count_, next_, factor,
                                                       recipe.mill_steps);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaEventRecord(sack.ground.get(), milling_.get()));

        CUDA_CHECK(cudaStreamWaitEvent(lorry, sack.ground.get()));
        CUDA_CHECK(cudaStreamWaitEvent(lorry, sack.baked.get()));  // and so empty
        CUDA_CHECK(cudaMemcpyPeerAsync(sack.at_bakery.get(), kBakery, sack.at_mill.get(), kMill,
                                       count_ * sizeof(unsigned), lorry));
        CUDA_CHECK(cudaEventRecord(sack.carried.get(), lorry));

        CUDA_CHECK(cudaSetDevice(kBakery));
        CUDA_CHECK(cudaStreamWaitEvent(baking_.get(), sack.carried.get()));
        bake<<<blocks, kThreads, 0, baking_.get()>>>(loaves_, sack.at_bakery.get(), count_, factor,
                                                     recipe.bake_steps);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemcpyAsync(delivered_, loaves_, recipe.delivered * sizeof(unsigned),
                                   cudaMemcpyDeviceToHost, baking_.get()));
        CUDA_CHECK(cudaEventRecord(sack.baked.get(), baking_.get()));
        return ++next_ < static_cast<unsigned>(batches_);
    }

  private:
    size_t count_;
    int batches_;
    unsigned next_ = 0, *loaves_, *delivered_;
    Sack sacks_[kSacks];
    Stream milling_, baking_;
};

/// How many of a customer's loaves are wrong, or were when they were delivered last.
size_t wrong_in(const unsigned* loaves, const unsigned* delivered, size_t count, const Customer& customer,
                const Day& day) {
    struct Step {  // All steps of a sort are one: x = times * x + plus.
        unsigned times, plus;
    };
    const auto all_of = [&day](int steps) {
        const unsigned plus = mixed(0, day.factor, steps);
        return Step{mixed(1, day.factor, steps) - plus, plus};
    };
    std::vector<Step> ground, baked;
    for (int batch = 0; batch < customer.batches; ++batch) {
        const Recipe recipe = day.at(batch * customer.every);
        ground.push_back(all_of(recipe.mill_steps));
        baked.push_back(all_of(recipe.bake_steps));
    }
    const size_t delivered_last = day.at((customer.batches - 1) * customer.every).delivered;
    size_t wrong = 0;
    for (size_t i = 0; i < count; ++i) {
        unsigned loaf = 0;
        for (int batch = 0; batch < customer.batches; ++batch) {
            const unsigned flour =
                ground[batch].times * grain(i, static_cast<unsigned>(batch)) + ground[batch].plus;
            loaf = baked[batch].times * (loaf + flour) + baked[batch].plus;
        }
        if (i < delivered_last) wrong += delivered[i] != loaf;
        if (loaves[i] != loaf && ++wrong == 1)
            std::printf("loaf %zu: expected %u, found %u\n", i, loaf, loaves[i]);
    }
    return wrong;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Grinds on one GPU what is baked on another.");
    const auto count =
        static_cast<size_t>(options.integer("--grains", 16'777'216, 1, 67'108'864, "grains of a batch"));
    const auto most =
        static_cast<unsigned>(options.integer("--batches", 16, 1, 64, "batches of a customer at most"));
    const auto seed = static_cast<unsigned>(options.integer("--seed", 896508, 0, 1'000'000, "of the day"));
    options.done();
    require_two_gpus();
    require_peer_access();
    for (const int device : {kMill, kBakery}) {
        CUDA_CHECK(cudaSetDevice(device));
        require_gpu((kSacks + 2) * kCustomers * count * sizeof(unsigned));
    }

    std::mt19937 random(seed);
    const Day day = day_of(count, random);
    std::vector<Customer> customers(kCustomers);
    for (Customer& customer : customers)
        customer = {1 + static_cast<int>(random() % most), 1 << random() % 3};
    std::sort(customers.begin(), customers.end(),
              [](const Customer& a, const Customer& b) { return a.batches > b.batches; });

    std::unique_ptr<unsigned[], DeviceFree> loaves[kCustomers];
    std::unique_ptr<unsigned[], PinnedFree> delivered[kCustomers];
    CUDA_CHECK(cudaSetDevice(kBakery));
    for (int i = 0; i < kCustomers; ++i) {
        loaves[i] = device_array<unsigned>(count);
        delivered[i] = pinned_array<unsigned>(day.delivered);
    }
    const Road road;  // for the whole day, whoever comes or goes
    CUDA_CHECK(cudaSetDevice(kMill));
    const Stream lorry = make_stream(cudaStreamNonBlocking);
    {
        nvtx3::scoped_range range{"warm-up"};
        Order order(count, 1, loaves[0].get(), delivered[0].get());
        order.go_on(day.at(0), day.factor, lorry.get());
    }
    CUDA_CHECK(cudaSetDevice(kBakery));
    for (const auto& each : loaves) CUDA_CHECK(cudaMemset(each.get(), 0, count * sizeof(unsigned)));
    CUDA_CHECK(cudaDeviceSynchronize());
    std::unique_ptr<Order> orders[kCustomers];
    for (int i = 0; i < kCustomers; ++i)
        orders[i] = std::make_unique<Order>(count, customers[i].batches, loaves[i].get(), delivered[i].get());

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"day"};
        for (int turn = 0, open = kCustomers; open > 0; ++turn)
            for (int i = 0; i < kCustomers; ++i) {
                if (!orders[i] || turn % customers[i].every != 0) continue;
                if (orders[i]->go_on(day.at(turn), day.factor, lorry.get())) continue;
                orders[i].reset();
                --open;
            }
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    int batches = 0;
    size_t wrong = 0;
    std::vector<unsigned> found(count);
    for (int i = 0; i < kCustomers; ++i) {
        CUDA_CHECK(
            cudaMemcpy(found.data(), loaves[i].get(), count * sizeof(unsigned), cudaMemcpyDeviceToHost));
        wrong += wrong_in(found.data(), delivered[i].get(), count, customers[i], day);
        batches += customers[i].batches;
    }
    std::printf("%d batches of %zu grains: %.2f ms\n", batches, count, elapsed.count());
    std::printf("wrong loaves: expected 0, found %zu of %zu\n", wrong, kCustomers * count);
    return wrong == 0 ? 0 : 1;
}
