#include "core/intervals.h"

#include <algorithm>
#include <iterator>

namespace lab {

namespace {

void sort_by_begin(Intervals& intervals) {
    const auto by_begin = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
    if (!std::is_sorted(intervals.begin(), intervals.end(), by_begin))
        std::sort(intervals.begin(), intervals.end(), by_begin);
}

}  // namespace

Intervals merge(Intervals intervals) {
    std::erase_if(intervals, [](const Interval& i) { return i.begin >= i.end; });
    sort_by_begin(intervals);
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

Intervals overlaps(Intervals intervals) {
    std::erase_if(intervals, [](const Interval& i) { return i.begin >= i.end; });
    sort_by_begin(intervals);
    Intervals found;
    int64_t latest_end = INT64_MIN;  // of the intervals so far, none of which begins later than the next
    for (const Interval& i : intervals) {
        if (i.begin < latest_end) found.push_back({i.begin, std::min(i.end, latest_end)});
        latest_end = std::max(latest_end, i.end);
    }
    return merge(std::move(found));
}

bool contains(const Intervals& merged, int64_t at) {
    const auto after = std::upper_bound(merged.begin(), merged.end(), at,
                                        [](int64_t point, const Interval& i) { return point < i.begin; });
    return after != merged.begin() && at < std::prev(after)->end;
}

}  // namespace lab
