// The chain of work and waiting that sets a time, and what that time would be if a kernel took none.
//
// What ended last of all that something had to come after (work_order.h) is what it waited for; the time from
// there on stays as it was recorded. For what else it had to come after, the shortest time usual in the trace
// is taken. docs/analyze.md says how well that foretells what a faster kernel gains.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evidence/work_order.h"

namespace lab {

/// A part of the path: host code outside of CUDA calls, a CUDA call, the time from a call to the start of
/// what it launched, from the end of work to the start of what waited for it, work, or the time from the end
/// of work to that of the call that waited for it.
enum class PathKind { host, call, launch, gap, compute, communication, copy, wait };
inline constexpr int kPathKinds = 8;
[[nodiscard]] const char* to_string(PathKind kind);

/// On the clock of the capture.
struct PathLink {
    PathKind kind = PathKind::host;
    int32_t name = 0;  ///< for name_of()
    int64_t start_ns = 0, end_ns = 0;
    [[nodiscard]] int64_t ns() const { return end_ns - start_ns; }
};

/// Of a call, or of the work that ran or that started; "" of host code.
[[nodiscard]] std::string name_of(const Trace& trace, const PathLink& link);

/// Each link begins where the one before it ends, but for the first link of a range.
struct CriticalPath {
    int64_t total_ns = 0;  ///< first GPU work to last; or of each range from its start to the end of its work
    std::array<int64_t, kPathKinds> by_kind{};  ///< ns by PathKind; together total_ns
    std::vector<PathLink> links;                ///< of each range by start
    int64_t threads = 0;                        ///< that make CUDA calls in that time
};

/// A kernel that computes, and the total if it took no time, all else being equal.
struct FreeKernel {
    int64_t name = 0;  ///< index into Trace::names
    int64_t on_path_ns = 0, total_ns = 0, gain_ns = 0;
};

/// Of all work of a trace, or of that which each thread launched in ranges of one name. The trace must
/// outlive it. An Error says that the range is not there, or that there is no work.
class Dependencies {
  public:
    Dependencies(const Trace& trace, const StreamTables& tables, const std::optional<std::string>& range);

    [[nodiscard]] CriticalPath path() const;

    /// The total if each kernel of the ranges took so many ns. With what was recorded, it is
    /// path().total_ns.
    [[nodiscard]] int64_t total_ns(const std::function<int64_t(const Kernel&)>& kernel_ns) const;

    /// The kernels with the most time on the path, by gain, falling. Without a range, or with one, another
    /// kernel's gain is at most its time on the path.
    [[nodiscard]] std::vector<FreeKernel> free_kernels(const CriticalPath& path) const;

  private:
    using Work = WorkOrder::Work;
    using Call = WorkOrder::Call;
    /// Of the total: all of it, or one range.
    struct Part {
        int64_t start_ns, end_ns;
        int32_t call_at_start, call_at_end;  ///< the last that its thread began by then; -1 if there is none
    };
    struct Times {
        std::vector<int64_t> work_end, call_start, call_end;
        int64_t first_start = 0;  ///< of the first work
    };
    static constexpr int32_t kNothing = -1, kCall = -2, kJoin = -3;

    void add_parts(const std::string& range);
    void measure_delays();
    void bind_work();
    void bind_calls();
    /// Visits what work comes after, an index of work or kCall: its time, and the shortest usual time from
    /// then.
    template <class Visit>
    void for_each_need(std::size_t work, const Visit& visit) const;
    [[nodiscard]] PathLink link_of(const Work& work) const;
    [[nodiscard]] int64_t time_in(const Times& times, int32_t call, int64_t then_ns) const;
    void end_call(std::size_t call, Times& times) const;
    void walk(const Part& part, int32_t last_work, CriticalPath& path) const;

    const Trace& trace_;
    const WorkOrder order_;
    std::vector<bool> is_communication_;  ///< for each of Trace::names
    std::vector<Part> parts_;
    std::vector<int32_t> part_of_;  ///< of each work: index of parts_, or kNothing
    std::vector<int32_t> after_;    ///< of each work: what it came after for no reason recorded, or kNothing
    std::vector<int32_t> work_bound_;  ///< what came last: work, kCall or kNothing; kJoin: see joins
    std::vector<int32_t> call_bound_;  ///< likewise, without kJoin
    std::vector<int64_t> call_ns_;     ///< of each call: what it takes if all that it waits for is done
    int64_t launch_ns_ = 3000, gap_ns_ = 1000;  ///< the shortest usual times before work starts
    bool is_range_;
};

}  // namespace lab
