// Timelines as one SVG figure.
#pragma once

#include <string>
#include <vector>

#include "draw/timeline.h"

namespace lab {

/// The timelines above each other on one time scale: each starts at its own zero, and the shorter one ends
/// earlier. 960 pixels wide; the same input gives the same bytes.
[[nodiscard]] std::string timeline_svg(const std::vector<Timeline>& above_each_other);

}  // namespace lab
