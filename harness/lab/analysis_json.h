// What `lab analyze --json` prints of a trace: the numbers of its tables, under stable names.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "evidence/analysis.h"
#include "evidence/launches.h"

namespace lab {

/// The analysis and the use of each NVTX range, with times in ns.
[[nodiscard]] nlohmann::ordered_json analysis_json(const Analysis& analysis,
                                                   const std::vector<RangeUse>& ranges);

}  // namespace lab
