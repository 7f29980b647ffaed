// How each kind of work looks: the colours of Okabe and Ito, which people with any kind of colour vision can
// tell apart (https://jfly.uni-koeln.de/color/): cool ones for kernels, warm ones for copies, grey for the
// host, so that even stripes too fine to be told apart say which of these they are. A violet and a wine that
// stand apart from them for any such reader are for kernels, too, and a brown is for communication. And a
// second sign besides colour: height in SVG, a glyph in text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "draw/timeline.h"

namespace lab {

/// How a paint looks.
struct Look {
    const char* fill;     ///< SVG colour
    const char* ink;      ///< SVG colour of text on it
    int terminal;         ///< colour of the 256-colour palette
    double height;        ///< share of the lane that a box fills
    const char* glyph;    ///< in a terminal, where most of the cell is covered
    const char* meaning;  ///< in a legend; empty for kernels, which have names
};

[[nodiscard]] const Look& look_of(Paint paint);

/// That of a copy or a memory set.
[[nodiscard]] Paint paint_of(const Copy& copy);

/// Is this the first row of its group?
[[nodiscard]] bool begins_group(const Timeline& timeline, const TimelineRow& row);

/// The group of the curves.
inline constexpr const char* kMetrics = "GPU Metrics";

/// A paint and what it stands for.
struct LegendEntry {
    Paint paint{};
    std::string text;
};

/// What each paint stands for, for the paints that the timelines use.
[[nodiscard]] std::vector<LegendEntry> legend_of(std::span<const Timeline> timelines);

}  // namespace lab
