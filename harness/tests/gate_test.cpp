#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/error.h"
#include "lab/gate_rule.h"

namespace lab::gate_test {

namespace {

constexpr double kThreshold = 0.05;

/// Random numbers that are the same with every library.
class Noise {
  public:
    double uniform() { return (static_cast<double>(random_() >> 12) + 0.5) * 0x1p-52; }
    double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); }

  private:
    std::mt19937_64 random_{7};
};

/// How many times its usual time the i-th of n runs takes, whichever program it is.
using Machine = double (*)(Noise& noise, double i, double n);

constexpr Machine jitter = [](Noise& noise, double, double) { return 1 + 0.03 * noise.normal(); };
constexpr Machine drift = [](Noise& noise, double i, double n) {
    return 1 + 0.2 * i / n + 0.02 * noise.normal();
};
constexpr Machine rhythm = [](Noise& noise, double i, double) {
    return (std::fmod(i, 2) == 1 ? 1.04 : 1) * (1 + 0.01 * noise.normal());
};

/// Fills in what the gate would measure on that machine if B took `slowdown` times as long as A.
std::vector<RunPair> simulate(Machine machine, Noise& noise, std::vector<RunPair> pairs, double slowdown) {
    const auto runs = static_cast<double>(2 * pairs.size());
    double run = 0;
    for (RunPair& pair : pairs) {
        (pair.b_first ? pair.b : pair.a) = machine(noise, run++, runs);
        (pair.b_first ? pair.a : pair.b) = machine(noise, run++, runs);
        pair.b *= slowdown;
    }
    return pairs;
}

/// The share of 1000 trials that end with this verdict.
double share_of(const char* verdict, Machine machine, double slowdown) {
    Noise noise;
    int trials = 0;
    for (uint64_t seed = 0; seed < 1000; ++seed) {
        const auto measured = simulate(machine, noise, pairs_in_random_order(30, seed), slowdown);
        trials += judge_pairs(measured, kThreshold).verdict == verdict;
    }
    return trials / 1000.0;
}

GateResult judge_ratios(const std::vector<double>& ratios) {
    std::vector<RunPair> pairs;
    for (const double ratio : ratios) pairs.push_back({2, 2 * ratio});
    return judge_pairs(pairs, kThreshold);
}

std::string verdict_of(const std::vector<double>& ratios) {
    return judge_ratios(ratios).verdict;
}

/// The oracle of the interval, by counting: the share of all ways in which n ratios can lie on either side of
/// the median that leave at least `rank` of them on both.
double share_that_holds(std::size_t rank, std::size_t n) {
    std::size_t holds = 0;
    for (unsigned sides = 0; sides < 1u << n; ++sides) {
        const auto below = static_cast<std::size_t>(__builtin_popcount(sides));
        holds += below >= rank && n - below >= rank;
    }
    return static_cast<double>(holds) / static_cast<double>(1u << n);
}

}  // namespace

TEST_CASE("a slowdown of 10 % is caught, and a program beside itself raises no alarm, on every machine") {
    for (const Machine machine : {jitter, drift, rhythm}) {
        CHECK(share_of(kSlower, machine, 1.10) >= 0.95);
        CHECK(share_of(kFaster, machine, 1 / 1.10) >= 0.95);
        CHECK(share_of(kSlower, machine, 1) <= 0.05);
        CHECK(share_of(kFaster, machine, 1) <= 0.05);
    }
    // Where the noise allows, the threshold itself is caught, and a fifth of it is let pass.
    CHECK(share_of(kSlower, drift, 1 + kThreshold) >= 0.95);
    CHECK(share_of(kNoDifference, drift, 1 + kThreshold / 5) >= 0.95);
    // Without the coin, a rhythm of the machine would raise an alarm.
    Noise noise;
    CHECK(judge_pairs(simulate(rhythm, noise, std::vector<RunPair>(30), 1), kThreshold).verdict == kSlower);
}

TEST_CASE("each line of the rule") {
    CHECK(verdict_of({1.10, 1.11, 1.12, 1.09, 1.10, 1.13}) == kSlower);
    CHECK(verdict_of({0.90, 0.91, 0.89, 0.90, 0.88, 0.90}) == kFaster);
    CHECK(verdict_of({1.01, 0.99, 1.00, 1.02, 0.98, 1.00}) == kNoDifference);
    CHECK(verdict_of({1.08, 0.94, 1.00, 1.02, 0.98, 1.00}) == kInconclusive);
    // B is slower for certain, but by less than half the threshold.
    CHECK(verdict_of({1.01, 1.02, 1.01, 1.02, 1.01, 1.02}) == kNoDifference);
    // The median says slower, and one pair of six says that it need not be.
    CHECK(verdict_of({1.10, 1.11, 1.12, 1.09, 1.10, 0.99}) == kInconclusive);
    // Coarse figures are often equal. At exactly 1 the interval does not lie above 1.
    CHECK(verdict_of({1, 1, 1, 1, 1, 1}) == kNoDifference);
}

TEST_CASE("the interval is the narrowest that covers 95 %, as counted one by one") {
    for (std::size_t n = kFewestPairs; n <= 14; ++n) {
        CAPTURE(n);
        std::vector<double> ratios;
        for (std::size_t i = n; i > 0; --i) ratios.push_back(static_cast<double>(i));
        std::size_t best = 1;
        while (share_that_holds(best + 1, n) >= 0.95) ++best;
        const GateResult result = judge_ratios(ratios);
        CHECK(result.low == doctest::Approx(static_cast<double>(best)));
        CHECK(result.high == doctest::Approx(static_cast<double>(n + 1 - best)));
        CHECK(result.coverage == doctest::Approx(share_that_holds(best, n)).epsilon(1e-12));
    }
}

TEST_CASE("what cannot be judged is an error") {
    for (const std::size_t pairs : {kFewestPairs - 1, kMostPairs + 1})
        CHECK_THROWS_AS((void)judge_ratios(std::vector<double>(pairs, 1.0)), Error);
    for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL})
        CHECK_THROWS_AS((void)judge_ratios({1, 1, 1, bad, 1, 1}), Error);
}

TEST_CASE("the order of the runs is a fair coin, and the seed's alone") {
    const auto heads = [](uint64_t seed, std::size_t pairs) {
        const auto order = pairs_in_random_order(pairs, seed);
        return std::count_if(order.begin(), order.end(), [](const RunPair& pair) { return pair.b_first; });
    };
    CHECK(std::abs(heads(3, 10'000) - 5000) < 200);  // four standard errors
    CHECK(heads(1, 8) == 1);                         // the same with every library
}

}  // namespace lab::gate_test
