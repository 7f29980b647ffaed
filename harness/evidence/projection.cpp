#include "evidence/projection.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "evidence/call_key.h"
#include "evidence/range_selection.h"

namespace lab {

Projection::Projection(const Trace& trace) {
    if (trace.ranges.empty()) return;
    std::unordered_map<CallKey, const ApiCall*, CallKeyHash> call_of;
    call_of.reserve(trace.api_calls.size());
    for (const ApiCall& call : trace.api_calls) call_of.try_emplace({call.process, call.correlation}, &call);
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

std::vector<RangeUse> range_use(const Trace& trace, const std::optional<std::string>& within) {
    const Intervals host = within ? select_range(trace, *within).host : Intervals{};
    const Projection projection(trace);
    std::map<std::pair<std::string, std::string>, RangeUse> by_name;
    for (const Range& range : trace.ranges) {
        if (within && !contains(host, range.start_ns)) continue;
        RangeUse& use = by_name[{range.name, range.domain}];
        use.name = range.name, use.domain = range.domain;
        ++use.count;
        use.host_ns += range.end_ns - range.start_ns;
        if (const auto work = projection.of(range)) {
            // Ranges may nest without end, so that a damaged file's sum can leave 64 bits.
            if (__builtin_add_overflow(use.gpu_ns, work->end - work->begin, &use.gpu_ns))
                use.gpu_ns = INT64_MAX;
        }
    }
    std::vector<RangeUse> uses;
    for (auto& [key, use] : by_name) uses.push_back(std::move(use));
    std::stable_sort(uses.begin(), uses.end(),
                     [](const RangeUse& a, const RangeUse& b) { return a.gpu_ns > b.gpu_ns; });
    return uses;
}

}  // namespace lab
