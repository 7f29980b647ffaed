// The text is made up in the form that cuda-gdb 12 and 13 are known to print.
#include "tools/core_dump.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "course/judge.h"
#include "evidence/question.h"
#include "evidence/tool_results.h"
#include "tools/evidence_writer.h"

namespace lab::core_dump_test {

namespace {

const std::string kFocus =
    "[Current focus set to CUDA kernel 0, grid 149, block (512,0,0), thread (96,0,0), device 0, sm 124, warp "
    "3, "
    "lane 0]\n";
const std::string kException = "CUDA Exception: Warp Illegal Address\n";
const std::string kPlace =
    "The exception was triggered at PC 0x7f31abb9f6d0  load(unsigned int const*)  (a/b.cu:87)\n";
const std::string kFrame =
    "#0  0x00007f31abb9f6e0 in void load<4>(unsigned int const*)<<<(1024,1,1),(256,1,1)>>> () at c/b.cu:90\n";

/// "Warp Illegal Address, load b.cu:87, grid 149, block 512 0 0, thread 96 0 0"
std::string read(const std::string& text) {
    const CoreDump d = parse_core_dump("Opening GPU coredump: b.nvcudmp\n" + text);
    return fmt::format("{}, {} {}:{}, grid {}, block {} {} {}, thread {} {} {}", d.exception, d.function,
                       d.file, d.line, d.grid, d.block[0], d.block[1], d.block[2], d.thread[0], d.thread[1],
                       d.thread[2]);
}

Evidence written(const RunRecord& run) {
    const TemporaryFolder folder;
    write_evidence(run, folder.path() / "run.sqlite");
    return Evidence::open(folder.path() / "run.sqlite");
}

}  // namespace

TEST_CASE("core dump: exception, kernel, block, thread and line are read in either order") {
    const std::string all = "Warp Illegal Address, load b.cu:87, grid 149, block 512 0 0, thread 96 0 0";
    CHECK(read(kException + kPlace + kFocus + kFrame) == all);
    CHECK(read(kFocus + "\n" + kException + kPlace + kFrame) == all);
    CHECK(read("[Current focus set to CUDA kernel 0, grid 7, cluster (1,0,0), block (2,3,4), thread (5,6,7), "
               "device 0]\n" +
               kException + "#0  load\n   <<<(1,1,1),(32,1,1)>>> (x=0x0) at b.cu:9\n") ==
          "Warp Illegal Address, load b.cu:9, grid 7, block 2 3 4, thread 5 6 7");
}

TEST_CASE("core dump: without line information the kernel is known, and without a fault nothing") {
    CHECK(read(kException + "The exception was triggered at PC 0x7f31abb9f6d0\n" + kFocus +
               "#0  0x00007f31abb9f6e0 in load(int*)<<<(1,1,1),(32,1,1)>>> ()\n") ==
          "Warp Illegal Address, load :0, grid 149, block 512 0 0, thread 96 0 0");
    CHECK_THROWS_WITH((void)read(kFocus + kFrame), doctest::Contains("no exception"));
    CHECK_THROWS_WITH((void)read(kException + kFrame), doctest::Contains("no block and thread"));
}

TEST_CASE("core dump: a frame that names no kernel has none") {
    CHECK(parse_core_dump(kException + kFocus + "#0<<<(1,1,1)>>>").function.empty());
    CHECK(parse_core_dump(kException + kFocus + "#0   <<<(1,1,1)>>> 0x1 in f").function.empty());
}

TEST_CASE("core dump: evidence keeps it, and tells a run without a fault from one that nobody looked at") {
    const std::string sql = "SELECT COUNT(*) FROM CORE_DUMPS WHERE source LIKE '%van_of[%' AND block_x = 512";
    const Query query{.sql = sql, .needs = needs_of_sql(sql)};
    CHECK(query.needs.dumps);
    RunRecord run;
    run.provenance = {{"gpu", "NVIDIA H200"}};
    CHECK(measure(written(run), query).missing == "cuda-gdb did not look at this program");
    run.dumps.emplace();
    const Evidence clean = written(run);
    CHECK(measure(clean, query).text() == "0");
    CHECK(sanitizers_run(clean) == std::vector<std::string>{"cuda-gdb"});
    run.dumps->push_back(parse_core_dump(kException + kPlace + kFocus + kFrame));
    run.sources["b.cu"] = std::string(86, '\n') + "    const unsigned van = van_of[its];\n";
    const Evidence crashed = written(run);
    CHECK(measure(crashed, query).text() == "1");
    REQUIRE(reports_in(crashed).size() == 1);
    CHECK(reports_in(crashed)[0].tool == "cuda-gdb");
    CHECK(reports_in(crashed)[0].kind == "Warp Illegal Address");
}

}  // namespace lab::core_dump_test
