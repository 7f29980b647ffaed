#include "evidence/projection.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lab {

Projection::Projection(const Trace& trace) {
    std::map<std::pair<int64_t, int64_t>, const ApiCall*> call_of;  // by process and correlation
    for (const ApiCall& call : trace.api_calls)
        call_of.emplace(std::pair{call.process, call.correlation}, &call);
    const auto add = [&](const auto& all) {
        for (const auto& work : all) {
            const auto at = call_of.find({work.process, work.correlation});
            if (at == call_of.end()) continue;
            const ApiCall& call = *at->second;
            launched_.push_back({call.start_ns, call.process, call.thread, {work.start_ns, work.end_ns}});
        }
    };
    add(trace.kernels);
    add(trace.copies);
    std::sort(launched_.begin(), launched_.end(),
              [](const Launched& a, const Launched& b) { return a.called_ns < b.called_ns; });
}

std::optional<Interval> Projection::of(const Range& range) const {
    std::optional<Interval> found;
    auto at = std::lower_bound(launched_.begin(), launched_.end(), range.start_ns,
                               [](const Launched& l, int64_t start_ns) { return l.called_ns < start_ns; });
    for (; at != launched_.end() && at->called_ns < range.end_ns; ++at) {
        if (at->process != range.process || !(range.crosses_threads || at->thread == range.thread)) continue;
        if (!found) found = at->work;
        found = {std::min(found->begin, at->work.begin), std::max(found->end, at->work.end)};
    }
    return found;
}

}  // namespace lab
