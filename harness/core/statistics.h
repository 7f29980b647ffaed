// Medians, and how far to trust them, whatever the distribution.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace lab {

/// The middle value, or the mean of the two middle ones. Error without a value.
[[nodiscard]] double median(std::vector<double> values);

/// Between two of the values, `low` and `high`, lies the median of the distribution they come from.
struct MedianInterval {
    double low = 0, high = 0;
    std::size_t rank = 0;  ///< low is the rank-th smallest value, high the rank-th largest
    double coverage = 0;   ///< the probability that such an interval holds the median, or more
};

/// The narrowest such interval that holds the median with at least this probability; nothing where even the
/// smallest and the largest value do not, as with five values at 95 %.
///
/// Each value lies below the median with probability 1/2, so the interval misses where fewer than `rank` of
/// the n values fall on one side of it: coverage = 1 - 2 P(fewer than `rank` heads in n throws of a coin).
/// That is exact for independent values of any continuous distribution; where values can be equal, the true
/// coverage is higher. Source: H. A. David and H. N. Nagaraja, Order Statistics, 3rd edition, chapter 7.
[[nodiscard]] std::optional<MedianInterval> median_interval(std::vector<double> values, double confidence);

}  // namespace lab
