// Puts a case's questions to evidence and judges the answers.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "course/chapter.h"
#include "evidence/evidence.h"

namespace lab {

/// The answer to a question: a number or a text, or the reason why there is none.
struct Measured {
    std::optional<std::variant<double, std::string>> value;
    std::string missing;  ///< why there is no value
    bool was_run = true;  ///< false if the tool that would know never ran
    /// The value for a person: "nothing" where there is none, "not run" where nobody looked.
    [[nodiscard]] std::string text() const;

    /// The text with the unit behind it; a share needs none, and what has no value has none.
    [[nodiscard]] std::string text_in(const std::string& unit) const;
};

/// Asks one question. A query without a row, or whose value is NULL, found nothing to check: no value.
[[nodiscard]] Measured measure(const Evidence& evidence, const std::string& sql, const std::string& metric,
                               const std::optional<std::string>& range);

/// What questions are put to. What is neither of the three is about what the program printed.
struct Asked {
    bool trace = false;     ///< a recording of nsys
    bool counters = false;  ///< what ncu counted
    bool reports = false;   ///< what compute-sanitizer said
};

[[nodiscard]] Asked asked_by(const std::string& sql, const std::string& metric,
                             const std::optional<std::string>& range);

[[nodiscard]] Asked asked_by(const Finding& finding);
[[nodiscard]] Asked asked_by(const Question& question);

/// What any finding of a case asks.
[[nodiscard]] Asked asked_by(const Case& both);

/// Can only a recording of nsys answer it? Other findings are about the program's output, ncu or a sanitizer.
[[nodiscard]] bool asks_nsys(const Finding& finding);

/// An answer and what is to be thought of it.
struct Judged {
    Measured measured;
    Verdict verdict = Verdict::not_run;
    std::string why;  ///< for every verdict but pass: a sentence
};

/// Judges one program by one side's expectation, in the recording that the finding is asked of. A time has
/// none, nor has a comparison: it passes as measured.
[[nodiscard]] Judged judge_finding(const Evidence& evidence, const Finding& finding, std::size_t side);

/// Judges what both programs measured against each other, for a finding that compares them. A side that could
/// not be measured decides the verdict.
[[nodiscard]] Judged judge_quotient(const Finding& finding, const Judged& first, const Judged& second);

/// A finding for both programs of a case. The verdict is the worst of them.
struct FindingRow {
    const Finding* finding = nullptr;
    std::array<Judged, 2> sides;
    std::optional<Judged> quotient;  ///< of a finding that compares the two
    Verdict verdict = Verdict::not_run;
};

/// All findings of a case, in its order, both programs at once; the rows point into it. The two must not
/// share an open file, unless they are the same.
[[nodiscard]] std::vector<FindingRow> judge_case(const Case& both, const Evidence& first,
                                                 const Evidence& second);

/// A companion's findings. Their verdicts are of its one program: both sides of a row are the same.
[[nodiscard]] std::vector<FindingRow> judge_companion(const Companion& companion, const Evidence& evidence);

/// fail before inconclusive before not_run before pass.
[[nodiscard]] Verdict worse(Verdict a, Verdict b);

}  // namespace lab
