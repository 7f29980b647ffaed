// The judge: measures each finding of a case in evidence, and compares the value with what is expected.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "course/case.h"
#include "evidence/evidence.h"

namespace lab {

/// A measured value and its verdict.
struct Judged {
    Measured measured;
    Verdict verdict = Verdict::not_run;
    std::string why;  ///< for every verdict but pass: a sentence
};

/// A finding, judged for each program. The verdict is the worst of them.
struct FindingRow {
    const Finding* finding = nullptr;
    std::vector<Judged> sides;
    std::optional<Judged> ratio;  ///< of a finding that compares the two
    Verdict verdict = Verdict::not_run;

    /// What is wrong, for every verdict but pass: a sentence for each side at fault.
    [[nodiscard]] std::string why(const std::vector<Program>& programs) const;
};

/// Judges one program by the expectation of a side. A finding that is only shown, or that compares both
/// programs, passes as measured. A missing value fails, unless the finding allows it.
[[nodiscard]] Judged judge_finding(const Evidence& evidence, const Finding& finding, std::size_t side);

/// Does this finding ask a recording that is a draft and has not been made?
[[nodiscard]] bool is_left_out(const Finding& finding, const Evidence& evidence);

/// Judges all findings of a case, in its order, each program by its own evidence, but for those that are left
/// out. The rows point into the case.
[[nodiscard]] std::vector<FindingRow> judge_case(const Case& of, const std::vector<Evidence>& evidence);

/// How one program does as an answer to a case: it is judged as the right program, in rows of one side.
struct Grade {
    std::vector<FindingRow> rows;
    Verdict verdict = Verdict::not_run;  ///< the worst of the asserted findings

    /// The asserted findings that it did not pass.
    [[nodiscard]] std::vector<std::string> not_passed() const;
};

/// Findings that compare the two programs need the faulty one's evidence, recorded beside; without it they
/// are not run. Left out are drafts, and findings about the faulty program alone.
[[nodiscard]] Grade grade_answer(const Case& of, const Evidence& answer, const Evidence* faulty = nullptr);

[[nodiscard]] Verdict worst_of(const std::vector<FindingRow>& rows);

}  // namespace lab
