#include "draw/svg_page.h"

#include <fmt/format.h>

#include <iterator>

#include "core/text.h"
#include "draw/svg_text.h"

namespace lab {

namespace {

// A reader's dark mode changes paper and ink. Where the style is not honoured, such as in a converter, the
// attributes of each element give the light version, on its own background.
constexpr const char* kStyle = R"svg(<style>
@media (prefers-color-scheme: dark) {
.paper { fill: #0d1117 } .panel { fill: #1b222c } .ink { fill: #e6edf3 } .note { fill: #9da7b3 }
.grid { stroke: #3a4350 } .end { stroke: #e6edf3 }
}
</style>
)svg";

}  // namespace

void append_text(std::string& svg, double x, double y, double font, std::string_view look,
                 std::string_view words) {
    fmt::format_to(std::back_inserter(svg), "<text x=\"{}\" y=\"{}\" font-size=\"{}\" {}>{}</text>\n", px(x),
                   px(y), font, look, xml_text(words));
}

void append_title(std::string& svg, double top, std::string_view title, std::string_view label) {
    const std::string fitted = fit_px(title, kTitleFont, 0.5 * (kPageRight - kPageMargin));
    const double bold_px = 1.1 * text_px(fitted, kTitleFont);
    const double label_px = fitted.empty() ? kPageMargin : kPageMargin + bold_px + 14;
    append_text(svg, kPageMargin, top + 13, kTitleFont, kBold, fitted);
    append_text(svg, label_px, top + 13, kNoteFont, kNote, fit_px(label, kNoteFont, kPageRight - label_px));
}

std::string svg_page(double height, std::string_view description, std::string_view definitions,
                     std::string_view body) {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\" role=\"img\" "
        "aria-label=\"{2}\">\n{3}{4}<rect class=\"paper\" width=\"{0}\" height=\"{1}\" "
        "fill=\"#ffffff\"/>\n{5}"
        "</svg>\n",
        px(kPageWidth), px(height), xml_text(description), kStyle, definitions, body);
}

}  // namespace lab
