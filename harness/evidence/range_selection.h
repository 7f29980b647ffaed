// The part of a trace that belongs to an NVTX range: the GPU work that was launched inside it.
#pragma once

#include <map>
#include <string>

#include "core/intervals.h"
#include "evidence/trace.h"

namespace lab {

struct RangeSelection {
    Trace trace;  ///< API calls made inside the ranges, and the GPU work they launched
    std::map<int64_t, Intervals>
        windows;  ///< by GPU: for each range of the name, first start to last end of its work there; merged
    Intervals host;  ///< the ranges themselves, as the host thread saw them; merged
};

/// All ranges with this name. An Error lists the names there are if none has it.
[[nodiscard]] RangeSelection select_range(const Trace& trace, const std::string& name);

}  // namespace lab
