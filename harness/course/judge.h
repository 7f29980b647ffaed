// The judge: puts a case's questions to evidence, and says what is to be thought of the answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "course/case.h"
#include "evidence/evidence.h"

namespace lab {

/// An answer and what is to be thought of it.
struct Judged {
    Measured measured;
    Verdict verdict = Verdict::not_run;
    std::string why;  ///< for every verdict but pass: a sentence
};

/// A finding for each program that was judged. The verdict is the worst of them.
struct FindingRow {
    const Finding* finding = nullptr;
    std::vector<Judged> sides;
    std::optional<Judged> quotient;  ///< of a finding that compares the two
    Verdict verdict = Verdict::not_run;

    /// What is wrong, for every verdict but pass: a sentence for each side at fault.
    [[nodiscard]] std::string why(const std::vector<Program>& programs) const;
};

/// Judges one program by one side's expectation, in the recording that the finding is asked of. What is only
/// shown has none, nor has a comparison: it passes as measured. A value that is missing fails, unless the
/// finding says that it may be.
[[nodiscard]] Judged judge_finding(const Evidence& evidence, const Finding& finding, std::size_t side);

/// All findings of a case, in its order, each program by its own evidence; the rows point into the case. Two
/// programs are judged at once, so they must not share an open file.
[[nodiscard]] std::vector<FindingRow> judge_case(const Case& of,
                                                 const std::vector<const Evidence*>& evidence);

/// How one program does as an answer to a case: each finding by what is expected of the right program, in
/// rows of one side.
struct Grade {
    std::vector<FindingRow> rows;
    Verdict verdict = Verdict::not_run;  ///< the worst of what is asserted

    /// The asserted findings that it did not pass.
    [[nodiscard]] std::vector<std::string> not_passed() const;
};

/// Findings that compare the two programs need the first one's evidence, recorded beside; without it they are
/// not run.
[[nodiscard]] Grade grade_answer(const Case& of, const Evidence& answer, const Evidence* first = nullptr);

/// fail before inconclusive before not_run before pass.
[[nodiscard]] Verdict worse(Verdict a, Verdict b);
[[nodiscard]] Verdict worst_of(const std::vector<FindingRow>& rows);

}  // namespace lab
