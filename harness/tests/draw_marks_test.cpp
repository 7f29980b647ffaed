// How boxes too thin to be seen are drawn together.
#include "draw/marks.h"

#include <doctest/doctest.h>

#include <optional>

namespace lab::draw_marks_test {

namespace {

constexpr double kThin = 10;

/// A box of the kernel of this number, or of another paint.
Box box(int64_t begin_ns, int64_t end_ns, int kernel, std::optional<Paint> paint = {}) {
    return {begin_ns, end_ns, paint.value_or(Paint(kernel)), 0, std::to_string(kernel), ""};
}

std::vector<Mark> marks_in(const std::vector<Box>& boxes) {
    std::vector<const Box*> lane;
    for (const Box& each : boxes) lane.push_back(&each);
    return marks_of(lane, kThin);
}

}  // namespace

TEST_CASE("marks: wide boxes stay as they are; thin ones of one paint become one mark up to a visible gap") {
    const std::vector<Box> boxes{box(0, 10, 0),  box(10, 30, 1), box(50, 59, 0),
                                 box(59, 68, 0), box(70, 79, 0), box(95, 99, 0)};
    const std::vector<Mark> marks = marks_in(boxes);
    REQUIRE(marks.size() == 4);  // several in one first: wider ones are drawn over them
    CHECK(marks[0].begin_ns == 50);
    CHECK(marks[0].end_ns == 79);
    CHECK(marks[0].boxes == 3);
    CHECK(marks[0].boxes_ns == 27);
    CHECK(marks[1].begin_ns == 95);
    CHECK(marks[3].begin_ns == 10);
    CHECK(marks[3].paint == Paint::kernel_2);
    CHECK(marks[3].coverage == 1);
}

TEST_CASE("marks: thin boxes between somewhat wider ones are drawn below them, if those hide them") {
    std::vector<Box> boxes;
    for (int64_t at = 0; at < 1000; at += 20)
        boxes.push_back(box(at, at + 13, 0)), boxes.push_back(box(at + 13, at + 20, 1));
    const std::vector<Mark> marks = marks_in(boxes);
    REQUIRE(marks.size() == 51);
    CHECK(marks[0].paint == Paint::kernel_2);
    CHECK(marks[0].boxes == 50);
    CHECK(marks[0].begin_ns == 13);
    CHECK(marks[0].end_ns == 1000);
    const std::vector<Box> low{box(0, 5, 0), box(5, 25, 1, Paint::to_device), box(25, 30, 0)};
    CHECK(marks_in(low).size() == 3);
    const std::vector<Box> far{box(0, 5, 0), box(5, 500, 1), box(500, 505, 0)};
    CHECK(marks_in(far).size() == 3);
}

TEST_CASE("marks: where paints mix, each keeps its share, but none beyond a gap") {
    std::vector<Box> boxes;
    for (int64_t at = 0; at < 100'000; at += 4)
        boxes.push_back(box(at, at + 3, 0)), boxes.push_back(box(at + 3, at + 4, 1));
    ByPaint<int64_t> ns_of{};
    int64_t count = 0;
    for (const Mark& mark : marks_in(boxes))
        ns_of[mark.paint] += mark.end_ns - mark.begin_ns, count += mark.boxes;
    CHECK(count == 50'000);
    CHECK(static_cast<double>(ns_of[Paint::kernel_1]) == doctest::Approx(75'000).epsilon(0.02));
    CHECK(static_cast<double>(ns_of[Paint::kernel_2]) == doctest::Approx(25'000).epsilon(0.02));
    const std::vector<Box> apart{box(0, 9, 0), box(9, 14, 1), box(100, 104, 0)};
    CHECK(marks_in(apart).back().paint == Paint::kernel_1);
}

TEST_CASE("marks: how much of one is covered, and what its hover text counts") {
    std::vector<Box> half;
    for (int64_t at = 0; at < 1000; at += 8) half.push_back(box(at, at + 4, 0));
    REQUIRE(marks_in(half).size() == 1);
    CHECK(marks_in(half)[0].coverage == 0.5);
    const std::vector<Box> same{box(0, 4, 0), box(4, 8, 0)}, mixed{box(0, 4, 0), box(4, 8, 1)};
    CHECK(hover_of(marks_in(same)[0]) == "2 × 0, 8 ns of 8 ns");
    CHECK(hover_of(marks_in(mixed)[0]) == "2 × 0 and others, 8 ns of 8 ns");
    const std::vector<Box> instants{box(5, 5, 3), box(5, 5, 3)};
    CHECK(marks_in(instants)[0].paint == Paint::kernel_4);
    CHECK(marks_in(instants)[0].boxes == 2);
}

}  // namespace lab::draw_marks_test
