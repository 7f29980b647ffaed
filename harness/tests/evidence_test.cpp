#include "evidence/evidence.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "evidence/analysis.h"
#include "evidence/schema.h"
#include "hand_made_export.h"

using namespace lab;

namespace {

using Made = HandMadeExport;

const fs::path kFixed = fs::path(LAB_SAMPLES) / "nsys_2025.3_fixed.sqlite";

/// A folder to write evidence in.
struct Store {
    TemporaryFolder folder;
    fs::path path = folder.path() / "h200/fixed.sqlite";
    [[nodiscard]] fs::path in(const char* name) const { return folder.path() / name; }
};

RunRecord whole_run() {
    RunRecord run;
    run.nsys = NsysRun{"", kFixed, ""};
    run.ncu = {{0, "add(int)", "dram__bytes.sum", "byte", "1,234"},
               {1, "add(int)", "dram__bytes.sum", "byte", "5.5"}};
    run.sanitizer["memcheck"] = {{"Invalid __global__ read", "error", "oob", "faults.cu", 5, 4, 2}};
    run.sanitizer["racecheck"] = {};
    run.exit_code = 1;
    run.out = "found 1, expected 2\n";
    run.provenance = {{"gpu", "NVIDIA H200"}, {"driver", "580.1"}, {"command", "fixed --size '1 2'"}};
    return run;
}

std::string answer(const Evidence& evidence, const std::string& sql) {
    Statement row = evidence.database().prepare(sql);
    return row.next() ? to_text(row.value(0)) : "no row";
}

/// The names of the calls, but for those that the CUDA runtime makes on its own behalf.
std::vector<std::string> calls_of_the_program(const Analysis& analysis) {
    std::vector<std::string> names;
    for (const auto& call : analysis.api)
        if (call.name != "cuKernelGetName" && call.name != "cuGetProcAddress") names.push_back(call.name);
    return names;
}

/// Slim evidence and the whole export say the same about where the time goes.
void require_same_analysis(const Evidence& a, const Evidence& b) {
    for (const std::optional<std::string>& range :
         {std::optional<std::string>(), {"warm-up"}, {"normalise"}}) {
        const Analysis x = analyse(a.trace(), range), y = analyse(b.trace(), range);
        for (const std::string& name : metric_names()) REQUIRE(metric(x, name) == metric(y, name));
        REQUIRE(x.idle.host_wait_ns == y.idle.host_wait_ns);
        REQUIRE(x.streams.size() == y.streams.size());
        REQUIRE(x.kernels.size() == y.kernels.size());
        for (std::size_t i = 0; i < x.kernels.size(); ++i) {
            REQUIRE(x.kernels[i].name == y.kernels[i].name);
            REQUIRE(x.kernels[i].median_ns == y.kernels[i].median_ns);
        }
        REQUIRE(calls_of_the_program(x).size() == x.api.size());
        REQUIRE(calls_of_the_program(x) == calls_of_the_program(y));
    }
}

}  // namespace

TEST_CASE("evidence: a report of compute-sanitizer keeps its frames and the line that it blames") {
    const Store store;
    RunRecord run = whole_run();
    SanitizerReport& report = run.sanitizer["memcheck"][0];
    report.frames = {{false, "outer", "faults.cu", 9, ""}, {true, "main", "", 0, "faults"}};
    report.allocation_bytes = 400, report.beyond_bytes = 1;
    run.sources["faults.cu"] = "// one\n// two\n\n\n    out[i] = x[i + 2];  \n";
    write_evidence(run, store.path);
    const Evidence evidence = Evidence::open(store.path);
    CHECK(answer(evidence, "SELECT source FROM SANITIZER_REPORTS") == "out[i] = x[i + 2];");
    CHECK(answer(evidence, "SELECT allocation_bytes + beyond_bytes FROM SANITIZER_REPORTS") == "401");
    CHECK(answer(evidence, "SELECT COUNT(*) FROM SANITIZER_FRAMES JOIN SANITIZER_REPORTS ON id = report") ==
          "2");
    CHECK(answer(evidence, "SELECT function FROM SANITIZER_FRAMES WHERE side = 'host'") == "main");
    run.sources.clear();
    write_evidence(run, store.path);
    CHECK(answer(Evidence::open(store.path), "SELECT source FROM SANITIZER_REPORTS").empty());
}

TEST_CASE("evidence of a real export gives the same answers in a small file") {
    const Store store;
    write_evidence(whole_run(), store.path);
    CHECK(fs::file_size(store.path) < 200'000);
    const Evidence slim = Evidence::open(store.path), whole = Evidence::open(kFixed);
    for (const Evidence* evidence : {&slim, &whole}) project_ranges(evidence->database());
    CHECK(slim.has_trace());
    require_same_analysis(slim, whole);
    for (const char* sql : {"SELECT COUNT(*) FROM kernels", "SELECT MIN(full_name) FROM kernels",
                            "SELECT SUM(bytes) FROM copies", "SELECT COUNT(*) FROM sets",
                            "SELECT COUNT(*) FROM syncs", "SELECT SUM(gpu_end - gpu_start) FROM ranges",
                            "SELECT GROUP_CONCAT(from_kind || direction) FROM copies",
                            "SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL",
                            "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'"})
        CHECK(answer(slim, sql) == answer(whole, sql));
    CHECK(capture_problems(slim.database()).empty());
}

TEST_CASE("evidence keeps what the other tools said") {
    const Store store;
    write_evidence(whole_run(), store.path);
    const Evidence evidence = Evidence::open(store.path);
    CHECK(evidence.provenance() == whole_run().provenance);
    CHECK(evidence.exit_code() == 1);
    CHECK(answer(evidence, "SELECT stdout FROM PROGRAM") == "found 1, expected 2 ");
    CHECK(answer(evidence, "SELECT SUM(value) FROM NCU_METRICS WHERE unit = 'byte'") == "1240");
    CHECK(answer(evidence, "SELECT kernel FROM NCU_METRICS WHERE launch = 1") == "add(int)");
    CHECK(answer(evidence,
                 "SELECT tool || kind || severity || function || file || line || bytes || count FROM "
                 "SANITIZER_REPORTS") == "memcheckInvalid __global__ readerroroobfaults.cu542");
    CHECK(answer(evidence, "SELECT COUNT(*) FROM SANITIZER_REPORTS WHERE tool = 'racecheck'") == "0");
}

TEST_CASE("evidence knows which tools looked, also those that found nothing") {
    const Store store;
    write_evidence(whole_run(), store.path);
    const Evidence evidence = Evidence::open(store.path);
    for (const char* tool : {"nsys", "ncu", "memcheck", "racecheck"}) CHECK(evidence.was_run(tool));
    for (const char* tool : {"initcheck", "synccheck", "", "NSYS"}) CHECK_FALSE(evidence.was_run(tool));
}

TEST_CASE("evidence of a program that did not run by itself has no exit code") {
    const Store store;
    RunRecord run = whole_run();
    run.exit_code.reset();
    write_evidence(run, store.path);
    CHECK_FALSE(Evidence::open(store.path).exit_code());
}

TEST_CASE("evidence without nsys has no trace, and says so") {
    const Store store;
    RunRecord run;
    run.exit_code = 0;
    run.provenance["gpu"] = "x";
    write_evidence(run, store.path);
    const Evidence evidence = Evidence::open(store.path);
    CHECK_FALSE(evidence.has_trace());
    CHECK_FALSE(evidence.was_run("nsys"));
    CHECK_FALSE(evidence.was_run("ncu"));
    CHECK(evidence.exit_code() == 0);
    CHECK_THROWS_AS((void)evidence.database().prepare("SELECT * FROM kernels"), Error);
}

TEST_CASE("anybody's export is evidence without provenance") {
    const Evidence evidence = Evidence::open(kFixed);
    CHECK(evidence.has_trace());
    CHECK(evidence.provenance().empty());
    CHECK_FALSE(evidence.exit_code());
    CHECK_FALSE(evidence.was_run("nsys"));
    CHECK(&evidence.trace() == &evidence.trace());
}

TEST_CASE("the same run makes the same file") {
    const Store store;
    write_evidence(whole_run(), store.in("one.sqlite"));
    write_evidence(whole_run(), store.in("two.sqlite"));
    CHECK(read_file(store.in("one.sqlite")) == read_file(store.in("two.sqlite")));
}

TEST_CASE("nothing that names the machine gets into evidence") {
    const Store store;
    fs::copy_file(kFixed, store.in("named.sqlite"));
    fs::permissions(store.in("named.sqlite"), fs::perms::owner_all);
    sqlite3* raw = nullptr;
    REQUIRE(sqlite3_open(store.in("named.sqlite").c_str(), &raw) == SQLITE_OK);
    REQUIRE(
        sqlite3_exec(
            raw,
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
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET mangledName = 999998;",
            nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(raw);
    REQUIRE(read_file(store.in("named.sqlite")).find("SECRET") != std::string::npos);
    RunRecord run = whole_run();
    run.nsys = NsysRun{"", store.in("named.sqlite"), ""};
    write_evidence(run, store.path);
    CHECK(read_file(store.path).find("SECRET") == std::string::npos);
    CHECK(Evidence::open(store.path).trace().kernels.size() == 407);
}

TEST_CASE("what nsys says it lost gets into evidence") {
    const Store store;
    {
        HandMadeExport made(store.in("export.sqlite"));
        made.launch(0, {10, 20, 1});
        made.add_diagnostic("Profiling has started in /home/me.");
        made.add_diagnostic("3 events were dropped.");
    }
    RunRecord run = whole_run();
    run.nsys = NsysRun{"", store.in("export.sqlite"), ""};
    write_evidence(run, store.path);
    const Evidence evidence = Evidence::open(store.path);
    CHECK(capture_problems(evidence.database()) ==
          std::vector<std::string>{"nsys says: 3 events were dropped."});
    CHECK(answer(evidence, "SELECT COUNT(*) FROM DIAGNOSTIC_EVENT") == "1");
}

TEST_CASE("a run that cannot be written leaves the old evidence whole") {
    const Store store;
    write_evidence(whole_run(), store.path);
    const std::string before = read_file(store.path);
    const auto fails = [&](const fs::path& nsys_export) {
        RunRecord run = whole_run();
        run.nsys = NsysRun{"", nsys_export, ""};
        CHECK_THROWS_AS(write_evidence(run, store.path), Error);
        CHECK(read_file(store.path) == before);
        CHECK(std::distance(fs::directory_iterator(store.path.parent_path()), fs::directory_iterator()) == 1);
    };
    fails(store.in("missing.sqlite"));
    CHECK_FALSE(fs::exists(store.in("missing.sqlite")));
    write_file(store.in("text.sqlite"), "no database");
    fails(store.in("text.sqlite"));
    const std::string whole = read_file(kFixed);
    for (const std::size_t length : {whole.size() / 3, whole.size() / 2, whole.size() - 5000}) {
        write_file(store.in("cut.sqlite"), whole.substr(0, length));
        fails(store.in("cut.sqlite"));
    }
    RunRecord text_metric = whole_run();
    text_metric.ncu[0].value = "CachePreferNone";
    CHECK_THROWS_AS(write_evidence(text_metric, store.path), Error);
    CHECK(read_file(store.path) == before);
}

TEST_CASE("a disk that fills up leaves the old evidence whole") {
    const Store store;
    write_evidence(whole_run(), store.path);
    const std::string before = read_file(store.path);
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{40'000, 40'000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        try {
            write_evidence(whole_run(), store.path);
        } catch (const Error&) {
            ::_exit(7);
        }
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == 7);
    CHECK(read_file(store.path) == before);
}

TEST_CASE("a stranger's export does nothing when it is made into evidence") {
    const Store store;
    const std::string victim = store.in("victim").string();
    {
        HandMadeExport made(store.in("export.sqlite"));
        made.launch(0, {10, 20, 1});
        made.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN \"x); ATTACH '" + victim +
                     "' AS v; --\"");
        made.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN computed AS (start + 1)");
        made.execute(
            "CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT "
            "start + 1 FROM n) SELECT start FROM n");
        made.execute("CREATE VIRTUAL TABLE CUPTI_ACTIVITY_KIND_MEMSET USING fts5(start)");
        made.execute(
            "CREATE TABLE ENUM_CUPTI_SYNC_TYPE (id \"INTEGER); CREATE TABLE planted (a\", name TEXT)");
        made.execute("CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN SELECT RAISE(ABORT, 'x'); END");
    }
    RunRecord run = whole_run();
    run.nsys = NsysRun{"", store.in("export.sqlite"), ""};
    const std::string before = read_file(*run.nsys->exported);
    write_evidence(run, store.path);
    CHECK(read_file(*run.nsys->exported) == before);
    CHECK_FALSE(fs::exists(victim));
    const Evidence evidence = Evidence::open(store.path);
    CHECK_FALSE(evidence.database().has_table("planted"));
    CHECK(evidence.trace().kernels.size() == 1);
    CHECK(evidence.trace().copies.empty());
}

TEST_CASE("an export of nothing on the GPU makes evidence that says so when it is opened") {
    const Store store;
    {
        HandMadeExport made(store.in("export.sqlite"));
        made.add(Made::RangeRow{0, 5, "a"});
    }
    RunRecord run = whole_run();
    run.nsys = NsysRun{"", store.in("export.sqlite"), ""};
    write_evidence(run, store.path);
    CHECK_THROWS_WITH_AS((void)Evidence::open(store.path), doctest::Contains("nothing of CUDA"), Error);
}

TEST_CASE("what is no evidence is refused") {
    const Store store;
    CHECK_THROWS_AS((void)Evidence::open(store.path), Error);
    Database::create(store.in("other.sqlite")).execute("CREATE TABLE t (a)");
    CHECK_THROWS_WITH_AS((void)Evidence::open(store.in("other.sqlite")),
                         doctest::Contains("no export of nsys"), Error);
}

TEST_CASE("a label says where evidence is from, and whether it is live") {
    const Provenance all{
        {"gpu", "NVIDIA H200"},           {"driver", "580.1"}, {"cuda", "13.0"}, {"nsys", "2025.3.2"},
        {"date", "2026-11-20T05:24:41Z"}, {"fingerprint", "x"}};
    CHECK(source_label(all, false) ==
          "recorded · NVIDIA H200, driver 580.1, CUDA 13.0, nsys 2025.3.2, 2026-11-20");
    CHECK(source_label(all, true).rfind("live · NVIDIA H200, driver 580.1", 0) == 0);
    CHECK(source_label({}, false) == "recorded · unknown GPU");
    CHECK(source_label({{"gpu", ""}, {"cuda", "13.0"}}, true) == "live · unknown GPU, CUDA 13.0");
    CHECK(source_label({{"gpu", "a\x1b[31m"}}, true) == "live · a[31m");
}
