#include "course/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "core/error.h"
#include "core/parallel.h"
#include "core/text.h"
#include "evidence/analysis.h"
#include "evidence/views.h"

namespace lab {

namespace {

Measured nothing(std::string reason, bool was_run = true) {
    return {std::nullopt, std::move(reason), was_run};
}

/// Is the word in the SQL, which knows no upper and lower case?
bool mentions(const std::string& sql, std::string_view word) {
    const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
    return std::search(sql.begin(), sql.end(), word.begin(), word.end(), same) != sql.end();
}

/// What the trace views need; the tables PROGRAM, NCU_METRICS and SANITIZER_REPORTS can do without nsys.
bool needs_trace(const std::string& sql, const std::string& metric, const std::optional<std::string>& range) {
    constexpr std::string_view kOfTrace[] = {"kernels",     "copies",      "sets",           "api_calls",
                                             "syncs",       "ranges",      "graph_launches", "graph_runs",
                                             "gpu_metrics", "NVTX_EVENTS", "CUPTI_"};
    // NSYS_RUN counts kernels itself, also where there is no report.
    if (mentions(sql, "NSYS_RUN") && !range) return false;
    return !metric.empty() || range || std::any_of(std::begin(kOfTrace), std::end(kOfTrace), [&](auto word) {
        return mentions(sql, word);
    });
}

/// Which tool that the question is about never looked at the program; "" if none. A question that names no
/// sanitizer tool is about any.
std::string tool_not_run(const Evidence& evidence, const std::string& sql) {
    if (mentions(sql, "NCU_METRICS") && !evidence.was_run("ncu")) return "ncu";
    if (mentions(sql, "gpu_metrics") && !evidence.was_run("gpu_metrics")) return "nsys's sampling of the GPU";
    if (!mentions(sql, "SANITIZER_REPORTS")) return "";
    bool named = false, any = false;
    for (const char* tool : kSanitizerTools) {
        any = any || evidence.was_run(tool);
        if (!mentions(sql, tool)) continue;
        if (!evidence.was_run(tool)) return fmt::format("compute-sanitizer's {}", tool);
        named = true;
    }
    return named || any ? "" : "compute-sanitizer";
}

Measured measure_sql(const Evidence& evidence, const std::string& sql,
                     const std::optional<std::string>& range) {
    const Database& database = evidence.database();
    if (mentions(sql, "ranges")) project_ranges(database);
    const NarrowedViews narrowed(database, range);
    Statement row = database.prepare(sql);
    if (!row.next() || row.is_null(0)) return nothing("the query has no answer: there was nothing to check");
    const Value value = row.value(0);
    if (const auto* text = std::get_if<std::string>(&value)) return {*text, "", true};
    return {row.number(0), "", true};
}

Measured measure_metric(const Evidence& evidence, const std::string& name,
                        const std::optional<std::string>& range) {
    const auto value = metric(analyse(evidence.trace(), range), name);
    if (!value) return nothing(fmt::format("{} is not defined here: there was nothing to check", name));
    return {*value, "", true};
}

int rank(Verdict verdict) {
    switch (verdict) {
        case Verdict::fail:
            return 3;
        case Verdict::inconclusive:
            return 2;
        case Verdict::not_run:
            return 1;
        case Verdict::pass:
            break;
    }
    return 0;
}

std::string why_not(const Judged& judged, const Finding& finding, const Expectation& expected) {
    const std::string unit = finding.unit.empty() ? "" : " " + finding.unit;
    if (judged.verdict == Verdict::inconclusive)
        return fmt::format("{}{} is within the noise (±{}%) around {}", judged.measured.text(), unit,
                           format_number(finding.margin * 100), expected.text);
    return fmt::format("expected {}{}, found {}{}", expected.text, unit, judged.measured.text(), unit);
}

}  // namespace

std::string Measured::text() const {
    if (!value) return was_run ? "nothing" : "not run";
    if (const auto* number = std::get_if<double>(&*value)) return format_number(*number);
    return printable(std::get<std::string>(*value));
}

std::string Measured::text_in(const std::string& unit) const {
    return text() + (!value || unit.empty() || unit == "share" ? "" : " " + unit);
}

Measured measure(const Evidence& evidence, const std::string& sql, const std::string& metric,
                 const std::optional<std::string>& range) {
    if (needs_trace(sql, metric, range) && !evidence.has_trace())
        return nothing(evidence.captured_nothing() ? "nsys captured nothing of this program"
                                                   : "nsys did not run on this program",
                       false);
    if (const std::string tool = tool_not_run(evidence, sql); !tool.empty())
        return nothing(tool + " did not run on this program", false);
    try {
        return metric.empty() ? measure_sql(evidence, sql, range) : measure_metric(evidence, metric, range);
    } catch (const Error& problem) {
        return nothing(problem.what());
    }
}

Asked asked_by(const std::string& sql, const std::string& metric, const std::optional<std::string>& range) {
    return {.trace = needs_trace(sql, metric, range) || mentions(sql, "NSYS_RUN"),
            .counters = mentions(sql, "NCU_METRICS"),
            .reports = mentions(sql, "SANITIZER_REPORTS")};
}

Asked asked_by(const Finding& finding) {
    return asked_by(finding.sql, finding.metric, finding.range);
}

Asked asked_by(const Question& question) {
    return asked_by(question.sql, question.metric, question.range);
}

Asked asked_by(const Case& both) {
    Asked all;
    for (const Finding& finding : both.findings) {
        const Asked asked = asked_by(finding);
        all.trace = all.trace || asked.trace;
        all.counters = all.counters || asked.counters;
        all.reports = all.reports || asked.reports;
    }
    return all;
}

bool asks_nsys(const Finding& finding) {
    return asked_by(finding).trace;
}

Judged judge_finding(const Evidence& evidence, const Finding& finding, std::size_t side) {
    const Evidence* const asked = evidence.recording(finding.recording);
    const bool failed = asked && !finding.recording.empty() && asked->exit_code().value_or(0) != 0;
    const Measured measured =
        !asked   ? nothing(fmt::format("the recording '{}' was not made", finding.recording), false)
        : failed ? nothing(fmt::format("the program failed in the recording '{}'", finding.recording))
                 : measure(*asked, finding.sql, finding.metric, finding.range);
    Judged judged{measured, Verdict::pass, ""};
    if (!judged.measured.was_run) {
        judged.verdict = Verdict::not_run;
        judged.why = judged.measured.missing;
        return judged;
    }
    if (!judged.measured.value) {
        judged.verdict = Verdict::fail;
        judged.why = judged.measured.missing;
        return judged;
    }
    if (!finding.asserted()) return judged;
    const auto problems =
        asked->has_trace() ? capture_problems(asked->database()) : std::vector<std::string>{};
    if (!problems.empty() && needs_trace(finding.sql, finding.metric, finding.range)) {
        judged.verdict = Verdict::inconclusive;
        judged.why = "the capture is not whole: " + join(problems, "; ");
        return judged;
    }
    if (!finding.expect[side]) return judged;
    judged.verdict = judge(*judged.measured.value, *finding.expect[side], finding.margin);
    if (judged.verdict != Verdict::pass) judged.why = why_not(judged, finding, *finding.expect[side]);
    return judged;
}

Judged judge_quotient(const Finding& finding, const Judged& first, const Judged& second) {
    for (const Judged* side : {&first, &second})
        if (side->verdict != Verdict::pass)
            return {nothing(side->why, side->measured.was_run), side->verdict, side->why};
    const Quotient& quotient = *finding.quotient;
    const auto number = [](const Judged& judged) { return std::get_if<double>(&*judged.measured.value); };
    const double* over = number(quotient.over == 0 ? first : second);
    const double* of = number(quotient.over == 0 ? second : first);
    if (!over || !of || *over == 0)
        return {nothing("there is nothing to divide by"), Verdict::fail, "there is nothing to divide by"};
    Judged judged{{*of / *over, "", true}, Verdict::pass, ""};
    judged.verdict = judge(*judged.measured.value, quotient.expected, finding.margin);
    Finding without_unit = finding;
    without_unit.unit.clear();
    if (judged.verdict != Verdict::pass) judged.why = why_not(judged, without_unit, quotient.expected);
    return judged;
}

std::vector<FindingRow> judge_case(const Case& both, const Evidence& first, const Evidence& second) {
    std::vector<FindingRow> rows(both.findings.size());
    const std::array<const Evidence*, 2> sides{&first, &second};
    for_each_in_parallel(2, &first == &second ? 1 : 2, [&](std::size_t side) {
        for (std::size_t i = 0; i < rows.size(); ++i)
            rows[i].sides[side] = judge_finding(*sides[side], both.findings[i], side);
    });
    for (std::size_t i = 0; i < rows.size(); ++i) {
        FindingRow& row = rows[i];
        row.finding = &both.findings[i];
        row.verdict = worse(row.sides[0].verdict, row.sides[1].verdict);
        if (!row.finding->quotient) continue;
        row.quotient = judge_quotient(*row.finding, row.sides[0], row.sides[1]);
        row.verdict = worse(row.verdict, row.quotient->verdict);
    }
    return rows;
}

std::vector<FindingRow> judge_companion(const Companion& companion, const Evidence& evidence) {
    std::vector<FindingRow> rows;
    for (const Finding& finding : companion.findings) {
        const Judged judged = judge_finding(evidence, finding, 0);
        rows.push_back({&finding, {judged, judged}, {}, judged.verdict});
    }
    return rows;
}

Verdict worse(Verdict a, Verdict b) {
    return rank(a) >= rank(b) ? a : b;
}

}  // namespace lab
