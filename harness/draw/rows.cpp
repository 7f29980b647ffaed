#include "draw/rows.h"

#include <fmt/format.h>

#include <functional>
#include <queue>

namespace lab {

int64_t process_number(int64_t process) {
    return (process >> 24) != 0 ? (process >> 24) & 0xFFFFFF : process;
}

std::string thread_name(int64_t process, int64_t thread) {
    const int64_t number = thread & 0xFFFFFF;
    return number == process_number(process) ? "main thread" : fmt::format("thread {}", number);
}

std::vector<int> lanes_apart(const Intervals& in_order) {
    std::priority_queue<std::pair<int64_t, int>, std::vector<std::pair<int64_t, int>>, std::greater<>>
        busy_until;                                                   // end, lane; the earliest end first
    std::priority_queue<int, std::vector<int>, std::greater<>> free;  // the lowest first
    std::vector<int> lanes;
    int count = 0;
    for (const Interval& i : in_order) {
        for (; !busy_until.empty() && busy_until.top().first <= i.begin; busy_until.pop())
            free.push(busy_until.top().second);
        if (free.empty()) free.push(count++);
        lanes.push_back(free.top());
        busy_until.emplace(std::max(i.begin, i.end), free.top());
        free.pop();
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
