#include "core/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

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

int terminal_columns(int elsewhere) {
    constexpr int kFewest = 60, kMost = 160;
    const char* const set = std::getenv("COLUMNS");
    if (const int columns = set ? std::atoi(set) : 0; columns > 0) return std::max(columns, kFewest);
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return elsewhere;
    return std::clamp<int>(size.ws_col, kFewest, kMost);
}

std::string paragraph(std::string_view text, int indent) {
    const auto width = static_cast<std::size_t>(terminal_columns() - indent);
    std::vector<std::string> lines;
    for (const std::string& line : split(text, '\n')) append(lines, wrapped(line, width));
    return join(lines, "\n" + std::string(static_cast<std::size_t>(indent), ' '));
}

std::string indented(std::string_view line) {
    const std::string text = "    " + std::string(line);
    return std::cmp_less_equal(display_width(text), terminal_columns()) ? text : paragraph(text, 8);
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
