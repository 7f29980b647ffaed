#include "core/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/text.h"

namespace lab {

bool terminal_has_colour() {
    static const bool colour = [] {
        const char* no_color = std::getenv("NO_COLOR");
        const char* term = std::getenv("TERM");
        return isatty(STDOUT_FILENO) && !(no_color && *no_color) && term && std::strcmp(term, "dumb") != 0;
    }();
    return colour;
}

int terminal_columns() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 100;
    return std::clamp<int>(size.ws_col, 60, 160);
}

int table_columns() {
    return isatty(STDOUT_FILENO) ? terminal_columns() : 0;
}

std::string paragraph(std::string_view text, int indent) {
    if (!isatty(STDOUT_FILENO)) return std::string(text);
    const auto width = static_cast<std::size_t>(terminal_columns() - indent);
    return join(wrapped(text, width), "\n" + std::string(static_cast<std::size_t>(indent), ' '));
}

bool is_interactive() {
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

void say(std::string_view lines, const char* colour) {
    const std::string text = printable_lines(lines);
    std::fputs(((colour ? coloured(colour, text) : text) + "\n").c_str(), stderr);
}

std::string coloured(const char* code, std::string_view text) {
    if (!terminal_has_colour()) return std::string(text);
    return std::string("\x1b[") + code + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace lab
