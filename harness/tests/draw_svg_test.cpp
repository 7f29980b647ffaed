// The SVG figure: well formed, on one scale, small, and the same every time.
#include "draw/timeline.h"

#include <doctest/doctest.h>

#include "draw/palette.h"
#include "tests/draw_traces.h"

namespace lab::draw_svg_test {

using namespace test;

namespace {

constexpr double kLeft = 228, kRight = 928;

/// `count` pairs of kernels, one twice as long as the other, on `streams` streams.
Timeline kernel_pairs(int count, int streams, int64_t ns = 45'000) {
    Trace trace;
    for (int i = 0; i < count; ++i) {
        const int64_t at = i * (ns + 2'000), stream = 13 + i % streams;
        add_kernel(trace, "partial_reduce", at, at + 2 * ns / 3, stream);
        add_kernel(trace, "single_thread_sum", at + 2 * ns / 3 + 1'000, at + ns + 1'000, stream);
    }
    return timeline_of(trace, {"pairs", "recorded", std::nullopt});
}

Timeline copy_and_kernel(int64_t kernel_ms, const std::string& title) {
    Trace trace;
    add_copy(trace, Direction::host_to_device, 7 * kMs, 8 * kMs, 13);
    add_kernel(trace, "work", 8 * kMs, (8 + kernel_ms) * kMs, 13);
    return timeline_of(trace, {title, "recorded", std::nullopt});
}

/// kernel_0, kernel_1, ...: each runs once, and a bit shorter than the one before.
std::string picture_of_kernels(int count) {
    Trace trace;
    for (int i = 0; i < count; ++i)
        add_kernel(trace, "kernel_" + std::to_string(i), i * 100, i * 100 + 90 - i, 7);
    return timeline_svg({timeline_of(trace)});
}

}  // namespace

TEST_CASE("Timelines above each other share one scale, and each starts at its own zero") {
    const std::string svg = timeline_svg({copy_and_kernel(7, "long"), copy_and_kernel(3, "short")});
    REQUIRE(xml_problem(svg) == "");
    const std::size_t second = svg.find(">short<");
    REQUIRE(second != svg.npos);
    const Place first_copy = place_of(svg, "copy host"), second_copy = place_of(svg, "copy host", second);
    CHECK(first_copy.x == 0);
    CHECK(second_copy.x == 0);
    CHECK(first_copy.width == doctest::Approx((kRight - kLeft) / 8));
    CHECK(second_copy.width == doctest::Approx(first_copy.width));
    CHECK(place_of(svg, "work", second).width == doctest::Approx(3 * first_copy.width));
    CHECK(number_after(svg, "class=\"end\" d=\"M") == doctest::Approx(kRight));
    CHECK(number_after(svg, "class=\"end\" d=\"M", second) == doctest::Approx((kLeft + kRight) / 2));
    CHECK(svg.find(">8 ms</text>") != svg.npos);
    CHECK(svg.find(">4 ms</text>") != svg.npos);
}

TEST_CASE("Thin boxes are drawn together and say how many they are") {
    Trace trace;
    for (int i = 0; i < 10'000; ++i) add_kernel(trace, "tiny", i * 100, i * 100 + 100, 7);
    const std::string svg = timeline_svg({timeline_of(trace)});
    CHECK(count_of(svg, "<title>") == 1);
    CHECK(svg.find("<title>10000 × tiny, 1 ms of 1 ms</title>") != svg.npos);
}

TEST_CASE("Stripes keep their places and share a hover text") {
    Trace trace;
    for (int i = 0; i < 500; ++i) add_kernel(trace, "stripe", i * 100, i * 100 + 98, 7);
    const std::string svg = timeline_svg({timeline_of(trace)});
    CHECK(count_of(svg, "<title>") == 1);
    CHECK(svg.find("<title>500 × stripe, 49 µs of 50 µs</title>") != svg.npos);
    CHECK(count_of(svg, "v18h1.4V0") == 500);
}

TEST_CASE("The duration of a very short timeline stays inside the figure") {
    Trace trace;
    add_kernel(trace, "k", 0, 100, 7);
    Trace longer;
    add_kernel(longer, "k", 0, 1000 * kMs, 7);
    const std::string svg = timeline_svg({timeline_of(trace), timeline_of(longer)});
    const std::size_t duration = svg.rfind("<text", svg.find(">100 ns</text>"));
    CHECK(number_after(svg, "x=\"", duration) >= 46);  // the width of "100 ns"
}

TEST_CASE("The figure does not grow with the number of kernels") {
    const std::string some = timeline_svg({kernel_pairs(20'000, 1)});
    const std::string many = timeline_svg({kernel_pairs(80'000, 1)});
    CHECK(xml_problem(many) == "");
    CHECK(many.size() < 100'000);
    CHECK(static_cast<double>(many.size()) < 1.1 * static_cast<double>(some.size()));
}

TEST_CASE("Idle time is hatched, with its total") {
    Trace trace;
    add_kernel(trace, "k", 0, 1 * kMs, 7);
    add_kernel(trace, "k", 3 * kMs, 4 * kMs, 7);
    const std::string svg = timeline_svg({timeline_of(trace)});
    CHECK(svg.find(">GPU idle 2 ms of 4 (50 %)<") != svg.npos);  // of what, in the same unit
    const Place gap = place_of(svg, "GPU idle 2 ms");
    CHECK(gap.x == doctest::Approx((kRight - kLeft) / 4));
    CHECK(gap.width == doctest::Approx((kRight - kLeft) / 2));
}

TEST_CASE("Names from strangers leave the figure well formed") {
    Trace trace;
    const std::string names[] = {"a<b>&\"c'",           "\x01\x1b[31mred\x7f", "\xff\xfe\xc3", "]]><script>",
                                 "two\nlines\tand tab", "\xe2\x80\xaegnp",     "日本語",       ""};
    int64_t at = 0;
    for (const std::string& name : names) add_kernel(trace, name, at, at + 100, 7), at += 100;
    add_range(trace, "<range> & \"co\"\x02", 0, at);
    const std::string svg =
        timeline_svg({timeline_of(trace, {"<title> & \x03", "\"label\" <&>", std::nullopt})});
    CHECK(xml_problem(svg) == "");
    CHECK(svg.find("a&lt;b&gt;&amp;&quot;c&#39;") != svg.npos);
    CHECK(svg.find("\x1b") == svg.npos);
    CHECK(svg.find("<script") == svg.npos);
    CHECK(svg.find("\xe2\x80\xae") == svg.npos);
    CHECK(svg.find("\xef\xbf\xbd") != svg.npos);
    CHECK(svg.find("日本語") != svg.npos);
}

TEST_CASE("Kernels beyond the palette share a colour, and the legend counts them or names the only one") {
    const std::string many = picture_of_kernels(9), one = picture_of_kernels(7);
    CHECK(many.find(">3 other kernels<") != many.npos);
    CHECK(many.find(look_of(Paint::other_kernels).fill) != many.npos);
    CHECK(one.find(">kernel_6<") != one.npos);
    CHECK(one.find("other kernel") == one.npos);
}

TEST_CASE("The legend explains what is drawn pale, and only where something is") {
    Trace gaps, dense;
    for (int i = 0; i < 10'000; ++i) add_kernel(gaps, "k", i * 100, i * 100 + 40, 7);
    for (int i = 0; i < 10'000; ++i) add_kernel(dense, "k", i * 100, i * 100 + 100, 7);
    const std::string pale = timeline_svg({timeline_of(dense), timeline_of(gaps)});
    CHECK(xml_problem(pale) == "");
    CHECK(count_of(pale, ">faint: many drawn as one, with gaps between them<") == 1);
    CHECK(timeline_svg({timeline_of(dense)}).find("faint") == std::string::npos);
    Trace single;
    add_kernel(single, "k", 0, 100, 7);
    CHECK(timeline_svg({timeline_of(single)}).find("faint") == std::string::npos);
}

TEST_CASE("Long titles, labels and names are cut, and so are the lanes of a row") {
    Trace trace;
    for (int i = 0; i < 20; ++i) add_kernel(trace, "k", i, 1000 + i, 7);
    CHECK(timeline_svg({timeline_of(trace)}).find("(8 of 20 lanes)") != std::string::npos);
    trace = {};
    add_kernel(trace, std::string(500, 'k'), 0, 100, 7);
    const std::string svg =
        timeline_svg({timeline_of(trace, {std::string(500, 't'), std::string(500, 'l'), std::nullopt})});
    CHECK(svg.find(std::string(200, 't') + "</text>") == svg.npos);
    CHECK(count_of(svg, "…</text>") == 3);  // title, label, legend
}

TEST_CASE("Captures with nothing to draw say so") {
    const std::string empty = timeline_svg({timeline_of({}, {"empty", "", std::nullopt})});
    CHECK(xml_problem(empty) == "");
    CHECK(empty.find("No GPU work") != empty.npos);
    CHECK(xml_problem(timeline_svg({})) == "");

    Trace trace;
    add_kernel(trace, "instant", 5, 5, 7);
    const std::string svg = timeline_svg({timeline_of(trace)});
    CHECK(xml_problem(svg) == "");
    CHECK(svg.find("<title>instant") != svg.npos);
}

TEST_CASE("The same input gives the same bytes, and no number is out of range") {
    const std::vector<Timeline> timelines = {kernel_pairs(200, 3), copy_and_kernel(3, "x")};
    const std::string svg = timeline_svg(timelines);
    CHECK(svg == timeline_svg(timelines));
    CHECK(svg.find("nan") == svg.npos);
    CHECK(svg.find("inf") == svg.npos);
    CHECK(svg.find("e+") == svg.npos);
    CHECK(svg.find("\"-") == svg.npos);
}

}  // namespace lab::draw_svg_test
