#include "evidence/tool_results.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/files.h"
#include "lab_binary.h"
#include "tools/evidence_writer.h"

namespace lab::tool_output_test {

namespace {

SanitizerReport report(const char* kind, int64_t count, const std::string& text) {
    SanitizerReport made;
    made.kind = kind, made.severity = "error", made.count = count, made.text = text;
    return made;
}

/// What `lines` lines of a tool look like.
std::string long_text(int lines) {
    std::string text = "========= Invalid __global__ read";
    for (int i = 1; i < lines; ++i) text += fmt::format("\n=========     line {}", i);
    return text;
}

RunRecord looked_at() {
    RunRecord run;
    run.ncu = {{0, "add(int)", "dram__bytes.sum", "byte", "1,234"},
               {1, "add(int)", "dram__bytes.sum", "byte", "n/a"}};
    run.sanitizer["memcheck"] = {report("Invalid __global__ read", 3, long_text(40)),
                                 report("Leak", 1, "========= Leaked 4 bytes")};
    run.sanitizer["racecheck"] = {};
    run.exit_code = 1;
    run.out = "found 1\n\nexpected \x1b[31m2\n";
    run.provenance = {{"gpu", "NVIDIA H200"}};
    return run;
}

struct Store {
    TemporaryFolder folder;
    fs::path path = folder.path() / "run.sqlite";
    explicit Store(const RunRecord& run) { write_evidence(run, path); }
};

}  // namespace

TEST_CASE("counters and reports are read back as they were recorded") {
    const Store store(looked_at());
    const Evidence evidence = Evidence::open(store.path);
    const std::vector<Counter> counters = counters_in(evidence);
    REQUIRE(counters.size() == 2);
    CHECK(counters[0].kernel == "add(int)");
    CHECK(counters[0].metric == "dram__bytes.sum");
    CHECK(counters[0].text() == "1234 byte");
    CHECK(counters[1].launch == 1);
    CHECK(counters[1].text() == "n/a");  // an absent value is never a zero
    const std::vector<ToolReport> reports = reports_in(evidence);
    REQUIRE(reports.size() == 2);
    CHECK(reports[0].tool == "memcheck");
    CHECK(reports[0].count == 3);
    CHECK(reports[0].text == long_text(40));
    CHECK(sanitizers_run(evidence) == std::vector<std::string>{"memcheck", "racecheck"});
    CHECK(printed_by_program(evidence) == looked_at().out);
}

TEST_CASE("analyze of evidence without a trace shows what else is there") {
    const Store store(looked_at());
    const Outcome shown = run_lab({"analyze", store.path.string()});
    INFO(shown.out, shown.err);
    CHECK(shown.exit_code == 0);
    for (const char* text :
         {"no trace of nsys", "launch 1  add(int)", "1234 byte", "n/a",
          "memcheck says 3 times:", "=========     line 39", "========= Leaked 4 bytes",
          "racecheck reports nothing", "ended with exit code 1", "    found 1\n\n    expected"})
        CHECK_MESSAGE(shown.out.find(text) != std::string::npos, text);
    CHECK(shown.out.find('\x1b') == std::string::npos);
    const Json json = json_of(run_lab({"analyze", store.path.string(), "--json"}));
    CHECK(names_in(json) == std::vector<std::string>{"ncu_metrics", "program_output", "sanitizer_reports"});
    CHECK(json["ncu_metrics"][0] == Json{{"launch", 0},
                                         {"kernel", "add(int)"},
                                         {"metric", "dram__bytes.sum"},
                                         {"value", 1234},
                                         {"unit", "byte"}});
    CHECK(json["ncu_metrics"][1]["value"].is_null());
    CHECK(json["sanitizer_reports"][0]["text"] == long_text(40));
    CHECK(run_lab({"analyze", store.path.string(), "--range", "x"}).exit_code == 2);
    CHECK(run_lab({"timeline", store.path.string()}).exit_code == 2);
}

}  // namespace lab::tool_output_test
