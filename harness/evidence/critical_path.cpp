#include "evidence/critical_path.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/error.h"
#include "evidence/communication.h"
#include "evidence/idle.h"
#include "evidence/launches.h"

namespace lab {

namespace {

constexpr int64_t kShortestWait_ns = 2000;    ///< of a call whose work is done
constexpr int64_t kShortestReturn_ns = 1000;  ///< from the end of work to that of the call that waits for it
constexpr int64_t kUnexplained_ns = 5000;     ///< work that starts so late came after more than is known:
constexpr int64_t kJustBefore_ns = 3000;      ///< after what ended within this time before it
constexpr std::size_t kCandidates = 8;        ///< of what ended last
constexpr int64_t kLaunchedEarly_ns =
    10'000;  ///< a launch so long before is not why work starts when it does
constexpr std::size_t kKernelsTried = 5;
constexpr std::size_t kMostLinks = 50'000'000;

/// The value that a twentieth of all are below; `usual` if there is none.
int64_t low_of(std::vector<int64_t> values, int64_t usual) {
    if (values.empty()) return usual;
    const auto low = values.begin() + std::ssize(values) / 20;
    std::nth_element(values.begin(), low, values.end());
    return *low;
}

/// The last in `starts_by_time`, indices of `all`, that starts at this time or before; -1 if none does.
template <class T>
int32_t last_by(const std::vector<int32_t>& starts_by_time, const std::vector<T>& all, int64_t time_ns) {
    const auto after = std::upper_bound(starts_by_time.begin(), starts_by_time.end(), time_ns,
                                        [&](int64_t t, int32_t i) { return t < all[i].start_ns; });
    return after == starts_by_time.begin() ? -1 : *(after - 1);
}

}  // namespace

const char* to_string(PathKind kind) {
    constexpr std::array kNames{"host", "call", "launch", "gap", "compute", "communication", "copy", "wait"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::string name_of(const Trace& trace, const PathLink& link) {
    if (link.kind == PathKind::host) return "";
    return link.name >= 0 ? trace.name_of(link.name) : short_name_of(static_cast<Direction>(-1 - link.name));
}

Dependencies::Dependencies(const Trace& trace, const StreamTables& tables,
                           const std::optional<std::string>& range)
    : trace_(trace),
      order_(work_order(trace, tables)),
      is_communication_(communication_names(trace)),
      is_range_(range.has_value()) {
    if (range && !has_range(trace, *range)) throw Error(no_such_range(trace, *range));
    if (order_.work.empty()) throw Error("the report holds no GPU work, so it has no critical path");
    const int64_t start_ns = order_.work[0].start_ns;
    if (!range) parts_.push_back({start_ns, start_ns, kNothing, kNothing});
    part_of_.assign(order_.work.size(), range ? kNothing : 0);
    if (range) add_parts(*range);
    after_.assign(order_.work.size(), kNothing);
    measure_delays();
    bind_work();
    bind_calls();
}

/// Of ranges of one name on one thread, one that begins inside another belongs to that one.
void Dependencies::add_parts(const std::string& range) {
    std::map<int64_t, std::vector<int32_t>> parts_of;  // by thread
    for (const Range& r : trace_.ranges) {
        std::vector<int32_t>& parts = parts_of[r.thread];
        if (r.name != range || (!parts.empty() && r.start_ns < parts_[parts.back()].end_ns)) continue;
        const auto thread = order_.threads.find(r.thread);
        const auto call_at = [&](int64_t time_ns) {
            return thread == order_.threads.end() ? -1 : last_by(thread->second, order_.calls, time_ns);
        };
        parts.push_back(static_cast<int32_t>(parts_.size()));
        parts_.push_back({r.start_ns, r.end_ns, call_at(r.start_ns), call_at(r.end_ns)});
    }
    for (std::size_t i = 0; i < order_.work.size(); ++i) {
        if (order_.work[i].call < 0) continue;
        const Call& call = order_.calls[order_.work[i].call];
        const int32_t part = last_by(parts_of[trace_.api_calls[call.index].thread], parts_, call.start_ns);
        if (part >= 0 && call.start_ns < parts_[part].end_ns) part_of_[i] = part;
    }
}

void Dependencies::measure_delays() {
    std::vector<int64_t> launches, gaps;
    for (std::size_t i = 0; i < order_.work.size(); ++i) {
        const Work& work = order_.work[i];
        if (work.call < 0) continue;
        const Call& call = order_.calls[work.call];
        int64_t last_ns = INT64_MIN;
        std::for_each(order_.needs.begin_of(i), order_.needs.end_of(i),
                      [&](int32_t n) { last_ns = std::max(last_ns, order_.work[n].end_ns); });
        if (last_ns < call.start_ns && work.start_ns >= call.start_ns)
            launches.push_back(work.start_ns - call.start_ns);
        else if (last_ns > call.end_ns + kLaunchedEarly_ns)
            gaps.push_back(work.start_ns - last_ns);
    }
    launch_ns_ = low_of(std::move(launches), launch_ns_);
    gap_ns_ = low_of(std::move(gaps), gap_ns_);
}

template <class Visit>
void Dependencies::for_each_need(std::size_t i, const Visit& visit) const {
    const Work& work = order_.work[i];
    const auto see = [&](int32_t what, int64_t time_ns, int64_t delay_ns) {
        visit(what, time_ns, std::min(delay_ns, work.start_ns - time_ns));
    };
    const auto see_work = [&](int32_t w) { see(w, order_.work[w].end_ns, gap_ns_); };
    if (work.call >= 0 && order_.calls[work.call].start_ns < work.start_ns)
        see(kCall, order_.calls[work.call].start_ns, launch_ns_);
    std::for_each(order_.needs.begin_of(i), order_.needs.end_of(i), see_work);
    if (after_[i] != kNothing) see_work(after_[i]);
}

/// Work that starts just after other work of its GPU, and for no known reason only then, has waited for it:
/// for room on the GPU, or as a node of a graph. What began early and waited inside began as soon as it
/// could.
void Dependencies::bind_work() {
    const std::vector<Work>& all = order_.work;
    std::vector<int32_t> by_end(all.size());
    std::iota(by_end.begin(), by_end.end(), 0);
    std::sort(by_end.begin(), by_end.end(),
              [&](int32_t x, int32_t y) { return all[x].end_ns < all[y].end_ns; });
    std::size_t ended = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        while (ended < by_end.size() && all[by_end[ended]].end_ns <= all[i].start_ns) ++ended;
        if (order_.joins[i] != kNothing) {
            work_bound_.push_back(kJoin);
            continue;
        }
        std::pair<int64_t, int32_t> last{INT64_MIN, kNothing};
        for_each_need(i, [&](int32_t what, int64_t time_ns, int64_t delay_ns) {
            last = std::max(last, {time_ns + delay_ns, what});
        });
        const bool is_explained = last.first > all[i].start_ns - kUnexplained_ns;
        for (std::size_t e = ended; !is_explained && e > 0 && e + kCandidates > ended; --e) {
            const int32_t before = by_end[e - 1];
            if (all[before].end_ns < std::max(all[i].start_ns - kJustBefore_ns, last.first)) break;
            if (before >= static_cast<int32_t>(i) || all[before].device != all[i].device) continue;
            last.second = after_[i] = before;
            break;
        }
        work_bound_.push_back(last.second);
    }
}

void Dependencies::bind_calls() {
    for (std::size_t i = 0; i < order_.calls.size(); ++i) {
        const Call& call = order_.calls[i];
        const auto begin = order_.awaits.begin_of(i), end = order_.awaits.end_of(i);
        const int64_t ns = call.end_ns - call.start_ns;
        const bool waits =
            std::any_of(begin, end, [&](int32_t w) { return order_.work[w].end_ns > call.start_ns; });
        const int64_t shortest_ns = waits ? std::min(ns, kShortestWait_ns) : ns;
        std::pair<int64_t, int32_t> last{call.start_ns + shortest_ns, kCall};
        std::for_each(begin, end, [&](int32_t w) {
            const int64_t end_ns = order_.work[w].end_ns;
            last = std::max(last, {std::min(end_ns + kShortestReturn_ns, call.end_ns), w});
        });
        call_bound_.push_back(last.second);
        call_ns_.push_back(last.second == kCall ? ns : shortest_ns);
    }
}

void Dependencies::end_call(std::size_t i, Times& times) const {
    int64_t& end_ns = times.call_end[i];
    if (end_ns != INT64_MIN) return;
    end_ns = times.call_start[i] + call_ns_[i];
    std::for_each(order_.awaits.begin_of(i), order_.awaits.end_of(i), [&](int32_t w) {
        const int64_t ns = order_.calls[i].end_ns - order_.work[w].end_ns;
        end_ns = std::max(end_ns,
                          times.work_end[w] + (call_bound_[i] == w ? ns : std::min(ns, kShortestReturn_ns)));
    });
}

/// A time of the capture that lies in this call, or after it on its thread, among `times`.
int64_t Dependencies::time_in(const Times& times, int32_t call, int64_t then_ns) const {
    if (call < 0) return then_ns;
    const Call& c = order_.calls[call];
    return c.end_ns <= then_ns ? times.call_end[call] + then_ns - c.end_ns
                               : times.call_start[call] + then_ns - c.start_ns;
}

int64_t Dependencies::total_ns(const std::function<int64_t(const Kernel&)>& kernel_ns) const {
    const std::vector<Call>& calls = order_.calls;
    Times times{std::vector<int64_t>(order_.work.size()), std::vector<int64_t>(calls.size()),
                std::vector<int64_t>(calls.size(), INT64_MIN)};
    std::size_t c = 0;
    const auto begin_calls = [&](int64_t before_ns) {  // a call ends when its thread's next one begins
        for (; c < calls.size() && calls[c].start_ns < before_ns; ++c) {
            if (calls[c].previous >= 0) end_call(calls[c].previous, times);
            times.call_start[c] = time_in(times, calls[c].previous, calls[c].start_ns);
        }
    };
    for (std::size_t i = 0; i < order_.work.size(); ++i) {
        const Work& work = order_.work[i];
        begin_calls(work.start_ns);
        int64_t start = work_bound_[i] == kNothing ? work.start_ns : INT64_MIN;
        for_each_need(i, [&](int32_t what, int64_t then_ns, int64_t delay_ns) {
            const int64_t from = what == kCall ? times.call_start[work.call] : times.work_end[what];
            start = std::max(start, from + (work_bound_[i] == what ? work.start_ns - then_ns : delay_ns));
        });
        const int64_t ns = work.index < 0 || part_of_[i] == kNothing ? work.end_ns - work.start_ns
                                                                     : kernel_ns(trace_.kernels[work.index]);
        const int32_t join = order_.joins[i];
        times.work_end[i] = join == kNothing ? start + ns
                                             : std::max(start, times.work_end[join]) +
                                                   std::min(ns, work.end_ns - order_.work[join].end_ns);
        if (i == 0) times.first_start = start;
    }
    begin_calls(INT64_MAX);
    for (std::size_t i = 0; i < calls.size(); ++i) end_call(i, times);

    std::vector<int64_t> ends;
    for (const Part& part : parts_)
        ends.push_back(is_range_ ? time_in(times, part.call_at_end, part.end_ns) : INT64_MIN);
    for (std::size_t i = 0; i < order_.work.size(); ++i)
        if (part_of_[i] != kNothing) ends[part_of_[i]] = std::max(ends[part_of_[i]], times.work_end[i]);
    int64_t total = std::accumulate(ends.begin(), ends.end(), int64_t{0});
    for (const Part& part : parts_)
        total -= is_range_ ? time_in(times, part.call_at_start, part.start_ns) : times.first_start;
    return total;
}

PathLink Dependencies::link_of(const Work& work) const {
    if (work.index < 0) {
        const Copy& copy = trace_.copies[-1 - work.index];
        return {copy.between_gpus ? PathKind::communication : PathKind::copy,
                -1 - static_cast<int32_t>(copy.direction), work.start_ns, work.end_ns};
    }
    const auto name = static_cast<int32_t>(trace_.kernels[work.index].name);
    return {is_communication_[name] ? PathKind::communication : PathKind::compute, name, work.start_ns,
            work.end_ns};
}

/// From the end of a part, which is that of this work or else of the host, back to its start.
void Dependencies::walk(const Part& part, int32_t w, CriticalPath& path) const {
    std::vector<PathLink> links;
    int64_t time_ns = w == kNothing ? part.end_ns : order_.work[w].end_ns;
    const auto back_to = [&](int64_t start_ns, PathKind kind, int32_t name) {
        start_ns = std::clamp(start_ns, part.start_ns, time_ns);
        if (start_ns < time_ns) links.push_back({kind, name, start_ns, time_ns});
        time_ns = start_ns;
    };
    int32_t c = part.call_at_end;
    while (time_ns > part.start_ns) {
        if (w != kNothing) {
            const PathLink link = link_of(order_.work[w]);
            const int32_t join = order_.joins[w], bound = work_bound_[w];
            back_to(join == kNothing ? link.start_ns : order_.work[join].end_ns, link.kind, link.name);
            if (join != kNothing) {
                w = join;
                continue;
            }
            if (bound >= 0) back_to(order_.work[bound].end_ns, PathKind::gap, link.name);
            c = kNothing;
            if (bound == kCall) {
                back_to(order_.calls[order_.work[w].call].start_ns, PathKind::launch, link.name);
                c = order_.calls[order_.work[w].call].previous;
            }
            w = std::max(bound, kNothing);
        } else if (c == kNothing) {
            back_to(part.start_ns, PathKind::host, 0);
        } else {
            const Call& call = order_.calls[c];
            const auto name = static_cast<int32_t>(trace_.api_calls[call.index].name);
            back_to(call.end_ns, PathKind::host, 0);
            const bool waited = call_bound_[c] != kCall && time_ns == call.end_ns;
            if (waited) w = call_bound_[c];
            back_to(waited ? order_.work[w].end_ns : call.start_ns, waited ? PathKind::wait : PathKind::call,
                    name);
            c = call.previous;
        }
    }
    if (path.links.size() + links.size() > kMostLinks)
        throw Error(
            "the work of these ranges overlaps so much that their paths are too long to hold; choose a range "
            "that has them inside it");
    path.links.insert(path.links.end(), links.rbegin(), links.rend());
}

CriticalPath Dependencies::path() const {
    std::vector<int32_t> last(parts_.size(), kNothing);
    for (std::size_t i = 0; i < order_.work.size(); ++i) {
        if (part_of_[i] == kNothing) continue;
        int32_t& known = last[part_of_[i]];
        const int64_t end_ns = known == kNothing ? parts_[part_of_[i]].end_ns : order_.work[known].end_ns;
        if (order_.work[i].end_ns > end_ns) known = static_cast<int32_t>(i);
    }
    CriticalPath path;
    int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        walk(parts_[i], last[i], path);
        begin_ns = std::min(begin_ns, parts_[i].start_ns);
        if (!path.links.empty()) end_ns = std::max(end_ns, path.links.back().end_ns);
    }
    for (const PathLink& link : path.links) {
        path.total_ns += link.ns();
        path.by_kind[static_cast<std::size_t>(link.kind)] += link.ns();
    }
    for (const auto& [_, calls] : order_.threads) {
        const int32_t call = last_by(calls, order_.calls, end_ns);
        path.threads += call >= 0 && order_.calls[call].end_ns > begin_ns;
    }
    return path;
}

std::vector<FreeKernel> Dependencies::free_kernels(const CriticalPath& path) const {
    std::map<int64_t, int64_t> on_path;
    for (const PathLink& link : path.links)
        if (link.kind == PathKind::compute) on_path[link.name] += link.ns();
    std::vector<FreeKernel> all;
    for (const auto& [name, ns] : on_path) all.push_back({name, ns});
    std::stable_sort(all.begin(), all.end(),
                     [](const FreeKernel& x, const FreeKernel& y) { return x.on_path_ns > y.on_path_ns; });
    all.resize(std::min(all.size(), kKernelsTried));
    for (FreeKernel& free : all) {
        free.total_ns =
            total_ns([&](const Kernel& k) { return k.name == free.name ? 0 : k.end_ns - k.start_ns; });
        free.gain_ns = path.total_ns - free.total_ns;
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const FreeKernel& x, const FreeKernel& y) { return x.gain_ns > y.gain_ns; });
    return all;
}

}  // namespace lab
