// Text in an SVG, measured so that it neither overlaps nor overflows. xml_text() of core/text.h escapes it.
#pragma once

#include <string>
#include <string_view>

namespace lab {

/// Width of `text` in pixels at a font size in pixels. The reader's font is not known, so this is the width
/// in a wide sans-serif.
[[nodiscard]] double text_px(std::string_view text, double font_px);

/// `text` cut to at most `px` pixels, the cut marked with an ellipsis.
[[nodiscard]] std::string fit_px(std::string_view text, double font_px, double px);

/// A coordinate: at most one decimal, and none where it is zero.
[[nodiscard]] std::string px(double value);

}  // namespace lab
