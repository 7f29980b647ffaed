// What `lab doctor` found, in words and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "doctor/examination.h"

namespace lab {

/// A check as the terminal shows it: its state, what was found or why it failed, and what to do.
[[nodiscard]] std::string text_of(const Check& check);

/// What a chapter still lacks for live runs; nothing if it is open.
[[nodiscard]] std::vector<std::string> lacks(const Chapter& chapter, const std::vector<Check>& checks);

/// All of it.
[[nodiscard]] nlohmann::ordered_json to_json(const Platform& platform, const std::vector<Check>& checks,
                                             const std::vector<Chapter>& chapters);

}  // namespace lab
