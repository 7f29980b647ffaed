// Grades one program as an answer to a case: would it pass for the solution?
#pragma once

#include <string>
#include <vector>

#include "course/chapter.h"
#include "course/findings.h"

namespace lab {

/// A finding and how the program does by it.
struct GradedFinding {
    const Finding* finding = nullptr;
    Judged judged;
};

/// All findings of a case, for one program.
struct Grade {
    std::vector<GradedFinding> findings;
    Verdict verdict = Verdict::not_run;  ///< the worst of them
};

/// Every finding by its expectation of the case's second program, the fixed one or the solution. Findings
/// that compare the two programs need the first one's evidence, recorded beside; without it they are not run.
[[nodiscard]] Grade grade_answer(const Case& both, const Evidence& evidence, const Evidence* first = nullptr);

/// Does a finding compare the two programs?
[[nodiscard]] bool compares(const Case& both);

/// Those of the named findings that did not fail, as a list for a sentence; "" if all did.
[[nodiscard]] std::string not_failed(const Grade& grade, const std::vector<std::string>& ids);

}  // namespace lab
