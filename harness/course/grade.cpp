#include "course/grade.h"

#include <algorithm>

#include "core/text.h"

namespace lab {

Grade grade_answer(const Case& both, const Evidence& evidence) {
    Grade grade;
    grade.verdict = Verdict::pass;
    for (const Finding& finding : both.findings) {
        grade.findings.push_back({&finding, judge_finding(evidence, finding, 1)});
        if (finding.expect[1]) grade.verdict = worse(grade.verdict, grade.findings.back().judged.verdict);
    }
    return grade;
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
