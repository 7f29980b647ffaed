// lab timeline FILE: a picture of a report, for the terminal, a browser or Perfetto.
#include <fmt/format.h>

#include <fstream>
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
    Subcommand command(session, "timeline", "a picture of a report: terminal, SVG or Perfetto",
                       [request] { return timeline(*request); });
    command.required("FILE", request->file, "an .nsys-rep, or the .sqlite that nsys exports from it");
    command.optional("--range", request->range, "only the work launched in NVTX ranges of this name");
    command.optional("--svg", request->svg, "write an SVG to this file");
    command.optional("--chrome", request->chrome,
                     "write Chrome trace JSON, which Perfetto opens, to this file");
}

}  // namespace lab
