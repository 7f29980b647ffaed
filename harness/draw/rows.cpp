#include "draw/rows.h"

#include <fmt/format.h>

#include <set>
#include <utility>

namespace lab {

int64_t process_number(int64_t process) {
    return (process >> 24) != 0 ? (process >> 24) & 0xFFFFFF : process;
}

std::string thread_name(int64_t process, int64_t thread) {
    const int64_t number = thread & 0xFFFFFF;
    return number == process_number(process) ? "main thread" : fmt::format("thread {}", number);
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
    std::vector<std::vector<int64_t>> open;  // per lane, the ends of what is open, innermost last
    std::vector<int> lanes;
    for (const Interval& i : in_order) {
        std::size_t lane = 0;
        for (; lane < open.size(); ++lane) {
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

}  // namespace lab
