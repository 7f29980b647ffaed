#include "course/gate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "core/error.h"

using namespace lab;

namespace {

constexpr double kThreshold = 0.05;

/// Random numbers that are the same with every library.
class Noise {
  public:
    explicit Noise(uint64_t seed) : random_(seed) {}
    double uniform() { return (static_cast<double>(random_() >> 12) + 0.5) * 0x1p-52; }
    double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); }
    double exponential() { return -std::log(uniform()); }
    bool happens(double probability) { return uniform() < probability; }

  private:
    std::mt19937_64 random_;
};

/// How many times its usual time the i-th of n runs takes, whichever program it is.
using Machine = std::function<double(double i, double n)>;

struct NoiseModel {
    const char* name;
    std::function<Machine(Noise&)> machine;  ///< one for each trial
};

/// x of a first-order autoregressive process: correlated with the run before by `correlation`.
Machine correlated(Noise& noise, double correlation, double deviation) {
    double x = deviation * noise.normal();
    return [=, &noise](double, double) mutable {
        x = correlation * x + std::sqrt(1 - correlation * correlation) * deviation * noise.normal();
        return 1 + x;
    };
}

/// A clock that jumps between two speeds, 8 % apart.
Machine two_clocks(Noise& noise, double stays) {
    bool slow = noise.happens(0.5);
    return [=, &noise](double, double) mutable {
        if (!noise.happens(stays)) slow = !slow;
        return (slow ? 1.08 : 1.0) * (1 + 0.01 * noise.normal());
    };
}

const std::vector<NoiseModel>& noise_models() {
    static const std::vector<NoiseModel> models{
        {"jitter of 0.5 %",
         [](Noise& noise) -> Machine { return [&](double, double) { return 1 + 0.005 * noise.normal(); }; }},
        {"jitter of 3 %",
         [](Noise& noise) -> Machine { return [&](double, double) { return 1 + 0.03 * noise.normal(); }; }},
        {"skewed by 3 %, and one run in ten takes 20 to 50 % longer",
         [](Noise& noise) -> Machine {
             return [&](double, double) {
                 const double outlier = noise.happens(0.1) ? 0.2 + 0.3 * noise.uniform() : 0;
                 return 1 + 0.03 * noise.exponential() + outlier;
             };
         }},
        {"drift of 20 % over the runs",
         [](Noise& noise) -> Machine {
             return [&](double i, double n) { return (1 + 0.2 * i / n) * (1 + 0.02 * noise.normal()); };
         }},
        {"a clock that drops by 15 % once",
         [](Noise& noise) -> Machine {
             return [&, at = noise.uniform()](double i, double n) {
                 return (i > at * n ? 1.15 : 1.0) * (1 + 0.01 * noise.normal());
             };
         }},
        {"correlated by 0.9", [](Noise& noise) { return correlated(noise, 0.9, 0.03); }},
        {"correlated by -0.5", [](Noise& noise) { return correlated(noise, -0.5, 0.03); }},
        {"two clocks, kept for long", [](Noise& noise) { return two_clocks(noise, 0.9); }},
        {"two clocks, at random", [](Noise& noise) { return two_clocks(noise, 0.5); }},
        {"every second run takes 4 % longer",
         [](Noise& noise) -> Machine {
             return [&](double i, double) {
                 return (std::fmod(i, 2) == 1 ? 1.04 : 1.0) * (1 + 0.01 * noise.normal());
             };
         }},
        {"drift, correlation, skew and outliers",
         [](Noise& noise) -> Machine {
             return [&, slow = correlated(noise, 0.8, 0.01)](double i, double n) mutable {
                 const double outlier = noise.happens(0.05) ? 1.2 + 0.3 * noise.uniform() : 1;
                 return (1 + 0.1 * i / n) * (slow(i, n) + 0.02 * noise.exponential()) * outlier;
             };
         }},
    };
    return models;
}

/// What the gate would measure on that machine if B took `slowdown` times as long as A.
std::vector<RunPair> simulate(const Machine& machine, const std::vector<bool>& b_first, double slowdown) {
    std::vector<RunPair> pairs;
    const auto runs = static_cast<double>(2 * b_first.size());
    for (std::size_t i = 0; i < b_first.size(); ++i) {
        const double first = machine(static_cast<double>(2 * i), runs);
        const double second = machine(static_cast<double>(2 * i + 1), runs);
        pairs.push_back(b_first[i] ? RunPair{second, slowdown * first} : RunPair{first, slowdown * second});
    }
    return pairs;
}

/// The shares of 2000 trials.
struct Rates {
    double slower = 0, faster = 0, inconclusive = 0;
};

Rates rates(const NoiseModel& model, double slowdown, std::size_t pairs = 30) {
    constexpr int kTrials = 2000;
    Noise noise(7);
    Rates rates;
    for (uint64_t trial = 0; trial < kTrials; ++trial) {
        const Machine machine = model.machine(noise);
        const auto runs = simulate(machine, b_goes_first(pairs, trial), slowdown);
        const GateVerdict verdict = judge_pairs(runs, kThreshold).verdict;
        rates.slower += (verdict == GateVerdict::slower) / double{kTrials};
        rates.faster += (verdict == GateVerdict::faster) / double{kTrials};
        rates.inconclusive += (verdict == GateVerdict::inconclusive) / double{kTrials};
    }
    return rates;
}

/// Pairs whose ratios are these.
std::vector<RunPair> with_ratios(const std::vector<double>& ratios) {
    std::vector<RunPair> pairs;
    for (const double ratio : ratios) pairs.push_back({2, 2 * ratio});
    return pairs;
}

GateVerdict verdict_of(const std::vector<double>& ratios) {
    return judge_pairs(with_ratios(ratios), kThreshold).verdict;
}

std::vector<RunPair> random_pairs(uint64_t seed, double slowdown) {
    Noise noise(seed);
    return simulate(noise_models()[2].machine(noise), b_goes_first(20, seed), slowdown);
}

}  // namespace

TEST_CASE("a slowdown of 10 % is caught in 19 of 20 trials or more, on every machine") {
    for (const NoiseModel& model : noise_models()) {
        CAPTURE(model.name);
        CHECK(rates(model, 1.10).slower >= 0.95);
        CHECK(rates(model, 1 / 1.10).faster >= 0.95);
    }
}

TEST_CASE("a program beside itself alarms in 1 of 20 trials or fewer, on every machine") {
    for (const NoiseModel& model : noise_models()) {
        CAPTURE(model.name);
        CHECK(rates(model, 1).slower <= 0.05);
        CHECK(rates(model, 1).faster <= 0.05);
    }
}

TEST_CASE("a rhythm of the machine that would keep step with A B, B A does not alarm") {
    const NoiseModel rhythm{"one fast, two slow, one fast", [](Noise& noise) -> Machine {
                                return [&](double i, double) {
                                    const double beat = std::fmod(i, 4);
                                    return (beat == 1 || beat == 2 ? 1.1 : 1) * (1 + 0.01 * noise.normal());
                                };
                            }};
    std::vector<bool> in_turn;
    for (int i = 0; i < 30; ++i) in_turn.push_back(i % 2 == 1);
    Noise noise(7);
    CHECK(judge_pairs(simulate(rhythm.machine(noise), in_turn, 1), kThreshold).verdict ==
          GateVerdict::slower);
    CHECK(rates(rhythm, 1).slower <= 0.05);
    CHECK(rates(rhythm, 1).faster <= 0.05);
}

TEST_CASE("the threshold itself is caught, and a fifth of it is let pass, where the noise allows") {
    for (const std::size_t i : {0u, 4u, 5u, 7u, 10u}) {
        const NoiseModel& model = noise_models()[i];
        CAPTURE(model.name);
        CHECK(rates(model, 1 + kThreshold).slower >= 0.95);
        CHECK(rates(model, 1 + kThreshold / 5).slower <= 0.05);
        CHECK(rates(model, 1).inconclusive <= 0.05);
    }
}

TEST_CASE("noise that hides the threshold is inconclusive, not passed") {
    const NoiseModel wild{"jitter of 15 %", [](Noise& noise) -> Machine {
                              return [&](double, double) { return std::exp(0.15 * noise.normal()); };
                          }};
    CHECK(rates(wild, 1).inconclusive >= 0.9);
    const Rates slowed = rates(wild, 1.10);
    CHECK(slowed.slower + slowed.inconclusive >= 0.98);
    CHECK(rates(wild, 1.10, 400).slower >= 0.95);
}

TEST_CASE("each line of the rule") {
    CHECK(verdict_of({1.10, 1.11, 1.12, 1.09, 1.10, 1.13}) == GateVerdict::slower);
    CHECK(verdict_of({0.90, 0.91, 0.89, 0.90, 0.88, 0.90}) == GateVerdict::faster);
    CHECK(verdict_of({1.01, 0.99, 1.00, 1.02, 0.98, 1.00}) == GateVerdict::no_difference);
    CHECK(verdict_of({1.08, 0.94, 1.00, 1.02, 0.98, 1.00}) == GateVerdict::inconclusive);
    // B is slower for certain, but by less than half the threshold.
    CHECK(verdict_of({1.01, 1.02, 1.01, 1.02, 1.01, 1.02}) == GateVerdict::no_difference);
    CHECK(verdict_of({1.01, 1.02, 1.01, 1.02, 1.01, 1.06}) == GateVerdict::inconclusive);
    // By half the threshold and more, whether or not by all of it.
    CHECK(verdict_of({1.03, 1.03, 1.03, 1.03, 1.03, 1.03}) == GateVerdict::slower);
    // The median says slower, one pair of six says it need not be.
    CHECK(verdict_of({1.10, 1.11, 1.12, 1.09, 1.10, 0.99}) == GateVerdict::inconclusive);
    // Equal figures, as coarse ones are, are no difference; at 1 exactly the interval is not above 1.
    CHECK(verdict_of({1, 1, 1, 1, 1, 1}) == GateVerdict::no_difference);
    CHECK(verdict_of({1, 1.2, 1.2, 1.2, 1.2, 1.2}) == GateVerdict::inconclusive);
}

TEST_CASE("an outlier in one pair of thirty changes nothing") {
    std::vector<double> ratios(30, 1.0);
    for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] += 0.001 * static_cast<double>(i % 5);
    const GateResult calm = judge_pairs(with_ratios(ratios), kThreshold);
    ratios[7] = 40;
    const GateResult wild = judge_pairs(with_ratios(ratios), kThreshold);
    CHECK(wild.verdict == calm.verdict);
    CHECK(wild.interval.high < 1.005);
}

TEST_CASE("neither the order of the pairs nor the unit of the figure matters") {
    std::mt19937_64 random(3);
    for (uint64_t seed = 0; seed < 50; ++seed) {
        std::vector<RunPair> pairs = random_pairs(seed, 1 + 0.02 * static_cast<double>(seed % 5));
        const GateResult result = judge_pairs(pairs, kThreshold);
        std::shuffle(pairs.begin(), pairs.end(), random);
        for (RunPair& pair : pairs) pair.a *= 1024, pair.b *= 1024;
        const GateResult again = judge_pairs(pairs, kThreshold);
        CHECK(again.verdict == result.verdict);
        CHECK(again.ratio == doctest::Approx(result.ratio).epsilon(1e-12));
        CHECK(again.interval.low == doctest::Approx(result.interval.low).epsilon(1e-12));
        CHECK(again.interval.high == doctest::Approx(result.interval.high).epsilon(1e-12));
    }
}

TEST_CASE("exchanging A and B mirrors the result") {
    for (uint64_t seed = 0; seed < 50; ++seed) {
        std::vector<RunPair> pairs = random_pairs(seed, 1 + 0.02 * static_cast<double>(seed % 5));
        const GateResult result = judge_pairs(pairs, kThreshold);
        for (RunPair& pair : pairs) std::swap(pair.a, pair.b);
        const GateResult mirrored = judge_pairs(pairs, kThreshold);
        CHECK(mirrored.ratio == doctest::Approx(1 / result.ratio).epsilon(1e-12));
        CHECK(mirrored.interval.low == doctest::Approx(1 / result.interval.high).epsilon(1e-12));
        CHECK((mirrored.verdict == GateVerdict::faster) == (result.verdict == GateVerdict::slower));
        CHECK((mirrored.verdict == GateVerdict::inconclusive) ==
              (result.verdict == GateVerdict::inconclusive));
    }
}

TEST_CASE("what cannot be judged is an error") {
    CHECK_THROWS_AS((void)judge_pairs({}, kThreshold), Error);
    CHECK_THROWS_AS((void)judge_pairs(with_ratios({1, 1, 1, 1, 1}), kThreshold), Error);
    for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
        auto pairs = with_ratios(std::vector<double>(10, 1.0));
        pairs[4].a = bad;
        CHECK_THROWS_AS((void)judge_pairs(pairs, kThreshold), Error);
        std::swap(pairs[4].a, pairs[4].b);
        CHECK_THROWS_AS((void)judge_pairs(pairs, kThreshold), Error);
    }
}

TEST_CASE("the order of the runs is a fair coin, and the seed's alone") {
    CHECK(b_goes_first(30, 1) == b_goes_first(30, 1));
    CHECK(b_goes_first(30, 1) != b_goes_first(30, 2));
    // Written down so that a seed from an old log still gives the order it gave.
    CHECK(b_goes_first(8, 1) == std::vector<bool>{false, false, false, false, false, true, false, false});
    const std::vector<bool> order = b_goes_first(10'000, 3);
    int b_first = 0, changes = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        b_first += order[i];
        if (i > 0) changes += order[i] != order[i - 1];
    }
    CHECK(std::abs(b_first - 5000) < 200);  // four standard errors
    CHECK(std::abs(changes - 5000) < 200);
}

TEST_CASE("the number of pairs that might do grows with the square of the width") {
    GateResult open;
    open.interval.low = 1;
    open.interval.high = std::pow(1 + kThreshold, 3.9);
    CHECK(pairs_that_might_do(open, 30, kThreshold) == 460);  // 30 * 3.9^2 = 456.3
    open.interval.high = 1 + kThreshold;
    CHECK(pairs_that_might_do(open, 30, kThreshold) == 60);         // at least twice as many
    CHECK(pairs_that_might_do(open, 30, 1e-300) == 1'000'000'000);  // no number of pairs would do
}
