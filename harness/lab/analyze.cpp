// lab analyze FILE: where the time goes in anybody's report, and what else our own evidence holds.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "draw/rows.h"
#include "evidence/analysis.h"
#include "evidence/evidence.h"
#include "evidence/first_steps.h"
#include "evidence/launches.h"
#include "evidence/schema.h"
#include "lab/analysis_json.h"
#include "lab/analyze_path.h"
#include "lab/analyze_ranks.h"
#include "lab/command.h"
#include "lab/learner.h"
#include "lab/report_file.h"
#include "lab/tool_output.h"
#include "lab/unified_memory.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownRows = 12;  ///< of a table, and of the launch sizes of one kernel

double ratio(int64_t part, int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
}

/// From the first GPU work on: "12 ms", or "-3 ms" before it.
std::string place_in_time(int64_t ns, int64_t first_work_ns) {
    if (first_work_ns == 0) return "n/a";  // the GPU has no work to count from
    return (ns < first_work_ns ? "-" : "") + format_ns(std::abs(ns - first_work_ns));
}

/// A table whose first columns, as many as `left`, are aligned left and the others right.
Table table_of(std::vector<std::string> header, std::size_t left) {
    std::vector<Align> align(header.size(), Align::right);
    std::fill_n(align.begin(), left, Align::left);
    return Table(std::move(header), std::move(align));
}

/// Ends a list that shows the first of so many rows, if there are any.
void print_more(std::size_t rows) {
    fmt::print("{}{}", more_rows(rows, kShownRows), rows > 0 ? "\n" : "");
}

void print_table(const Table& table, std::size_t rows) {
    if (rows > 0) fmt::print("{}", table.text());
    print_more(rows);
}

/// The first rows of a list, as many as are shown.
template <class T>
std::span<const T> shown(const std::vector<T>& all) {
    return std::span(all).first(std::min(all.size(), kShownRows));
}

std::vector<FirstStep> steps_of(const ReportFile& report, const Analysis& a, const std::string& file) {
    PageFaults page_faults;
    if (report.evidence) {
        const auto memory = unified_memory_json(*report.evidence, a.range),
                   whole = a.range ? unified_memory_json(*report.evidence, std::nullopt) : memory;
        page_faults = {memory["gpu_page_faults"]["total_ns"], !whole["cpu_page_faults"].empty(),
                       !memory["cpu_page_faults"].empty()};
    }
    return first_steps(report.trace(), a, file, page_faults);
}

/// The command that asks the learner about the report's program; "" if none does, or it has been answered.
std::string asked_about(const ReportFile& report, const std::string& file) {
    std::optional<Course> course;
    try {
        course = Course::find();
    } catch (const Error&) {  // there is none here
        return "";
    }
    // Evidence names its program, unless its exercise was renamed since; then it lies in its folder.
    std::string ask;
    if (report.evidence) ask = asked_first(*course, value_of(report.evidence->provenance(), "program"));
    return ask.empty() ? asked_first(*course, file) : ask;
}

/// What to do first; of a program that the learner is asked about, only that this is told afterwards.
void print_first_steps(const ReportFile& report, const std::string& file,
                       const std::vector<FirstStep>& steps) {
    if (const std::string ask = asked_about(report, file); !ask.empty() && !steps.empty()) {
        fmt::print("{}\n\n",
                   paragraph(fmt::format(
                       "What to look at first is said here once you have found out yourself: {}", ask)));
        return;
    }
    for (const FirstStep& step : steps)
        fmt::print("{}  {}\n", &step - steps.data() + 1, paragraph(step.text, 3));
    if (!steps.empty()) fmt::print("\n");
}

/// The GPUs of a process, if there are several.
void print_devices(const Analysis& a) {
    if (a.devices.size() < 2) return;
    const bool communicates = std::any_of(a.devices.begin(), a.devices.end(),
                                          [](const DeviceUse& d) { return d.communication_ns > 0; });
    std::vector<std::string> header{"GPU", "span", "compute"};
    if (communicates) append(header, {"communication", "of that hidden"});
    append(header, {"memory only", "idle"});
    Table table = table_of(std::move(header), 0);
    for (const DeviceUse& d : a.devices) {
        std::vector<std::string> row{std::to_string(d.device), format_ns(d.span_ns), format_ns(d.compute_ns)};
        if (communicates) append(row, {format_ns(d.communication_ns), format_ns(d.communication_hidden_ns)});
        append(row, {format_ns(d.copy_only_ns), format_ns(d.gpu_idle_ns)});
        table.add(std::move(row));
    }
    fmt::print("{}\n", table.text());
}

void print_breakdown(const Analysis& a, bool calls_are_known) {
    Table table = table_of({"", "time", "of the span"}, 1);
    const auto row = [&](const std::string& what, int64_t ns) {
        table.add({what, format_ns(ns), percent_of(ns, a.span_ns)});
    };
    row("span, first GPU work to last", a.span_ns);
    row("compute: a kernel runs", a.compute_ns);
    if (a.communication_ns > 0) row("communication that no such kernel hides", a.exposed_ns());
    row("memory only: a copy or a memset, no kernel", a.copy_only_ns);
    row("idle: nothing runs", a.gpu_idle_ns);
    const auto cause = [&](const std::string& what, int64_t ns) {
        if (calls_are_known) return row(what, ns);
        table.add({what, "n/a", "n/a"});
    };
    cause("  launch call began in the gap", a.idle.host_wait_ns);
    cause(fmt::format("  launch call began before, under {} µs", kKernelWaitLimit_ns / 1000),
          a.idle.kernel_wait_ns);
    cause("  other", a.idle.other_ns);
    fmt::print("{}\n", table.text());
    if (a.communication_ns > 0)
        fmt::print("  communication hidden by kernels    {} of {}\n", format_ns(a.communication_hidden_ns),
                   format_ns(a.communication_ns));
    if (a.communication_bytes > 0)
        fmt::print("  copies between GPUs                {}\n",
                   format_bytes(static_cast<double>(a.communication_bytes)));
    if (a.h2d_ns > 0)
        fmt::print("  H2D copies hidden behind kernels   {} of {}\n", format_ns(a.h2d_hidden_ns),
                   format_ns(a.h2d_ns));
    if (a.d2h_ns > 0)
        fmt::print("  D2H copies hidden behind kernels   {} of {}\n", format_ns(a.d2h_hidden_ns),
                   format_ns(a.d2h_ns));
    if (a.compute_ns > 0)
        fmt::print("  two or more kernels at once         {} of the kernel time\n",
                   percent_of(a.concurrent_ns, a.compute_ns));
    fmt::print("\n");
    if (a.communication_ns > 0)
        fmt::print("{}\n\n",
                   paragraph("Kernels of NCCL and NVSHMEM, and copies between GPUs, communicate. They are no "
                             "compute here: a GPU that waits inside a collective for the others runs its "
                             "kernel, and is not busy computing."));
}

/// "16 x 32" of {16, 32, 1}
std::string dimensions(const std::array<int64_t, 3>& xyz) {
    std::string text = std::to_string(xyz[0]);
    if (xyz[1] > 1 || xyz[2] > 1) text += fmt::format(" x {}", xyz[1]);
    if (xyz[2] > 1) text += fmt::format(" x {}", xyz[2]);
    return text;
}

/// Cut to one width, and still different if they can be.
std::vector<std::string> names_for_table(std::span<const KernelUse> kernels) {
    constexpr std::size_t kWidth = 48;
    std::map<std::string, int> count;
    for (const KernelUse& k : kernels) ++count[shorten(printable(k.name), kWidth)];
    std::vector<std::string> names;
    for (const KernelUse& k : kernels) {
        const std::string name = printable(k.name), cut = shorten(name, kWidth);
        names.push_back(count[cut] == 1 ? cut : shorten_middle(name, kWidth));
    }
    return names;
}

/// `with_sizes`: each launch size of a kernel that has several.
void print_kernels(const Analysis& a, bool with_sizes) {
    if (a.kernels.empty()) return fmt::print("  no kernel was recorded\n\n");
    int64_t all_ns = 0;
    for (const KernelUse& k : a.kernels) all_ns += k.total_ns;
    Table table = table_of(
        {"kernel", "blocks", "threads a block", "launches", "total", "share", "median", "longest"}, 1);
    const auto row = [&](const std::string& name, const std::string& blocks, const std::string& threads,
                         const RunTimes& times) {
        table.add({name, blocks, threads, std::to_string(times.count), format_ns(times.total_ns),
                   percent_of(times.total_ns, all_ns), format_ns(times.median_ns), format_ns(times.max_ns)});
    };
    const std::vector<std::string> names = names_for_table(shown(a.kernels));
    for (const KernelUse& k : shown(a.kernels)) {
        const std::string& name = names[static_cast<std::size_t>(&k - a.kernels.data())];
        if (k.sizes.size() == 1) {
            const LaunchSize& size = k.sizes[0].size;
            row(name, dimensions(size.grid), dimensions(size.block), k);
            continue;
        }
        const auto has_same_block = [&](const LaunchUse& launch) {
            return dimensions(launch.size.block) == dimensions(k.sizes[0].size.block);
        };
        const bool one_block =
            !k.sizes.empty() && std::all_of(k.sizes.begin(), k.sizes.end(), has_same_block);
        row(name, k.sizes.empty() ? "" : fmt::format("{} sizes", k.sizes.size()),
            one_block ? dimensions(k.sizes[0].size.block) : "", k);
        if (!with_sizes) continue;
        for (const LaunchUse& launch : shown(k.sizes))
            row("", dimensions(launch.size.grid), dimensions(launch.size.block), launch.times);
        if (k.sizes.size() > kShownRows)
            table.add({fmt::format("  {} more sizes; --json shows all", k.sizes.size() - kShownRows)});
    }
    print_table(table, a.kernels.size());
}

void print_copies(const Analysis& a) {
    Table table = table_of({"copies, memsets", "from", "to", "count", "data", "GB/s", "longest"}, 3);
    for (const CopyUse& c : a.copies)
        table.add({c.between_gpus ? "GPU to GPU" : to_string(c.direction), c.from, c.to,
                   std::to_string(c.count), format_bytes(static_cast<double>(c.bytes)),
                   c.ns == 0 ? "n/a" : format_number(ratio(c.bytes, c.ns), 3), format_ns(c.max_ns)});
    if (!table.empty()) fmt::print("{}\n", table.text());
}

void print_streams(const Analysis& a) {
    Table table = table_of({"stream", "kernels", "kernel time", "copies, memsets", "their time"}, 0);
    for (const StreamUse& s : shown(a.streams))
        table.add({std::to_string(s.stream), std::to_string(s.kernels), format_ns(s.kernel_ns),
                   std::to_string(s.copies), format_ns(s.copy_ns)});
    print_table(table, a.streams.size());
}

void print_ranges(const std::vector<RangeUse>& ranges, int64_t first_work_ns, const Trace& trace) {
    const char* const what = trace.format == SourceFormat::kineto ? "annotation" : "NVTX range";
    // Work belongs to the range in which a call launched it.
    const bool knows_work = !trace.api_calls.empty();
    Table table = table_of({what, "domain", "count", "on the host", "on the GPU"}, 2);
    for (const RangeUse& r : shown(ranges))
        table.add({shorten(printable(r.name), 48), shorten(printable(r.domain), 48), std::to_string(r.count),
                   format_ns(r.host_ns), knows_work ? format_ns(r.gpu_ns) : "n/a"});
    print_table(table, ranges.size());

    Table runs = table_of({"runs of a range", "on the host: least", "median", "most", "on the GPU: least",
                           "median", "most", "the slowest began"},
                          1);
    std::size_t several = 0;
    for (const RangeUse& r : ranges) {
        if (r.count < 2 || ++several > kShownRows) continue;
        const auto gpu = [&](int64_t ns) { return r.gpu.count > 0 ? format_ns(ns) : "n/a"; };
        runs.add({shorten(printable(r.name), 36), format_ns(r.host.min_ns), format_ns(r.host.median_ns),
                  format_ns(r.host.max_ns), gpu(r.gpu.min_ns), gpu(r.gpu.median_ns), gpu(r.gpu.max_ns),
                  place_in_time(r.slowest_start_ns, first_work_ns)});
    }
    print_table(runs, several);
}

/// "cudaHostAlloc 27 ms, cudaFree 2 ms, no CUDA call 1 ms": the first of each list, and what is left.
std::string host_in(const Gap& gap, bool calls_are_known) {
    constexpr int64_t kNoticeablePart = 10;
    std::vector<std::string> parts;
    const auto add = [&](const std::string& name, int64_t ns) {
        if (ns * kNoticeablePart >= gap.ns) parts.push_back(fmt::format("{} {}", name, format_ns(ns)));
    };
    for (const HostTime& call : gap.calls) add(shorten(printable(call.name), 36), call.ns);
    if (calls_are_known) add("no CUDA call", gap.no_call_ns);
    if (!gap.os_calls.empty()) add("OS: " + shorten(printable(gap.os_calls[0].name), 24), gap.os_calls[0].ns);
    return join(parts, ", ");
}

void print_gaps(const Analysis& a, bool calls_are_known) {
    Table table({"longest gap", "from", "after", "before", "the host is in"},
                {Align::right, Align::right, Align::left, Align::left, Align::left});
    for (const Gap& gap : a.gaps)
        table.add({format_ns(gap.ns), place_in_time(gap.start_ns, a.first_work_ns),
                   shorten(printable(gap.before), 36), shorten(printable(gap.after), 36),
                   host_in(gap, calls_are_known)});
    if (!table.empty()) fmt::print("{}\n", table.text());
}

void print_idle_by_call(const Analysis& a, bool calls_are_known) {
    if (a.gpu_idle_ns == 0 || !calls_are_known) return;
    Table table = table_of(
        {"while the GPU is idle, the host is in", "calls", "idle time", "of the idle time", "longest"}, 1);
    constexpr int64_t kNoticeablePart = 100;
    std::size_t listed = 0;
    for (const HostTime& call : shown(a.idle_by_call)) {
        if (call.ns * kNoticeablePart < a.gpu_idle_ns) break;
        ++listed;
        table.add({shorten(printable(call.name), 48), std::to_string(call.count), format_ns(call.ns),
                   percent_of(call.ns, a.gpu_idle_ns), format_ns(call.longest_ns)});
    }
    table.add(
        {"no CUDA call", "", format_ns(a.idle_no_call_ns), percent_of(a.idle_no_call_ns, a.gpu_idle_ns)});
    fmt::print("{}{}\n", table.text(), more_rows(a.idle_by_call.size(), listed));
}

void print_api(const Analysis& a, bool knows_results) {
    Table table = table_of({"CUDA call", "calls", "failed", "total", "longest"}, 1);
    for (const ApiUse& u : shown(a.api))
        table.add({shorten(printable(u.name), 48), std::to_string(u.count),
                   knows_results ? std::to_string(u.failed) : "n/a", format_ns(u.total_ns),
                   format_ns(u.max_ns)});
    print_table(table, a.api.size());
    std::size_t failures = 0;
    for (const ApiUse& u : a.api)
        for (const auto& [result, count] : u.failures)
            if (++failures <= kShownRows)
                fmt::print("  {} returned {} {}\n", shorten(printable(u.name), 48), result,
                           count == 1 ? "once" : fmt::format("in {} calls", count));
    print_more(failures);
}

void print_functions(const Analysis& a) {
    int64_t all = 0;
    for (const FunctionUse& f : a.functions) all += f.samples;
    Table table = table_of({"host function", "in", "CPU samples", "share"}, 2);
    for (const FunctionUse& f : shown(a.functions))
        table.add({shorten(printable(f.name), 36), shorten(printable(f.module), 20),
                   std::to_string(f.samples), percent_of(f.samples, all)});
    print_table(table, a.functions.size());
}

void print_os_calls(const Analysis& a) {
    Table table = table_of({"OS call", "calls", "total", "median", "longest"}, 1);
    for (const OsUse& u : shown(a.os_calls))
        table.add({shorten(printable(u.name), 36), std::to_string(u.count), format_ns(u.total_ns),
                   format_ns(u.median_ns), format_ns(u.max_ns)});
    print_table(table, a.os_calls.size());
}

void print_threads(const Analysis& a) {
    Table table = table_of({"thread", "name", "running", "ready", "blocked", "switches"}, 2);
    for (const ThreadUse& u : shown(a.threads))
        table.add({thread_name(u.process, u.thread), shorten(printable(u.name), 20), format_ns(u.running_ns),
                   format_ns(u.ready_ns), format_ns(u.blocked_ns), std::to_string(u.switches)});
    print_table(table, a.threads.size());
}

void print_metrics(const Analysis& a) {
    Table table = table_of({"GPU metric", "unit", "mean", "max", "samples"}, 1);
    for (const MetricUse& m : shown(a.metrics))
        table.add({shorten(printable(m.name), 44), printable(m.unit), format_number(m.mean, 3),
                   format_number(m.max, 3), std::to_string(m.samples)});
    print_table(table, a.metrics.size());
}

void print_time(const ReportFile& report, const std::string& file, const Analysis& a,
                const std::vector<FirstStep>& steps, bool with_sizes, bool is_chosen) {
    const Trace& trace = report.trace();
    if (report.evidence)
        for (const std::string& problem : capture_problems(report.evidence->database()))
            fmt::print("{}\n", paragraph(yellow("this capture may not be whole: " + problem)));
    if (trace.rank) fmt::print("rank {}\n", *trace.rank);
    for (const Gpu& gpu : trace.gpus)
        if (gpu.device == a.device) fmt::print("GPU {}  {}\n", gpu.device, printable(gpu.name));
    if (a.devices.size() > 1)
        fmt::print("{}\n", paragraph(fmt::format("{} GPUs did work; this is about GPU {}{}. CUDA calls, "
                                                 "ranges and threads are of all processes.",
                                                 a.devices.size(), a.device,
                                                 is_chosen ? "" : ", which computes longest")));
    if (a.range_ns) fmt::print("the host spent {} in the range\n", format_ns(*a.range_ns));
    fmt::print("\n");
    print_first_steps(report, file, steps);
    print_devices(a);
    const bool calls_are_known = !trace.api_calls.empty();
    print_breakdown(a, calls_are_known);
    print_gaps(a, calls_are_known);
    print_idle_by_call(a, calls_are_known);
    print_kernels(a, with_sizes);
    print_copies(a);
    print_streams(a);
    print_ranges(range_use(trace, a.range), a.first_work_ns, trace);
    print_api(a, trace.knows_results);
    if (report.evidence) fmt::print("{}", unified_memory_text(*report.evidence, a.range));
    print_functions(a);
    print_os_calls(a);
    print_threads(a);
    print_metrics(a);
    fmt::print("{}\n", not_recorded_line(trace));
}

/// Prints what the other tools said, and what the program printed.
void print_other_tools(const Evidence& evidence) {
    const std::vector<Counter> counters = counters_in(evidence);
    print_counters(counters);
    print_reports(evidence);
    print_program_output(evidence);
    if (!counters.empty()) fmt::print("counters docs/metrics.md says what they count\n");
}

/// Leaves out what is told by CUDA calls, of which none is recorded.
void without_calls(Json& json) {
    json["idle_by_cause"] = json["idle_by_call"] = json["short_gaps"] = nullptr;
    for (auto& gap : json["gaps"]) gap["cause"] = gap["no_call_ns"] = gap["calls"] = nullptr;
    for (auto& range : json["ranges"]) range["gpu_ns"] = range["gpu"] = nullptr;
}

Json as_json(const ReportFile& report, const std::string& file, const std::optional<std::string>& range,
             const std::optional<int64_t>& device, bool critical_path) {
    Json json = Json::object();
    if (report.has_trace()) {
        const Trace& trace = report.trace();
        const Analysis a = analyse(trace, range, device);
        json = analysis_json(a, range_use(trace, range), steps_of(report, a, file));
        if (!asked_about(report, file).empty()) json["first_steps"] = nullptr;
        json["source_format"] = trace.format == SourceFormat::kineto ? "kineto" : "nsys";
        if (critical_path) json["critical_path"] = critical_path_json(report, range);
        if (trace.api_calls.empty()) without_calls(json);
        if (!trace.knows_results)
            for (auto& call : json["api"]) call["failed"] = nullptr;
        json["unified_memory"] =
            report.evidence ? unified_memory_json(*report.evidence, range) : Json(nullptr);
    }
    if (range || !report.evidence) return json;
    const Evidence& evidence = *report.evidence;
    if (evidence.exit_code()) json["program_output"] = printed_by_program(evidence);
    if (evidence.was_run("ncu")) json["ncu_metrics"] = to_json(counters_in(evidence));
    if (!sanitizers_run(evidence).empty()) json["sanitizer_reports"] = to_json(reports_in(evidence));
    return json;
}

int analyze(const std::string& file, const std::string& range_name, const std::string& device_number,
            bool json, bool with_sizes, bool critical_path) {
    const auto device = gpu_number(device_number);
    const auto range = range_name.empty() ? std::nullopt : std::optional(range_name);
    const ReportFile report = open_report(file, range || critical_path);
    if (json) {
        print_json(as_json(report, file, range, device, critical_path));
        return kFine;
    }
    fmt::print("{}{}\n", bold(printable(file)), range ? fmt::format(", range '{}'", printable(*range)) : "");
    if (!report.label.empty()) fmt::print("{}\n", paragraph(report.label));
    if (const std::string slower = report.has_trace() ? slower_graphs(report.trace()) : ""; !slower.empty())
        fmt::print("{}\n", paragraph(yellow(slower)));
    if (critical_path) {
        print_critical_path(report, range);
        return kFine;
    }
    if (report.has_trace()) {
        const Analysis a = analyse(report.trace(), range, device);
        print_time(report, file, a, steps_of(report, a, file), with_sizes, device.has_value());
    } else {
        fmt::print("no trace of nsys, so nothing about time\n\n");
    }
    if (!report.evidence) return kFine;
    if (range) {  // the other tools know none
        if (report.evidence->was_run("ncu") || !sanitizers_run(*report.evidence).empty())
            fmt::print("Leave out --range to see what ncu and compute-sanitizer said of the whole run.\n");
        return kFine;
    }
    print_other_tools(*report.evidence);
    if (report.evidence->was_run("ncu_details"))
        fmt::print("sections {}\n", paragraph("./lab ncu-details " + shell_line({file}) +
                                                  " shows those of ncu, its rules, and source lines",
                                              9));
    return kFine;
}

}  // namespace

void add_analyze(Session& session) {
    struct Options {
        std::vector<std::string> files;
        std::string range, device;
        bool json = false, sizes = false, critical_path = false;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command(
        session, "analyze", "where the time goes in a report of your own",
        "Up to three sentences say what to do first: docs/analyze.md has their rules. Idle time is sorted by "
        "the call that launched the work at its end: it began in the gap, so the host was late; it began "
        "before, and the gap is under 30 µs, as one launch after another costs; or neither. A "
        "device-to-device copy reads and writes, and its bytes are counted once.\n"
        "Of several GPUs it is about the one that computes longest, or that of --device; calls, ranges and "
        "threads stay of all processes. Counters of ncu and reports of compute-sanitizer, which evidence "
        "of the course may hold, are of the whole run and shown without --range. CPU samples, OS calls and "
        "threads are of all threads while the host is in the range. Times in JSON are in ns.\n"
        "Several reports, one of each rank of a distributed job, become a table by rank: who computes "
        "longest, and how long each waits for the others in collectives.\n"
        "Example: ./lab analyze ch05_streams/evidence/h200/buggy.sqlite",
        [options] {
            if (options->files.size() > 1 && options->sizes)
                throw Error("--sizes is about the kernels of one report: give one");
            if (options->critical_path && (options->files.size() > 1 || !options->device.empty()))
                throw Error("--critical-path is about all GPUs of one report: give one, and no --device");
            if (options->files.size() > 1)
                return analyze_ranks(options->files, options->range, options->device, options->json);
            return analyze(options->files[0], options->range, options->device, options->json, options->sizes,
                           options->critical_path);
        });
    command.rest("FILE", options->files, std::string(kReportText) + "; several: one of each rank", true);
    command.option("--range", "NAME", options->range, kRangeText);
    command.option("--device", "N", options->device, kDeviceText);
    command.flag("--sizes", options->sizes, "lists the launch sizes of a kernel that has several");
    command.flag(
        "--critical-path", options->critical_path,
        "only the chain of work and waiting that sets the time, and what it would be without a kernel");
    command.flag("--json", options->json, "prints everything as JSON");
}

}  // namespace lab
