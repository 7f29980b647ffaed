// The roofline: its arithmetic, and where things lie in its picture.
#include "draw/roofline.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/text.h"
#include "draw/label_room.h"
#include "draw/roofline_svg.h"
#include "draw/svg_page.h"
#include "tests/draw_rooflines.h"
#include "tests/draw_traces.h"

using namespace lab;
using namespace lab::test;

namespace {

/// What stands behind `key` in the element that has the hover text.
double number_of(const std::string& svg, const std::string& hover, const std::string& key) {
    const std::size_t title = svg.find("<title>" + hover);
    REQUIRE(title != svg.npos);
    return number_after(svg, key, svg.rfind("\n", title));
}

/// The ends of the line that a path draws.
Outline path_of(const std::string& element) {
    std::string path = element.substr(element.find(" d=\"M") + 5);
    std::replace(path.begin(), path.end(), 'L', ' ');
    const std::vector<std::string> numbers = split(path.substr(0, path.find('"')), ' ');
    REQUIRE(numbers.size() == 4);
    return {{std::stod(numbers[0]), std::stod(numbers[1])}, {std::stod(numbers[2]), std::stod(numbers[3])}};
}

Outline line_of(const std::string& svg, const std::string& hover) {
    const std::size_t title = svg.find("<title>" + hover);
    REQUIRE(title != svg.npos);
    return path_of(svg.substr(svg.rfind("<path", title), 200));
}

/// How far below the line a spot is, in px.
double below(const Outline& line, double x, double y) {
    const double share = (x - line[0].x) / (line[1].x - line[0].x);
    return y - (line[0].y + share * (line[1].y - line[0].y));
}

struct Text {
    std::string words;
    Outline outline;
};

std::string attribute(std::string_view tag, const std::string& name) {
    const std::size_t at = tag.find(" " + name + "=\"");
    if (at == tag.npos) return "";
    const std::size_t begin = at + name.size() + 3;
    return std::string(tag.substr(begin, tag.find('"', begin) - begin));
}

/// All texts of a figure, with the room that they take.
std::vector<Text> texts_of(const std::string& svg) {
    std::vector<Text> texts;
    for (std::size_t at = svg.find("<text "); at != svg.npos; at = svg.find("<text ", at + 1)) {
        const std::size_t end = svg.find('>', at);
        const std::string tag = svg.substr(at, end - at);
        std::string words = svg.substr(end + 1, svg.find('<', end) - end - 1);
        for (const auto& [escaped, plain] :
             {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}})
            for (std::size_t i = words.find(escaped); i != words.npos; i = words.find(escaped))
                words.replace(i, std::string(escaped).size(), plain);
        const double font = std::stod(attribute(tag, "font-size")), width = text_px(words, font);
        const std::string anchor = attribute(tag, "text-anchor"), turned = attribute(tag, "transform");
        const double side = anchor == "middle" ? 0 : anchor == "end" ? -0.5 : 0.5;
        const Spot middle{std::stod(attribute(tag, "x")) + side * width,
                          std::stod(attribute(tag, "y")) - 0.36 * font};
        const double degrees = turned.empty() ? 0 : std::stod(turned.substr(std::string("rotate(").size()));
        if (!turned.empty()) {
            CHECK(number_after(turned, " ") == doctest::Approx(middle.x).epsilon(0.001));
            CHECK(number_after(turned.substr(turned.find(' ') + 1), " ") ==
                  doctest::Approx(middle.y).epsilon(0.001));
        }
        if (!words.empty()) texts.push_back({words, rectangle(middle, width, 1.1 * font, degrees)});
    }
    return texts;
}

std::string sentence_of(const Roofline& roofline) {
    try {
        check(roofline);
    } catch (const Error& error) {
        CHECK(error.exit_code == kBadInput);
        return error.what();
    }
    return "";
}

Limit limit_at(double flop_per_byte, double flop_per_s) {
    const Roofline roofline = with_point(flop_per_byte, flop_per_s);
    return limit_of(roofline, roofline.points[0]);
}

}  // namespace

TEST_CASE("The share of a roof is of the lower one, and says which that is") {
    const Limit left = limit_at(0.5, 1e12);  // 0.5 × 4e12 = 2e12
    CHECK(left.by_bandwidth);
    CHECK(left.flop_per_s == 2e12);
    CHECK(left.share == 0.5);
    CHECK(left.denominator == "DRAM read, measured");
    const Limit right = limit_at(160, 48e12);
    CHECK_FALSE(right.by_bandwidth);
    CHECK(right.flop_per_s == 64e12);
    CHECK(right.share == 0.75);
    CHECK(right.denominator == "FP32 FMA, measured");
    CHECK(limit_at(16, 64e12).share == 1);  // at the ridge
    CHECK(limit_at(0.25, 1.1e12).share ==
          doctest::Approx(1.1));  // a better program than the one that measured
}

TEST_CASE("A point is held against the roofs that it names") {
    const Roofline roofline = many_roofs();
    const Limit fp64 = limit_of(roofline, roofline.points[4]), tf32 = limit_of(roofline, roofline.points[5]);
    CHECK(fp64.denominator == "FP64 FMA, measured");
    CHECK(fp64.share == doctest::Approx(29 / 32.8));
    CHECK(tf32.denominator == "TF32 tensor, measured");
    CHECK(tf32.share == doctest::Approx(148. / 420));
    RooflinePoint by_host{"k", 100, 1e12, {}, 3, 0};
    CHECK(limit_of(roofline, by_host).denominator == "host to device, measured");
    CHECK(limit_of(roofline, by_host).share == doctest::Approx(1 / 5.5));
    by_host.bandwidth = 1;
    by_host.flop_per_byte = 1;
    CHECK(limit_of(roofline, by_host).denominator == "DRAM, theoretical");
}

TEST_CASE("With roofs of one kind only, these limit everywhere") {
    Roofline roofline = with_point(1000, 1e12);
    roofline.computes.clear();
    CHECK(limit_of(roofline, roofline.points[0]).flop_per_s == 4e15);
    roofline = with_point(0.001, 1e12);
    roofline.bandwidths.clear();
    CHECK(limit_of(roofline, roofline.points[0]).flop_per_s == 64e12);
}

TEST_CASE("A ridge point is where FLOP/s over byte/s is") {
    const std::vector<Ridge> one = ridges_of(simple());
    REQUIRE(one.size() == 1);
    CHECK(one[0].flop_per_byte == 16);
    CHECK(one[0].flop_per_s == 64e12);
    const Roofline roofline = many_roofs();
    const std::vector<Ridge> ridges = ridges_of(roofline);
    REQUIRE(ridges.size() == 16);
    CHECK(ridges[15].bandwidth == 3);
    CHECK(ridges[15].compute == 3);
    CHECK(ridges[15].flop_per_byte == doctest::Approx(18000));

    const std::string svg = roofline_svg(roofline);
    int drawn = 0;
    for (const Ridge& ridge : ridges) {
        const std::string hover = hover_of(roofline, ridge);
        if (svg.find(hover) == svg.npos) continue;
        const double x = number_of(svg, hover, "cx=\""), y = number_of(svg, hover, "cy=\"");
        CHECK(std::fabs(below(line_of(svg, hover_of(roofline.bandwidths[ridge.bandwidth], true)), x, y)) <
              0.5);
        CHECK(std::fabs(below(line_of(svg, hover_of(roofline.computes[ridge.compute], false)), x, y)) < 0.5);
        ++drawn;
    }
    CHECK(drawn == 14);  // where the host's roof meets the tensor units is beyond the right edge
}

TEST_CASE("Hover text has all numbers, and the share with its denominator") {
    Roofline roofline = with_point(0.5, 1e12);
    roofline.points[0].runs = FlopRange{0.9e12, 1.2e12};
    CHECK(hover_of(roofline, roofline.points[0]) ==
          "k: 0.5 FLOP/byte, 1 TFLOP/s (900 GFLOP/s to 1.2 TFLOP/s), 50% of 2 TFLOP/s (DRAM read, measured, "
          "0.5 FLOP/byte × 4 TB/s)");
    roofline = with_point(160, 48e12);
    CHECK(hover_of(roofline, roofline.points[0]) ==
          "k: 160 FLOP/byte, 48 TFLOP/s, 75% of 64 TFLOP/s (FP32 FMA, measured)");
    CHECK(hover_of(roofline.bandwidths[0], true) == "DRAM read, measured: 4 TB/s");
    CHECK(hover_of(roofline, ridges_of(roofline)[0]) ==
          "ridge point of DRAM read, measured and FP32 FMA, measured: 16 FLOP/byte, 64 TFLOP/s");
    const std::string svg = roofline_svg(roofline);
    CHECK(svg.find("<title>" + hover_of(roofline, roofline.points[0]) + "</title>") != svg.npos);
    CHECK(svg.find(">% of FP32 FMA, measured: k</text>") != svg.npos);
}

TEST_CASE("The names of many points under one roof take several lines, and none is cut") {
    Roofline roofline = with_point(160, 48e12);
    roofline.points.resize(20, roofline.points[0]);
    for (std::size_t i = 0; i < roofline.points.size(); ++i)
        roofline.points[i].name = "kernel number " + std::to_string(i);
    const std::string svg = roofline_svg(roofline);
    CHECK(svg.find(">% of FP32 FMA, measured: kernel number 0 · ") != svg.npos);
    CHECK(svg.find("kernel number 19</text>") != svg.npos);
    CHECK(svg.find("…") == svg.npos);
}

TEST_CASE("Numbers are short, with the unit that suits them") {
    CHECK(format_rate(4.52e12, "B/s") == "4.52 TB/s");
    CHECK(format_rate(999.6e9, "FLOP/s") == "1 TFLOP/s");
    CHECK(format_rate(0.25, "FLOP/s") == "0.25 FLOP/s");
    CHECK(format_rate(6e24, "FLOP/s") == "6·10⁶ EFLOP/s");
    CHECK(share_text(0.9025) == "90.2%");
    CHECK(share_text(1) == "100%");
    CHECK(short_number(1 / 6.) == "0.167");
    CHECK(short_number(0.001) == "0.001");
    CHECK(short_number(2e-7) == "2·10⁻⁷");
    CHECK(short_number(1e10) == "10¹⁰");
    CHECK(short_number(9.999e9) == "10¹⁰");
}

TEST_CASE("What cannot be drawn is refused with a sentence") {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
    CHECK(sentence_of({}) == "a roofline needs a roof: there is neither a bandwidth nor a compute roof");
    CHECK(sentence_of(with_point(0, 1e12)) ==
          "the point 'k' has an arithmetic intensity of 0: a logarithmic axis has a place only for numbers "
          "above 0");
    CHECK(sentence_of(with_point(-1, 1e12)).find("intensity of -1:") != std::string::npos);
    CHECK(sentence_of(with_point(nan, 1e12)).find("intensity that is not finite") != std::string::npos);
    CHECK(sentence_of(with_point(1, inf)).find("FLOP/s that is not finite") != std::string::npos);
    CHECK(sentence_of(with_point(1, 0)).find("FLOP/s of 0:") != std::string::npos);
    CHECK(sentence_of(with_point(1, 1e300)).find("is its unit right?") != std::string::npos);
    CHECK(sentence_of(with_point(1e-300, 1)).find("is its unit right?") != std::string::npos);
    CHECK(sentence_of(with_point(1, 1e12)) == "");

    Roofline roofline = simple();
    roofline.bandwidths[0].per_s = nan;
    CHECK(sentence_of(roofline) == "the roof 'DRAM read' has a bandwidth that is not finite");
    roofline = simple();
    roofline.computes[0].per_s = -5;
    CHECK(sentence_of(roofline).find("the roof 'FP32 FMA' has a rate in FLOP/s of -5:") == 0);
    roofline = with_point(1, 1e12);
    roofline.points[0].compute = 1;
    CHECK(sentence_of(roofline) ==
          "the point 'k' is held against compute roof 1, and there are 1: count from 0");
    roofline.points[0].compute = 0;
    roofline.points[0].runs = FlopRange{2e12, 3e12};
    CHECK(sentence_of(roofline).find("outside of its own runs, 2 TFLOP/s to 3 TFLOP/s") != std::string::npos);
    CHECK_THROWS_AS(static_cast<void>(roofline_svg({})), Error);
}

TEST_CASE("A point on a roof lies on its line, and one below it below") {
    Roofline roofline = many_roofs();
    roofline.points.clear();
    for (const double intensity : {0.03, 0.5, 5., 13., 300., 4000.})
        for (std::size_t b = 0; b < roofline.bandwidths.size(); ++b) {
            const double product = intensity * roofline.bandwidths[b].per_s;
            const std::string name = "on " + std::to_string(roofline.points.size());
            roofline.points.push_back({name, intensity, std::min(product, 64e12), {}, b, 0});
        }
    const std::string svg = roofline_svg(roofline);
    for (const RooflinePoint& point : roofline.points) {
        const Limit limit = limit_of(roofline, point);
        const Roof& roof =
            limit.by_bandwidth ? roofline.bandwidths[point.bandwidth] : roofline.computes[point.compute];
        const Outline line = line_of(svg, hover_of(roof, limit.by_bandwidth));
        double x = 0, y = 0;
        if (limit.by_bandwidth) {
            x = number_of(svg, point.name + ":", "cx=\"");
            y = number_of(svg, point.name + ":", "cy=\"");
        } else {
            x = number_of(svg, point.name + ":", " x=\"") + number_of(svg, point.name + ":", " width=\"") / 2;
            y = number_of(svg, point.name + ":", " y=\"") +
                number_of(svg, point.name + ":", " height=\"") / 2;
        }
        CHECK(limit.share == 1);
        CHECK(std::fabs(below(line, x, y)) < 0.5);
    }
    const std::string lower = roofline_svg(with_point(0.5, 1e12));
    CHECK(below(line_of(lower, "DRAM read"), number_of(lower, "k:", "cx=\""),
                number_of(lower, "k:", "cy=\"")) > 10);
}

TEST_CASE(
    "Bandwidth roofs end at the highest compute roof, and compute roofs begin at the highest bandwidth") {
    const std::string svg = roofline_svg(many_roofs());
    const Outline l2 = line_of(svg, "L2 read"), bf16 = line_of(svg, "BF16 tensor"),
                  fp64 = line_of(svg, "FP64");
    CHECK(l2[1].x == bf16[0].x);
    CHECK(l2[1].y == bf16[0].y);
    CHECK(std::fabs(below(l2, fp64[0].x, fp64[0].y)) < 0.5);
    CHECK(fp64[1].x == kPageRight);
    CHECK(line_of(svg, "DRAM,")[1].y == bf16[0].y);
}

TEST_CASE("Some of each roof is in view, and none of it beyond") {
    for (const Roofline& roofline : samples()) {
        const std::string svg = roofline_svg(roofline);
        const auto check_line = [&](const std::string& hover) {
            const Outline line = line_of(svg, xml_text(hover));
            CHECK(line[1].x - line[0].x > 20);
            CHECK(line[0].x >= 104);
            CHECK(line[1].x <= kPageRight);
            CHECK(line[0].y <= 484);
            CHECK(line[1].y >= 44);
        };
        for (const Roof& roof : roofline.bandwidths) check_line(hover_of(roof, true));
        for (const Roof& roof : roofline.computes) check_line(hover_of(roof, false));
    }
}

TEST_CASE("Lines are dashed only where they are theoretical") {
    const std::string svg = roofline_svg(many_roofs());
    int roofs = 0;
    for (const std::string& line : split(svg, '\n')) {
        if (line.find("<path stroke=") != 0 || line.find("<title>") == line.npos) continue;
        ++roofs;
        const bool dashed = line.find("stroke-dasharray") != line.npos;
        CHECK(dashed == (line.find(", theoretical: ") != line.npos));
        CHECK(dashed != (line.find(", measured: ") != line.npos));
    }
    CHECK(roofs == 8);
    CHECK(count_of(svg, "stroke-dasharray") == 3);  // two roofs and the legend
    CHECK(svg.find(">theoretical</text>") != svg.npos);
    const std::string measured = roofline_svg(simple());
    CHECK(measured.find("stroke-dasharray") == measured.npos);
    CHECK(measured.find(">theoretical</text>") == measured.npos);
}

TEST_CASE("A point looks like the kind of roof that it is under") {
    const std::string left = roofline_svg(with_point(0.5, 1e12)), right = roofline_svg(with_point(99, 1e12));
    CHECK(left.find(">under a bandwidth roof</text>") != left.npos);
    CHECK(left.find(">under a compute roof</text>") == left.npos);
    CHECK(right.find(">under a compute roof</text>") != right.npos);
    const auto element = [](const std::string& svg) {
        return svg.substr(svg.rfind('\n', svg.find("<title>k:")) + 1, 7);
    };
    CHECK(element(left) == "<circle");
    CHECK(element(right) == "<rect c");
}

TEST_CASE("The whisker of a point spans its runs") {
    Roofline roofline = with_point(0.5, 1e12);
    roofline.points[0].runs = FlopRange{0.5e12, 2e12};
    const std::string svg = roofline_svg(roofline);
    const std::size_t path = svg.rfind("<path", svg.find("<title>k:"));
    const double low = number_after(svg, " ", svg.find(" d=\"M", path) + 5),
                 high = number_after(svg, "0V", path);
    const double at = number_of(svg, "k:", "cy=\"");
    CHECK(low - at == doctest::Approx(at - high).epsilon(0.01));
    CHECK(std::fabs(below(line_of(svg, "DRAM"), number_of(svg, "k:", "cx=\""), high)) < 0.5);
    CHECK(svg.find(">slowest to fastest run</text>") != svg.npos);
}

TEST_CASE("No text leaves the figure or lies on another one") {
    for (const Roofline& roofline : samples()) {
        CAPTURE(roofline.title);
        const std::string svg = roofline_svg(roofline);
        const double height = number_after(svg, "height=\"");
        const std::vector<Text> texts = texts_of(svg);
        CHECK(texts.size() > 10);
        for (std::size_t i = 0; i < texts.size(); ++i) {
            CAPTURE(texts[i].words);
            for (const Spot& corner : texts[i].outline) {
                CHECK(corner.x >= 0);
                CHECK(corner.x <= kPageWidth);
                CHECK(corner.y >= 0);
                CHECK(corner.y <= height);
            }
            for (std::size_t j = 0; j < i; ++j) {
                CAPTURE(texts[j].words);
                CHECK_FALSE(touch(texts[i].outline, texts[j].outline));
            }
        }
    }
}

TEST_CASE("Labels lie on no line and on no marker where there is room") {
    for (const Roofline& roofline : {many_roofs(), twelve_points(1.5, 1), twelve_points(1.5, 2)}) {
        const std::string svg = roofline_svg(roofline);
        CHECK(svg.find("Without a label") == svg.npos);
        std::vector<Outline> things;
        for (const Roof& roof : roofline.bandwidths) things.push_back(line_of(svg, hover_of(roof, true)));
        for (const Roof& roof : roofline.computes) things.push_back(line_of(svg, hover_of(roof, false)));
        for (const RooflinePoint& point : roofline.points) {
            const bool is_circle = limit_of(roofline, point).by_bandwidth;
            const double x = number_of(svg, point.name + ":", is_circle ? "cx=\"" : " x=\"");
            const double y = number_of(svg, point.name + ":", is_circle ? "cy=\"" : " y=\"");
            things.push_back(rectangle({x + (is_circle ? 0 : 4), y + (is_circle ? 0 : 4)}, 8, 8));
        }
        std::size_t labels = 0;
        for (const Text& text : texts_of(svg)) {
            const std::size_t at = svg.find(">" + text.words + "</text>");
            const std::size_t tag = svg.rfind("<text", at);
            if (svg.substr(tag, at - tag).find("pointer-events") == svg.npos) continue;
            ++labels;
            CAPTURE(text.words);
            for (const Outline& thing : things) CHECK_FALSE(touch(text.outline, thing));
        }
        CHECK(labels == 8 + roofline.points.size());
    }
}

TEST_CASE("A leader leads to one label and through none") {
    int leaders = 0;
    for (const Roofline& roofline : samples()) {
        const std::string svg = roofline_svg(roofline);
        const std::vector<Text> texts = texts_of(svg);
        for (const std::string& line : split(svg, '\n')) {
            if (line.find("stroke-width=\"0.6\"") == line.npos) continue;
            ++leaders;
            const Outline leader = path_of(line);
            CHECK(1 >= std::count_if(texts.begin(), texts.end(),
                                     [&](const Text& text) { return touch(text.outline, leader); }));
        }
    }
    CHECK(leaders > 50);
}

TEST_CASE("The highest roof has its label above it") {
    for (const Roofline& roofline : {simple(), many_roofs(), extreme()}) {
        const std::string svg = roofline_svg(roofline);
        const Roof& roof = roofline.computes.back();
        const std::size_t label = svg.rfind(">" + roof.name.substr(0, 8));  // the first is the hover text
        REQUIRE(label != svg.npos);
        CHECK(number_after(svg, " y=\"", svg.rfind("<text", label)) <
              line_of(svg, hover_of(roof, false))[0].y);
    }
}

TEST_CASE("What has no room for a label is counted") {
    Roofline roofline = simple();
    for (int i = 0; i < 150; ++i) roofline.points.push_back({"point", 1, 1e12, {}, 0, 0});
    const std::string svg = roofline_svg(roofline);
    const std::size_t note = svg.find("Without a label, for want of room: ");
    REQUIRE(note != svg.npos);
    const double missing = number_after(svg, "room: ", note);
    CHECK(missing == 150 - static_cast<double>(count_of(svg, ">point 25%</text>")));
    CHECK(count_of(svg, "<title>point: ") == 150);
}

TEST_CASE("Names from strangers leave the roofline well formed") {
    for (const Roofline& roofline : samples()) CHECK(xml_problem(roofline_svg(roofline)) == "");
    const std::string svg = roofline_svg(strangers());
    CHECK(svg.find("a&lt;b&gt;&amp;&quot;c&#39;") != svg.npos);
    CHECK(svg.find("\x1b") == svg.npos);
    CHECK(svg.find("<script") == svg.npos);
    CHECK(svg.find("\xe2\x80\xae") == svg.npos);
    CHECK(svg.find("日本語") != svg.npos);
    CHECK(svg.find(std::string(200, 'p') + "</text>") == svg.npos);
}

TEST_CASE("The same roofline gives the same bytes, and no number is out of range") {
    for (const Roofline& roofline : samples()) {
        const std::string svg = roofline_svg(roofline);
        CHECK(svg == roofline_svg(roofline));
        CHECK(svg.find("nan") == svg.npos);
        CHECK(svg.find("inf") == svg.npos);
        CHECK(svg.find("e+") == svg.npos);
        CHECK(svg.find("\"-") == svg.npos);
    }
}
