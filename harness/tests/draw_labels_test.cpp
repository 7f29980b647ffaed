// Logarithmic axes and room for labels: what the picture of a roofline is made of.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "draw/label_places.h"
#include "draw/log_axis.h"

using namespace lab;

TEST_CASE("A logarithmic axis gives equal ratios equal lengths, and grows") {
    const LogRange range{0.02, 500};
    CHECK(range.share_of(0.02) == 0);
    CHECK(range.share_of(500) == doctest::Approx(1));
    CHECK(range.share_of(2) - range.share_of(1) == doctest::Approx(range.share_of(100) - range.share_of(50)));
    double before = -1;
    for (double value = 0.01; value < 1000; value *= 1.01) {
        CHECK(range.share_of(value) > before);
        before = range.share_of(value);
    }
}

TEST_CASE("Ranges are round, and hold what they have to") {
    CHECK(round_range(0.3, 400).low == doctest::Approx(0.2));
    CHECK(round_range(0.3, 400).high == doctest::Approx(500));
    CHECK(round_range(1, 1000).low == 1);
    CHECK(round_range(1, 1000).high == doctest::Approx(1000));
    CHECK(round_range(7, 7).decades() >= 2);
    for (double low = 1e-18; low < 1e18; low *= 7.3)
        for (const double ratio : {1., 3., 1e6}) {
            const LogRange range = round_range(low, low * ratio);
            CHECK(range.low <= low * (1 + 1e-8));
            CHECK(range.high >= low * ratio * (1 - 1e-8));
            CHECK(range.decades() < std::max(2., std::log10(ratio)) + 1);
        }
}

TEST_CASE("Ticks of a logarithmic axis are labelled where there is room") {
    const auto labels = [](const LogRange& range, double length) {
        std::vector<std::string> words;
        double before = 0;
        for (const LogTick& tick : log_ticks(range, length, {30, 5})) {
            CHECK(tick.value() > before);
            before = tick.value();
            if (tick.labelled) words.push_back(short_number(tick.value()));
        }
        return join(words, " ");
    };
    CHECK(labels({1, 100}, 400) == "1 2 5 10 20 50 100");
    CHECK(labels({1, 100}, 80) == "1 10 100");
    CHECK(labels({0.01, 1e6}, 80) == "1 10⁵");
    CHECK(labels({0.2, 5}, 400) == "0.2 0.5 1 2 5");
    CHECK(log_ticks({1, 10}, 400, {30, 5}).size() == 10);
    CHECK(log_ticks({1, 10}, 60, {30, 5}).size() == 4);  // 1, 2, 5, 10: no room for 9 lines
}

TEST_CASE("Outlines touch where they share a spot") {
    const Outline square = rectangle({0, 0}, 2, 2), turned = rectangle({0, 0}, 2, 2, 45);
    CHECK(touch(square, rectangle({1.9, 1.9}, 2, 2)));
    CHECK_FALSE(touch(square, rectangle({2.1, 0}, 2, 2)));
    CHECK(touch(square, {{-5, 0}, {5, 0.5}}));
    CHECK_FALSE(touch(square, {{-5, 1.1}, {5, 1.1}}));
    CHECK_FALSE(touch(square, {{2, 0}, {5, 0}}));             // on the line of its middle, but further on
    CHECK_FALSE(touch(turned, rectangle({1.3, 1.3}, 1, 1)));  // their shadows on both axes meet
    CHECK(touch(turned, rectangle({1.3, 0}, 1, 1)));
    CHECK(touch({{0, 0}, {2, 2}}, {{0, 2}, {2, 0}}));
    CHECK_FALSE(touch({{0, 0}, {1, 1}}, {{2, 2}, {3, 3}}));
    CHECK_FALSE(touch({{0, 0}, {2, 2}}, {{0, 1}, {2, 3}}));
}

TEST_CASE("Labels take the nearest place that is free, and give up where there is none") {
    const auto place = [](double x, double away) {
        LabelPlace made;
        made.middle = {x, 50};
        made.outline = rectangle(made.middle, 10, 10);
        made.away = away;
        return made;
    };
    LabelRoom room(rectangle({50, 50}, 100, 100));
    room.keep_clear(rectangle({20, 50}, 2, 2));
    room.spare({{30, 0}, {30, 100}});
    const auto taken = room.take({{place(-3, 0), place(20, 1), place(30, 2), place(60, 9), place(80, 5)}});
    REQUIRE(taken[0]);
    CHECK(taken[0]->middle.x == 80);
    CHECK_FALSE(room.take({{place(85, 0)}})[0]);  // taken by now
    CHECK(room.take({{place(30, 0)}})[0]);        // spared, but better than nothing
    CHECK(room.take({{}, {place(60, 0)}})[1]);

    LabelRoom other(rectangle({50, 50}, 100, 100));
    other.keep_clear(rectangle({20, 50}, 2, 2));
    LabelPlace across = place(10, 1);
    across.leader = {{30, 50}, {15, 50}};  // over the one at 20
    const auto better = other.take({{across, place(70, 30)}}), only = other.take({{across}});
    REQUIRE(better[0]);
    CHECK(better[0]->middle.x == 70);
    CHECK(only[0]);
}
