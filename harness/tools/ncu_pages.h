// Reads what `ncu --import REPORT --csv` prints of its pages Details and Source.
#pragma once

#include <string_view>
#include <vector>

#include "evidence/profiled_launch.h"

namespace lab {

/// The launches of a report with their metrics and rules, of `--page details`. Columns may stand in any
/// order, and those of rules may be missing. Of a section's body, `--print-details body`, only numbers above
/// 0 are kept. An Error if there is no table, or if it lacks a column without which it says nothing.
[[nodiscard]] std::vector<ProfiledLaunch> parse_details_page(std::string_view text);

/// Adds the source lines and instructions of one launch, of `--page source --print-source cuda,sass`; those
/// whose counters are all 0 are left out. Below a line ncu may list its instructions twice, which count once;
/// one that is inlined stands below the line that calls, too. Returns sentences on what cannot be read: rows,
/// or the whole page.
[[nodiscard]] std::vector<std::string> add_source_page(std::string_view text, ProfiledLaunch& launch);

/// The first launch of each kernel in each size: further ones say the same.
[[nodiscard]] std::vector<ProfiledLaunch> without_repetitions(std::vector<ProfiledLaunch> launches);

}  // namespace lab
