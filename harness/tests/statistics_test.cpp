#include "core/statistics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/error.h"

using namespace lab;

namespace {

/// The oracle: each of n values lies on either side of the median, and the interval of this rank holds the
/// median where both sides have at least `rank` of them.
double share_that_holds(std::size_t rank, std::size_t n) {
    std::size_t holds = 0;
    for (unsigned sides = 0; sides < 1u << n; ++sides) {
        const auto below = static_cast<std::size_t>(__builtin_popcount(sides));
        holds += below >= rank && n - below >= rank;
    }
    return static_cast<double>(holds) / static_cast<double>(1u << n);
}

std::vector<double> ascending(std::size_t n) {
    std::vector<double> values;
    for (std::size_t i = 1; i <= n; ++i) values.push_back(static_cast<double>(i));
    return values;
}

/// Above 0 and below 1, the same with every library.
double uniform(std::mt19937_64& random) {
    return (static_cast<double>(random() >> 12) + 0.5) * 0x1p-52;
}

}  // namespace

TEST_CASE("the median is the middle value, or halfway between the two") {
    CHECK(median({4}) == 4);
    CHECK(median({9, 1, 4}) == 4);
    CHECK(median({9, 1, 4, 5}) == 4.5);
    CHECK(median({1, 1, 1, 100}) == 1);
    CHECK_THROWS_AS((void)median({}), Error);
}

TEST_CASE("the interval is the narrowest that covers enough, as counted one by one") {
    for (const double confidence : {0.5, 0.8, 0.9, 0.95, 0.99})
        for (std::size_t n = 1; n <= 14; ++n) {
            CAPTURE(n);
            CAPTURE(confidence);
            std::size_t best = 0;
            for (std::size_t rank = 1; rank <= n / 2; ++rank)
                if (share_that_holds(rank, n) >= confidence) best = rank;
            const auto interval = median_interval(ascending(n), confidence);
            REQUIRE(interval.has_value() == (best > 0));
            if (!interval) continue;
            CHECK(interval->rank == best);
            CHECK(interval->low == static_cast<double>(best));
            CHECK(interval->high == static_cast<double>(n + 1 - best));
            CHECK(interval->coverage == doctest::Approx(share_that_holds(best, n)).epsilon(1e-12));
        }
}

TEST_CASE("ranks and coverage as whole numbers give them") {
    CHECK_FALSE(median_interval(ascending(5), 0.95));
    const auto six = median_interval(ascending(6), 0.95);
    REQUIRE(six);
    CHECK(six->rank == 1);
    CHECK(six->coverage == doctest::Approx(1 - 2.0 / 64));
    const auto ten = median_interval(ascending(10), 0.95);
    REQUIRE(ten);
    CHECK(ten->rank == 2);
    CHECK(ten->coverage == doctest::Approx(1 - 2.0 * (1 + 10) / 1024));
    const auto thirty = median_interval(ascending(30), 0.95);
    REQUIRE(thirty);
    CHECK(thirty->rank == 10);
    CHECK(thirty->coverage == doctest::Approx(1 - 2 * 22'964'087.0 / 1'073'741'824));  // 30 over 0 to 9
}

TEST_CASE("many values are no trouble, though 10,000 over 5,000 is no double") {
    const auto interval = median_interval(ascending(10'000), 0.95);
    REQUIRE(interval);
    CHECK(interval->rank == 4902);  // 5000 - 1.96 sqrt(10,000)/2
    CHECK(interval->coverage == doctest::Approx(0.951).epsilon(0.001));
}

TEST_CASE("the interval does not depend on the order of the values, and moves with them") {
    std::mt19937_64 random(11);
    std::vector<double> values;
    for (int i = 0; i < 25; ++i) values.push_back(uniform(random));
    const auto first = median_interval(values, 0.95);
    REQUIRE(first);
    for (int trial = 0; trial < 20; ++trial) {
        std::shuffle(values.begin(), values.end(), random);
        const auto again = median_interval(values, 0.95);
        REQUIRE(again);
        CHECK(again->low == first->low);
        CHECK(again->high == first->high);
    }
    for (double& value : values) value = 4 * value - 2;
    const auto moved = median_interval(values, 0.95);
    REQUIRE(moved);
    CHECK(moved->low == 4 * first->low - 2);
    CHECK(moved->high == 4 * first->high - 2);
}

TEST_CASE("the interval holds the median as often as it says, whatever the distribution") {
    struct Distribution {
        const char* name;
        double median;
        double (*draw)(std::mt19937_64&);
    };
    const Distribution distributions[] = {
        {"uniform", 0.5, uniform},
        {"exponential", std::log(2.0), [](std::mt19937_64& r) { return -std::log(uniform(r)); }},
        {"Cauchy, without a mean", 0,
         [](std::mt19937_64& r) { return std::tan(3.14159265 * (uniform(r) - 0.5)); }},
        {"two humps", 0,
         [](std::mt19937_64& r) { return uniform(r) < 0.5 ? -1 - uniform(r) : 1 + uniform(r); }},
    };
    constexpr int kTrials = 4000;
    for (const Distribution& distribution : distributions)
        for (const std::size_t n : {6u, 15u, 30u}) {
            std::mt19937_64 random(5);
            int holds = 0;
            double coverage = 0;
            for (int trial = 0; trial < kTrials; ++trial) {
                std::vector<double> values;
                for (std::size_t i = 0; i < n; ++i) values.push_back(distribution.draw(random));
                const auto interval = median_interval(values, 0.95);
                REQUIRE(interval);
                coverage = interval->coverage;
                holds += interval->low <= distribution.median && distribution.median <= interval->high;
            }
            CAPTURE(distribution.name);
            CAPTURE(n);
            // Four standard errors of a share of 4000 trials.
            const double margin = 4 * std::sqrt(coverage * (1 - coverage) / kTrials);
            CHECK(std::fabs(static_cast<double>(holds) / kTrials - coverage) < margin);
        }
}

TEST_CASE("where values are equal, the interval holds the median more often, not less") {
    std::mt19937_64 random(6);
    int holds = 0;
    for (int trial = 0; trial < 2000; ++trial) {
        std::vector<double> values;
        for (int i = 0; i < 30; ++i) values.push_back(std::floor(3 * uniform(random)));
        const auto interval = median_interval(values, 0.95);
        holds += interval->low <= 1 && 1 <= interval->high;
    }
    CHECK(holds >= 1914);  // 95.7 % of them
}
