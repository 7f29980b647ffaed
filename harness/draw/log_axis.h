// A logarithmic axis: decades, and what to write and draw at them.
#pragma once

#include <string>
#include <vector>

namespace lab {

/// What an axis shows: from low to high, both above 0.
struct LogRange {
    double low = 1, high = 10;

    [[nodiscard]] double decades() const;  ///< powers of ten from low to high

    /// Where `value` lies: 0 at low, 1 at high, outside of these beyond them.
    [[nodiscard]] double share_of(double value) const;
};

/// The smallest range that holds `low` to `high`, has at least two decades, and ends at 1, 2 or 5 times
/// powers of ten.
[[nodiscard]] LogRange round_range(double low, double high);

/// A number at which the axis is marked.
struct LogTick {
    int digit = 1, power = 0;  ///< the value is digit times 10 to the power
    bool labelled = false;     ///< else only a fine line

    [[nodiscard]] double value() const;
};

/// "0.05", "20", and where that is long "2·10⁻⁷": up to three significant digits.
[[nodiscard]] std::string short_number(double value);

/// The space that a tick takes along an axis, in the unit of its length.
struct TickRoom {
    double label = 0, line = 0;
};

/// Ticks of an axis of this length, in order. Labelled are 1, 2 and 5 of each decade where there is room,
/// else each decade, else every so many; unlabelled are the others that have room for a line.
[[nodiscard]] std::vector<LogTick> log_ticks(const LogRange& range, double length, const TickRoom& room);

}  // namespace lab
