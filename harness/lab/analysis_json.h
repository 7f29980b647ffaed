// The analysis as JSON: what `lab analyze --json` prints. Times are in ns.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "evidence/analysis.h"
#include "evidence/first_steps.h"
#include "evidence/launches.h"

namespace lab {

/// The value; null if there is none.
template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

/// The time of one GPU: a member of `devices`.
[[nodiscard]] nlohmann::json device_json(const DeviceUse& device);

[[nodiscard]] nlohmann::json analysis_json(const Analysis& analysis, const std::vector<RangeUse>& ranges,
                                           const std::vector<FirstStep>& steps);

}  // namespace lab
