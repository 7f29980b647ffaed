#include "draw/svg_text.h"

#include <fmt/format.h>

#include "core/utf8.h"

namespace lab {

namespace {

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

}  // namespace lab
