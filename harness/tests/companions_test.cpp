// Companions of a chapter, the roofs that one of them measures, and the roofline that they make with points
// of other programs.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "course/course.h"
#include "course/findings.h"
#include "draw/roofline_evidence.h"
#include "lab_binary.h"

using namespace lab;

namespace {

constexpr const char* kPairOnly = R"(title = "Roofs"
question = "Which?"
minutes = 5
objectives = ["one"]
needs = []

[[finding]]
id = "one"
says = "one"
sql = "SELECT 1"
buggy = "== 1"
fixed = "== 1"
)";

constexpr const char* kCompanionBlock = R"(
[[companion]]
name = "ceilings"
says = "what the GPU can do"
needs = []
flags = ["-lcublasLt"]
traced = false
check_arguments = ["--small"]
bandwidths = ["DRAM", "L2"]
computes = ["FMA", "tensor"]

[[companion.finding]]
id = "share"
says = "DRAM, of its theoretical roof"
sql = "SELECT measured / theoretical FROM roofs WHERE name = 'DRAM'"
kind = "ratio"
margin = 0.01
expect = ">= 0.5"

[[companion.finding]]
id = "tensor"
says = "tensor cores"
kind = "time"
sql = "SELECT COALESCE(MAX(measured), 'not on this GPU') FROM roofs WHERE name = 'tensor'"
)";

constexpr const char* kPointBlock = R"(
[[point]]
side = "fixed"
bandwidth = "L2"
compute = "tensor"
sql = "SELECT 'a point', 8e9, 4e9, 0.001"
)";

constexpr const char* kPrinted =
    "a table\n{\"roofs\": [{\"name\": \"DRAM\", \"unit\": \"B/s\", \"measured\": 4e12, \"theoretical\": "
    "5e12}, "
    "{\"name\": \"L2\", \"unit\": \"B/s\", \"measured\": 8e12, \"theoretical\": null}, "
    "{\"name\": \"FMA\", \"unit\": \"FLOP/s\", \"measured\": 6e13, \"theoretical\": 6.6e13, \"work\": 3e9}, "
    "{\"name\": \"tensor\", \"unit\": \"FLOP/s\", \"measured\": null}]}\nand a line of stderr";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
        text.replace(at, what.size(), with);
    return text;
}

/// A chapter of these blocks behind the pair's, with one text changed into another.
Chapter chapter_of(std::string text, const std::string& from = "", const std::string& to = "") {
    const TemporaryFolder root;
    text = kPairOnly + text;
    if (!from.empty()) {
        const std::size_t at = text.find(from);
        REQUIRE(at != std::string::npos);
        text.replace(at, from.size(), to);
    }
    write_file(root.path() / "ch07_roofline/chapter.toml", text);
    return read_chapter(root.path(), "ch07_roofline");
}

void check_fails(const std::string& text, const std::string& from, const std::string& to,
                 const std::string& sentence) {
    CAPTURE(to);
    CHECK_THROWS_WITH_AS((void)chapter_of(text, from, to), doctest::Contains(sentence.c_str()), Error);
}

/// Evidence of a program that was run by itself, and printed this.
Evidence that_printed(const std::string& out, const std::string& gpu = "NVIDIA H200") {
    const TemporaryFolder folder;
    RunRecord run;
    run.provenance = {{"gpu", gpu}};
    run.exit_code = 0;
    run.out = out;
    write_evidence(run, folder.path() / "evidence.sqlite");
    return Evidence::open(folder.path() / "evidence.sqlite");
}

Measured asked(const Evidence& evidence, const std::string& sql) {
    return measure(evidence, sql, "", std::nullopt);
}

PointQuery query(const std::string& sql) {
    PointQuery points;
    points.sql = sql;
    return points;
}

}  // namespace

TEST_CASE("companion: its facts, and findings that state one expectation") {
    const Chapter chapter = chapter_of(std::string(kCompanionBlock) + kPointBlock);
    REQUIRE(chapter.companions.size() == 1);
    const Companion& companion = chapter.companions[0];
    CHECK(companion.program.source == "ch07_roofline/ceilings.cu");
    CHECK(companion.program.evidence_name == "ceilings.sqlite");
    CHECK(companion.program.flags == std::vector<std::string>{"-lcublasLt"});
    CHECK(companion.program.check_arguments == std::vector<std::string>{"--small"});
    CHECK_FALSE(companion.program.traced);
    CHECK(chapter.companion("ceilings") == &companion);
    CHECK(chapter.companion("floors") == nullptr);
    CHECK(chapter.measures_roofs() == &companion);
    REQUIRE(companion.findings.size() == 3);
    CHECK(companion.findings[0].id == "answer");
    CHECK(companion.findings[1].expect[0]->text == ">= 0.5");
    CHECK_FALSE(companion.findings[2].asserted());
    REQUIRE(chapter.points.size() == 1);
    CHECK(chapter.points[0].bandwidth == 1);
    CHECK(chapter.points[0].compute == 1);
    CHECK(chapter.program_of(chapter.points[0]).name == "fixed");
    CHECK(chapter_of("").measures_roofs() == nullptr);
}

TEST_CASE("companion: what is wrong in its block, or in that of points, is an error with its line") {
    const std::string block = kCompanionBlock, points = block + kPointBlock;
    check_fails(block, "expect = \">= 0.5\"", "", "'expect' is missing");
    check_fails(block, "expect = \">= 0.5\"", "expect = \"many\"", "is no expectation");
    check_fails(block, "expect = \">= 0.5\"", "expect = \">= 0.5\"\nbuggy = \"== 1\"",
                "nothing reads the key 'buggy'");
    check_fails(block, "expect = \">= 0.5\"", "expect_over_expect = \">= 0.5\"", "'expect' is missing");
    check_fails(block, "name = \"ceilings\"", "name = \"fixed\"", "a second program is called 'fixed'");
    check_fails(block + block, "", "", "a second program is called 'ceilings'");
    check_fails(block, "computes = [\"FMA\", \"tensor\"]\n", "", "both 'bandwidths' and 'computes'");
    check_fails(block, "says = \"what the GPU can do\"\n", "", "'says' is missing");
    check_fails(block, "traced = false", "traced = 0", "'traced'");
    check_fails(block, "sql = \"SELECT measured / theoretical FROM roofs WHERE name = 'DRAM'\"",
                "metric = \"span_ms\"", "is about a trace, and 'traced' is false");
    check_fails(points, "bandwidth = \"L2\"", "bandwidth = \"L3\"", "no roof of this kind is called 'L3'");
    check_fails(points, "compute = \"tensor\"", "compute = \"DRAM\"", "there are: FMA, tensor");
    check_fails(points, "side = \"fixed\"", "side = \"solution\"", "'side' must be buggy or fixed");
    check_fails(points, "side = \"fixed\"", "exercise = \"none\"\nside = \"solution\"",
                "there is no exercise 'none'");
    check_fails(kPointBlock, "", "", "points need roofs");
    const std::string other = replaced(block, "\"ceilings\"", "\"floors\"");
    check_fails(block + other, "", "", "a second companion measures roofs");
}

TEST_CASE("companion: a question of the quiz may be about it") {
    const std::string question =
        "\n[[quiz]]\nid = \"q\"\nasks = \"?\"\nlook = \"there\"\ncompanion = \"ceilings\"\nsql = \"SELECT "
        "1\"\n";
    const Chapter chapter = chapter_of(kCompanionBlock + question);
    CHECK(chapter.program_of(chapter.quiz[0]).name == "ceilings");
    check_fails(kCompanionBlock + question, "companion = \"ceilings\"", "companion = \"floors\"",
                "has no companion 'floors'");
    check_fails(kCompanionBlock + question, "companion = \"ceilings\"",
                "companion = \"ceilings\"\nside = \"fixed\"", "nothing reads the key 'side'");
    check_fails(question, "", "", "has no companion 'ceilings'");
}

TEST_CASE("roofs: what a program prints in a line of JSON can be asked for") {
    const Evidence evidence = that_printed(kPrinted);
    CHECK(asked(evidence, "SELECT COUNT(*) FROM roofs").text() == "4");
    CHECK(asked(evidence, "SELECT measured FROM roofs WHERE name = 'DRAM'").text() == "4000000000000");
    CHECK(asked(evidence, "SELECT unit FROM roofs WHERE name = 'FMA'").text() == "FLOP/s");
    CHECK(asked(evidence, "SELECT work FROM roofs WHERE name = 'FMA'").text() == "3000000000");
    CHECK(asked(evidence, "SELECT json_extract(json, '$.roofs[1].name') FROM printed_json").text() == "L2");
    for (const char* column : {"theoretical", "work", "how"})
        CHECK_FALSE(asked(evidence, fmt::format("SELECT {} FROM roofs WHERE name = 'L2'", column)).value);
    CHECK_FALSE(asked(evidence, "SELECT measured FROM roofs WHERE name = 'tensor'").value);
}

TEST_CASE("roofs: no JSON is nothing to check, and bad JSON is said") {
    for (const char* out : {"", "a table", "x {\"roofs\": []}", "{\"points\": []}", "{\"roofs\": []}"}) {
        CAPTURE(out);
        const Measured measured = asked(that_printed(out), "SELECT measured FROM roofs");
        CHECK_FALSE(measured.value);
        CHECK(measured.missing.find("nothing to check") != std::string::npos);
    }
    CHECK(asked(that_printed("{\"roofs\": [}"), "SELECT measured FROM roofs").missing.find("JSON") !=
          std::string::npos);
}

TEST_CASE("companion: its findings are judged on one program") {
    const Chapter chapter = chapter_of(kCompanionBlock);
    const auto rows = judge_companion(chapter.companions[0], that_printed(kPrinted));
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].verdict == Verdict::pass);
    CHECK(rows[1].verdict == Verdict::pass);
    CHECK(rows[1].sides[0].measured.text() == "0.8");
    CHECK(rows[2].sides[0].measured.text() == "not on this GPU");
    const auto slow =
        judge_companion(chapter.companions[0], that_printed(replaced(kPrinted, "4e12", "2e12")));
    CHECK(slow[1].verdict == Verdict::fail);
    const auto silent = judge_companion(chapter.companions[0], that_printed("no JSON"));
    CHECK(silent[1].verdict == Verdict::fail);
}

TEST_CASE("roofs: read by name, in the order asked for") {
    const Evidence evidence = that_printed(kPrinted);
    const auto roofs = read_roofs(evidence, {"FMA", "L2", "tensor"});
    REQUIRE(roofs.size() == 3);
    CHECK(roofs[0].measured == 6e13);
    CHECK(roofs[0].theoretical == 6.6e13);
    CHECK_FALSE(roofs[1].theoretical);
    CHECK_FALSE(roofs[2].measured);
    CHECK_THROWS_WITH_AS((void)read_roofs(evidence, {"HBM"}), doctest::Contains("no roof called 'HBM'"),
                         Error);
    CHECK_THROWS_AS((void)read_roofs(that_printed("nothing"), {"DRAM"}), Error);
}

TEST_CASE("points: rows of a query, each of which can be drawn") {
    const Evidence evidence = that_printed("");
    const auto points = read_points(evidence, query("SELECT 'a', 1, 2, 3 UNION ALL SELECT 'b', 4, 5, 0.5"));
    REQUIRE(points.size() == 2);
    CHECK(points[1].name == "b");
    CHECK(points[1].flop == 4);
    CHECK(points[1].bytes == 5);
    CHECK(points[1].seconds == 0.5);
    for (const auto& [sql, sentence] : {std::pair{"SELECT 'a', 1, 2", "the query has 3 columns"},
                                        {"SELECT 'a', 1, 2, 3 WHERE 0", "has no row"},
                                        {"SELECT 'a', NULL, 2, 3", "'a' has 0 FLOP"},
                                        {"SELECT 'a', 1, -2, 3", "'a' has -2 bytes"},
                                        {"SELECT 'a', 1, 2, 0", "'a' has 0 seconds"},
                                        {"SELECT NULL, 1, 2, 3", "one has no name"},
                                        {"SELECT 'a', 1, 2, 3 FROM nowhere", "nowhere"}}) {
        CAPTURE(sql);
        CHECK_THROWS_WITH_AS((void)read_points(evidence, query(sql)), doctest::Contains(sentence), Error);
    }
}

TEST_CASE("roofline: measured roofs, theoretical ones behind them, and points held against theirs") {
    const Chapter chapter = chapter_of(std::string(kCompanionBlock) + kPointBlock);
    RooflineEvidence evidence{that_printed(kPrinted), "label", {}, {}};
    evidence.points.push_back({&chapter.points[0], {{"a point", 8e9, 4e9, 1e-3}}});
    const Roofline roofline = roofline_of(chapter.companions[0], evidence);
    CHECK_NOTHROW(check(roofline));
    REQUIRE(roofline.bandwidths.size() == 3);  // the L2's theoretical one is not known
    CHECK(name_of(roofline.bandwidths[1]) == "L2, measured");
    CHECK(name_of(roofline.bandwidths[2]) == "DRAM, theoretical");
    REQUIRE(roofline.computes.size() == 2);  // no tensor core was measured
    CHECK(name_of(roofline.computes[1]) == "FMA, theoretical");
    REQUIRE(roofline.points.size() == 1);
    CHECK(roofline.points[0].flop_per_byte == 2);
    CHECK(roofline.points[0].flop_per_s == 8e12);
    CHECK(roofline.points[0].bandwidth == 1);
    CHECK(roofline.points[0].compute == 0);  // stands in for the tensor core's
    evidence.companion = that_printed(replaced(kPrinted, "\"measured\": 6e13", "\"measured\": null"));
    CHECK_THROWS_WITH_AS((void)roofline_of(chapter.companions[0], evidence),
                         doctest::Contains("measured no roof of this kind"), Error);
}

namespace {

/// The course with a companion beside ch05's pair, recorded on the same GPU.
struct CourseWithRoofs : CourseCopy {
    CourseWithRoofs() {
        const fs::path toml = root() / "ch05_streams/chapter.toml";
        write_file(toml, read_file(toml) + kCompanionBlock + kPointBlock);
        write_file(root() / "ch05_streams/ceilings.cu", "int main() {}\n");
        write_file(root() / "ch05_streams/README.md",
                   "<!-- roofline: -->\n<!-- /roofline -->\n<!-- measured: companion ceilings -->\n<!-- "
                   "/measured -->\n");
        write_file(root() / "README.md", "# Course\n");
        record("NVIDIA H200");
    }

    void record(const std::string& gpu, const std::string& printed = kPrinted) const {
        const Course course(root());
        const Chapter chapter = course.chapter("ch05");
        const Program& program = chapter.companions[0].program;
        RunRecord run;
        run.provenance = {{"gpu", gpu}, {"fingerprint", course.fingerprint_of(program)}, {"recording", ""}};
        run.exit_code = 0;
        run.out = printed;
        fs::create_directories(root() / program.evidence_folder / "h200");
        fs::remove(root() / program.evidence_folder / "h200" / program.evidence_name);
        write_evidence(run, root() / program.evidence_folder / "h200" / program.evidence_name);
    }
};

}  // namespace

TEST_CASE("run: a chapter's companion, its roofline and the points under it") {
    const CourseWithRoofs course;
    const Outcome shown = run_lab({"run", "ch05", "--recorded"}, course.root());
    INFO(shown.out, shown.err);
    CHECK(shown.exit_code == 0);
    for (const char* text : {"ceilings  what the GPU can do", "DRAM, of its theoretical roof",
                             "not on this GPU", "a point: 2 FLOP/byte, 8 TFLOP/s, 50% of 16 TFLOP/s",
                             "DRAM, theoretical: 5 TB/s", "build/figures/ch05_streams.roofline.svg"})
        CHECK_MESSAGE(shown.out.find(text) != std::string::npos, text);
    CHECK(fs::exists(course.root() / "build/figures/ch05_streams.roofline.svg"));
    const Json json = json_of(run_lab({"run", "ch05", "--recorded", "--json"}, course.root()));
    CHECK(json["companions"][0]["name"] == "ceilings");
    CHECK(json["companions"][0]["findings"][1]["value"] == 0.8);
    CHECK(json["companions"][0]["findings"][1]["verdict"] == "pass");
    CHECK(json["roofline"]["points"][0]["share"] == 0.5);
    CHECK(json["roofline"]["points"][0]["of"] == "L2, measured");
    CHECK(json["roofline"]["left_out"].empty());
    const Json exercise = json_of(run_lab({"run", "ch05/priority", "--recorded", "--json"}, course.root()));
    CHECK_FALSE(exercise.contains("roofline"));
}

TEST_CASE("run: a companion's failed finding fails, and points of another GPU are not drawn") {
    const CourseWithRoofs course;
    course.record("NVIDIA H100");
    const Json other = json_of(run_lab({"run", "ch05", "--recorded", "--json"}, course.root()));
    CHECK(other["roofline"]["points"].empty());
    CHECK(other["roofline"]["left_out"][0].get<std::string>().find(
              "ran on NVIDIA H200, and the roofs are of NVIDIA H100") != std::string::npos);
    course.record("NVIDIA H200", replaced(kPrinted, "4e12", "1e12"));
    const Json slow =
        json_of(run_lab({"run", "ch05", "--recorded", "--json"}, course.root()), kFindingFailed);
    CHECK(slow["companions"][0]["findings"][1]["verdict"] == "fail");
    write_file(course.root() / "ch05_streams/ceilings.cu", "int main() { return 0; }\n");
    const Outcome stale = run_lab({"run", "ch05", "--recorded"}, course.root());
    CHECK(stale.exit_code == kNothingCouldRun);
    CHECK(stale.out.find("not shown: ch05_streams/evidence/h200/ceilings.sqlite is stale") !=
          std::string::npos);
}

TEST_CASE("docs: a roofline with its numbers, and a companion's findings") {
    const CourseWithRoofs course;
    const Outcome written = run_lab({"docs"}, course.root());
    INFO(written.out, written.err);
    CHECK(written.exit_code == 0);
    const std::string page = read_file(course.root() / "ch05_streams/README.md");
    for (const char* text : {"](roofline.svg)", "| DRAM | 4 TB/s | 5 TB/s | 80% |", "| L2 | 8 TB/s | – | – |",
                             "| tensor | – | – | – |",
                             "| a point | 8 GFLOP | 4 GB | 2 | 1 ms | 8 TFLOP/s | 50% (L2, measured) |",
                             "| DRAM, of its theoretical roof | 0.8 | `>= 0.5` |"})
        CHECK_MESSAGE(page.find(text) != std::string::npos, text);
    CHECK(read_file(course.root() / "ch05_streams/roofline.svg").find("<svg") != std::string::npos);
    CHECK(run_lab({"docs", "--check"}, course.root()).exit_code == 0);
    course.replace("ch05_streams/README.md", "<!-- roofline: -->", "<!-- roofline: pair -->");
    CHECK(run_lab({"docs"}, course.root()).err.find("not of 'pair'") != std::string::npos);
    course.replace("ch05_streams/README.md", "<!-- roofline: pair -->", "<!-- roofline: -->");
    course.record("NVIDIA H100");
    const Outcome left_out = run_lab({"docs"}, course.root());
    CHECK(left_out.exit_code == kFindingFailed);
    CHECK(left_out.err.find("ran on NVIDIA H200") != std::string::npos);
    fs::remove(course.root() / "ch05_streams/evidence/h200/ceilings.sqlite");
    CHECK(run_lab({"docs"}, course.root()).exit_code != 0);
    course.replace("ch05_streams/chapter.toml", "minutes = ", "draft = true\nminutes = ");
    CHECK(run_lab({"docs"}, course.root()).exit_code == 0);
    CHECK(read_file(course.root() / "ch05_streams/README.md").find("Not recorded on a GPU yet") !=
          std::string::npos);
}

TEST_CASE("live: a companion is run by itself, recorded, and verified under all four sanitizers") {
    const CourseWithRoofs course;
    const std::string json =
        replaced(std::string(kPrinted).substr(std::string(kPrinted).find('{')), "\n", " ");
    const std::string line = json.substr(0, json.rfind('}') + 1);
    write_file(course.root() / "ch05_streams/ceilings.cu", "// fake: says " + line + "\n");
    fs::remove(course.root() / "ch05_streams/evidence/h200/ceilings.sqlite");
    const auto lab = [&](std::vector<std::string> words) {
        return run_lab(std::move(words), course.root(), course.with_fake_tools());
    };
    const Outcome shown = lab({"run", "ch05", "--live"});
    INFO(shown.out, shown.err);
    CHECK(shown.exit_code == 0);
    CHECK(shown.err.find("nsys profile") != std::string::npos);
    CHECK(shown.err.find("-o build/live/ch05_streams/ceilings") == std::string::npos);
    CHECK(shown.out.find("a point: 2 FLOP/byte") != std::string::npos);
    const Outcome recorded = lab({"record", "ch05", "--stale"});
    CHECK(recorded.out.find("recorded ch05_streams/evidence/h200/ceilings.sqlite") != std::string::npos);
    CHECK(recorded.out.find("1 recorded, 0 failed") != std::string::npos);
    const Evidence evidence = Evidence::open(course.root() / "ch05_streams/evidence/h200/ceilings.sqlite");
    CHECK_FALSE(evidence.has_trace());
    CHECK(asked(evidence, "SELECT measured FROM roofs WHERE name = 'L2'").text() == "8000000000000");
    const Outcome verified = lab({"verify", "ch05"});
    CHECK(verified.exit_code == 0);
    for (const char* text : {"ch05_streams/ceilings answer (0)", "ch05_streams/ceilings share (0.8)",
                             "ch05_streams/ceilings.cu memcheck", "ch05_streams/ceilings.cu synccheck"})
        CHECK_MESSAGE(verified.out.find(text) != std::string::npos, text);
    CHECK(lab({"sanitize", "ch05/ceilings"}).err.find("--small") != std::string::npos);
}
