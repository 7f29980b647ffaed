// The rows of one timeline, as SVG.
#pragma once

#include <optional>
#include <string>

#include "draw/timeline.h"

namespace lab {

constexpr double kPlotLeft = 228;  ///< px; where a timeline begins, with the names of its rows to the left

/// Pixels that the rows of a timeline take, the strip of idle time at the bottom included.
[[nodiscard]] double rows_height(const Timeline& timeline);

/// How opaque boxes are that are drawn as one, by the share of its time in which one of them ran, 0 to 1.
[[nodiscard]] double opacity_of(double coverage);

/// The attribute of an element; "" for an opaque one.
[[nodiscard]] std::string opacity_attribute(double opacity);

/// Appends the rows below `top_px`. Returns the first paint in which boxes were drawn as one, and pale for
/// the gaps between them, if there is one: what a legend has to explain.
std::optional<int> append_rows(std::string& svg, const Timeline& timeline, double px_per_ns, double top_px);

}  // namespace lab
