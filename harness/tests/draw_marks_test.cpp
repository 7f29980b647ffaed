// How boxes too thin to be seen are drawn together.
#include "draw/marks.h"

#include <doctest/doctest.h>

#include <map>

#include "draw/palette.h"

using namespace lab;

namespace {

constexpr double kThin = 10;

struct Thing {
    int64_t begin, end;
    int paint;
};

/// Boxes to point to, and pointers to them.
struct Lane {
    explicit Lane(const std::vector<Thing>& things) : boxes(things.size()) {
        for (std::size_t i = 0; i < things.size(); ++i) {
            boxes[i].begin_ns = things[i].begin;
            boxes[i].end_ns = things[i].end;
            boxes[i].name = std::to_string(things[i].paint);
            boxes[i].paint = things[i].paint;
            pointers.push_back(&boxes[i]);
        }
    }
    std::vector<Box> boxes;
    std::vector<const Box*> pointers;
};

}  // namespace

TEST_CASE("Wide boxes stay as they are") {
    const Lane lane({{0, 10, 0}, {10, 30, 1}, {50, 60, 0}});
    const std::vector<Mark> marks = marks_of(lane.pointers, kThin);
    REQUIRE(marks.size() == 3);
    CHECK(marks[1].begin_ns == 10);
    CHECK(marks[1].end_ns == 30);
    CHECK(marks[1].paint == 1);
    CHECK(marks[1].boxes == 1);
    CHECK(marks[1].coverage == 1);
}

TEST_CASE("Thin boxes of one paint close to each other become one mark") {
    const Lane lane({{0, 9, 0}, {9, 18, 0}, {20, 29, 0}, {45, 50, 0}});
    const std::vector<Mark> marks = marks_of(lane.pointers, kThin);
    REQUIRE(marks.size() == 2);
    CHECK(marks[0].begin_ns == 0);
    CHECK(marks[0].end_ns == 29);
    CHECK(marks[0].boxes == 3);
    CHECK(marks[0].boxes_ns == 27);
    CHECK(marks[1].begin_ns == 45);  // the gap before it can be seen
    CHECK(marks[1].boxes == 1);
}

TEST_CASE("Thin boxes between somewhat wider ones are drawn below them") {
    std::vector<Thing> things;
    for (int64_t at = 0; at < 1000; at += 20)
        things.insert(things.end(), {{at, at + 13, 0}, {at + 13, at + 20, 1}});
    const Lane lane(things);
    const std::vector<Mark> marks = marks_of(lane.pointers, kThin);
    REQUIRE(marks.size() == 51);
    CHECK(marks[0].paint == 1);  // first, so that the others cover it
    CHECK(marks[0].boxes == 50);
    CHECK(marks[0].begin_ns == 13);
    CHECK(marks[0].end_ns == 1000);
    CHECK(marks[0].coverage == 1);
    CHECK(marks[50].paint == 0);
}

TEST_CASE("Thin boxes are not joined below a box that would not hide them") {
    const Lane lane({{0, 5, 0}, {5, 25, kPaintToDevice}, {25, 30, 0}});
    CHECK(marks_of(lane.pointers, kThin).size() == 3);
    const Lane far({{0, 5, 0}, {5, 500, 1}, {500, 505, 0}});
    CHECK(marks_of(far.pointers, kThin).size() == 3);
}

TEST_CASE("Where paints mix, each keeps its share") {
    std::vector<Thing> things;
    for (int64_t at = 0; at < 100'000; at += 4)
        things.insert(things.end(), {{at, at + 3, 0}, {at + 3, at + 4, 1}});
    const Lane lane(things);
    std::map<int, int64_t> ns_of, boxes;
    for (const Mark& mark : marks_of(lane.pointers, kThin)) {
        ns_of[mark.paint] += mark.end_ns - mark.begin_ns;
        boxes[0] += mark.boxes;
    }
    CHECK(boxes[0] == 50'000);
    CHECK(static_cast<double>(ns_of[0]) == doctest::Approx(75'000).epsilon(0.02));
    CHECK(static_cast<double>(ns_of[1]) == doctest::Approx(25'000).epsilon(0.02));
}

TEST_CASE("A paint that came off badly is not owed anything beyond a gap") {
    const Lane lane({{0, 9, 0}, {9, 14, 1}, {100, 104, 0}});
    const std::vector<Mark> marks = marks_of(lane.pointers, kThin);
    REQUIRE(marks.size() == 2);
    CHECK(marks[0].paint == 0);
    CHECK(marks[1].paint == 0);
}

TEST_CASE("A mark knows how much of it is covered") {
    std::vector<Thing> things;
    for (int64_t at = 0; at < 1000; at += 8) things.push_back({at, at + 4, 0});
    const Lane lane(things);
    const std::vector<Mark> marks = marks_of(lane.pointers, kThin);
    REQUIRE(marks.size() == 1);
    CHECK(marks[0].coverage == 0.5);
}

TEST_CASE("Boxes that took no time are drawn as what they are") {
    const Lane lane({{5, 5, 3}, {5, 5, 3}});
    const std::vector<Mark> marks = marks_of(lane.pointers, kThin);
    REQUIRE(marks.size() == 1);
    CHECK(marks[0].paint == 3);
    CHECK(marks[0].boxes == 2);
}

TEST_CASE("Hover text counts") {
    const Lane same({{0, 4, 0}, {4, 8, 0}}), mixed({{0, 4, 0}, {4, 8, 1}});
    CHECK(hover_of(marks_of(same.pointers, kThin)[0]) == "2 × 0, 8 ns of 8 ns");
    CHECK(hover_of(marks_of(mixed.pointers, kThin)[0]) == "2 × 0 and others, 8 ns of 8 ns");
}
