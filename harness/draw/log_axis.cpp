#include "draw/log_axis.h"

#include <array>
#include <cmath>
#include <cstdlib>

#include "core/text.h"

namespace lab {

namespace {

// Of the decade, from 1 to 2, which is nearer than 2 to 5 and 5 to 10 are, and from 9 to 10.
const double kTwo = std::log10(2), kTen = std::log10(10. / 9);

double round_down(double value) {
    const double power = std::pow(10, std::floor(std::log10(value) + 1e-9));
    for (const double digit : {5., 2.})
        if (digit * power <= value * (1 + 1e-9)) return digit * power;
    return power;
}

double round_up(double value) {
    const double power = std::pow(10, std::floor(std::log10(value) + 1e-9));
    for (const double digit : {1., 2., 5.})
        if (digit * power >= value * (1 - 1e-9)) return digit * power;
    return 10 * power;
}

/// Decades from one label to the next, so that each has its room.
int stride_of(double per_decade, double room) {
    for (int stride = 1;; stride *= 10)
        for (const int factor : {1, 2, 5})
            if (factor * stride * per_decade >= room || stride >= 1000) return factor * stride;
}

}  // namespace

double LogRange::decades() const {
    return std::log10(high) - std::log10(low);
}

double LogRange::share_of(double value) const {
    return (std::log10(value) - std::log10(low)) / decades();
}

LogRange round_range(double low, double high) {
    const double missing = 100 / (high / low);
    if (missing > 1) low /= std::sqrt(missing), high *= std::sqrt(missing);
    return {round_down(low), round_up(high)};
}

std::string short_number(double value) {
    constexpr std::array<const char*, 10> kRaised = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    if (value >= 1e-3 * (1 - 1e-9) && value < 9'995) return format_number(value, 3);
    int power = static_cast<int>(std::floor(std::log10(value) + 1e-9));
    std::string digits = format_number(value * std::pow(10, -power), 3);
    if (digits == "10") digits = "1", ++power;
    std::string text = digits == "1" ? "10" : digits + "·10";
    if (power < 0) text += "⁻";
    for (const char digit : std::to_string(std::abs(power)))
        text += kRaised[static_cast<std::size_t>(digit - '0')];
    return text;
}

double LogTick::value() const {
    return digit * std::pow(10, power);
}

std::vector<LogTick> log_ticks(const LogRange& range, double length, const TickRoom& room) {
    const double per_decade = length / range.decades();
    const int stride = stride_of(per_decade, room.label), lines = stride_of(per_decade, room.line);
    const bool three_labels = kTwo * per_decade >= room.label;
    std::vector<LogTick> ticks;
    const int first = static_cast<int>(std::floor(std::log10(range.low) + 1e-9));
    for (int power = first; std::pow(10, power) <= range.high * (1 + 1e-9); ++power)
        for (int digit = 1; digit < 10; ++digit) {
            const bool of_three = digit == 1 || digit == 2 || digit == 5;
            const LogTick tick{digit, power, digit == 1 ? power % stride == 0 : of_three && three_labels};
            const bool has_line =
                digit == 1 ? power % lines == 0 : (of_three ? kTwo : kTen) * per_decade >= room.line;
            const double value = tick.value();
            const bool inside = value >= range.low * (1 - 1e-9) && value <= range.high * (1 + 1e-9);
            if (inside && (tick.labelled || has_line)) ticks.push_back(tick);
        }
    return ticks;
}

}  // namespace lab
