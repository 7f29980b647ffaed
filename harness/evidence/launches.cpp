#include "evidence/launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace lab {

namespace {

Interval hull(const Interval& a, const Interval& b) {
    return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

/// Index of the first call that begins at `at_ns` or later.
int64_t first_call_from(const std::vector<ApiCall>& calls, int64_t at_ns) {
    const auto first = std::lower_bound(calls.begin(), calls.end(), at_ns,
                                        [](const ApiCall& c, int64_t at) { return c.start_ns < at; });
    return first - calls.begin();
}

}  // namespace

GraphAttribution::GraphAttribution(const Database& database) {
    Statement contexts =
        database.prepare("SELECT COUNT(*) FROM (SELECT DISTINCT device, context FROM all_kernels)");
    one_context_ = contexts.next() && contexts.integer(0) <= 1;
    Statement launch = database.prepare(
        "SELECT process, start, end, correlation FROM all_api_calls "
        "WHERE name IN ('cudaGraphLaunch', 'cuGraphLaunch') ORDER BY start");
    while (launch.next()) {
        std::vector<Launch>& launches = processes_[launch.integer(0)].launches;
        const int64_t end_ns = launch.integer(2);
        const int64_t latest_ns = launches.empty() ? end_ns : std::max(launches.back().latest_end_ns, end_ns);
        launches.push_back({launch.integer(1), end_ns, launch.integer(3), latest_ns});
    }
    Statement wait = database.prepare(
        "SELECT process, start, end FROM all_api_calls WHERE result = 0 "
        "AND name IN ('cudaDeviceSynchronize', 'cuCtxSynchronize') ORDER BY end");
    while (wait.next()) {
        std::vector<Wait>& waits = processes_[wait.integer(0)].waits;
        const int64_t start_ns = wait.integer(1);
        waits.push_back(
            {wait.integer(2), waits.empty() ? start_ns : std::max(waits.back().done_before_ns, start_ns)});
    }
}

int64_t GraphAttribution::launch_of(int64_t process, int64_t start_ns) const {
    const auto known = processes_.find(process);
    if (!one_context_ || known == processes_.end()) return 0;
    const auto& [launches, waits] = known->second;
    const auto wait = std::upper_bound(waits.begin(), waits.end(), start_ns,
                                       [](int64_t at, const Wait& w) { return at < w.end_ns; });
    const int64_t done_ns = wait == waits.begin() ? INT64_MIN : std::prev(wait)->done_before_ns;
    auto at = std::lower_bound(launches.begin(), launches.end(), start_ns,
                               [](const Launch& l, int64_t before) { return l.start_ns < before; });
    int64_t found = 0;
    constexpr int kMostLookedAt = 1000;  // a damaged file may have all of them on their way for ever
    for (int looked_at = 0; at != launches.begin() && std::prev(at)->latest_end_ns > done_ns; ++looked_at) {
        --at;
        if (at->end_ns <= done_ns && looked_at < kMostLookedAt) continue;
        if (found || looked_at == kMostLookedAt) return 0;
        found = at->correlation;
    }
    return found;
}

CallIndex::CallIndex(const Trace& trace) {
    entries_.reserve(trace.api_calls.size());
    for (const ApiCall& call : trace.api_calls)
        entries_.push_back({call.process, call.correlation, std::ssize(entries_)});
    if (!std::is_sorted(entries_.begin(), entries_.end())) std::sort(entries_.begin(), entries_.end());
}

int64_t CallIndex::find(int64_t process, int64_t correlation) const {
    const auto at =
        std::lower_bound(entries_.begin(), entries_.end(), std::array{process, correlation, int64_t{0}});
    return at != entries_.end() && (*at)[0] == process && (*at)[1] == correlation ? (*at)[2] : -1;
}

bool is_in_any(const WindowsOfGpu& windows, int64_t time_ns) {
    return std::any_of(windows.begin(), windows.end(),
                       [&](const auto& of_gpu) { return contains(of_gpu.second, time_ns); });
}

void require_calls(const Trace& trace) {
    if (trace.api_calls.empty() && !(trace.kernels.empty() && trace.copies.empty()))
        throw Error(
            "no CUDA call is recorded, so it is not known what a range launched, nor what waits for what. "
            "Record with nsys profile --trace=cuda,nvtx");
}

void link_to_calls(Trace& trace) {
    const CallIndex index(trace);
    for (Kernel& kernel : trace.kernels) kernel.call = index.find(kernel.process, kernel.correlation);
    for (Copy& copy : trace.copies) copy.call = index.find(copy.process, copy.correlation);
}

bool launches_graph(const Trace& trace, const ApiCall& call) {
    return trace.name_of(call.name).find("GraphLaunch") != std::string::npos;
}

bool is_of_a_graph(const Trace& trace, const Kernel& kernel) {
    return kernel.call >= 0 && launches_graph(trace, trace.api_calls[static_cast<std::size_t>(kernel.call)]);
}

bool is_graph_node(const Trace& trace, const Kernel& kernel) {
    return is_of_a_graph(trace, kernel) && trace.full_name_of(kernel.name) != kGraphAsAWhole;
}

std::vector<bool> host_waits(const Trace& trace) {
    std::vector<const Copy*> copy_of(trace.api_calls.size());  // null for a call that copies nothing
    for (const Copy& copy : trace.copies) {
        if (copy.call < 0) continue;
        const Copy*& first = copy_of[static_cast<std::size_t>(copy.call)];  // it may be in parts
        if (!first) first = &copy;
    }
    // By name; a graph's launch waits for none of its copies.
    std::vector<bool> is_wait, frees, copies, is_async;
    for (const std::string& name : trace.names) {
        is_wait.push_back(name.ends_with("Synchronize"));
        frees.push_back(name.starts_with("cudaFree") && name.find("Async") == std::string::npos);
        copies.push_back(name.find("Memcpy") != std::string::npos ||
                         name.find("Memset") != std::string::npos);
        is_async.push_back(name.find("Async") != std::string::npos);
    }
    std::vector<int64_t> ends;  // of the GPU's work; only frees ask
    if (std::find(frees.begin(), frees.end(), true) != frees.end()) {
        for (const Kernel& kernel : trace.kernels) ends.push_back(kernel.end_ns);
        for (const Copy& copy : trace.copies) ends.push_back(copy.end_ns);
        std::sort(ends.begin(), ends.end());
    }
    const auto ends_in = [&](const ApiCall& call) {
        const auto end = std::upper_bound(ends.begin(), ends.end(), call.start_ns);
        return end != ends.end() && *end <= call.end_ns;
    };
    const auto waits = [&](const ApiCall& call, const Copy* copy) {
        const auto name = static_cast<std::size_t>(call.name);
        if (is_wait[name]) return true;
        if (frees[name]) return ends_in(call);
        if (!copy || !copies[name] || copy->start_ns >= call.end_ns) return false;
        if (copy->direction == Direction::set) return !is_async[name] && copy->to == "pinned";
        if (copy->direction == Direction::device_to_device) return false;
        return !is_async[name] || copy->from == "pageable" || copy->to == "pageable";
    };
    std::vector<bool> all;
    for (std::size_t i = 0; i < copy_of.size(); ++i) all.push_back(waits(trace.api_calls[i], copy_of[i]));
    return all;
}

Launches::Launches(const Trace& trace) : trace_(trace) {
    if (trace.ranges.empty()) return;
    const auto add = [&](const auto& all) {
        for (const auto& work : all)
            if (work.call >= 0) launched_.push_back({work.call, work.device, {work.start_ns, work.end_ns}});
    };
    add(trace.kernels);
    add(trace.copies);
    std::stable_sort(launched_.begin(), launched_.end(),
                     [](const Launched& a, const Launched& b) { return a.call < b.call; });
}

bool Launches::is_in(const ApiCall& call, const Range& range) const {
    constexpr int64_t kMostCallsInRanges = 1'000'000'000;  // a program's ranges are a few deep
    if (++steps_ > kMostCallsInRanges)
        throw Error(
            "the NVTX ranges of this capture overlap too often to find their work in reasonable time");
    return call.process == range.process && (range.crosses_threads || call.thread == range.thread);
}

template <class Visit>
void Launches::for_each_call_in(const Range& range, const Visit& visit) const {
    const auto calls = std::ssize(trace_.api_calls);
    for (int64_t i = first_call_from(trace_.api_calls, range.start_ns); i < calls; ++i) {
        const ApiCall& call = trace_.api_calls[static_cast<std::size_t>(i)];
        if (call.start_ns >= range.end_ns) return;
        if (is_in(call, range)) visit(i);
    }
}

template <class Visit>
void Launches::for_each_in(const Range& range, const Visit& visit) const {
    const int64_t first = first_call_from(trace_.api_calls, range.start_ns);
    auto at = std::lower_bound(launched_.begin(), launched_.end(), first,
                               [](const Launched& l, int64_t call) { return l.call < call; });
    for (; at != launched_.end(); ++at) {
        const ApiCall& call = trace_.api_calls[static_cast<std::size_t>(at->call)];
        if (call.start_ns >= range.end_ns) return;
        if (is_in(call, range)) visit(*at);
    }
}

std::optional<Interval> Launches::gpu_time_of(const Range& range) const {
    std::optional<Interval> found;
    for_each_in(range, [&](const Launched& l) { found = found ? hull(*found, l.work) : l.work; });
    return found;
}

RangeSelection Launches::select(const std::string& name) const {
    RangeSelection selection;
    selection.calls.resize(trace_.api_calls.size());
    bool found = false;
    for (const Range& range : trace_.ranges) {
        if (range.name != name) continue;
        found = true;
        selection.host.push_back({range.start_ns, range.end_ns});
        for_each_call_in(range, [&](int64_t i) { selection.calls[static_cast<std::size_t>(i)] = true; });
        std::map<int64_t, Interval> window_of;
        for_each_in(range, [&](const Launched& l) {
            if (l.work.begin == l.work.end) return;  // widens nothing, as it holds no time
            const auto [at, is_new] = window_of.try_emplace(l.device, l.work);
            if (!is_new) at->second = hull(at->second, l.work);
        });
        for (const auto& [device, window] : window_of) selection.windows[device].push_back(window);
    }
    if (!found) throw Error(no_such_range(trace_, name));
    for (auto& [device, windows] : selection.windows) windows = merge(std::move(windows));
    selection.host = merge(std::move(selection.host));
    return selection;
}

bool has_range(const Trace& trace, const std::string& name) {
    return std::any_of(trace.ranges.begin(), trace.ranges.end(),
                       [&](const Range& range) { return range.name == name; });
}

std::string no_such_range(const Trace& trace, const std::string& name) {
    constexpr std::size_t kMostNames = 12;
    std::vector<std::string> names;
    for (const Range& range : trace.ranges) {
        const std::string quoted = "'" + printable(range.name) + "'";
        if (names.size() < kMostNames && std::find(names.begin(), names.end(), quoted) == names.end())
            names.push_back(quoted);
    }
    return fmt::format("the capture has no NVTX range '{}'; it has {}", printable(name),
                       names.empty() ? "none at all" : join(names, ", "));
}

namespace {

/// What the host did meanwhile on any thread, and what was sampled while the GPU did the range's work.
void keep_of_host(const Trace& trace, RangePart& part) {
    part.trace.thread_names = trace.thread_names;
    std::copy_if(trace.os_calls.begin(), trace.os_calls.end(), std::back_inserter(part.trace.os_calls),
                 [&](const OsCall& call) { return contains(part.host, call.start_ns); });
    std::copy_if(trace.cpu_samples.begin(), trace.cpu_samples.end(),
                 std::back_inserter(part.trace.cpu_samples),
                 [&](const CpuSample& sample) { return contains(part.host, sample.time_ns); });
    for (const ThreadState& state : trace.thread_states) {
        auto inside = std::upper_bound(part.host.begin(), part.host.end(), state.start_ns,
                                       [](int64_t at, const Interval& i) { return at < i.end; });
        for (; inside != part.host.end() && inside->begin < state.end_ns; ++inside) {
            constexpr std::size_t kMost = 50'000'000;  // a program's threads switch less often than that
            if (part.trace.thread_states.size() == kMost)
                throw Error("the NVTX ranges and context switches of this capture are too many to combine");
            part.trace.thread_states.push_back(state);
            part.trace.thread_states.back().start_ns = std::max(state.start_ns, inside->begin);
            part.trace.thread_states.back().end_ns = std::min(state.end_ns, inside->end);
        }
    }
    for (const Metric& metric : trace.metrics) {
        Metric& kept = part.trace.metrics.emplace_back(Metric{metric.device, metric.name, metric.unit, {}});
        std::copy_if(metric.samples.begin(), metric.samples.end(), std::back_inserter(kept.samples),
                     [&](const Metric::Sample& s) { return is_in_any(part.windows, s.time_ns); });
    }
}

}  // namespace

RangePart select_range(const Trace& trace, const std::string& name) {
    RangeSelection selection = Launches(trace).select(name);
    RangePart part{{}, std::move(selection.windows), std::move(selection.host)};
    part.trace.names = trace.names;
    part.trace.full_names = trace.full_names;
    part.trace.launch_sizes = trace.launch_sizes;
    part.trace.gpus = trace.gpus;
    for (const Range& range : trace.ranges)
        if (range.name == name) part.trace.ranges.push_back(range);
    std::vector<int64_t> place(trace.api_calls.size(), -1);  // of a call among those that are kept
    for (std::size_t i = 0; i < place.size(); ++i) {
        if (!selection.calls[i]) continue;
        place[i] = std::ssize(part.trace.api_calls);
        part.trace.api_calls.push_back(trace.api_calls[i]);
    }
    const auto keep = [&](const auto& all, auto& kept) {
        for (const auto& work : all) {
            if (work.call < 0 || place[static_cast<std::size_t>(work.call)] < 0) continue;
            kept.push_back(work);
            kept.back().call = place[static_cast<std::size_t>(work.call)];
        }
    };
    keep(trace.kernels, part.trace.kernels);
    keep(trace.copies, part.trace.copies);
    keep_of_host(trace, part);
    return part;
}

std::vector<RangeUse> range_use(const Trace& trace, const std::optional<std::string>& within) {
    const Launches launches(trace);
    const Intervals host = within ? launches.select(*within).host : Intervals{};
    struct Runs {
        std::vector<int64_t> host_ns, gpu_ns;
        std::pair<int64_t, int64_t> longest_ns{-1, -1};  // on the GPU, on the host
        int64_t slowest_start_ns = 0;
    };
    std::map<std::pair<std::string, std::string>, Runs> by_name;
    for (const Range& range : trace.ranges) {
        if (within && !contains(host, range.start_ns)) continue;
        Runs& runs = by_name[{range.name, range.domain}];
        const int64_t host_ns = range.end_ns - range.start_ns;
        runs.host_ns.push_back(host_ns);
        const auto work = launches.gpu_time_of(range);
        if (work) runs.gpu_ns.push_back(work->end - work->begin);
        const std::pair longest_ns{work ? runs.gpu_ns.back() : -1, host_ns};
        if (longest_ns > runs.longest_ns)
            runs.longest_ns = longest_ns, runs.slowest_start_ns = range.start_ns;
    }
    std::vector<RangeUse> uses;
    for (auto& [key, runs] : by_name) {
        RangeUse& use = uses.emplace_back(RangeUse{key.first, key.second});
        use.host = times_of(runs.host_ns);
        if (!runs.gpu_ns.empty()) use.gpu = times_of(runs.gpu_ns);
        use.count = use.host.count, use.host_ns = use.host.total_ns, use.gpu_ns = use.gpu.total_ns;
        use.slowest_start_ns = runs.slowest_start_ns;
    }
    std::stable_sort(uses.begin(), uses.end(),
                     [](const RangeUse& a, const RangeUse& b) { return a.gpu_ns > b.gpu_ns; });
    return uses;
}

}  // namespace lab
