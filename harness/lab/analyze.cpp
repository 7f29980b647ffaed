// lab analyze FILE: where the time goes in anybody's report, and what else our own evidence holds.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "evidence/evidence.h"
#include "evidence/launches.h"
#include "evidence/schema.h"
#include "lab/command.h"
#include "lab/report_file.h"
#include "lab/tool_output.h"

namespace lab {

namespace {

using Align = Table::Align;
constexpr std::size_t kShownRows = 12;
constexpr std::size_t kShownSizes = 12;  ///< of the kernels of one name

std::string percent(int64_t part, int64_t whole) {
    return whole == 0
               ? "n/a"
               : fmt::format("{} %", format_number(
                                         100.0 * static_cast<double>(part) / static_cast<double>(whole), 3));
}

void print_breakdown(const Analysis& a) {
    Table table({"", "time", "of the span"}, {Align::left, Align::right, Align::right});
    const auto row = [&](const char* what, int64_t ns) {
        table.add({what, format_ns(static_cast<double>(ns)), percent(ns, a.span_ns)});
    };
    row("span, first GPU work to last", a.span_ns);
    row("compute: a kernel runs", a.compute_ns);
    row("copy only: no kernel, but a copy or set", a.copy_only_ns);
    row("idle: nothing runs", a.gpu_idle_ns);
    row("  launch call began in the gap", a.idle.host_wait_ns);
    row("  launch call began before, under 30 µs", a.idle.kernel_wait_ns);
    row("  other", a.idle.other_ns);
    fmt::print("{}\n", table.text());
    if (a.h2d_ns > 0)
        fmt::print("  copies up hidden behind kernels    {} of {}\n",
                   format_ns(static_cast<double>(a.h2d_hidden_ns)), format_ns(static_cast<double>(a.h2d_ns)));
    if (a.d2h_ns > 0)
        fmt::print("  copies down hidden behind kernels  {} of {}\n",
                   format_ns(static_cast<double>(a.d2h_hidden_ns)), format_ns(static_cast<double>(a.d2h_ns)));
    if (a.compute_ns > 0)
        fmt::print("  two or more kernels at once        {} of the kernel time\n",
                   percent(a.concurrent_ns, a.compute_ns));
    fmt::print("\n");
}

void print_more(std::size_t rows) {
    if (rows > kShownRows) fmt::print("  ... and {} more; --json shows all\n", rows - kShownRows);
    fmt::print("\n");
}

/// "16 x 32" of {16, 32, 1}
std::string dimensions(const std::array<int64_t, 3>& xyz) {
    std::string text = std::to_string(xyz[0]);
    if (xyz[1] > 1 || xyz[2] > 1) text += fmt::format(" x {}", xyz[1]);
    if (xyz[2] > 1) text += fmt::format(" x {}", xyz[2]);
    return text;
}

void print_kernels(const Analysis& a) {
    int64_t all_ns = 0;
    for (const KernelUse& k : a.kernels) all_ns += k.total_ns;
    Table table({"kernel", "blocks", "threads a block", "launches", "total", "share", "median", "longest"},
                {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right,
                 Align::right, Align::right});
    const auto row = [&](const std::string& name, std::array<std::string, 2> size, const RunTimes& times) {
        table.add({name, size[0], size[1], std::to_string(times.count),
                   format_ns(static_cast<double>(times.total_ns)), percent(times.total_ns, all_ns),
                   format_ns(static_cast<double>(times.median_ns)),
                   format_ns(static_cast<double>(times.max_ns))});
    };
    const auto in_words = [](const LaunchSize& size) -> std::array<std::string, 2> {
        return {dimensions(size.grid), dimensions(size.block)};
    };
    for (std::size_t i = 0; i < std::min(a.kernels.size(), kShownRows); ++i) {
        const KernelUse& k = a.kernels[i];
        const std::string name = shorten(printable(k.name), 48);
        if (k.sizes.empty()) row(name, {"", ""}, k);
        if (k.sizes.size() == 1) row(name, in_words(k.sizes[0].size), k);
        if (k.sizes.size() < 2) continue;
        row(name, {fmt::format("{} sizes", k.sizes.size()), ""}, k);
        const std::size_t shown = std::min(k.sizes.size(), kShownSizes);
        for (std::size_t s = 0; s < shown; ++s) row("", in_words(k.sizes[s].size), k.sizes[s].times);
        if (shown < k.sizes.size())
            table.add({fmt::format("  {} more sizes; --json shows all", k.sizes.size() - shown)});
    }
    if (table.empty()) return fmt::print("  no kernel ran\n\n");
    fmt::print("{}", table.text());
    print_more(a.kernels.size());
}

void print_copies(const Analysis& a) {
    Table table({"copies", "from", "to", "count", "data", "GB/s"},
                {Align::left, Align::left, Align::left, Align::right, Align::right, Align::right});
    for (const CopyUse& c : a.copies)
        table.add(
            {to_string(c.direction), c.from, c.to, std::to_string(c.count),
             format_bytes(static_cast<double>(c.bytes)),
             c.ns == 0 ? "n/a" : format_number(static_cast<double>(c.bytes) / static_cast<double>(c.ns), 3)});
    if (!table.empty()) fmt::print("{}\n", table.text());
}

void print_streams(const Analysis& a) {
    Table table({"stream", "kernels", "kernel time", "copies", "copy time"},
                {Align::right, Align::right, Align::right, Align::right, Align::right});
    for (std::size_t i = 0; i < std::min(a.streams.size(), kShownRows); ++i) {
        const StreamUse& s = a.streams[i];
        table.add({std::to_string(s.stream), std::to_string(s.kernels),
                   format_ns(static_cast<double>(s.kernel_ns)), std::to_string(s.copies),
                   format_ns(static_cast<double>(s.copy_ns))});
    }
    if (table.empty()) return;
    fmt::print("{}", table.text());
    print_more(a.streams.size());
}

void print_failures(const Analysis& a) {
    std::size_t kinds = 0;
    for (const ApiUse& u : a.api)
        for (const auto& [result, count] : u.failures)
            if (++kinds <= kShownRows)
                fmt::print("  {} returned {} {}\n", printable(u.name), result,
                           count == 1 ? "once" : fmt::format("in {} calls", count));
    if (kinds > 0) print_more(kinds);
}

void print_api(const Analysis& a) {
    Table table({"CUDA call", "calls", "failed", "total", "longest"},
                {Align::left, Align::right, Align::right, Align::right, Align::right});
    for (std::size_t i = 0; i < std::min(a.api.size(), kShownRows); ++i) {
        const ApiUse& u = a.api[i];
        table.add({printable(u.name), std::to_string(u.count), std::to_string(u.failed),
                   format_ns(static_cast<double>(u.total_ns)), format_ns(static_cast<double>(u.max_ns))});
    }
    if (table.empty()) return;
    fmt::print("{}", table.text());
    print_more(a.api.size());
    print_failures(a);
}

void print_ranges(const std::vector<RangeUse>& ranges) {
    Table table({"NVTX range", "domain", "count", "on the host", "on the GPU"},
                {Align::left, Align::left, Align::right, Align::right, Align::right});
    for (std::size_t i = 0; i < std::min(ranges.size(), kShownRows); ++i) {
        const RangeUse& r = ranges[i];
        table.add({shorten(printable(r.name), 48), printable(r.domain), std::to_string(r.count),
                   format_ns(static_cast<double>(r.host_ns)), format_ns(static_cast<double>(r.gpu_ns))});
    }
    if (table.empty()) return;
    fmt::print("{}", table.text());
    print_more(ranges.size());
}

void print_time(const Evidence& evidence, const std::optional<std::string>& range) {
    const Analysis analysis = analyse(evidence.trace(), range);
    for (const std::string& problem : capture_problems(evidence.database()))
        fmt::print("{}\n", yellow("this capture may not be whole: " + problem));
    for (const Gpu& gpu : evidence.trace().gpus)
        if (gpu.device == analysis.device) fmt::print("GPU {}  {}\n", gpu.device, printable(gpu.name));
    if (analysis.devices.size() > 1)
        fmt::print("{} GPUs did work; this is about GPU {}, which has the most kernel time\n",
                   analysis.devices.size(), analysis.device);
    if (analysis.range_ns)
        fmt::print("the host spent {} in the range\n", format_ns(static_cast<double>(*analysis.range_ns)));
    fmt::print("\n");
    print_breakdown(analysis);
    print_kernels(analysis);
    print_copies(analysis);
    print_streams(analysis);
    print_ranges(range_use(evidence.trace(), range));
    print_api(analysis);
}

/// What the other tools said, and the program: of its whole run, whatever range is asked for.
void print_other_tools(const Evidence& evidence, bool in_range) {
    const std::vector<Counter> counters = counters_in(evidence);
    const bool sanitized = !sanitizers_run(evidence).empty();
    if (in_range) {
        if (!counters.empty() || sanitized)
            fmt::print("  what the other tools said is of the whole run: it is shown without --range\n");
        return;
    }
    print_counters(counters);
    print_reports(evidence);
    print_program_output(evidence);
    if (!counters.empty()) fmt::print("counters docs/metrics.md says what they count\n");
}

nlohmann::ordered_json as_json(const Evidence& evidence, const std::optional<std::string>& range) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    if (evidence.has_trace())
        json = to_json(analyse(evidence.trace(), range), range_use(evidence.trace(), range));
    if (range) return json;
    if (evidence.was_run("ncu")) json["ncu_metrics"] = to_json(counters_in(evidence));
    if (!sanitizers_run(evidence).empty()) json["sanitizer_reports"] = to_json(reports_in(evidence));
    return json;
}

int analyze(const std::string& file, const std::optional<std::string>& range, bool json) {
    const ReportFile report(file, announce_to_terminal, range ? Holds::a_trace : Holds::anything);
    const Evidence& evidence = report.evidence();
    if (json) {
        print_json(as_json(evidence, range));
        return kFine;
    }
    fmt::print("{}{}\n", bold(file), range ? fmt::format(", range '{}'", printable(*range)) : "");
    if (!report.label().empty()) fmt::print("{}\n", report.label());
    if (evidence.has_trace())
        print_time(evidence, range);
    else
        fmt::print("no trace of nsys, so nothing about time\n\n");
    print_other_tools(evidence, range.has_value());
    return kFine;
}

}  // namespace

void add_analyze(Session& session) {
    struct Options {
        std::string file, range;
        bool json = false;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command(session, "analyze", "where the time goes in a report of your own",
                       "Of several GPUs it is about the one with the most kernel time. Counters of ncu and "
                       "reports of compute-sanitizer, which evidence of the course may hold, are of the "
                       "whole run and shown without --range. Times in JSON are in ns.\n"
                       "Example: ./lab analyze ch05_streams/evidence/h200/buggy.sqlite",
                       [options] {
                           return analyze(
                               options->file,
                               options->range.empty() ? std::nullopt : std::optional(options->range),
                               options->json);
                       });
    command.argument("FILE", options->file, kReportText);
    command.option("--range", "NAME", options->range, kRangeText);
    command.flag("--json", options->json, "prints everything as JSON");
}

}  // namespace lab
