// ncu's pages Details and Source as text, as the terminal and the Markdown pages show them.
#pragma once

#include <string>

#include "evidence/profiled_launch.h"

namespace lab {

constexpr int kPageColumns = 80;  ///< that Markdown pages show

/// A section by its id or name, with what its rules say, and with the tables of its body. An Error names
/// those that there are if the launch has none such.
[[nodiscard]] std::string section_text(const ProfiledLaunch& launch, const std::string& section,
                                       bool with_body, int columns = kPageColumns);

/// The source lines with the most stall samples, `most` of them.
[[nodiscard]] std::string hot_lines_text(const ProfiledLaunch& launch, std::size_t most,
                                         int columns = kPageColumns);

}  // namespace lab
