// The roofline as text: never too wide, roofs as lines, points as numbers.
#include "draw/roofline_terminal.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "tests/draw_rooflines.h"
#include "tests/draw_traces.h"

using namespace lab;
using namespace lab::test;

namespace {

int widest(const std::string& text) {
    int columns = 0;
    for (const std::string& line : split(text, '\n'))
        columns = std::max(columns, static_cast<int>(display_width(line)));
    return columns;
}

}  // namespace

TEST_CASE("In a terminal, roofs are lines and points are numbers") {
    Roofline roofline = with_point(1, 1e12);
    roofline.bandwidths.push_back({"L2", 4e13, false});
    const std::string text = roofline_terminal(roofline, 80, 20, false);
    CHECK(text.starts_with("simple\nrecorded · somewhere\n"));
    const std::vector<std::string> lines = split(text, '\n');
    std::vector<std::u32string> plot;
    for (const std::string& line : lines)
        if (line.find("│") != line.npos || line.find("┤") != line.npos) plot.push_back(decode_utf8(line));
    REQUIRE(plot.size() == 20);
    CHECK(text.find("\n1   k: 1 FLOP/byte, 1 TFLOP/s, 25% of 4 TFLOP/s (DRAM read, measured") != text.npos);
    CHECK(text.find("\na   DRAM read, measured: 4 TB/s ///\n") != text.npos);
    CHECK(text.find("\nb   L2, theoretical: 40 TB/s ···\n") != text.npos);
    CHECK(text.find("\nc   FP32 FMA, measured: 64 TFLOP/s ───\n") != text.npos);

    // A line of / rises to the right, and ends where the line of ─ is; the letter of that is at its end.
    std::size_t compute_row = 0;
    while (plot[compute_row].find(U"───") == std::u32string::npos) ++compute_row;
    CHECK(plot[compute_row].back() == U'c');
    std::size_t before = 80;
    int rows = 0;
    for (std::size_t row = compute_row + 1; row < plot.size(); ++row) {
        const std::size_t at = plot[row].find(U'/', plot[row].find_first_of(U"│┤"));
        if (at == std::u32string::npos) continue;
        CHECK(at < before);
        before = at;
        ++rows;
    }
    CHECK(rows > 8);
    // The point is below the roof that limits it, and to the left of the ridge.
    for (std::size_t row = 0; row < plot.size(); ++row) {
        const std::size_t axis = plot[row].find_first_of(U"│┤");
        const std::size_t point = plot[row].find(U'1', axis), line = plot[row].find(U'/', axis);
        if (point == std::u32string::npos) continue;
        CHECK(row > compute_row);
        CHECK((line == std::u32string::npos || line < point));
    }
}

TEST_CASE("No line of a roofline is wider than the terminal, and all of it is valid text") {
    for (const Roofline& roofline : samples())
        for (int columns = 1; columns <= 170; columns += columns < 30 ? 1 : 20)
            for (const int rows : {1, 8, 24}) {
                const std::string text = roofline_terminal(roofline, columns, rows, false);
                CHECK(encode_utf8(decode_utf8(text)) == text);
                CHECK(text.find('\x1b') == text.npos);
                CHECK(text.find("\xe2\x80\xae") == text.npos);
                CHECK(widest(text) <= columns);
            }
}

TEST_CASE("Points in one place have numbers next to each other") {
    Roofline roofline = simple();
    for (int i = 0; i < 5; ++i) roofline.points.push_back({"k", 1, 1e12, {}, 0, 0});
    const std::string some = roofline_terminal(roofline, 80, 20, false);
    const std::string plot = some.substr(0, some.find("└"));
    for (const char* number : {"2", "3", "4", "5"}) CHECK(plot.find(number) != plot.npos);
    CHECK(some.find("no room in the plot") == some.npos);
    for (int i = 0; i < 200; ++i) roofline.points.push_back({"k", 1, 1e12, {}, 0, 0});
    const std::string many = roofline_terminal(roofline, 80, 20, false);
    CHECK(many.find("no room in the plot") != many.npos);
    CHECK(widest(many) <= 80);
}

TEST_CASE("Colours of a roofline change nothing else") {
    const std::string plain = roofline_terminal(many_roofs(), 100, 24, false);
    const std::string coloured = roofline_terminal(many_roofs(), 100, 24, true);
    CHECK(coloured.size() > plain.size());
    for (const std::string& line : split(coloured, '\n')) CHECK(display_width(line) <= 100);
    const auto numbers = [](const std::string& text) { return count_of(text, "FLOP/byte"); };
    CHECK(numbers(coloured) == numbers(plain));
}

TEST_CASE("A roofline that cannot be drawn is refused in a terminal, too") {
    CHECK_THROWS_AS(static_cast<void>(roofline_terminal({}, 80, 20, false)), Error);
}
