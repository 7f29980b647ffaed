#include "core/statistics.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace lab {

namespace {

/// P(k heads in n throws of a coin), by logarithms, since n choose k is no double from n = 1030 on.
double heads_exactly(std::size_t k, std::size_t n) {
    const auto heads = static_cast<double>(k), throws = static_cast<double>(n);
    return std::exp(std::lgamma(throws + 1) - std::lgamma(heads + 1) - std::lgamma(throws - heads + 1) -
                    throws * std::log(2.0));
}

}  // namespace

double median(std::vector<double> values) {
    if (values.empty()) throw Error("there is no median of nothing");
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::optional<MedianInterval> median_interval(std::vector<double> values, double confidence) {
    MedianInterval interval;
    double fewer = 0;  // P(fewer than `rank` values on one side)
    for (std::size_t rank = 1; rank <= values.size() / 2; ++rank) {
        fewer += heads_exactly(rank - 1, values.size());
        if (1 - 2 * fewer < confidence) break;
        interval.rank = rank;
        interval.coverage = 1 - 2 * fewer;
    }
    if (interval.rank == 0) return std::nullopt;
    std::sort(values.begin(), values.end());
    interval.low = values[interval.rank - 1];
    interval.high = values[values.size() - interval.rank];
    return interval;
}

}  // namespace lab
