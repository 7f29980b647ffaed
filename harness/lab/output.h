// What commands print beside their tables: the command lines that they run, and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lab {

/// Prints a command line that is about to run, so that it can be copied. To stderr: stdout may be JSON.
void announce_to_terminal(const std::string& line);

/// Prints JSON in ASCII, with U+FFFD for bytes that are no UTF-8.
void print_json(const nlohmann::ordered_json& json);

}  // namespace lab
