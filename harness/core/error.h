// The one exception of the harness: a sentence for the user, and the exit code it ends with.
#pragma once

#include <stdexcept>
#include <string>

#include "core/text.h"

namespace lab {

/// What `lab` returns to the shell.
enum ExitCode {
    kFine = 0,             ///< everything asked for was done, and every finding holds
    kFindingFailed = 1,    ///< a finding does not hold, or a step of the work failed
    kBadInput = 2,         ///< wrong usage or input that cannot be used
    kNothingCouldRun = 77  ///< what was asked for needs something that is not here, such as a GPU
};

/// Thrown with a sentence that says what is wrong, where, and what to do about it. `main` prints it and ends
/// with `exit_code`; nothing else is shown. What it quotes is made safe to print here.
class Error : public std::runtime_error {
  public:
    explicit Error(const std::string& sentence, ExitCode code = kBadInput)
        : std::runtime_error(printable_lines(sentence)), exit_code(code) {}

    ExitCode exit_code;
};

}  // namespace lab
