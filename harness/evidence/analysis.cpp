#include "evidence/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "core/error.h"
#include "evidence/communication.h"
#include "evidence/launches.h"

namespace lab {

namespace {

template <class Work, class Wanted>
Intervals intervals_of(const std::vector<Work>& work, const Wanted& wanted) {
    Intervals intervals;
    for (const Work& w : work)
        if (wanted(w)) intervals.push_back({w.start_ns, w.end_ns});
    return intervals;
}

/// All work of one GPU, as the breakdown needs it.
struct WorkOfGpu {
    Intervals kernels, communication, moving;  ///< as recorded; `moving` has other copies, and memsets
};

std::map<int64_t, WorkOfGpu> work_by_gpu(const Trace& trace) {
    const std::vector<bool> communicates = communication_names(trace);
    std::map<int64_t, WorkOfGpu> work;
    for (const Kernel& k : trace.kernels) {
        WorkOfGpu& of_gpu = work[k.device];
        (communicates[static_cast<std::size_t>(k.name)] ? of_gpu.communication : of_gpu.kernels)
            .push_back({k.start_ns, k.end_ns});
    }
    for (const Copy& c : trace.copies) {
        WorkOfGpu& of_gpu = work[c.device];
        (c.between_gpus ? of_gpu.communication : of_gpu.moving).push_back({c.start_ns, c.end_ns});
    }
    return work;
}

/// Merged intervals of one GPU.
struct Merged {
    Intervals compute, communication, busy, span;
};

/// `windows`: of ranges, or null.
Merged merged(int64_t device, const WorkOfGpu& work, const WindowsOfGpu* windows) {
    Merged m{merge(work.kernels), merge(work.communication), {}, {}};
    m.busy = work.moving;
    m.busy.insert(m.busy.end(), m.compute.begin(), m.compute.end());
    m.busy.insert(m.busy.end(), m.communication.begin(), m.communication.end());
    m.busy = merge(std::move(m.busy));
    if (windows) {
        if (windows->count(device)) m.span = windows->at(device);
    } else if (!m.busy.empty()) {
        m.span = {{m.busy.front().begin, m.busy.back().end}};
    }
    return m;
}

GpuTime time_of(const Merged& m) {
    GpuTime time;
    time.span_ns = total(m.span);
    time.gpu_busy_ns = total(m.busy);
    time.gpu_idle_ns = time.span_ns - time.gpu_busy_ns;
    time.compute_ns = total(m.compute);
    time.communication_ns = total(m.communication);
    time.communication_hidden_ns = total(intersect(m.communication, m.compute));
    time.copy_only_ns = time.gpu_busy_ns - time.compute_ns - time.exposed_ns();
    return time;
}

std::map<int64_t, Merged> merged_by_gpu(const std::map<int64_t, WorkOfGpu>& work,
                                        const WindowsOfGpu* windows) {
    std::map<int64_t, Merged> all;
    for (const auto& [device, of_gpu] : work) all[device] = merged(device, of_gpu, windows);
    return all;
}

std::vector<DeviceUse> use_of_gpus(const Trace& whole, const std::map<int64_t, Merged>& gpus) {
    std::vector<DeviceUse> all;
    for (const auto& [device, m] : gpus) all.push_back({time_of(m), device, whole.name_of_gpu(device)});
    return all;
}

/// The GPU that computes longest, or is busy longest where none computes.
void choose_device(Analysis& a) {
    const auto most = std::max_element(a.devices.begin(), a.devices.end(),
                                       [](const DeviceUse& one, const DeviceUse& other) {
                                           return std::pair(one.compute_ns, one.gpu_busy_ns) <
                                                  std::pair(other.compute_ns, other.gpu_busy_ns);
                                       });
    if (most != a.devices.end()) a.device = most->device;
}

void check_device(const Analysis& a, int64_t device) {
    std::vector<std::string> there;
    for (const DeviceUse& use : a.devices) {
        if (use.device == device) return;
        there.push_back(std::to_string(use.device));
    }
    throw Error(fmt::format("GPU {} did no work{}{}", device,
                            a.range ? fmt::format(" in range '{}'", *a.range) : "",
                            there.empty() ? "" : fmt::format("; these did: {}", fmt::join(there, ", "))));
}

/// `whole` is the trace that `trace` may be a part of.
void breakdown(const Trace& trace, const Trace& whole, const WorkOfGpu& work, const Merged& m, Analysis& a) {
    const auto copies = [&](Direction direction) {
        return merge(intervals_of(
            trace.copies, [&](const Copy& c) { return c.device == a.device && c.direction == direction; }));
    };
    static_cast<GpuTime&>(a) = time_of(m);
    for (const Copy& c : trace.copies)
        if (c.device == a.device && c.between_gpus) a.communication_bytes += c.bytes;
    const Intervals up = copies(Direction::host_to_device), down = copies(Direction::device_to_host);
    a.h2d_ns = total(up);
    a.d2h_ns = total(down);
    a.h2d_hidden_ns = total(intersect(up, m.compute));
    a.d2h_hidden_ns = total(intersect(down, m.compute));
    a.concurrent_ns = total(overlaps(work.kernels));
    if (!m.busy.empty()) a.first_work_ns = m.busy.front().begin;
    IdleTime idle = idle_time(trace, whole, a.device, m.span);
    a.idle = idle.by_cause;
    a.short_gaps = idle.short_gaps;
    a.gaps = std::move(idle.longest);
    a.idle_by_call = std::move(idle.by_call);
    a.idle_no_call_ns = idle.no_call_ns;
}

void by_stream(const Trace& trace, Analysis& a) {
    std::map<int64_t, StreamUse> use;
    std::map<int64_t, Intervals> kernels, copies;
    for (const Kernel& k : trace.kernels)
        if (k.device == a.device) kernels[k.stream].push_back({k.start_ns, k.end_ns});
    for (const Copy& c : trace.copies)
        if (c.device == a.device) copies[c.stream].push_back({c.start_ns, c.end_ns});
    for (auto& [stream, work] : kernels) {
        use[stream].kernels = std::ssize(work);
        use[stream].kernel_ns = total(merge(std::move(work)));
    }
    for (auto& [stream, work] : copies) {
        use[stream].copies = std::ssize(work);
        use[stream].copy_ns = total(merge(std::move(work)));
    }
    for (auto& [stream, u] : use) {
        u.stream = stream;
        a.streams.push_back(u);
    }
}

/// By total time, falling.
template <class Use>
void sort_by_time(std::vector<Use>& use) {
    std::sort(use.begin(), use.end(), [](const Use& x, const Use& y) {
        return std::tie(y.total_ns, x.name) < std::tie(x.total_ns, y.name);
    });
}

void by_kernel(const Trace& trace, Analysis& a) {
    const auto sizes = static_cast<int64_t>(trace.launch_sizes.size());
    std::unordered_map<int64_t, std::vector<int64_t>> of_name, of_size;  // ns; by name, by name and size
    for (const Kernel& k : trace.kernels) {
        if (k.device != a.device) continue;
        of_name[k.name].push_back(k.end_ns - k.start_ns);
        if (k.size >= 0) of_size[k.name * sizes + k.size].push_back(k.end_ns - k.start_ns);
    }
    std::unordered_map<int64_t, KernelUse> use;
    for (auto& [name, ns] : of_name)
        use[name] = {times_of(ns), trace.name_of(name), trace.full_name_of(name), {}};
    for (auto& [key, ns] : of_size) {
        const LaunchSize& size = trace.launch_sizes[static_cast<std::size_t>(key % sizes)];
        use[key / sizes].sizes.push_back({size, times_of(ns)});
    }
    for (auto& [name, u] : use) {
        std::sort(u.sizes.begin(), u.sizes.end(), [](const LaunchUse& x, const LaunchUse& y) {
            return std::tie(y.times.total_ns, x.size) < std::tie(x.times.total_ns, y.size);
        });
        a.kernels.push_back(std::move(u));
    }
    sort_by_time(a.kernels);
}

void by_copy(const Trace& trace, Analysis& a) {
    std::map<std::tuple<Direction, std::string, std::string, bool>, CopyUse> use;
    for (const Copy& c : trace.copies) {
        if (c.device != a.device) continue;
        CopyUse& u = use[{c.direction, c.from, c.to, c.between_gpus}];
        u.direction = c.direction, u.from = c.from, u.to = c.to, u.between_gpus = c.between_gpus;
        ++u.count;
        u.bytes += c.bytes;
        u.ns += c.end_ns - c.start_ns;
        u.max_ns = std::max(u.max_ns, c.end_ns - c.start_ns);
    }
    for (auto& [key, u] : use) a.copies.push_back(u);
    std::stable_sort(a.copies.begin(), a.copies.end(),
                     [](const CopyUse& x, const CopyUse& y) { return x.bytes > y.bytes; });
}

void by_api(const Trace& trace, Analysis& a) {
    std::unordered_map<int64_t, ApiUse> use;
    for (const ApiCall& call : trace.api_calls) {
        ApiUse& u = use[call.name];
        ++u.count;
        if (call.result != 0) ++u.failed, ++u.failures[call.result];
        u.total_ns += call.end_ns - call.start_ns;
        u.max_ns = std::max(u.max_ns, call.end_ns - call.start_ns);
    }
    for (auto& [name, u] : use) {
        u.name = trace.name_of(name);
        a.api.push_back(u);
    }
    sort_by_time(a.api);
}

void by_os_call(const Trace& trace, Analysis& a) {
    std::unordered_map<int64_t, std::vector<int64_t>> of_name;  // ns
    for (const OsCall& call : trace.os_calls) of_name[call.name].push_back(call.end_ns - call.start_ns);
    for (auto& [name, ns] : of_name) a.os_calls.push_back({times_of(ns), trace.name_of(name)});
    sort_by_time(a.os_calls);
}

void by_function(const Trace& trace, Analysis& a) {
    std::map<std::pair<int64_t, int64_t>, int64_t> samples;
    for (const CpuSample& sample : trace.cpu_samples) ++samples[{sample.function, sample.module}];
    for (const auto& [place, count] : samples)
        a.functions.push_back({trace.name_of(place.first), trace.name_of(place.second), count});
    std::sort(a.functions.begin(), a.functions.end(), [](const FunctionUse& x, const FunctionUse& y) {
        return std::tie(y.samples, x.name, x.module) < std::tie(x.samples, y.name, y.module);
    });
}

void by_thread(const Trace& trace, Analysis& a) {
    std::map<int64_t, ThreadUse> use;
    for (const ThreadState& state : trace.thread_states) {
        ThreadUse& u = use[state.thread];
        u.process = state.process;
        const int64_t ns = state.end_ns - state.start_ns;
        (state.kind == ThreadState::running ? u.running_ns
         : state.kind == ThreadState::ready ? u.ready_ns
                                            : u.blocked_ns) += ns;
        u.switches += state.kind != ThreadState::running;
    }
    for (auto& [thread, u] : use) {
        u.thread = thread;
        const auto name = trace.thread_names.find(thread);
        if (name != trace.thread_names.end()) u.name = name->second;
        a.threads.push_back(std::move(u));
    }
    std::stable_sort(a.threads.begin(), a.threads.end(),
                     [](const ThreadUse& x, const ThreadUse& y) { return x.running_ns > y.running_ns; });
}

void by_metric(const Trace& trace, Analysis& a) {
    Interval span{INT64_MAX, INT64_MIN};
    const auto widen = [&](const auto& all) {
        for (const auto& work : all)
            if (work.device == a.device)
                span = {std::min(span.begin, work.start_ns), std::max(span.end, work.end_ns)};
    };
    widen(trace.kernels), widen(trace.copies);
    for (const Metric& metric : trace.metrics) {
        MetricUse use{metric.name, metric.unit, 0, 0, 0};
        for (const Metric::Sample& sample : metric.samples) {
            if (metric.device != a.device || sample.time_ns < span.begin || sample.time_ns > span.end)
                continue;
            ++use.samples;
            use.mean += (sample.value - use.mean) / static_cast<double>(use.samples);
            use.max = std::max(use.max, sample.value);
        }
        if (use.samples > 0) a.metrics.push_back(std::move(use));
    }
}

std::optional<double> share(int64_t part, int64_t whole) {
    if (whole == 0) return std::nullopt;
    return static_cast<double>(part) / static_cast<double>(whole);
}

std::map<std::string, std::optional<double>> metrics_of(const Analysis& a) {
    return {
        {"span_ms", a.span_ns / 1e6},
        {"range_ms", a.range_ns ? std::optional(*a.range_ns / 1e6) : std::nullopt},
        {"gpu_busy_ms", a.gpu_busy_ns / 1e6},
        {"gpu_idle_ms", a.gpu_idle_ns / 1e6},
        {"gpu_busy_share", share(a.gpu_busy_ns, a.span_ns)},
        {"compute_share", share(a.compute_ns, a.span_ns)},
        {"compute_ms", a.compute_ns / 1e6},
        {"copy_only_ms", a.copy_only_ns / 1e6},
        {"h2d_hidden_share", share(a.h2d_hidden_ns, a.h2d_ns)},
        {"d2h_hidden_share", share(a.d2h_hidden_ns, a.d2h_ns)},
        {"kernel_concurrency", a.kernel_concurrency()},
    };
}

}  // namespace

std::optional<double> Analysis::kernel_concurrency() const {
    return share(concurrent_ns, compute_ns);
}

Analysis analyse(const Trace& trace, const std::optional<std::string>& range,
                 const std::optional<int64_t>& device) {
    std::optional<RangePart> part;
    if (range) require_calls(trace), part = select_range(trace, *range);
    const Trace& of = part ? part->trace : trace;
    Analysis a;
    a.range = range;
    if (part) a.range_ns = total(part->host);
    const WindowsOfGpu* const windows = part ? &part->windows : nullptr;
    std::map<int64_t, WorkOfGpu> work = work_by_gpu(of);
    std::map<int64_t, Merged> gpus = merged_by_gpu(work, windows);
    a.devices = use_of_gpus(trace, gpus);
    if (device)
        check_device(a, *device), a.device = *device;
    else
        choose_device(a);
    breakdown(of, trace, work[a.device], gpus[a.device], a);  // of a trace without work, both are empty
    by_stream(of, a);
    by_kernel(of, a);
    by_copy(of, a);
    by_api(of, a);
    by_os_call(of, a);
    by_function(of, a);
    by_thread(of, a);
    by_metric(of, a);
    return a;
}

std::vector<DeviceUse> device_use(const Trace& trace, const RangePart* part) {
    const std::map<int64_t, WorkOfGpu> work = work_by_gpu(part ? part->trace : trace);
    return use_of_gpus(trace, merged_by_gpu(work, part ? &part->windows : nullptr));
}

std::optional<double> metric(const Analysis& analysis, const std::string& name) {
    const auto metrics = metrics_of(analysis);
    const auto at = metrics.find(name);
    if (at == metrics.end())
        throw Error(
            fmt::format("there is no metric '{}'; there are {}", name, fmt::join(metric_names(), ", ")));
    return at->second;
}

const std::vector<std::string>& metric_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const auto& [name, value] : metrics_of({})) all.push_back(name);
        return all;
    }();
    return names;
}

}  // namespace lab
