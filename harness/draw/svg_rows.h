// The rows of one timeline, as SVG.
#pragma once

#include <optional>
#include <string>

#include "draw/svg_page.h"
#include "draw/timeline.h"

namespace lab {

constexpr double kPlotLeft = 228;  ///< px; where a timeline begins, with the names of its rows to the left

/// Pixels that the rows of a timeline take, the strip of idle time at the bottom included.
[[nodiscard]] double rows_height(const Timeline& timeline);

/// The attribute of boxes that are drawn as one, by the share of its time in which one of them ran, 0 to 1.
[[nodiscard]] std::string opacity_attribute(double coverage);

/// Draws the rows below `top_px`. Returns the first paint in which boxes were drawn as one, and pale for the
/// gaps between them, if there is one: what a legend has to explain.
std::optional<Paint> draw_rows(SvgPage& page, const Timeline& timeline, double px_per_ns, double top_px);

}  // namespace lab
