#include "course/grade.h"

#include <algorithm>

#include "core/text.h"

namespace lab {

namespace {

Judged judge_beside(const Finding& finding, const Evidence& evidence, const Evidence* first) {
    const Judged answer = judge_finding(evidence, finding, 1);
    if (!finding.quotient) return answer;
    const char* const kAlone = "the program it is compared with was not recorded beside it";
    if (!first) return {{std::nullopt, kAlone, false}, Verdict::not_run, kAlone};
    return judge_quotient(finding, judge_finding(*first, finding, 0), answer);
}

}  // namespace

Grade grade_answer(const Case& both, const Evidence& evidence, const Evidence* first) {
    Grade grade;
    grade.verdict = Verdict::pass;
    for (const Finding& finding : both.findings) {
        grade.findings.push_back({&finding, judge_beside(finding, evidence, first)});
        if (finding.asserted()) grade.verdict = worse(grade.verdict, grade.findings.back().judged.verdict);
    }
    return grade;
}

bool compares(const Case& both) {
    return std::any_of(both.findings.begin(), both.findings.end(),
                       [](const Finding& f) { return f.quotient.has_value(); });
}

std::string not_failed(const Grade& grade, const std::vector<std::string>& ids) {
    std::vector<std::string> missed;
    for (const std::string& id : ids) {
        const auto at = std::find_if(grade.findings.begin(), grade.findings.end(),
                                     [&](const GradedFinding& g) { return g.finding->id == id; });
        if (at == grade.findings.end() || at->judged.verdict != Verdict::fail) missed.push_back(id);
    }
    return join(missed, ", ");
}

}  // namespace lab
