#include "core/intervals.h"

#include <algorithm>
#include <iterator>

namespace lab {

Intervals merge(Intervals intervals) {
    std::erase_if(intervals, [](const Interval& i) { return i.begin >= i.end; });
    const auto by_begin = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
    if (!std::is_sorted(intervals.begin(), intervals.end(), by_begin))
        std::sort(intervals.begin(), intervals.end(), by_begin);
    Intervals merged;
    for (const Interval& i : intervals) {
        if (!merged.empty() && i.begin <= merged.back().end)
            merged.back().end = std::max(merged.back().end, i.end);
        else
            merged.push_back(i);
    }
    return merged;
}

int64_t total(const Intervals& merged) {
    int64_t sum = 0;
    for (const Interval& i : merged) sum += i.end - i.begin;
    return sum;
}

Intervals intersect(const Intervals& a, const Intervals& b) {
    Intervals both;
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        const Interval common{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
        if (common.begin < common.end) both.push_back(common);
        (a[i].end < b[j].end ? i : j)++;
    }
    return both;
}

Intervals subtract(const Intervals& a, const Intervals& b) {
    Intervals rest;
    std::size_t j = 0;
    for (Interval left : a) {
        while (j < b.size() && b[j].end <= left.begin) ++j;
        for (std::size_t k = j; k < b.size() && b[k].begin < left.end; ++k) {
            if (left.begin < b[k].begin) rest.push_back({left.begin, b[k].begin});
            left.begin = b[k].end;
        }
        if (left.begin < left.end) rest.push_back(left);
    }
    return rest;
}

Intervals covered_at_least(const Intervals& intervals, int depth) {
    struct Edge {
        int64_t at;
        int step;
    };
    std::vector<Edge> edges;
    edges.reserve(intervals.size() * 2);
    for (const Interval& i : intervals) {
        if (i.begin >= i.end) continue;
        edges.push_back({i.begin, +1});
        edges.push_back({i.end, -1});
    }
    // Ends sort before begins at the same instant: intervals that only touch do not overlap.
    std::sort(edges.begin(), edges.end(),
              [](const Edge& a, const Edge& b) { return a.at != b.at ? a.at < b.at : a.step < b.step; });
    Intervals covered;
    int open = 0;
    for (const Edge& edge : edges) {
        const bool was_deep = open >= depth;
        open += edge.step;
        if (!was_deep && open >= depth) covered.push_back({edge.at, edge.at});
        if (was_deep && open < depth) covered.back().end = edge.at;
    }
    return merge(std::move(covered));
}

bool contains(const Intervals& merged, int64_t at) {
    const auto after = std::upper_bound(merged.begin(), merged.end(), at,
                                        [](int64_t point, const Interval& i) { return point < i.begin; });
    return after != merged.begin() && at < std::prev(after)->end;
}

}  // namespace lab
