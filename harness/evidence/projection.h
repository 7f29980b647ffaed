// NVTX ranges as the GPU saw them. A range ends on the host when the last call in it returns, and its work
// may begin and end long after.
#pragma once

#include <optional>
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

}  // namespace lab
