// Managed memory: pages that move are no copies, and page faults are those of the host's range.
#include "lab/unified_memory.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "evidence/analysis.h"
#include "made_evidence.h"

namespace lab::unified_memory_test {

namespace {

using Made = HandMadeExport;

/// Two steps that the host takes a page back between, and one fault before them.
void fill(Made& made) {
    made.add(Made::RangeRow{.start = 100, .end = 400, .name = "river"});
    made.launch(110, {.start = 120, .end = 220, .correlation = 1, .name = "flow"});
    made.launch(310, {.start = 320, .end = 390, .correlation = 2, .name = "flow"});
    made.add(Made::CopyRow{.start = 10, .end = 20, .correlation = 9});
    made.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY ADD COLUMN virtualAddress");
    made.execute(
        "INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (111, 'CUDA_MEMCPY_KIND_UVM_HTOD', ''), "
        "(112, 'CUDA_MEMCPY_KIND_UVM_DTOH', '')");
    made.execute(
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, globalPid, "
        "bytes, copyKind, virtualAddress) VALUES (130, 140, 0, 0, 0, 1, 4096, 111, 7), "
        "(240, 250, 0, 0, 0, 1, 4096, 112, 7), (260, 270, 0, 0, 0, 1, 61440, 112, 9), "
        "(50, 60, 0, 0, 0, 1, 100, 112, 8)");
    made.execute("INSERT INTO StringIds VALUES (9001, 'at_town()'), (9002, 'fill()'), (9003, 'SECRET')");
    made.execute(
        "CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start, globalPid, address, CpuInstruction, module)");
    made.execute(
        "INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS VALUES (40, 1, 8, 9002, 9003), (230, 1, 7, 9001, 9003), "
        "(255, 1, 9, 9001, 9003)");
    made.execute(
        "CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start, end, globalPid, deviceId, address, "
        "numberOfPageFaults, faultAccessType)");
    made.execute(
        "INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES (121, 131, 1, 0, 7, 18, 1), (321, 361, 1, 0, 9, 2, "
        "1)");
}

}  // namespace

TEST_CASE("unified memory: evidence keeps page faults with their functions, and migrations are no copies") {
    MadeEvidence made;
    const Evidence evidence = made.of_export(fill);
    CHECK(analyse(evidence.trace()).copies.size() == 1);
    const auto found = unified_memory_json(evidence, "river");
    const auto& migrations = found["migrations"];
    REQUIRE(migrations.size() == 2);
    CHECK(migrations[0]["count"] == 1);
    CHECK(migrations[1]["direction"] == "device to host");
    CHECK(migrations[1]["bytes"] == 65536);
    REQUIRE(found["cpu_page_faults"].size() == 1);
    CHECK(found["cpu_page_faults"][0]["function"] == "at_town()");
    CHECK(found["cpu_page_faults"][0]["count"] == 2);
    CHECK(found["gpu_page_faults"]["faults"] == 20);
    CHECK(unified_memory_json(evidence, std::nullopt)["cpu_page_faults"].size() == 2);
    const std::string text = unified_memory_text(evidence, "river");
    CHECK(text.find("more; --json") == std::string::npos);
    CHECK(text.find("at_town()") != std::string::npos);
    CHECK(text.find("GPU page faults: 20 in 2 groups, which take 50 ns together") != std::string::npos);
    CHECK(read_file(made.path).find("SECRET") == std::string::npos);
}

TEST_CASE("unified memory: of many functions, a line says how many are left out") {
    MadeEvidence made;
    const Evidence evidence = made.of_export([](Made& e) {
        fill(e);
        for (int i = 0; i < 9; ++i) {
            e.execute(fmt::format("INSERT INTO StringIds VALUES ({}, 'f{}')", 9100 + i, i));
            e.execute(fmt::format("INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS VALUES (45, 1, 8, {}, 9003)",
                                  9100 + i));
        }
    });
    CHECK(unified_memory_text(evidence, std::nullopt).find("... and 3 more; --json") != std::string::npos);
}

TEST_CASE("unified memory: where nsys recorded none, nothing is said of it") {
    MadeEvidence made;
    const Evidence evidence =
        made.of_export([](Made& e) { e.launch(110, {.start = 120, .end = 220, .correlation = 1}); });
    CHECK(unified_memory_text(evidence, std::nullopt).empty());
}

}  // namespace lab::unified_memory_test
