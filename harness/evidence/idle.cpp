#include "evidence/idle.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace lab {

namespace {

/// A kernel or a copy.
struct Piece {
    int64_t start_ns, end_ns, call;
    std::ptrdiff_t index;  ///< of a kernel; below 0, -1 minus that of a copy
};

std::vector<Piece> pieces_of(const Trace& trace, int64_t device) {
    std::vector<Piece> pieces;
    pieces.reserve(trace.kernels.size() + trace.copies.size());
    for (const Kernel& k : trace.kernels)
        if (k.device == device) pieces.push_back({k.start_ns, k.end_ns, k.call, &k - trace.kernels.data()});
    const auto middle = static_cast<std::ptrdiff_t>(pieces.size());
    for (const Copy& c : trace.copies)
        if (c.device == device)
            pieces.push_back({c.start_ns, c.end_ns, c.call, -1 - (&c - trace.copies.data())});
    std::inplace_merge(pieces.begin(), pieces.begin() + middle, pieces.end(),
                       [](const Piece& x, const Piece& y) { return x.start_ns < y.start_ns; });
    return pieces;
}

/// Between the last end so far and the next start.
struct Hole {
    int64_t begin_ns, end_ns;
    std::ptrdiff_t before, after;  ///< as Piece::index
    const char* cause;
    [[nodiscard]] int64_t ns() const { return end_ns - begin_ns; }
};

constexpr const char *kHostWait = "host_wait", *kKernelWait = "kernel_wait", *kOther = "other";

std::vector<Hole> holes_between(const std::vector<Piece>& pieces, const std::vector<ApiCall>& calls,
                                const Intervals& windows) {
    std::vector<Hole> holes;
    std::size_t window = 0;
    const Piece* last = nullptr;  // that ended last
    for (const Piece& next : pieces) {
        while (window < windows.size() && windows[window].end < next.start_ns) ++window;
        const bool inside = last && window < windows.size() && last->end_ns >= windows[window].begin;
        if (inside && next.start_ns > last->end_ns) {
            const bool is_late =
                next.call >= 0 && calls[static_cast<std::size_t>(next.call)].start_ns > last->end_ns;
            const bool is_short = next.start_ns - last->end_ns < kKernelWaitLimit_ns;
            holes.push_back({last->end_ns, next.start_ns, last->index, next.index,
                             is_late    ? kHostWait
                             : is_short ? kKernelWait
                                        : kOther});
        }
        if (!last || next.end_ns > last->end_ns) last = &next;
    }
    return holes;
}

std::string name_of_piece(const Trace& trace, std::ptrdiff_t index) {
    if (index >= 0) return trace.name_of(trace.kernels[static_cast<std::size_t>(index)].name);
    return short_name_of(trace.copies[static_cast<std::size_t>(-1 - index)].direction);
}

/// Adds up by name how long calls were in some stretches of time. They come in the order of their starts.
class TimeByName {
  public:
    void add(int64_t name, int64_t once_ns, int64_t call_ns) {
        HostTime& time = times_[name];
        ++time.count;
        time.ns += once_ns;
        time.longest_ns = std::max(time.longest_ns, call_ns);
    }

    [[nodiscard]] std::vector<HostTime> take(const Trace& trace) {
        std::vector<HostTime> times;
        for (auto& [name, time] : times_) {
            time.name = trace.name_of(name);
            times.push_back(std::move(time));
        }
        std::sort(times.begin(), times.end(), [](const HostTime& a, const HostTime& b) {
            return std::tie(b.ns, a.name) < std::tie(a.ns, b.name);
        });
        return times;
    }

  private:
    std::unordered_map<int64_t, HostTime> times_;
};

/// One of the longest gaps, and what the host does in it.
struct Watched {
    Hole hole;
    TimeByName calls, os_calls;
    std::unordered_map<int64_t, int64_t> seen_until_ns, os_seen_until_ns;  // by name
    int64_t any_until_ns = INT64_MIN, in_call_ns = 0;

    void see(const ApiCall& call) {
        const Interval here{std::max(call.start_ns, hole.begin_ns), std::min(call.end_ns, hole.end_ns)};
        if (here.begin >= here.end) return;
        add(calls, seen_until_ns, call.name, here);
        in_call_ns += std::max<int64_t>(0, here.end - std::max(here.begin, any_until_ns));
        any_until_ns = std::max(any_until_ns, here.end);
    }
    void see(const OsCall& call) {
        const Interval here{std::max(call.start_ns, hole.begin_ns), std::min(call.end_ns, hole.end_ns)};
        if (here.begin < here.end) add(os_calls, os_seen_until_ns, call.name, here);
    }

  private:
    static void add(TimeByName& times, std::unordered_map<int64_t, int64_t>& until_ns, int64_t name,
                    const Interval& here) {
        int64_t& until = until_ns.try_emplace(name, here.begin).first->second;
        times.add(name, std::max<int64_t>(0, here.end - std::max(here.begin, until)), here.end - here.begin);
        until = std::max(until, here.end);
    }
};

/// How much of any stretch of time lies in the holes. Stretches are asked for in the order of their starts.
class IdleWithin {
  public:
    explicit IdleWithin(const std::vector<Hole>& holes) : holes_(holes) {
        before_.reserve(holes.size() + 1);
        for (const Hole& hole : holes) before_.push_back(before_.back() + hole.ns());
    }

    /// Forgets holes that end by then.
    void advance_to(int64_t ns) {
        while (next_ < holes_.size() && holes_[next_].end_ns <= ns) ++next_;
    }
    [[nodiscard]] bool at_end() const { return next_ == holes_.size(); }

    /// From `begin_ns`, which is where it was advanced to or later.
    [[nodiscard]] int64_t ns_within(int64_t begin_ns, int64_t end_ns) const {
        if (begin_ns >= end_ns) return 0;
        return ns_before(end_ns) - ns_before(begin_ns);
    }

  private:
    /// Time in holes before `ns`.
    [[nodiscard]] int64_t ns_before(int64_t ns) const {
        std::size_t first = next_;  // that ends at `ns` or later
        for (int steps = 0; steps < 8 && first < holes_.size() && holes_[first].end_ns < ns; ++steps) ++first;
        if (first < holes_.size() && holes_[first].end_ns < ns)  // it is far away
            first = static_cast<std::size_t>(
                std::lower_bound(holes_.begin() + static_cast<std::ptrdiff_t>(first), holes_.end(), ns,
                                 [](const Hole& h, int64_t at) { return h.end_ns < at; }) -
                holes_.begin());
        const int64_t inside = first < holes_.size() ? std::max<int64_t>(0, ns - holes_[first].begin_ns) : 0;
        return before_[first] + inside;
    }

    const std::vector<Hole>& holes_;
    std::vector<int64_t> before_{0};  ///< time in all holes before one
    std::size_t next_ = 0;
};

/// Does the call begin outside of all calls of its thread? They come in the order of their starts.
class Outermost {
  public:
    bool operator()(const ApiCall& call) {
        int64_t& until_ns = until_ns_.try_emplace(call.thread, INT64_MIN).first->second;
        if (call.start_ns < until_ns) return false;
        until_ns = call.end_ns;
        return true;
    }

  private:
    std::unordered_map<int64_t, int64_t> until_ns_;  // by thread
};

/// Processes that use the GPU.
std::set<int64_t> users_of(const Trace& trace, int64_t device) {
    std::set<int64_t> users;
    int64_t last = -1;
    const auto see = [&](const auto& all) {
        for (const auto& work : all)
            if (work.device == device && work.process != last) users.insert(last = work.process);
    };
    see(trace.kernels), see(trace.copies);
    return users;
}

}  // namespace

const char* short_name_of(Direction direction) {
    constexpr const char* kNames[]{"H2D copy", "D2H copy", "D2D copy", "H2H copy", "memset", "copy"};
    return kNames[static_cast<std::size_t>(direction)];
}

IdleTime idle_time(const Trace& work, const Trace& whole, int64_t device, const Intervals& windows) {
    constexpr std::size_t kLongest = 5;
    const std::vector<Hole> holes = holes_between(pieces_of(work, device), work.api_calls, windows);
    IdleTime idle;
    int64_t idle_ns = 0;
    std::vector<Hole> longest(std::min(kLongest, holes.size()));
    std::partial_sort_copy(holes.begin(), holes.end(), longest.begin(), longest.end(),
                           [](const Hole& a, const Hole& b) {
                               return std::pair(-a.ns(), a.begin_ns) < std::pair(-b.ns(), b.begin_ns);
                           });
    std::vector<Watched> watched;
    for (const Hole& hole : longest) watched.push_back({hole, {}, {}, {}, {}});
    for (const Hole& hole : holes) {
        idle_ns += hole.ns();
        (hole.cause == kHostWait     ? idle.by_cause.host_wait_ns
         : hole.cause == kKernelWait ? idle.by_cause.kernel_wait_ns
                                     : idle.by_cause.other_ns) += hole.ns();
    }

    const std::set<int64_t> users = users_of(work, device);
    std::set<int64_t> threads;
    TimeByName by_name;
    Outermost is_outermost;
    IdleWithin idle_within(holes);
    std::vector<int64_t> until_ns(whole.names.size(), INT64_MIN);  // by name
    int64_t any_until_ns = INT64_MIN, in_call_ns = 0, user = -1, thread = -1;
    for (const ApiCall& call : whole.api_calls) {
        if (call.process != user && !users.contains(call.process)) continue;
        user = call.process;
        if (call.thread != thread) threads.insert(thread = call.thread);
        if (!is_outermost(call)) continue;
        idle_within.advance_to(call.start_ns);
        if (idle_within.at_end()) break;
        const int64_t ns = idle_within.ns_within(call.start_ns, call.end_ns);
        if (ns == 0) continue;
        int64_t& until = until_ns[static_cast<std::size_t>(call.name)];
        by_name.add(call.name, idle_within.ns_within(std::max(call.start_ns, until), call.end_ns), ns);
        until = std::max(until, call.end_ns);
        in_call_ns += idle_within.ns_within(std::max(call.start_ns, any_until_ns), call.end_ns);
        any_until_ns = std::max(any_until_ns, call.end_ns);
        for (Watched& gap : watched) gap.see(call);
    }
    for (const OsCall& call : whole.os_calls)
        if (threads.contains(call.thread))
            for (Watched& gap : watched) gap.see(call);

    idle.by_call = by_name.take(whole);
    idle.no_call_ns = idle_ns - in_call_ns;
    for (Watched& gap : watched)
        idle.longest.push_back({gap.hole.begin_ns, gap.hole.ns(), name_of_piece(work, gap.hole.before),
                                name_of_piece(work, gap.hole.after), gap.hole.cause, gap.calls.take(whole),
                                gap.hole.ns() - gap.in_call_ns, gap.os_calls.take(whole)});
    return idle;
}

}  // namespace lab
