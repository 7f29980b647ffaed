// NVTX ranges as the GPU saw them. A range ends on the host when the last call in it returns, and its work
// may begin and end long after.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/intervals.h"
#include "evidence/trace.h"

namespace lab {

/// The work of a trace by the calls that launched it.
class Projection {
  public:
    explicit Projection(const Trace& trace);

    /// First start to last end of the GPU work that was launched in the range; nothing if none was.
    [[nodiscard]] std::optional<Interval> of(const Range& range) const;

  private:
    struct Launched {
        int64_t called_ns, process, thread;
        Interval work;
    };
    std::vector<Launched> launched_;  ///< by the time of the call
};

/// NVTX ranges of one name and domain. On the GPU each lasts from the first start to the last end of the work
/// that was launched in it; ns are sums over the ranges, so ranges that overlap count twice.
struct RangeUse {
    std::string name, domain;
    int64_t count = 0, host_ns = 0, gpu_ns = 0;
};

/// The trace's NVTX ranges by name and domain, by time on the GPU, falling. With `within`, those that begin
/// while the host is in a range of that name.
[[nodiscard]] std::vector<RangeUse> range_use(const Trace& trace, const std::optional<std::string>& within);

}  // namespace lab
