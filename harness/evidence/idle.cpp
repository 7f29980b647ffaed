#include "evidence/idle.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "evidence/launches.h"

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
    int64_t call;                  ///< that launched the work after it; -1 if that is not known
    const char* cause;
    bool was_queued;  ///< that call had ended when the work before began
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
            const ApiCall* const call = next.call < 0 ? nullptr : &calls[static_cast<std::size_t>(next.call)];
            const bool is_late = call && call->start_ns > last->end_ns;
            const bool is_short = next.start_ns - last->end_ns < kKernelWaitLimit_ns;
            holes.push_back({last->end_ns, next.start_ns, last->index, next.index, next.call,
                             is_late    ? kHostWait
                             : is_short ? kKernelWait
                                        : kOther,
                             call && call->end_ns < last->start_ns});
        }
        if (!last || next.end_ns > last->end_ns) last = &next;
    }
    return holes;
}

std::string name_of_piece(const Trace& trace, std::ptrdiff_t index) {
    if (index >= 0) return trace.name_of(trace.kernels[static_cast<std::size_t>(index)].name);
    const Copy& copy = trace.copies[static_cast<std::size_t>(-1 - index)];
    return copy.between_gpus ? "copy GPU to GPU" : short_name_of(copy.direction);
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

/// Finds holes for stretches of time, which are asked for in the order of their starts.
class HolesInTime {
  public:
    explicit HolesInTime(const std::vector<Hole>& holes) : holes_(holes) {
        before_.reserve(holes.size() + 1);
        for (const Hole& hole : holes) before_.push_back(before_.back() + hole.ns());
    }

    /// Forgets holes that end by then.
    void advance_to(int64_t ns) {
        while (next_ < holes_.size() && holes_[next_].end_ns <= ns) ++next_;
    }
    [[nodiscard]] bool at_end() const { return next_ == holes_.size(); }

    /// Index of the first hole, of those not forgotten, that ends after `ns`.
    [[nodiscard]] std::size_t first_after(int64_t ns) const {
        std::size_t first = next_;
        for (int steps = 0; first < holes_.size() && holes_[first].end_ns <= ns; ++first, ++steps)
            if (steps == 8)  // it is far away
                return static_cast<std::size_t>(
                    std::upper_bound(holes_.begin() + static_cast<std::ptrdiff_t>(first), holes_.end(), ns,
                                     [](int64_t at, const Hole& h) { return at < h.end_ns; }) -
                    holes_.begin());
        return first;
    }

    /// Time in holes, of a stretch that begins where it was advanced to or later.
    [[nodiscard]] int64_t ns_within(int64_t begin_ns, int64_t end_ns) const {
        return begin_ns < end_ns ? ns_before(end_ns) - ns_before(begin_ns) : 0;
    }

  private:
    /// Time in holes before `ns`.
    [[nodiscard]] int64_t ns_before(int64_t ns) const {
        const std::size_t first = first_after(ns);
        const int64_t inside = first < holes_.size() ? std::max<int64_t>(0, ns - holes_[first].begin_ns) : 0;
        return before_[first] + inside;
    }

    const std::vector<Hole>& holes_;
    std::vector<int64_t> before_{0};  ///< time in all holes before one
    std::size_t next_ = 0;
};

/// Sorts short holes by what the host did.
class Waits {
  public:
    Waits(const std::vector<Hole>& holes, const Trace& work)
        : holes_(holes), ended_(holes.size()), change_(holes.size() + 1) {
        const std::vector<bool> waits = host_waits(work);
        for (std::size_t i = 0; i < holes.size(); ++i)
            ended_[i] = holes[i].call >= 0 && waits[static_cast<std::size_t>(holes[i].call)];
    }

    /// The host waits in this call. `in_time` was advanced to its start.
    void see(const ApiCall& call, const HolesInTime& in_time) {
        std::size_t first = in_time.first_after(call.start_ns);
        const std::size_t end = in_time.first_after(call.end_ns);
        if (end < holes_.size() && holes_[end].begin_ns <= call.end_ns) ended_[end] = true;
        if (first < holes_.size() && holes_[first].begin_ns < call.start_ns) ++first;
        if (first < end) ++change_[first], --change_[end];
    }

    [[nodiscard]] ShortGaps sums() const {
        ShortGaps sums;
        int64_t waiting = 0;
        for (std::size_t i = 0; i < holes_.size(); ++i) {
            waiting += change_[i];
            if (holes_[i].ns() >= kShortGap_ns) continue;
            ShortGaps::Sum& sum = holes_[i].was_queued ? sums.in_time
                                  : ended_[i]          ? sums.after_waits
                                  : waiting > 0        ? sums.in_time
                                                       : sums.launching;
            ++sum.count;
            sum.ns += holes_[i].ns();
        }
        return sums;
    }

  private:
    const std::vector<Hole>& holes_;
    std::vector<bool> ended_;      ///< did a wait end in it?
    std::vector<int64_t> change_;  ///< of how many waits go on throughout it
};

/// Does the call begin outside of all calls of its thread? They come in the order of their starts.
class Outermost {
  public:
    bool operator()(const ApiCall& call) {
        const std::pair key{call.process, call.thread};
        if (last_ == until_ns_.end() || last_->first != key)
            last_ = until_ns_.try_emplace(key, INT64_MIN).first;
        if (call.start_ns < last_->second) return false;
        last_->second = call.end_ns;
        return true;
    }

  private:
    std::map<std::pair<int64_t, int64_t>, int64_t> until_ns_;  // by process and thread
    std::map<std::pair<int64_t, int64_t>, int64_t>::iterator last_ = until_ns_.end();
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
    HolesInTime in_time(holes);
    Waits waits(holes, work);
    const std::vector<bool> is_wait = host_waits(whole);
    std::vector<int64_t> until_ns(whole.names.size(), INT64_MIN);  // by name
    int64_t any_until_ns = INT64_MIN, in_call_ns = 0, user = -1, thread = -1;
    for (const ApiCall& call : whole.api_calls) {
        if (call.process != user && !users.contains(call.process)) continue;
        user = call.process;
        if (call.thread != thread) threads.insert(thread = call.thread);
        if (!is_outermost(call)) continue;
        in_time.advance_to(call.start_ns);
        if (in_time.at_end()) break;
        const int64_t ns = in_time.ns_within(call.start_ns, call.end_ns);
        if (ns == 0) continue;
        if (is_wait[static_cast<std::size_t>(&call - whole.api_calls.data())]) waits.see(call, in_time);
        int64_t& until = until_ns[static_cast<std::size_t>(call.name)];
        by_name.add(call.name, in_time.ns_within(std::max(call.start_ns, until), call.end_ns), ns);
        until = std::max(until, call.end_ns);
        in_call_ns += in_time.ns_within(std::max(call.start_ns, any_until_ns), call.end_ns);
        any_until_ns = std::max(any_until_ns, call.end_ns);
        for (Watched& gap : watched) gap.see(call);
    }
    for (const OsCall& call : whole.os_calls)
        if (threads.contains(call.thread))
            for (Watched& gap : watched) gap.see(call);

    idle.short_gaps = waits.sums();
    idle.by_call = by_name.take(whole);
    idle.no_call_ns = idle_ns - in_call_ns;
    for (Watched& gap : watched)
        idle.longest.push_back({gap.hole.begin_ns, gap.hole.ns(), name_of_piece(work, gap.hole.before),
                                name_of_piece(work, gap.hole.after), gap.hole.cause, gap.calls.take(whole),
                                gap.hole.ns() - gap.in_call_ns, gap.os_calls.take(whole)});
    return idle;
}

}  // namespace lab
