#include "evidence/tool_results.h"

#include "core/text.h"

namespace lab {

namespace {

// The limits keep a hostile file from filling memory. Real evidence has 72 counters at most.
constexpr const char* kCountersSql =
    "SELECT launch, substr(kernel, 1, 1000), substr(metric, 1, 200), substr(unit, 1, 40), value "
    "FROM main.NCU_METRICS ORDER BY launch, rowid LIMIT 10000";
constexpr const char* kReportsSql =
    "SELECT substr(tool, 1, 40), substr(kind, 1, 200), substr(severity, 1, 40), count, substr(text, 1, 4000) "
    "FROM main.SANITIZER_REPORTS ORDER BY id LIMIT 1000";
constexpr const char* kDumpsSql =
    "SELECT 'cuda-gdb', substr(exception, 1, 200), 'error', 1, substr(text, 1, 4000) FROM main.CORE_DUMPS "
    "LIMIT 10";

}  // namespace

std::string Counter::text() const {
    const std::string number = value ? format_number(*value) : "n/a";
    return unit.empty() || !value ? number : number + " " + printable(unit);
}

std::vector<Counter> counters_in(const Evidence& evidence) {
    std::vector<Counter> counters;
    if (!evidence.was_run("ncu") || !evidence.database().has_table("NCU_METRICS")) return counters;
    for (Statement row = evidence.database().prepare(kCountersSql); row.next();)
        counters.push_back({row.integer(0), row.text(1), row.text(2), row.text(3),
                            row.is_null(4) ? std::nullopt : std::optional(row.number(4))});
    return counters;
}

std::vector<ToolReport> reports_in(const Evidence& evidence) {
    std::vector<ToolReport> reports;
    for (const auto& [table, sql] :
         {std::pair{"SANITIZER_REPORTS", kReportsSql}, {"CORE_DUMPS", kDumpsSql}}) {
        if (!evidence.database().has_table(table)) continue;
        for (Statement row = evidence.database().prepare(sql); row.next();)
            reports.push_back({row.text(0), row.text(1), row.text(2), row.integer(3), row.text(4)});
    }
    return reports;
}

std::vector<std::string> sanitizers_run(const Evidence& evidence) {
    std::vector<std::string> tools;
    for (const char* tool : kSanitizerTools)
        if (evidence.was_run(tool)) tools.emplace_back(tool);
    if (evidence.was_run("cuda-gdb")) tools.emplace_back("cuda-gdb");
    return tools;
}

std::string printed_by_program(const Evidence& evidence) {
    if (!evidence.database().has_table("PROGRAM")) return "";
    Statement row = evidence.database().prepare("SELECT substr(stdout, 1, 20000) FROM main.PROGRAM");
    return row.next() ? row.text(0) : "";
}

}  // namespace lab
