// How often something ran, and how long.
#pragma once

#include <cstdint>
#include <vector>

namespace lab {

struct RunTimes {
    int64_t count = 0, total_ns = 0, min_ns = 0, median_ns = 0, max_ns = 0;
};

/// Of at least one duration; `ns` is left in another order. The total ends at the largest number of 64 bits.
[[nodiscard]] RunTimes times_of(std::vector<int64_t>& ns);

}  // namespace lab
