// From a trace to the numbers that answer "where does the time go?".
//
// The temporal breakdown follows the definition of Holistic Trace Analysis
// (https://github.com/facebookresearch/HolisticTraceAnalysis): kernels that communicate between GPUs do not
// compute. All of it is computed on merged intervals, so that work which overlaps is counted once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evidence/idle.h"
#include "evidence/run_times.h"
#include "evidence/trace.h"

namespace lab {

/// What one stream did.
struct StreamUse {
    int64_t stream = 0;
    int64_t kernels = 0, kernel_ns = 0;  ///< ns: time with at least one kernel of this stream running
    int64_t copies = 0, copy_ns = 0;     ///< memory sets included
};

/// All runs of the kernels of one name that were launched with one size.
struct LaunchUse {
    LaunchSize size;
    RunTimes times;
};

/// All runs of the kernels of one full name.
struct KernelUse : RunTimes {
    std::string name, full_name;   ///< as it is shown, which no other kernel of the trace is, and in full
    std::vector<LaunchUse> sizes;  ///< by total time, falling; without runs whose size is not known
};

/// All copies, or memory sets, of one direction between two kinds of memory.
struct CopyUse {
    Direction direction = Direction::other;
    std::string from, to;  ///< memory kinds
    int64_t count = 0, bytes = 0;
    int64_t ns = 0;  ///< sum over the copies: what each took, not time on the clock
    int64_t max_ns = 0;
    bool between_gpus = false;
};

/// All calls of one function of the CUDA API.
struct ApiUse {
    std::string name;
    int64_t count = 0, failed = 0, total_ns = 0, max_ns = 0;
    std::map<int64_t, int64_t> failures;  ///< what the failed ones returned, and how many of them
};

/// All calls of one function of the OS runtime libraries, on any thread.
struct OsUse : RunTimes {
    std::string name;
};

/// How often samples of the CPU found a thread in one function.
struct FunctionUse {
    std::string name, module;
    int64_t samples = 0;
};

/// What one thread did between its context switches.
struct ThreadUse {
    int64_t process = 0, thread = 0;
    std::string name;  ///< "" if it has none
    int64_t running_ns = 0, ready_ns = 0, blocked_ns = 0;
    int64_t switches = 0;  ///< how often it was stopped
};

/// The samples of one metric of the GPU.
struct MetricUse {
    std::string name, unit;
    int64_t samples = 0;
    double mean = 0, max = 0;
};

/// Where the time of one GPU goes. What is exposed of communication is the part that no kernel hides:
/// compute + (communication - communication_hidden) + copy_only + gpu_idle = span.
struct GpuTime {
    int64_t span_ns = 0;  ///< first start to last end of GPU work; with a range, of each range's work
    int64_t gpu_busy_ns = 0, gpu_idle_ns = 0;
    int64_t compute_ns = 0;               ///< a kernel runs that does not communicate
    int64_t communication_ns = 0;         ///< a kernel of NCCL or NVSHMEM runs, or a copy between two GPUs
    int64_t communication_hidden_ns = 0;  ///< of that, time in which the GPU computes, too
    int64_t copy_only_ns = 0;             ///< other copies or memsets alone
    [[nodiscard]] int64_t exposed_ns() const { return communication_ns - communication_hidden_ns; }
};

/// One of the GPUs with work.
struct DeviceUse : GpuTime {
    int64_t device = 0;
    std::string name;  ///< "" if it is not known
};

/// The numbers of one GPU: of the whole trace, or of the ranges of one name. Calls, ranges and threads are of
/// the whole process.
struct Analysis : GpuTime {
    std::optional<std::string> range;  ///< the name of the ranges, if it is about some
    int64_t device = 0;                ///< the GPU this is about
    std::vector<DeviceUse> devices;    ///< all GPUs with work in the trace, by number
    std::optional<int64_t> range_ns;   ///< with a range: time the host spent in it
    int64_t communication_bytes = 0;   ///< of copies between two GPUs; what kernels move is not recorded
    int64_t h2d_ns = 0, d2h_ns = 0;    ///< time with a copy of this direction running
    int64_t h2d_hidden_ns = 0, d2h_hidden_ns = 0;  ///< of that, time in which the GPU computes, too
    int64_t concurrent_ns = 0;                     ///< time with at least two kernels that compute
    int64_t first_work_ns = 0;  ///< start of the first GPU work that counts, by the capture's clock, or 0
    IdleByCause idle;
    std::vector<Gap> gaps;               ///< the 5 longest, the longest first
    std::vector<HostTime> idle_by_call;  ///< CUDA calls that the host was in while the GPU was idle
    ShortGaps short_gaps;
    int64_t idle_no_call_ns = 0;         ///< idle time in which the host was in none
    std::vector<StreamUse> streams;      ///< by stream
    std::vector<KernelUse> kernels;      ///< by total time, falling
    std::vector<CopyUse> copies;         ///< by bytes, falling
    std::vector<ApiUse> api;             ///< by total time, falling
    std::vector<OsUse> os_calls;         ///< by total time, falling
    std::vector<FunctionUse> functions;  ///< by samples, falling
    std::vector<ThreadUse> threads;      ///< by time running, falling
    std::vector<MetricUse> metrics;      ///< of this GPU, first GPU work to last; in nsys's order

    /// Share of kernel time with two or more kernels running, 0 to 1; nothing without kernels.
    [[nodiscard]] std::optional<double> kernel_concurrency() const;
};

/// The numbers of the trace, or of the work launched in NVTX ranges of this name. An Error lists the ranges
/// if none has it. They are of this GPU, or else of the one that computes longest; an Error lists the GPUs
/// with work if this one has none.
[[nodiscard]] Analysis analyse(const Trace& trace, const std::optional<std::string>& range = std::nullopt,
                               const std::optional<int64_t>& device = std::nullopt);

struct RangePart;

/// Where the time of each GPU with work goes, by number: in the trace, or in a part of it if that is not
/// null. The same as Analysis::devices.
[[nodiscard]] std::vector<DeviceUse> device_use(const Trace& trace, const RangePart* part);

/// A number of the analysis by the name that findings use (span_ms, gpu_busy_share, ...); nothing where it is
/// not defined, such as the hidden share where nothing is copied. An unknown name is an Error that lists all.
[[nodiscard]] std::optional<double> metric(const Analysis& analysis, const std::string& name);

/// All names that metric() knows.
[[nodiscard]] const std::vector<std::string>& metric_names();

}  // namespace lab
