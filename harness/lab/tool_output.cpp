#include "lab/tool_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLines = 12;

/// A tool's lines as it printed them, no more than `most`.
void print_lines(const std::string& text, std::size_t most) {
    const std::vector<std::string> lines = split(trim(text), '\n');
    // One line too many is shown: a sentence that it is there takes as much room.
    const std::size_t shown = lines.size() <= most + 1 ? lines.size() : most;
    for (std::size_t i = 0; i < shown; ++i) fmt::print("    {}\n", printable(lines[i]));
    if (shown < lines.size()) fmt::print("    … and {} more lines\n", lines.size() - shown);
}

std::string times(int64_t count) {
    return count == 1 ? "once" : fmt::format("{} times", count);
}

std::vector<ToolReport> reports_of(const std::vector<ToolReport>& all, const std::string& tool) {
    std::vector<ToolReport> reports;
    std::copy_if(all.begin(), all.end(), std::back_inserter(reports),
                 [&](const ToolReport& report) { return report.tool == tool; });
    return reports;
}

/// Tools in the order in which they report; then those of compute-sanitizer that report nothing.
struct Tools {
    std::vector<std::string> reporting, silent;
};

Tools tools_of(const Evidence& evidence, const std::vector<ToolReport>& reports) {
    Tools tools;
    const auto is_in = [](const std::vector<std::string>& list, const std::string& tool) {
        return std::find(list.begin(), list.end(), tool) != list.end();
    };
    for (const ToolReport& report : reports)
        if (!is_in(tools.reporting, report.tool)) tools.reporting.push_back(report.tool);
    for (const std::string& tool : sanitizers_run(evidence))
        if (!is_in(tools.reporting, tool)) tools.silent.push_back(tool);
    return tools;
}

std::string say_nothing(const std::vector<std::string>& tools) {
    return fmt::format("{} {} nothing", join(tools, ", "), tools.size() == 1 ? "reports" : "report");
}

/// "2 more that differ: API cudaErrorLaunchFailure, Leak"
std::string others(const std::vector<ToolReport>& reports) {
    std::vector<std::string> kinds;
    for (std::size_t i = 1; i < reports.size(); ++i) {
        const std::string kind = printable(reports[i].kind);
        if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    }
    return fmt::format("{} more that differ{}: {}", reports.size() - 1, reports.size() == 2 ? "s" : "",
                       join(kinds, ", "));
}

}  // namespace

void print_counters(const std::vector<Counter>& counters) {
    if (counters.empty()) return;
    Table table({"counter of ncu", "value"}, {Table::Align::left, Table::Align::right});
    const Counter* launch = nullptr;
    for (const Counter& counter : counters) {
        if (!launch || launch->launch != counter.launch || launch->kernel != counter.kernel)
            table.add(
                {fmt::format("launch {}  {}", counter.launch, shorten(printable(counter.kernel), 60)), ""});
        launch = &counter;
        table.add({"  " + printable(counter.metric), counter.text()});
    }
    fmt::print("{}\n", table.text(2, table_columns()));
}

void print_reports(const Evidence& evidence) {
    const std::vector<ToolReport> all = reports_in(evidence);
    const Tools tools = tools_of(evidence, all);
    for (const std::string& tool : tools.reporting)
        for (const ToolReport& report : reports_of(all, tool)) {
            fmt::print("  {} says {}:\n", printable(tool), times(report.count));
            print_lines(report.text, 4 * kMostLines);
            fmt::print("\n");
        }
    if (!tools.silent.empty()) fmt::print("  {}\n\n", say_nothing(tools.silent));
}

void print_first_reports(const std::string& who, const Evidence& evidence) {
    const std::vector<ToolReport> all = reports_in(evidence);
    const Tools tools = tools_of(evidence, all);
    for (const std::string& tool : tools.reporting) {
        const std::vector<ToolReport> reports = reports_of(all, tool);
        fmt::print("\n{}  {} says {}:\n", bold(who), printable(tool), times(reports[0].count));
        print_lines(reports[0].text, kMostLines);
        if (reports.size() > 1) fmt::print("    … and {}\n", others(reports));
    }
    if (!tools.silent.empty()) fmt::print("\n{}  {}\n", bold(who), say_nothing(tools.silent));
}

void print_program_output(const Evidence& evidence) {
    const std::optional<int> code = evidence.exit_code();
    if (!code) return;
    const std::vector<std::string> lines = split(trim(printed_by_program(evidence)), '\n');
    const bool printed = !lines.front().empty();
    fmt::print("  the program by itself ended with exit code {}{}\n", *code, printed ? ", and printed:" : "");
    const auto width = static_cast<std::size_t>(terminal_columns()) - 4;
    for (std::size_t i = 0; printed && i < std::min(lines.size(), 2 * kMostLines); ++i)
        fmt::print("{}\n", lines[i].empty() ? "" : "    " + shorten(printable(lines[i]), width));
    if (lines.size() > 2 * kMostLines) fmt::print("    … and {} more lines\n", lines.size() - 2 * kMostLines);
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
    Json list = Json::array();
    for (const ToolReport& report : reports)
        list.push_back({{"tool", report.tool},
                        {"kind", report.kind},
                        {"severity", report.severity},
                        {"count", report.count},
                        {"text", report.text}});
    return list;
}

}  // namespace lab
