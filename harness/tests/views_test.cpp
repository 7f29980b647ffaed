#include "evidence/schema.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "evidence/trace_reader.h"
#include "hand_made_export.h"

using namespace lab;

namespace {

/// An export that a test fills, and then opens with its views.
struct Capture {
    TemporaryFolder folder;
    fs::path path = folder.path() / "export.sqlite";

    template <class Fill>
    explicit Capture(const Fill& fill, int64_t shift = 0) {
        HandMadeExport made(path, shift);
        fill(made);
    }
    [[nodiscard]] Database open() const {
        Database database = Database::open_untrusted(path);
        create_views(database);
        project_ranges(database);
        return database;
    }
};

Database real_export(const char* name = "fixed") {
    Database database =
        Database::open_untrusted(fs::path(LAB_SAMPLES) / fmt::format("nsys_2025.3_{}.sqlite", name));
    create_views(database);
    project_ranges(database);
    return database;
}

/// The first column of all rows, as text.
std::string answer(const Database& database, const std::string& sql) {
    std::vector<std::string> values;
    for (Statement rows = database.prepare(sql); rows.next();) values.push_back(to_text(rows.value(0)));
    return join(values, " ");
}

using Made = HandMadeExport;

constexpr const char* kViews[] = {"kernels", "copies", "sets",           "api_calls",
                                  "syncs",   "ranges", "graph_launches", "graph_runs"};

}  // namespace

TEST_CASE("a real export has every column that questions may use") {
    const Database database = real_export();
    for (const char* sql :
         {"SELECT start, end, duration, stream, device, context, correlation, process, name, full_name, "
          "grid_x, grid_y, "
          "grid_z, block_x, block_y, block_z, registers, static_shared_bytes, dynamic_shared_bytes, "
          "graph_node "
          "FROM kernels",
          "SELECT start, end, duration, stream, device, correlation, process, bytes, direction, from_kind, "
          "to_kind, "
          "graph_node FROM copies",
          "SELECT start, end, duration, stream, device, correlation, process, bytes, value, to_kind FROM "
          "sets",
          "SELECT start, end, duration, process, thread, correlation, name, result FROM api_calls",
          "SELECT start, end, duration, process, thread, name FROM syncs",
          "SELECT id, start, end, duration, process, thread, name, domain, gpu_start, gpu_end FROM ranges",
          "SELECT start, end, duration, process, thread, correlation FROM graph_launches",
          "SELECT start, end, duration, stream, device, correlation, process, graph FROM graph_runs"})
        CHECK_NOTHROW((void)database.prepare(sql).next());
}

TEST_CASE("a real export: what ran in the fixed program of chapter 5") {
    const Database database = real_export();
    CHECK(answer(database, "SELECT COUNT(*) FROM kernels") == "407");
    CHECK(answer(database, "SELECT DISTINCT name FROM kernels ORDER BY name") ==
          "divide_by partial_reduce single_thread_sum");
    CHECK(answer(database, "SELECT DISTINCT full_name FROM kernels WHERE name = 'divide_by'") ==
          "divide_by(float *, unsigned long, float)");
    CHECK(answer(database,
                 "SELECT direction || ' ' || from_kind || ' ' || to_kind || ' ' || COUNT(*) FROM copies "
                 "GROUP BY direction ORDER BY direction") ==
          "device to host device pinned 8 host to device pinned device 4");
    CHECK(answer(database, "SELECT COUNT(*) FROM sets") == "0");
    CHECK(answer(database, "SELECT name FROM syncs") ==
          "cudaDeviceSynchronize cudaDeviceSynchronize cudaDeviceSynchronize");
    CHECK(answer(database, "SELECT name FROM api_calls WHERE name GLOB '*_v*'").empty());
    CHECK(answer(database, "SELECT COUNT(*) FROM api_calls WHERE result <> 0") == "0");
    CHECK(answer(database, "SELECT DISTINCT block_x FROM kernels WHERE name = 'partial_reduce'") == "256");
    CHECK(capture_problems(database).empty());
}

TEST_CASE("a real export: ranges and the GPU work launched inside them") {
    const Database database = real_export("buggy");
    CHECK(answer(database, "SELECT name FROM ranges ORDER BY start") == "warm-up normalise");
    // What nsys's own report nvtx_gpu_proj_sum says of this capture.
    CHECK(answer(database, "SELECT duration FROM ranges WHERE name = 'normalise'") == "24525834");
    CHECK(answer(database, "SELECT gpu_end - gpu_start FROM ranges WHERE name = 'normalise'") == "24498926");
    CHECK(answer(database, "SELECT gpu_end - gpu_start FROM ranges WHERE name = 'warm-up'") == "43488");
}

TEST_CASE("a real export: narrowed to a range, and wide again") {
    const Database database = real_export();
    narrow_views(database, "normalise");
    CHECK(answer(database, "SELECT COUNT(*) FROM kernels") == "404");
    CHECK(answer(database, "SELECT COUNT(DISTINCT stream) FROM kernels") == "4");
    CHECK(answer(database, "SELECT COUNT(*) FROM copies") == "12");
    CHECK(answer(database, "SELECT COUNT(*) FROM ranges") == "2");
    narrow_views(database, "warm-up");
    CHECK(answer(database, "SELECT COUNT(*) FROM kernels") == "3");
    CHECK(answer(database, "SELECT COUNT(*) FROM copies") == "0");
    widen_views(database);
    CHECK(answer(database, "SELECT COUNT(*) FROM kernels") == "407");
    widen_views(database);
    CHECK(answer(database, "SELECT COUNT(*) FROM kernels") == "407");
}

TEST_CASE("a range that is not there is an error that lists those that are, and nothing stays narrowed") {
    const Database database = real_export();
    CHECK_THROWS_WITH_AS(narrow_views(database, "normalize"),
                         doctest::Contains("it has 'warm-up', 'normalise'"), Error);
    CHECK(answer(database, "SELECT COUNT(*) FROM kernels") == "407");
    narrow_views(database, "warm-up");
    CHECK_THROWS_AS(narrow_views(database, "x' OR '1"), Error);
    CHECK(answer(database, "SELECT COUNT(*) FROM kernels") == "407");

    const Capture bare([](Made& made) { made.add(Made::KernelRow{0, 1, 1}); });
    CHECK_THROWS_WITH_AS(narrow_views(bare.open(), "a"), doctest::Contains("none at all"), Error);
}

TEST_CASE("views can be narrowed while a query is still open") {
    const Database database = real_export();
    Statement open = database.prepare("SELECT start FROM kernels");
    REQUIRE(open.next());
    CHECK_NOTHROW(narrow_views(database, "normalise"));
    CHECK_THROWS_WITH_AS(narrow_views(database, "nowhere"), doctest::Contains("has no NVTX range"), Error);
}

TEST_CASE("what did not happen has no table, and its view no rows") {
    const Capture kernels([](Made& made) { made.launch(0, {10, 20, 1}); });
    const Database database = kernels.open();
    for (const char* view : {"copies", "sets", "syncs", "ranges", "graph_launches", "graph_runs"})
        CHECK(answer(database, fmt::format("SELECT COUNT(*) FROM {}", view)) == "0");
    CHECK(answer(database, "SELECT COUNT(*) FROM kernels") == "1");
    CHECK_NOTHROW((void)database.prepare("SELECT direction, from_kind, bytes FROM copies"));

    const Capture calls([](Made& made) { made.add(Made::CallRow{0, 5, 1, "cudaMalloc_v3020"}); });
    CHECK(answer(calls.open(), "SELECT COUNT(*) FROM kernels") == "0");
}

TEST_CASE("each table may be missing from a real export") {
    const std::string whole = read_file(fs::path(LAB_SAMPLES) / "nsys_2025.3_fixed.sqlite");
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "some.sqlite";
    for (const char* table : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                              "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "DIAGNOSTIC_EVENT",
                              "TARGET_INFO_GPU", "ENUM_CUDA_MEM_KIND", "ENUM_CUDA_MEMCPY_OPER"}) {
        CAPTURE(table);
        std::ofstream(path, std::ios::binary) << whole;
        sqlite3* raw = nullptr;
        REQUIRE(sqlite3_open(path.c_str(), &raw) == SQLITE_OK);
        REQUIRE(sqlite3_exec(raw, fmt::format("DROP TABLE {}", table).c_str(), nullptr, nullptr, nullptr) ==
                SQLITE_OK);
        sqlite3_close(raw);
        const Database database = Database::open_untrusted(path);
        create_views(database);
        project_ranges(database);
        for (const char* view : kViews)
            CHECK_NOTHROW((void)answer(database, fmt::format("SELECT * FROM {}", view)));
        CHECK_NOTHROW((void)read_trace(database));
    }
}

TEST_CASE("a column that older schemas lack reads as NULL") {
    // Made by hand after the 3.x schemas before graphs and green contexts were traced.
    const Capture older([](Made& made) {
        made.launch(0, {10, 20, 1});
        made.add(Made::CopyRow{30, 40, 2});
        for (const char* column : {"graphNodeId", "greenContextId", "mangledName", "registersPerThread"})
            made.execute(fmt::format("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN {}", column));
        made.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY DROP COLUMN graphNodeId");
    });
    const Database database = older.open();
    CHECK(answer(database, "SELECT COALESCE(graph_node, registers, 'nothing') FROM kernels") == "nothing");
    CHECK(answer(database, "SELECT COALESCE(graph_node, direction) FROM copies") == "host to device");
}

TEST_CASE("a column that nothing can stand in for is an error that names it and its table") {
    const Capture bent([](Made& made) {
        made.launch(0, {10, 20, 1});
        made.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN streamId TO stream");
    });
    CHECK_THROWS_WITH_AS(bent.open(),
                         doctest::Contains("table CUPTI_ACTIVITY_KIND_KERNEL has no column streamId"), Error);
    const Capture ranges([](Made& made) {
        made.launch(0, {10, 20, 1});
        made.add(Made::RangeRow{0, 5, "a"});
        made.execute("ALTER TABLE NVTX_EVENTS DROP COLUMN globalTid");
    });
    CHECK_THROWS_WITH_AS(ranges.open(), doctest::Contains("table NVTX_EVENTS has no column globalTid"),
                         Error);
}

TEST_CASE("a database that is no export says how to make one") {
    const TemporaryFolder folder;
    Database::create(folder.path() / "other.sqlite").execute("CREATE TABLE t (a)");
    const Database other = Database::open_untrusted(folder.path() / "other.sqlite");
    CHECK_THROWS_WITH_AS(create_views(other), doctest::Contains("nsys export --type sqlite"), Error);
}

TEST_CASE("an export of another major version is refused") {
    for (const char* version : {"4.0.0", "2.9.1", "30.1.0", "", "none"}) {
        CAPTURE(version);
        const Capture other([&](Made& made) {
            made.launch(0, {10, 20, 1});
            made.execute(fmt::format("UPDATE META_DATA_EXPORT SET value = '{}'", version));
        });
        CHECK_THROWS_WITH_AS(other.open(), doctest::Contains("3.x is"), Error);
    }
    const Capture unsaid([](Made& made) {
        made.launch(0, {10, 20, 1});
        made.execute("DELETE FROM META_DATA_EXPORT");
    });
    CHECK_THROWS_WITH_AS(unsaid.open(), doctest::Contains("schema none"), Error);
}

TEST_CASE("an export without CUDA says what to record") {
    const Capture silent([](Made& made) { made.add(Made::RangeRow{0, 5, "a"}); });
    CHECK_THROWS_WITH_AS(silent.open(), doctest::Contains("--trace=cuda,nvtx"), Error);
}

TEST_CASE("names of calls lose the version of their entry point, and nothing else") {
    const Capture calls([](Made& made) {
        for (const char* name : {"cudaLaunchKernel_v7000", "cuMemcpyHtoDAsync_v2", "cudaMemcpy2D_v3020",
                                 "cuLaunchKernel", "cudaLaunchKernel_ptsz_v7000", "cudaMemcpy_ptds_v7000",
                                 "cuMemcpyAsync_ptsz", "cuGetEnv_v2", "cuInit_v", "my_v2_call"})
            made.add(Made::CallRow{0, 1, 1, name});
    });
    CHECK(answer(calls.open(), "SELECT name FROM api_calls") ==
          "cudaLaunchKernel cuMemcpyHtoDAsync cudaMemcpy2D cuLaunchKernel "
          "cudaLaunchKernel cudaMemcpy cuMemcpyAsync "
          "cuGetEnv cuInit_v my_v2_call");
}

TEST_CASE("blocking calls and graph launches have views of their own") {
    const Capture calls([](Made& made) {
        for (const char* name : {"cudaDeviceSynchronize_v3020", "cudaStreamSynchronize_v3020",
                                 "cudaMemcpy_v3020", "cudaEventSynchronize_v3020", "cudaGraphLaunch_v10000",
                                 "cudaStreamWaitEvent_v3020", "cuCtxSynchronize"})
            made.add(Made::CallRow{0, 1, 1, name});
    });
    const Database database = calls.open();
    CHECK(answer(database, "SELECT name FROM syncs") ==
          "cudaDeviceSynchronize cudaStreamSynchronize cudaEventSynchronize cuCtxSynchronize");
    CHECK(answer(database, "SELECT COUNT(*) FROM graph_launches") == "1");
}

TEST_CASE("a graph recorded as a whole belongs to the range that it was launched in") {
    const Capture recorded([](Made& made) {
        made.add(Made::CallRow{10, 12, 1, "cudaGraphLaunch_v10000"});
        made.add(Made::CallRow{30, 32, 2, "cudaGraphLaunch_v10000"});
        made.add(Made::GraphRow{15, 25, 1});
        made.add(Made::GraphRow{35, 39, 2});
        made.add(Made::RangeRow{29, 40, "step"});
    });
    const Database database = recorded.open();
    CHECK(answer(database, "SELECT duration FROM graph_runs") == "10 4");
    CHECK(answer(database, "SELECT gpu_end - gpu_start FROM ranges") == "4");
    narrow_views(database, "step");
    CHECK(answer(database, "SELECT duration FROM graph_runs") == "4");
    CHECK(answer(database, "SELECT COUNT(*) FROM kernels") == "0");
}

TEST_CASE("kinds of memory go by their names, whatever their numbers are") {
    for (const int64_t shift : {0, 1, 17, 40}) {
        CAPTURE(shift);
        const Capture copies(
            [](Made& made) {
                made.add(Made::CopyRow{0, 1, 1, "HTOD", "PAGEABLE", "DEVICE"});
                made.add(Made::CopyRow{1, 2, 2, "DTOH", "DEVICE_STATIC", "PINNED"});
                made.add(Made::CopyRow{2, 3, 3, "PTOP", "DEVICE", "DEVICE"});
                made.add(Made::CopyRow{3, 4, 4, "UVM_HTOD", "MANAGED", "MANAGED_STATIC"});
                made.add(Made::CopyRow{4, 5, 5, "UNKNOWN", "ARRAY", "UNKNOWN"});
                made.add(Made::SetRow{5, 6, 6});
                made.launch(0, {10, 20, 7});
            },
            shift);
        const Database database = copies.open();
        CHECK(answer(database, "SELECT direction FROM copies ORDER BY start") ==
              "host to device device to host device to device host to device other");
        CHECK(answer(database, "SELECT from_kind || '-' || to_kind FROM copies ORDER BY start") ==
              "pageable-device device-pinned device-device managed-managed array-other");
        CHECK(answer(database, "SELECT to_kind FROM sets") == "device");
    }
}

TEST_CASE("work belongs to a range if the range's own thread launched it inside") {
    const Capture capture([](Made& made) {
        made.add(Made::RangeRow{100, 200, "mine"});
        made.launch(99, {1000, 1010, 1});            // before
        made.launch(100, {1010, 1020, 2});           // with the first instant
        made.launch(199, {1020, 1030, 3});           // with the last
        made.launch(200, {1030, 1040, 4});           // after
        made.launch(150, {1040, 1050, 5}, 2);        // on another thread
        made.launch(150, {1050, 1060, 6, 7, 0, 2});  // in another process
    });
    const Database database = capture.open();
    narrow_views(database, "mine");
    CHECK(answer(database, "SELECT correlation FROM kernels ORDER BY 1") == "2 3");
    CHECK(answer(database, "SELECT correlation FROM api_calls ORDER BY 1") == "2 3");
    CHECK(answer(database, "SELECT gpu_start || '-' || gpu_end FROM ranges") == "1010-1030");
}

TEST_CASE("a start/end range belongs to all threads of its process") {
    const Capture capture([](Made& made) {
        made.add(
            Made::RangeRow{.start = 100, .end = 200, .name = "shared", .thread = 9, .crosses_threads = true});
        made.launch(150, {1000, 1010, 1}, 1);
        made.launch(160, {1010, 1020, 2}, 2);
        made.launch(150, {1050, 1060, 3, 7, 0, 2});
    });
    const Database database = capture.open();
    CHECK(answer(database, "SELECT crosses_threads FROM ranges") == "1");
    narrow_views(database, "shared");
    CHECK(answer(database, "SELECT correlation FROM kernels ORDER BY 1") == "1 2");
}

TEST_CASE("two processes that count their calls alike are not mixed up") {
    const Capture capture([](Made& made) {
        made.add(Made::RangeRow{.start = 0, .end = 100, .name = "first", .process = 1});
        made.add(Made::RangeRow{.start = 0, .end = 100, .name = "second", .process = 2});
        made.launch(50, {1000, 1010, 1, 7, 0, 1});
        made.launch(50, {2000, 2010, 1, 7, 0, 2});
    });
    const Database database = capture.open();
    CHECK(answer(database, "SELECT gpu_start FROM ranges ORDER BY name") == "1000 2000");
    narrow_views(database, "second");
    CHECK(answer(database, "SELECT start FROM kernels") == "2000");
}

TEST_CASE("all ranges of a name count, and copies and sets as well as kernels") {
    const Capture capture([](Made& made) {
        made.add(Made::RangeRow{0, 10, "step"});
        made.add(Made::RangeRow{20, 30, "step"});
        made.add(Made::RangeRow{30, 40, "rest"});
        for (const int64_t call : {5, 25, 35}) made.add(Made::CallRow{call, call + 1, call});
        made.add(Made::CopyRow{100, 110, 5});
        made.add(Made::SetRow{120, 130, 25});
        made.add(Made::KernelRow{140, 150, 35});
    });
    const Database database = capture.open();
    CHECK(answer(database, "SELECT gpu_start FROM ranges ORDER BY start") == "100 120 140");
    narrow_views(database, "step");
    CHECK(answer(database, "SELECT COUNT(*) FROM copies") == "1");
    CHECK(answer(database, "SELECT COUNT(*) FROM sets") == "1");
    CHECK(answer(database, "SELECT COUNT(*) FROM kernels") == "0");
}

TEST_CASE("names of ranges may be registered, and lie in domains") {
    const Capture capture([](Made& made) {
        made.launch(0, {10, 20, 1});
        made.add_domain(3, "library");
        made.add_domain(3, "another process's", 2);
        made.add(Made::RangeRow{.start = 0, .end = 5, .name = "plain"});
        made.add(Made::RangeRow{.start = 1, .end = 5, .name = "registered", .domain = 3, .registered = true});
        made.add_mark(2, "a mark");
        made.execute(
            "INSERT INTO NVTX_EVENTS SELECT start, NULL, eventType, 'never closed', globalTid, NULL, 0 FROM "
            "NVTX_EVENTS WHERE text = 'plain'");
    });
    const Database database = capture.open();
    CHECK(answer(database, "SELECT name || '@' || domain FROM ranges ORDER BY start") ==
          "plain@ registered@library");
    narrow_views(database, "registered");
}

TEST_CASE("a range without work has no place on the GPU") {
    const Capture capture([](Made& made) {
        made.launch(50, {100, 110, 1});
        made.add(Made::RangeRow{0, 10, "idle"});
    });
    CHECK(answer(capture.open(), "SELECT COALESCE(gpu_start, gpu_end, 'none') FROM ranges") == "none");
}

TEST_CASE("a capture that lost something says so") {
    for (const char* sentence : {"Some CUDA events were dropped.", "12 records lost due to full buffers.",
                                 "Not all NVTX events might have been collected.", "The trace is incomplete.",
                                 "CUPTI buffer overflow"}) {
        CAPTURE(sentence);
        const Capture capture([&](Made& made) {
            made.launch(0, {10, 20, 1});
            made.add_diagnostic("Number of CUDA events collected: 12.");
            made.add_diagnostic(sentence);
        });
        const auto problems = capture_problems(capture.open());
        REQUIRE(problems.size() == 1);
        CHECK(problems[0].find(sentence) != std::string::npos);
    }
    const Capture quiet([](Made& made) {
        made.launch(0, {10, 20, 1});
        made.add_diagnostic("Profiling has started.");
    });
    CHECK(capture_problems(quiet.open()).empty());
    const Capture empty([](Made& made) {
        made.add(Made::CallRow{0, 1, 1});
        made.execute("DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME");
    });
    CHECK(capture_problems(empty.open()).size() == 1);
}

TEST_CASE("a view or a virtual table that poses as a table of kernels is never asked") {
    for (const char* posing : {"CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT "
                               "1 UNION ALL SELECT start + 1 "
                               "FROM n) SELECT start FROM n",
                               "CREATE VIRTUAL TABLE CUPTI_ACTIVITY_KIND_KERNEL USING fts5(start, end)"}) {
        const Capture capture([&](Made& made) {
            made.add(Made::CallRow{0, 1, 1});
            made.execute(posing);
        });
        CHECK(answer(capture.open(), "SELECT COUNT(*) FROM kernels") == "0");
    }
    const Capture strings([](Made& made) {
        made.add(Made::CallRow{0, 1, 1});
        made.execute("DROP TABLE StringIds; CREATE VIEW StringIds AS SELECT 1 AS id, 'x' AS value");
    });
    CHECK_THROWS_WITH_AS(strings.open(), doctest::Contains("no export of nsys"), Error);
}

TEST_CASE("a computed column is no column of an export") {
    const Capture capture([](Made& made) {
        made.add(Made::CallRow{0, 1, 1});
        made.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, deviceId, end AS (start + 1))");
    });
    CHECK_THROWS_WITH_AS(capture.open(), doctest::Contains("has no column end"), Error);
}

TEST_CASE("a computed column that asks for more memory than a name needs is refused") {
    const Capture capture([](Made& made) {
        made.launch(0, {10, 20, 1});
        made.execute("ALTER TABLE StringIds RENAME TO old");
        made.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value AS (zeroblob(70000000)))");
        made.execute("INSERT INTO StringIds (id) SELECT id FROM old");
    });
    CHECK_THROWS_WITH_AS((void)read_trace(capture.open()), doctest::Contains("too big"), Error);
}

TEST_CASE("triggers of the file never run") {
    const Capture capture([](Made& made) {
        made.launch(0, {10, 20, 1});
        made.add(Made::RangeRow{0, 5, "a"});
        made.execute(
            "CREATE TRIGGER t AFTER INSERT ON CUPTI_ACTIVITY_KIND_KERNEL BEGIN SELECT RAISE(ABORT, 'x'); "
            "END");
    });
    const Database database = capture.open();
    CHECK_NOTHROW(narrow_views(database, "a"));
    CHECK(answer(database, "SELECT COUNT(*) FROM kernels") == "1");
}

TEST_CASE("what a file says of its enums is data, not SQL") {
    const Capture capture([](Made& made) {
        made.launch(0, {10, 20, 1});
        made.add(Made::CopyRow{30, 40, 2});
        made.add(Made::RangeRow{0, 5, "a"});
        made.execute(
            "DROP TABLE ENUM_NSYS_EVENT_TYPE; CREATE TABLE ENUM_NSYS_EVENT_TYPE (id, name);"
            "INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES ('1) OR (1=1', 'NvtxPushPopRange');"
            "DROP TABLE ENUM_CUDA_MEM_KIND; CREATE TABLE ENUM_CUDA_MEM_KIND (id, name);"
            "INSERT INTO ENUM_CUDA_MEM_KIND VALUES ('1 THEN 2; --', 'CUDA_MEMOPR_MEMORY_KIND_PINNED')");
    });
    const Database database = capture.open();
    CHECK(answer(database, "SELECT COUNT(*) FROM ranges") == "0");
    CHECK(answer(database, "SELECT COUNT(*) FROM copies") == "1");
}
