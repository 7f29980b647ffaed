#include "draw/axis.h"

#include <fmt/format.h>

#include <algorithm>

namespace lab {

namespace {

int64_t round_step(int64_t span_ns, int at_most) {
    const int64_t smallest = std::max<int64_t>(1, (span_ns + at_most - 1) / at_most);
    for (int64_t power = 1;; power *= 10)
        for (const int64_t factor : {1, 2, 5})
            if (factor * power >= smallest) return factor * power;
}

struct Unit {
    int64_t ns;
    const char* name;
};

/// The unit of the whole axis: the largest that the span holds at least once.
Unit unit_of(int64_t span_ns) {
    constexpr Unit kUnits[] = {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "µs"}};
    for (const Unit& unit : kUnits)
        if (span_ns >= unit.ns) return unit;
    return {1, "ns"};
}

}  // namespace

std::vector<Tick> axis_ticks(int64_t span_ns, int at_most, int64_t from_ns) {
    if (span_ns <= 0) return {{0, "0"}};
    const int64_t step = round_step(span_ns, std::max(1, at_most));
    const Unit unit = unit_of(from_ns + span_ns);
    const auto label = [&](int64_t ns) {
        if (ns == 0) return std::string("0");
        return fmt::format("{:.12g} {}", static_cast<double>(ns) / static_cast<double>(unit.ns), unit.name);
    };
    std::vector<Tick> ticks;
    for (int64_t i = (from_ns + step - 1) / step; i <= (from_ns + span_ns) / step; ++i)
        ticks.push_back({i * step - from_ns, label(i * step)});
    return ticks;
}

}  // namespace lab
