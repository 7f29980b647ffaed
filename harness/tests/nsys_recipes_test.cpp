// The questions in SQL of docs/nsys.md, put to recorded and to made exports: each runs on NVIDIA's tables as
// they are, and says what the course's own views and analysis say.
#include <doctest/doctest.h>

#include <optional>

#include "core/error.h"
#include "evidence/analysis.h"
#include "hand_made_export.h"
#include "random_trace.h"

namespace lab::nsys_recipes_test {

namespace {

using Made = HandMadeExport;

struct Recipe {
    std::string question, sql;
};

/// Every block of SQL on the page, under the heading above it. The first makes the tables that are missing.
const std::vector<Recipe>& recipes() {
    static const std::vector<Recipe> all = [] {
        std::vector<Recipe> found;
        std::string question;
        bool inside = false;
        for (const std::string& line : split(read_file(fs::path(LAB_SOURCE_FOLDER) / "docs/nsys.md"), '\n')) {
            if (!inside && line.starts_with("### ")) question = line.substr(4);
            if (line == "```sql")
                found.push_back({question, ""}), inside = true;
            else if (line == "```")
                inside = false;
            else if (inside)
                found.back().sql += line + "\n";
        }
        for (Recipe& recipe : found)
            if (&recipe != &found[0]) recipe.sql.erase(recipe.sql.rfind(';'));
        return found;
    }();
    return all;
}

std::string recipe(const std::string& question) {
    for (const Recipe& r : recipes())
        if (r.question == question) return r.sql;
    FAIL("docs/nsys.md does not ask: " << question);
    return "";
}

using Rows = std::vector<std::vector<Value>>;

Rows rows_of(const Database& database, const std::string& sql) {
    Rows rows;
    for (Statement row = database.prepare(sql); row.next();) {
        rows.emplace_back();
        for (int c = 0; c < row.columns(); ++c) rows.back().push_back(row.value(c));
    }
    return rows;
}

std::optional<double> number(const Value& value) {
    if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    return std::nullopt;
}

/// Equal but for rounding.
bool same(const Value& a, const Value& b) {
    const auto x = number(a), y = number(b);
    return x && y ? *x == doctest::Approx(*y).epsilon(1e-6) : a == b;
}

void check_same(const Rows& found, const Rows& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t r = 0; r < found.size(); ++r)
        for (std::size_t c = 0; c < found[r].size(); ++c) {
            CAPTURE(r);
            CAPTURE(c);
            CHECK_MESSAGE(same(found[r][c], expected[r][c]), to_text(found[r][c]), " is not ",
                          to_text(expected[r][c]));
        }
}

/// A copy of an export, with the empty tables that the page tells its reader to make where they are missing.
struct Export {
    TemporaryFolder folder;
    fs::path path = folder.path() / "export.sqlite";
    std::optional<Database> database;
    std::optional<Capture> capture;

    explicit Export(const fs::path& from) {
        fs::copy_file(from, path);
        fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
        prepare_and_open();
    }
    template <class Fill>
    Export(const Fill& fill, int64_t shift) {
        {
            Made made(path, shift);
            fill(made);
        }
        prepare_and_open();
    }

  private:
    void prepare_and_open() {
        sqlite3* raw = nullptr;
        REQUIRE(sqlite3_open(path.c_str(), &raw) == SQLITE_OK);
        const std::string setup = "PRAGMA synchronous = OFF;" + recipes().front().sql;
        const int code = sqlite3_exec(raw, setup.c_str(), nullptr, nullptr, nullptr);
        CHECK_MESSAGE(code == SQLITE_OK, sqlite3_errmsg(raw));
        sqlite3_close(raw);
        database = Database::open_untrusted(path);
        capture.emplace(*database);
    }
};

std::vector<fs::path> recorded_exports() {
    const fs::path ch05 = fs::path(LAB_SOURCE_FOLDER) / "ch05_streams", samples = LAB_SAMPLES;
    return {ch05 / "evidence/h200/buggy.sqlite", ch05 / "evidence/h200/fixed.sqlite",
            ch05 / "exercises/2_pageable_async/evidence/h200/starter.sqlite",
            samples / "nsys_2025.3_buggy.sqlite", samples / "nsys_2025.3_fixed.sqlite"};
}

/// What no recording here has: two processes that count their calls alike, sets, failed calls, and strings
/// that NVTX knows.
void fill_with_the_rare(Made& made) {
    for (const int64_t process : {1, 2}) {
        made.launch(10 * process, {100 * process, 100 * process + 5, 1, 7, 0, process});
        made.add(Made::CallRow{20 * process, 20 * process + 9, 2, "cudaMemcpyAsync_v3020", process});
        made.add(
            Made::CopyRow{200 * process, 200 * process + 9, 2, "HTOD", "PAGEABLE", "DEVICE", 7, 0, process});
        made.add(Made::RangeRow{0, 50, "solve", process, 1, 0, false, true});
    }
    for (const int64_t value : {0, 0, 255}) {
        const int64_t start = 300 + value;
        made.add(Made::SetRow{start, start + 10, 3, 7, 0, 1, 1000 + value, value});
    }
    made.add(Made::CallRow{100, 101, 5, "cudaLaunchKernel_v7000", 1, 1, 9});
    made.add(Made::RangeRow{0, 90, "step", 1, 1, 0, true});
    made.add_mark(4, "no range");
    for (const char* name : {"read", "poll", "read"}) made.add(Made::OsRow{20, 29, name});
    for (const int64_t at : {30, 40, 50})
        made.add(Made::SampleRow{at, {at == 40 ? "decode" : "load", "main"}});
    made.add(Made::SampleRow{.at = 60, .stack = {"schedule"}, .cycles = 0});
    for (const int64_t thread : {1, 2})
        for (const int64_t at : {10, 25, 70})
            made.add(Made::SwitchRow{.at = at * thread, .in = at != 25, .thread = thread});
    made.add_thread_name(2, "worker");
    for (const int64_t at : {90, 120, 250, 900}) made.add_metric(at, "SMs Active [Throughput %]", at / 10);
}

/// Puts `check` to every recorded export and to made ones, with the numbers of the enums moved. Work that
/// takes no time is left out of random traces: the analysis has no interval for it, and a real GPU has none.
template <class Check>
void on_all_exports(const Check& check) {
    for (const fs::path& path : recorded_exports()) {
        CAPTURE(path.string());
        check(Export(path));
    }
    check(Export(fill_with_the_rare, 7));
    RandomTrace random(31);
    for (int round = 0; round < 60; ++round) {
        Trace trace = random.make();
        std::erase_if(trace.kernels, [](const Kernel& k) { return k.end_ns == k.start_ns; });
        std::erase_if(trace.copies, [](const Copy& c) { return c.end_ns == c.start_ns; });
        if (trace.kernels.empty()) continue;
        CAPTURE(round);
        check(Export([&](Made& made) { fill_from(trace, made); }, round));
    }
}

constexpr const char* kGaps = "When is the GPU idle for longer than 10 µs, and between which two?";
constexpr const char* kPageable = "Which asynchronous copies are none, because their memory is pageable?";

/// What the page's answer says, and the views: `{}` is the page's question.
struct Twin {
    const char *question, *of_page, *of_views;
};
constexpr Twin kTwins[] = {
    {"Which kernels take the time?",
     "SELECT kernel, launches, total_ms, min_us, avg_us, max_us FROM ({}) ORDER BY 1",
     "SELECT name, COUNT(*), SUM(duration) / 1e6, MIN(duration) / 1e3, AVG(duration) / 1e3, "
     "MAX(duration) / 1e3 FROM kernels GROUP BY 1 ORDER BY 1"},
    {"How fast are the copies, by direction and kind of memory?",
     "SELECT copies, MB, ms, GB_per_s FROM ({}) ORDER BY 1, 2, 3",
     "SELECT COUNT(*) AS n, SUM(bytes) / 1e6, SUM(duration) / 1e6, 1.0 * SUM(bytes) / SUM(duration) FROM "
     "copies GROUP BY direction, from_kind, to_kind ORDER BY 1, 2, 3"},
    {kPageable, "SELECT call_us, copy_us, bytes FROM ({}) ORDER BY 1, 2, 3",
     "SELECT a.duration / 1e3, c.duration / 1e3, bytes FROM copies c JOIN api_calls a USING (process, "
     "correlation) WHERE a.name LIKE '%Async%' AND 'pageable' IN (from_kind, to_kind) ORDER BY 1, 2, 3"},
    {"What was set in memory, and how?", "SELECT value, sets, MB, ms, GB_per_s FROM ({}) ORDER BY 1",
     "SELECT value, COUNT(*), SUM(bytes) / 1e6, SUM(duration) / 1e6, 1.0 * SUM(bytes) / SUM(duration) FROM "
     "sets GROUP BY 1 ORDER BY 1"},
    {"Which CUDA calls take the host's time?",
     "SELECT substr(call, 1, instr(call || '_v', '_v') - 1), SUM(calls), SUM(total_ms), MAX(max_us) FROM "
     "({}) GROUP BY 1 ORDER BY 1",
     "SELECT name, COUNT(*), SUM(duration) / 1e6, MAX(duration) / 1e3 FROM api_calls GROUP BY 1 ORDER BY 1"},
    {"Which CUDA calls failed?",
     "SELECT substr(call, 1, instr(call || '_v', '_v') - 1), error, SUM(times) FROM ({}) GROUP BY 1, 2 "
     "ORDER BY 1, 2",
     "SELECT name, result, COUNT(*) FROM api_calls WHERE result <> 0 GROUP BY 1, 2 ORDER BY 1, 2"},
    {"How long does a kernel wait after it was launched?",
     "SELECT kernel, launches, waited, COALESCE(avg_wait_us * waited, 0), COALESCE(max_wait_us, 0) FROM ({}) "
     "ORDER BY 1",
     "SELECT k.name, COUNT(*), SUM(k.start > a.end), SUM(MAX(0, k.start - a.end)) / 1e3, MAX(0, MAX(k.start "
     "- a.end)) / 1e3 FROM kernels k JOIN api_calls a USING (process, correlation) GROUP BY 1 ORDER BY 1"},
    {"Which kernels are shorter than their launch?", "SELECT kernel, launches, shorter FROM ({}) ORDER BY 1",
     "SELECT k.name, COUNT(*), SUM(k.duration < a.duration) FROM kernels k JOIN api_calls a USING (process, "
     "correlation) WHERE graph_node IS NULL GROUP BY 1 ORDER BY 1"},
    {"How long does the host wait for the GPU?",
     "SELECT COALESCE(SUM(waits), 0), COALESCE(SUM(total_ms), 0) FROM ({})",
     "SELECT COUNT(*), COALESCE(SUM(duration) / 1e6, 0) FROM syncs"},
    {"Which streams carry work?",
     "SELECT device, stream, kernels, copies, kernel_ms, copy_ms FROM ({}) ORDER BY 1, 2",
     "SELECT device, stream, SUM(k), SUM(1 - k), SUM(k * duration) / 1e6, SUM((1 - k) * duration) / 1e6 FROM "
     "(SELECT device, stream, duration, 1 AS k FROM kernels UNION ALL SELECT device, stream, duration, 0 "
     "FROM copies UNION ALL SELECT device, stream, duration, 0 FROM sets) GROUP BY 1, 2 ORDER BY 1, 2"},
    {"How many kernels does each NVTX range launch?",
     "SELECT range, ranges, kernels, COALESCE(kernels_ms, 0) FROM ({}) ORDER BY 1",
     "SELECT r.name, COUNT(DISTINCT r.id), COUNT(k.start), COALESCE(SUM(k.duration) / 1e6, 0) FROM ranges r "
     "LEFT JOIN api_calls a ON a.process = r.process AND (r.crosses_threads OR a.thread = r.thread) AND "
     "a.start >= r.start AND a.start < r.end LEFT JOIN kernels k ON k.process = a.process AND k.correlation "
     "= a.correlation GROUP BY 1 ORDER BY 1"},
    {"What does each NVTX range take on the GPU?",
     "SELECT range, host_ms, gpu_start_ms, gpu_end_ms, operations > 0 FROM ({}) ORDER BY 1, at_ms, 2, 3",
     "SELECT name, duration / 1e6, gpu_start / 1e6, gpu_end / 1e6, gpu_start IS NOT NULL FROM ranges ORDER "
     "BY 1, start, 2, 3"},
    {"Which host functions do the samples of the CPU find?",
     "SELECT function, module, samples FROM ({}) ORDER BY 1",
     "SELECT function, module, COUNT(*) FROM cpu_samples GROUP BY 1, 2 ORDER BY 1"},
    {"Which calls of the operating system take the time?",
     "SELECT call, calls, total_ms, max_us FROM ({}) ORDER BY 1",
     "SELECT name, COUNT(*), SUM(duration) / 1e6, MAX(duration) / 1e3 FROM os_calls GROUP BY 1 ORDER BY 1"},
    {"How long does each thread run, and how long is it off its core?",
     "SELECT thread, name, running_ms, off_ms FROM ({}) ORDER BY 1",
     "SELECT thread % 0x1000000, thread_name, TOTAL(duration * (state = 'running')) / 1e6, "
     "TOTAL(duration * (state <> 'running')) / 1e6 FROM context_switches GROUP BY thread ORDER BY 1"},
    {"How full is the GPU, by its metrics?", "SELECT gpu, metric, samples, mean, max FROM ({}) ORDER BY 1",
     "SELECT device, name || ' [Throughput ' || unit || ']', COUNT(*), AVG(value), MAX(value) FROM "
     "gpu_metrics WHERE time BETWEEN (SELECT MIN(start) FROM kernels) AND (SELECT MAX(end) FROM kernels) "
     "GROUP BY 1, 2"},
    {"Which names could begin a capture?", "SELECT name, SUM(events) FROM ({}) GROUP BY 1 ORDER BY 1",
     "SELECT name, COUNT(*) FROM ranges GROUP BY 1 ORDER BY 1"},
};

}  // namespace

TEST_CASE("nsys page: every question has an answer on every recorded export") {
    REQUIRE(recipes().size() > 12);
    const std::vector<std::string> nothing_to_find{kPageable,
                                                   "What was set in memory, and how?",
                                                   "Which CUDA calls failed?",
                                                   "Is the recording whole?",
                                                   "Which host functions do the samples of the CPU find?",
                                                   "Which calls of the operating system take the time?",
                                                   "How long does each thread run, and how long is it off "
                                                   "its core?",
                                                   "How full is the GPU, by its metrics?"};
    for (const fs::path& path : recorded_exports()) {
        const Export e(path);
        for (const Recipe& r : std::vector<Recipe>(recipes().begin() + 1, recipes().end())) {
            INFO(path.string(), " ", r.question);
            const bool may_be_empty = std::count(nothing_to_find.begin(), nothing_to_find.end(), r.question);
            CHECK((rows_of(*e.database, r.sql).size() > 0 || may_be_empty));
        }
    }
    CHECK(rows_of(*Export(recorded_exports()[2]).database, recipe(kPageable)).size() == 16);
    CHECK(rows_of(*Export(recorded_exports()[4]).database, recipe("Is the recording whole?")).size() == 3);
}

TEST_CASE("nsys page: what is missing in an export is among what the page makes") {
    const Database untouched = Database::open_untrusted(recorded_exports()[1]);
    const std::string& made = recipes().front().sql;
    int missing = 0;
    for (const Recipe& r : std::vector<Recipe>(recipes().begin() + 1, recipes().end())) {
        CAPTURE(r.question);
        try {
            (void)untouched.prepare(r.sql);
        } catch (const Error& error) {
            const std::string said = error.what();
            const std::size_t at = said.find("no such table: ");
            REQUIRE_MESSAGE(at != std::string::npos, said);
            const std::string table = said.substr(said.find_last_of(" .") + 1);
            CHECK_MESSAGE(made.find("EXISTS " + table + " (") != std::string::npos, said);
            ++missing;
        }
    }
    CHECK(missing > 0);  // this export has no memory sets
}

TEST_CASE("nsys page: the answers are those of the course's views") {
    on_all_exports([](const Export& e) {
        for (const Twin& twin : kTwins) {
            CAPTURE(twin.question);
            std::string of_page = twin.of_page;
            of_page.replace(of_page.find("{}"), 2, recipe(twin.question));
            check_same(rows_of(*e.database, of_page), rows_of(*e.database, twin.of_views));
        }
    });
}

TEST_CASE("nsys page: busy, idle, hidden and concurrent time are those of the analysis") {
    std::string gaps = recipe(kGaps);
    const std::size_t at = gaps.find("> 10000 ");
    REQUIRE(at != std::string::npos);
    gaps.replace(at, 8, "> 0 ");
    on_all_exports([&](const Export& e) {
        const Analysis a = analyse(e.capture->trace());
        const auto check = [&](const std::string& columns, const std::string& sql,
                               std::vector<Value> expected) {
            CAPTURE(columns);
            check_same(rows_of(*e.database,
                               fmt::format("SELECT {} FROM ({}) WHERE device = {}", columns, sql, a.device)),
                       {std::move(expected)});
        };
        const auto value = [&](const char* name) {
            const auto found = metric(a, name);
            return found ? Value(*found) : Value();
        };
        check("busy_share, busy_ms, span_ms", recipe("What share of the time is the GPU busy?"),
              {value("gpu_busy_share"), value("gpu_busy_ms"), value("span_ms")});
        check("up_hidden_share, down_hidden_share, COALESCE(up_ms, 0), COALESCE(down_ms, 0)",
              recipe("How much of the copies is hidden behind kernels?"),
              {value("h2d_hidden_share"), value("d2h_hidden_share"), a.h2d_ns / 1e6, a.d2h_ns / 1e6});
        if (a.compute_ns > 0)
            check("concurrent_share, kernel_ms", recipe("Do kernels run at the same time?"),
                  {value("kernel_concurrency"), value("compute_ms")});
        check(
            "COALESCE(SUM(idle_us), 0), COALESCE(SUM(idle_us * (launched_late_us > 0)), 0), "
            "COALESCE(SUM(before IS NULL OR after IS NULL), 0)",
            gaps, {a.gpu_idle_ns / 1e3, a.idle.host_wait_ns / 1e3, int64_t{0}});
    });
}

}  // namespace lab::nsys_recipes_test
