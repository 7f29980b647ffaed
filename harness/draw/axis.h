// Round times for a time axis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lab {

/// A time at which the axis is marked.
struct Tick {
    int64_t ns = 0;     ///< from the beginning of the axis
    std::string label;  ///< "5 ms"; where time is 0, "0"
};

/// Ticks of an axis that begins at `from_ns` and ends at most `span_ns` later, all at multiples of the same
/// 1, 2 or 5 times a power of ten, so that there are at most `at_most` steps. Only "0" where the span is
/// empty.
[[nodiscard]] std::vector<Tick> axis_ticks(int64_t span_ns, int at_most, int64_t from_ns = 0);

}  // namespace lab
