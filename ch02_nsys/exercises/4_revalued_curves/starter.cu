// Values a table of curves on the GPU. In each round an exchange reports new curves for its instruments; they
// go into the host's table and from there to the GPU's, where every curve is valued again in all scenarios.
//
// Symptom: the answers are right, and a round takes far longer than the operator expects of so small a table.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr size_t kPoints = 64;  // of a curve, which is a row of the table
constexpr int kThreads = 256;
constexpr size_t kBridge = 6;  // unchanged rows that are sent along, rather than begin another copy

/// What an exchange reports: new curves for rows of the table, and how much each point weighs in each
/// scenario.
struct Report {
    std::vector<size_t> rows;
    std::vector<uint32_t> curves, weights;
};

/// Rows that are sent together.
struct Span {
    size_t first, last;
};

/// One thread per curve and scenario. A scenario's values are contiguous.
__global__ void value_curves(const uint32_t* table, size_t rows, const uint32_t* weights, uint32_t* values) {
    const size_t row = blockIdx.x * size_t{kThreads} + threadIdx.x;
    if (row >= rows) return;
    uint32_t value = 0;
    for (size_t p = 0; p < kPoints; ++p)
        value += table[row * kPoints + p] * weights[blockIdx.y * kPoints + p];
    values[blockIdx.y * rows + row] = value;
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

/// Puts the curves of a report into a table on the host.
void enter(const Report& report, uint32_t* table) {
    for (size_t i = 0; i < report.rows.size(); ++i)
        std::copy_n(&report.curves[i * kPoints], kPoints, &table[report.rows[i] * kPoints]);
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Values a table of curves again after each report of an exchange.");
    const size_t rounds = options.integer("--rounds", 4, 1, 100, "reports, one a round");
    const size_t listed =
        options.integer("--listed", 1000, 1, 10'000, "instruments of an exchange, at least");
    options.done();

    // Instruments were admitted from all exchanges in turn, so every exchange has a row out of `exchanges`.
    std::mt19937 random(47);
    const size_t exchanges = 2 + random() % 12, rows = exchanges * (listed + random() % (listed / 4 + 1));
    const size_t scenarios = 1 + random() % 64;
    require_gpu((rows * (kPoints + scenarios) + scenarios * (kPoints + 1)) * sizeof(uint32_t));
    const auto fill = [&](uint32_t* numbers, size_t count) {
        for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<uint32_t>(random());
    };
    const auto table = pinned_array<uint32_t>(rows * kPoints);
    fill(table.get(), rows * kPoints);
    std::vector<uint32_t> replayed(table.get(), table.get() + rows * kPoints);
    std::vector<Report> reports(rounds);
    for (Report& report : reports) {
        for (size_t row = random() % exchanges; row < rows; row += exchanges) report.rows.push_back(row);
        report.curves.resize(report.rows.size() * kPoints);
        fill(report.curves.data(), report.curves.size());
        report.weights.resize(scenarios * kPoints);
        fill(report.weights.data(), report.weights.size());
    }

    const Stream owner = make_stream(cudaStreamNonBlocking);
    const cudaStream_t stream = owner.get();
    const auto device_table = device_array<uint32_t>(rows * kPoints);
    const auto weights = device_array<uint32_t>(scenarios * kPoints);
    const auto totals = device_array<uint32_t>(scenarios);
    std::vector<uint32_t> found(rounds * scenarios);
    std::vector<char> changed(rows);

    /// Values the GPU's table with the weights of a report.
    const auto value = [&](const Report& report, uint32_t* found_totals) {
        const auto values = device_array<uint32_t>(rows * scenarios);
        CUDA_CHECK(cudaMemcpyAsync(weights.get(), report.weights.data(),
                                   scenarios * kPoints * sizeof(uint32_t), cudaMemcpyHostToDevice, stream));
        CUDA_CHECK(cudaMemsetAsync(totals.get(), 0, scenarios * sizeof(uint32_t), stream));
        const dim3 grid(static_cast<unsigned>((rows + kThreads - 1) / kThreads),
                        static_cast<unsigned>(scenarios));
        value_curves<<<grid, kThreads, 0, stream>>>(device_table.get(), rows, weights.get(), values.get());
        CUDA_CHECK(cudaGetLastError());
        add_values<<<static_cast<unsigned>(scenarios), kThreads, 0, stream>>>(values.get(), rows,
                                                                              totals.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemcpyAsync(found_totals, totals.get(), scenarios * sizeof(uint32_t),
                                   cudaMemcpyDeviceToHost, stream));
        CUDA_CHECK(cudaStreamSynchronize(stream));
    };
    {
        nvtx3::scoped_range range{"warm-up"};
        CUDA_CHECK(cudaMemcpyAsync(device_table.get(), table.get(), rows * kPoints * sizeof(uint32_t),
                                   cudaMemcpyHostToDevice, stream));
        value(reports[0], found.data());
    }

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"rounds"};
        for (size_t round = 0; round < rounds; ++round) {
            const Report& report = reports[round];
            enter(report, table.get());
            std::fill(changed.begin(), changed.end(), char{0});
            for (const size_t row : report.rows) changed[row] = 1;
            for (const Span& span : spans_of(changed))
                CUDA_CHECK(cudaMemcpyAsync(&device_table[span.first * kPoints], &table[span.first * kPoints],
                                           (span.last - span.first + 1) * kPoints * sizeof(uint32_t),
                                           cudaMemcpyHostToDevice, stream));
            value(report, &found[round * scenarios]);
        }
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    size_t wrong = 0;
    for (size_t round = 0; round < rounds; ++round) {
        enter(reports[round], replayed.data());
        std::vector<uint32_t> sums(kPoints, 0);  // of all curves: a total is a sum over points, too
        for (size_t i = 0; i < replayed.size(); ++i) sums[i % kPoints] += replayed[i];
        for (size_t s = 0; s < scenarios; ++s) {
            uint32_t expected = 0;
            for (size_t p = 0; p < kPoints; ++p)
                expected += sums[p] * reports[round].weights[s * kPoints + p];
            if (found[round * scenarios + s] != expected && wrong++ == 0)
                std::printf("round %zu, scenario %zu: expected total %u, found %u\n", round, s, expected,
                            found[round * scenarios + s]);
        }
    }
    std::printf("%zu rounds: %.2f ms\n", rounds, elapsed.count());
    std::printf("wrong totals: expected 0, found %zu of %zu\n", wrong, found.size());
    return wrong == 0 ? 0 : 1;
}
