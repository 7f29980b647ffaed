#include "evidence/profiled_launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace lab {

namespace {

/// Rows of one of the tables with the launch that each belongs to. The limit keeps a hostile file from
/// filling memory: a launch has some hundred rows.
template <class Add>
void each_row(const Evidence& evidence, std::vector<ProfiledLaunch>& launches, const char* columns,
              const char* table, const Add& add) {
    Statement row = evidence.database().prepare(
        fmt::format("SELECT launch, {} FROM {} ORDER BY rowid LIMIT 20000", columns, table));
    while (row.next()) {
        const auto of = std::find_if(launches.begin(), launches.end(), [&](const ProfiledLaunch& launch) {
            return launch.launch == row.integer(0);
        });
        if (of != launches.end()) add(*of, row);
    }
}

SourceRow source_row(const Statement& row, bool is_instruction) {
    SourceRow made{row.name(1), row.integer(2), is_instruction ? row.integer(3) : 0, row.name(4)};
    for (std::size_t i = 0; i < kSourceCounters.size(); ++i)
        made.counts[i] = row.integer(static_cast<int>(i) + 5);
    made.stalls = row.name(static_cast<int>(kSourceCounters.size()) + 5);
    return made;
}

}  // namespace

const NcuSection* section_called(const std::string& id_or_name) {
    const auto* const at = std::find_if(
        kNcuSections.begin(), kNcuSections.end(),
        [&](const NcuSection& section) { return section.id == id_or_name || section.name == id_or_name; });
    return at == kNcuSections.end() ? nullptr : at;
}

std::vector<ProfiledLaunch> profiled_launches_in(const Evidence& evidence) {
    std::vector<ProfiledLaunch> launches;
    if (!evidence.was_run("ncu_details")) return launches;
    Statement launch = evidence.database().prepare(
        "SELECT launch, kernel, grid, block FROM NCU_LAUNCHES ORDER BY launch LIMIT 1000");
    while (launch.next())
        launches.push_back({launch.integer(0), launch.name(1), launch.name(2), launch.name(3)});
    each_row(evidence, launches, "section, body, metric, unit, value", "NCU_SECTIONS",
             [](ProfiledLaunch& of, const Statement& row) {
                 const Value value = row.value(5);
                 const bool is_text = std::holds_alternative<std::string>(value);
                 of.metrics.push_back({row.name(1), row.name(2), row.name(3), row.name(4),
                                       is_text ? row.name(5) : format_number(row.number(5), 6)});
             });
    each_row(evidence, launches, "section, rule, kind, substr(text, 1, 4000), speedup_kind, speedup",
             "NCU_RULES", [](ProfiledLaunch& of, const Statement& row) {
                 of.rules.push_back({row.name(1), row.name(2), row.name(3), row.text(4), row.name(5),
                                     row.is_null(6) ? std::nullopt : std::optional(row.number(6))});
             });
    const std::string counters = join({kSourceCounters.begin(), kSourceCounters.end()}, ", ") + ", stalls";
    each_row(evidence, launches, ("file, line, 0, text, " + counters).c_str(), "NCU_SOURCE",
             [](ProfiledLaunch& of, const Statement& row) { of.lines.push_back(source_row(row, false)); });
    each_row(
        evidence, launches, ("file, line, address, text, " + counters).c_str(), "NCU_SASS",
        [](ProfiledLaunch& of, const Statement& row) { of.instructions.push_back(source_row(row, true)); });
    return launches;
}

}  // namespace lab
