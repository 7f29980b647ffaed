// A metric has more samples than a picture has columns: what a column shows of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "draw/timeline.h"

namespace lab {

/// The mean of the curve in each of so many columns that are `column_ns` wide, from `begin_ns` on; nothing
/// where there is no sample.
[[nodiscard]] std::vector<std::optional<double>> columns_of(const Curve& curve, int64_t begin_ns,
                                                            double column_ns, std::size_t columns);

/// "SMs Active %"
[[nodiscard]] std::string label_of(const Curve& curve);

}  // namespace lab
