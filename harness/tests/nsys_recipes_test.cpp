// The questions in SQL of docs/nsys.md, put to recorded and to made exports: each runs, and says what lab's
// own analysis says.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "evidence/analysis.h"
#include "evidence/schema.h"
#include "evidence/trace_reader.h"
#include "hand_made_export.h"
#include "random_trace.h"

using namespace lab;

namespace {

using Made = HandMadeExport;

struct Recipe {
    std::string question, sql;
};

/// Every block of SQL on the page, under the heading above it. The first makes the tables that are missing.
std::vector<Recipe> recipes_of_the_page() {
    std::vector<Recipe> recipes;
    std::string question;
    bool inside = false;
    for (const std::string& line : split(read_file(fs::path(LAB_SOURCE_FOLDER) / "docs/nsys.md"), '\n')) {
        if (!inside && line.rfind("### ", 0) == 0) question = line.substr(4);
        if (line == "```sql")
            recipes.push_back({question, ""}), inside = true;
        else if (line == "```")
            inside = false;
        else if (inside)
            recipes.back().sql += line + "\n";
    }
    REQUIRE(recipes.size() > 12);
    return recipes;
}

Recipe recipe(const std::string& question) {
    for (const Recipe& r : recipes_of_the_page())
        if (r.question == question) return r;
    FAIL("docs/nsys.md does not ask: " << question);
    return {};
}

/// What a question was answered with, by the names of the columns.
class Answer {
  public:
    explicit Answer(Statement statement) {
        for (int i = 0; i < statement.columns(); ++i) columns_.push_back(statement.column_name(i));
        while (statement.next()) {
            rows_.emplace_back();
            for (int i = 0; i < statement.columns(); ++i) rows_.back().push_back(statement.value(i));
        }
    }
    [[nodiscard]] std::size_t size() const { return rows_.size(); }
    [[nodiscard]] const Value& value(std::size_t row, const std::string& column) const {
        const auto at = std::find(columns_.begin(), columns_.end(), column);
        REQUIRE_MESSAGE(at != columns_.end(), "no column " << column);
        REQUIRE(row < rows_.size());
        return rows_[row][static_cast<std::size_t>(at - columns_.begin())];
    }
    /// A number, or nothing where the answer is NULL.
    [[nodiscard]] std::optional<double> number(std::size_t row, const std::string& column) const {
        const Value& v = value(row, column);
        if (const auto* whole = std::get_if<int64_t>(&v)) return static_cast<double>(*whole);
        if (const auto* real = std::get_if<double>(&v)) return *real;
        CHECK(std::holds_alternative<std::monostate>(v));
        return std::nullopt;
    }
    [[nodiscard]] std::string text(std::size_t row, const std::string& column) const {
        return to_text(value(row, column));
    }
    [[nodiscard]] double sum(const std::string& column) const {
        double total = 0;
        for (std::size_t row = 0; row < size(); ++row) total += number(row, column).value_or(0);
        return total;
    }

  private:
    std::vector<std::string> columns_;
    std::vector<std::vector<Value>> rows_;
};

/// A copy of an export, with the empty tables that the page tells its reader to make where they are missing.
class Export {
  public:
    explicit Export(const fs::path& from) {
        fs::copy_file(from, path_);
        fs::permissions(path_, fs::perms::owner_write, fs::perm_options::add);
        prepare_and_open();
    }
    explicit Export(const Trace& trace, int64_t shift = 0) {
        {
            HandMadeExport made(path_, shift);
            fill_from(trace, made);
        }
        prepare_and_open();
    }
    [[nodiscard]] Answer ask(const std::string& question) const { return ask(recipe(question)); }
    [[nodiscard]] Answer ask(const Recipe& r) const { return Answer(database_->prepare(r.sql)); }
    [[nodiscard]] const Database& database() const { return *database_; }
    [[nodiscard]] const Trace& trace() const { return trace_; }
    [[nodiscard]] const Analysis& analysis() const { return analysis_; }

    /// The row about the GPU that the analysis is about; rows are one a GPU.
    [[nodiscard]] std::size_t row_of_gpu(const Answer& answer) const {
        for (std::size_t row = 0; row < answer.size(); ++row)
            if (answer.number(row, "device") == static_cast<double>(analysis_.device)) return row;
        return answer.size();
    }

  private:
    void prepare_and_open() {
        sqlite3* raw = nullptr;
        REQUIRE(sqlite3_open(path_.c_str(), &raw) == SQLITE_OK);
        const std::string setup = "PRAGMA synchronous = OFF;" + recipes_of_the_page().front().sql;
        const int code = sqlite3_exec(raw, setup.c_str(), nullptr, nullptr, nullptr);
        CHECK_MESSAGE(code == SQLITE_OK, sqlite3_errmsg(raw));
        sqlite3_close(raw);
        database_ = Database::open_untrusted(path_);
        create_views(*database_);
        project_ranges(*database_);
        trace_ = read_trace(*database_);
        analysis_ = analyse(trace_);
    }

    TemporaryFolder folder_;
    fs::path path_ = folder_.path() / "export.sqlite";
    std::optional<Database> database_;
    Trace trace_;
    Analysis analysis_;
};

fs::path recorded(const char* name) {
    return fs::path(LAB_SOURCE_FOLDER) / "ch05_streams/evidence/h200" / fmt::format("{}.sqlite", name);
}
fs::path sample(const char* name) {
    return fs::path(LAB_SAMPLES) / fmt::format("nsys_2025.3_{}.sqlite", name);
}
std::vector<fs::path> recorded_exports() {
    return {recorded("buggy"), recorded("fixed"), recorded("pageable_async.starter"), sample("buggy"),
            sample("fixed")};
}

/// Puts `check` to every recorded export and to traces that nobody recorded, with the numbers of the enums
/// moved. Work that takes no time is left out of those: the analysis has no interval for it, the questions
/// have, and a real GPU has none.
template <class Check>
void on_all_exports(const Check& check) {
    for (const fs::path& path : recorded_exports()) {
        CAPTURE(path.string());
        check(Export(path));
    }
    RandomTrace random(31);
    for (int round = 0; round < 25; ++round) {
        Trace trace = random.make();
        std::erase_if(trace.kernels, [](const Kernel& k) { return k.end_ns == k.start_ns; });
        std::erase_if(trace.copies, [](const Copy& c) { return c.end_ns == c.start_ns; });
        if (trace.kernels.empty()) continue;
        CAPTURE(round);
        check(Export(trace, round));
    }
}

/// Equal but for rounding, or both undefined.
void check_same(std::optional<double> found, std::optional<double> expected) {
    CHECK(found.has_value() == expected.has_value());
    if (found && expected) CHECK(*found == doctest::Approx(*expected).epsilon(1e-6));
}

/// The call's name without the version of its entry point.
std::string bare(std::string call) {
    const std::size_t at = call.rfind("_v");
    return at == std::string::npos ? call : call.substr(0, at);
}

const ApiCall* call_of(const Trace& trace, int64_t process, int64_t correlation) {
    for (const ApiCall& call : trace.api_calls)
        if (call.process == process && call.correlation == correlation) return &call;
    return nullptr;
}

double count(const Database& database, const std::string& sql) {
    Statement row = database.prepare(sql);
    REQUIRE(row.next());
    return row.number(0);
}

constexpr const char* kPageable = "Which asynchronous copies are none, because their memory is pageable?";
constexpr const char* kSets = "What was set in memory, and how?";
constexpr const char* kFailed = "Which CUDA calls failed?";
constexpr const char* kWhole = "Is the recording whole?";
constexpr const char* kGaps = "When is the GPU idle for longer than 10 µs, and between which two?";
constexpr const char* kRegistered = "Which names could begin a capture?";

}  // namespace

TEST_CASE("nsys page: every question has an answer on every recorded export") {
    const std::vector<std::string> nothing_to_find{kPageable, kSets, kFailed, kWhole};
    for (const fs::path& path : recorded_exports()) {
        const Export e(path);
        std::vector<Recipe> recipes = recipes_of_the_page();
        for (const Recipe& r : std::vector<Recipe>(recipes.begin() + 1, recipes.end())) {
            CAPTURE(path.string());
            CAPTURE(r.question);
            CHECK(r.question.back() == '?');
            const bool may_be_empty = std::count(nothing_to_find.begin(), nothing_to_find.end(), r.question);
            CHECK((may_be_empty || e.ask(r).size() > 0));
        }
    }
    CHECK(Export(recorded("pageable_async.starter")).ask(kPageable).size() == 16);
    CHECK(Export(sample("fixed")).ask(kWhole).size() == 3);
}

TEST_CASE("nsys page: what is missing in an export is among what the page makes") {
    const std::string made = recipes_of_the_page().front().sql;
    const fs::path path = recorded("fixed");
    const Database untouched = Database::open_untrusted(path);
    int missing = 0;
    for (const Recipe& r : recipes_of_the_page()) {
        if (r.sql == made) continue;
        CAPTURE(r.question);
        try {
            (void)Answer(untouched.prepare(r.sql));
        } catch (const Error& error) {
            const std::string said = error.what();
            const std::size_t at = said.find("no such table: ");
            REQUIRE_MESSAGE(at != std::string::npos, said);
            const std::string table = said.substr(
                at + 15, said.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", at + 15) - at - 15);
            CHECK_MESSAGE(made.find("EXISTS " + table + " (") != std::string::npos, said);
            ++missing;
        }
    }
    CHECK(missing > 0);  // this export has no memory sets
}

TEST_CASE("nsys page: no question compares an enumeration with a number") {
    for (const Recipe& r : recipes_of_the_page())
        for (const char* column : {"copyKind", "srcKind", "dstKind", "memKind", "eventType", "severity"})
            for (const char* with : {" = ", " == ", " IN (", " <> "})
                for (char digit = '0'; digit <= '9'; ++digit)
                    CHECK(r.sql.find(column + std::string(with) + digit) == std::string::npos);
}

TEST_CASE("nsys page: busy share") {
    on_all_exports([](const Export& e) {
        const Answer answer = e.ask("What share of the time is the GPU busy?");
        const std::size_t row = e.row_of_gpu(answer);
        for (const auto& [column, name] :
             {std::pair("busy_share", "gpu_busy_share"), std::pair("busy_ms", "gpu_busy_ms"),
              std::pair("span_ms", "span_ms")})
            check_same(answer.number(row, column), metric(e.analysis(), name));
    });
}

TEST_CASE("nsys page: hidden copies and concurrent kernels") {
    on_all_exports([](const Export& e) {
        const Answer hidden = e.ask("How much of the copies is hidden behind kernels?");
        const std::size_t row = e.row_of_gpu(hidden);
        check_same(hidden.number(row, "up_hidden_share"), metric(e.analysis(), "h2d_hidden_share"));
        check_same(hidden.number(row, "down_hidden_share"), metric(e.analysis(), "d2h_hidden_share"));
        check_same(hidden.number(row, "up_ms").value_or(0), e.analysis().h2d_ns / 1e6);
        check_same(hidden.number(row, "down_ms").value_or(0), e.analysis().d2h_ns / 1e6);

        const Answer together = e.ask("Do kernels run at the same time?");
        const std::size_t gpu = e.row_of_gpu(together);
        check_same(together.number(gpu, "concurrent_share"), metric(e.analysis(), "kernel_concurrency"));
        check_same(together.number(gpu, "kernel_ms"), metric(e.analysis(), "compute_ms"));
    });
}

TEST_CASE("nsys page: kernels by total time") {
    on_all_exports([](const Export& e) {
        if (e.analysis().devices.size() > 1)
            return;  // the question is about all GPUs, the analysis about one
        const Answer answer = e.ask("Which kernels take the time?");
        std::map<std::string, KernelUse> use;
        for (const KernelUse& k : e.analysis().kernels) use[k.name] = k;
        REQUIRE(answer.size() == use.size());
        for (std::size_t row = 0; row < answer.size(); ++row) {
            const KernelUse& expected = use[answer.text(row, "kernel")];
            check_same(answer.number(row, "launches"), static_cast<double>(expected.count));
            check_same(answer.number(row, "total_ms"), expected.total_ns / 1e6);
            check_same(answer.number(row, "min_us"), expected.min_ns / 1e3);
            check_same(answer.number(row, "max_us"), expected.max_ns / 1e3);
        }
    });
}

TEST_CASE("nsys page: copies by direction and kind") {
    on_all_exports([](const Export& e) {
        const Answer answer = e.ask("How fast are the copies, by direction and kind of memory?");
        double copies = 0, bytes = 0, ns = 0;
        for (const Copy& c : e.trace().copies)
            if (c.direction != Direction::set) ++copies, bytes += c.bytes, ns += c.end_ns - c.start_ns;
        check_same(answer.sum("copies"), copies);
        check_same(answer.sum("MB"), bytes / 1e6);
        check_same(answer.sum("ms"), ns / 1e6);
    });
    const Export pinned(recorded("fixed"));
    const Answer answer = pinned.ask("How fast are the copies, by direction and kind of memory?");
    REQUIRE(answer.size() == pinned.analysis().copies.size());
    for (std::size_t row = 0; row < answer.size(); ++row) {  // both by bytes, falling
        const CopyUse& expected = pinned.analysis().copies[row];
        CHECK(answer.text(row, "direction") ==
              (expected.direction == Direction::host_to_device ? "Host-to-Device" : "Device-to-Host"));
        CHECK(answer.text(row, "from_kind") == (expected.from == "pinned" ? "Pinned" : "Device"));
        check_same(answer.number(row, "GB_per_s"), static_cast<double>(expected.bytes) / expected.ns);
    }
}

TEST_CASE("nsys page: pageable asynchronous copies") {
    on_all_exports([](const Export& e) {
        const Answer answer = e.ask(kPageable);
        check_same(static_cast<double>(answer.size()),
                   count(e.database(),
                         "SELECT COUNT(*) FROM copies c JOIN api_calls a ON a.process = c.process AND "
                         "a.correlation = c.correlation WHERE a.name LIKE '%Async%' AND 'pageable' IN "
                         "(from_kind, to_kind)"));
    });
    CHECK(Export(recorded("pageable_async.solution")).ask(kPageable).size() == 0);
}

TEST_CASE("nsys page: two processes whose calls have the same numbers are kept apart") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "export.sqlite";
    {
        Made made(path);
        for (const int64_t process : {1, 2}) {
            made.launch(10 * process, {100 * process, 100 * process + 5, 1, 7, 0, process});
            made.add(Made::CallRow{20 * process, 20 * process + 9, 2, "cudaMemcpyAsync_v3020", process});
            made.add(Made::CopyRow{200 * process, 200 * process + 9, 2, "HTOD", "PAGEABLE", "DEVICE", 7, 0,
                                   process});
            made.add(Made::RangeRow{0, 50, "solve", process});
        }
    }
    const Export e(path);
    CHECK(e.ask(kPageable).size() == 2);
    CHECK(e.ask("How long does a kernel wait after it was launched?").number(0, "launches") == 2);
    CHECK(e.ask("Which kernels are shorter than their launch?").number(0, "launches") == 2);
    CHECK(e.ask("How many kernels does each NVTX range launch?").number(0, "kernels") == 2);
    const Answer projected = e.ask("What does each NVTX range take on the GPU?");
    CHECK(projected.number(0, "operations") == 2);
    CHECK(projected.number(1, "operations") == 2);
}

TEST_CASE("nsys page: calls by total time, and calls that failed") {
    on_all_exports([](const Export& e) {
        const Answer calls = e.ask("Which CUDA calls take the host's time?");
        const Answer failed = e.ask(kFailed);
        std::map<std::string, ApiUse> found;
        for (std::size_t row = 0; row < calls.size(); ++row) {
            ApiUse& use = found[bare(calls.text(row, "call"))];
            use.count += static_cast<int64_t>(*calls.number(row, "calls"));
            use.total_ns += std::llround(*calls.number(row, "total_ms") * 1e6);
            use.max_ns = std::max<int64_t>(use.max_ns, std::llround(*calls.number(row, "max_us") * 1e3));
        }
        for (std::size_t row = 0; row < failed.size(); ++row)
            found[bare(failed.text(row, "call"))].failed +=
                static_cast<int64_t>(*failed.number(row, "times"));
        REQUIRE(found.size() == e.analysis().api.size());
        for (const ApiUse& expected : e.analysis().api) {
            const ApiUse& use = found[expected.name];
            CHECK(use.count == expected.count);
            CHECK(use.failed == expected.failed);
            CHECK(use.total_ns == expected.total_ns);
            CHECK(use.max_ns == expected.max_ns);
        }
    });
}

TEST_CASE("nsys page: launch latency and launch cost") {
    on_all_exports([](const Export& e) {
        struct Use {
            double launches = 0, waited = 0, shorter = 0, wait_ns = 0, max_ns = 0;
        };
        std::map<std::string, Use> expected;
        for (const Kernel& k : e.trace().kernels) {
            const ApiCall* call = call_of(e.trace(), k.process, k.correlation);
            if (!call) continue;
            Use& use = expected[e.trace().name_of(k.name)];
            const double wait = static_cast<double>(k.start_ns - call->end_ns);
            ++use.launches;
            use.shorter += k.end_ns - k.start_ns < call->end_ns - call->start_ns;
            if (wait > 0) ++use.waited, use.wait_ns += wait, use.max_ns = std::max(use.max_ns, wait);
        }
        const Answer waits = e.ask("How long does a kernel wait after it was launched?");
        const Answer shorter = e.ask("Which kernels are shorter than their launch?");
        REQUIRE(waits.size() == expected.size());
        REQUIRE(shorter.size() == expected.size());
        for (std::size_t row = 0; row < waits.size(); ++row) {
            const Use& use = expected[waits.text(row, "kernel")];
            check_same(waits.number(row, "launches"), use.launches);
            check_same(waits.number(row, "waited"), use.waited);
            check_same(waits.number(row, "avg_wait_us").value_or(0) * use.waited, use.wait_ns / 1e3);
            check_same(waits.number(row, "max_wait_us").value_or(0), use.max_ns / 1e3);
            check_same(shorter.number(row, "shorter"), expected[shorter.text(row, "kernel")].shorter);
        }
    });
}

TEST_CASE("nsys page: time that the host waits") {
    on_all_exports([](const Export& e) {
        const Answer answer = e.ask("How long does the host wait for the GPU?");
        check_same(answer.sum("waits"), count(e.database(), "SELECT COUNT(*) FROM syncs"));
        check_same(answer.sum("total_ms"),
                   count(e.database(), "SELECT COALESCE(SUM(duration), 0) / 1e6 FROM syncs"));
    });
}

TEST_CASE("nsys page: streams") {
    on_all_exports([](const Export& e) {
        const Answer answer = e.ask("Which streams carry work?");
        std::size_t row = e.row_of_gpu(answer);
        for (const StreamUse& expected : e.analysis().streams) {
            check_same(answer.number(row, "device"), static_cast<double>(e.analysis().device));
            check_same(answer.number(row, "stream"), static_cast<double>(expected.stream));
            check_same(answer.number(row, "kernels"), static_cast<double>(expected.kernels));
            check_same(answer.number(row, "copies"), static_cast<double>(expected.copies));
            ++row;
        }
        const bool next_gpu =
            row == answer.size() || answer.number(row, "device") != static_cast<double>(e.analysis().device);
        CHECK(next_gpu);
    });
    const Export e(recorded("fixed"));
    const Answer answer = e.ask("Which streams carry work?");
    double kernel_ns = 0;  // in a recorded stream work does not overlap, so sums are times on the clock
    for (const StreamUse& stream : e.analysis().streams) kernel_ns += static_cast<double>(stream.kernel_ns);
    check_same(answer.sum("kernel_ms"), kernel_ns / 1e6);
}

TEST_CASE("nsys page: idle gaps, and whose fault they are") {
    Recipe any = recipe(kGaps);
    const std::size_t at = any.sql.find("> 10000 ");
    REQUIRE(at != std::string::npos);
    any.sql.replace(at, 8, "> 0 ");
    on_all_exports([&](const Export& e) {
        const Answer gaps = e.ask(any);
        double idle_us = 0, host_wait_us = 0, long_ones = 0;
        for (std::size_t row = 0; row < gaps.size(); ++row) {
            long_ones += *gaps.number(row, "idle_us") > 10;
            if (gaps.number(row, "device") != static_cast<double>(e.analysis().device)) continue;
            idle_us += *gaps.number(row, "idle_us");
            if (gaps.number(row, "launched_late_us").value_or(0) > 0)
                host_wait_us += *gaps.number(row, "idle_us");
            CHECK(gaps.text(row, "before") != "none");
            CHECK(gaps.text(row, "after") != "none");
        }
        check_same(idle_us, e.analysis().gpu_idle_ns / 1e3);
        check_same(host_wait_us, e.analysis().idle.host_wait_ns / 1e3);
        check_same(static_cast<double>(e.ask(kGaps).size()), long_ones);
    });
}

TEST_CASE("nsys page: launches in a range, and its projection on the GPU") {
    on_all_exports([](const Export& e) {
        const Answer kernels = e.ask("How many kernels does each NVTX range launch?");
        for (std::size_t row = 0; row < kernels.size(); ++row) {
            const std::string range = kernels.text(row, "range");
            // A launch in two ranges of one name counts in each.
            check_same(
                kernels.number(row, "kernels"),
                count(
                    e.database(),
                    fmt::format("SELECT COUNT(*) FROM ranges r JOIN api_calls a ON a.process = r.process AND "
                                "(r.crosses_threads OR a.thread = r.thread) AND a.start >= r.start AND "
                                "a.start < r.end JOIN kernels k ON k.process = a.process AND k.correlation = "
                                "a.correlation WHERE r.name = '{}'",
                                range)));
        }
        const Answer projected = e.ask("What does each NVTX range take on the GPU?");
        Statement view = e.database().prepare(
            "SELECT name, gpu_start / 1e6, gpu_end / 1e6, duration / 1e6 FROM ranges ORDER BY start, id");
        std::size_t row = 0;
        for (; view.next(); ++row) {
            CHECK(projected.text(row, "range") == view.text(0));
            check_same(projected.number(row, "host_ms"), view.number(3));
            const bool has_work = !view.is_null(1);
            CHECK((*projected.number(row, "operations") > 0) == has_work);
            check_same(projected.number(row, "gpu_start_ms"),
                       has_work ? std::optional(view.number(1)) : std::nullopt);
            check_same(projected.number(row, "gpu_end_ms"),
                       has_work ? std::optional(view.number(2)) : std::nullopt);
        }
        CHECK(row == projected.size());
    });
    const Export fixed(recorded("fixed"));
    narrow_views(fixed.database(), "normalise");
    const Answer answer = fixed.ask("How many kernels does each NVTX range launch?");
    CHECK(answer.text(0, "range") == "normalise");
    check_same(answer.number(0, "kernels"), count(fixed.database(), "SELECT COUNT(*) FROM kernels"));
}

TEST_CASE("nsys page: memory sets, failed calls and registered strings, which no recording here has") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "export.sqlite";
    for (const int64_t shift : {0, 7}) {
        {
            Made made(path, shift);
            made.launch(0, {10, 20, 1});
            made.add(Made::SetRow{30, 40, 2, 7, 0, 1, 1000, 0});
            made.add(Made::SetRow{50, 60, 3, 7, 0, 1, 3000, 0});
            made.add(Made::SetRow{70, 80, 4, 7, 0, 1, 500, 255});
            made.add(Made::CallRow{100, 101, 5, "cudaLaunchKernel_v7000", 1, 1, 9});
            made.add(Made::RangeRow{0, 5, "solve", 1, 1, 3, false, true});
            made.add(Made::RangeRow{5, 9, "solve", 1, 1, 3, false, true});
            made.add(Made::RangeRow{0, 9, "step", 1, 1, 0, true});
            made.add_mark(4, "no range");
        }
        const Export e(path);
        const Answer sets = e.ask(kSets);
        REQUIRE(sets.size() == 2);
        CHECK(sets.number(0, "sets") == 2);
        check_same(sets.number(0, "GB_per_s"), 4000.0 / 20);
        CHECK(sets.number(1, "value") == 255);

        const Answer failed = e.ask(kFailed);
        REQUIRE(failed.size() == 1);
        CHECK(failed.text(0, "call") == "cudaLaunchKernel_v7000");
        CHECK(failed.number(0, "error") == 9);

        const Answer names = e.ask(kRegistered);
        REQUIRE(names.size() == 2);
        CHECK(names.text(0, "name") == "solve");
        CHECK(names.number(0, "registered") == 2);
        CHECK(names.number(0, "plain") == 0);
        CHECK(names.text(1, "name") == "step");
        CHECK(names.number(1, "plain") == 1);
        fs::remove(path);
    }
}
