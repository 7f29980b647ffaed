#include "course/findings.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "core/files.h"
#include "hand_made_export.h"

using namespace lab;

namespace {

using Made = HandMadeExport;

Evidence real(const char* name) {
    return Evidence::open(fs::path(LAB_SAMPLES) / fmt::format("nsys_2025.3_{}.sqlite", name));
}

/// Evidence of a program under the tools given, without a trace.
struct Toolbox {
    TemporaryFolder folder;
    RunRecord run;
    Toolbox() { run.provenance["gpu"] = "NVIDIA H200", run.exit_code = 0; }
    [[nodiscard]] Evidence evidence() const {
        fs::remove(folder.path() / "evidence.sqlite");
        write_evidence(run, folder.path() / "evidence.sqlite");
        return Evidence::open(folder.path() / "evidence.sqlite");
    }
};

/// A hand-made export under a finding.
template <class Fill>
Judged judged(const Fill& fill, const Finding& finding) {
    const TemporaryFolder folder;
    {
        HandMadeExport made(folder.path() / "export.sqlite");
        fill(made);
    }
    return judge_finding(Evidence::open(folder.path() / "export.sqlite"), finding, 0);
}

Finding asks(const std::string& sql, const std::string& first, const std::string& second = "== 0") {
    Finding finding;
    finding.id = finding.says = "test";
    finding.sql = sql;
    finding.expect = {Expectation::parse(first), Expectation::parse(second)};
    return finding;
}

Finding asks_metric(const std::string& metric, const std::string& range, const std::string& first,
                    const std::string& second, double margin) {
    Finding finding = asks("", first, second);
    finding.kind = FindingKind::ratio;
    finding.metric = metric, finding.range = range, finding.margin = margin;
    return finding;
}

double number(const Measured& measured) {
    REQUIRE(measured.value);
    return std::get<double>(*measured.value);
}

}  // namespace

TEST_CASE("findings: numbers and texts are measured on real evidence") {
    const Evidence fixed = real("fixed");
    CHECK(number(measure(fixed, "SELECT COUNT(*) FROM kernels", "", std::nullopt)) == 407);
    CHECK(number(measure(fixed, "SELECT COUNT(*) FROM kernels", "", "normalise")) == 404);
    CHECK(number(measure(fixed, "SELECT 0.5", "", std::nullopt)) == 0.5);
    const Measured text =
        measure(fixed, "SELECT from_kind FROM copies ORDER BY start LIMIT 1", "", "normalise");
    CHECK(std::get<std::string>(*text.value) == "pinned");
    CHECK(text.text() == "pinned");
    CHECK(number(measure(fixed, "", "kernel_concurrency", "normalise")) > 0.15);
    CHECK(number(measure(fixed, "SELECT gpu_end > gpu_start FROM ranges WHERE name = 'normalise'", "",
                         std::nullopt)) == 1);
}

TEST_CASE("findings: a question without an answer has no value, and says why") {
    const Evidence fixed = real("fixed");
    for (const char* sql :
         {"SELECT MAX(start) FROM kernels WHERE name = 'none'", "SELECT start FROM sets", "SELECT NULL"}) {
        const Measured nothing = measure(fixed, sql, "", std::nullopt);
        CHECK_FALSE(nothing.value);
        CHECK(nothing.was_run);
        CHECK(nothing.missing.find("nothing to check") != std::string::npos);
        CHECK(nothing.text() == "nothing");
    }
    CHECK(measure(fixed, "", "d2h_hidden_share", "warm-up").missing.find("nothing to check") !=
          std::string::npos);
    CHECK(measure(fixed, "SELECT 1 FROM nowhere", "", std::nullopt).missing.find("no such table") !=
          std::string::npos);
    CHECK(measure(fixed, "SELECT 1", "", "nowhere").missing.find("it has 'warm-up'") != std::string::npos);
}

TEST_CASE("findings: a question that fails leaves the next one unharmed") {
    const Evidence fixed = real("fixed");
    CHECK_FALSE(measure(fixed, "SELECT nonsense FROM kernels", "", "warm-up").value);
    CHECK(number(measure(fixed, "SELECT COUNT(*) FROM kernels", "", std::nullopt)) == 407);
    CHECK_FALSE(measure(fixed, "SELECT COUNT(*) FROM kernels", "", "nowhere").value);
    CHECK(number(measure(fixed, "SELECT COUNT(*) FROM kernels", "", std::nullopt)) == 407);
}

TEST_CASE("findings: both halves of the claims of chapter 5, on real evidence") {
    const Finding streams =
        asks("SELECT COUNT(DISTINCT stream) FROM kernels WHERE grid_x > 1", "== 1", "== 4");
    Case both;
    both.findings = {streams, asks_metric("kernel_concurrency", "normalise", "== 0", ">= 0.15", 0.1),
                     asks_metric("h2d_hidden_share", "normalise", "== 0", ">= 0.4", 0.1)};
    both.findings[0].range = "normalise";
    const Evidence buggy = real("buggy"), fixed = real("fixed");
    for (const FindingRow& row : judge_case(both, buggy, fixed)) {
        INFO(row.sides[0].why, row.sides[1].why);
        CHECK(row.verdict == Verdict::pass);
        CHECK(row.sides[0].why.empty());
    }
    for (const FindingRow& row : judge_case(both, fixed, buggy)) {
        CHECK(row.verdict == Verdict::fail);
        CHECK(row.sides[0].verdict == Verdict::fail);
        CHECK(row.sides[1].verdict == Verdict::fail);
    }
}

TEST_CASE("findings: a verdict says what was expected and what was found") {
    const Evidence fixed = real("fixed");
    Finding finding = asks("SELECT COUNT(*) FROM kernels", "== 404");
    finding.unit = "kernels";
    const Judged wrong = judge_finding(fixed, finding, 0);
    CHECK(wrong.verdict == Verdict::fail);
    CHECK(wrong.why == "expected == 404 kernels, found 407 kernels");
    const Judged close =
        judge_finding(fixed, asks_metric("gpu_busy_share", "normalise", ">= 0.9", "> 0", 0.2), 0);
    CHECK(close.verdict == Verdict::inconclusive);
    CHECK(close.why.find("within the noise (±20%) around >= 0.9") != std::string::npos);
}

TEST_CASE("findings: nothing to check fails, whatever was expected") {
    const Evidence fixed = real("fixed");
    for (const char* expected : {"== 0", "!= 5", "<= 100", "== ''"}) {
        const Judged judgement = judge_finding(fixed, asks("SELECT MAX(bytes) FROM sets", expected), 0);
        CHECK(judgement.verdict == Verdict::fail);
        CHECK(judgement.why.find("nothing to check") != std::string::npos);
    }
}

TEST_CASE("findings: a time is shown and never asserted") {
    Finding time = asks("", "== 0");
    time.kind = FindingKind::time;
    time.metric = "span_ms";
    time.expect = {};
    const Judged shown = judge_finding(real("fixed"), time, 1);
    CHECK(shown.verdict == Verdict::pass);
    CHECK(number(shown.measured) > 10);
}

TEST_CASE("findings: a capture that is not whole proves nothing about the trace") {
    const auto lossy = [](Made& made) {
        made.launch(0, {10, 20, 1});
        made.add_diagnostic("5 events were dropped.");
    };
    for (const char* sql : {"SELECT COUNT(*) FROM kernels", "SELECT COUNT(*) FROM KERNELS",
                            "SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"}) {
        const Judged judgement = judged(lossy, asks(sql, "== 1"));
        CHECK(judgement.verdict == Verdict::inconclusive);
        CHECK(judgement.why.find("dropped") != std::string::npos);
    }
    CHECK(judged(lossy, asks("SELECT 1", "== 1")).verdict == Verdict::pass);
}

TEST_CASE("findings: what no tool looked at is not run, never passed") {
    const Toolbox none;
    const Evidence evidence = none.evidence();
    for (const char* sql :
         {"SELECT COUNT(*) FROM kernels", "SELECT COUNT(*) FROM NCU_METRICS",
          "SELECT COUNT(*) FROM SANITIZER_REPORTS", "select count(*) from sanitizer_reports",
          "SELECT COUNT(*) FROM SANITIZER_REPORTS WHERE tool = 'memcheck'"}) {
        CAPTURE(sql);
        const Judged judgement = judge_finding(evidence, asks(sql, "== 0"), 0);
        CHECK(judgement.verdict == Verdict::not_run);
        CHECK(judgement.why.find("did not run on this program") != std::string::npos);
        CHECK(judgement.measured.text() == "not run");
    }
    CHECK(judge_finding(evidence, asks_metric("span_ms", "a", "> 0", "> 0", 0.1), 0).verdict ==
          Verdict::not_run);
    CHECK(judge_finding(evidence, asks("SELECT exit_code FROM PROGRAM", "== 0"), 0).verdict == Verdict::pass);
}

TEST_CASE("findings: a tool that found nothing passes; another tool's silence does not stand for it") {
    Toolbox box;
    box.run.sanitizer["memcheck"] = {};
    const Evidence evidence = box.evidence();
    const auto verdict = [&](const std::string& sql) {
        return judge_finding(evidence, asks(sql, "== 0"), 0).verdict;
    };
    CHECK(verdict("SELECT COUNT(*) FROM SANITIZER_REPORTS WHERE tool = 'memcheck'") == Verdict::pass);
    CHECK(verdict("SELECT COUNT(*) FROM SANITIZER_REPORTS") == Verdict::pass);
    CHECK(verdict("SELECT COUNT(*) FROM SANITIZER_REPORTS WHERE tool = 'racecheck'") == Verdict::not_run);
    CHECK(verdict("SELECT COUNT(*) FROM SANITIZER_REPORTS WHERE tool IN ('memcheck', 'racecheck')") ==
          Verdict::not_run);
}

TEST_CASE("findings: a metric of ncu is asked by name") {
    Toolbox box;
    box.run.ncu = {{0, "add(int)", "dram__bytes.sum", "byte", "1,000"}};
    const Evidence evidence = box.evidence();
    CHECK(judge_finding(evidence,
                        asks("SELECT value FROM NCU_METRICS WHERE metric = 'dram__bytes.sum'", "== 1000"), 0)
              .verdict == Verdict::pass);
    CHECK(judge_finding(evidence, asks("SELECT SUM(value) FROM NCU_METRICS WHERE metric = 'typo'", "== 0"), 0)
              .verdict == Verdict::fail);
}

TEST_CASE("findings: a value has its unit behind it, a share needs none, and what is missing has none") {
    CHECK(Measured{12.5, "", true}.text_in("ms") == "12.5 ms");
    CHECK(Measured{12.5, "", true}.text_in("") == "12.5");
    CHECK(Measured{0.5, "", true}.text_in("share") == "0.5");
    CHECK(Measured{}.text_in("ms") == "nothing");
    CHECK(Measured{std::nullopt, "", false}.text_in("ms") == "not run");
}

TEST_CASE("findings: the worse verdict of two counts") {
    const Verdict in_order[] = {Verdict::fail, Verdict::inconclusive, Verdict::not_run, Verdict::pass};
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) CHECK(worse(in_order[i], in_order[j]) == in_order[std::min(i, j)]);
}

TEST_CASE("findings: a question says which tool it is put to") {
    const auto by = [](const char* sql, const char* metric = "") {
        const Asked asked = asked_by(sql, metric, std::nullopt);
        return fmt::format("{}{}{}", asked.trace ? "t" : "", asked.counters ? "c" : "",
                           asked.reports ? "r" : "");
    };
    CHECK(by("SELECT COUNT(*) FROM kernels") == "t");
    CHECK(by("", "gpu_busy") == "t");
    CHECK(by("SELECT reports FROM NSYS_RUN") == "t");
    CHECK(by("SELECT value FROM ncu_metrics") == "c");
    CHECK(by("SELECT COUNT(*) FROM SANITIZER_REPORTS WHERE tool = 'memcheck'") == "r");
    CHECK(by("SELECT exit_code FROM PROGRAM") == "");
    CHECK(by("SELECT (SELECT MIN(value) FROM NCU_METRICS) / MIN(duration) FROM kernels") == "tc");
    Case both;
    both.findings = {asks("SELECT exit_code FROM PROGRAM", "== 0"),
                     asks("SELECT 1 FROM NCU_METRICS", "== 1")};
    CHECK(asked_by(both).counters);
    CHECK_FALSE(asked_by(both).trace);
    CHECK_FALSE(asked_by(both).reports);
    both.first_reports = {"memcheck"};  // lab verify runs it, and nothing of it is recorded
    CHECK_FALSE(asked_by(both).reports);
}
