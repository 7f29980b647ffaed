// Text, axis and lanes: what the pictures are made of.
#include <doctest/doctest.h>

#include <random>

#include "draw/rows.h"

namespace lab::draw_text_test {

TEST_CASE("Ticks are round, in the unit of the axis") {
    const std::vector<Tick> ticks = axis_ticks(24'500'000, 8);
    REQUIRE(ticks.size() == 5);
    CHECK(ticks[0].label == "0");
    CHECK(ticks[1].ns == 5'000'000);
    CHECK(ticks[1].label == "5 ms");
    CHECK(ticks[4].label == "20 ms");
    CHECK(axis_ticks(1'000'000, 8)[1].label == "0.2 ms");
    CHECK(axis_ticks(900'000, 8)[1].label == "200 µs");
    CHECK(axis_ticks(3'000'000'000, 8)[1].label == "0.5 s");
    CHECK(axis_ticks(7, 8).back().label == "7 ns");
    CHECK(axis_ticks(0, 8).size() == 1);
    for (int64_t span = 1; span < 1'000'000'000'000; span = span * 3 + 1) {
        const std::vector<Tick> some = axis_ticks(span, 8);
        CHECK(some.size() <= 9);
        CHECK(some.size() >= 2);
        CHECK(some.back().ns <= span);
    }
}

TEST_CASE("An axis that begins later has ticks at the same round times") {
    const std::vector<Tick> ticks = axis_ticks(25'000'000, 5, 21'000'000);
    REQUIRE(ticks.size() == 5);
    CHECK(ticks[0].ns == 4'000'000);  // from the axis's beginning
    CHECK(ticks[0].label == "25 ms");
    CHECK(axis_ticks(50, 5, 900'000'000)[1].label == "900.00001 ms");  // no digit is lost
}

TEST_CASE("Lanes against brute force on random intervals") {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        std::vector<Interval> intervals;
        for (int64_t i = 0, at = 0; i < 40; ++i) {
            at += random() % 8;
            intervals.push_back({at, at + static_cast<int64_t>(random() % 20)});
        }
        const std::vector<int> apart = lanes_apart(intervals);
        std::vector<int64_t> lane_end;
        for (std::size_t i = 0; i < intervals.size(); ++i) {
            std::size_t lane = 0;
            while (lane < lane_end.size() && lane_end[lane] > intervals[i].begin) ++lane;
            if (lane == lane_end.size()) lane_end.push_back(0);
            lane_end[lane] = intervals[i].end;
            CHECK(apart[i] == static_cast<int>(lane));
        }
    }
}

TEST_CASE("Nested intervals share a lane, crossing ones do not") {
    CHECK(lanes_nested({{0, 100}, {10, 50}, {20, 30}, {60, 100}}) == std::vector<int>{0, 0, 0, 0});
    CHECK(lanes_nested({{0, 100}, {50, 150}, {100, 120}}) == std::vector<int>{0, 1, 0});
    CHECK(lanes_nested({{0, 100}, {0, 100}, {100, 200}}) == std::vector<int>{0, 0, 0});
}

}  // namespace lab::draw_text_test
