// SQL over the views and the analysis are two ways to the same rows: on every recording of the course, and in
// every NVTX range of it, they count the same work and the same time.
#include <doctest/doctest.h>

#include <set>

#include "core/files.h"
#include "evidence/analysis.h"
#include "evidence/kernel_names.h"
#include "hand_made_export.h"

namespace lab::one_engine_test {

namespace {

/// The recordings of all chapters, and the samples, with a trace of nsys.
std::vector<fs::path> recordings() {
    std::vector<fs::path> files;
    for (const auto& chapter : fs::directory_iterator(LAB_SOURCE_FOLDER)) {
        if (!chapter.path().filename().string().starts_with("ch")) continue;
        for (const auto& entry : fs::recursive_directory_iterator(chapter))
            if (entry.path().extension() == ".sqlite") files.push_back(entry.path());
    }
    for (const auto& entry : fs::directory_iterator(LAB_SAMPLES))
        if (entry.path().extension() == ".sqlite") files.push_back(entry.path());
    return files;
}

struct Counts {
    int64_t kernels = 0, copies = 0, sets = 0, api_calls = 0, kernel_ns = 0, busy_ns = 0, span_ns = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
};

std::ostream& operator<<(std::ostream& out, const Counts& c) {
    return out << fmt::format("{} kernels {} copies {} sets {} calls {} ns in kernels {} ns busy {} ns span",
                              c.kernels, c.copies, c.sets, c.api_calls, c.kernel_ns, c.busy_ns, c.span_ns);
}

Counts by_analysis(const Analysis& a) {
    Counts counts{.busy_ns = a.gpu_busy_ns, .span_ns = a.span_ns};
    for (const KernelUse& k : a.kernels) counts.kernels += k.count, counts.kernel_ns += k.total_ns;
    for (const CopyUse& c : a.copies)
        (c.direction == Direction::set ? counts.sets : counts.copies) += c.count;
    for (const ApiUse& call : a.api) counts.api_calls += call.count;
    return counts;
}

Intervals intervals(const Database& database, const std::string& sql) {
    Intervals found;
    for (Statement row = database.prepare(sql); row.next();)
        found.push_back({row.integer(0), row.integer(1)});
    return merge(std::move(found));
}

/// The views are narrowed to the range.
Counts by_sql(const Database& database, const std::optional<std::string>& range, int64_t device) {
    const std::string on_gpu = fmt::format(" WHERE device = {}", device);
    const auto number = [&](const std::string& sql) { return std::stoll(answer(database, sql)); };
    const std::string kernels =
        "SELECT start, end FROM kernels" + on_gpu + " UNION ALL SELECT start, end FROM graph_runs" + on_gpu;
    const Intervals busy = intervals(database, kernels + " UNION ALL SELECT start, end FROM copies" + on_gpu +
                                                   " UNION ALL SELECT start, end FROM sets" + on_gpu);
    Counts counts;
    counts.kernels = number("SELECT COUNT(*) FROM (" + kernels + ")");
    counts.copies = number("SELECT COUNT(*) FROM copies" + on_gpu);
    counts.sets = number("SELECT COUNT(*) FROM sets" + on_gpu);
    counts.api_calls = number("SELECT COUNT(*) FROM api_calls");
    counts.kernel_ns = number("SELECT COALESCE(SUM(end - start), 0) FROM (" + kernels + ")");
    counts.busy_ns = total(busy);
    if (!range)
        counts.span_ns = busy.empty() ? 0 : busy.back().end - busy.front().begin;
    else
        counts.span_ns = total(intervals(
            database, fmt::format("SELECT gpu_start, gpu_end FROM ranges WHERE name = '{}'", *range)));
    return counts;
}

using Lines = std::set<std::string>;

/// The tables of `lab analyze`, a line each row.
Lines tables_of(const Analysis& a) {
    Lines lines;
    for (const StreamUse& s : a.streams)
        lines.insert(fmt::format("stream {} {} {}", s.stream, s.kernels, s.copies));
    for (const KernelUse& k : a.kernels) {
        lines.insert(fmt::format("{} {} {} {} {}", k.full_name, k.count, k.total_ns, k.min_ns, k.max_ns));
        for (const LaunchUse& l : k.sizes)
            lines.insert(
                fmt::format("{} {},{} {}", k.full_name, l.size.grid[0], l.size.block[0], l.times.total_ns));
    }
    for (const CopyUse& c : a.copies)
        lines.insert(
            fmt::format("{} {}-{} {} {} {}", to_string(c.direction), c.from, c.to, c.count, c.bytes, c.ns));
    for (const ApiUse& c : a.api)
        lines.insert(fmt::format("{} {} {} {} {}", c.name, c.count, c.failed, c.total_ns, c.max_ns));
    return lines;
}

/// The same by SQL, of a capture with one GPU.
Lines tables_by_sql(const Database& database) {
    Lines lines;
    for (Statement row = database.prepare(R"(
WITH k AS (SELECT full_name AS name, stream, duration, grid_x, grid_y, grid_z, block_x, block_y, block_z FROM kernels
           UNION ALL SELECT 'CUDA graph as a whole', stream, duration, 0, 0, 0, 0, 0, 0 FROM graph_runs),
     c AS (SELECT direction, from_kind, to_kind, bytes, duration, stream FROM copies
           UNION ALL SELECT 'memset', '', to_kind, bytes, duration, stream FROM sets)
SELECT printf('stream %d %d %d', stream, SUM(k), SUM(1 - k))
FROM (SELECT stream, 1 AS k FROM k UNION ALL SELECT stream, 0 FROM c) GROUP BY stream
UNION ALL SELECT printf('%s %d %d %d %d', name, COUNT(*), SUM(duration), MIN(duration), MAX(duration))
FROM k GROUP BY name
UNION ALL SELECT printf('%s %d,%d %d', name, grid_x, block_x, SUM(duration)) FROM k WHERE grid_x > 0
GROUP BY name, grid_x, grid_y, grid_z, block_x, block_y, block_z
UNION ALL SELECT printf('%s %s-%s %d %d %d', direction, from_kind, to_kind, COUNT(*), SUM(bytes), SUM(duration))
FROM c GROUP BY direction, from_kind, to_kind
UNION ALL SELECT printf('%s %d %d %d %d', name, COUNT(*), SUM(result <> 0), SUM(duration), MAX(duration))
FROM api_calls GROUP BY name)");
         row.next();)
        lines.insert(row.text(0));
    return lines;
}

}  // namespace

TEST_CASE("one engine: SQL and the analysis agree on every recording, and in every range of it" *
          doctest::test_suite("whole course")) {
    int compared = 0, ranges_with_work = 0;
    for (const fs::path& file : recordings()) {
        const Database database = Database::open_untrusted(file);
        if (!database.has_table("CUPTI_ACTIVITY_KIND_RUNTIME")) continue;  // nsys did not trace the program
        ++compared;
        const Capture capture(database);
        for (Statement kernel = database.prepare("SELECT DISTINCT full_name, name FROM kernels");
             kernel.next();)
            CHECK(short_kernel_name(kernel.text(0)) == kernel.text(1));
        std::set<std::optional<std::string>> ranges{std::nullopt};
        for (const Range& range : capture.trace().ranges) ranges.insert(range.name);
        for (const std::optional<std::string>& range : ranges) {
            INFO(file.string(), " ", range.value_or("(the whole capture)"));
            const Analysis analysis = analyse(capture.trace(), range);
            const Capture::Narrowed narrowed(capture, range);
            Counts counts = by_sql(database, range, analysis.device);
            // A range begins on the GPU with the first work of any device, and the analysis is of one.
            if (range && analysis.devices.size() > 1) counts.span_ns = by_analysis(analysis).span_ns;
            CHECK(counts == by_analysis(analysis));
            if (analysis.devices.size() < 2) CHECK(tables_by_sql(database) == tables_of(analysis));
            ranges_with_work += range && counts.busy_ns > 0;
        }
    }
    CHECK(compared >= 190);
    CHECK(ranges_with_work >= 200);
}

TEST_CASE("one engine: kernels of a conditional graph's body belong to the launch of their graph") {
    const Database database = Database::open_untrusted(
        fs::path(LAB_SOURCE_FOLDER) /
        "ch06_graphs/exercises/4_toy_writer/evidence/h100-80gb-hbm3/solution.sqlite");
    const Capture capture(database);
    const Capture::Narrowed narrowed(capture, "write");
    CHECK(answer(database, "SELECT COUNT(*) FROM kernels") == "925");  // 5 of a step, 185 steps
    CHECK(by_analysis(analyse(capture.trace(), "write")).kernels == 925);
    CHECK(answer(database, "SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE correlationId = 0") != "0");
    CHECK(capture.trace().kernels_of_unknown_launch == 0);
}

}  // namespace lab::one_engine_test
