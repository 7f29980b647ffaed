#include "evidence/evidence.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "evidence/analysis.h"
#include "evidence/schema.h"
#include "evidence/tool_results.h"
#include "made_evidence.h"
#include "tools/recorder.h"

namespace lab::evidence_test {

namespace {

using Made = HandMadeExport;

const fs::path kFixed = fs::path(LAB_SAMPLES) / "nsys_2025.3_fixed.sqlite";

struct WholeRun : MadeEvidence {
    WholeRun() {
        run.nsys = NsysRun{"", kFixed, ""};
        run.ncu = {{0, "add(int)", "dram__bytes.sum", "byte", "1,234"},
                   {1, "add(int)", "dram__bytes.sum", "byte", "n/a"}};
        run.sanitizer["memcheck"] = {{"Invalid __global__ read", "error", "oob", "faults.cu", 5, 4, 2}};
        run.sanitizer["racecheck"] = {};
        run.exit_code = 1;
        run.out = "found 1, expected 2\n";
        run.provenance["command"] = "fixed --size '1 2'";
    }
};

std::string answer(const Evidence& evidence, const std::string& sql) {
    return lab::answer(evidence.database(), sql);
}

void execute_on(const fs::path& path, const char* sql) {
    fs::permissions(path, fs::perms::owner_all);
    sqlite3* raw = nullptr;
    REQUIRE(sqlite3_open(path.c_str(), &raw) == SQLITE_OK);
    REQUIRE(sqlite3_exec(raw, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(raw);
}

}  // namespace

TEST_CASE("evidence of a real export gives the same answers in a small file") {
    const WholeRun made;
    const Evidence slim = made.written(), whole = Evidence::open(kFixed);
    CHECK(fs::file_size(made.path) < 200'000);
    for (const std::optional<std::string>& range : {std::optional<std::string>(), {"normalise"}}) {
        const Analysis a = analyse(slim.trace(), range), b = analyse(whole.trace(), range);
        for (const std::string& name : metric_names()) REQUIRE(metric(a, name) == metric(b, name));
        REQUIRE(a.idle.host_wait_ns == b.idle.host_wait_ns);
        REQUIRE(a.kernels.size() == b.kernels.size());
    }
    for (const char* sql : {"SELECT COUNT(*) FROM kernels", "SELECT MIN(full_name) FROM kernels",
                            "SELECT SUM(gpu_end - gpu_start) FROM ranges",
                            "SELECT GROUP_CONCAT(from_kind || direction) FROM copies",
                            "SELECT GROUP_CONCAT(name) FROM api_calls WHERE name NOT IN ('cuKernelGetName', "
                            "'cuGetProcAddress')",
                            "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'"})
        CHECK(answer(slim, sql) == answer(whole, sql));
    CHECK(capture_problems(slim.database()).empty());
    CHECK(answer(slim, "SELECT COUNT(*) FROM api_calls WHERE name = 'cuKernelGetName'") == "0");
}

TEST_CASE("evidence keeps what the other tools said, and which of them looked") {
    const WholeRun made;
    const Evidence evidence = made.written();
    CHECK(evidence.provenance() == made.run.provenance);
    CHECK(evidence.exit_code() == 1);
    CHECK(printed_by_program(evidence) == "found 1, expected 2\n");
    const std::vector<Counter> counters = counters_in(evidence);
    REQUIRE(counters.size() == 2);
    CHECK(counters[0].kernel == "add(int)");
    CHECK(counters[0].text() == "1234 byte");
    CHECK(counters[1].text() == "n/a");
    const std::vector<ToolReport> reports = reports_in(evidence);
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].tool + reports[0].kind + reports[0].severity == "memcheckInvalid __global__ readerror");
    CHECK(reports[0].count == 2);
    CHECK(sanitizers_run(evidence) == std::vector<std::string>{"memcheck", "racecheck"});
    CHECK(evidence.was_run("nsys"));
    CHECK(evidence.was_run("ncu"));
    CHECK_FALSE(evidence.was_run("initcheck"));
}

TEST_CASE("evidence: a report of compute-sanitizer keeps its frames and the line that it blames") {
    WholeRun made;
    SanitizerReport& report = made.run.sanitizer["memcheck"][0];
    report.frames = {{false, "outer", "faults.cu", 9, ""}, {true, "main", "", 0, "faults"}};
    report.allocation_bytes = 400, report.beyond_bytes = 1;
    made.run.sources["faults.cu"] = "// one\n// two\n\n\n    out[i] = x[i + 2];  \n";
    const Evidence evidence = made.written();
    CHECK(answer(evidence, "SELECT source FROM SANITIZER_REPORTS") == "out[i] = x[i + 2];");
    CHECK(answer(evidence, "SELECT allocation_bytes + beyond_bytes FROM SANITIZER_REPORTS") == "401");
    CHECK(
        answer(evidence, "SELECT f.function FROM SANITIZER_FRAMES f JOIN SANITIZER_REPORTS ON id = report") ==
        "outer main");
    CHECK(answer(evidence, "SELECT function FROM SANITIZER_FRAMES WHERE side = 'host'") == "main");
}

TEST_CASE("evidence without a program's own run or without nsys says so; an export has no provenance") {
    const MadeEvidence made;
    const Evidence empty = made.written();
    CHECK_FALSE(empty.exit_code());
    CHECK_FALSE(empty.has_trace());
    CHECK_FALSE(empty.was_run("nsys"));
    CHECK(counters_in(empty).empty());
    CHECK_THROWS_AS((void)empty.database().prepare("SELECT * FROM kernels"), Error);
    CHECK(answer(empty, "SELECT COUNT(*) FROM roofs") == "0");
    const Evidence own = Evidence::open(kFixed);
    CHECK(own.has_trace());
    CHECK(own.provenance().empty());
    CHECK_FALSE(own.was_run("nsys"));
}

TEST_CASE("evidence: the same run makes the same file") {
    const WholeRun made;
    write_evidence(made.run, made.in("one.sqlite"));
    write_evidence(made.run, made.in("two.sqlite"));
    CHECK(read_file(made.in("one.sqlite")) == read_file(made.in("two.sqlite")));
}

TEST_CASE("evidence holds nothing that names the machine") {
    WholeRun made;
    fs::copy_file(kFixed, made.in("named.sqlite"));
    execute_on(
        made.in("named.sqlite"),
        "CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);"
        "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname', 'SECRET-host');"
        "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);"
        "INSERT INTO META_DATA_CAPTURE VALUES ('ENV', 'TOKEN=SECRET');"
        "CREATE TABLE PROCESSES (name TEXT); INSERT INTO PROCESSES VALUES ('SECRET-daemon');"
        "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_HOST', 'SECRET-host'), ('EXPORT_USER', 'SECRET');"
        "INSERT INTO StringIds VALUES (999999, '/home/SECRET/file');"
        "INSERT INTO DIAGNOSTIC_EVENT SELECT timestamp, timestampType, source, severity, "
        "'see /home/SECRET/log', globalPid FROM DIAGNOSTIC_EVENT LIMIT 1;"
        "UPDATE TARGET_INFO_GPU SET uuid = 'SECRET-uuid', busLocation = 'SECRET-bus';"
        "INSERT INTO StringIds VALUES (999998, '_ZSECRETmangled');"
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET mangledName = 999998;");
    REQUIRE(read_file(made.in("named.sqlite")).find("SECRET") != std::string::npos);
    made.run.nsys = NsysRun{"", made.in("named.sqlite"), ""};
    CHECK(made.written().trace().kernels.size() == 407);
    CHECK(read_file(made.path).find("SECRET") == std::string::npos);
}

TEST_CASE("evidence keeps what nsys says it lost, and no other diagnostic") {
    WholeRun made;
    const Evidence evidence = made.of_export([](Made& e) {
        e.launch(0, {10, 20, 1});
        e.add_diagnostic("Profiling has started in /home/me.");
        e.add_diagnostic("3 events were dropped.");
    });
    CHECK(capture_problems(evidence.database()) ==
          std::vector<std::string>{"nsys says: 3 events were dropped."});
    CHECK(answer(evidence, "SELECT COUNT(*) FROM DIAGNOSTIC_EVENT") == "1");
}

TEST_CASE("evidence stays whole where a new run cannot be written") {
    const WholeRun made;
    (void)made.written();
    const std::string before = read_file(made.path), exported = read_file(kFixed);
    const auto fails = [&](const auto& change) {
        RunRecord run = made.run;
        change(run);
        CHECK_THROWS_AS(write_evidence(run, made.path), Error);
        CHECK(read_file(made.path) == before);
        CHECK(std::distance(fs::directory_iterator(made.path.parent_path()), fs::directory_iterator()) == 1);
    };
    fails([&](RunRecord& run) { run.nsys->exported = made.in("missing.sqlite"); });
    fails([](RunRecord& run) { run.ncu[0].value = "CachePreferNone"; });
    for (const std::size_t length : {exported.size() / 3, exported.size() - 5000}) {
        write_file(made.in("cut.sqlite"), exported.substr(0, length));
        fails([&](RunRecord& run) { run.nsys->exported = made.in("cut.sqlite"); });
    }
}

TEST_CASE("evidence: a stranger's export does nothing when it is copied") {
    WholeRun made;
    const std::string victim = made.in("victim").string();
    const Evidence evidence = made.of_export([&](Made& e) {
        e.launch(0, {10, 20, 1});
        e.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN \"x); ATTACH '" + victim +
                  "' AS v; --\"");
        e.execute(
            "CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT "
            "start + 1 FROM n) SELECT start FROM n");
        e.execute("CREATE VIRTUAL TABLE CUPTI_ACTIVITY_KIND_MEMSET USING fts5(start)");
        e.execute("CREATE TABLE ENUM_CUPTI_SYNC_TYPE (id \"INTEGER); CREATE TABLE planted (a\", name TEXT)");
        e.execute("CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN SELECT RAISE(ABORT, 'x'); END");
    });
    CHECK_FALSE(fs::exists(victim));
    CHECK_FALSE(evidence.database().has_table("planted"));
    CHECK(evidence.trace().kernels.size() == 1);
    CHECK(evidence.trace().copies.empty());
}

TEST_CASE("evidence: a label says where it is from, and whether it is live or stale") {
    const Provenance all{
        {"gpu", "NVIDIA H200"},           {"driver", "580.1"}, {"cuda", "13.0"}, {"nsys", "2025.3.2"},
        {"date", "2026-11-20T05:24:41Z"}, {"fingerprint", "x"}};
    CHECK(source_label(all, false) ==
          "recorded · NVIDIA H200, driver 580.1, CUDA 13.0, nsys 2025.3.2, 2026-11-20");
    CHECK(source_label({{"gpu", ""}, {"cuda", "13.0"}}, true) == "live · unknown GPU, CUDA 13.0");
    CHECK(source_label({{"gpu", "a\x1b[31m"}}, true) == "live · a[31m");
    Evidence evidence = MadeEvidence().written();
    evidence.mark_stale();
    CHECK(source_label(evidence.provenance(), false).ends_with("stale: the program has changed since"));
}

TEST_CASE("recordings: nsys takes an option once, and a recording's own value is the one") {
    Program program;
    const auto given = [&](const char* word) {
        const auto all = nsys_command("nsys", "r.nsys-rep", program, false);
        CHECK(all.back() == "r.nsys-rep");
        return std::count(all.begin(), all.end(), word);
    };
    program.recording.nsys_options = {"--cuda-graph-trace=graph:host-only", "--delay=2"};
    CHECK(given("--cuda-graph-trace=node") == 0);
    CHECK(given("--cuda-graph-trace=graph:host-only") == 1);
    program.recording.nsys_options = {"--cuda-graph=x"};  // another option, whose name begins alike
    CHECK(given("--cuda-graph-trace=node") == 1);
}

TEST_CASE("recordings: of a program that floods its output, the first of it is kept") {
    MadeEvidence made;
    const fs::path binary = made.in("program");
    write_file(made.in("program.cu"), "int main() {}\n");
    write_file(made.in("common/nvcc.flags"), "");
    write_file(binary.string() + ".built", "0123 sm_90");
    write_file(binary, "#!/bin/sh\necho first\nhead -c 70000000 /dev/zero | tr '\\0' x\nexit 1\n");
    fs::permissions(binary, fs::perms::owner_all);
    Program program;
    program.file = "program.cu";
    program.traced = false;
    made.run = record_program(Workspace(made.folder.path()), program, binary, made.in("run.nsys-rep"), false,
                              [](const std::string&) {});
    CHECK(made.run.exit_code == 1);
    CHECK(made.run.out.starts_with("first\n"));
    CHECK(made.written().exit_code() == 1);  // SQLite takes less of one value where a file is read
}

}  // namespace lab::evidence_test
