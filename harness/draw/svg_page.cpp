#include "draw/svg_page.h"

#include "core/text.h"

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

/// Widths in DejaVu Sans and Verdana, the widest of the fonts a browser falls back to, in font sizes.
double ems_of(char32_t c) {
    constexpr std::u32string_view kThin = U"iljI|.,:;'! ·", kNarrow = U"frt()[]{}/\\\"-*";
    constexpr std::u32string_view kBroad = U"mwMW@%&…→←↔";
    if (columns_of(c) == 2) return 1.1;
    if (kThin.find(c) != kThin.npos) return 0.36;
    if (kNarrow.find(c) != kNarrow.npos) return 0.47;
    if (kBroad.find(c) != kBroad.npos) return 1.0;
    if (c >= 'A' && c <= 'Z') return 0.76;
    if (c < 0x80) return 0.65;
    return 0.85;
}

}  // namespace

double text_px(std::string_view text, double font_px) {
    double ems = 0;
    for (const char32_t c : decode_utf8(text)) ems += ems_of(c);
    return ems * font_px;
}

std::string fit_px(std::string_view text, double font_px, double px) {
    if (text_px(text, font_px) <= px) return std::string(text);
    double left = px - ems_of(U'…') * font_px;
    if (left < 0) return "";
    std::u32string kept;
    for (const char32_t c : decode_utf8(text)) {
        left -= ems_of(c) * font_px;
        if (left < 0) break;
        kept += c;
    }
    return encode_utf8(kept + U'…');
}

std::string px(double value) {
    std::string text = fmt::format("{:.1f}", value);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text == "-0" ? "0" : text;
}

void SvgPage::text(double x, double y, double font, std::string_view look, std::string_view words) {
    put("<text x=\"{}\" y=\"{}\" font-size=\"{}\" {}>{}</text>\n", px(x), px(y), font, look, xml_text(words));
}

std::string SvgPage::figure(double height, std::string_view description, std::string_view definitions) const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\" role=\"img\" "
        "aria-label=\"{2}\">\n{3}{4}<rect class=\"paper\" width=\"{0}\" height=\"{1}\" "
        "fill=\"#ffffff\"/>\n{5}</svg>\n",
        px(kPageWidth), px(height), xml_text(description), kStyle, definitions, body_);
}

}  // namespace lab
