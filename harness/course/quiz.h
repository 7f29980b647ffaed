// Questions whose right answer is computed from evidence, never stored.
#pragma once

#include <string>

#include "course/course.h"
#include "evidence/evidence.h"

namespace lab {

/// The evidence that answers a question.
struct QuizEvidence {
    Evidence evidence;
    bool live = false;
    std::string label;
    std::filesystem::path path;  ///< for `lab analyze` and `lab timeline`
};

/// Opens the learner's own live run of today's program if it has an answer, else the recorded one. An Error
/// if neither is there.
[[nodiscard]] QuizEvidence quiz_evidence(const Course& course, const Chapter& chapter,
                                         const Question& question);

/// The right answer: a number, or the number (from 1) of a choice. An Error if the evidence has none.
[[nodiscard]] double right_answer(const Question& question, const Evidence& evidence);

/// Reads an answer: a number with or without its unit, a share also in percent, a choice by its letter or in
/// full. To a question in percent a bare 0.02 is an Error: it may be meant as a share. An Error says how to
/// write it.
[[nodiscard]] double parse_answer(const Question& question, const std::string& text);

/// The unit of an answer as it is asked for: "µs", or "share, as 0.5 or 50%"; "" if it has none.
[[nodiscard]] std::string unit_asked(const Question& question);

/// Without a tolerance the answer must be equal.
[[nodiscard]] bool is_right(const Question& question, double answer, double right);

/// The right answer as it is shown: a number with its unit, a choice's words, or a name. An Error if the
/// evidence has none.
[[nodiscard]] std::string right_words(const Question& question, const Evidence& evidence);

/// Is this text the right answer? A name counts without its template arguments and parameters too, and in
/// either case. An Error says how to write it.
[[nodiscard]] bool is_right(const Question& question, const Evidence& evidence, const std::string& text);

}  // namespace lab
