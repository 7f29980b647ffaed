// What a reader of a roofline relies on: points and roofs come from evidence, a share is of the right roof,
// and a picture shows today's numbers.
#include <doctest/doctest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "course/case_evidence.h"
#include "lab/rooflines.h"

namespace lab::roofline_test {

namespace {

/// Roofs with round numbers: they meet at 16 FLOP/byte.
RooflineEvidence with_points(std::vector<MeasuredPoint> points) {
    RooflineEvidence roofline{"made up", "recorded · somewhere", {}, {}, std::move(points), {}};
    roofline.bandwidths = {{"DRAM read", 4e12, 5e12}};
    roofline.computes = {{"FP32 FMA", 64e12, std::nullopt}};
    return roofline;
}

/// Programs are looked for in this folder alone, as long as this lives.
class OnlyPath {
  public:
    explicit OnlyPath(const fs::path& folder) { ::setenv("PATH", folder.c_str(), 1); }
    ~OnlyPath() { ::setenv("PATH", before_.c_str(), 1); }

  private:
    std::string before_ = std::getenv("PATH");
};

}  // namespace

TEST_CASE("roofline: a share is of the lower roof at the point's intensity, and names it") {
    const RooflineEvidence roofline = with_points({{"left", 1e12, 2e12, 1, "DRAM read", "FP32 FMA"},
                                                   {"right", 48e12, 1e12, 1, "DRAM read", "FP32 FMA"},
                                                   {"lost", 1e12, 2e12, 1, "L2 read", "FP32 FMA"}});
    const Limit left = roofline.limit_of(roofline.points[0]), right = roofline.limit_of(roofline.points[1]);
    CHECK(left.flop_per_s == 2e12);
    CHECK(left.share == 0.5);
    CHECK(left.denominator == "DRAM read, measured");
    CHECK(right.share == 0.75);
    CHECK(right.denominator == "FP32 FMA, measured");
    CHECK_THROWS_WITH((void)roofline.limit_of(roofline.points[2]),
                      doctest::Contains("no roof called 'L2 read' is measured"));
}

TEST_CASE("roofline: roofs and points are read from evidence, and what has none says why") {
    const Course course(LAB_SOURCE_FOLDER);
    Chapter chapter = course.chapter("ch07");
    const Evidence roofs = open_recorded(course, chapter.measures_roofs()->programs[0]);
    const RooflineEvidence whole = collect_points(course, chapter, "", roofs, false);
    CHECK(whole.left_out.empty());
    CHECK(whole.points.size() == 5);
    const Case* const exercise = chapter.exercise("count_it");
    REQUIRE(exercise);
    if (!exercise->draft || is_freshly_recorded(course, exercise->programs)) {
        const RooflineEvidence part = collect_points(course, chapter, "count_it", roofs, false);
        CHECK(part.points.size() == 5);
        CHECK(to_json(part)["points"].size() == part.points.size());
        CHECK(roofline_tables(part, true).find("saxpy |") != std::string::npos);
    }

    chapter.pair.points[0].query.sql = "SELECT 'x', 1, 0, 1";
    const RooflineEvidence broken = collect_points(course, chapter, "", roofs, false);
    CHECK(roofline_tables(broken, false).find("there is nothing to draw") != std::string::npos);
    const Evidence buggy = open_recorded(course, chapter.pair.programs[0]);
    CHECK_THROWS_WITH((void)collect_points(course, chapter, "", buggy, false),
                      doctest::Contains("prints no roof called 'DRAM read'"));
}

TEST_CASE("roofline: a picture holds the hash of its numbers; without the tool a sentence says so") {
    const Course course(LAB_SOURCE_FOLDER);
    const RooflineEvidence now = with_points({{"k", 1e12, 2e12, 1, "DRAM read", "FP32 FMA"}});
    const TemporaryFolder folder;
    const fs::path python = folder.path() / "python3", svg = folder.path() / "out/roofline.svg";
    const OnlyPath only(folder.path());
    CHECK(draw_roofline(course, now, svg) == "python3 is not here");
    const auto pretend = [&](const std::string& body) {
        write_file(python, "#!/bin/sh\n" + body + "\n");
        fs::permissions(python, fs::perms::owner_all);
    };
    pretend("echo 'matplotlib is missing' >&2; exit 77");
    CHECK(draw_roofline(course, now, svg) == "matplotlib is missing");
    pretend("exit 1");
    CHECK_THROWS_WITH((void)draw_roofline(course, now, svg), doctest::Contains("roofline.py failed"));
    // It writes the hash as the real one does.
    pretend("/bin/sed 's/.*\"hash\":\"\\([0-9a-f]*\\)\".*/<!-- numbers \\1 -->/' \"$2\" >\"$3\"");
    REQUIRE(draw_roofline(course, now, svg).empty());
    CHECK(is_picture_of(read_file(svg), now));
    RooflineEvidence later = now;
    later.points[0].seconds = 2;
    CHECK_FALSE(is_picture_of(read_file(svg), later));
    later = now;
    later.blank = true;
    CHECK_FALSE(is_picture_of(read_file(svg), later));
}

TEST_CASE("roofline: a blank picture tells nothing of its points, in words for a screen reader either") {
    const std::string blank = read_file(fs::path(LAB_SOURCE_FOLDER) / "ch07_roofline/blank.svg");
    CHECK(blank.find("TF32 tensor") != std::string::npos);
    CHECK(blank.find("GEMM") == std::string::npos);
    CHECK(blank.find("FLOP/byte, ") == std::string::npos);
}

}  // namespace lab::roofline_test
