// The timeline as text: never too wide, on the scale it was given, readable without colour.
#include "draw/timeline.h"

#include <doctest/doctest.h>

#include "core/text.h"
#include "tests/draw_traces.h"

namespace lab::draw_terminal_test {

using namespace test;

namespace {

/// 10 ms: to the device, half a kernel, nothing, to the host; the host waits for the last half.
Timeline sample() {
    Trace trace;
    add_copy(trace, Direction::host_to_device, 0, 2 * kMs, 13);
    add_kernel(trace, "k", 2 * kMs, 4 * kMs, 13);
    add_kernel(trace, "k", 2 * kMs, 6 * kMs, 14);
    add_copy(trace, Direction::device_to_host, 8 * kMs, 10 * kMs, 13);
    add_call(trace, "cudaDeviceSynchronize", 5 * kMs, 10 * kMs, 99);
    add_range(trace, "normalise", 0, 10 * kMs);
    return timeline_of(trace, {"sample", "recorded · somewhere", std::nullopt});
}

/// The line that begins with `label`, without the label.
std::string line_of(const std::string& text, const std::string& label) {
    for (const std::string& line : split(text, '\n'))
        if (line.starts_with(label)) return trim(line.substr(label.size()));
    return "no such line";
}

std::string times(int count, const std::string& glyph) {
    std::string text;
    for (int i = 0; i < count; ++i) text += glyph;
    return text;
}

}  // namespace

TEST_CASE("Each row shows what ran when") {
    // Labels take 18 columns (" Stream 13 Kernels"), a blank one: 50 cells are left, 0.2 ms each.
    const std::string text = timeline_terminal({sample()}, 69, false);
    CHECK(text.find("\nCPU, main thread\n NVTX") != text.npos);
    CHECK(text.find("\nCUDA HW\n Stream 13 Kernels") != text.npos);
    CHECK(line_of(text, " Stream 13 Kernels") == times(10, "·") + times(10, "█") + times(30, "·"));
    CHECK(line_of(text, " Stream 13 Memory") == times(10, "→") + times(30, "·") + times(10, "←"));
    CHECK(line_of(text, " Stream 14 Kernels") == times(10, "·") + times(20, "█") + times(20, "·"));
    CHECK(line_of(text, "GPU idle") == times(10, "█"));
    CHECK(line_of(text, " NVTX") == "├normalise" + times(39, "─") + "┤");
    CHECK(line_of(text, " CUDA API") == "╞cudaDeviceSynchronize" + times(2, "═") + "╡");
    CHECK(text.starts_with("sample: 10 ms\nrecorded · somewhere\n"));
    CHECK(text.find("▄ GPU idle 2 ms of 10 (20 %)") != text.npos);
    CHECK(timeline_terminal({timeline_of({})}, 80, false).find("No GPU work") != text.npos);
}

TEST_CASE("Timelines above each other have one scale and begin in one column") {
    Trace trace;
    add_kernel(trace, "k", 0, 20 * kMs, 1);
    const std::string both = timeline_terminal({sample(), timeline_of(trace)}, 69, false);
    const std::string text = both.substr(0, both.find("\n\n"));
    CHECK(line_of(both, " Stream 1 Kernels") == times(50, "█"));
    CHECK(line_of(text, " Stream 13 Memory") == times(5, "→") + times(15, "·") + times(5, "←"));
    CHECK(text.find("20 ms") == text.npos);  // would not fit at the right edge
    CHECK(text.find("15 ms") != text.npos);
}

TEST_CASE("The axis has ticks where their labels begin") {
    const std::vector<std::string> lines = split(timeline_terminal({sample()}, 69, false), '\n');
    std::size_t axis = 0;
    while (lines[axis].find("┴") == std::string::npos) ++axis;
    const std::u32string marks = decode_utf8(lines[axis]), labels = decode_utf8(lines[axis + 1]);
    for (const char32_t* label : {U"0", U"2 ms", U"4 ms", U"6 ms", U"8 ms"}) {
        const std::size_t at = labels.find(label);
        REQUIRE(at != labels.npos);
        CHECK(marks[at] == U'┴');
    }
    CHECK(labels.find(U"4 ms") - labels.find(U"2 ms") == 10);
}

TEST_CASE("Kernels that fill part of a cell are lighter, and the shortest work is still seen") {
    Trace half;
    for (int i = 0; i < 1000; ++i) add_kernel(half, "k", i * 100, i * 100 + 45, 7);
    const std::string text = timeline_terminal({timeline_of(half)}, 60, false);
    CHECK(count_of(line_of(text, " Stream 7"), "▒") > 35);
    CHECK(count_of(line_of(text, "GPU idle"), "▅") > 35);
    Trace trace;
    add_kernel(trace, "k", 0, 10, 7);
    add_copy(trace, Direction::device_to_host, 5 * kMs, 5 * kMs + 10, 7);
    add_kernel(trace, "k", 10 * kMs - 10, 10 * kMs, 7);
    const std::string both = timeline_terminal({timeline_of(trace)}, 65, false);
    const std::string row = line_of(both, " Stream 7 Kernels");
    CHECK(row.starts_with("░·"));
    CHECK(row.ends_with("·░"));
    CHECK(count_of(line_of(both, " Stream 7 Memory"), "←") == 1);
}

TEST_CASE("No line is wider than the terminal") {
    Trace trace;
    for (int i = 0; i < 6; ++i)
        add_range(trace, "ein sehr langer Name e\u0301 日本語", i * 10, 1000 - i * 10);
    add_kernel(trace, "void very::long_name<with, templates>(float const*, unsigned long)", 0, 900, 123456);
    add_copy(trace, Direction::host_to_device, 0, 1000, 7);
    const std::string many(300, 'w');
    const Timeline timeline = timeline_of(trace, {many, many, std::nullopt});
    for (int columns = 1; columns <= 170; ++columns)
        for (const std::string& line : split(timeline_terminal({timeline}, columns, false), '\n'))
            CHECK(static_cast<int>(display_width(line)) <= columns);
}

TEST_CASE("Colours come only where they are wanted, and change nothing else") {
    const std::string plain = timeline_terminal({sample()}, 80, false);
    CHECK(plain.find('\x1b') == plain.npos);
    const std::string coloured = timeline_terminal({sample()}, 80, true);
    std::string stripped;
    for (std::size_t i = 0; i < coloured.size(); ++i)
        if (coloured[i] == '\x1b')
            i = coloured.find('m', i);
        else
            stripped += coloured[i];
    CHECK(coloured.size() > plain.size());
    CHECK(stripped.substr(0, stripped.find("\n█")) == plain.substr(0, plain.find("\n█")));
    CHECK(coloured.substr(coloured.rfind('\x1b'), 4) == "\x1b[0m");
}

TEST_CASE("Names cannot steer the terminal") {
    Trace trace;
    add_kernel(trace, "\x1b[2Jkernel", 0, 1000, 7);
    add_range(trace, "\x1b]0;title\x07", 0, 1000);
    const std::string text =
        timeline_terminal({timeline_of(trace, {"\x1b[31m", "\x9b", std::nullopt})}, 80, false);
    CHECK(text.find('\x1b') == text.npos);
    CHECK(text.find('\x07') == text.npos);
}

}  // namespace lab::draw_terminal_test
