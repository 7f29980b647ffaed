// A roofline as an SVG figure.
#pragma once

#include <string>

#include "draw/roofline.h"

namespace lab {

/// Roofs, ridge points and points on logarithmic axes, with a legend; hover text has all numbers. 960 pixels
/// wide; the same input gives the same bytes. A roofline that cannot be drawn is an Error.
[[nodiscard]] std::string roofline_svg(const Roofline& roofline);

}  // namespace lab
