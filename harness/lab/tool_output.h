// What ncu and compute-sanitizer said about a program, and what it printed, for the terminal and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "evidence/tool_results.h"

namespace lab {

/// Prints a row for every counter below its launch and kernel; nothing if there are none.
void print_counters(const std::vector<Counter>& counters);

/// Prints every report with its number of repetitions, and the tools that looked and report nothing. Of a
/// named program, the first report of each tool stands for the others, and is shortened.
void print_reports(const Evidence& evidence, const std::string& program = "");

/// Prints how the program ended when it ran by itself, and the first lines of its output.
void print_program_output(const Evidence& evidence);

[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<Counter>& counters);
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<ToolReport>& reports);

}  // namespace lab
