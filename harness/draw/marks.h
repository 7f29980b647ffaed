// A trace may hold a million boxes, a picture some hundred pixels: boxes too thin to see are drawn together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/timeline.h"

namespace lab {

/// What is drawn as one rectangle: a box, or several thin ones.
struct Mark {
    int64_t begin_ns = 0, end_ns = 0;
    Paint paint{};
    int64_t boxes = 0;
    int64_t boxes_ns = 0;        ///< time in these boxes
    double coverage = 1;         ///< share of begin to end in which anything in this lane ran, in quarters
    const Box* first = nullptr;  ///< the box, or the first of several
    bool one_name = true;        ///< are they all of the same name?

    Mark() = default;
    explicit Mark(const Box& box);

    /// Takes in the boxes of the mark that comes next.
    void add(const Mark& next);
};

/// The marks for the boxes of one lane, which come in time order and do not overlap, in the order in which to
/// draw them: several in one first, since wider boxes that lie between these are drawn over them.
///
/// Boxes shorter than `thin_ns` with no gap of that size between them are drawn together. Where they are of
/// different paints, short pieces take turns so that each paint keeps its share of the time. The number of
/// marks is bounded by the length of the lane over `thin_ns`, however many boxes there are.
[[nodiscard]] std::vector<Mark> marks_of(const std::vector<const Box*>& lane, double thin_ns);

/// Hover text: that of the box, or how many there are and what they took.
[[nodiscard]] std::string hover_of(const Mark& mark);

}  // namespace lab
