// Questions whose right answer is computed from evidence, never stored.
#pragma once

#include <string>

#include "course/course.h"
#include "evidence/evidence.h"

namespace lab {

/// The evidence that a question is about: of the learner's own live run if there is one of today's program,
/// else recorded.
struct QuizEvidence {
    Evidence evidence;
    bool live = false;
    std::string label;
    std::filesystem::path path;  ///< the evidence file, for `lab analyze` and `lab timeline`
};

/// Opens it. An Error if nobody has recorded the run that the question is about.
[[nodiscard]] QuizEvidence quiz_evidence(const Course& course, const Chapter& chapter,
                                         const Question& question);

/// The right answer: a number, or the number (from 1) of a choice. An Error if the evidence has none.
[[nodiscard]] double right_answer(const Question& question, const Evidence& evidence);

/// The text of an answer as a number; an Error says what an answer looks like. A choice is given by its
/// letter, a share as a number or in percent; "1.5x" is 1.5 times, "8 B" are 8 bytes, "3 us" are 3 µs.
[[nodiscard]] double parse_answer(const Question& question, const std::string& text);

/// Is the answer within the question's relative tolerance of the right one? Without one it must be equal.
[[nodiscard]] bool is_right(const Question& question, double answer, double right);

}  // namespace lab
