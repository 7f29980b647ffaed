// What a trace's host threads, streams and events say must come after what.
//
// Host threads make their calls one after the other. Work comes after the call that launched it, after the
// work before it on its stream, and after what its stream waits for; a call that waits ends after what it
// waits for. Copies of one direction take turns.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "evidence/trace.h"

namespace lab {

/// What an export says of streams and of waits; other traces have none of it.
struct StreamTables {
    struct Wait {
        int64_t stream = -1;  ///< that waits for an event, or that the host waits for
        int64_t record = 0;   ///< the event, by the number of its cudaEventRecord in the process, from 1 on
    };
    enum Kind { blocking, non_blocking, legacy_default };
    std::map<std::pair<int64_t, int64_t>, Wait> waits;  ///< by process and correlation of the call
    std::map<std::pair<int64_t, int64_t>, Kind> kinds;  ///< by process and stream; `blocking` if not there

    [[nodiscard]] static StreamTables of(const Database& database);
};

/// For each of some elements, a list of indices.
struct IndexLists {
    std::vector<int32_t> first{0}, all;

    IndexLists() = default;
    IndexLists(std::vector<std::pair<int32_t, int32_t>> pairs, std::size_t elements);
    [[nodiscard]] std::vector<int32_t>::const_iterator begin_of(std::size_t i) const {
        return all.begin() + first[i];
    }
    [[nodiscard]] std::vector<int32_t>::const_iterator end_of(std::size_t i) const { return begin_of(i + 1); }
};

struct WorkOrder {
    /// A kernel, a copy or a memset.
    struct Work {
        int64_t start_ns, end_ns, stream, device;
        int32_t index;  ///< of Trace::kernels, or -1 minus that of Trace::copies
        int32_t call;   ///< index of `calls`; -1 if it is not known
    };
    /// A call of the CUDA API that no other one made.
    struct Call {
        int64_t start_ns, end_ns;
        int32_t index;     ///< of Trace::api_calls
        int32_t previous;  ///< index of `calls`, on the same thread; -1 for its first
    };
    std::vector<Work> work;                           ///< by start
    std::vector<Call> calls;                          ///< by start
    std::map<int64_t, std::vector<int32_t>> threads;  ///< indices of `calls`
    std::vector<int32_t> joins;  ///< of each work: what it waited for after its start, or -1
    IndexLists needs;            ///< of `work`, for each of it: what ended before it began, and had to
    IndexLists awaits;  ///< of `work`, for each of `calls`: what ended before the call did, and had to
};

/// An event stands for the work before it on the stream that its thread used last, since no export says which
/// stream it was recorded on. A graph was launched on a stream of the program that one of its nodes runs on,
/// else on the one that its thread names next.
[[nodiscard]] WorkOrder work_order(const Trace& trace, const StreamTables& tables);

}  // namespace lab
