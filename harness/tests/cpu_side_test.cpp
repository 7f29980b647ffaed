// What nsys records of the CPU and of the GPU's counters: views, evidence, analysis and pictures.
#include <doctest/doctest.h>

#include "draw/curves.h"
#include "draw/timeline.h"
#include "evidence/analysis.h"
#include "evidence/schema.h"
#include "made_evidence.h"

namespace lab::cpu_side_test {

namespace {

using Made = HandMadeExport;

/// A main thread that loads for 100 ns, launches a kernel, and sleeps; a worker that is stopped once; and a
/// thread of the profiler.
void fill(Made& made) {
    made.launch(110, {.start = 120, .end = 220, .correlation = 1});
    made.add(Made::RangeRow{.start = 0, .end = 100, .name = "load"});
    made.add(Made::RangeRow{.start = 105, .end = 300, .name = "step"});
    made.add(Made::OsRow{.start = 10, .end = 30, .name = "fopen"});
    made.add(Made::OsRow{.start = 12, .end = 28, .name = "open", .nesting = 1});
    made.add(Made::OsRow{.start = 130, .end = 290, .name = "pthread_cond_wait"});
    made.add(Made::OsRow{.start = 140, .end = 150, .name = "pthread_cond_wait", .thread = 2});
    made.add(Made::OsRow{.start = 60, .end = 50, .name = "never_returned"});
    made.add(Made::SampleRow{.at = 20, .stack = {"decode(int)", "main"}});
    made.add(Made::SampleRow{.at = 40, .stack = {"decode(int)", "main"}});
    made.add(Made::SampleRow{.at = 60, .stack = {"", "decode(int)"}, .module = "/usr/lib/libcuda.so.1"});
    made.add(Made::SampleRow{.at = 70, .stack = {"schedule"}, .cycles = 0});  // a context switch
    made.add(Made::SampleRow{.at = 120, .stack = {"work()"}, .thread = 2});
    for (const auto& [at, in] : {std::pair{0, true}, {130, false}, {290, true}, {300, false}})
        made.add(Made::SwitchRow{at, in});
    made.add(Made::SwitchRow{.at = 100, .in = true, .thread = 2});
    made.add(Made::SwitchRow{.at = 150, .in = false, .state = "Running", .thread = 2});
    made.add(Made::SwitchRow{.at = 180, .in = true, .thread = 2});
    made.add(Made::SwitchRow{.at = 200, .in = false, .thread = 2});
    made.add_thread_name(2, "worker");
    made.add_thread_name(9, "SECRET of another program");
    for (const auto& [at, value] : {std::pair{100, 0}, {150, 40}, {200, 80}, {250, 30}}) {
        made.add_metric(at, "SMs Active [Throughput %]", value);
        made.add_metric(at, "Pixel Warps in Flight [Throughput %]", 0);
        made.add_metric(at, "GPC Clock Frequency [MHz]", 1980);
    }
}

}  // namespace

TEST_CASE("views: OS calls, CPU samples, call stacks, context switches and GPU metrics") {
    const MadeCapture made(fill);
    CHECK(made.answer("SELECT name || duration || '/' || nesting FROM os_calls ORDER BY start, nesting") ==
          "fopen20/0 open16/1 pthread_cond_wait160/0 pthread_cond_wait10/0");
    CHECK(made.answer("SELECT thread_name FROM os_calls WHERE start = 140") == "worker");
    CHECK(made.answer("SELECT function || '@' || module FROM cpu_samples ORDER BY time") ==
          "decode(int)@program decode(int)@program unresolved@libcuda.so.1 work()@program");
    CHECK(made.answer("SELECT COUNT(DISTINCT sample) FROM cpu_frames JOIN cpu_samples USING (sample) "
                      "WHERE cpu_frames.function LIKE 'decode%'") == "3");
    CHECK(made.answer("SELECT state || duration FROM context_switches ORDER BY thread, start") ==
          "running130 blocked160 running10 running50 ready30 running20");
    CHECK(made.answer("SELECT DISTINCT name || ' in ' || unit FROM gpu_metrics ORDER BY 1") ==
          "GPC Clock Frequency in MHz Pixel Warps in Flight in % SMs Active in %");
}

TEST_CASE("views: a range narrows what the host did to when it was in it, and metrics to its GPU work") {
    const MadeCapture made(fill);
    const Capture::Narrowed narrowed(made.capture, "step");
    CHECK(made.answer("SELECT name FROM os_calls") == "pthread_cond_wait pthread_cond_wait");
    CHECK(made.answer("SELECT function FROM cpu_samples") == "work()");
    CHECK(made.answer("SELECT value FROM gpu_metrics WHERE name = 'SMs Active'") == "40 80");
    CHECK(made.answer("SELECT COUNT(*) FROM context_switches") == "6");
}

TEST_CASE("views: marks have a category and a payload, where the program gave them") {
    const MadeCapture made([](Made& e) {
        fill(e);
        e.add_mark(40, "bare");
        e.add_mark_with_payload(110, "residual", "checks", 0.25);
    });
    CHECK(made.answer("SELECT name || COALESCE(category || value, '') FROM marks") ==
          "bare residualchecks0.25");
    const Capture::Narrowed narrowed(made.capture, "step");
    CHECK(made.answer("SELECT name FROM marks") == "residual");
}

TEST_CASE("views: tables that are missing, or of another form, have no rows; nothing else suffers") {
    const std::vector<std::string> views{"os_calls", "cpu_samples", "cpu_frames", "context_switches",
                                         "gpu_metrics"};
    const auto all_empty = [&](const MadeCapture& made) {
        for (const std::string& view : views) {
            CAPTURE(view);
            CHECK(made.answer("SELECT COUNT(*) FROM " + view) == "0");
        }
        CHECK(made.capture.trace().kernels.size() == 1);
    };
    const auto kernel = [](Made& e) { e.launch(0, {.start = 10, .end = 20, .correlation = 1}); };
    all_empty(MadeCapture(kernel));
    all_empty(MadeCapture([&](Made& e) {
        kernel(e);
        e.execute("CREATE TABLE OSRT_API (start, end, globalTid); INSERT INTO OSRT_API VALUES (1, 2, 3)");
        e.execute("CREATE TABLE SCHED_EVENTS (timestamp, cpu); INSERT INTO SCHED_EVENTS VALUES (1, 2)");
        e.execute("CREATE TABLE COMPOSITE_EVENTS (start, end); INSERT INTO COMPOSITE_EVENTS VALUES (1, 2)");
        e.execute("CREATE TABLE SAMPLING_CALLCHAINS (id); INSERT INTO SAMPLING_CALLCHAINS VALUES (1)");
        e.execute("CREATE TABLE GPU_METRICS (timestamp, value); INSERT INTO GPU_METRICS VALUES (1, 2)");
        e.execute("CREATE VIEW ThreadNames AS SELECT 1 AS nameId, 2 AS globalTid");
    }));
    // Without names of states and threads, with metrics that nothing names, and with values of any kind.
    const MadeCapture odd([&](Made& e) {
        kernel(e);
        fill(e);
        e.execute(
            "DROP TABLE ENUM_SAMPLING_THREAD_STATE; DROP TABLE TARGET_INFO_GPU_METRICS;"
            "INSERT INTO SCHED_EVENTS VALUES (NULL, 'x', NULL, NULL, 1e300, x'00');"
            "INSERT INTO COMPOSITE_EVENTS VALUES (99, 9223372036854775807, 'x', 1, NULL, 7);"
            "INSERT INTO ThreadNames VALUES (NULL, 'x', 'y'), (1, 1, NULL);"
            "INSERT INTO SAMPLING_CALLCHAINS VALUES (99, -1, NULL, 0, 0, 0, 0, 0, 0, 0)");
    });
    CHECK(odd.answer("SELECT COUNT(*) FROM context_switches WHERE state = 'ready'") == "0");
    CHECK(odd.capture.trace().cpu_samples.size() == 4);
    CHECK(odd.capture.trace().metrics.empty());
}

TEST_CASE("analysis: host functions, OS calls, threads and metrics") {
    const MadeCapture made(fill);
    const Analysis a = analyse(made.capture.trace());
    REQUIRE(a.functions.size() == 3);
    CHECK(a.functions[0].name + a.functions[0].module == "decode(int)program");
    CHECK(a.functions[0].samples == 2);
    REQUIRE(a.os_calls.size() == 2);  // open is a part of fopen
    CHECK(a.os_calls[0].name == "pthread_cond_wait");
    CHECK(a.os_calls[0].total_ns == 170);
    REQUIRE(a.threads.size() == 2);
    CHECK(a.threads[0].running_ns == 140);
    CHECK(a.threads[0].blocked_ns == 160);
    CHECK(a.threads[1].name == "worker");
    CHECK(a.threads[1].ready_ns == 30);
    REQUIRE(a.metrics.size() == 1);  // in percent, and not 0 throughout; while the GPU had work
    CHECK(a.metrics[0].mean == 60);
    CHECK(a.metrics[0].max == 80);
    const Analysis step = analyse(made.capture.trace(), "step");
    CHECK(step.threads[1].running_ns == 35);  // 105 to 130, and 290 to 300
    CHECK(step.threads[1].blocked_ns == 160);
    REQUIRE(step.functions.size() == 1);
    CHECK(step.functions[0].name == "work()");
}

TEST_CASE("evidence keeps what was recorded of the CPU, names of its threads, and no folder") {
    MadeEvidence made;
    made.run.gpu_metrics = {"SMs Active"};
    const Evidence evidence = made.of_export(fill);
    for (const auto& [view, table] : kFurtherViews) CHECK(evidence.was_run(view));
    const Analysis a = analyse(evidence.trace());
    CHECK(a.functions[0].name + a.functions[0].module == "decode(int)program");
    CHECK(a.threads[1].name == "worker");
    CHECK(a.metrics[0].name == "SMs Active");
    CHECK(read_file(made.path).find("SECRET") == std::string::npos);
    CHECK(read_file(made.path).find("/home/me") == std::string::npos);
    const Evidence plain =
        made.of_export([](Made& e) { e.launch(0, {.start = 10, .end = 20, .correlation = 1}); });
    for (const auto& [view, table] : kFurtherViews) CHECK_FALSE(plain.was_run(view));
}

TEST_CASE("evidence: a hundred thousand samples are read within the steps that a file may take") {
    MadeEvidence made;
    const Evidence evidence = made.of_export([](Made& e) {
        fill(e);
        e.execute(
            "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "
            "INSERT INTO COMPOSITE_EVENTS SELECT i, i, 1, 1, 281474993487873, 1 FROM n");
        e.execute(
            "INSERT INTO SAMPLING_CALLCHAINS SELECT e.id, (SELECT symbol FROM SAMPLING_CALLCHAINS), "
            "(SELECT module FROM SAMPLING_CALLCHAINS), 0, 0, 0, 0, 0, 0, value FROM COMPOSITE_EVENTS e, "
            "json_each('[0,1,2,3,4]') WHERE e.id >= 10");
    });
    CHECK(analyse(evidence.trace()).functions[0].samples > 99'000);
    CHECK(answer(evidence.database(), "SELECT COUNT(*) FROM cpu_samples WHERE function = 'decode(int)'") ==
          "99993");
}

TEST_CASE("timeline: a row for each thread of the program, its OS calls, and curves") {
    const MadeCapture made(fill);
    const Timeline timeline = build_timeline(made.capture.trace(), {});
    std::vector<std::string> rows;
    for (const TimelineRow& row : timeline.rows) rows.push_back(row.group + ": " + row.name);
    CHECK(rows == std::vector<std::string>{"CUDA HW: Stream 7 Kernels", "CPU, main thread: Thread state",
                                           "CPU, main thread: OS runtime libraries", "CPU, main thread: NVTX",
                                           "CPU, main thread: CUDA API", "CPU, thread 2: Thread state",
                                           "CPU, thread 2: OS runtime libraries"});
    REQUIRE(timeline.rows[1].boxes.size() == 3);
    CHECK(timeline.rows[1].boxes[1].paint == Paint::blocked);
    CHECK(timeline.rows[1].boxes[1].hover == "blocked 160 ns at 130 ns");
    REQUIRE(timeline.curves.size() == 1);
    CHECK(label_of(timeline.curves[0]) == "SMs Active %");
    CHECK(timeline.curves[0].points.size() == 4);
    const std::string svg = timeline_svg({timeline});
    CHECK(svg.find("SMs Active: at most 80 %") != std::string::npos);
    CHECK(svg.find("call of the OS runtime libraries") != std::string::npos);
    CHECK(svg.find(">GPU Metrics<") != std::string::npos);
    const std::string text = timeline_terminal({timeline}, 80, false);
    for (const std::string& line : split(text, '\n')) CHECK(display_width(line) <= 80);
    CHECK(text.find("SMs Active %") != std::string::npos);
}

TEST_CASE("curves: a column shows the mean of the samples in it, each for the time up to the next") {
    const Curve curve{"SMs Active", "%", {{0, 40}, {10, 80}, {30, 0}, {50, 7}}};
    const auto columns = columns_of(curve, 0, 20, 4);
    REQUIRE(columns.size() == 4);
    CHECK(*columns[0] == doctest::Approx(60));  // 10 ns of 40, and 10 of 80
    CHECK(*columns[1] == doctest::Approx(40));
    CHECK(*columns[2] == doctest::Approx(0));
    CHECK_FALSE(columns[3]);
    CHECK(columns_of({}, 0, 20, 2) == std::vector<std::optional<double>>(2));
}

}  // namespace lab::cpu_side_test
