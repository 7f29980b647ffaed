#include "lab/analysis_json.h"

namespace lab {

// How nlohmann::json takes these types: their members under their own names.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunTimes, count, total_ns, min_ns, median_ns, max_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StreamUse, stream, kernels, kernel_ns, copies, copy_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShortGaps::Sum, count, ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShortGaps, after_waits, in_time, launching)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostTime, name, count, ns, longest_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(IdleByCause, host_wait_ns, kernel_wait_ns, other_ns)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FunctionUse, name, module, samples)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ThreadUse, process, thread, name, running_ns, ready_ns, blocked_ns,
                                   switches)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MetricUse, name, unit, samples, mean, max)

static void to_json(nlohmann::json& json, const FirstStep& step) {
    json = {{"rule", step.rule}, {"text", step.text}, {"share", nullptr}};
    if (step.share) json["share"] = *step.share;
}

static void to_json(nlohmann::json& json, const OsUse& use) {
    json = static_cast<const RunTimes&>(use);
    json["name"] = use.name;
}

static void to_json(nlohmann::json& json, const LaunchUse& launch) {
    json = launch.times;
    json["grid"] = launch.size.grid;
    json["block"] = launch.size.block;
}

static void to_json(nlohmann::json& json, const KernelUse& k) {
    json = static_cast<const RunTimes&>(k);
    json["name"] = k.name;
    json["full_name"] = k.full_name;
    json["launch_sizes"] = k.sizes;
}

static void to_json(nlohmann::json& json, const RangeUse& r) {
    json = {{"name", r.name},     {"domain", r.domain},
            {"count", r.count},   {"host_ns", r.host_ns},
            {"gpu_ns", r.gpu_ns}, {"host", r.host},
            {"gpu", r.gpu},       {"slowest_start_ns", r.slowest_start_ns}};
}

static void to_json(nlohmann::json& json, const CopyUse& c) {
    json = {{"direction", to_string(c.direction)},
            {"from", c.from},
            {"to", c.to},
            {"between_gpus", c.between_gpus},
            {"count", c.count},
            {"bytes", c.bytes},
            {"ns", c.ns},
            {"max_ns", c.max_ns}};
}

static void to_json(nlohmann::json& json, const DeviceUse& d) {
    json = device_json(d);
}

static void to_json(nlohmann::json& json, const ApiUse& u) {
    json = {{"name", u.name},         {"count", u.count},   {"failed", u.failed},
            {"total_ns", u.total_ns}, {"max_ns", u.max_ns}, {"failures", nlohmann::json::array()}};
    for (const auto& [result, count] : u.failures)
        json["failures"].push_back({{"result", result}, {"count", count}});
}

namespace {

/// A gap, with its start also from the first GPU work on.
nlohmann::json gap_json(const Gap& gap, int64_t first_work_ns) {
    return {{"start_ns", gap.start_ns},
            {"from_first_work_ns", gap.start_ns - first_work_ns},
            {"ns", gap.ns},
            {"before", gap.before},
            {"after", gap.after},
            {"cause", gap.cause},
            {"calls", gap.calls},
            {"no_call_ns", gap.no_call_ns},
            {"os_calls", gap.os_calls}};
}

}  // namespace

nlohmann::json device_json(const DeviceUse& d) {
    return {{"device", d.device},
            {"name", d.name},
            {"span_ns", d.span_ns},
            {"compute_ns", d.compute_ns},
            {"communication_ns", d.communication_ns},
            {"communication_hidden_ns", d.communication_hidden_ns},
            {"copy_only_ns", d.copy_only_ns},
            {"gpu_idle_ns", d.gpu_idle_ns}};
}

nlohmann::json analysis_json(const Analysis& a, const std::vector<RangeUse>& ranges,
                             const std::vector<FirstStep>& steps) {
    nlohmann::json gaps = nlohmann::json::array();
    for (const Gap& gap : a.gaps) gaps.push_back(gap_json(gap, a.first_work_ns));
    const nlohmann::json overlap{{"h2d_ns", a.h2d_ns},
                                 {"h2d_hidden_ns", a.h2d_hidden_ns},
                                 {"d2h_ns", a.d2h_ns},
                                 {"d2h_hidden_ns", a.d2h_hidden_ns},
                                 {"kernel_concurrency", or_null(a.kernel_concurrency())}};
    return {{"range", or_null(a.range)},
            {"range_ns", or_null(a.range_ns)},
            {"device", a.device},
            {"devices", a.devices},
            {"span_ns", a.span_ns},
            {"gpu_busy_ns", a.gpu_busy_ns},
            {"gpu_idle_ns", a.gpu_idle_ns},
            {"compute_ns", a.compute_ns},
            {"communication_ns", a.communication_ns},
            {"communication_hidden_ns", a.communication_hidden_ns},
            {"communication_bytes", a.communication_bytes},
            {"copy_only_ns", a.copy_only_ns},
            {"overlap", overlap},
            {"first_work_ns", a.first_work_ns},
            {"first_steps", steps},
            {"idle_by_cause", a.idle},
            {"idle_by_call", {{"calls", a.idle_by_call}, {"no_call_ns", a.idle_no_call_ns}}},
            {"gaps", gaps},
            {"short_gaps", a.short_gaps},
            {"streams", a.streams},
            {"kernels", a.kernels},
            {"copies", a.copies},
            {"ranges", ranges},
            {"api", a.api},
            {"cpu_functions", a.functions},
            {"os_calls", a.os_calls},
            {"threads", a.threads},
            {"gpu_metrics", a.metrics}};
}

}  // namespace lab
