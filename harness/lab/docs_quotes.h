// Numbers in the running text of the Markdown files, each with a comment that says what it is:
//
//   with one ring 3.6<!--buggy.one_ring_ms--> ms become 0.82<!--fixed.one_ring_ms--> ms
//
// The comment stands directly behind the number and holds no blank, so that no line breaks in it. In it are
// names and arithmetic, + - * / and parentheses:
//
//   fixed.step_ms                   a finding of the chapter's pair, by its id, in its unit
//   ceilings.tf32                   of a companion
//   capture_attention.starter.ID    of an exercise; instead of starter the name of a recorded answer, too
//   ch06.fixed.step_ms              of another chapter; pages outside of chapters name theirs as well
//   ceilings.tensor_clock[2]        the second number of a finding that is a text
//
// The number keeps the decimals that it is written with.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "course/course.h"
#include "evidence/evidence.h"

namespace lab {

/// Looks quoted numbers up in recorded evidence. What it has opened once stays open.
class Quotes {
  public:
    /// Both must outlive it; the chapters are those of the course.
    Quotes(const Course& course, const std::vector<Chapter>& chapters)
        : course_(course), chapters_(chapters) {}

    /// `line` with each quoted number as evidence has it. `page` is the chapter that the page belongs to,
    /// null if to none. A draft's numbers stay as they are. An Error says what a comment names that is not
    /// there.
    [[nodiscard]] std::string filled(const std::string& line, const Chapter* page);

  private:
    [[nodiscard]] const Evidence& evidence_of(const Program& program);
    [[nodiscard]] double value_of(const std::string& name, const Chapter* page);
    [[nodiscard]] double result_of(const std::string& expression, const Chapter* page);

    const Course& course_;
    const std::vector<Chapter>& chapters_;
    std::map<std::string, Evidence> evidence_;  ///< by the program's source
};

}  // namespace lab
