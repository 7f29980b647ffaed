// When a GPU had nothing to do, why, and what the host did meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/intervals.h"
#include "evidence/trace.h"

namespace lab {

/// Below this a gap between two pieces of GPU work is the cost of one launch after another.
constexpr int64_t kKernelWaitLimit_ns = 30'000;

/// Why the GPU had nothing to do, ns. A gap is `host_wait` if the call that launched the work after it came
/// after the work before it had ended; else `kernel_wait` if it is shorter than that limit; else `other`.
/// The rule is that of Holistic Trace Analysis, applied to the GPU and not to each stream.
struct IdleByCause {
    int64_t host_wait_ns = 0, kernel_wait_ns = 0, other_ns = 0;
};

/// Time of the host in calls of one function while the GPU was idle. Two threads in it at once count once;
/// a call that another one makes belongs to that one.
struct HostTime {
    std::string name;
    int64_t count = 0, ns = 0;
    int64_t longest_ns = 0;  ///< of one call
};

/// A stretch in which the GPU had nothing to do.
struct Gap {
    int64_t start_ns = 0, ns = 0;    ///< on the clock of the capture
    std::string before, after;       ///< what the GPU did: a kernel's shown name, "H2D copy", "memset"
    std::string cause;               ///< a member of IdleByCause, without _ns
    std::vector<HostTime> calls;     ///< CUDA calls, by time, falling; of two threads they may overlap
    int64_t no_call_ns = 0;          ///< in which no thread was in a CUDA call
    std::vector<HostTime> os_calls;  ///< of threads that make CUDA calls, by time, falling
};

/// A gap of less than this is a matter of how work is launched, and not of what the host computes meanwhile.
constexpr int64_t kShortGap_ns = 100'000;

/// Gaps below that limit, by what the host did.
struct ShortGaps {
    struct Sum {
        int64_t count = 0, ns = 0;
    };
    Sum after_waits;  ///< its wait for the GPU ended in the gap, or what it waits for began after it
    /// The next work was launched before the one before it began, or the host waited throughout the gap.
    Sum in_time;
    Sum launching;  ///< neither
};

/// All gaps of a GPU.
struct IdleTime {
    IdleByCause by_cause;
    ShortGaps short_gaps;
    std::vector<Gap> longest;       ///< the longest gaps, the longest first
    std::vector<HostTime> by_call;  ///< over all gaps: as Gap::calls
    int64_t no_call_ns = 0;         ///< over all gaps: as Gap::no_call_ns
};

/// `work` is the trace whose gaps count: of all that was captured, `whole`, or a part of it; a gap counts if
/// it lies in a window. The host's side comes from the whole.
[[nodiscard]] IdleTime idle_time(const Trace& work, const Trace& whole, int64_t device,
                                 const Intervals& windows);

/// "H2D copy", "D2H copy", "D2D copy", "copy", "memset"
[[nodiscard]] const char* short_name_of(Direction direction);

}  // namespace lab
