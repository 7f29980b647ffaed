// lab timeline FILE: a picture of a report, for the terminal, a browser or Perfetto.
#include <fmt/format.h>

#include <sstream>

#include "core/terminal.h"
#include "draw/chrome_trace.h"
#include "draw/svg.h"
#include "draw/terminal.h"
#include "evidence/range_selection.h"
#include "lab/command.h"
#include "lab/report_file.h"

namespace lab {

namespace {

struct TimelineRequest {
    std::string file, range, svg, chrome;
};

int timeline(const TimelineRequest& request) {
    const ReportFile report(request.file, announce_to_terminal);
    const Evidence& evidence = report.evidence();
    const auto range = request.range.empty() ? std::nullopt : std::optional(request.range);
    const Timeline picture = build_timeline(
        evidence.trace(), {fs::path(request.file).filename().string(), report.label(), range, true});
    if (!request.svg.empty()) {
        write_file(request.svg, timeline_svg({picture}));
        fmt::print("{}\n", request.svg);
    }
    if (!request.chrome.empty()) {
        std::ostringstream json;
        if (range)
            write_chrome_trace(select_range(evidence.trace(), *range).trace, json);
        else
            write_chrome_trace(evidence.trace(), json);
        write_file(request.chrome, json.view());
        fmt::print("{}  (open it in ui.perfetto.dev or chrome://tracing)\n", request.chrome);
    }
    if (request.svg.empty() && request.chrome.empty())
        fmt::print("{}", timeline_terminal(picture, terminal_columns(), terminal_has_colour()));
    return kFine;
}

}  // namespace

void add_timeline(Session& session) {
    const auto request = std::make_shared<TimelineRequest>();
    Subcommand command(
        session,
        {.name = "timeline",
         .summary = "a picture of a report: terminal, SVG or Perfetto",
         .does =
             "Draws a report of Nsight Systems: NVTX ranges, calls of the CUDA API, and for each stream its "
             "kernels, copies and idle time. Without --svg and --chrome it draws in the terminal, as wide "
             "as that is.",
         .exits = {{"0", "the picture is made"},
                   {"1", "it could not be written, to a full disk for one"},
                   bad_usage(),
                   nothing_could_run("an .nsys-rep is given and there is no nsys to export it")},
         .reads = {{"FILE",
                    "the report. An .nsys-rep is exported to a temporary folder; nothing is left beside it"}},
         .writes = {{"what --svg and --chrome name", "the picture, whole or not at all"}},
         .examples =
             {{"./lab timeline ch05_streams/evidence/h200/fixed.sqlite --range normalise",
               "one range, in the terminal"},
              {"./lab timeline ch05_streams/evidence/h200/buggy.sqlite --svg buggy.svg --chrome buggy.json",
               "for a browser, and for ui.perfetto.dev"}},
         .see_also = {"analyze", "nsys", "run"}},
        [request] { return timeline(*request); });
    command.option(report_word(), request->file);
    command.option(range_option(), request->range);
    command.option({.name = "--svg",
                    .text = "writes an SVG to this file",
                    .value = "FILE",
                    .otherwise = "none is written",
                    .takes = Takes::file},
                   request->svg);
    command.option({.name = "--chrome",
                    .text = "writes Chrome trace JSON, which Perfetto opens, to this file",
                    .value = "FILE",
                    .otherwise = "none is written",
                    .takes = Takes::file},
                   request->chrome);
}

}  // namespace lab
