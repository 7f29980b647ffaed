// A timeline as text.
#pragma once

#include <cstdint>
#include <string>

#include "draw/timeline.h"

namespace lab {

/// The rows of a timeline with one cell a time slice, an axis and a legend; no line is wider than `columns`.
/// What filled most of a cell gives its glyph. Give `scale_span_ns`, the longest span of several timelines,
/// to print them below each other on one scale; 0 fills the width. `colour` adds ANSI colours.
[[nodiscard]] std::string timeline_terminal(const Timeline& timeline, int columns, bool colour,
                                            int64_t scale_span_ns = 0);

}  // namespace lab
