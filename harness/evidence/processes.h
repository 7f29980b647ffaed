// Several recordings as one: each of one process of a distributed job, a rank. Who computes most, and who
// waits for whom in the collectives of NCCL.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/intervals.h"
#include "evidence/analysis.h"
#include "evidence/trace.h"

namespace lab {

/// One process, as its recording has it; its trace has been let go.
struct ProcessUse {
    std::string file;
    std::vector<std::string> problems;  ///< sentences on why the recording may not be whole
    int64_t rank = 0;
    std::optional<int64_t> recorded_rank;  ///< as the recording has it; a name of a file is none
    std::optional<int64_t> world_size;     ///< ranks of the job, if the recording says
    SourceFormat format = SourceFormat::nsys;
    std::optional<int64_t> epoch_ns;  ///< time 0 of its clock, since 1970
    std::vector<DeviceUse> devices;   ///< with work, by number
    Interval work;  ///< first start to last end of its GPU work, since 1970 if it can be told
    /// Runs of communication kernels by start, on the clock of `work`: by GPU, and by the kernel's full name
    /// and the ranks of its process group.
    std::map<int64_t, std::map<std::string, Intervals>> collectives;
    /// Sum over the collectives that could be matched: from the start of its kernel until the last rank's
    /// begins, or until its own ends. Nothing where clocks are not aligned.
    std::optional<int64_t> wait_in_collectives_ns;

    [[nodiscard]] int64_t sum_of(int64_t GpuTime::*number) const;  ///< over its GPUs
};

/// Takes what is needed of a trace: of all its work, or of what was launched in ranges of this name; on all
/// GPUs, or on one. An Error says if it has no such range, or no work on that GPU.
[[nodiscard]] ProcessUse process_use(const std::string& file, const Trace& trace,
                                     const std::optional<std::string>& range,
                                     const std::optional<int64_t>& device);

/// Collectives that were found on several ranks. The n-th kernels of one name and process group are one
/// collective, if all those ranks ran as many, and if there was a time at which all of them ran.
struct Skew {
    int64_t collectives = 0;                  ///< how many were matched
    int64_t median_ns = 0, longest_ns = 0;    ///< from the first rank's start to the last one's
    std::string longest_name;                 ///< full name
    std::map<int64_t, int64_t> last_to_come;  ///< by rank: in how many it began last
    int64_t apart = 0;                        ///< that would match, and never ran at once
    std::vector<std::string> uneven;          ///< full names of which ranks ran different numbers
};

/// All ranks.
struct Processes {
    std::vector<ProcessUse> processes;       ///< by rank
    std::vector<int64_t> missing;            ///< ranks of the job that no file is of
    std::vector<std::string> remarks;        ///< sentences on what does not fit
    std::optional<std::string> not_aligned;  ///< why starts on different ranks cannot be compared
    std::optional<Skew> skew;                ///< if clocks are aligned, and collectives were matched
    std::size_t slowest = 0;                 ///< index of the process that computes longest
    std::optional<double> compute_max_over_mean;
};

/// Puts processes side by side. An Error names two recordings of one rank.
[[nodiscard]] Processes side_by_side(std::vector<ProcessUse> processes);

/// The number behind the last "rank" in the name of a file, as in rank_3.json or trace-rank3.sqlite.
[[nodiscard]] std::optional<int64_t> rank_in_name(const std::string& file);

}  // namespace lab
