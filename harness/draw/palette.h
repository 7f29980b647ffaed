// How each kind of work looks: the colours of Okabe and Ito, which people with any kind of colour vision can
// tell apart (https://jfly.uni-koeln.de/color/): cool ones for kernels, warm ones for copies, grey for the
// host, so that even stripes too fine to be told apart say which of these they are. And a second sign besides
// colour: height in SVG, a glyph in text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "draw/timeline.h"

namespace lab {

/// What a box is painted as. The first kOwnColours are kernels, by colour index.
enum Paint {
    kPaintOtherKernels = kOwnColours,
    kPaintToDevice,
    kPaintToHost,
    kPaintOtherCopy,
    kPaintSet,
    kPaintRange,
    kPaintWait,
    kPaintCall,
    kPaintIdle,
    kPaints
};

/// How a paint looks.
struct Look {
    const char* fill;   ///< SVG colour
    const char* ink;    ///< SVG colour of text on it
    int terminal;       ///< colour of the 256-colour palette
    double height;      ///< share of the lane that a box fills
    const char* glyph;  ///< in a terminal, where most of the cell is covered
    const char* says;   ///< in a legend; empty for kernels, which have names
};

/// The look of a Paint.
[[nodiscard]] const Look& look_of(int paint);

/// A kernel's name and its weight.
struct KernelTime {
    std::string name;
    int64_t ns = 0;  ///< time in all kernels of this name, summed
};

/// Puts kernels into the order of their colour indices: most time first.
void order_by_colour(std::vector<KernelTime>& kernels);

/// Colours for timelines that are drawn together: one name has one colour in all of them.
struct SharedColours {
    std::vector<std::string> names;       ///< of the kernels, by shared colour index
    std::vector<std::vector<int>> index;  ///< for each timeline, from its colour indices to the shared ones

    /// The Paint of a box of one of the timelines.
    [[nodiscard]] int paint(std::size_t timeline, const Box& box) const;
};

/// The kernels of all of them take colours by their time in all of them.
[[nodiscard]] SharedColours share_colours(std::span<const Timeline> timelines);

/// The colours that a timeline has already.
[[nodiscard]] SharedColours own_colours(const Timeline& timeline);

/// Gives the kernels of all timelines shared colour indices, for timelines that are printed one by one.
void align_colours(std::vector<Timeline>& timelines);

/// A paint and what it stands for.
struct LegendEntry {
    int paint = 0;
    std::string text;
};

/// What each paint stands for, for the paints that the timelines use.
[[nodiscard]] std::vector<LegendEntry> legend_of(std::span<const Timeline> timelines,
                                                 const SharedColours& colours);

}  // namespace lab
