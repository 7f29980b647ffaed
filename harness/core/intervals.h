// Interval algebra on half-open time intervals [begin, end), in nanoseconds.
//
// Durations of GPU work must never be summed to get a time on the clock, because work overlaps. Everything
// here works on sets of points: a merged list is sorted, disjoint and without empty intervals.
#pragma once

#include <cstdint>
#include <vector>

namespace lab {

/// The points from `begin` on that come before `end`.
struct Interval {
    int64_t begin = 0;  ///< ns
    int64_t end = 0;    ///< ns, not included
    friend bool operator==(const Interval&, const Interval&) = default;
};

/// In any order, and overlapping, unless it is said to be merged.
using Intervals = std::vector<Interval>;

/// The union of all intervals, sorted and disjoint; empty and reversed intervals hold no point and vanish.
[[nodiscard]] Intervals merge(Intervals intervals);

/// Time covered by a merged list, ns.
[[nodiscard]] int64_t total(const Intervals& merged);

/// Points that lie in both merged lists.
[[nodiscard]] Intervals intersect(const Intervals& a, const Intervals& b);

/// Points of merged `a` that do not lie in merged `b`.
[[nodiscard]] Intervals subtract(const Intervals& a, const Intervals& b);

/// Points that at least two of these intervals cover, merged. Intervals that only touch do not overlap.
[[nodiscard]] Intervals overlaps(Intervals intervals);

/// Does the point `at`, in ns, lie in the merged list?
[[nodiscard]] bool contains(const Intervals& merged, int64_t at);

}  // namespace lab
