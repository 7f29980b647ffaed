// The findings of a case as a table: on the terminal, on a page, and as JSON. They are laid out nowhere else.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "course/case.h"
#include "course/judge.h"

namespace lab {

/// What is expected of the right program, which an answer is held against: "== 4", "fixed / buggy >= 4".
[[nodiscard]] std::string expected_of_answer(const Case& of, const Finding& finding);

/// The table for the terminal: a column for each program, then what is expected, and the verdict. Below it
/// stand what further recordings are for, and the reasons of every verdict but pass.
[[nodiscard]] std::string findings_text(const Case& of, const std::vector<FindingRow>& rows);

/// The key rows alone, if all hold and the case names some; then the command that shows all.
[[nodiscard]] std::string key_findings_text(const Case& of, const std::vector<FindingRow>& rows,
                                            const std::string& all);

/// The same of a graded answer. Reasons that the table shows are not repeated.
[[nodiscard]] std::string grade_text(const Case& of, const Grade& grade);

/// The table for a page, and below it what further recordings are for. Where the case names key rows, these
/// come first, and all others are folded.
[[nodiscard]] std::string findings_markdown(const Case& of, const std::vector<FindingRow>& rows);

/// An array of {id, says, unit, NAME: value of each program, expect, verdict}; of a single program the value
/// is called `value`.
[[nodiscard]] nlohmann::ordered_json findings_json(const Case& of, const std::vector<FindingRow>& rows);

/// A verdict in its colour, with a mark that reads without colour.
[[nodiscard]] std::string verdict_mark(Verdict verdict);

/// A verdict as an exit code of lab.
[[nodiscard]] int exit_code_of(Verdict verdict);

}  // namespace lab
