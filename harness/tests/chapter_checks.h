// The checks that every chapter's test.cpp asserts, on recorded evidence: they need no GPU.
//
// A chapter that says `draft = true` may lack evidence. What can be checked without is checked, what cannot
// is skipped, and the test then ends with 77: it has not passed. A draft that lacks nothing fails.
#pragma once

#include <string>

namespace lab {

/// Every finding of the pair holds, on both sides, on fresh evidence.
void check_pair(const std::string& chapter);

/// Every finding of every companion holds, on fresh evidence, and every query for points of the roofline
/// finds some that can be drawn. A chapter without a companion fails the check.
void check_companions(const std::string& chapter);

/// For every exercise: the untouched starter fails for its stated reason and no other, the solution passes,
/// and at least two wrong answers are rejected, each for its own reason. A chapter without exercises fails
/// the check.
void check_exercises(const std::string& chapter);

/// `buggy` and `fixed`, `starter` and `solution` differ only where the lesson is: few lines, and few places.
void check_small_diffs(const std::string& chapter);

/// Every quiz question has an answer in the evidence, and a question with choices names one of them.
void check_quiz(const std::string& chapter);

/// Was anything skipped because a draft lacks its evidence?
[[nodiscard]] bool anything_skipped();

}  // namespace lab
