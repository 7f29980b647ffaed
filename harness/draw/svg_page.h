// The page that a figure is drawn on: its size, its colours by day and by night; and text on it, measured so
// that it neither overlaps nor overflows.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace lab {

constexpr double kPageWidth = 960, kPageMargin = 16, kPageRight = 928;  ///< px; plots end at kPageRight
constexpr double kTitleFont = 15, kNoteFont = 11;                       ///< px

/// Attributes of text.
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

/// The elements of a figure, in the order in which they are drawn.
class SvgPage {
  public:
    template <class... Args>
    void put(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(body_), format, std::forward<Args>(args)...);
    }

    /// One line of text that begins at `x`, or lies as a text-anchor in `look` says; `y` is its baseline.
    void text(double x, double y, double font, std::string_view look, std::string_view words);

    /// The whole figure. `description` is for those who hear it; elements may refer to `definitions`.
    [[nodiscard]] std::string figure(double height, std::string_view description,
                                     std::string_view definitions) const;

  private:
    std::string body_;
};

}  // namespace lab
