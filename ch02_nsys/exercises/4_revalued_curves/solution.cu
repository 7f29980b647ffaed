// Values a table of curves on the GPU. In each round an exchange reports new curves for its instruments; they
// go into the host's table and from there to the GPU's, where every curve is valued again for each desk of
// traders, in scenarios of its own.
//
// Right: rows that changed go over in few copies, together with unchanged ones between them.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr size_t kPoints = 64;    // of a curve, which is a row of the table
constexpr size_t kScenarios = 4;  // of a desk
constexpr int kThreads = 256;
constexpr size_t kBridge =
    256;  // unchanged rows that are sent along: 64 KiB, about what a copy costs to start

/// How the market has grown, and who asks for values.
struct Market {
    size_t exchanges;  // that report; one does in each round
    size_t lot;        // instruments of one exchange that are neighbors in the table
    size_t sectors;    // an exchange reports sector by sector, and in the order of the table in each
    size_t desks;      // of traders
    size_t hours;      // until the last curve ends
};

Market market_of(std::mt19937& random) {
    const size_t exchanges = 2 + random() % 12, lot = size_t{1} << random() % 8;
    const size_t sectors = size_t{1} << random() % 11, desks = size_t{1} << random() % 7;
    return {exchanges, lot, sectors, desks, size_t{16} << random() % 13};
}

/// What an exchange reports: new curves for its instruments, and how much each point weighs in each scenario
/// of each desk.
struct Report {
    std::vector<uint32_t> instruments, curves, weights;
};

/// Rows that are sent together.
struct Span {
    size_t first, last;
};

/// The points of a curve, weighed, with the interest of each hour. All is modulo 2^32.
__host__ __device__ uint32_t value_of(const uint32_t* curve, uint32_t hours, const uint32_t* weights) {
    uint32_t value = 0;
    for (size_t p = 0; p < kPoints; ++p) value += curve[p] * weights[p];
    for (uint32_t hour = 0; hour < hours; ++hour)
        value += static_cast<uint32_t>((uint64_t{value} * curve[0]) >> 32);
    return value;
}

/// One thread per curve and scenario. A scenario's values are contiguous.
__global__ void value_curves(const uint32_t* table, const uint32_t* hours, size_t rows,
                             const uint32_t* weights, uint32_t* values) {
    const size_t row = blockIdx.x * size_t{kThreads} + threadIdx.x;
    if (row >= rows) return;
    values[blockIdx.y * rows + row] =
        value_of(&table[row * kPoints], hours[row], &weights[blockIdx.y * kPoints]);
}

/// One block per scenario.
__global__ void add_values(const uint32_t* values, size_t rows, uint32_t* totals) {
    uint32_t sum = 0;
    for (size_t row = threadIdx.x; row < rows; row += kThreads) sum += values[blockIdx.x * rows + row];
    atomicAdd(&totals[blockIdx.x], sum);
}

/// The changed rows, in the order of the table.
std::vector<Span> spans_of(const std::vector<char>& changed) {
    std::vector<Span> spans;
    for (size_t row = 0; row < changed.size(); ++row) {
        if (!changed[row]) continue;
        if (!spans.empty() && row - spans.back().last <= kBridge + 1)
            spans.back().last = row;
        else
            spans.push_back({row, row});
    }
    return spans;
}

/// The row of an instrument. Reports follow the table in each sector, so the search goes on from `last`.
size_t row_of(uint32_t instrument, const std::vector<uint32_t>& listing, size_t last) {
    const auto from = listing.begin() + last;
    auto found = std::find(from, listing.end(), instrument);
    if (found == listing.end()) found = std::find(listing.begin(), from, instrument);
    return found - listing.begin();
}

/// Puts the curves of a report into a table on the host, and notes the rows that it changes.
void enter(const Report& report, const std::vector<uint32_t>& listing, uint32_t* table,
           std::vector<char>& changed) {
    size_t row = 0;
    for (size_t i = 0; i < report.instruments.size(); ++i) {
        row = row_of(report.instruments[i], listing, row);
        std::copy_n(&report.curves[i * kPoints], kPoints, &table[row * kPoints]);
        changed[row] = 1;
    }
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Values a table of curves again after each report of an exchange.");
    const size_t rounds = options.integer("--rounds", 4, 1, 100, "reports, one a round");
    const size_t listed =
        options.integer("--listed", 1000, 1, 10'000, "instruments of an exchange, at least");
    options.done();

    std::mt19937 random(577);
    const Market market = market_of(random);
    const size_t rows = market.exchanges * (listed + random() % (listed / 4 + 1));
    const size_t scenarios = market.desks * kScenarios;
    require_gpu((rows * (kPoints + kScenarios + 1) + kScenarios * (kPoints + 1)) * sizeof(uint32_t));
    const auto fill = [&](uint32_t* numbers, size_t count) {
        for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<uint32_t>(random());
    };
    std::vector<uint32_t> listing(rows), hours(rows);  // the number of a row's instrument, and its term
    for (size_t row = 0; row < rows; ++row) {
        listing[row] = static_cast<uint32_t>(100 * row + random() % 100);
        hours[row] = static_cast<uint32_t>(random() % market.hours);
    }
    std::shuffle(listing.begin(), listing.end(), random);
    const auto table = pinned_array<uint32_t>(rows * kPoints);
    fill(table.get(), rows * kPoints);
    std::vector<uint32_t> replayed(table.get(), table.get() + rows * kPoints);
    std::vector<Report> reports(rounds);
    for (Report& report : reports) {
        // Instruments were admitted from all exchanges in turn, a lot at a time.
        const size_t exchange = random() % market.exchanges;
        std::vector<size_t> listed_here;
        for (size_t row = 0; row < rows; ++row)
            if (row / market.lot % market.exchanges == exchange) listed_here.push_back(row);
        for (size_t sector = 0; sector < market.sectors; ++sector)
            for (size_t i = sector; i < listed_here.size(); i += market.sectors)
                report.instruments.push_back(listing[listed_here[i]]);
        report.curves.resize(listed_here.size() * kPoints);
        fill(report.curves.data(), report.curves.size());
        report.weights.resize(scenarios * kPoints);
        fill(report.weights.data(), report.weights.size());
    }

    const Stream owner = make_stream(cudaStreamNonBlocking);
    const cudaStream_t stream = owner.get();
    const auto device_table = device_array<uint32_t>(rows * kPoints);
    const auto device_hours = device_array<uint32_t>(rows);
    const auto weights = device_array<uint32_t>(kScenarios * kPoints);
    const auto totals = device_array<uint32_t>(kScenarios);
    std::vector<uint32_t> found(rounds * scenarios);
    std::vector<char> changed(rows);

    /// Values the GPU's table with the weights of a desk.
    const auto value = [&](const uint32_t* desk_weights, uint32_t* desk_totals) {
        const auto values = device_array<uint32_t>(rows * kScenarios);
        CUDA_CHECK(cudaMemcpyAsync(weights.get(), desk_weights, kScenarios * kPoints * sizeof(uint32_t),
                                   cudaMemcpyHostToDevice, stream));
        CUDA_CHECK(cudaMemsetAsync(totals.get(), 0, kScenarios * sizeof(uint32_t), stream));
        const dim3 grid(static_cast<unsigned>((rows + kThreads - 1) / kThreads), kScenarios);
        value_curves<<<grid, kThreads, 0, stream>>>(device_table.get(), device_hours.get(), rows,
                                                    weights.get(), values.get());
        CUDA_CHECK(cudaGetLastError());
        add_values<<<kScenarios, kThreads, 0, stream>>>(values.get(), rows, totals.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemcpyAsync(desk_totals, totals.get(), kScenarios * sizeof(uint32_t),
                                   cudaMemcpyDeviceToHost, stream));
        CUDA_CHECK(cudaStreamSynchronize(stream));
    };
    {
        nvtx3::scoped_range range{"warm-up"};
        CUDA_CHECK(cudaMemcpyAsync(device_table.get(), table.get(), rows * kPoints * sizeof(uint32_t),
                                   cudaMemcpyHostToDevice, stream));
        CUDA_CHECK(cudaMemcpyAsync(device_hours.get(), hours.data(), rows * sizeof(uint32_t),
                                   cudaMemcpyHostToDevice, stream));
        value(reports[0].weights.data(), found.data());
    }

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"rounds"};
        for (size_t round = 0; round < rounds; ++round) {
            const Report& report = reports[round];
            std::fill(changed.begin(), changed.end(), char{0});
            enter(report, listing, table.get(), changed);
            for (const Span& span : spans_of(changed))
                CUDA_CHECK(cudaMemcpyAsync(&device_table[span.first * kPoints], &table[span.first * kPoints],
                                           (span.last - span.first + 1) * kPoints * sizeof(uint32_t),
                                           cudaMemcpyHostToDevice, stream));
            for (size_t desk = 0; desk < market.desks; ++desk)
                value(&report.weights[desk * kScenarios * kPoints],
                      &found[round * scenarios + desk * kScenarios]);
        }
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    size_t wrong = 0;
    for (size_t round = 0; round < rounds; ++round) {
        enter(reports[round], listing, replayed.data(), changed);
        for (size_t s = 0; s < scenarios; ++s) {
            uint32_t expected = 0;
            for (size_t row = 0; row < rows; ++row)
                expected +=
                    value_of(&replayed[row * kPoints], hours[row], &reports[round].weights[s * kPoints]);
            if (found[round * scenarios + s] != expected && wrong++ == 0)
                std::printf("round %zu, scenario %zu: expected total %u, found %u\n", round, s, expected,
                            found[round * scenarios + s]);
        }
    }
    std::printf("%zu rounds: %.2f ms\n", rounds, elapsed.count());
    std::printf("wrong totals: expected 0, found %zu of %zu\n", wrong, found.size());
    return wrong == 0 ? 0 : 1;
}
