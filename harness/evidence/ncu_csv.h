// Reads what `ncu --csv --page raw` prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lab {

/// One metric of one profiled kernel launch.
struct NcuMetric {
    int64_t launch = 0;  ///< ncu's ID: the number of the profiled launch, from 0
    std::string kernel, metric, unit, value;

    /// The value as a number; an Error for text.
    [[nodiscard]] double number() const;
};

/// The rows of the table, wherever it begins: the program's own output and ncu's `==PROF==` lines before and
/// between are passed over, and so is the row of units. Only columns in `metrics` are kept (all of them if it
/// is empty). An Error if there is no table, no row, a wanted metric is missing, or ncu shows `n/a` for it:
/// an absent value is never a zero.
[[nodiscard]] std::vector<NcuMetric> parse_ncu_csv(std::string_view text,
                                                   const std::vector<std::string>& metrics);

}  // namespace lab
