// What the terminal can show, and colours that vanish where they are not wanted.
#pragma once

#include <string>
#include <string_view>

namespace lab {

/// True if standard output is a terminal, TERM is not "dumb", and NO_COLOR is not set.
[[nodiscard]] bool terminal_has_colour();

constexpr int kAnyColumns = 1'000'000;

/// COLUMNS, or the columns of the terminal, at most 160; at least 60. A file or a pipe, which a program may
/// read, has as many as it takes, or `elsewhere`.
[[nodiscard]] int terminal_columns(int elsewhere = kAnyColumns);

/// `text` in lines that fit terminal_columns(), all but the first indented. Lines that it has stay apart.
[[nodiscard]] std::string paragraph(std::string_view text, int indent = 0);

/// A line that somebody else wrote, indented; what does not fit goes on below it, a bit further in.
[[nodiscard]] std::string indented(std::string_view line);

[[nodiscard]] bool is_interactive();  ///< standard input and output are both a terminal

/// Prints lines to standard error, safe to print, in this colour. That it is closed or full is no error.
void say(std::string_view lines, const char* colour = nullptr);

/// `text` in a terminal's colour of this code; as it is where terminal_has_colour() says no.
[[nodiscard]] std::string coloured(const char* code, std::string_view text);
[[nodiscard]] inline std::string bold(std::string_view text) {
    return coloured("1", text);
}
[[nodiscard]] inline std::string dim(std::string_view text) {
    return coloured("2", text);
}
[[nodiscard]] inline std::string red(std::string_view text) {
    return coloured("31", text);
}
[[nodiscard]] inline std::string green(std::string_view text) {
    return coloured("32", text);
}
[[nodiscard]] inline std::string yellow(std::string_view text) {
    return coloured("33", text);
}

}  // namespace lab
