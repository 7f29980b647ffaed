// Shows what ncu and compute-sanitizer said, in their own words, wherever a command is about it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "evidence/tool_results.h"

namespace lab {

/// A row for every counter below its launch and kernel; nothing if there are none.
void print_counters(const std::vector<Counter>& counters);

/// Every report with its number of repetitions, and the tools that looked and report nothing.
void print_reports(const Evidence& evidence);

/// The first report of each tool, shortened, and how much more there is. `who`: the program.
void print_first_reports(const std::string& who, const Evidence& evidence);

/// How the program ended when it ran by itself, and the first lines that it printed.
void print_program_output(const Evidence& evidence);

[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<Counter>& counters);
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<ToolReport>& reports);

}  // namespace lab
