#include "draw/lanes.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace lab {

namespace {

template <class T>
using SmallestFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;

}  // namespace

std::vector<int> lanes_apart(const std::vector<Interval>& by_begin) {
    SmallestFirst<std::pair<int64_t, int>> busy_until;  // end, lane
    SmallestFirst<int> free;
    std::vector<int> lanes;
    lanes.reserve(by_begin.size());
    int count = 0;
    for (const Interval& i : by_begin) {
        for (; !busy_until.empty() && busy_until.top().first <= i.begin; busy_until.pop())
            free.push(busy_until.top().second);
        if (free.empty()) free.push(count++);
        lanes.push_back(free.top());
        busy_until.emplace(std::max(i.begin, i.end), free.top());
        free.pop();
    }
    return lanes;
}

std::vector<int> lanes_nested(const std::vector<Interval>& by_begin) {
    std::vector<std::vector<int64_t>> open;  // per lane, the ends of what is open, innermost last
    std::vector<int> lanes;
    lanes.reserve(by_begin.size());
    for (const Interval& i : by_begin) {
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
