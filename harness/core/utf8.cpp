#include "core/utf8.h"

namespace lab {

namespace {

constexpr char32_t kReplacement = 0xFFFD;

struct Span {
    char32_t first, last;
};

template <std::size_t N>
bool is_in(char32_t c, const Span (&spans)[N]) {
    for (const Span& span : spans)
        if (span.first <= c && c <= span.last) return true;
    return false;
}

/// Bytes that a character takes which starts with this byte, or 0 if none does.
int length_from(unsigned char first) {
    return first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
}

/// The character at the front of `text`, and its length in `bytes`.
char32_t decode_one(std::string_view text, std::size_t& bytes) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto length = static_cast<std::size_t>(length_from(byte(0)));
    bytes = 1;
    if (length == 1) return byte(0);
    if (length == 0 || length > text.size()) return kReplacement;
    char32_t c = byte(0) & (0xFFu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0) != 0x80) return kReplacement;
        c = (c << 6) | (byte(i) & 0x3F);
    }
    const bool too_long = (length == 3 && c < 0x800) || (length == 4 && c < 0x10000);
    const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
    if (too_long || surrogate || c > 0x10FFFF) return kReplacement;
    bytes = length;
    return c;
}

}  // namespace

std::u32string decode_utf8(std::string_view text) {
    std::u32string characters;
    characters.reserve(text.size());
    for (std::size_t bytes = 0; !text.empty(); text.remove_prefix(bytes))
        characters += decode_one(text, bytes);
    return characters;
}

std::string encode_utf8(std::u32string_view characters) {
    std::string text;
    text.reserve(characters.size());
    for (const char32_t c : characters) {
        const auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
        if (c < 0x80) {
            text += static_cast<char>(c);
        } else if (c < 0x800) {
            text += static_cast<char>(0xC0 | (c >> 6));
            tail(0);
        } else if (c < 0x10000) {
            text += static_cast<char>(0xE0 | (c >> 12));
            tail(6), tail(0);
        } else {
            text += static_cast<char>(0xF0 | (c >> 18));
            tail(12), tail(6), tail(0);
        }
    }
    return text;
}

std::string one_line(std::string_view text) {
    // C0 and C1 controls, soft hyphen, zero width and direction marks, line separators, byte order mark, and
    // the two code points that XML forbids.
    static constexpr Span kDropped[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},
                                        {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},
                                        {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xFFFE, 0xFFFF}};
    std::u32string kept;
    for (const char32_t c : decode_utf8(text)) {
        if (c == '\n' || c == '\t')
            kept += U' ';
        else if (!is_in(c, kDropped))
            kept += c;
    }
    return encode_utf8(kept);
}

int columns_of(char32_t character) {
    static constexpr Span kWide[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                                     {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                                     {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
    return is_in(character, kWide) ? 2 : 1;
}

int columns_of(std::string_view text) {
    int columns = 0;
    for (const char32_t c : decode_utf8(text)) columns += columns_of(c);
    return columns;
}

std::string fit_columns(std::string_view text, int columns) {
    if (columns_of(text) <= columns) return std::string(text);
    if (columns <= 0) return "";
    std::u32string kept;
    int used = 1;  // the ellipsis
    for (const char32_t c : decode_utf8(text)) {
        used += columns_of(c);
        if (used > columns) break;
        kept += c;
    }
    return encode_utf8(kept + U'…');
}

}  // namespace lab
