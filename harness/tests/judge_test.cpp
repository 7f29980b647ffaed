// What the judge thinks of measured values, on runs that are made up here.
#include "course/judge.h"

#include "made_course.h"

namespace lab::judge_test {

namespace {

Evidence run(const MadeRun& made, bool traced = true) {
    const TemporaryFolder folder;
    write_run(made, folder.path() / "run.sqlite", {}, traced);
    return Evidence::open(folder.path() / "run.sqlite");  // still open when the folder is gone
}

Finding asks(const std::string& sql, const std::string& first, const std::string& second, double margin = 0) {
    Finding finding;
    finding.id = finding.says = "test";
    finding.query = {sql, "", {}, needs_of_sql(sql), {}};
    finding.expect = {Expectation::parse(first), Expectation::parse(second)};
    finding.margin = margin;
    return finding;
}

Finding shows(const std::string& sql) {
    Finding finding = asks(sql, "== 0", "== 0");
    finding.expect = {};
    return finding;
}

const std::string kKernels = "SELECT COUNT(*) FROM kernels";
const std::string kNull = "SELECT MAX(start) FROM kernels WHERE name = 'none'";
const std::string kNoRow = "SELECT start FROM copies";

/// A pair whose first program launches one kernel, and the second four.
Case pair(std::vector<Finding> findings) {
    Case both;
    both.programs.resize(2);
    both.programs[0].name = "buggy", both.programs[1].name = "fixed";
    both.findings = std::move(findings);
    return both;
}

std::vector<FindingRow> judged(const Case& both, const MadeRun& buggy, const MadeRun& fixed) {
    std::vector<Evidence> evidence;
    evidence.push_back(run(buggy)), evidence.push_back(run(fixed));
    return judge_case(both, evidence);
}

}  // namespace

TEST_CASE("judge: a value passes, fails or is too near to tell, and why says what was found") {
    const Evidence four = run({.kernels = 4});
    const auto judged = [&](const std::string& expected, double margin) {
        Finding finding = asks(kKernels, expected, "== 0", margin);
        finding.unit = "kernels";
        return judge_finding(four, finding, 0);
    };
    CHECK(judged("== 4", 0).verdict == Verdict::pass);
    CHECK(judged("== 5", 0).verdict == Verdict::fail);
    CHECK(judged("== 5", 0).why == "expected == 5 kernels, found 4 kernels");
    CHECK(judged(">= 3", 0.1).verdict == Verdict::pass);
    CHECK(judged(">= 3.9", 0.1).verdict == Verdict::inconclusive);
    CHECK(judged(">= 3.9", 0.1).why == "4 kernels is within the noise (±10 %) around >= 3.9");
    CHECK(judged(">= 5", 0.1).verdict == Verdict::fail);
}

TEST_CASE("judge: a check that found nothing to check fails, whatever was expected") {
    const Evidence one = run({});
    for (const std::string& sql : {kNull, kNoRow})
        for (const char* expected : {"== 0", "!= 5", "<= 100", "== ''"}) {
            const Judged judged = judge_finding(one, asks(sql, expected, "== 0"), 0);
            CHECK(judged.verdict == Verdict::fail);
            CHECK(judged.why == "the query has no answer: there was nothing to check");
        }
    Finding elsewhere = asks(kKernels, "== 0", "== 0");
    elsewhere.query.range = "nowhere";
    CHECK(judge_finding(one, elsewhere, 0).verdict == Verdict::fail);
    CHECK(has(judge_finding(one, elsewhere, 0).why, "it has 'work'"));
}

TEST_CASE("judge: a recording in which the program failed answers nothing but how it failed") {
    Evidence plain = run({});
    plain.add_recording("too_large", run({.exit_code = 1}, false));
    Finding how = asks("SELECT exit_code FROM PROGRAM", "== 1", "== 1");
    Finding what = asks("SELECT LENGTH(stdout) FROM PROGRAM", ">= 0", ">= 0");
    how.recording = what.recording = "too_large";
    how.may_fail = true;
    CHECK(judge_finding(plain, how, 0).verdict == Verdict::pass);
    CHECK(judge_finding(plain, what, 0).verdict == Verdict::fail);
}

TEST_CASE("judge: what is shown needs a value, unless it says that it may be missing") {
    const Evidence one = run({});
    CHECK(judge_finding(one, shows(kKernels), 0).verdict == Verdict::pass);
    Finding finding = shows(kNull);
    CHECK(judge_finding(one, finding, 0).verdict == Verdict::fail);
    finding.may_be_missing = true;
    CHECK(judge_finding(one, finding, 0).verdict == Verdict::pass);
    CHECK(judge_finding(one, finding, 0).measured.text() == "nothing");
}

TEST_CASE("judge: both halves of a finding are judged, each program by its own expectation") {
    const Case both = pair({asks(kKernels, "== 1", "== 4"), shows(kKernels)});
    const MadeRun one{}, four{.kernels = 4};
    const std::vector<FindingRow> rows = judged(both, one, four);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].verdict == Verdict::pass);
    CHECK(rows[0].why(both.programs).empty());
    CHECK(rows[1].sides[1].measured.text() == "4");
    // One half that fails is enough, whichever it is.
    CHECK(judged(both, one, one)[0].verdict == Verdict::fail);
    CHECK(judged(both, four, four)[0].verdict == Verdict::fail);
    const FindingRow neither = judged(both, four, one)[0];
    CHECK(neither.why(both.programs) == "buggy: expected == 1, found 4; fixed: expected == 4, found 1");
}

TEST_CASE("judge: two programs compared, with a margin around the ratio") {
    const auto ratio = [](const std::string& expected, const MadeRun& buggy, const MadeRun& fixed) {
        Finding finding = asks(kKernels, "== 0", "== 0", 0.1);
        finding.expect = {};
        finding.ratio = Ratio{kFaulty, Expectation::parse(expected)};
        return *judged(pair({finding}), buggy, fixed)[0].ratio;
    };
    const MadeRun none{.kernels = 0}, one{}, four{.kernels = 4};
    CHECK(ratio(">= 3", one, four).verdict == Verdict::pass);
    CHECK(ratio(">= 3", one, four).measured.text() == "4");
    CHECK(ratio(">= 4.2", one, four).verdict == Verdict::inconclusive);
    CHECK(ratio(">= 3", four, one).why == "expected >= 3, found 0.25");
    CHECK(ratio(">= 3", none, four).why == "there is nothing to divide by");
}

TEST_CASE("judge: a capture that is not whole proves nothing about the trace") {
    const Evidence lossy = run({.whole = false});
    const Judged judged = judge_finding(lossy, asks(kKernels, "== 1", "== 1"), 0);
    CHECK(judged.verdict == Verdict::inconclusive);
    CHECK(has(judged.why, "dropped"));
    const std::string program = "SELECT exit_code FROM PROGRAM";
    CHECK(judge_finding(lossy, asks(program, "== 0", "== 0"), 0).verdict == Verdict::pass);
    CHECK(judge_finding(lossy, shows(kKernels), 0).verdict == Verdict::pass);
}

TEST_CASE("judge: what no tool looked at is not run, and never passed") {
    const Evidence untraced = run({}, false);
    for (const std::string& sql : {kKernels, std::string("SELECT COUNT(*) FROM NCU_METRICS")}) {
        const Judged judged = judge_finding(untraced, asks(sql, "== 0", "== 0"), 0);
        CHECK(judged.verdict == Verdict::not_run);
        CHECK(has(judged.why, "did not run on this program"));
    }
    Finding reports = asks("SELECT COUNT(*) FROM SANITIZER_REPORTS", "== 0", "== 0");
    reports.query.sanitizers = {"memcheck"};
    CHECK(has(judge_finding(untraced, reports, 0).why, "memcheck did not run"));
    Finding other = asks(kKernels, "== 1", "== 1");
    other.recording = "once";
    CHECK(judge_finding(run({}), other, 0).verdict == Verdict::not_run);
}

TEST_CASE("judge: a further recording is asked by itself, and counts only if its program succeeded") {
    Finding once = asks(kKernels, "== 3", "== 3");
    once.recording = "once";
    Evidence evidence = run({.kernels = 4});
    evidence.add_recording("once", run({.kernels = 3}));
    CHECK(judge_finding(evidence, once, 0).verdict == Verdict::pass);
    Evidence failing = run({.kernels = 4});
    failing.add_recording("once", run({.kernels = 3, .exit_code = 1}));
    CHECK(judge_finding(failing, once, 0).verdict == Verdict::fail);
}

TEST_CASE("judge: an answer is graded by what is expected of the right program") {
    Finding compared = asks(kKernels, "== 0", "== 0", 0.1);
    compared.id = "faster";
    compared.expect = {};
    compared.ratio = Ratio{kFaulty, Expectation::parse(">= 3")};
    const Case both = pair({asks(kKernels, "== 1", "== 4"), compared, shows(kNull)});
    const Evidence one = run({}), four = run({.kernels = 4});
    CHECK(grade_answer(both, four, &one).verdict == Verdict::pass);  // what is shown does not count
    CHECK(grade_answer(both, one, &one).not_passed() == std::vector<std::string>{"test", "faster"});
    const Grade alone = grade_answer(both, four);
    CHECK(alone.verdict == Verdict::not_run);
    CHECK(alone.not_passed() == std::vector<std::string>{"faster"});
}

}  // namespace lab::judge_test
