#include "course/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "evidence/schema.h"

namespace lab {

namespace {

Judged missing(std::string why, Verdict verdict) {
    return {{std::nullopt, why, verdict != Verdict::not_run}, verdict, why};
}

void judge_value(Judged& judged, const Expectation& expected, const std::string& unit, double margin) {
    judged.verdict = judge(*judged.measured.value, expected, margin);
    const std::string found = judged.measured.text_in(unit);
    const std::string demand = expected.text_in(unit);
    if (judged.verdict == Verdict::inconclusive)
        judged.why = fmt::format("{} is within the noise (±{} %) around {}", found,
                                 format_number(margin * 100), demand);
    else if (judged.verdict == Verdict::fail)
        judged.why = fmt::format("expected {}{}, found {}", demand, unit_behind_number(unit), found);
}

/// Judges the ratio of what both programs measured. A side that could not be measured decides.
Judged judge_ratio(const Finding& finding, const Judged& faulty, const Judged& right) {
    for (const Judged* side : {&faulty, &right})
        if (side->verdict != Verdict::pass) return missing(side->why, side->verdict);
    const Ratio& ratio = *finding.ratio;
    const auto number = [](const Judged& judged) { return std::get_if<double>(&*judged.measured.value); };
    const double* const divisor = number(ratio.divisor == kFaulty ? faulty : right);
    const double* const dividend = number(ratio.divisor == kFaulty ? right : faulty);
    if (!divisor || !dividend || *divisor == 0)
        return missing("there is nothing to divide by", Verdict::fail);
    Judged judged{{*dividend / *divisor, "", true}, Verdict::pass, ""};
    judge_value(judged, ratio.expected, "", finding.margin);
    return judged;
}

FindingRow row_of(const Finding& finding, std::vector<Judged> sides) {
    FindingRow row{&finding, std::move(sides), {}, Verdict::pass};
    for (const Judged& side : row.sides) row.verdict = std::max(row.verdict, side.verdict);
    return row;
}

}  // namespace

std::string FindingRow::why(const std::vector<Program>& programs) const {
    std::vector<std::string> sentences;
    if (ratio && ratio->verdict != Verdict::pass) sentences.push_back(ratio->why);
    for (std::size_t side = 0; side < sides.size(); ++side)
        if (!sides[side].why.empty())
            sentences.push_back(sides.size() > 1 ? programs[side].name + ": " + sides[side].why
                                                 : sides[side].why);
    return join(sentences, "; ");
}

Judged judge_finding(const Evidence& evidence, const Finding& finding, std::size_t side) {
    const Evidence* const recording = evidence.recording(finding.recording);
    if (!recording)
        return missing(fmt::format("the recording '{}' was not made", finding.recording), Verdict::not_run);
    if (!finding.recording.empty() && !finding.may_fail && recording->exit_code().value_or(0) != 0)
        return missing(fmt::format("the program failed in the recording '{}'", finding.recording),
                       Verdict::fail);
    Judged judged{measure(*recording, finding.query), Verdict::pass, ""};
    if (!judged.measured.was_run) return missing(judged.measured.missing, Verdict::not_run);
    if (!judged.measured.value)
        return finding.may_be_missing || (finding.asserted() && !finding.asserts(side))
                   ? judged
                   : missing(judged.measured.missing, Verdict::fail);
    if (!finding.asserts(side)) return judged;
    if (finding.query.needs.trace)
        if (const auto problems = capture_problems(recording->database()); !problems.empty()) {
            judged.verdict = Verdict::inconclusive;
            judged.why = "the capture is not whole: " + join(problems, "; ");
            return judged;
        }
    if (finding.expect[side]) judge_value(judged, *finding.expect[side], finding.unit, finding.margin);
    return judged;
}

bool is_left_out(const Finding& finding, const Evidence& evidence) {
    return finding.draft && !evidence.recording(finding.recording);
}

std::vector<FindingRow> judge_case(const Case& of, const std::vector<Evidence>& evidence) {
    std::vector<FindingRow> rows;
    for (const Finding& finding : of.findings) {
        if (std::any_of(evidence.begin(), evidence.end(),
                        [&](const Evidence& side) { return is_left_out(finding, side); }))
            continue;
        std::vector<Judged> sides;
        for (std::size_t side = 0; side < evidence.size(); ++side)
            sides.push_back(judge_finding(evidence[side], finding, side));
        FindingRow& row = rows.emplace_back(row_of(finding, std::move(sides)));
        if (!row.finding->ratio) continue;
        row.ratio = judge_ratio(*row.finding, row.sides[kFaulty], row.sides[kRight]);
        row.verdict = std::max(row.verdict, row.ratio->verdict);
    }
    return rows;
}

std::vector<std::string> Grade::not_passed() const {
    std::vector<std::string> ids;
    for (const FindingRow& row : rows)
        if (row.finding->asserted() && row.verdict != Verdict::pass) ids.push_back(row.finding->id);
    return ids;
}

Grade grade_answer(const Case& of, const Evidence& answer, const Evidence* faulty) {
    Grade grade{{}, Verdict::pass};
    for (const Finding& finding : of.findings) {
        if (is_left_out(finding, answer) || (faulty && is_left_out(finding, *faulty)) ||
            (finding.asserted() && !finding.asserts(kRight)))
            continue;
        Judged judged = judge_finding(answer, finding, kRight);
        if (finding.ratio)
            judged = faulty ? judge_ratio(finding, judge_finding(*faulty, finding, kFaulty), judged)
                            : missing("the program it is compared with was not recorded beside it",
                                      Verdict::not_run);
        grade.rows.push_back(row_of(finding, {std::move(judged)}));
        if (finding.asserted()) grade.verdict = std::max(grade.verdict, grade.rows.back().verdict);
    }
    return grade;
}

Verdict worst_of(const std::vector<FindingRow>& rows) {
    Verdict worst = Verdict::pass;
    for (const FindingRow& row : rows) worst = std::max(worst, row.verdict);
    return worst;
}

}  // namespace lab
