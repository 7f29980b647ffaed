// What ncu and compute-sanitizer said about a program, and what it printed itself, read from its evidence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evidence/evidence.h"

namespace lab {

/// One metric of one launch, as ncu counted it.
struct Counter {
    int64_t launch = 0;  ///< ncu's number of the profiled launch, from 0
    std::string kernel, metric, unit;
    std::optional<double> value;  ///< nothing where ncu has none

    /// "32 sector", "n/a"
    [[nodiscard]] std::string text() const;
};

/// Every counter, launch by launch, in ncu's order; none if ncu never looked.
[[nodiscard]] std::vector<Counter> counters_in(const Evidence& evidence);

/// A report of a tool of compute-sanitizer, and how often it made one like it at the same place.
struct ToolReport {
    std::string tool, kind, severity;
    int64_t count = 0;
    std::string text;  ///< of the first one, in the tool's own lines
};

/// Every report that differs from the others, in the tools' order, and what cuda-gdb read in a core dump;
/// none if they found nothing or never looked.
[[nodiscard]] std::vector<ToolReport> reports_in(const Evidence& evidence);

/// The tools of compute-sanitizer that looked at the program, and cuda-gdb.
[[nodiscard]] std::vector<std::string> sanitizers_run(const Evidence& evidence);

/// What the program printed when it ran by itself; "" if it never did.
[[nodiscard]] std::string printed_by_program(const Evidence& evidence);

}  // namespace lab
