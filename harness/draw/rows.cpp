#include "draw/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "core/text.h"

namespace lab {

namespace {

int64_t round_step(int64_t span_ns, int at_most) {
    const int64_t smallest = std::max<int64_t>(1, (span_ns + at_most - 1) / at_most);
    for (int64_t power = 1;; power *= 10)
        for (const int64_t factor : {1, 2, 5})
            if (factor * power >= smallest) return factor * power;
}

}  // namespace

int64_t process_number(int64_t process) {
    return (process >> 24) != 0 ? (process >> 24) & 0xFFFFFF : process;
}

std::string thread_name(int64_t process, int64_t thread) {
    const int64_t number = thread & 0xFFFFFF;
    return number == process_number(process) ? "main thread" : fmt::format("thread {}", number);
}

bool has_several_processes(const Trace& trace) {
    std::set<int64_t> processes;
    const auto see = [&](const auto& records) {
        for (const auto& r : records) processes.insert(r.process);
    };
    see(trace.kernels), see(trace.copies), see(trace.api_calls), see(trace.ranges);
    return processes.size() > 1;
}

std::string hardware_name(const Trace& trace, int64_t device, bool is_only) {
    std::string name = trace.name_of_gpu(device);
    if (!is_only) name = fmt::format("GPU {}{}{}", device, name.empty() ? "" : ", ", name);
    return name.empty() ? "CUDA HW" : fmt::format("CUDA HW ({})", name);
}

std::string name_of(const Copy& copy) {
    if (copy.between_gpus) return "copy GPU to GPU";
    return copy.direction == Direction::set ? "memset" : fmt::format("copy {}", to_string(copy.direction));
}

std::vector<int> lanes_apart(const Intervals& in_order) {
    std::set<std::pair<int64_t, int>> busy;  // end, lane
    std::set<int> free;
    std::vector<int> lanes;
    for (const Interval& i : in_order) {
        for (; !busy.empty() && busy.begin()->first <= i.begin; busy.erase(busy.begin()))
            free.insert(busy.begin()->second);
        if (free.empty()) free.insert(static_cast<int>(busy.size()));  // a new lane, behind the others
        lanes.push_back(*free.begin());
        busy.emplace(std::max(i.begin, i.end), *free.begin());
        free.erase(free.begin());
    }
    return lanes;
}

std::vector<int> lanes_nested(const Intervals& in_order) {
    constexpr std::size_t kMostLanes = 1000;  // what a damaged file needs beyond them shares the last
    std::vector<std::vector<int64_t>> open;   // per lane, the ends of what is open, innermost last
    std::vector<int> lanes;
    for (const Interval& i : in_order) {
        std::size_t lane = 0;
        for (; lane < open.size() && lane + 1 < kMostLanes; ++lane) {
            std::vector<int64_t>& ends = open[lane];
            while (!ends.empty() && ends.back() <= i.begin) ends.pop_back();
            if (ends.empty() || i.end <= ends.back()) break;
        }
        if (lane == open.size()) open.emplace_back();
        open[lane].push_back(i.end);
        lanes.push_back(static_cast<int>(lane));
    }
    return lanes;
}

std::optional<int64_t> parse_ns(const std::string& text) {
    constexpr std::pair<std::string_view, double> kUnits[] = {
        {"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    constexpr double kMost_ns = 1e18;
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    for (const auto& [unit, ns] : kUnits)
        if (end != text.c_str() && trim(end) == unit && number >= 0 && number * ns <= kMost_ns)
            return std::llround(number * ns);
    return std::nullopt;
}

std::vector<Tick> axis_ticks(int64_t span_ns, int at_most, int64_t from_ns) {
    if (span_ns <= 0) return {{0, "0"}};
    const int64_t step = round_step(span_ns, std::max(1, at_most));
    // The unit of the whole axis is the largest that its end holds at least once.
    constexpr std::pair<int64_t, const char*> kUnits[] = {
        {1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "µs"}, {1, "ns"}};
    const auto& unit = *std::find_if(std::begin(kUnits), std::end(kUnits) - 1,
                                     [&](auto u) { return from_ns + span_ns >= u.first; });
    const auto label = [&](int64_t ns) {
        if (ns == 0) return std::string("0");
        return fmt::format("{:.12g} {}", static_cast<double>(ns) / static_cast<double>(unit.first),
                           unit.second);
    };
    std::vector<Tick> ticks;
    for (int64_t i = (from_ns + step - 1) / step; i <= (from_ns + span_ns) / step; ++i)
        ticks.push_back({i * step - from_ns, label(i * step)});
    return ticks;
}

}  // namespace lab
