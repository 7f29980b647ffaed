// Names from a capture may hold anything. Pictures and JSON need valid text of a known width.
#pragma once

#include <string>
#include <string_view>

namespace lab {

/// The characters of UTF-8 `text`; each byte that belongs to no valid character becomes U+FFFD.
[[nodiscard]] std::u32string decode_utf8(std::string_view text);

/// The characters, none above U+10FFFF, as UTF-8.
[[nodiscard]] std::string encode_utf8(std::u32string_view characters);

/// `text` as valid UTF-8 without control characters and without the invisible ones that reorder text. A line
/// break or a tab becomes a space.
[[nodiscard]] std::string one_line(std::string_view text);

/// Columns that a character takes in a terminal: 2 for East Asian and emoji, else 1.
[[nodiscard]] int columns_of(char32_t character);
[[nodiscard]] int columns_of(std::string_view text);

/// `text` cut to at most `columns` columns, the cut marked with an ellipsis.
[[nodiscard]] std::string fit_columns(std::string_view text, int columns);

}  // namespace lab
