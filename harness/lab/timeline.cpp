// lab timeline FILE ...: a picture of a report, of two, or of the ranks of a distributed job, for the
// terminal, a browser or Perfetto.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "core/terminal.h"
#include "core/text.h"
#include "draw/chrome_trace.h"
#include "draw/rows.h"
#include "draw/timeline.h"
#include "evidence/launches.h"
#include "lab/analyze_ranks.h"
#include "lab/command.h"
#include "lab/report_file.h"

namespace lab {

namespace {

struct TimelineRequest {
    std::vector<std::string> files;
    std::string range, from, to, svg, html, chrome;
};

/// Nothing if the option is not given.
std::optional<int64_t> parse_time(const char* option, const std::string& text) {
    const std::optional<int64_t> ns = parse_ns(text == "0" ? "0ns" : text);
    if (!ns && !text.empty())
        throw Error(fmt::format("{} {}: give a time from 0 on with its unit, ns, us, ms or s, as in 20ms",
                                option, printable(text)));
    return ns;
}

/// The file's name, and which part of it is shown, as it was asked for.
std::string title_of(const std::string& file, const std::string& from, const std::string& to) {
    const std::string name = fs::path(file).filename().string();
    if (from.empty() && to.empty()) return name;
    return fmt::format("{}, from {}{}", name, from.empty() ? "0" : from, to.empty() ? " on" : " to " + to);
}

/// Writes a picture, and says where it is unless that is a device or a pipe.
void write_output(const std::string& file, std::string_view contents, const char* what_to_do) {
    if (write_file(file, contents)) fmt::print("{}\n", paragraph(printable(file) + what_to_do));
}

using Programs = std::vector<std::pair<const Trace*, TimelineOptions>>;

/// Are these recordings of a job's ranks? Two are if they, or else their names, say that they are of
/// different ones; otherwise they are to be compared. More than two always are.
bool are_ranks(const std::vector<std::string>& files, const std::vector<ReportFile>& reports) {
    if (files.size() != 2) return files.size() > 2;
    std::set<int64_t> ranks;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const std::optional<int64_t> recorded = reports[i].trace().rank;
        if (const auto rank = recorded ? recorded : rank_in_name(files[i])) ranks.insert(*rank);
    }
    return ranks.size() == 2;
}

/// By rank, each with its number in its title. Says what doesn't fit, to stderr: stdout may be the picture.
Programs in_order_of_rank(const Programs& programs, const std::vector<std::string>& files,
                          const std::vector<ReportFile>& reports, const std::optional<std::string>& range) {
    check_each_once(files);
    std::vector<ProcessUse> processes;
    for (std::size_t i = 0; i < files.size(); ++i)
        processes.push_back(process_of(files[i], reports[i], range, std::nullopt));
    const Processes all = side_by_side(std::move(processes));
    for (const std::string& remark : all.remarks) fmt::print(stderr, "{}\n", paragraph(remark));
    if (all.not_aligned)
        fmt::print(stderr, "{}\n", paragraph(not_aligned_sentence(all) + " So each begins at its own zero."));
    Programs ranks;
    for (const ProcessUse& process : all.processes) {
        const auto at = std::find(files.begin(), files.end(), process.file) - files.begin();
        auto& [trace, options] = ranks.emplace_back(programs[static_cast<std::size_t>(at)]);
        options.title = fmt::format("rank {}, {}", process.rank, options.title);
        if (!all.not_aligned)
            options.epoch_ns = process.epoch_ns;
        else
            options.label += options.label.empty() ? "not aligned" : " · not aligned";
    }
    return ranks;
}

int timeline(const TimelineRequest& request) {
    const std::vector<std::string>& files = request.files;
    check_outputs({files.begin(), files.end()}, {request.svg, request.html, request.chrome});
    if (files.size() > 1 && !request.chrome.empty())
        throw Error("--chrome writes one report: name one FILE, or use --html for several");
    const auto from_ns = parse_time("--from", request.from), to_ns = parse_time("--to", request.to);
    const auto range = request.range.empty() ? std::nullopt : std::optional(request.range);
    std::vector<ReportFile> reports;
    reports.reserve(files.size());  // traces stay where they are
    Programs programs;
    for (const std::string& file : files) {
        const ReportFile& report = reports.emplace_back(open_report(file, true));
        programs.push_back(
            {&report.trace(),
             {title_of(file, request.from, request.to), report.label, range, true, from_ns, to_ns}});
    }
    if (are_ranks(files, reports)) programs = in_order_of_rank(programs, files, reports, range);
    const std::vector<Timeline> timelines = build_timelines(programs);
    if (!request.svg.empty()) write_output(request.svg, timeline_svg(timelines), "");
    if (!request.html.empty())
        write_output(request.html, timeline_html(timelines), "  (open it in a browser)");
    if (!request.chrome.empty()) {
        std::ostringstream json;
        const Trace& trace = *programs.front().first;
        write_chrome_trace(range ? select_range(trace, *range).trace : trace, json);
        write_output(request.chrome, json.view(), "  (open it in ui.perfetto.dev or chrome://tracing)");
    }
    if (request.svg.empty() && request.html.empty() && request.chrome.empty()) {
        fmt::print("{}", timeline_terminal(timelines, terminal_columns(100), terminal_has_colour()));
        fmt::print("{}", not_recorded_line(*programs.front().first));
    }
    return kFine;
}

}  // namespace

void add_timeline(Session& session) {
    const auto request = std::make_shared<TimelineRequest>();
    Subcommand command(
        session, "timeline", "a picture of a report: terminal, browser, SVG, Perfetto",
        "Without --html, --svg and --chrome it draws in the terminal. The page needs no network, and can be "
        "zoomed, searched and measured: docs/timeline.md says how. It holds the whole report, and --range, "
        "--from and --to say where it begins. Short CUDA calls that do not wait for the GPU are only there "
        "and in the JSON, which --from and --to do not cut. A time is in ns, us, ms or s, and counts from "
        "the left edge of the picture that is drawn without --from.\n"
        "Example: ./lab timeline before.nsys-rep after.nsys-rep --html both.html",
        [request] { return timeline(*request); });
    command.rest("FILE", request->files,
                 std::string(kReportText) +
                     "; two are drawn below each other on one time scale, and so are those of a job's ranks, "
                     "by one clock",
                 true);
    command.option("--html", "OUT", request->html, "writes a page for any browser to this file");
    command.option("--range", "NAME", request->range, kRangeText);
    command.option("--from", "TIME", request->from, "draws from this time on, such as 20ms");
    command.option("--to", "TIME", request->to, "draws up to this time, such as 45ms");
    command.option("--svg", "FILE", request->svg, "writes an SVG to this file");
    command.option("--chrome", "FILE", request->chrome,
                   "writes Chrome trace JSON, which Perfetto and Holistic Trace Analysis open, to this file");
}

}  // namespace lab
