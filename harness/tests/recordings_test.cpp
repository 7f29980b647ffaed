// Further recordings of a program, comparisons of two programs, and samples of the GPU's counters.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "course/findings.h"
#include "course/grade.h"
#include "hand_made_export.h"
#include "tools/recorder.h"

using namespace lab;

namespace {

using Made = HandMadeExport;

/// Evidence as `lab record` writes it, of an export made by hand.
struct Recorded {
    TemporaryFolder folder;
    RunRecord run;

    Recorded() { run.provenance["gpu"] = "NVIDIA H200"; }

    template <class Fill>
    Evidence of_export(const Fill& fill) {
        const fs::path path = folder.path() / "export.sqlite";
        fs::remove(path);
        {
            Made made(path);
            fill(made);
        }
        run.nsys = NsysRun{"", path, ""};
        return written();
    }
    Evidence of_nothing(const std::string& said) {
        run.nsys = NsysRun{"--capture-range=nvtx", std::nullopt, said};
        return written();
    }

  private:
    Evidence written() {
        fs::remove(folder.path() / "evidence.sqlite");
        write_evidence(run, folder.path() / "evidence.sqlite");
        return Evidence::open(folder.path() / "evidence.sqlite");
    }
};

auto kernels_of(int64_t count, int64_t duration = 10) {
    return [=](Made& made) {
        for (int64_t i = 0; i < count; ++i)
            made.launch(i * 100, {.start = i * 100 + 5, .end = i * 100 + 5 + duration, .correlation = i + 1});
    };
}

Finding asks(const std::string& sql, const std::string& recording = "") {
    Finding finding;
    finding.id = finding.says = "test";
    finding.sql = sql;
    finding.recording = recording;
    finding.expect = {Expectation::parse("== 3"), Expectation::parse("== 3")};
    return finding;
}

/// first over second, or second over first
Finding compares_as(std::size_t over, const std::string& expected, double margin = 0.1) {
    Finding finding = asks("SELECT SUM(duration) FROM kernels");
    finding.kind = FindingKind::ratio;
    finding.expect = {};
    finding.margin = margin;
    finding.quotient = Quotient{over, Expectation::parse(expected)};
    return finding;
}

void add_samples(const Made& made, int64_t type, int64_t metric, const std::string& name,
                 const std::vector<std::pair<int64_t, int64_t>>& time_and_value) {
    made.execute("CREATE TABLE IF NOT EXISTS GPU_METRICS (timestamp, typeId, metricId, value)");
    made.execute(
        "CREATE TABLE IF NOT EXISTS TARGET_INFO_GPU_METRICS (typeId, sourceId, typeName, metricId, "
        "metricName)");
    made.execute(fmt::format("INSERT INTO TARGET_INFO_GPU_METRICS VALUES ({}, 0, 'GPU', {}, '{}')", type,
                             metric, name));
    for (const auto& [time, value] : time_and_value)
        made.execute(
            fmt::format("INSERT INTO GPU_METRICS VALUES ({}, {}, {}, {})", time, type, metric, value));
}

double number(const Measured& measured) {
    REQUIRE_MESSAGE(measured.value, measured.missing);
    return std::get<double>(*measured.value);
}

}  // namespace

TEST_CASE("recordings: a finding is asked of the recording that it names") {
    Recorded recorded;
    Evidence plain = recorded.of_export(kernels_of(5));
    plain.add_recording("steady", recorded.of_export(kernels_of(3)));
    const std::string sql = "SELECT COUNT(*) FROM kernels";
    CHECK(number(judge_finding(plain, asks(sql), 0).measured) == 5);
    CHECK(judge_finding(plain, asks(sql, "steady"), 0).verdict == Verdict::pass);
    const Judged missing = judge_finding(plain, asks(sql, "nvtx"), 0);
    CHECK(missing.verdict == Verdict::not_run);
    CHECK(missing.why == "the recording 'nvtx' was not made");
}

TEST_CASE("recordings: a program that failed there gives no figures") {
    Recorded recorded;
    recorded.run.exit_code = 0, recorded.run.out = "3 ms";
    Evidence plain = recorded.of_export(kernels_of(5));
    const Finding finding = asks("SELECT CAST(stdout AS REAL) FROM PROGRAM", "large");
    for (const int code : {0, 1}) {
        recorded.run.exit_code = code;
        plain.add_recording("large", recorded.of_export(kernels_of(3)));
        const Judged judged = judge_finding(plain, finding, 0);
        CHECK(judged.verdict == (code == 0 ? Verdict::pass : Verdict::fail));
        if (code != 0) CHECK(judged.why == "the program failed in the recording 'large'");
    }
}

TEST_CASE("recordings: nsys takes an option once, and a recording's own value is the one") {
    Program program;
    const auto words = [&] { return nsys_command("nsys", "r.nsys-rep", program, false); };
    const auto given = [&](const char* word) {
        const auto all = words();
        return std::count(all.begin(), all.end(), word);
    };
    const std::size_t usual = words().size();
    program.recording.nsys_options = {"--cuda-graph-trace=graph:host-only", "--delay=2"};
    CHECK(given("--cuda-graph-trace=node") == 0);
    CHECK(given("--cuda-graph-trace=graph:host-only") == 1);
    CHECK(words().size() == usual + 1);
    CHECK(words().back() == "r.nsys-rep");
    program.recording.nsys_options = {"--cuda-graph=x"};  // another option, whose name begins alike
    CHECK(given("--cuda-graph-trace=node") == 1);
}

TEST_CASE("recordings: a capture that never began is told, and asks about its trace are not run") {
    Recorded recorded;
    const Evidence nothing = recorded.of_nothing("No reports were generated");
    CHECK(nothing.captured_nothing());
    CHECK_FALSE(nothing.has_trace());
    const auto ask = [&](const char* sql) { return measure(nothing, sql, "", std::nullopt); };
    CHECK(number(ask("SELECT reports FROM NSYS_RUN")) == 0);
    CHECK(number(ask("SELECT kernels FROM NSYS_RUN")) == 0);
    CHECK(std::get<std::string>(*ask("SELECT said FROM NSYS_RUN").value) == "No reports were generated");
    CHECK(std::get<std::string>(*ask("SELECT options FROM NSYS_RUN").value) == "--capture-range=nvtx");
    for (const char* sql : {"SELECT COUNT(*) FROM kernels", "SELECT COUNT(*) FROM graph_runs"}) {
        const Measured trace = ask(sql);
        CHECK_FALSE(trace.was_run);
        CHECK(trace.missing == "nsys captured nothing of this program");
    }
}

TEST_CASE("recordings: a graph as a whole is kept in evidence, and fills its time") {
    Recorded recorded;
    const Evidence evidence = recorded.of_export([](Made& made) {
        made.launch(0, {.start = 5, .end = 15, .correlation = 1});
        made.add(Made::CallRow{20, 22, 2, "cudaGraphLaunch_v10000"});
        made.add(Made::GraphRow{25, 45, 2});
    });
    CHECK(number(measure(evidence, "SELECT duration FROM graph_runs", "", std::nullopt)) == 20);
    CHECK(number(measure(evidence, "", "gpu_busy_share", std::nullopt)) == 0.75);
}

TEST_CASE("recordings: a report's kernels are counted beside it") {
    Recorded recorded;
    const Evidence some = recorded.of_export(kernels_of(4));
    CHECK_FALSE(some.captured_nothing());
    CHECK(number(measure(some, "SELECT kernels + 10 * reports FROM NSYS_RUN", "", std::nullopt)) == 14);
}

TEST_CASE("recordings: a program that floods its output is recorded all the same, with the first of it") {
    const TemporaryFolder folder;
    const fs::path binary = folder.path() / "program", evidence = folder.path() / "evidence.sqlite";
    write_file(binary, "#!/bin/sh\necho first\nhead -c 70000000 /dev/zero | tr '\\0' x\nexit 1\n");
    fs::permissions(binary, fs::perms::owner_all);
    write_file(binary.string() + ".built", "0123 sm_90");
    Program program;
    program.source = "program.cu";
    program.traced = false;
    const RunRecord run =
        record_program(program, binary, {folder.path() / "run.nsys-rep"}, [](const std::string&) {});
    CHECK(run.exit_code == 1);
    CHECK(run.out.rfind("first\n", 0) == 0);
    Recorded recorded;
    recorded.run = run;
    (void)recorded.of_export(kernels_of(1));  // SQLite takes less of one value where an export is read
}

TEST_CASE("comparisons: the quotient of both programs is judged, with its margin") {
    Recorded recorded;
    const Evidence slow = recorded.of_export(kernels_of(2, 40)), fast = recorded.of_export(kernels_of(2, 10));
    Case both;
    const auto judged = [&](const Finding& finding) {
        both.findings = {finding};
        return judge_case(both, slow, fast)[0];
    };
    const FindingRow gain = judged(compares_as(1, ">= 3"));
    CHECK(gain.verdict == Verdict::pass);
    CHECK(number(gain.quotient->measured) == 4);
    CHECK(number(gain.sides[0].measured) == 80);
    CHECK(judged(compares_as(0, "<= 0.3")).verdict == Verdict::pass);
    CHECK(judged(compares_as(1, ">= 5")).verdict == Verdict::fail);
    CHECK(judged(compares_as(1, ">= 5")).quotient->why == "expected >= 5, found 4");
    CHECK(judged(compares_as(1, ">= 4.1")).verdict == Verdict::inconclusive);
}

TEST_CASE("comparisons: a side without a value decides, and nothing is divided by nothing") {
    Recorded recorded;
    const Evidence some = recorded.of_export(kernels_of(1)), not_run = recorded.of_nothing("No reports");
    Case both;
    both.findings = {compares_as(0, ">= 1")};
    CHECK(judge_case(both, not_run, some)[0].verdict == Verdict::not_run);
    CHECK(judge_case(both, some, not_run)[0].verdict == Verdict::not_run);
    CHECK(judge_case(both, some, not_run)[0].quotient->measured.text() == "not run");
    both.findings[0].sql = "SELECT COUNT(*) - 1 FROM kernels";
    const FindingRow nothing = judge_case(both, some, some)[0];
    CHECK(nothing.verdict == Verdict::fail);
    CHECK(nothing.quotient->why == "there is nothing to divide by");
    both.findings[0].sql = "SELECT name FROM kernels";
    CHECK(judge_case(both, some, some)[0].verdict == Verdict::fail);
}

TEST_CASE("comparisons: an answer is graded beside the starter, and without it nothing is passed") {
    Recorded recorded;
    const Evidence slow = recorded.of_export(kernels_of(2, 40)), fast = recorded.of_export(kernels_of(2, 10));
    Case both;
    both.findings = {compares_as(1, ">= 3")};
    CHECK(compares(both));
    CHECK(grade_answer(both, fast, &slow).verdict == Verdict::pass);
    CHECK(grade_answer(both, slow, &slow).verdict == Verdict::fail);
    CHECK(grade_answer(both, fast).verdict == Verdict::not_run);
    both.findings = {asks("SELECT 3 FROM kernels")};
    CHECK_FALSE(compares(both));
    CHECK(grade_answer(both, fast).verdict == Verdict::pass);
}

TEST_CASE("GPU metrics: those that are wanted are kept, from the first kernel to the last") {
    Recorded recorded;
    recorded.run.gpu_metrics = {"Tensor Active"};
    const Evidence evidence = recorded.of_export([](Made& made) {
        kernels_of(2, 50)(made);  // 5 to 55, 105 to 155
        add_samples(made, 0x100 + 3, 7, "Tensor Active [Throughput %]",
                    {{1, 99}, {10, 40}, {50, 60}, {110, 0}, {200, 99}});
        add_samples(made, 0x100 + 3, 8, "SMs Active [Throughput %]", {{10, 5}});
        add_samples(made, 0x200, 7, "Not Tensor Active", {{10, 5}});
    });
    const auto ask = [&](const char* sql) { return number(measure(evidence, sql, "", std::nullopt)); };
    CHECK(evidence.was_run("gpu_metrics"));
    CHECK(ask("SELECT COUNT(*) FROM gpu_metrics") == 3);
    CHECK(ask("SELECT SUM(value) FROM gpu_metrics WHERE name LIKE 'Tensor Active%'") == 100);
    CHECK(ask("SELECT device FROM gpu_metrics") == 3);
}

TEST_CASE("GPU metrics: a range narrows them to the time of its work") {
    Recorded recorded;
    recorded.run.gpu_metrics = {"Tensor Active"};
    const Evidence evidence = recorded.of_export([](Made& made) {
        kernels_of(3, 50)(made);  // 5 to 55, 105 to 155, 205 to 255; launched at 0, 100, 200
        made.add(Made::RangeRow{.start = 90, .end = 120, .name = "dot"});
        add_samples(made, 1, 1, "Tensor Active [Throughput %]",
                    {{20, 1}, {104, 2}, {106, 30}, {150, 40}, {210, 5}});
    });
    CHECK(number(measure(evidence, "SELECT AVG(value) FROM gpu_metrics", "", "dot")) == 35);
    CHECK(number(measure(evidence, "SELECT COUNT(*) FROM gpu_metrics", "", std::nullopt)) == 5);
}

TEST_CASE("GPU metrics: where none were sampled, a question about them is not run") {
    Recorded recorded;
    recorded.run.gpu_metrics = {"Tensor Active"};
    const Evidence evidence = recorded.of_export(kernels_of(1));
    const Measured none = measure(evidence, "SELECT COUNT(*) FROM gpu_metrics", "", std::nullopt);
    CHECK_FALSE(none.was_run);
    CHECK(none.missing == "nsys's sampling of the GPU did not run on this program");
}
