// What to do first about a program's time on the GPU. Each rule is a number and a threshold; rules come in
// one order, and nothing is weighed against anything else but long gaps against short ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evidence/analysis.h"
#include "evidence/trace.h"

namespace lab {

/// A sentence with its numbers, and what to do or to look at.
struct FirstStep {
    std::string rule;  ///< a member of first_step_rules()
    std::string text;
    std::optional<double> share;  ///< of the span; nothing for failed calls
};

/// What a recording knows of page faults of managed memory, of which a trace has none.
struct PageFaults {
    int64_t gpu_ns = 0;                  ///< that the GPU's take
    bool are_host_faults_known = false;  ///< does the recording hold page faults of the host?
    bool has_host_faults = false;        ///< and does the range?
};

/// At most three, in the order of the rules: those that hold for at least a tenth of the span, or for what
/// their rule says. `analysis` is of this trace; with a range, they are about the range. `file` is named in
/// commands.
[[nodiscard]] std::vector<FirstStep> first_steps(const Trace& trace, const Analysis& analysis,
                                                 const std::string& file, const PageFaults& page_faults = {});

/// The rules in their order.
[[nodiscard]] const std::vector<std::string>& first_step_rules();

}  // namespace lab
