#include "evidence/run_times.h"

#include <algorithm>
#include <numeric>

namespace lab {

RunTimes times_of(std::vector<int64_t>& ns) {
    RunTimes times{.count = static_cast<int64_t>(ns.size())};
    for (const int64_t d : ns)
        if (__builtin_add_overflow(times.total_ns, d, &times.total_ns)) times.total_ns = INT64_MAX;
    const auto [least, most] = std::minmax_element(ns.begin(), ns.end());
    times.min_ns = *least, times.max_ns = *most;
    const auto middle = ns.begin() + static_cast<std::ptrdiff_t>(ns.size() / 2);
    std::nth_element(ns.begin(), middle, ns.end());
    times.median_ns = *middle;
    if (ns.size() % 2 == 0)  // the mean of the two middle ones, as nsys has it
        times.median_ns = std::midpoint(*std::max_element(ns.begin(), middle), *middle);
    return times;
}

}  // namespace lab
