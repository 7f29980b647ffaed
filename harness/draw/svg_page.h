// The page that all figures are drawn on: its size, its fonts, its colours by day and by night; and text on
// it, measured so that it neither overlaps nor overflows.
#pragma once

#include <string>
#include <string_view>

namespace lab {

constexpr double kPageWidth = 960, kPageMargin = 16, kPageRight = 928;  ///< px; plots end at kPageRight
constexpr double kTitleFont = 15, kNoteFont = 11;                       ///< px

/// Attributes of text: what is read first, what stands in the second row, and what is read before all.
constexpr const char* kInk = "class=\"ink\" fill=\"#1f2328\"";
constexpr const char* kNote = "class=\"note\" fill=\"#57606a\"";
constexpr const char* kBold = "class=\"ink\" fill=\"#1f2328\" font-weight=\"bold\"";

/// Width of `text` in pixels at a font size in pixels. The reader's font is not known, so this is the width
/// in a wide sans-serif.
[[nodiscard]] double text_px(std::string_view text, double font_px);

/// `text` cut to at most `px` pixels, the cut marked with an ellipsis.
[[nodiscard]] std::string fit_px(std::string_view text, double font_px, double px);

/// A coordinate: at most one decimal, and none where it is zero.
[[nodiscard]] std::string px(double value);

/// One line of text that begins at `x`, or lies as a text-anchor in `look` says; `y` is its baseline.
void append_text(std::string& svg, double x, double y, double font, std::string_view look,
                 std::string_view words);

/// Title and source in one line below `top`, each cut to the room it has.
void append_title(std::string& svg, double top, std::string_view title, std::string_view label);

/// `body` as a whole figure. `description` is for those who hear it; the body may refer to `definitions`.
[[nodiscard]] std::string svg_page(double height, std::string_view description, std::string_view definitions,
                                   std::string_view body);

}  // namespace lab
