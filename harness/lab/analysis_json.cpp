#include "lab/analysis_json.h"

#include <nlohmann/json.hpp>

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json to_json(const RunTimes& t) {
    return {{"count", t.count},
            {"total_ns", t.total_ns},
            {"min_ns", t.min_ns},
            {"median_ns", t.median_ns},
            {"max_ns", t.max_ns}};
}

Json to_json(const LaunchUse& launch) {
    Json json{{"grid", launch.size.grid}, {"block", launch.size.block}};
    json.update(to_json(launch.times));
    return json;
}

template <class T>
Json list_of(const std::vector<T>& all);

Json to_json(const KernelUse& k) {
    Json json{{"name", k.name}};
    json.update(to_json(static_cast<const RunTimes&>(k)));
    json["launch_sizes"] = list_of(k.sizes);
    return json;
}

Json to_json(const StreamUse& s) {
    return {{"stream", s.stream},
            {"kernels", s.kernels},
            {"kernel_ns", s.kernel_ns},
            {"copies", s.copies},
            {"copy_ns", s.copy_ns}};
}

Json to_json(const CopyUse& c) {
    return {{"direction", to_string(c.direction)},
            {"from", c.from},
            {"to", c.to},
            {"count", c.count},
            {"bytes", c.bytes},
            {"ns", c.ns}};
}

Json to_json(const RangeUse& r) {
    return {{"name", r.name},
            {"domain", r.domain},
            {"count", r.count},
            {"host_ns", r.host_ns},
            {"gpu_ns", r.gpu_ns}};
}

Json to_json(const ApiUse& u) {
    Json failures = Json::array();
    for (const auto& [result, count] : u.failures) failures.push_back({{"result", result}, {"count", count}});
    return {{"name", u.name},       {"count", u.count},       {"failed", u.failed},
            {"failures", failures}, {"total_ns", u.total_ns}, {"max_ns", u.max_ns}};
}

template <class T>
Json list_of(const std::vector<T>& all) {
    Json list = Json::array();
    for (const T& each : all) list.push_back(to_json(each));
    return list;
}

}  // namespace

Json analysis_json(const Analysis& a, const std::vector<RangeUse>& ranges) {
    const Json overlap{{"h2d_ns", a.h2d_ns},
                       {"h2d_hidden_ns", a.h2d_hidden_ns},
                       {"d2h_ns", a.d2h_ns},
                       {"d2h_hidden_ns", a.d2h_hidden_ns},
                       {"kernel_concurrency", or_null(a.kernel_concurrency())}};
    const Json idle{{"host_wait_ns", a.idle.host_wait_ns},
                    {"kernel_wait_ns", a.idle.kernel_wait_ns},
                    {"other_ns", a.idle.other_ns}};
    return {{"range", or_null(a.range)},
            {"range_ns", or_null(a.range_ns)},
            {"device", a.device},
            {"devices", a.devices},
            {"span_ns", a.span_ns},
            {"gpu_busy_ns", a.gpu_busy_ns},
            {"gpu_idle_ns", a.gpu_idle_ns},
            {"compute_ns", a.compute_ns},
            {"copy_only_ns", a.copy_only_ns},
            {"overlap", overlap},
            {"idle_by_cause", idle},
            {"streams", list_of(a.streams)},
            {"kernels", list_of(a.kernels)},
            {"copies", list_of(a.copies)},
            {"ranges", list_of(ranges)},
            {"api", list_of(a.api)}};
}

}  // namespace lab
