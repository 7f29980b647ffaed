#include "lab/tool_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"

namespace lab {

// nlohmann::json takes its members under their own names.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ToolReport, tool, kind, severity, count, text)

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLines = 12;
constexpr std::size_t kMostPrinted = 60;  ///< lines of the program itself

/// Prints lines as a tool or a program wrote them.
void print_lines(const std::string& text, std::size_t most) {
    const std::vector<std::string> lines = split(trim(text), '\n');
    // One line too many is shown: a sentence that it is there takes as much room.
    const std::size_t shown = lines.size() <= most + 1 ? lines.size() : most;
    for (std::size_t i = 0; i < shown; ++i)
        fmt::print("{}\n", lines[i].empty() ? "" : indented(printable(lines[i])));
    if (shown < lines.size()) fmt::print("    … and {} more lines\n", lines.size() - shown);
}

std::string times(int64_t count) {
    return count == 1 ? "once" : fmt::format("{} times", count);
}

/// The tools that looked and report nothing, as a sentence; "" if there are none.
std::string silent_tools(const Evidence& evidence, const std::vector<ToolReport>& reports) {
    std::vector<std::string> silent = sanitizers_run(evidence);
    for (const ToolReport& report : reports) std::erase(silent, report.tool);
    if (silent.empty()) return "";
    return fmt::format("{} {} nothing", join(silent, ", "), silent.size() == 1 ? "reports" : "report");
}

}  // namespace

void print_counters(const std::vector<Counter>& counters) {
    if (counters.empty()) return;
    Table table({"counter of ncu", "value"}, {Align::left, Align::right});
    std::string launch;
    for (const Counter& counter : counters) {
        const std::string name =
            fmt::format("launch {}  {}", counter.launch, shorten(printable(counter.kernel), 60));
        if (name != launch) table.add({name});
        launch = name;
        table.add({"  " + printable(counter.metric), counter.text()});
    }
    fmt::print("{}\n", table.text());
}

void print_reports(const Evidence& evidence, const std::string& program) {
    const bool all = program.empty();
    const std::string begin = all ? "  " : fmt::format("\n{}  ", bold(program)), end = all ? "\n" : "";
    const std::vector<ToolReport> reports = reports_in(evidence);
    std::string shown;
    for (const ToolReport& report : reports) {
        if (!all && report.tool == shown) continue;
        shown = report.tool;
        fmt::print("{}{} says {}:\n", begin, printable(report.tool), times(report.count));
        print_lines(report.text, all ? 4 * kMostLines : kMostLines);
        const auto more = std::count_if(reports.begin(), reports.end(),
                                        [&](const ToolReport& other) { return other.tool == shown; }) -
                          1;
        if (!all && more > 0)
            fmt::print("    … and {} other kind{} or place{}, each with one report or more\n", more,
                       more > 1 ? "s" : "", more > 1 ? "s" : "");
        fmt::print("{}", end);
    }
    const std::string silent = silent_tools(evidence, reports);
    if (!silent.empty()) fmt::print("{}{}\n{}", begin, silent, end);
}

void print_program_output(const Evidence& evidence) {
    const std::optional<int> code = evidence.exit_code();
    if (!code) return;
    const std::string printed = printed_by_program(evidence);
    const bool silent = trim(printed).empty();
    fmt::print("  the program by itself ended with exit code {}{}\n", *code, silent ? "" : ", and printed:");
    if (!silent) print_lines(printed, kMostPrinted);
    fmt::print("\n");
}

Json to_json(const std::vector<Counter>& counters) {
    Json list = Json::array();
    for (const Counter& counter : counters)
        list.push_back({{"launch", counter.launch},
                        {"kernel", counter.kernel},
                        {"metric", counter.metric},
                        {"value", counter.value ? Json(*counter.value) : Json(nullptr)},
                        {"unit", counter.unit}});
    return list;
}

Json to_json(const std::vector<ToolReport>& reports) {
    return nlohmann::json(reports);
}

}  // namespace lab
