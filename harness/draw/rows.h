// The rows of pictures and of the Chrome trace: names of rows, which boxes share a lane, and the
// round times of the axis below them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/intervals.h"
#include "evidence/trace.h"

namespace lab {

// nsys packs host and process above the 24 bits of a thread id, and the host above the 24 of a process id;
// plain ids are smaller than that and stay what they are.

/// The id of a process, as ps shows it.
[[nodiscard]] int64_t process_number(int64_t process);

/// "main thread", or "thread 4711" as ps -T numbers it; the main thread has the number of its process.
[[nodiscard]] std::string thread_name(int64_t process, int64_t thread);

/// Was more than one process captured, so that names of rows have to tell them apart?
[[nodiscard]] bool has_several_processes(const Trace& trace);

/// "CUDA HW (NVIDIA H200)", or "CUDA HW (GPU 1, NVIDIA H200)" unless it is the only one.
[[nodiscard]] std::string hardware_name(const Trace& trace, int64_t device, bool is_only);

/// "copy host to device", ..., "copy GPU to GPU" or "memset".
[[nodiscard]] std::string name_of(const Copy& copy);

/// Sorts boxes by their begin, and where that is the same, longest first; returns their times.
template <class Box>
Intervals in_order_of_time(std::vector<Box>& boxes) {
    std::stable_sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) {
        return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
    });
    Intervals times;
    for (const Box& box : boxes) times.push_back({box.begin_ns, box.end_ns});
    return times;
}

/// A lane for each interval, so that no two in a lane overlap: the lowest one that is free when it begins.
[[nodiscard]] std::vector<int> lanes_apart(const Intervals& in_order);

/// A lane for each interval, so that any two in a lane either do not overlap or lie one inside the other, as
/// calls on a stack do.
[[nodiscard]] std::vector<int> lanes_nested(const Intervals& in_order);

/// Reads a time on the axis, "20ms" or "1.5 us", in ns; nothing if it is none from 0 on with its unit.
[[nodiscard]] std::optional<int64_t> parse_ns(const std::string& text);

/// A time at which the axis is marked.
struct Tick {
    int64_t ns = 0;     ///< from the beginning of the axis
    std::string label;  ///< "5 ms"; where time is 0, "0"
};

/// Ticks of an axis that begins at `from_ns` and ends at most `span_ns` later, all at multiples of the same
/// 1, 2 or 5 times a power of ten, so that there are at most `at_most` steps. Only "0" where the span is
/// empty.
[[nodiscard]] std::vector<Tick> axis_ticks(int64_t span_ns, int at_most, int64_t from_ns = 0);

}  // namespace lab
