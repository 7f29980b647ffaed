// What the terminal can show, and colours that vanish where they are not wanted.
#pragma once

#include <string>
#include <string_view>

namespace lab {

/// True if standard output is a terminal, TERM is not "dumb", and NO_COLOR is not set.
[[nodiscard]] bool terminal_has_colour();

/// Columns of the terminal, or 100 where there is none; between 60 and 160.
[[nodiscard]] int terminal_columns();

[[nodiscard]] bool is_interactive();  ///< standard input and output are both a terminal

[[nodiscard]] std::string bold(std::string_view text);
[[nodiscard]] std::string green(std::string_view text);
[[nodiscard]] std::string red(std::string_view text);
[[nodiscard]] std::string yellow(std::string_view text);
[[nodiscard]] std::string dim(std::string_view text);

}  // namespace lab
