// Numbers with units, and text from strangers made safe to print.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lab {

/// A duration with three significant digits and the unit that suits it: "24.5 ms".
[[nodiscard]] std::string format_ns(double ns);

/// A size in decimal units, as data sheets and nsys count: "400 MB".
[[nodiscard]] std::string format_bytes(double bytes);

/// A plain number with at most `significant` significant digits and no trailing zeros behind its point; the
/// digits in front of the point are all there.
[[nodiscard]] std::string format_number(double value, int significant = 4);

/// `text` as one line of valid UTF-8 without control characters: a kernel's name cannot steer the terminal.
[[nodiscard]] std::string printable(std::string_view text);

/// `text` for an element or an attribute of XML or HTML: printable, and escaped.
[[nodiscard]] std::string xml_text(std::string_view text);

/// `text` for a cell of a Markdown table, in which a bar would end the cell.
[[nodiscard]] std::string markdown_cell(std::string text);

/// `text` cut to at most `width` columns, the cut marked with an ellipsis.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t width);

/// `text` in lines of at most `width` columns, broken between words; a longer word has a line of its own.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// Columns that `text` takes in a terminal; the escape sequences of our own colours take none.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// The parts between separators, one more than there are of these: of "" one, which is empty.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// `text` without spaces, tabs and line ends around it.
[[nodiscard]] std::string trim(std::string_view text);

/// The command as one line that a shell reads back as the same words.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& command);

/// Adds words to a command.
void append(std::vector<std::string>& words, const std::vector<std::string>& more);

/// Now, in UTC: "2026-11-20T05:24:41Z".
[[nodiscard]] std::string utc_now();

/// The candidate that differs from `word` in the fewest letters, or "" if none is near: for "did you mean".
[[nodiscard]] std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace lab
