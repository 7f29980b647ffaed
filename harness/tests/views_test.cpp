// The views of evidence/schema.h, on real exports and on exports made by hand.
#include <doctest/doctest.h>

#include "core/error.h"
#include "evidence/schema.h"
#include "hand_made_export.h"

namespace lab::views_test {

namespace {

using Made = HandMadeExport;

struct RealCapture {
    Database database;
    Capture capture{database};
    explicit RealCapture(const char* name)
        : database(
              Database::open_untrusted(fs::path(LAB_SAMPLES) / fmt::format("nsys_2025.3_{}.sqlite", name))) {}
    [[nodiscard]] std::string answer(const std::string& sql) const { return lab::answer(database, sql); }
};

/// An export that cannot be used, and why.
template <class Fill>
void refused(const char* why, const Fill& fill) {
    CHECK_THROWS_WITH_AS(MadeCapture made(fill), doctest::Contains(why), Error);
}

}  // namespace

TEST_CASE("views: what ran in the real export of chapter 5's programs") {
    const RealCapture fixed("fixed"), buggy("buggy");
    CHECK(fixed.answer("SELECT COUNT(*) FROM kernels") == "407");
    CHECK(fixed.answer("SELECT DISTINCT full_name FROM kernels WHERE name = 'divide_by'") ==
          "divide_by(float *, unsigned long, float)");
    CHECK(fixed.answer("SELECT direction || ' ' || from_kind || ' ' || to_kind || ' ' || COUNT(*) FROM "
                       "copies GROUP BY direction ORDER BY direction") ==
          "device to host device pinned 8 host to device pinned device 4");
    CHECK(fixed.answer("SELECT name FROM syncs") ==
          "cudaDeviceSynchronize cudaDeviceSynchronize cudaDeviceSynchronize");
    CHECK(fixed.answer("SELECT DISTINCT block_x FROM kernels WHERE name = 'partial_reduce'") == "256");
    CHECK(capture_problems(fixed.database).empty());
    // What nsys's own report nvtx_gpu_proj_sum says of this capture.
    CHECK(buggy.answer("SELECT duration FROM ranges WHERE name = 'normalise'") == "24525834");
    CHECK(buggy.answer("SELECT gpu_end - gpu_start FROM ranges ORDER BY start") == "43488 24498926");
}

TEST_CASE("views: narrowed to a range for as long as it is asked, and wide again") {
    const RealCapture real("fixed");
    const std::string counts =
        "SELECT (SELECT COUNT(*) FROM kernels) || '+' || (SELECT COUNT(*) FROM copies) || '+' || (SELECT "
        "COUNT(*) FROM ranges)";
    {
        const Capture::Narrowed narrowed(real.capture, "normalise");
        CHECK(real.answer(counts) == "404+12+2");
        CHECK(real.answer("SELECT COUNT(DISTINCT stream) FROM kernels") == "4");
    }
    CHECK(real.answer(counts) == "407+12+2");
    {
        const Capture::Narrowed narrowed(real.capture, "warm-up");
        CHECK(real.answer(counts) == "3+0+2");
    }
    CHECK_THROWS_WITH_AS(Capture::Narrowed(real.capture, "normalize"),
                         doctest::Contains("it has 'warm-up', 'normalise'"), Error);
    CHECK(real.answer(counts) == "407+12+2");
}

TEST_CASE("views: as many threads fit on a GPU as its compute capability and its SMs say") {
    const MadeCapture made([](Made& of) {
        of.launch(0, {10, 20, 1});
        of.execute(
            "DROP TABLE IF EXISTS TARGET_INFO_GPU; CREATE TABLE TARGET_INFO_GPU (id, name, smCount, "
            "computeMajor, computeMinor); INSERT INTO TARGET_INFO_GPU VALUES (0, 'T4', 40, 7, 5), "
            "(1, 'A100', 108, 8, 0), (2, 'L4', 58, 8, 9), (3, 'H100', 132, 9, 0), (4, 'B200', 148, 10, 0), "
            "(5, '5090', 170, 12, 0)");
    });
    CHECK(made.answer("SELECT threads / sms FROM all_gpus ORDER BY id") == "1024 2048 1536 2048 2048 1536");
}

TEST_CASE("views: a column that older schemas lack reads as NULL, one that all have must be there") {
    const MadeCapture older([](Made& made) {
        made.launch(0, {10, 20, 1});
        made.add(Made::CopyRow{30, 40, 2});
        for (const char* column : {"graphNodeId", "greenContextId", "mangledName", "registersPerThread"})
            made.execute(fmt::format("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN {}", column));
        made.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY DROP COLUMN graphNodeId");
    });
    CHECK(older.answer("SELECT COALESCE(graph_node, registers, 'nothing') FROM kernels") == "nothing");
    CHECK(older.answer("SELECT COALESCE(graph_node, direction) FROM copies") == "host to device");
    refused("table CUPTI_ACTIVITY_KIND_KERNEL has no column streamId", [](Made& made) {
        made.launch(0, {10, 20, 1});
        made.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN streamId TO stream");
    });
    refused("table CUPTI_ACTIVITY_KIND_KERNEL has computed columns", [](Made& made) {
        made.add(Made::CallRow{0, 1, 1});
        made.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, deviceId, end AS (start + 1))");
    });
}

TEST_CASE("views: what is no export, of another version or without CUDA, says what to do") {
    refused("nsys export --type sqlite", [](Made& made) { made.execute("DROP TABLE META_DATA_EXPORT"); });
    refused("--trace=cuda,nvtx", [](Made& made) { made.add(Made::RangeRow{0, 5, "a"}); });
    for (const char* version : {"4.0.0", "2.9.1", "30.1.0", ""}) {
        CAPTURE(version);
        refused("3.x is", [&](Made& made) {
            made.launch(0, {10, 20, 1});
            made.execute(fmt::format("UPDATE META_DATA_EXPORT SET value = '{}'", version));
        });
    }
}

TEST_CASE("views: an id that is there twice has its first name, and a long list of losses is cut") {
    const MadeCapture odd([](Made& made) {
        made.add(Made::CallRow{0, 1, 1});
        made.execute("ALTER TABLE StringIds RENAME TO s; CREATE TABLE StringIds (id, value)");
        made.execute("INSERT INTO StringIds SELECT * FROM s UNION ALL SELECT id, 'cudaOther' FROM s");
        made.execute("CREATE TABLE DIAGNOSTIC_EVENT (text)");
        for (int i = 0; i < 20; ++i)
            made.execute(fmt::format("INSERT INTO DIAGNOSTIC_EVENT VALUES ('{} events were dropped')", i));
    });
    CHECK(odd.answer("SELECT name FROM api_calls") == "cudaLaunchKernel");
    CHECK(capture_problems(odd.database).size() == 10);
}

TEST_CASE("views: names of calls lose the version of their entry point, and nothing else") {
    const MadeCapture calls([](Made& made) {
        for (const char* name :
             {"cudaLaunchKernel_v7000", "cuMemcpyHtoDAsync_v2", "cudaMemcpy2D_v3020", "cuLaunchKernel",
              "cudaLaunchKernel_ptsz_v7000", "cuMemcpyAsync_ptsz", "cuInit_v", "my_v2_call",
              "cudaDeviceSynchronize_v3020", "cudaStreamWaitEvent_v3020", "cudaGraphLaunch_v10000"})
            made.add(Made::CallRow{0, 1, 1, name});
    });
    CHECK(calls.answer("SELECT name FROM api_calls") ==
          "cudaLaunchKernel cuMemcpyHtoDAsync cudaMemcpy2D cuLaunchKernel cudaLaunchKernel cuMemcpyAsync "
          "cuInit_v my_v2_call cudaDeviceSynchronize cudaStreamWaitEvent cudaGraphLaunch");
    CHECK(calls.answer("SELECT name FROM syncs") == "cudaDeviceSynchronize");
    CHECK(calls.answer("SELECT COUNT(*) FROM graph_launches") == "1");
}

TEST_CASE("views: kinds of memory go by their names, whatever their numbers are") {
    for (const int64_t shift : {0, 1, 17, 40}) {
        CAPTURE(shift);
        const MadeCapture copies(
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
        CHECK(copies.answer("SELECT direction FROM copies ORDER BY start") ==
              "host to device device to host device to device other");
        CHECK(copies.answer("SELECT from_kind || '-' || to_kind FROM copies ORDER BY start") ==
              "pageable-device device-pinned device-device array-other");
        CHECK(copies.answer("SELECT to_kind FROM sets") == "device");
    }
}

TEST_CASE("views: work belongs to a range if the range's own thread launched it inside") {
    const MadeCapture made([](Made& e) {
        e.add(Made::RangeRow{100, 200, "mine"});
        e.add(Made::RangeRow{.start = 100, .end = 200, .name = "all", .thread = 9, .crosses_threads = true});
        e.add(Made::RangeRow{0, 10, "idle"});
        e.launch(99, {1000, 1010, 1});            // before
        e.launch(100, {1010, 1020, 2});           // with the first instant
        e.launch(199, {1020, 1030, 3});           // with the last
        e.launch(200, {1030, 1040, 4});           // after
        e.launch(150, {1040, 1050, 5}, 2);        // on another thread
        e.launch(150, {1050, 1060, 2, 7, 0, 2});  // in another process, which counts its calls alike
    });
    CHECK(made.answer("SELECT COALESCE(gpu_start || '-' || gpu_end, 'none') FROM ranges ORDER BY name") ==
          "1010-1050 none 1010-1030");
    {
        const Capture::Narrowed narrowed(made.capture, "mine");
        CHECK(made.answer("SELECT start FROM kernels ORDER BY 1") == "1010 1020");
        CHECK(made.answer("SELECT correlation FROM api_calls ORDER BY 1") == "2 3");
    }
    const Capture::Narrowed narrowed(made.capture, "all");
    CHECK(made.answer("SELECT correlation FROM kernels ORDER BY 1") == "2 3 5");
}

TEST_CASE("views: names of ranges may be registered, and lie in domains; marks and open ranges are none") {
    const MadeCapture made([](Made& e) {
        e.launch(0, {10, 20, 1});
        e.add_domain(3, "library");
        e.add_domain(3, "another process's", 2);
        e.add(Made::RangeRow{.start = 0, .end = 5, .name = "plain"});
        e.add(Made::RangeRow{.start = 1, .end = 5, .name = "registered", .domain = 3, .registered = true});
        e.add_mark(2, "a mark");
        e.execute(
            "INSERT INTO NVTX_EVENTS SELECT start, NULL, eventType, 'never closed', globalTid, NULL, 0 FROM "
            "NVTX_EVENTS WHERE text = 'plain'");
    });
    CHECK(made.answer("SELECT name || '@' || domain FROM ranges ORDER BY start") ==
          "plain@ registered@library");
}

TEST_CASE("views: a capture that lost something says so") {
    const auto problems_with = [](const char* sentence) {
        const MadeCapture made([&](Made& e) {
            e.launch(0, {10, 20, 1});
            e.add_diagnostic("Number of CUDA events collected: 12.");
            e.add_diagnostic(sentence);
        });
        return join(capture_problems(made.database), "; ");
    };
    for (const char* sentence : {"Some CUDA events were dropped.", "12 records lost due to full buffers.",
                                 "Not all NVTX events might have been collected.", "The trace is incomplete.",
                                 "CUPTI buffer overflow"})
        CHECK(problems_with(sentence) == "nsys says: " + std::string(sentence));
    CHECK(problems_with("Profiling has started.").empty());
    const MadeCapture empty([](Made& e) {
        e.add(Made::CallRow{0, 1, 1});
        e.execute("DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME");
    });
    CHECK(capture_problems(empty.database).size() == 1);
}

TEST_CASE("views: what poses as a table, triggers and enums with SQL in them do nothing") {
    for (const char* posing : {"CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT "
                               "1 UNION ALL SELECT start + 1 FROM n) SELECT start FROM n",
                               "CREATE VIRTUAL TABLE CUPTI_ACTIVITY_KIND_KERNEL USING fts5(start, end)"}) {
        const MadeCapture made([&](Made& e) {
            e.add(Made::CallRow{0, 1, 1});
            e.execute(posing);
        });
        CHECK(made.answer("SELECT COUNT(*) FROM kernels") == "0");
    }
    refused("no export of nsys", [](Made& e) {
        e.execute("DROP TABLE StringIds; CREATE VIEW StringIds AS SELECT 1 AS id, 'x' AS value");
    });
    refused("datatype mismatch", [](Made& e) {
        e.launch(0, {10, 20, 1});
        e.execute(
            "DROP TABLE ENUM_CUDA_MEM_KIND; CREATE TABLE ENUM_CUDA_MEM_KIND (id, name);"
            "INSERT INTO ENUM_CUDA_MEM_KIND VALUES ('1 THEN 2; --', 'CUDA_MEMOPR_MEMORY_KIND_PINNED')");
    });
    const MadeCapture bent([](Made& e) {
        e.launch(0, {10, 20, 1});
        e.add(Made::CopyRow{30, 40, 2});
        e.add(Made::RangeRow{0, 5, "a"});
        e.execute(
            "CREATE TRIGGER t AFTER INSERT ON CUPTI_ACTIVITY_KIND_KERNEL BEGIN SELECT RAISE(ABORT, 'x'); END;"
            "DROP TABLE ENUM_NSYS_EVENT_TYPE; CREATE TABLE ENUM_NSYS_EVENT_TYPE (id, name);"
            "INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES ('1) OR (1=1', 'NvtxPushPopRange')");
    });
    CHECK(bent.answer("SELECT (SELECT COUNT(*) FROM ranges) || (SELECT COUNT(*) FROM copies)") == "01");
    refused("table StringIds has computed columns", [](Made& e) {
        e.launch(0, {10, 20, 1});
        e.execute(
            "ALTER TABLE StringIds RENAME TO old;"
            "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value AS (zeroblob(70000000)));"
            "INSERT INTO StringIds (id) SELECT id FROM old");
    });
}

}  // namespace lab::views_test
