// lab compare A B: what changed between two recordings of anybody's program.
#include "evidence/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "draw/rows.h"
#include "evidence/evidence.h"
#include "evidence/schema.h"
#include "lab/analysis_json.h"
#include "lab/command.h"
#include "lab/report_file.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kComparedRows = 12;  ///< of a table

/// A number of A and of B.
using Both = std::array<int64_t, 2>;

/// What is printed of one recording; its trace has been let go.
struct ComparedReport {
    std::string file, label;  ///< the source label, "" of a report that is not the course's
    std::string gpu;          ///< "" if it is not known
    std::vector<std::string> problems;
    std::string slower_graphs;
    Provenance made;           ///< what made it: GPU, versions, program; "" is not known
    int64_t ranges_named = 0;  ///< with --range: how many there are
    bool knows_calls = false;  ///< of CUDA; without one, nothing tells why the GPU was idle
    Recorded numbers;
};

/// The two that are compared.
using Reports = std::array<ComparedReport, 2>;

const char* side_name(std::size_t side) {
    return side == 0 ? "A" : "B";
}

/// What can be told of the circumstances of a recording.
Provenance circumstances_of(const ReportFile& report, const std::string& gpu) {
    if (report.kineto) return {{"format", "the JSON of torch.profiler"}, {"GPU", gpu}};
    const Evidence& evidence = *report.evidence;
    const Database& database = evidence.database();
    Provenance made{{"format", "an export of nsys"}, {"GPU", gpu}};
    if (database.has_table("META_DATA_EXPORT"))
        for (Statement row = database.prepare(
                 "SELECT value FROM main.META_DATA_EXPORT WHERE name = 'EXPORT_PRODUCT_VERSION'");
             row.next();)
            made["nsys of the export"] = row.text(0);
    for (const auto& [key, name] :
         {std::pair{"driver", "driver"}, {"cuda", "CUDA"}, {"nsys", "nsys"}, {"program", "program"}}) {
        const std::string value = value_of(evidence.provenance(), key);
        if (!value.empty()) made[name] = value;
    }
    const std::string command = value_of(evidence.provenance(), "command");
    if (!command.empty()) made["options"] = trim(command.substr(std::min(command.find(' '), command.size())));
    if (!command.empty() && made["options"].empty()) made["options"] = "none";
    return made;
}

ComparedReport read_report(std::size_t side, const std::string& file, const std::optional<std::string>& range,
                           const std::optional<int64_t>& device) {
    const ReportFile report = open_report(file, true);
    const Trace& trace = report.trace();
    if (range && !has_range(trace, *range))
        throw Error(fmt::format("{}, {}: {}", side_name(side), file, no_such_range(trace, *range)));
    ComparedReport read;
    read.file = file, read.label = report.label;
    if (report.evidence) read.problems = capture_problems(report.evidence->database());
    try {
        read.numbers = {analyse(trace, range, device), range_use(trace, range)};
    } catch (const Error& error) {
        throw Error(fmt::format("{}, {}: {}", side_name(side), file, error.what()));
    }
    for (const Range& r : trace.ranges) read.ranges_named += range && r.name == *range;
    read.slower_graphs = slower_graphs(trace);
    read.knows_calls = !trace.api_calls.empty();
    read.gpu = trace.name_of_gpu(read.numbers.analysis.device);
    read.made = circumstances_of(report, read.gpu);
    return read;
}

bool both_know_calls(const Reports& reports) {
    return reports[0].knows_calls && reports[1].knows_calls;
}

/// What both say, and say differently.
std::vector<std::string> differing_circumstances(const Reports& reports) {
    std::vector<std::string> names;
    for (const auto& [name, value] : reports[0].made) {
        const std::string other = value_of(reports[1].made, name);
        if (!value.empty() && !other.empty() && value != other) names.push_back(name);
    }
    return names;
}

std::string in_time(int64_t ns) {
    return format_ns(ns);
}

/// "-1.2 ms", "+3 µs", "0 ns"
std::string change_in_time(int64_t ns) {
    return (ns < 0 ? "-" : ns > 0 ? "+" : "") + in_time(std::abs(ns));
}

std::string quotient(const Both& both) {
    return both[0] == 0 ? "n/a"
                        : format_number(static_cast<double>(both[1]) / static_cast<double>(both[0]), 3);
}

Both both_of(const Reports& reports, int64_t Analysis::*number) {
    return {reports[0].numbers.analysis.*number, reports[1].numbers.analysis.*number};
}

Both both_of(const Reports& reports, int64_t IdleByCause::*number) {
    return {reports[0].numbers.analysis.idle.*number, reports[1].numbers.analysis.idle.*number};
}

/// Communication that no kernel hides.
Both exposed_of(const Reports& reports) {
    return {reports[0].numbers.analysis.exposed_ns(), reports[1].numbers.analysis.exposed_ns()};
}

Both streams_of(const Reports& reports) {
    return {std::ssize(reports[0].numbers.analysis.streams), std::ssize(reports[1].numbers.analysis.streams)};
}

int64_t change_of(const Both& both) {
    return both[1] - both[0];
}

/// "1.2 ms more" of B, or "1.2 ms less"
std::string more_or_less(int64_t ns) {
    return fmt::format("{} {}", in_time(std::abs(ns)), ns < 0 ? "less" : "more");
}

void print_reports_compared(const Reports& reports, const Comparison& comparison,
                            const std::optional<std::string>& range, const std::optional<int64_t>& device) {
    for (std::size_t side : {0, 1}) {
        const ComparedReport& report = reports[side];
        const Analysis& a = report.numbers.analysis;
        fmt::print("{}  {}{}\n", side_name(side), bold(printable(report.file)),
                   range ? fmt::format(", range '{}'", printable(*range)) : "");
        const std::string source = report.label.empty() ? printable(report.gpu) : report.label;
        if (!source.empty()) fmt::print("   {}\n", paragraph(source, 3));
        if (a.devices.size() > 1)
            fmt::print("   {}\n",
                       paragraph(fmt::format("{} GPUs did work; this is about GPU {}{}", a.devices.size(),
                                             a.device, device ? "" : ", which computes longest"),
                                 3));
        for (const std::string& problem : report.problems)
            fmt::print("   {}\n", paragraph(yellow("this capture may not be whole: " + problem), 3));
        if (!report.slower_graphs.empty()) fmt::print("   {}\n", paragraph(yellow(report.slower_graphs), 3));
    }
    for (const std::string& name : differing_circumstances(reports)) {
        const auto value = [&](std::size_t side) {
            return shorten(printable(value_of(reports[side].made, name)), 100);
        };
        const std::string line = fmt::format("{}: A has {}, B has {}", name, value(0), value(1));
        fmt::print("{}\n", paragraph(name == "program" || name == "options" ? line : yellow(line)));
    }
    if (comparison.has_no_common_kernel())
        fmt::print("{}\n", paragraph(yellow("no kernel is in both: are these recordings of one program?")));
    if (reports[0].ranges_named != reports[1].ranges_named)
        fmt::print("{}\n", paragraph(yellow(fmt::format(
                               "A has {} of these ranges and B has {}: times are sums over all of them",
                               reports[0].ranges_named, reports[1].ranges_named))));
    fmt::print("\n");
}

/// The difference of the spans, and those that add up to it, largest first.
void print_summary(const Reports& reports) {
    const Both span = both_of(reports, &Analysis::span_ns);
    if (span == Both{}) {
        fmt::print("Neither recording has GPU work.\n\n");
        return;
    }
    const auto both_times = [](const Both& both) {
        return unbroken(fmt::format("{} → {}", in_time(both[0]), in_time(both[1])));
    };
    std::vector<std::string> lines;
    if (change_of(span) == 0)
        lines.push_back(fmt::format("The GPU work spans {} in both.", in_time(span[0])));
    else
        lines.push_back(fmt::format("The GPU work of B spans {} than that of A: {}, and B / A is {}.",
                                    more_or_less(change_of(span)), both_times(span), quotient(span)));
    std::vector<std::pair<const char*, Both>> parts{
        {"A kernel runs", both_of(reports, &Analysis::compute_ns)},
        {"Only copies or memsets run", both_of(reports, &Analysis::copy_only_ns)},
        {"The GPU is idle", both_of(reports, &Analysis::gpu_idle_ns)}};
    if (exposed_of(reports) != Both{})
        parts.emplace_back("Communication goes on that no kernel hides", exposed_of(reports));
    std::stable_sort(parts.begin(), parts.end(), [](const auto& x, const auto& y) {
        return std::abs(change_of(x.second)) > std::abs(change_of(y.second));
    });
    for (const auto& [what, both] : parts) {
        const int64_t change = change_of(both);
        lines.push_back(change == 0
                            ? fmt::format("  {} for {} in both.", what, in_time(both[0]))
                            : fmt::format("  {} for {}: {}.", what, more_or_less(change), both_times(both)));
    }
    for (const std::string& line : lines) fmt::print("{}\n", paragraph(line, 4));
    fmt::print("These {} differences add up to {}.\n\n", parts.size() == 3 ? "three" : "four",
               change_in_time(change_of(span)));
}

void print_breakdown_compared(const Reports& reports) {
    Table table({"", "A", "B", "B - A", "B / A"},
                {Align::left, Align::right, Align::right, Align::right, Align::right});
    const auto row = [&](const std::string& what, const Both& both) {
        table.add(
            {what, in_time(both[0]), in_time(both[1]), change_in_time(change_of(both)), quotient(both)});
    };
    const auto row_if_any = [&](const std::string& what, const Both& both, const Both& of) {
        if (of != Both{}) row(what, both);
    };
    row("span, first GPU work to last", both_of(reports, &Analysis::span_ns));
    row("compute: a kernel runs", both_of(reports, &Analysis::compute_ns));
    const Both communication = both_of(reports, &Analysis::communication_ns);
    row_if_any("communication that no such kernel hides", exposed_of(reports), communication);
    row("memory only: a copy or a memset, no kernel", both_of(reports, &Analysis::copy_only_ns));
    row("idle: nothing runs", both_of(reports, &Analysis::gpu_idle_ns));
    if (both_know_calls(reports)) {
        row("  launch call began in the gap", both_of(reports, &IdleByCause::host_wait_ns));
        row(fmt::format("  launch call began before, under {} µs", kKernelWaitLimit_ns / 1000),
            both_of(reports, &IdleByCause::kernel_wait_ns));
        row("  other", both_of(reports, &IdleByCause::other_ns));
    }
    row_if_any("communication between GPUs", communication, communication);
    row_if_any("  of that hidden behind kernels", both_of(reports, &Analysis::communication_hidden_ns),
               communication);
    const Both h2d = both_of(reports, &Analysis::h2d_ns), d2h = both_of(reports, &Analysis::d2h_ns);
    row_if_any("H2D copies", h2d, h2d);
    row_if_any("  of that hidden behind kernels", both_of(reports, &Analysis::h2d_hidden_ns), h2d);
    row_if_any("D2H copies", d2h, d2h);
    row_if_any("  of that hidden behind kernels", both_of(reports, &Analysis::d2h_hidden_ns), d2h);
    const Both concurrent = both_of(reports, &Analysis::concurrent_ns);
    row_if_any("two or more kernels at once", concurrent, concurrent);
    const Both streams = streams_of(reports);
    table.add({"streams with GPU work", std::to_string(streams[0]), std::to_string(streams[1]),
               change_of(streams) == 0 ? "0" : fmt::format("{:+}", change_of(streams)), quotient(streams)});
    fmt::print("{}\n", table.text());
}

/// "" if both have it.
template <class Use>
std::string where_it_is(const Change<Use>& change) {
    return change.in_both() ? "" : change.rows[0] ? "only in A" : "only in B";
}

/// A number of A or of B as text; "" if that one has no such row.
template <class Use, class Base, class AsText>
std::string cell(const Change<Use>& change, std::size_t side, int64_t Base::*number, const AsText& as_text) {
    return change.rows[side] ? as_text(change.rows[side]->*number) : "";
}

std::string as_number(int64_t number) {
    return std::to_string(number);
}

/// Prints the first rows as a table: a name, numbers, and what is special, which is where the row is if
/// `cells_of` does not say.
template <class Row, class Cells>
void print_changes(std::vector<std::string> header, const std::vector<Row>& rows, const Cells& cells_of) {
    if (rows.empty()) return;
    std::vector<Align> align(header.size(), Align::right);
    align.front() = Align::left;
    header.emplace_back();
    align.push_back(Align::left);
    const std::size_t columns = header.size();
    Table table(std::move(header), std::move(align));
    for (std::size_t i = 0; i < std::min(rows.size(), kComparedRows); ++i) {
        std::vector<std::string> cells = cells_of(rows[i]);
        if (cells.size() < columns) cells.push_back(where_it_is(rows[i]));
        table.add(std::move(cells));
    }
    fmt::print("{}", table.text());
    if (rows.size() > kComparedRows)
        fmt::print("  ... and {} more; --json shows all\n", rows.size() - kComparedRows);
    fmt::print("\n");
}

const char* words_for(KernelMatch match) {
    switch (match) {
        case KernelMatch::none:
            return "";
        case KernelMatch::full_name:
            return "full name";
        case KernelMatch::short_name:
            return "short name";
        case KernelMatch::short_name_and_size:
            return "short name and launch size";
    }
    return "";
}

/// "sum<256> → sum<512>" if it has another full name in B
std::string name_in_table(const KernelChange& k) {
    constexpr std::size_t kWidth = 48;
    const std::string name = shorten_middle(printable(k.name), kWidth);
    return k.new_name.empty() ? name : name + " → " + shorten_middle(printable(k.new_name), kWidth);
}

/// "only in A", "by short name, other launch sizes", or ""
std::string special_of(const KernelChange& k) {
    if (!k.in_both()) return where_it_is(k);
    std::vector<std::string> parts;
    if (k.match != KernelMatch::full_name) parts.push_back(fmt::format("by {}", words_for(k.match)));
    if (launch_sizes(*k.rows[0]) != launch_sizes(*k.rows[1])) parts.emplace_back("other launch sizes");
    return join(parts, ", ");
}

void print_kernels_compared(const Comparison& comparison) {
    print_changes({"kernel", "launches: A", "B", "total: A", "B", "B - A", "median: A", "B"},
                  comparison.kernels, [](const KernelChange& k) -> std::vector<std::string> {
                      return {name_in_table(k),
                              cell(k, 0, &KernelUse::count, as_number),
                              cell(k, 1, &KernelUse::count, as_number),
                              cell(k, 0, &KernelUse::total_ns, in_time),
                              cell(k, 1, &KernelUse::total_ns, in_time),
                              change_in_time(k.difference(&KernelUse::total_ns)),
                              cell(k, 0, &KernelUse::median_ns, in_time),
                              cell(k, 1, &KernelUse::median_ns, in_time),
                              special_of(k)};
                  });
    std::size_t changed = 0;
    for (const KernelChange& k : comparison.kernels)
        changed += k.match == KernelMatch::short_name || k.match == KernelMatch::short_name_and_size;
    if (changed > 0)
        fmt::print("{}\n\n",
                   paragraph(fmt::format("{} {} by short name: {} full names differ, in template arguments, "
                                         "parameters or namespaces",
                                         changed, changed == 1 ? "kernel is matched" : "kernels are matched",
                                         changed == 1 ? "its" : "their")));
    if (comparison.ambiguous.empty()) return;
    std::vector<std::string> names;
    for (const std::string& name : comparison.ambiguous)
        if (names.size() < kComparedRows) names.push_back(shorten(printable(name), 48));
    if (names.size() < comparison.ambiguous.size()) names.emplace_back("...");
    fmt::print("{}\n\n", paragraph(yellow(fmt::format(
                             "not matched, since launch sizes do not tell which of them are the same: "
                             "kernels called {}",
                             join(names, ", ")))));
}

/// "H2D, pinned to device"
std::string words_for(const CopyUse& copies) {
    constexpr const char* kDirections[]{"H2D", "D2H", "D2D", "H2H", "memset", "other"};
    const char* const direction =
        copies.between_gpus ? "GPU to GPU" : kDirections[static_cast<std::size_t>(copies.direction)];
    if (copies.from.empty()) return fmt::format("{}, {}", direction, printable(copies.to));
    return fmt::format("{}, {} to {}", direction, printable(copies.from), printable(copies.to));
}

void print_copies_compared(const Comparison& comparison) {
    print_changes({"copies, memsets", "count: A", "B", "data: A", "B", "time: A", "B", "B - A"},
                  comparison.copies, [](const Change<CopyUse>& c) -> std::vector<std::string> {
                      const auto as_bytes = [](int64_t n) { return format_bytes(static_cast<double>(n)); };
                      return {words_for(c.any()),
                              cell(c, 0, &CopyUse::count, as_number),
                              cell(c, 1, &CopyUse::count, as_number),
                              cell(c, 0, &CopyUse::bytes, as_bytes),
                              cell(c, 1, &CopyUse::bytes, as_bytes),
                              cell(c, 0, &CopyUse::ns, in_time),
                              cell(c, 1, &CopyUse::ns, in_time),
                              change_in_time(c.difference(&CopyUse::ns))};
                  });
}

void print_ranges_compared(const Comparison& comparison) {
    print_changes({"NVTX range", "count: A", "B", "GPU: A", "B", "B - A", "host: B - A"}, comparison.ranges,
                  [](const Change<RangeUse>& r) -> std::vector<std::string> {
                      const RangeUse& use = r.any();
                      const std::string domain = use.domain.empty() ? "" : use.domain + ": ";
                      return {shorten(printable(domain + use.name), 48),
                              cell(r, 0, &RangeUse::count, as_number),
                              cell(r, 1, &RangeUse::count, as_number),
                              cell(r, 0, &RangeUse::gpu_ns, in_time),
                              cell(r, 1, &RangeUse::gpu_ns, in_time),
                              change_in_time(r.difference(&RangeUse::gpu_ns)),
                              change_in_time(r.difference(&RangeUse::host_ns))};
                  });
}

void print_calls_compared(const Comparison& comparison) {
    print_changes(
        {"CUDA call", "calls: A", "B", "total: A", "B", "B - A"}, comparison.api,
        [](const Change<ApiUse>& u) -> std::vector<std::string> {
            return {shorten(printable(u.any().name), 48),   cell(u, 0, &ApiUse::count, as_number),
                    cell(u, 1, &ApiUse::count, as_number),  cell(u, 0, &ApiUse::total_ns, in_time),
                    cell(u, 1, &ApiUse::total_ns, in_time), change_in_time(u.difference(&ApiUse::total_ns))};
        });
    std::vector<std::string> failures;
    for (const Change<ApiUse>& u : comparison.api)
        if (u.difference(&ApiUse::failed) != 0)
            failures.push_back(fmt::format("{} {} → {}", shorten(printable(u.any().name), 48),
                                           u.rows[0] ? u.rows[0]->failed : 0,
                                           u.rows[1] ? u.rows[1]->failed : 0));
    failures.resize(std::min(failures.size(), kComparedRows));
    if (!failures.empty())
        fmt::print("{}\n\n", paragraph(yellow("calls that failed: " + join(failures, ", "))));
}

/// [a, b], with null where a recording has no such row.
template <class Use, class Base>
Json json_pair(const Change<Use>& change, int64_t Base::*number) {
    Json pair = Json::array();
    for (const Use* row : change.rows) pair.push_back(row ? Json(row->*number) : Json(nullptr));
    return pair;
}

Json kernel_change_json(const KernelChange& k) {
    Json names = Json::array(), sizes = Json::array();
    for (const KernelUse* row : k.rows) {
        names.push_back(row ? Json(row->full_name) : Json(nullptr));
        Json of_row = row ? Json::array() : Json(nullptr);
        if (row)
            for (const LaunchUse& launch : row->sizes)
                of_row.push_back({{"grid", launch.size.grid},
                                  {"block", launch.size.block},
                                  {"count", launch.times.count},
                                  {"total_ns", launch.times.total_ns}});
        sizes.push_back(std::move(of_row));
    }
    return {{"name", k.name},
            {"full_name", names},
            {"matched_by", k.in_both() ? Json(words_for(k.match)) : Json(nullptr)},
            {"count", json_pair(k, &KernelUse::count)},
            {"total_ns", json_pair(k, &KernelUse::total_ns)},
            {"min_ns", json_pair(k, &KernelUse::min_ns)},
            {"median_ns", json_pair(k, &KernelUse::median_ns)},
            {"max_ns", json_pair(k, &KernelUse::max_ns)},
            {"launch_sizes", sizes}};
}

Json copy_change_json(const Change<CopyUse>& c) {
    const CopyUse& use = c.any();
    return {{"direction", to_string(use.direction)},
            {"from", use.from},
            {"to", use.to},
            {"between_gpus", use.between_gpus},
            {"count", json_pair(c, &CopyUse::count)},
            {"bytes", json_pair(c, &CopyUse::bytes)},
            {"ns", json_pair(c, &CopyUse::ns)}};
}

Json api_change_json(const Change<ApiUse>& u) {
    return {{"name", u.any().name},
            {"count", json_pair(u, &ApiUse::count)},
            {"failed", json_pair(u, &ApiUse::failed)},
            {"total_ns", json_pair(u, &ApiUse::total_ns)},
            {"max_ns", json_pair(u, &ApiUse::max_ns)}};
}

Json range_change_json(const Change<RangeUse>& r) {
    const RangeUse& use = r.any();
    return {{"name", use.name},
            {"domain", use.domain},
            {"count", json_pair(r, &RangeUse::count)},
            {"host_ns", json_pair(r, &RangeUse::host_ns)},
            {"gpu_ns", json_pair(r, &RangeUse::gpu_ns)}};
}

template <class Rows, class AsJson>
Json json_list(const Rows& rows, const AsJson& as_json) {
    Json list = Json::array();
    for (const auto& row : rows) list.push_back(as_json(row));
    return list;
}

Json comparison_json(const Reports& reports, const Comparison& comparison,
                     const std::optional<std::string>& range) {
    const auto of_both = [&](const auto& value_of_report) {
        return Json::array({Json(value_of_report(reports[0])), Json(value_of_report(reports[1]))});
    };
    const auto optional_of_both = [&](const auto& value_of_analysis) {
        Json pair = Json::array();
        for (const ComparedReport& report : reports)
            pair.push_back(or_null(value_of_analysis(report.numbers.analysis)));
        return pair;
    };
    Json differs = Json::object();
    for (const std::string& name : differing_circumstances(reports))
        differs[name] = of_both([&](const ComparedReport& r) { return value_of(r.made, name); });
    return {{"files", of_both([](const ComparedReport& r) { return r.file; })},
            {"differs", differs},
            {"gpus", of_both([](const ComparedReport& r) { return r.gpu; })},
            {"devices", of_both([](const ComparedReport& r) { return r.numbers.analysis.device; })},
            {"range", or_null(range)},
            {"range_ns", optional_of_both([](const Analysis& a) { return a.range_ns; })},
            {"range_count", range ? of_both([](const ComparedReport& r) { return r.ranges_named; })
                                  : Json::array({nullptr, nullptr})},
            {"span_ns", both_of(reports, &Analysis::span_ns)},
            {"gpu_busy_ns", both_of(reports, &Analysis::gpu_busy_ns)},
            {"gpu_idle_ns", both_of(reports, &Analysis::gpu_idle_ns)},
            {"compute_ns", both_of(reports, &Analysis::compute_ns)},
            {"communication_ns", both_of(reports, &Analysis::communication_ns)},
            {"communication_hidden_ns", both_of(reports, &Analysis::communication_hidden_ns)},
            {"communication_bytes", both_of(reports, &Analysis::communication_bytes)},
            {"copy_only_ns", both_of(reports, &Analysis::copy_only_ns)},
            {"overlap",
             {{"h2d_ns", both_of(reports, &Analysis::h2d_ns)},
              {"h2d_hidden_ns", both_of(reports, &Analysis::h2d_hidden_ns)},
              {"d2h_ns", both_of(reports, &Analysis::d2h_ns)},
              {"d2h_hidden_ns", both_of(reports, &Analysis::d2h_hidden_ns)},
              {"kernel_concurrency",
               optional_of_both([](const Analysis& a) { return a.kernel_concurrency(); })}}},
            {"idle_by_cause", both_know_calls(reports)
                                  ? Json{{"host_wait_ns", both_of(reports, &IdleByCause::host_wait_ns)},
                                         {"kernel_wait_ns", both_of(reports, &IdleByCause::kernel_wait_ns)},
                                         {"other_ns", both_of(reports, &IdleByCause::other_ns)}}
                                  : Json(nullptr)},
            {"streams", streams_of(reports)},
            {"kernels", json_list(comparison.kernels, kernel_change_json)},
            {"ambiguous_kernels", comparison.ambiguous},
            {"copies", json_list(comparison.copies, copy_change_json)},
            {"ranges", json_list(comparison.ranges, range_change_json)},
            {"api", json_list(comparison.api, api_change_json)}};
}

int compare_reports(const std::string& a, const std::string& b, const std::string& range_name,
                    const std::string& device_number, bool json) {
    if (is_same_file(a, b))
        throw Error(fmt::format("{} and {} are one file: give two recordings", printable(a), printable(b)));
    const auto range = range_name.empty() ? std::nullopt : std::optional(range_name);
    const auto device = gpu_number(device_number);
    const Reports reports{read_report(0, a, range, device),
                          read_report(1, b, range, device)};  // one trace after the other
    const Comparison comparison = compare(reports[0].numbers, reports[1].numbers);
    if (json) {
        print_json(comparison_json(reports, comparison, range));
        return kFine;
    }
    print_reports_compared(reports, comparison, range, device);
    print_summary(reports);
    print_breakdown_compared(reports);
    print_kernels_compared(comparison);
    print_copies_compared(comparison);
    print_ranges_compared(comparison);
    print_calls_compared(comparison);
    fmt::print(
        "{}\n",
        paragraph(
            "One recording of each has no error bar: how much of a difference is noise, it does not say. "
            "To measure whether B is slower, in many runs and with an interval: "
            "./lab gate PROGRAM_A PROGRAM_B -- ARGUMENTS"));
    return kFine;
}

}  // namespace

void add_compare(Session& session) {
    struct Options {
        std::string a, b, range, device;
        bool json = false;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command(
        session, "compare", "what changed between two reports",
        "Compute, communication that no kernel hides, memory only and idle add up to the span of the GPU "
        "work, so their differences add up to its difference. Tables begin with what changed most. A kernel "
        "is the same if its full name is; else if both reports have one kernel of that short name, or one "
        "with these launch sizes. It is about the GPU of each report that computes longest, or the one of "
        "--device.\n"
        "Two recordings have no error bar. ./lab gate runs two programs many times, and has one.\n"
        "In JSON each number is [A, B], null where one has no such row. Times are in ns.\n"
        "Example: ./lab compare before.nsys-rep after.nsys-rep --range solve",
        [options] {
            return compare_reports(options->a, options->b, options->range, options->device, options->json);
        });
    command.argument("A", options->a, std::string("before: ") + kReportText);
    command.argument("B", options->b, "after: another one");
    command.option("--range", "NAME", options->range, kRangeText);
    command.option("--device", "N", options->device, kDeviceText);
    command.flag("--json", options->json, "prints everything as JSON");
}

}  // namespace lab
