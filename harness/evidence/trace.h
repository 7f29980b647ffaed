// What a profiler saw, as plain rows in time order: the input of every analysis and picture.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace lab {

class Database;

/// One kernel execution on a GPU. Times are ns on the clock of the capture.
struct Kernel {
    int64_t start_ns = 0, end_ns = 0;
    int64_t stream = 0, device = 0;
    int64_t correlation = 0;  ///< the call that launched it, unique within `process`; 0 if it is not known
    int64_t process = 0;
    int64_t call = -1;  ///< index into Trace::api_calls of that call; -1 if the trace does not have it
    int64_t name = 0;   ///< index into Trace::names; no other full name has it
    int64_t size = -1;  ///< index into Trace::launch_sizes; -1 if it is not known
    int64_t group =
        -1;  ///< of a collective: index into Trace::names of the ranks in it; -1 if it is not known
};

/// The name of what stands for all kernels of a graph that nsys recorded as a whole.
inline constexpr const char* kGraphAsAWhole = "CUDA graph as a whole";

/// What a kernel was launched with: how many blocks, and how many threads each has, as x, y, z.
struct LaunchSize {
    std::array<int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};

    /// Can a kernel be launched so? What a damaged file holds need not be.
    [[nodiscard]] bool possible() const;
    auto operator<=>(const LaunchSize&) const = default;
};

/// Where a copy goes from and to. `set` is not a copy but a memset.
enum class Direction { host_to_device, device_to_host, device_to_device, host_to_host, set, other };

/// One copy or memset on a GPU.
struct Copy {
    int64_t start_ns = 0, end_ns = 0;
    int64_t stream = 0, device = 0;
    int64_t correlation = 0;
    int64_t process = 0;
    int64_t call = -1;
    int64_t bytes = 0;
    Direction direction = Direction::other;
    /// Memory kinds in lower case: pageable, pinned, device, managed, ...; a set has only `to`.
    std::string from, to;
    bool between_gpus = false;  ///< a peer copy; `device` is the GPU that the tool counts it for
};

/// One call of the CUDA runtime or driver API on a host thread.
struct ApiCall {
    int64_t start_ns = 0, end_ns = 0;
    int64_t correlation = 0;
    int64_t process = 0, thread = 0;
    int64_t name = 0;    ///< index into Trace::names: cudaLaunchKernel, without the version's suffix _v7000
    int64_t result = 0;  ///< what the call returned: 0 is success
};

/// One NVTX range on a host thread.
struct Range {
    int64_t start_ns = 0, end_ns = 0;
    int64_t process = 0, thread = 0;
    bool crosses_threads = false;  ///< a start/end range, which belongs to the process and not to a thread
    std::string name, domain;
    int64_t id = 0;  ///< of the view `ranges`
};

/// One operator of PyTorch on a host thread, such as aten::item. An operator that another one called stands
/// within that one.
struct Operator {
    int64_t start_ns = 0, end_ns = 0;
    int64_t thread = 0;
    int64_t name = 0;  ///< index into Trace::names
};

/// One call of the OS runtime libraries on a host thread.
struct OsCall {
    int64_t start_ns = 0, end_ns = 0;
    int64_t process = 0, thread = 0;
    int64_t name = 0;  ///< index into Trace::names
};

/// Where a thread was when its CPU was sampled. `function` and `module` are indices into Trace::names.
struct CpuSample {
    int64_t time_ns = 0;
    int64_t process = 0, thread = 0;
    int64_t function = 0, module = 0;
};

/// What a thread did between two context switches: it ran; it was ready and others ran; or it was blocked.
struct ThreadState {
    int64_t start_ns = 0, end_ns = 0;
    int64_t process = 0, thread = 0;
    enum Kind { running, ready, blocked } kind = running;
};

/// A metric of a GPU in percent, sampled. A sample is the mean from its time up to the next one, as
/// nsys 2025.3 stamps them: recorded kernels lie there, to within 3 µs.
struct Metric {
    struct Sample {
        int64_t time_ns = 0;
        double value = 0;
    };
    int64_t device = 0;
    std::string name, unit;
    std::vector<Sample> samples;  ///< by time
};

/// A GPU by its number in the capture.
struct Gpu {
    int64_t device = 0;
    std::string name;
    int64_t sms = 0;  ///< 0 if it is not known
};

/// What a trace was read from: an export of nsys, or the JSON of torch.profiler, whose tracer is Kineto.
enum class SourceFormat { nsys, kineto };

/// All that was captured.
struct Trace {
    std::vector<Kernel> kernels;     ///< by start
    std::vector<Copy> copies;        ///< by start, sets included
    std::vector<ApiCall> api_calls;  ///< by start
    std::vector<Range> ranges;       ///< by start
    std::vector<std::string> names;  ///< of calls, and of kernels as they are shown: kernel_names.h
    std::unordered_map<int64_t, std::string> full_names;  ///< of kernels, by their index into `names`
    std::vector<LaunchSize> launch_sizes;                 ///< each once, and each possible
    std::vector<Gpu> gpus;
    std::vector<Operator> operators;         ///< by start, if the reader was asked for them
    std::vector<OsCall> os_calls;            ///< by start, without those that another one made
    std::vector<CpuSample> cpu_samples;      ///< by time
    std::vector<ThreadState> thread_states;  ///< by start
    std::vector<Metric> metrics;             ///< in nsys's order, without those that are 0 throughout
    std::map<int64_t, std::string> thread_names;
    int64_t kernels_in_conditional_nodes = 0;  ///< of graphs
    int64_t kernels_of_unknown_launch = 0;     ///< of graphs whose launch is not certain; no range holds them
    SourceFormat format = SourceFormat::nsys;
    bool knows_results = true;    ///< does the file say what calls returned?
    std::optional<int64_t> rank;  ///< of this process among those of a distributed job, if the file says
    std::optional<int64_t> world_size;  ///< how many processes that job has
    std::optional<int64_t> epoch_ns;    ///< time 0 of the capture's clock, since 1970, if the file says

    /// The name of a kernel or of a call.
    [[nodiscard]] const std::string& name_of(int64_t index) const {
        return names[static_cast<std::size_t>(index)];
    }

    /// "" if it is not known.
    [[nodiscard]] std::string name_of_gpu(int64_t device) const;

    /// A kernel's name with all that belongs to it: "void ns::add<float>(float *, int)".
    [[nodiscard]] const std::string& full_name_of(int64_t kernel_name) const {
        const auto known = full_names.find(kernel_name);
        return known == full_names.end() ? name_of(kernel_name) : known->second;
    }
};

[[nodiscard]] const char* to_string(Direction direction);  ///< "host to device", ...

/// All that an export with the views of schema.h holds. Records that end before they start, as a damaged
/// export may hold, are an Error.
[[nodiscard]] Trace read_trace(const Database& database);

}  // namespace lab
