// Numbers with units, and text from strangers made safe to print.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lab {

/// A duration with three significant digits and the unit that suits it: "24.5 ms".
[[nodiscard]] std::string format_ns(double ns);
[[nodiscard]] std::string format_ns(std::integral auto ns) {
    return format_ns(static_cast<double>(ns));
}

/// A size in decimal units, as data sheets and nsys count: "400 MB".
[[nodiscard]] std::string format_bytes(double bytes);

/// A plain number with at most `significant` digits, but all those in front of its point, and no trailing
/// zeros behind it.
[[nodiscard]] std::string format_number(double value, int significant = 4);

/// A share from 0 to 1 as "72.3 %".
[[nodiscard]] std::string percent(double share);

/// A part as a share of the whole: "72.3 %"; "n/a" if the whole is 0.
[[nodiscard]] std::string percent_of(int64_t part, int64_t whole);

/// The digits of a number with commas between thousands: "1,234.5".
[[nodiscard]] std::string with_commas(std::string number);

/// The characters of UTF-8 `text`; each byte that belongs to no valid character becomes U+FFFD.
[[nodiscard]] std::u32string decode_utf8(std::string_view text);

/// The characters as UTF-8.
[[nodiscard]] std::string encode_utf8(std::u32string_view characters);

/// Columns that a character takes in a terminal: 2 for East Asian and emoji, 0 for accents to be combined.
[[nodiscard]] int columns_of(char32_t character);

/// `text` as one line of valid UTF-8, without control characters and marks that reorder text: a kernel's name
/// may hold anything. A line break or a tab becomes a space.
[[nodiscard]] std::string printable(std::string_view text);

/// `text` line by line, each of them printable.
[[nodiscard]] std::string printable_lines(std::string_view text);

/// `text` for an element or an attribute of XML or HTML: printable, and escaped.
[[nodiscard]] std::string xml_text(std::string_view text);

/// `text` cut to at most `width` columns, the cut marked with an ellipsis.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t width);

/// `text` cut to at most `width` columns, with an ellipsis in place of its middle: names differ at their
/// ends.
[[nodiscard]] std::string shorten_middle(std::string_view text, std::size_t width);

/// The first bytes of `text`, at most so many, with an ellipsis if some are left out; UTF-8 stays whole.
[[nodiscard]] std::string clipped(std::string text, std::size_t most_bytes);

/// Bytes of a name that are kept where a file may hold any: of ranges, calls and functions.
inline constexpr std::size_t kLongestName = 1000;

/// `text` in lines of at most `width` columns, broken between words; a longer word has a line of its own. A
/// code span in backticks, a command of ./lab, which is to be copied, a number with its unit, and what is
/// unbroken() are one word.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// `text` with spaces at which wrapped() does not break it.
[[nodiscard]] std::string unbroken(const std::string& text);

/// Columns that `text` takes in a terminal; the escape sequences of our own colours take none.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// The parts between separators, one more than there are of these: of "" one, which is empty.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// `text` without spaces, tabs and line ends around it.
[[nodiscard]] std::string trim(std::string_view text);

/// A function's name as nsys has it, without return type, namespaces, template arguments and parameters.
[[nodiscard]] std::string short_function(std::string_view signature);

/// The command as one line that a shell reads back as the same words.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& command);

/// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv), of several texts: begin with the start, and
/// add one after the other. It tells texts apart; it is no protection against forgery.
inline constexpr uint64_t kHashStart = 0xcbf29ce484222325ULL;
void add_to_hash(uint64_t& hash, std::string_view text);

/// Adds the elements of a list at the end of another.
template <class T>
void append(std::vector<T>& to, const std::vector<std::type_identity_t<T>>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

/// Now, in UTC: "2026-11-20T05:24:41Z".
[[nodiscard]] std::string utc_now();

/// The candidate that differs from `word` in the fewest letters, or "" if none is near: for "did you mean".
[[nodiscard]] std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace lab
