// Boxes that overlap in time cannot share a line of a picture: they are spread over lanes.
#pragma once

#include <vector>

#include "core/intervals.h"

namespace lab {

/// A lane for each interval, so that no two in a lane overlap: the lowest one that is free when it begins.
/// The intervals are in order of their begin.
[[nodiscard]] std::vector<int> lanes_apart(const std::vector<Interval>& by_begin);

/// A lane for each interval, so that any two in a lane either do not overlap or lie one inside the other, as
/// calls on a stack do. In order of their begin, and where that is the same, longest first.
[[nodiscard]] std::vector<int> lanes_nested(const std::vector<Interval>& by_begin);

}  // namespace lab
