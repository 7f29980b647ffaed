// The blocks of a chapter's slides.md, from its chapter.toml, its case and its exercises' wrong answers.
#pragma once

#include <string>

#include "course/course.h"

namespace lab {

/// "look", or "quiz ID ID": the questions, as a list. An Error names an id that is none.
[[nodiscard]] std::string questions_block(const Chapter& chapter, const std::string& argument);

/// The same arguments: the right answers by recorded evidence, each with its reason.
[[nodiscard]] std::string answers_block(const Course& course, const Chapter& chapter,
                                        const std::string& argument);

/// "ID ID ID": these findings of the pair, with the values of both programs. An Error names an id that is
/// none.
[[nodiscard]] std::string proof_block(const Course& course, const Chapter& chapter,
                                      const std::string& argument);

/// "EXERCISE ANSWER": what this wrong answer changes. An Error if there is no such answer.
[[nodiscard]] std::string wrong_block(const Course& course, const Chapter& chapter,
                                      const std::string& argument);

/// The same arguments: the findings that reject it, and why.
[[nodiscard]] std::string why_block(const Chapter& chapter, const std::string& argument);

}  // namespace lab
