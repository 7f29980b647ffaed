// Every claim of a made-up chapter on runs that are made up too: what passes, what fails and what is not run.
#include "course/claims.h"

#include <algorithm>

#include "course/case_evidence.h"
#include "made_course.h"

namespace lab::claims_test {

namespace {

const std::string kPair = "ch01_made/case.toml", kCut = MadeCourse::kExercise + "/case.toml";
const std::string kLost = MadeCourse::kExercise + "/wrong/lost.patch";

/// A course whose claims all hold, before a test spoils something.
struct Recorded : MadeCourse {
    Recorded() { record_all(); }

    [[nodiscard]] Claims claims(bool stale_fails = true) const {
        return recorded_claims(course, read(), stale_fails);
    }
    [[nodiscard]] Claims not_passed(bool stale_fails = true) const {
        Claims all = claims(stale_fails);
        std::erase_if(all, [](const Claim& claim) { return claim.verdict == Verdict::pass; });
        return all;
    }
    /// The one claim that does not pass.
    [[nodiscard]] Claim spoilt(bool stale_fails = true) const {
        const Claims bad = not_passed(stale_fails);
        std::string all;
        for (const Claim& claim : bad) all += "\n" + claim.subject + " " + claim.what + ": " + claim.why;
        INFO(all);
        REQUIRE(bad.size() == 1);
        return bad[0];
    }
    [[nodiscard]] Program program(std::size_t side) const { return read().exercises[0].programs[side]; }
    [[nodiscard]] Answer wrong(std::size_t i) const { return read().exercises[0].wrong[i]; }
};

}  // namespace

TEST_CASE("claims: all that a chapter claims is judged") {
    const Recorded made;
    CHECK(made.not_passed().empty());
    std::map<Claim::Kind, int> count;
    for (const Claim& claim : made.claims()) ++count[claim.kind];
    CHECK(count[Claim::Kind::finding] == 6);  // four of the pair and two of the exercise
    CHECK(count[Claim::Kind::starter] == 1);
    CHECK(count[Claim::Kind::rejected] == 2);
    CHECK(count[Claim::Kind::answer] == 1);
    CHECK(count[Claim::Kind::structure] == 4);  // difference and evidence files of either case
}

TEST_CASE("claims: a finding that does not hold names the file and the line where it stands") {
    const Recorded made;
    made.record(made.read().pair.programs[1], {.kernels = 4, .printed = "1 ms"});
    const Claim claim = made.spoilt();
    CHECK(claim.verdict == Verdict::fail);
    CHECK(claim.what == "streams");
    CHECK(claim.measured == "1 | 1");
    CHECK(claim.why == "fixed: expected == 2, found 1");
    CHECK(claim.where == "ch01_made/case.toml:10");
}

TEST_CASE("claims: a range that was never recorded names the line that asks for it") {
    const Recorded made;
    made.replace(kPair, "buggy = \"== 1\"", "range = \"steady\"\nbuggy = \"== 1\"");
    CHECK(made.spoilt().where == "ch01_made/case.toml:10");
    CHECK(has(made.spoilt().why, "steady"));
    made.write(kPair, kMadePair);
    // A range of pictures alone, to which no question is narrowed.
    made.replace(kPair, "range = \"work\"", "range = \"steady\"");
    made.replace(kPair, "COUNT(DISTINCT stream) FROM kernels",
                 "COUNT(DISTINCT streamId) FROM CUPTI_ACTIVITY_KIND_KERNEL");
    made.replace(kPair, "metric = \"span_ms\"", "sql = \"SELECT 1\"");
    CHECK(made.spoilt().why.starts_with("ch01_made/case.toml:1: "));
    made.write(kPair, kMadePair);
    made.replace("ch01_made/chapter.toml", "sql =", "range = \"steady\"\nsql =");
    CHECK(made.spoilt().kind == Claim::Kind::answer);
    CHECK(made.spoilt().where == "ch01_made/chapter.toml:7");
}

TEST_CASE("claims: an untouched starter fails for its stated reason, and for nothing else") {
    const Recorded made;
    made.record(made.program(0), {.kernels = 2});
    Claims bad = made.not_passed();
    REQUIRE(bad.size() == 2);  // the starter's half of the finding does not hold either
    CHECK(bad[1].kind == Claim::Kind::starter);
    CHECK(bad[1].subject == MadeCourse::kExercise + "/starter.cu");
    CHECK(bad[1].what == "fails kernels");
    made.record(made.program(0), {.kernels = 1, .exit_code = 1});
    made.replace(kCut, "starter_fails", "starter_answer = \"== 1\"\nstarter_fails");
    CHECK(made.spoilt().why == "it fails answer, kernels");
}

TEST_CASE("claims: a finding may ask about the starter alone") {
    const Recorded made;
    const std::string before = read_file(made.root() / kCut);
    const auto ask = [&](const std::string& sql) {
        made.write(kCut, before +
                             "\n[[finding]]\nid = \"line\"\nsays = \"line\"\nstarter = \"== 1\"\nsolution = "
                             "\"any\"\nsql = \"" +
                             sql + "\"\n");
        made.record_all();
    };
    // Of the starter alone: the solution has two kernels.
    ask("SELECT COUNT(*) FROM kernels");
    CHECK(made.not_passed().empty());
    ask("SELECT COUNT(*) + 1 FROM kernels");
    CHECK(made.spoilt().why == "starter: expected == 1, found 2");
}

TEST_CASE("claims: a wrong answer that is not rejected for its reason is a failed or an inconclusive claim") {
    const Recorded made;
    made.record(made.wrong(0).program, {.kernels = 2});
    CHECK(made.spoilt().kind == Claim::Kind::rejected);
    CHECK(made.spoilt().subject == kLost);
    CHECK(made.spoilt().why == "these did not reject it: kernels");
    // It fails, but for another reason than its own.
    made.record(made.wrong(0).program, {.kernels = 2, .exit_code = 1});
    CHECK(made.spoilt().verdict == Verdict::fail);
    // A capture that is not whole rejects nothing.
    made.record(made.wrong(0).program, {.kernels = 0, .whole = false});
    CHECK(made.spoilt().verdict == Verdict::inconclusive);
    made.record(made.wrong(0).program, {.kernels = 0, .exit_code = 1});
    CHECK(made.not_passed().empty());
}

TEST_CASE("claims: a right answer other than the solution must pass") {
    const Recorded made;
    made.write(MadeCourse::kExercise + "/right/other.patch",
               "why: It counts backwards.\n--- solution.cu\n+++ other.cu\n@@ -1 +1 @@\n-int kernels = 2;\n"
               "+int kernels = 1 + 1;\n");
    CHECK(made.spoilt().why.find("right/other.patch is not recorded") != std::string::npos);
    const Answer right = made.read().exercises[0].right.at(0);
    made.record(right.program, {.kernels = 2});
    CHECK(made.not_passed().empty());
    made.record(right.program, {.kernels = 1});
    CHECK(made.spoilt().kind == Claim::Kind::accepted);
    CHECK(made.spoilt().why == "it does not pass kernels (expected > 1, found 1)");
}

TEST_CASE("claims: what a tool that did not run was to show neither fails a starter nor rejects an answer") {
    const Recorded made;
    made.replace(kCut, "SELECT COUNT(*) FROM kernels", "SELECT SUM(value) FROM NCU_METRICS");
    made.record_all();
    std::map<Verdict, int> of_answers;
    for (const Claim& claim : made.claims())
        if (claim.kind == Claim::Kind::starter || claim.kind == Claim::Kind::rejected)
            ++of_answers[claim.verdict];
    CHECK(of_answers[Verdict::not_run] == 2);  // the starter, and the answer that fails by this finding
    CHECK(of_answers[Verdict::pass] == 1);
}

TEST_CASE("claims: a patch that does not apply fails with its file and line, recorded or not") {
    const Recorded made;
    made.replace(kLost, "-int kernels = 1;", "-int kernels = 5;");
    CHECK(made.spoilt().verdict == Verdict::fail);
    CHECK(made.spoilt().where == kLost + ":1");
    CHECK(has(made.spoilt().why, "does not apply"));
    fs::remove_all(made.root() / MadeCourse::kExercise / "evidence");
    made.replace(kCut, "minutes =", "draft = true\nminutes =");
    const Claims bad = made.not_passed();
    CHECK(std::count_if(bad.begin(), bad.end(), [](const Claim& c) { return c.verdict == Verdict::fail; }) ==
          1);
}

TEST_CASE("claims: what a draft has not recorded is not run; what should be recorded fails") {
    const Recorded made;
    fs::remove_all(made.root() / MadeCourse::kExercise / "evidence");
    const auto verdicts = [&] {
        std::set<Verdict> all;
        for (const Claim& claim : made.not_passed()) all.insert(claim.verdict);
        return all;
    };
    CHECK(made.not_passed().size() == 4);  // the case, its wrong answers and the quiz
    CHECK(verdicts() == std::set<Verdict>{Verdict::fail});
    made.replace(kCut, "minutes =", "draft = true\nminutes =");
    CHECK(made.not_passed().size() == 4);
    CHECK(verdicts() == std::set<Verdict>{Verdict::not_run});
    made.record_all();
    CHECK(has(made.spoilt().why, "take `draft = true` out"));
}

TEST_CASE(
    "claims: a recording that is a draft may be missing, and its findings are not run until it is made") {
    const Recorded made;
    made.replace(kPair, "[[finding]]",
                 "[[recording]]\nname = \"metrics\"\ngpu_metrics = [\"SMs\"]\n"
                 "draft = true\n\n[[finding]]\nid = \"sampled\"\nsays = \"x\"\n"
                 "recording = \"metrics\"\nsql = \"SELECT COUNT(*) FROM kernels\"\n"
                 "buggy = \"== 4\"\nfixed = \"== 4\"\n\n[[finding]]");
    CHECK(made.spoilt().verdict == Verdict::not_run);
    CHECK(has(made.spoilt().why, "'metrics' is a draft"));
    const Chapter chapter = made.read();
    CHECK(obtain(made.course, chapter.pair, Source::recorded, [](const std::string&) {}).sides.size() == 2);
    made.record_all();
    CHECK(has(made.spoilt().why, "the recording 'metrics' is made: take `draft = true` out"));
    made.replace(kPair, "draft = true\n", "");
    CHECK(made.not_passed().empty());
}

TEST_CASE("claims: stale evidence is labelled for learners, and is no proof") {
    const Recorded made;
    const auto label = [&] {
        return obtain(made.course, made.read().pair, Source::recorded, [](const std::string&) {}).label;
    };
    CHECK_FALSE(has(label(), "changed since"));
    made.write("ch01_made/fixed.cu", "int kernels = 7;\n");
    CHECK(has(label(), "changed since"));
    CHECK(made.spoilt(true).verdict == Verdict::fail);
    CHECK(has(made.spoilt(true).why, "fixed.sqlite is stale"));
    CHECK(made.spoilt(false).verdict == Verdict::not_run);
}

TEST_CASE("claims: a quiz question without an answer fails at its line") {
    const Recorded made;
    made.replace("ch01_made/chapter.toml", "COUNT(*) FROM kernels", "MAX(start) FROM copies");
    CHECK(made.spoilt().where == "ch01_made/chapter.toml:7");
    made.write("ch01_made/chapter.toml", kMadeChapter + std::string("choices = [\"one\", \"two\"]\n"));
    CHECK(made.not_passed().empty());
    made.record(made.program(1), {.kernels = 3});
    CHECK(has(made.spoilt().why, "which is no choice"));
}

TEST_CASE("claims: two programs differ in few lines, and evidence belongs to a program") {
    const Recorded made;
    made.write("ch01_made/evidence/h200/renamed.sqlite", "");
    CHECK(has(made.spoilt().why, "renamed.sqlite is evidence of no program"));
    fs::remove(made.root() / "ch01_made/evidence/h200/renamed.sqlite");
    std::string longer = "int kernels = 2;\n";
    for (int i = 0; i < 60; ++i) longer += fmt::format("// {}\n", i);
    made.write("ch01_made/fixed.cu", longer);
    CHECK(made.not_passed().empty());
    made.write("ch01_made/fixed.cu", longer + std::string(60, '\n'));  // layout makes nothing stale
    CHECK(made.spoilt().what == "small difference");
}

TEST_CASE("claims: a point of a roofline has its roofs, its range and something to draw") {
    const Recorded made;
    const fs::path roofs = "ch01_made/roofs/case.toml";
    made.write(roofs, R"(title = "roofs"
traced = false
bandwidths = ["DRAM"]
computes = ["FMA"]

[[finding]]
id = "measured"
says = "roofs"
sql = "SELECT COUNT(*) FROM roofs"
expect = "== 2"
)");
    made.write("ch01_made/roofs/roofs.cu", "");
    made.record(
        made.read().singles[0].programs[0],
        {.printed = R"({"roofs": [{"name": "DRAM", "measured": 10}, {"name": "FMA", "measured": 10}]})"});
    const auto with_point = [&](const std::string& bandwidth, const std::string& sql) {
        made.write(kPair, kMadePair + fmt::format("\n[[point]]\nside = \"buggy\"\nbandwidth = \"{}\"\n"
                                                  "compute = \"FMA\"\nsql = \"SELECT 'a', 1, 2, {}\n",
                                                  bandwidth, sql));
    };
    with_point("DRAM", "3\"");
    CHECK(made.not_passed().empty());
    with_point("DRAM", "0\"");
    CHECK(made.spoilt().why.starts_with("ch01_made/case.toml:21: the point 'a' has 1 FLOP"));
    with_point("DRAM", "3 WHERE 0\"");
    CHECK(has(made.spoilt().why, "the query has no row"));
    with_point("DRAM", "3\"\nrange = \"steady\"");
    CHECK(made.spoilt().why.starts_with("ch01_made/case.toml:21: "));
    with_point("L2", "3\"");
    CHECK(has(made.spoilt().why, "no roof called 'L2' is measured"));
}

}  // namespace lab::claims_test
