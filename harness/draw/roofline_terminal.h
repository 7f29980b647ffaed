// A roofline as text.
#pragma once

#include <string>

#include "draw/roofline.h"

namespace lab {

/// A plot of `rows` lines with roofs as lines of characters and points as numbers, its axes, and a list of
/// the points and the roofs below; no line is wider than `columns`. `colour` adds ANSI colours. A roofline
/// that cannot be drawn is an Error.
[[nodiscard]] std::string roofline_terminal(const Roofline& roofline, int columns, int rows, bool colour);

}  // namespace lab
