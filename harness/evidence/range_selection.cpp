#include "evidence/range_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/error.h"
#include "core/text.h"
#include "evidence/call_key.h"

namespace lab {

namespace {

using RangeOfCall = std::unordered_map<CallKey, std::size_t, CallKeyHash>;

[[noreturn]] void fail_unknown(const Trace& trace, const std::string& name) {
    constexpr std::size_t kMostNames = 12;
    std::vector<std::string> names;
    for (const Range& range : trace.ranges) {
        const std::string quoted = "'" + printable(range.name) + "'";
        if (names.size() < kMostNames && std::find(names.begin(), names.end(), quoted) == names.end())
            names.push_back(quoted);
    }
    throw Error(fmt::format("the trace has no NVTX range '{}'; it has {}", printable(name),
                            names.empty() ? "none at all" : join(names, ", ")));
}

/// Keeps the work whose launching call lies in one of the ranges, and widens that range's window to it: until
/// they are merged, a GPU has one window for each range.
template <class Work>
void keep(const std::vector<Work>& all, const RangeOfCall& range_of, std::size_t ranges,
          std::vector<Work>& kept, WindowsOfGpu& windows) {
    for (const Work& work : all) {
        const auto at = range_of.find({work.process, work.correlation});
        if (at == range_of.end()) continue;
        kept.push_back(work);
        if (work.start_ns == work.end_ns) continue;  // holds no time, so it widens nothing
        Intervals& of_gpu = windows.try_emplace(work.device, ranges, Interval{}).first->second;
        Interval& w = of_gpu[at->second];
        w = w.begin == w.end ? Interval{work.start_ns, work.end_ns}
                             : Interval{std::min(w.begin, work.start_ns), std::max(w.end, work.end_ns)};
    }
}

}  // namespace

RangeSelection select_range(const Trace& trace, const std::string& name) {
    std::vector<const Range*> ranges;
    for (const Range& range : trace.ranges)
        if (range.name == name) ranges.push_back(&range);
    if (ranges.empty()) fail_unknown(trace, name);

    RangeSelection selection;
    selection.trace.names = trace.names;
    selection.trace.launch_sizes = trace.launch_sizes;
    selection.trace.gpus = trace.gpus;
    RangeOfCall range_of;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const Range& range = *ranges[i];
        selection.trace.ranges.push_back(range);
        selection.host.push_back({range.start_ns, range.end_ns});
        const auto first =
            std::lower_bound(trace.api_calls.begin(), trace.api_calls.end(), range.start_ns,
                             [](const ApiCall& call, int64_t start_ns) { return call.start_ns < start_ns; });
        for (auto call = first; call != trace.api_calls.end() && call->start_ns < range.end_ns; ++call) {
            const bool same_thread = range.crosses_threads || call->thread == range.thread;
            if (call->process != range.process || !same_thread) continue;
            if (range_of.try_emplace({call->process, call->correlation}, i).second)
                selection.trace.api_calls.push_back(*call);
        }
    }
    std::stable_sort(selection.trace.api_calls.begin(), selection.trace.api_calls.end(),
                     [](const ApiCall& a, const ApiCall& b) { return a.start_ns < b.start_ns; });
    keep(trace.kernels, range_of, ranges.size(), selection.trace.kernels, selection.windows);
    keep(trace.copies, range_of, ranges.size(), selection.trace.copies, selection.windows);
    for (auto& [device, windows] : selection.windows) windows = merge(std::move(windows));
    selection.host = merge(selection.host);
    return selection;
}

}  // namespace lab
