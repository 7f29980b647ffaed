// Which call launched a piece of GPU work, and what belongs to an NVTX range. SQL, the analysis and the
// pictures all ask this file.
//
// Work belongs to a range if the call that launched it began while the host was in that range, on the
// range's own thread (a start/end range belongs to every thread of its process). On the GPU a range lasts
// from the first start to the last end of its work, which may be long after the host has left it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/intervals.h"
#include "evidence/database.h"
#include "evidence/run_times.h"
#include "evidence/trace.h"

namespace lab {

/// Work in the body of a conditional node, and in graphs that the GPU launched itself, carries no correlation
/// id. It belongs to the only graph launch that can have been on its way: one made before the work began, and
/// not yet waited for (by a wait for the whole GPU) by then. With two candidates, or with several contexts,
/// the launch stays unknown.
class GraphAttribution {
  public:
    /// Reads the calls of an export through its view `all_api_calls`.
    explicit GraphAttribution(const Database& database);

    /// The correlation id of the launch of work that began at `start_ns`; 0 if it is not certain.
    [[nodiscard]] int64_t launch_of(int64_t process, int64_t start_ns) const;

  private:
    struct Launch {
        int64_t start_ns, end_ns, correlation;
        int64_t latest_end_ns;  ///< of this launch and those before it
    };
    struct Wait {
        int64_t end_ns;
        int64_t done_before_ns;  ///< launches that ended by then are done once this wait has ended
    };
    struct Process {
        std::vector<Launch> launches;  ///< by start
        std::vector<Wait> waits;       ///< by end
    };
    std::map<int64_t, Process> processes_;
    bool one_context_ = true;
};

/// Finds a trace's calls by their correlation id, which is unique within a process.
class CallIndex {
  public:
    explicit CallIndex(const Trace& trace);

    /// Index into Trace::api_calls; -1 if the trace has no such call.
    [[nodiscard]] int64_t find(int64_t process, int64_t correlation) const;

  private:
    std::vector<std::array<int64_t, 3>> entries_;  ///< process, correlation and index, sorted
};

/// An Error if there is work of the GPU, and no call that launched it: then it belongs to no range, and
/// nothing tells what waits for what.
void require_calls(const Trace& trace);

/// Fills in Kernel::call and Copy::call.
void link_to_calls(Trace& trace);

/// Does this call launch a CUDA graph?
[[nodiscard]] bool launches_graph(const Trace& trace, const ApiCall& call);

/// Did such a call launch this kernel? That stands for a node, or for the graph as a whole.
[[nodiscard]] bool is_of_a_graph(const Trace& trace, const Kernel& kernel);

/// Is this kernel a node of a graph, recorded by itself?
[[nodiscard]] bool is_graph_node(const Trace& trace, const Kernel& kernel);

/// For each call of the trace: does the host wait for the GPU in it? By name and by what the GPU did: in the
/// export's table of synchronisations, a stream that waits for an event has the same type as a host that
/// waits. cudaFree waits for all of the GPU's work, if there is any.
[[nodiscard]] std::vector<bool> host_waits(const Trace& trace);

/// By GPU, merged windows of time.
using WindowsOfGpu = std::map<int64_t, Intervals>;

/// Is this time in a window of any GPU? A program may number the GPUs in another way than the sampling of
/// them.
[[nodiscard]] bool is_in_any(const WindowsOfGpu& windows, int64_t time_ns);

/// What belongs to all ranges of one name.
struct RangeSelection {
    std::vector<bool> calls;  ///< for each of the trace's API calls: was it made inside one of the ranges?
    WindowsOfGpu windows;     ///< for each of the ranges, first start to last end of its work there
    Intervals host;           ///< the ranges themselves, as the host thread saw them; merged
};

/// NVTX ranges of one name and domain; ns are sums over the ranges, so ranges that overlap count twice.
struct RangeUse {
    std::string name, domain;
    int64_t count = 0, host_ns = 0, gpu_ns = 0;
    RunTimes host{}, gpu{};        ///< of one range; `gpu` of those that launched GPU work
    int64_t slowest_start_ns = 0;  ///< of the range that took longest on the GPU, or else on the host
};

/// The work of a trace, ordered by the calls that launched it. The trace must outlive it.
class Launches {
  public:
    explicit Launches(const Trace& trace);

    /// First start to last end of the GPU work that was launched in the range; nothing if none was.
    [[nodiscard]] std::optional<Interval> gpu_time_of(const Range& range) const;

    /// All ranges with this name. An Error lists the names that there are if none has it.
    [[nodiscard]] RangeSelection select(const std::string& name) const;

  private:
    struct Launched {
        int64_t call, device;
        Interval work;
    };
    template <class Visit>
    void for_each_in(const Range& range, const Visit& visit) const;
    template <class Visit>
    void for_each_call_in(const Range& range, const Visit& visit) const;

    /// Was it made on the range's thread? Counts how often it is asked.
    [[nodiscard]] bool is_in(const ApiCall& call, const Range& range) const;

    const Trace& trace_;
    std::vector<Launched> launched_;  ///< by call
    mutable int64_t steps_ = 0;
};

/// Was an NVTX range of this name captured?
[[nodiscard]] bool has_range(const Trace& trace, const std::string& name);

/// "the capture has no NVTX range 'x'; it has 'a', 'b'"
[[nodiscard]] std::string no_such_range(const Trace& trace, const std::string& name);

/// The part of a trace that belongs to all ranges of one name, as a trace of its own, and where it lies.
struct RangePart {
    Trace trace;
    WindowsOfGpu windows;
    Intervals host;
};

[[nodiscard]] RangePart select_range(const Trace& trace, const std::string& name);

/// The trace's NVTX ranges by name and domain, by time on the GPU, falling. With `within`, those that begin
/// while the host is in a range of that name.
[[nodiscard]] std::vector<RangeUse> range_use(const Trace& trace, const std::optional<std::string>& within);

}  // namespace lab
