// The part of a trace that belongs to an NVTX range: the GPU work that was launched inside it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/intervals.h"
#include "evidence/trace.h"

namespace lab {

/// By GPU, merged windows of time.
using WindowsOfGpu = std::map<int64_t, Intervals>;

/// What belongs to all ranges of one name.
struct RangeSelection {
    Trace trace;           ///< API calls made inside the ranges, and the GPU work they launched
    WindowsOfGpu windows;  ///< for each of the ranges, first start to last end of its work there
    Intervals host;        ///< the ranges themselves, as the host thread saw them; merged
};

/// All ranges with this name. An Error lists the names there are if none has it.
[[nodiscard]] RangeSelection select_range(const Trace& trace, const std::string& name);

}  // namespace lab
