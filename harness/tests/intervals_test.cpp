#include "core/intervals.h"

#include <doctest/doctest.h>

#include <array>
#include <random>

namespace lab::intervals_test {

namespace {

constexpr int kLast = 48;  ///< ns; short enough to look at every nanosecond

/// The oracle: how many of the intervals cover each nanosecond.
using Depth = std::array<int, kLast>;

Depth depth_of(const Intervals& intervals) {
    Depth depth{};
    for (const Interval& i : intervals)
        for (int64_t t = i.begin; t < i.end; ++t) ++depth[static_cast<std::size_t>(t)];
    return depth;
}

/// The merged list of all nanoseconds that `wanted` holds for.
template <class Wanted>
Intervals where(const Wanted& wanted) {
    Intervals list;
    for (int64_t t = 0; t < kLast; ++t) {
        if (!wanted(static_cast<std::size_t>(t))) continue;
        if (!list.empty() && list.back().end == t)
            ++list.back().end;
        else
            list.push_back({t, t + 1});
    }
    return list;
}

/// Nested, touching, equal, empty and reversed intervals all turn up within a few lists.
Intervals random_intervals(std::mt19937& random) {
    std::uniform_int_distribution<int> time(0, kLast), count(0, 9), repeat(0, 4);
    Intervals list;
    for (int n = count(random); n > 0; --n) {
        list.push_back({time(random), time(random)});
        if (repeat(random) == 0) list.push_back(list.front());
        if (repeat(random) == 0) list.push_back({list.back().end, time(random)});
    }
    return list;
}

}  // namespace

TEST_CASE("every operation agrees with counting nanosecond by nanosecond") {
    std::mt19937 random(5);
    for (int round = 0; round < 2000; ++round) {
        const Intervals a = random_intervals(random), b = random_intervals(random);
        const Depth in_a = depth_of(a), in_b = depth_of(b);
        const Intervals merged_a = merge(a), merged_b = merge(b);
        CAPTURE(round);
        REQUIRE(merged_a == where([&](std::size_t t) { return in_a[t] > 0; }));
        REQUIRE(intersect(merged_a, merged_b) ==
                where([&](std::size_t t) { return in_a[t] > 0 && in_b[t] > 0; }));
        REQUIRE(subtract(merged_a, merged_b) ==
                where([&](std::size_t t) { return in_a[t] > 0 && in_b[t] == 0; }));
        REQUIRE(overlaps(a) == where([&](std::size_t t) { return in_a[t] >= 2; }));
        int64_t nanoseconds = 0;
        for (const int d : in_a) nanoseconds += d > 0;
        REQUIRE(total(merged_a) == nanoseconds);
        for (int64_t t = -1; t <= kLast; ++t)
            REQUIRE(contains(merged_a, t) == (t >= 0 && t < kLast && in_a[static_cast<std::size_t>(t)] > 0));
    }
}

}  // namespace lab::intervals_test
