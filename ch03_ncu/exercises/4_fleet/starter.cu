// Does the accounts of a fleet of lorries in the evening. From each place one road leads on, an hour long. A
// road can have a toll, by its class, and a filling station. For each lorry's drive of the coming week, the
// accounts say what its tolls cost and how much the fuel prices vary on the way. A depot has the tariff of
// its region, and a block computes the lorries of a depot.
//
// Symptom: the accounts take longer than the evening leaves for them.
// Task: find what costs the time, and repair it. The accounts stay as they are.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    ncu --launch-skip 1 --launch-count 1 --set full --import-source yes -f -o starter ./starter
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kWeek = 168;         // hours
constexpr int kRegions = 16;       // each has a tariff
constexpr float kRebate = 0.98f;   // what a toll costs of the same toll, had it come one earlier in the week
constexpr float kPrice = 1600.0f;  // of 1000 litres of fuel, in euros, and stations differ by a few
constexpr int kFree = 0;           // the class of the roads without a toll
constexpr unsigned kSeed = 112265;

/// What a fleet and its roads are like.
struct Fleet {
    int depot;     // lorries of a depot
    int convoy;    // lorries that drive together: neighbors in the tables
    int classes;   // of roads, each with its toll
    int tolls;     // one of so many roads has a toll
    int stations;  // one of so many roads has a filling station
};

Fleet fleet_of(std::mt19937& random) {
    return {8 << random() % 6, 2 << random() % 5, 256 << random() % 6, 1 << random() % 6, 1 << random() % 6};
}

/// The roads that leave the places, as arrays on the host or on the device.
struct Roads {
    const int* next;      // the place that the road leads to
    const int* classes;   // kFree if it has no toll
    const float* prices;  // of fuel; 0 if it has no filling station
};

/// One block per depot, one thread per lorry. Each place alone knows the next one.
__global__ void drive(Roads roads, const float* tariffs, int classes, int lorries, int hours, float* cost,
                      float* spread) {
    extern __shared__ float tariff[];  // of the depot's region: the toll of each class
#pragma unroll 8
    for (int i = threadIdx.x; i < classes; i += blockDim.x)
        tariff[i] = tariffs[blockIdx.x % kRegions * classes + i];
    __syncthreads();
    const int lorry = blockIdx.x * blockDim.x + threadIdx.x;
    if (lorry >= lorries) return;

    float tolls[kWeek], prices[kWeek];
    float sum_of_prices = 0;
    int paid = 0, stations = 0, at = lorry;
    for (int hour = 0; hour < hours; ++hour) {
        const int road = roads.classes[at];
        const float price = roads.prices[at];
        at = roads.next[at];
        if (road != kFree) tolls[paid++] = tariff[road];
        if (price > 0) {
            prices[stations++] = price;
            sum_of_prices += price;
        }
    }
    // With each toll that a lorry has paid in the week, those that follow get cheaper.
    float sum_of_tolls = 0;
    for (int i = paid - 1; i >= 0; --i) sum_of_tolls = tolls[i] + kRebate * sum_of_tolls;
    cost[lorry] = sum_of_tolls;
    // The mean is taken off before anything is squared, as sums of squares lose digits.
    float squares = 0;
    for (int i = 0; i < stations; ++i) {
        const float off = prices[i] - sum_of_prices / stations;
        squares += off * off;
    }
    spread[lorry] = stations > 0 ? sqrtf(squares / stations) : 0;
}

/// What the host expects of each lorry, in double precision.
struct Account {
    int at, stations = 0;
    double cost = 0, rebate = 1, off = 0, squares = 0;
    explicit Account(int lorry) : at(lorry) {}

    [[nodiscard]] double spread() const {
        const double mean = stations > 0 ? off / stations : 0;
        return stations > 0 ? std::sqrt(std::max(0.0, squares / stations - mean * mean)) : 0;
    }
};

std::vector<Account> expected_accounts(const Roads& roads, const float* tariffs, const Fleet& fleet,
                                       int lorries, int hours) {
    std::vector<Account> accounts;
    for (int lorry = 0; lorry < lorries; ++lorry) accounts.emplace_back(lorry);
    for (int first = 0; first < lorries; first += fleet.depot)  // a depot at a time: the caches hold it
        for (int hour = 0; hour < hours; ++hour)
            for (int lorry = first; lorry < std::min(lorries, first + fleet.depot); ++lorry) {
                Account& account = accounts[lorry];
                const int at = account.at, road = roads.classes[at];
                if (road != kFree) {
                    const int region = first / fleet.depot % kRegions;
                    account.cost += account.rebate * tariffs[region * fleet.classes + road];
                    account.rebate *= kRebate;
                }
                if (roads.prices[at] > 0) {
                    const double off = double{roads.prices[at]} - kPrice;
                    ++account.stations;
                    account.off += off;
                    account.squares += off * off;
                }
                account.at = roads.next[at];
            }
    return accounts;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Does the accounts of a fleet of lorries in the evening.");
    const int lorries = static_cast<int>(options.integer("--lorries", 1'000'032, 32, 6'400'000,
                                                         "lorries, less what's over 32 times a number")) /
                        32 * 32;
    const int hours = static_cast<int>(options.integer("--hours", kWeek, 1, kWeek, "hours of the drive"));
    const auto seed = static_cast<unsigned>(options.integer("--seed", kSeed, 0, 1'000'000, "of the fleet"));
    options.done();
    std::mt19937 random(seed);
    const Fleet fleet = fleet_of(random);
    const int depots = (lorries + fleet.depot - 1) / fleet.depot, stops = lorries / fleet.convoy;
    const size_t bytes = lorries * sizeof(float), of_tariff = fleet.classes * sizeof(float);
    require_gpu(5 * bytes + kRegions * of_tariff);

    const auto next = pinned_array<int>(lorries), classes = pinned_array<int>(lorries);
    const auto prices = pinned_array<float>(lorries);
    const auto cost = pinned_array<float>(lorries), spread = pinned_array<float>(lorries);
    const auto tariffs = pinned_array<float>(kRegions * fleet.classes);
    const auto uniform = [&random] { return static_cast<float>(random() >> 8) / (1 << 24); };
    for (int i = 0; i < kRegions * fleet.classes; ++i) tariffs[i] = 1 + 19 * uniform();
    // A stop has a place for each lorry of a convoy. From there the convoy drives to the next stop, in an
    // order that is drawn, and from the last to the first.
    std::vector<int> order(stops);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (int i = 0; i < stops; ++i) {
        const int here = order[i] * fleet.convoy, there = order[(i + 1) % stops] * fleet.convoy;
        const bool has_toll = random() % fleet.tolls == 0, has_station = random() % fleet.stations == 0;
        const int road = has_toll ? 1 + static_cast<int>(random() % (fleet.classes - 1)) : kFree;
        for (int lane = 0; lane < fleet.convoy; ++lane) {
            next[here + lane] = there + lane;
            classes[here + lane] = road;
            prices[here + lane] = has_station ? kPrice + 8 * uniform() - 4 : 0;
        }
    }
    const auto device_next = device_array<int>(lorries), device_classes = device_array<int>(lorries);
    const auto device_prices = device_array<float>(lorries);
    const auto device_cost = device_array<float>(lorries), device_spread = device_array<float>(lorries);
    const auto device_tariffs = device_array<float>(kRegions * fleet.classes);
    CUDA_CHECK(cudaMemcpy(device_next.get(), next.get(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_classes.get(), classes.get(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_prices.get(), prices.get(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_tariffs.get(), tariffs.get(), kRegions * of_tariff, cudaMemcpyHostToDevice));

    const auto do_accounts = [&](const char* name) {
        const nvtx3::scoped_range range{name};
        drive<<<depots, fleet.depot, of_tariff>>>(
            {device_next.get(), device_classes.get(), device_prices.get()}, device_tariffs.get(),
            fleet.classes, lorries, hours, device_cost.get(), device_spread.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    do_accounts("warm-up");
    CUDA_CHECK(cudaMemset(device_cost.get(), 0xFF, bytes));  // not a number
    CUDA_CHECK(cudaMemset(device_spread.get(), 0xFF, bytes));
    do_accounts("evening");
    CUDA_CHECK(cudaMemcpy(cost.get(), device_cost.get(), bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(spread.get(), device_spread.get(), bytes, cudaMemcpyDeviceToHost));

    const std::vector<Account> expected =
        expected_accounts({next.get(), classes.get(), prices.get()}, tariffs.get(), fleet, lorries, hours);
    int wrong_costs = 0, wrong_spreads = 0, shown = 0;
    for (int lorry = 0; lorry < lorries; ++lorry) {
        const Account& account = expected[lorry];
        const bool cost_is_right = std::fabs(cost[lorry] - account.cost) <= 1e-4 * account.cost;
        const bool spread_is_right = std::fabs(spread[lorry] - account.spread()) <= 0.01;
        if ((!cost_is_right || !spread_is_right) && wrong_costs + wrong_spreads == 0) shown = lorry;
        wrong_costs += !cost_is_right;
        wrong_spreads += !spread_is_right;
    }
    std::printf(
        "lorry %d: expected %.3f and %.3f, found %.3f and %.3f; %d costs and %d spreads of %d wrong\n", shown,
        expected[shown].cost, expected[shown].spread(), cost[shown], spread[shown], wrong_costs,
        wrong_spreads, lorries);
    return wrong_costs + wrong_spreads == 0 ? 0 : 1;
}
