// A mill on one GPU grinds batches of grain, and a bakery on another makes loaves of them. Two customers
// order at the same time: a hotel a few batches, and a village many. All batches are of the same size.
//
// Symptom: all loaves are right. In the morning a batch is over at the bakery soon; later each takes many
// times as long to get there.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "common/check.cuh"
#include "common/gpus.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kMill = 0, kBakery = 1;  // the GPUs
constexpr int kThreads = 256, kSacks = 2, kMillSteps = 64, kBakeSteps = 64;

/// `steps` steps of x = 1664525 x + 1013904223, modulo 2^32.
__host__ __device__ unsigned mixed(unsigned x, int steps) {
    for (int step = 0; step < steps; ++step) x = 1664525 * x + 1013904223;
    return x;
}

__host__ __device__ unsigned grain(size_t i, unsigned batch) {
    return static_cast<unsigned>(i) ^ (batch * 2654435761u);
}

__global__ void grind(unsigned* flour, size_t count, unsigned batch) {
    const size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x;
    if (i < count) flour[i] = mixed(grain(i, batch), kMillSteps);
}

__global__ void bake(unsigned* loaves, const unsigned* flour, size_t count) {
    const size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x;
    if (i < count) loaves[i] = mixed(loaves[i] + flour[i], kBakeSteps);
}

/// The road between mill and bakery: while it lives, each GPU reaches the other's memory.
class Road {
  public:
    Road() {
        for (const int device : {kMill, kBakery}) {
            CUDA_CHECK(cudaSetDevice(device));
            expect(cudaDeviceEnablePeerAccess(1 - device, 0), cudaErrorPeerAccessAlreadyEnabled);
        }
    }
    ~Road() {
        for (const int device : {kMill, kBakery}) {  // nothing may be on its way
            CUDA_CHECK(cudaSetDevice(device));
            CUDA_CHECK(cudaDeviceSynchronize());
        }
        for (const int device : {kMill, kBakery}) {
            CUDA_CHECK(cudaSetDevice(device));
            expect(cudaDeviceDisablePeerAccess(1 - device), cudaErrorPeerAccessNotEnabled);
        }
    }
    Road(const Road&) = delete;
    Road& operator=(const Road&) = delete;

  private:
    static void expect(cudaError_t status, cudaError_t harmless) {
        if (status != harmless) CUDA_CHECK(status);
        (void)cudaGetLastError();  // it's kept as the last error
    }
};

/// Room for a batch on both sides of the road, and how far the batch in it is.
struct Sack {
    std::unique_ptr<unsigned[], DeviceFree> at_mill, at_bakery;
    Event ground, carried, baked;
};

/// What one customer has ordered: it needs the road from its first batch to its last.
class Order {
  public:
    Order(size_t count, int batches, unsigned* loaves, unsigned* receipts)
        : count_(count), batches_(batches), loaves_(loaves), receipts_(receipts) {
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

    /// Has the next batch ground, carried over and baked. False if it was the last.
    bool go_on(cudaStream_t lorry) {
        const auto blocks = static_cast<unsigned>((count_ + kThreads - 1) / kThreads);
        Sack& sack = sacks_[next_ % kSacks];
        CUDA_CHECK(cudaSetDevice(kMill));
        CUDA_CHECK(cudaStreamWaitEvent(milling_.get(), sack.carried.get()));
        grind<<<blocks, kThreads, 0, milling_.get()>>>(sack.at_mill.get(), count_, next_);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaEventRecord(sack.ground.get(), milling_.get()));

        CUDA_CHECK(cudaStreamWaitEvent(lorry, sack.ground.get()));
        CUDA_CHECK(cudaStreamWaitEvent(lorry, sack.baked.get()));  // and so empty
        CUDA_CHECK(cudaMemcpyPeerAsync(sack.at_bakery.get(), kBakery, sack.at_mill.get(), kMill,
                                       count_ * sizeof(unsigned), lorry));
        CUDA_CHECK(cudaEventRecord(sack.carried.get(), lorry));

        CUDA_CHECK(cudaSetDevice(kBakery));
        CUDA_CHECK(cudaStreamWaitEvent(baking_.get(), sack.carried.get()));
        bake<<<blocks, kThreads, 0, baking_.get()>>>(loaves_, sack.at_bakery.get(), count_);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemcpyAsync(&receipts_[next_], loaves_, sizeof(unsigned), cudaMemcpyDeviceToHost,
                                   baking_.get()));
        CUDA_CHECK(cudaEventRecord(sack.baked.get(), baking_.get()));
        return ++next_ < static_cast<unsigned>(batches_);
    }

  private:
    const Road road_;
    size_t count_;
    int batches_;
    unsigned next_ = 0, *loaves_, *receipts_;
    Sack sacks_[kSacks];
    Stream milling_, baking_;
};

/// How many of a customer's loaves or receipts are wrong.
size_t wrong_in(const unsigned* loaves, const unsigned* receipts, size_t count, int batches) {
    // All steps of a sort are one: x = all * x + increment.
    const unsigned grind_plus = mixed(0, kMillSteps), grind_times = mixed(1, kMillSteps) - grind_plus;
    const unsigned bake_plus = mixed(0, kBakeSteps), bake_times = mixed(1, kBakeSteps) - bake_plus;
    size_t wrong = 0;
    for (size_t i = 0; i < count; ++i) {
        unsigned loaf = 0;
        for (int batch = 0; batch < batches; ++batch) {
            const unsigned flour = grind_times * grain(i, static_cast<unsigned>(batch)) + grind_plus;
            loaf = bake_times * (loaf + flour) + bake_plus;
            if (i == 0) wrong += receipts[batch] != loaf;
        }
        if (loaves[i] != loaf && ++wrong == 1)
            std::printf("loaf %zu: expected %u, found %u\n", i, loaf, loaves[i]);
    }
    return wrong;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Grinds on one GPU what is baked on another.");
    const auto count =
        static_cast<size_t>(options.integer("--grains", 16'777'216, 1, 67'108'864, "grains of a batch"));
    const int hotel_batches = static_cast<int>(options.integer("--hotel", 4, 1, 64, "batches for the hotel"));
    const int village_batches =
        static_cast<int>(options.integer("--village", 16, 1, 64, "batches for the village"));
    options.done();
    require_two_gpus();
    require_peer_access();
    for (const int device : {kMill, kBakery}) {
        CUDA_CHECK(cudaSetDevice(device));
        require_gpu(8 * count * sizeof(unsigned));
    }

    const int batches[] = {hotel_batches, village_batches};
    std::unique_ptr<unsigned[], DeviceFree> loaves[2];
    std::unique_ptr<unsigned[], PinnedFree> receipts[2];
    CUDA_CHECK(cudaSetDevice(kBakery));
    for (int customer = 0; customer < 2; ++customer) {
        loaves[customer] = device_array<unsigned>(count);
        receipts[customer] = pinned_array<unsigned>(static_cast<size_t>(batches[customer]));
    }
    CUDA_CHECK(cudaSetDevice(kMill));
    const Stream lorry = make_stream(cudaStreamNonBlocking);
    {
        nvtx3::scoped_range range{"warm-up"};
        Order order(count, 1, loaves[0].get(), receipts[0].get());
        order.go_on(lorry.get());
    }
    CUDA_CHECK(cudaSetDevice(kBakery));
    for (const auto& each : loaves) CUDA_CHECK(cudaMemset(each.get(), 0, count * sizeof(unsigned)));
    CUDA_CHECK(cudaDeviceSynchronize());
    std::unique_ptr<Order> orders[2];
    for (int customer = 0; customer < 2; ++customer)
        orders[customer] = std::make_unique<Order>(count, batches[customer], loaves[customer].get(),
                                                   receipts[customer].get());

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"day"};
        while (orders[0] || orders[1])
            for (std::unique_ptr<Order>& order : orders)
                if (order && !order->go_on(lorry.get())) order.reset();
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    size_t wrong = 0;
    std::vector<unsigned> found(count);
    for (int customer = 0; customer < 2; ++customer) {
        CUDA_CHECK(cudaMemcpy(found.data(), loaves[customer].get(), count * sizeof(unsigned),
                              cudaMemcpyDeviceToHost));
        wrong += wrong_in(found.data(), receipts[customer].get(), count, batches[customer]);
    }
    std::printf("%d batches of %zu grains: %.2f ms\n", batches[0] + batches[1], count, elapsed.count());
    std::printf("wrong loaves: expected 0, found %zu of %zu\n", wrong, 2 * count);
    return wrong == 0 ? 0 : 1;
}
