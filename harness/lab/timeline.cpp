// lab timeline FILE: a picture of a report, for the terminal, a browser or Perfetto.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "core/terminal.h"
#include "core/text.h"
#include "draw/chrome_trace.h"
#include "draw/timeline.h"
#include "evidence/launches.h"
#include "lab/command.h"
#include "lab/report_file.h"

namespace lab {

namespace {

struct TimelineRequest {
    std::string file, range, from, to, svg, chrome;
};

/// Reads "20ms" or "1.5 us" in ns; nothing if the option is not given.
std::optional<int64_t> parse_time(const char* option, const std::string& text) {
    constexpr std::array<std::pair<std::string_view, double>, 5> kUnits{
        {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
    constexpr double kMost_ns = 1e18;
    if (text.empty()) return std::nullopt;
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    for (const auto& [unit, ns] : kUnits)
        if (end != text.c_str() && trim(end) == unit && number >= 0 && number * ns <= kMost_ns)
            return std::llround(number * ns);
    throw Error(fmt::format("{} {}: give a time from 0 on with its unit, ns, us, ms or s, as in 20ms", option,
                            printable(text)));
}

/// The file's name, and which part of it is shown.
std::string title_of(const TimelineRequest& request, const std::optional<int64_t>& from_ns,
                     const std::optional<int64_t>& to_ns) {
    const std::string name = fs::path(request.file).filename().string();
    const auto in_words = [](int64_t ns) { return format_ns(static_cast<double>(ns)); };
    if (!from_ns && !to_ns) return name;
    return fmt::format("{}, from {}{}", name, in_words(from_ns.value_or(0)),
                       to_ns ? " to " + in_words(*to_ns) : " on");
}

/// Writes a picture, and says where it is unless that is a device or a pipe.
void write_output(const std::string& file, std::string_view contents, const char* what_to_do) {
    if (write_file(file, contents)) fmt::print("{}\n", paragraph(printable(file) + what_to_do));
}

/// No picture takes the place of the report, or of the other picture.
void check_outputs(const TimelineRequest& of) {
    for (const auto& [a, b] : {std::pair(of.svg, of.file), {of.chrome, of.file}, {of.svg, of.chrome}})
        if (!a.empty() && !b.empty() && is_same_file(a, b))
            throw Error(fmt::format("{} and {} are one file: give another name to write to", a, b));
}

int timeline(const TimelineRequest& request) {
    check_outputs(request);
    const auto from_ns = parse_time("--from", request.from), to_ns = parse_time("--to", request.to);
    const ReportFile report = open_report(request.file, announce_to_terminal, true);
    const Evidence& evidence = report.evidence;
    const auto range = request.range.empty() ? std::nullopt : std::optional(request.range);
    const Timeline picture = build_timeline(
        evidence.trace(), {title_of(request, from_ns, to_ns), report.label, range, true, from_ns, to_ns});
    if (!request.svg.empty()) write_output(request.svg, timeline_svg({picture}), "");
    if (!request.chrome.empty()) {
        std::ostringstream json;
        write_chrome_trace(range ? select_range(evidence.trace(), *range).trace : evidence.trace(), json);
        write_output(request.chrome, json.view(), "  (open it in ui.perfetto.dev or chrome://tracing)");
    }
    if (request.svg.empty() && request.chrome.empty())
        fmt::print("{}", timeline_terminal(picture, terminal_columns(), terminal_has_colour()));
    return kFine;
}

}  // namespace

void add_timeline(Session& session) {
    const auto request = std::make_shared<TimelineRequest>();
    Subcommand command(
        session, "timeline", "a picture of a report: terminal, SVG or Perfetto",
        "Without --svg and --chrome it draws in the terminal. A time is in ns, us, ms or s, "
        "and counts from the left edge of the picture that is drawn without --from. Short "
        "CUDA calls that do not wait for the GPU are only in the JSON, which --from and --to do not cut.\n"
        "Example: ./lab timeline my.nsys-rep --range solve --from 20ms --to 70ms",
        [request] { return timeline(*request); });
    command.argument("FILE", request->file, kReportText);
    command.option("--range", "NAME", request->range, kRangeText);
    command.option("--from", "TIME", request->from, "draws from this time on, such as 20ms");
    command.option("--to", "TIME", request->to, "draws up to this time, such as 45ms");
    command.option("--svg", "FILE", request->svg, "writes an SVG to this file");
    command.option("--chrome", "FILE", request->chrome,
                   "writes Chrome trace JSON, which Perfetto opens, to this file");
}

}  // namespace lab
