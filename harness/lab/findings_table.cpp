#include "lab/findings_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

using CellsOf = std::function<std::vector<std::string>(const FindingRow&)>;

/// A row for each finding: what it says, the value of each program, and the cells of further columns.
Table table_of(const Case& of, const std::vector<FindingRow>& rows, const std::vector<std::string>& further,
               const CellsOf& further_cells) {
    std::vector<std::string> header{"finding"};
    for (const Program& program : of.programs)
        header.push_back(of.programs.size() == 1 ? "found" : program.name);
    std::vector<Align> align(header.size(), Align::right);
    align[0] = Align::left;
    append(header, further);
    Table table(std::move(header), std::move(align));
    for (const FindingRow& row : rows) {
        std::vector<std::string> cells{of.said_by(*row.finding)};
        for (const Judged& side : row.sides) cells.push_back(side.measured.text_in(row.finding->unit));
        append(cells, further_cells(row));
        table.add(std::move(cells));
    }
    return table;
}

/// "== 1", or "any".
std::string demand_of(const Finding& finding, std::size_t side) {
    return finding.expect[side] ? finding.expect[side]->text_in(finding.unit) : kAny;
}

/// What is expected of the case's programs: "== 1  |  == 4", "fixed / buggy >= 4" or "shown only"; or of the
/// right one alone. A table breaks it at the bar alone.
std::string expected_of(const Case& of, const Finding& finding, bool right_alone) {
    if (finding.ratio) return of.text_of(*finding.ratio);
    if (!finding.asserted()) return unbroken("shown only");
    if (of.programs.size() == 1) return demand_of(finding, 0);
    const std::string right = unbroken(demand_of(finding, kRight));
    return right_alone ? right : unbroken(demand_of(finding, kFaulty) + "  |") + "  " + right;
}

/// Does what is claimed of both programs hold? A tick would look like praise of the slow one. A value that is
/// only shown needs no verdict, unless it is missing.
std::string mark_of(const FindingRow& row) {
    if (row.verdict != Verdict::pass) return verdict_mark(row.verdict);
    return row.finding->asserted() ? "holds" : "";
}

/// What the further recordings of these rows are for: "nvtx: the range steady".
std::vector<std::string> recordings_of(const Case& of, const std::vector<FindingRow>& rows) {
    std::vector<std::string> lines;
    for (const Recording& further : of.programs[0].further)
        if (!further.says.empty() && std::any_of(rows.begin(), rows.end(), [&](const FindingRow& row) {
                return row.finding->recording == further.name;
            }))
            lines.push_back(fmt::format(
                "{}: {}{}", further.name, further.says,
                further.arguments.empty() ? "" : fmt::format(" (`{}`)", join(further.arguments, " "))));
    return lines;
}

std::string asserted_in_markdown(const Case& of, const FindingRow& row) {
    const Finding& f = *row.finding;
    if (f.ratio) return fmt::format("`{}`: {}", of.text_of(*f.ratio), row.ratio->measured.text());
    if (!f.asserted()) return "shown only";
    if (of.programs.size() == 1) return fmt::format("`{}`", demand_of(f, 0));
    const auto quoted = [&](std::size_t side) {
        return f.expect[side] ? "`" + demand_of(f, side) + "`" : kAny;
    };
    return fmt::format("{}, then {}", quoted(kFaulty), quoted(kRight));
}

/// The rows to look at first.
std::vector<FindingRow> key_rows(const std::vector<FindingRow>& rows) {
    std::vector<FindingRow> key;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(key),
                 [](const FindingRow& row) { return row.finding->key; });
    return key;
}

/// What these rows say and the value of each program, without what is asserted.
Table few_of(const Case& of, const std::vector<FindingRow>& rows) {
    return table_of(of, rows, {}, [](const FindingRow&) { return std::vector<std::string>{}; });
}

/// Every row, what is asserted of it, and what further recordings are for.
std::string all_findings_markdown(const Case& of, const std::vector<FindingRow>& rows) {
    const Table table = table_of(of, rows, {"asserted"}, [&](const FindingRow& row) {
        return std::vector{asserted_in_markdown(of, row)};
    });
    std::string recordings;
    for (const std::string& recording : recordings_of(of, rows))
        recordings += "- recording " + recording + "\n";
    return table.markdown() + (recordings.empty() ? "" : "\n" + recordings);
}

Json value_json(const Measured& measured) {
    if (!measured.value) return nullptr;
    if (const auto* number = std::get_if<double>(&*measured.value)) return *number;
    return std::get<std::string>(*measured.value);
}

Json text_or_null(const std::optional<Expectation>& expectation) {
    return expectation ? Json(expectation->text) : Json(nullptr);
}

}  // namespace

std::string expected_of_answer(const Case& of, const Finding& finding) {
    return expected_of(of, finding, true);
}

std::string key_findings_text(const Case& of, const std::vector<FindingRow>& rows, const std::string& all) {
    const std::vector<FindingRow> key = key_rows(rows);
    const bool holds = std::all_of(rows.begin(), rows.end(),
                                   [](const FindingRow& row) { return row.verdict == Verdict::pass; });
    if (key.empty() || !holds) return findings_text(of, rows);
    return few_of(of, key).text() + fmt::format("  {} more rows, and what each program must show: {}\n",
                                                rows.size() - key.size(), all);
}

std::string findings_text(const Case& of, const std::vector<FindingRow>& rows) {
    const Table table = table_of(of, rows, {"expected", "claim"}, [&](const FindingRow& row) {
        return std::vector{expected_of(of, *row.finding, false), unbroken(mark_of(row))};
    });
    std::string text = table.text();
    for (const std::string& recording : recordings_of(of, rows))
        text += paragraph("  recording " + recording, 4) + "\n";
    for (const FindingRow& row : rows)
        if (row.verdict != Verdict::pass)
            text += paragraph(fmt::format("  {}: {}", row.finding->id, row.why(of.programs)), 4) + "\n";
    return text;
}

std::string grade_text(const Case& of, const Grade& grade) {
    Table table({"finding", "expected", "found", "verdict"},
                {Align::left, Align::left, Align::right, Align::left});
    std::vector<std::string> shown;
    std::string reasons;
    for (const FindingRow& row : grade.rows) {
        const Finding& f = *row.finding;
        const Judged& found = row.sides[0];
        table.add({of.said_by(f), expected_of_answer(of, f), found.measured.text_in(f.ratio ? "" : f.unit),
                   f.asserted() ? unbroken(verdict_mark(row.verdict)) : ""});
        const bool in_table = found.verdict == Verdict::fail && found.measured.value.has_value();
        if (!f.asserted() || found.verdict == Verdict::pass || in_table) continue;
        if (std::find(shown.begin(), shown.end(), found.why) != shown.end()) continue;
        shown.push_back(found.why);
        reasons += paragraph(fmt::format("  {}: {}", f.says, found.why), 4) + "\n";
    }
    return table.text() + "\n" + reasons;
}

std::string findings_markdown(const Case& of, const std::vector<FindingRow>& rows) {
    const std::vector<FindingRow> key = key_rows(rows);
    if (!key.empty() && key.size() < rows.size()) {
        return few_of(of, key).markdown() +
               fmt::format(
                   "\n<details>\n<summary>All {} rows, and what each program must show</summary>\n\n{}"
                   "\n</details>\n",
                   rows.size(), all_findings_markdown(of, rows));
    }
    return all_findings_markdown(of, rows);
}

Json findings_json(const Case& of, const std::vector<FindingRow>& rows) {
    Json list = Json::array();
    for (const FindingRow& row : rows) {
        const Finding& finding = *row.finding;
        Json item{{"id", finding.id}, {"says", finding.says}, {"unit", finding.unit}}, expect;
        if (of.programs.size() == 1) {
            item["value"] = value_json(row.sides[0].measured);
            expect = text_or_null(finding.expect[0]);
        } else {
            for (std::size_t side = 0; side < of.programs.size(); ++side) {
                item[of.programs[side].name] = value_json(row.sides[side].measured);
                expect[of.programs[side].name] = text_or_null(finding.expect[side]);
            }
        }
        if (row.ratio) {
            const std::size_t over = finding.ratio->divisor;
            const std::string name = of.programs[1 - over].name + "_over_" + of.programs[over].name;
            item[name] = value_json(row.ratio->measured);
            expect = {{name, finding.ratio->expected.text}};
        }
        item["expect"] = std::move(expect);
        item["verdict"] = to_string(row.verdict);
        list.push_back(std::move(item));
    }
    return list;
}

std::string verdict_mark(Verdict verdict) {
    switch (verdict) {
        case Verdict::pass:
            return green("✓ pass");
        case Verdict::fail:
            return red("✗ fail");
        case Verdict::inconclusive:
            return yellow("? inconclusive");
        case Verdict::not_run:
            break;
    }
    return yellow("- not run");
}

int exit_code_of(Verdict verdict) {
    if (verdict == Verdict::pass) return kFine;
    return verdict == Verdict::not_run ? kNothingCouldRun : kFindingFailed;
}

}  // namespace lab
