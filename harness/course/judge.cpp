#include "course/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/parallel.h"
#include "core/text.h"
#include "evidence/schema.h"

namespace lab {

namespace {

Judged missing(std::string why, Verdict verdict) {
    return {{std::nullopt, why, verdict != Verdict::not_run}, verdict, why};
}

std::string why_not(const Judged& judged, const Expectation& expected, const std::string& unit,
                    double margin) {
    const std::string in_unit = unit.empty() ? "" : " " + unit;
    if (judged.verdict == Verdict::inconclusive)
        return fmt::format("{}{} is within the noise (±{}%) around {}", judged.measured.text(), in_unit,
                           format_number(margin * 100), expected.text);
    return fmt::format("expected {}{}, found {}{}", expected.text, in_unit, judged.measured.text(), in_unit);
}

void judge_value(Judged& judged, const Expectation& expected, const std::string& unit, double margin) {
    judged.verdict = judge(*judged.measured.value, expected, margin);
    if (judged.verdict != Verdict::pass) judged.why = why_not(judged, expected, unit, margin);
}

/// Judges what both programs measured against each other. A side that could not be measured decides.
Judged judge_quotient(const Finding& finding, const Judged& first, const Judged& second) {
    for (const Judged* side : {&first, &second})
        if (side->verdict != Verdict::pass) return missing(side->why, side->verdict);
    const Quotient& quotient = *finding.quotient;
    const auto number = [](const Judged& judged) { return std::get_if<double>(&*judged.measured.value); };
    const double* over = number(quotient.over == 0 ? first : second);
    const double* of = number(quotient.over == 0 ? second : first);
    if (!over || !of || *over == 0) return missing("there is nothing to divide by", Verdict::fail);
    Judged judged{{*of / *over, "", true}, Verdict::pass, ""};
    judge_value(judged, quotient.expected, "", finding.margin);
    return judged;
}

FindingRow row_of(const Finding& finding, std::vector<Judged> sides) {
    FindingRow row{&finding, std::move(sides), {}, Verdict::pass};
    for (const Judged& side : row.sides) row.verdict = worse(row.verdict, side.verdict);
    return row;
}

int rank(Verdict verdict) {
    constexpr std::array kRising{Verdict::pass, Verdict::not_run, Verdict::inconclusive, Verdict::fail};
    return static_cast<int>(std::find(kRising.begin(), kRising.end(), verdict) - kRising.begin());
}

}  // namespace

std::string FindingRow::why(const std::vector<Program>& programs) const {
    std::vector<std::string> sentences;
    if (quotient && quotient->verdict != Verdict::pass) sentences.push_back(quotient->why);
    for (std::size_t side = 0; side < sides.size(); ++side)
        if (!sides[side].why.empty())
            sentences.push_back(sides.size() > 1 ? programs[side].name + ": " + sides[side].why
                                                 : sides[side].why);
    return join(sentences, "; ");
}

Judged judge_finding(const Evidence& evidence, const Finding& finding, std::size_t side) {
    const Evidence* const asked = evidence.recording(finding.recording);
    if (!asked)
        return missing(fmt::format("the recording '{}' was not made", finding.recording), Verdict::not_run);
    if (!finding.recording.empty() && asked->exit_code().value_or(0) != 0)
        return missing(fmt::format("the program failed in the recording '{}'", finding.recording),
                       Verdict::fail);
    Judged judged{measure(*asked, finding.query), Verdict::pass, ""};
    if (!judged.measured.was_run) return missing(judged.measured.missing, Verdict::not_run);
    if (!judged.measured.value)
        return finding.may_be_missing ? judged : missing(judged.measured.missing, Verdict::fail);
    if (!finding.asserted()) return judged;
    if (finding.query.needs.trace)
        if (const auto problems = capture_problems(asked->database()); !problems.empty()) {
            judged.verdict = Verdict::inconclusive;
            judged.why = "the capture is not whole: " + join(problems, "; ");
            return judged;
        }
    if (finding.expect[side]) judge_value(judged, *finding.expect[side], finding.unit, finding.margin);
    return judged;
}

std::vector<FindingRow> judge_case(const Case& of, const std::vector<const Evidence*>& evidence) {
    std::vector<std::vector<Judged>> judged(evidence.size());
    const bool share = evidence.size() > 1 && evidence[0] == evidence[1];
    for_each_in_parallel(evidence.size(), share ? 1 : 2, [&](std::size_t side) {
        for (const Finding& finding : of.findings)
            judged[side].push_back(judge_finding(*evidence[side], finding, side));
    });
    std::vector<FindingRow> rows;
    for (std::size_t i = 0; i < of.findings.size(); ++i) {
        std::vector<Judged> sides;
        for (std::vector<Judged>& side : judged) sides.push_back(std::move(side[i]));
        FindingRow& row = rows.emplace_back(row_of(of.findings[i], std::move(sides)));
        if (!row.finding->quotient) continue;
        row.quotient = judge_quotient(*row.finding, row.sides[0], row.sides[1]);
        row.verdict = worse(row.verdict, row.quotient->verdict);
    }
    return rows;
}

std::vector<std::string> Grade::not_passed() const {
    std::vector<std::string> ids;
    for (const FindingRow& row : rows)
        if (row.finding->asserted() && row.verdict != Verdict::pass) ids.push_back(row.finding->id);
    return ids;
}

Grade grade_answer(const Case& of, const Evidence& answer, const Evidence* first) {
    Grade grade{{}, Verdict::pass};
    for (const Finding& finding : of.findings) {
        Judged judged = judge_finding(answer, finding, 1);
        if (finding.quotient)
            judged = first ? judge_quotient(finding, judge_finding(*first, finding, 0), judged)
                           : missing("the program it is compared with was not recorded beside it",
                                     Verdict::not_run);
        grade.rows.push_back(row_of(finding, {std::move(judged)}));
        if (finding.asserted()) grade.verdict = worse(grade.verdict, grade.rows.back().verdict);
    }
    return grade;
}

Verdict worse(Verdict a, Verdict b) {
    return rank(a) >= rank(b) ? a : b;
}

Verdict worst_of(const std::vector<FindingRow>& rows) {
    Verdict worst = Verdict::pass;
    for (const FindingRow& row : rows) worst = worse(worst, row.verdict);
    return worst;
}

}  // namespace lab
