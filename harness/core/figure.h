// A number in the output of a program: "kernel 4.21 ms" holds 4.21.
#pragma once

#include <regex.h>

#include <memory>
#include <string>

namespace lab {

/// A regular expression that says where the number stands: its first group. POSIX extended syntax, as grep -E
/// knows it; not std::regex, which overflows the stack on a line of 100,000 characters.
class FigurePattern {
  public:
    /// Error for an expression that is none or has no group.
    explicit FigurePattern(const std::string& expression);

    /// The number in the first match. Error where nothing matches, and for what is no finite number above 0;
    /// `whose` names the output.
    [[nodiscard]] double find(const std::string& output, const std::string& whose) const;

    [[nodiscard]] const std::string& expression() const { return expression_; }

  private:
    std::string expression_;
    std::unique_ptr<regex_t, void (*)(regex_t*)> compiled_;
};

}  // namespace lab
