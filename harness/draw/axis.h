// Round times for a time axis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lab {

/// A time at which the axis is marked.
struct Tick {
    int64_t ns = 0;
    std::string label;  ///< "5 ms"; the first one is "0"
};

/// Ticks from 0 to at most `span_ns`, all the same 1, 2 or 5 times a power of ten apart, so that there are at
/// most `at_most` steps. Only "0" where the span is empty.
[[nodiscard]] std::vector<Tick> axis_ticks(int64_t span_ns, int at_most);

}  // namespace lab
