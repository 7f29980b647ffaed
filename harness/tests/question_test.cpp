#include "evidence/question.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "course/case.h"
#include "made_evidence.h"

namespace lab::question_test {

namespace {

using Made = HandMadeExport;

/// Kernels of 50 ns, each launched 5 ns before it starts, at 0, 100, 200, ...
auto kernels(int64_t count) {
    return [=](Made& made) {
        for (int64_t i = 0; i < count; ++i)
            made.launch(i * 100, {.start = i * 100 + 5, .end = i * 100 + 55, .correlation = i + 1});
    };
}

Measured ask(const Evidence& evidence, const std::string& sql,
             const std::optional<std::string>& range = std::nullopt) {
    return measure(evidence, {.sql = sql, .range = range, .needs = needs_of_sql(sql)});
}

double number(const Measured& measured) {
    REQUIRE_MESSAGE(measured.value, measured.missing);
    return std::get<double>(*measured.value);
}

/// "nsys ncu compute-sanitizer", as far as the SQL needs them.
std::string tools_of(const std::string& sql) {
    return join(tools_for(needs_of_sql(sql)), " ");
}

void add_samples(const Made& made, int64_t type, int64_t metric, const std::string& name,
                 const std::vector<std::pair<int64_t, int64_t>>& time_and_value) {
    made.execute(
        "CREATE TABLE IF NOT EXISTS GPU_METRICS (timestamp, typeId, metricId, value);"
        "CREATE TABLE IF NOT EXISTS TARGET_INFO_GPU_METRICS (typeId, sourceId, typeName, metricId, "
        "metricName)");
    made.execute(fmt::format("INSERT INTO TARGET_INFO_GPU_METRICS VALUES ({}, 0, 'GPU', {}, '{}')", type,
                             metric, name));
    for (const auto& [time, value] : time_and_value)
        made.execute(
            fmt::format("INSERT INTO GPU_METRICS VALUES ({}, {}, {}, {})", time, type, metric, value));
}

}  // namespace

TEST_CASE("question: SQL that cannot be prepared is an error where it stands, when it is read") {
    const TemporaryFolder root;
    write_file(root.path() / "ch01_a/one/one.cu", "int main() {}\n");
    const auto reading = [&](const std::string& sql) {
        write_file(root.path() / "ch01_a/one/case.toml",
                   "title = \"t\"\n[[finding]]\nid = \"x\"\nsays = \"x\"\nsql = \"" + sql +
                       "\"\nexpect = \"== 1\"\n");
        return read_case(root.path(), "ch01_a", "ch01_a/one");
    };
    const std::string where = "ch01_a/one/case.toml:5: ";
    for (const auto& [sql, why] : {std::pair{"SELECT MAX(duraton) FROM kernels", "no such column: duraton"},
                                   {"SELECT COUNT(*) FROM kernals", "no such table: kernals"},
                                   {"SELECT absent(1)", "no such function: absent"},
                                   {"SELECT 1 FROM", "incomplete input"},
                                   {"-- nothing", "there is no SQL statement"}}) {
        CAPTURE(sql);
        try {
            (void)reading(sql);
            FAIL("it was read");
        } catch (const Error& error) {
            const std::string said = error.what();
            CHECK_MESSAGE(said.starts_with(where + why), said);
        }
    }
    CHECK(reading("SELECT MAX(duration) FROM kernels").findings.size() == 2);
}

TEST_CASE("question: the tables and views that SQL reads tell which tools it needs") {
    for (const char* view :
         {"kernels", "copies", "sets", "api_calls", "syncs", "graph_launches", "graph_runs", "gpu_metrics",
          "ranges", "CUPTI_ACTIVITY_KIND_KERNEL", "TARGET_INFO_GPU", "NVTX_EVENTS", "NSYS_RUN"}) {
        CAPTURE(view);
        CHECK(tools_of(fmt::format("SELECT COUNT(*) FROM {}", view)) == "nsys");
    }
    CHECK(tools_of("SELECT value FROM NCU_METRICS") == "ncu");
    CHECK(tools_of("SELECT COUNT(*) FROM SANITIZER_REPORTS") == "compute-sanitizer");
    CHECK(tools_of("SELECT line FROM SANITIZER_FRAMES") == "compute-sanitizer");
    CHECK(tools_of("SELECT line FROM CORE_DUMPS").empty());  // neither list nor doctor looks for cuda-gdb
    CHECK(tools_of("SELECT exit_code FROM PROGRAM").empty());
    CHECK(tools_of("SELECT measured FROM roofs").empty());
    CHECK(tools_of("SELECT n.value / MAX(k.duration) FROM NCU_METRICS n, kernels k") == "nsys ncu");
    CHECK(needs_of_sql("SELECT start FROM kernels").narrows);
    CHECK_FALSE(needs_of_sql("SELECT start FROM ranges").narrows);
    using Names = std::set<std::string>;
    CHECK(needs_of_sql("SELECT 1 FROM gpu_metrics, os_calls").recorded == Names{"gpu_metrics", "os_calls"});
    CHECK(needs_of_sql("SELECT 1 FROM cpu_frames").recorded == Names{"cpu_samples"});
    CHECK(tools_of("SELECT COUNT(*) FROM context_switches") == "nsys");
    CHECK_FALSE(needs_of_sql("SELECT reports FROM NSYS_RUN").trace);
}

TEST_CASE("question: a word in a text, an alias or a WITH is no table") {
    CHECK(tools_of("SELECT 'no kernels' FROM NCU_METRICS") == "ncu");
    CHECK(tools_of("SELECT 5 AS offsets, 6 AS kernels").empty());
    CHECK(tools_of("SELECT kernels FROM (SELECT 1 AS kernels)").empty());
    CHECK(tools_of("WITH kernels AS (SELECT 3 AS n) SELECT n FROM kernels").empty());
    CHECK(tools_of("SELECT exit_code FROM PROGRAM /* FROM kernels */").empty());
    CHECK(tools_of("WITH w AS (SELECT start FROM kernels) SELECT COUNT(*) FROM w") == "nsys");
    CHECK(tools_of("SELECT (SELECT COUNT(*) FROM KERNELS)") == "nsys");  // SQL knows no case
}

TEST_CASE("question: an answer is a number or a text; NULL, no row and no range are missing") {
    MadeEvidence made;
    const Evidence evidence = made.of_export(kernels(3));
    CHECK(number(ask(evidence, "SELECT COUNT(*) FROM kernels")) == 3);
    CHECK(std::get<std::string>(*ask(evidence, "SELECT name FROM kernels").value) == "add");
    for (const char* sql :
         {"SELECT MAX(duration) FROM copies", "SELECT duration FROM copies", "SELECT NULL"}) {
        const Measured none = ask(evidence, sql);
        CHECK_FALSE(none.value);
        CHECK(none.was_run);
        CHECK(none.text() == "nothing");
        CHECK(none.missing == "the query has no answer: there was nothing to check");
    }
    const Measured nowhere = ask(evidence, "SELECT COUNT(*) FROM kernels", "step");
    CHECK(nowhere.missing.find("no NVTX range 'step'") != std::string::npos);
    Query share{.metric = "gpu_busy_share", .needs = {.trace = true}};
    CHECK(number(measure(evidence, share)) == doctest::Approx(150.0 / 250));
    share.metric = "h2d_hidden_share";
    CHECK(measure(evidence, share).missing ==
          "h2d_hidden_share is not defined here: there was nothing to check");
    CHECK(ask(evidence, "SELECT 0.5").text_in("share") == "50 %");
    CHECK(ask(evidence, "SELECT 0.5").text_in("ms") == "0.5 ms");
    CHECK(ask(evidence, "SELECT 'half'").text_in("share") == "half");
    CHECK(ask(evidence, "SELECT 1").text_in("copies") == "1 copy");
    CHECK(ask(evidence, "SELECT 1").text_in("launches") == "1 launch");
    CHECK(ask(evidence, "SELECT 1").text_in("ms") == "1 ms");
    CHECK(ask(evidence, "SELECT 2").text_in("copies") == "2 copies");
}

TEST_CASE("question: an error while measuring is not taken for an answer") {
    MadeEvidence made;
    const Evidence evidence = made.of_export(kernels(1));
    CHECK_THROWS_WITH_AS((void)measure(evidence, {.sql = "SELECT duraton FROM kernels"}),
                         doctest::Contains("no such column"), Error);
    CHECK_THROWS_WITH_AS((void)ask(evidence, "SELECT json_extract(name, '$') FROM kernels"),
                         doctest::Contains("malformed JSON"), Error);
    CHECK_THROWS_AS((void)measure(evidence, {.metric = "span"}), Error);
}

TEST_CASE("question: what no tool looked at is not run") {
    MadeEvidence made;
    made.run.nsys = NsysRun{"--capture-range=nvtx", std::nullopt, "No reports were generated"};
    const Evidence nothing = made.written();
    CHECK(nothing.captured_nothing());
    CHECK_FALSE(nothing.has_trace());
    CHECK(number(ask(nothing, "SELECT reports + kernels FROM NSYS_RUN")) == 0);
    CHECK(ask(nothing, "SELECT said FROM NSYS_RUN").text() == "No reports were generated");
    CHECK(ask(nothing, "SELECT options FROM NSYS_RUN").text() == "--capture-range=nvtx");
    const Evidence traced = made.of_export(kernels(4));
    CHECK(number(ask(traced, "SELECT kernels + 10 * reports FROM NSYS_RUN")) == 14);
    made.run.nsys.reset();
    made.run.sanitizer["racecheck"] = {};
    const Evidence alone = made.written();
    const std::string reports = "SELECT COUNT(*) FROM SANITIZER_REPORTS";
    for (const auto& [measured, why] :
         {std::pair{ask(nothing, "SELECT COUNT(*) FROM graph_runs"), "nsys captured nothing of this program"},
          {ask(alone, "SELECT COUNT(*) FROM kernels"), "nsys did not run on this program"},
          {ask(alone, "SELECT COUNT(*) FROM NCU_METRICS"), "ncu did not run on this program"},
          {measure(alone, {.sql = reports, .needs = {.reports = true}, .sanitizers = {"memcheck"}}),
           "compute-sanitizer's memcheck did not run on this program"},
          {ask(traced, "SELECT COUNT(*) FROM gpu_metrics"), "nsys recorded no gpu_metrics of this program"},
          {ask(traced, "SELECT COUNT(*) FROM cpu_frames"), "nsys recorded no cpu_samples of this program"}}) {
        CHECK_FALSE(measured.was_run);
        CHECK(measured.text() == "not run");
        CHECK(measured.missing == why);
    }
    CHECK(number(measure(alone, {.sql = reports, .needs = {.reports = true}, .sanitizers = {"racecheck"}})) ==
          0);
}

TEST_CASE("question: samples of the GPU that are wanted are kept while kernels run; a range narrows them") {
    MadeEvidence made;
    made.run.gpu_metrics = {"Tensor Active"};
    const Evidence evidence = made.of_export([](Made& e) {
        kernels(3)(e);  // 5 to 55, 105 to 155, 205 to 255
        e.add(Made::RangeRow{.start = 90, .end = 120, .name = "dot"});
        add_samples(e, 0x100 + 3, 7, "Tensor Active [Throughput %]",
                    {{1, 99}, {20, 1}, {104, 2}, {106, 30}, {150, 40}, {210, 5}, {300, 99}});
        add_samples(e, 0x100 + 3, 8, "SMs Active [Throughput %]", {{10, 5}});
        add_samples(e, 0x200, 7, "Not Tensor Active", {{10, 5}});
    });
    CHECK(evidence.was_run("gpu_metrics"));
    CHECK(number(ask(evidence, "SELECT COUNT(*) FROM gpu_metrics")) == 5);
    CHECK(number(ask(evidence, "SELECT SUM(value) FROM gpu_metrics WHERE name LIKE 'Tensor Active%'")) == 78);
    CHECK(number(ask(evidence, "SELECT device FROM gpu_metrics")) == 3);
    CHECK(number(ask(evidence, "SELECT AVG(value) FROM gpu_metrics", "dot")) == 35);
}

TEST_CASE("question: samples of a GPU without work are no part of a mean, whatever CUDA calls the GPUs") {
    MadeEvidence made;
    made.run.gpu_metrics = {"SMs Active"};
    const Evidence evidence = made.of_export([](Made& e) {
        kernels(1)(e);  // on CUDA's device 0, which is nsys's GPU 2
        e.execute(
            "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid);"
            "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (2, 0, 1), (1, 1, 1), (0, 0, 9)");  // 9 does nothing
        for (const int gpu : {0, 1, 2})
            add_samples(e, 0x100 + gpu, 7, "SMs Active [Throughput %]", {{20, gpu == 2 ? 90 : 0}});
    });
    CHECK(number(ask(evidence, "SELECT AVG(value) FROM gpu_metrics")) == 90);
    CHECK(number(ask(evidence, "SELECT device FROM gpu_metrics")) == 0);
}

}  // namespace lab::question_test
