#include "core/intervals.h"

#include <doctest/doctest.h>

#include <array>
#include <random>

using namespace lab;

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

TEST_CASE("a merged list contains the points that its intervals cover") {
    std::mt19937 random(5);
    for (int round = 0; round < 200; ++round) {
        const Intervals merged = merge(random_intervals(random));
        const Depth depth = depth_of(merged);
        for (int64_t t = 0; t < kLast; ++t)
            CHECK(contains(merged, t) == (depth[static_cast<std::size_t>(t)] > 0));
    }
    CHECK_FALSE(contains({}, 0));
    CHECK_FALSE(contains({{2, 4}}, -1));
    CHECK_FALSE(contains({{2, 4}}, 4));
}

TEST_CASE("merging joins what touches and drops what is empty") {
    CHECK(merge({}).empty());
    CHECK(merge({{5, 5}, {9, 3}}).empty());
    CHECK(merge({{4, 6}, {0, 2}, {2, 4}}) == Intervals{{0, 6}});
    CHECK(merge({{0, 2}, {3, 4}}) == Intervals{{0, 2}, {3, 4}});
    CHECK(merge({{0, 10}, {2, 3}, {0, 10}}) == Intervals{{0, 10}});
    CHECK(merge({{-5, -1}, {-2, 3}}) == Intervals{{-5, 3}});
}

TEST_CASE("intervals that only touch do not overlap") {
    CHECK(covered_at_least({{0, 5}, {5, 9}}, 2).empty());
    CHECK(covered_at_least({{0, 6}, {5, 9}}, 2) == Intervals{{5, 6}});
    CHECK(covered_at_least({{0, 5}, {0, 5}}, 2) == Intervals{{0, 5}});
    CHECK(covered_at_least({{0, 9}, {0, 5}, {5, 9}}, 2) == Intervals{{0, 9}});
    CHECK(covered_at_least({{0, 5}, {9, 2}, {3, 3}}, 2).empty());
}

TEST_CASE("times far from zero keep every nanosecond") {
    const int64_t late = int64_t{1} << 61;
    CHECK(total(merge({{late, late + 3}, {late + 2, late + 7}})) == 7);
    CHECK(subtract({{late, late + 10}}, {{late + 4, late + 5}}) ==
          Intervals{{late, late + 4}, {late + 5, late + 10}});
}

TEST_CASE("every operation agrees with counting nanosecond by nanosecond") {
    std::mt19937 random(5);
    for (int round = 0; round < 4000; ++round) {
        const Intervals a = random_intervals(random), b = random_intervals(random);
        const Depth in_a = depth_of(a), in_b = depth_of(b);
        const Intervals merged_a = merge(a), merged_b = merge(b);
        CAPTURE(round);
        REQUIRE(merged_a == where([&](std::size_t t) { return in_a[t] > 0; }));
        REQUIRE(intersect(merged_a, merged_b) ==
                where([&](std::size_t t) { return in_a[t] > 0 && in_b[t] > 0; }));
        REQUIRE(subtract(merged_a, merged_b) ==
                where([&](std::size_t t) { return in_a[t] > 0 && in_b[t] == 0; }));
        for (int depth = 1; depth <= 4; ++depth)
            REQUIRE(covered_at_least(a, depth) == where([&](std::size_t t) { return in_a[t] >= depth; }));
        int64_t nanoseconds = 0;
        for (const int d : in_a) nanoseconds += d > 0;
        REQUIRE(total(merged_a) == nanoseconds);
    }
}

TEST_CASE("the algebra holds") {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        const Intervals a = merge(random_intervals(random)), b = merge(random_intervals(random));
        Intervals both = a;
        both.insert(both.end(), b.begin(), b.end());
        const Intervals either = merge(both), common = intersect(a, b);
        CAPTURE(round);
        REQUIRE(merge(a) == a);
        REQUIRE(common == intersect(b, a));
        REQUIRE(intersect(a, a) == a);
        REQUIRE(subtract(a, a).empty());
        REQUIRE(subtract(a, {}) == a);
        REQUIRE(total(either) == total(a) + total(b) - total(common));
        REQUIRE(total(subtract(a, b)) + total(common) == total(a));
        REQUIRE(subtract(either, b) == subtract(a, b));
        REQUIRE(covered_at_least(both, 2) == common);
        REQUIRE(covered_at_least(both, 1) == either);
    }
}
