// What `--json` prints: the same numbers as the tables, under stable names.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "lab/command.h"

namespace lab {

using Json = nlohmann::ordered_json;

void print_json(const Json& json) {
    // All but ASCII is escaped, so that no control character of a name reaches a terminal.
    std::puts(json.dump(2, ' ', true, Json::error_handler_t::replace).c_str());
}

namespace {

void add_times(Json& json, const RunTimes& times) {
    json["count"] = times.count;
    json["total_ns"] = times.total_ns;
    json["min_ns"] = times.min_ns;
    json["median_ns"] = times.median_ns;
    json["max_ns"] = times.max_ns;
}

}  // namespace

Json to_json(const Analysis& a, const std::vector<RangeUse>& ranges) {
    Json json;
    json["range"] = a.range ? Json(*a.range) : Json(nullptr);
    json["range_ns"] = a.range_ns ? Json(*a.range_ns) : Json(nullptr);
    json["device"] = a.device;
    json["devices"] = a.devices;
    json["span_ns"] = a.span_ns;
    json["gpu_busy_ns"] = a.gpu_busy_ns;
    json["gpu_idle_ns"] = a.gpu_idle_ns;
    json["compute_ns"] = a.compute_ns;
    json["copy_only_ns"] = a.copy_only_ns;
    const auto concurrency = a.kernel_concurrency();
    json["overlap"] = {{"h2d_ns", a.h2d_ns},
                       {"h2d_hidden_ns", a.h2d_hidden_ns},
                       {"d2h_ns", a.d2h_ns},
                       {"d2h_hidden_ns", a.d2h_hidden_ns},
                       {"kernel_concurrency", concurrency ? Json(*concurrency) : Json(nullptr)}};
    json["idle_by_cause"] = {{"host_wait_ns", a.idle.host_wait_ns},
                             {"kernel_wait_ns", a.idle.kernel_wait_ns},
                             {"other_ns", a.idle.other_ns}};
    json["streams"] = Json::array();
    for (const StreamUse& s : a.streams)
        json["streams"].push_back({{"stream", s.stream},
                                   {"kernels", s.kernels},
                                   {"kernel_ns", s.kernel_ns},
                                   {"copies", s.copies},
                                   {"copy_ns", s.copy_ns}});
    json["kernels"] = Json::array();
    for (const KernelUse& k : a.kernels) {
        Json kernel{{"name", k.name}};
        add_times(kernel, k);
        kernel["launch_sizes"] = Json::array();
        for (const LaunchUse& launch : k.sizes) {
            Json size{{"grid", launch.size.grid}, {"block", launch.size.block}};
            add_times(size, launch.times);
            kernel["launch_sizes"].push_back(std::move(size));
        }
        json["kernels"].push_back(std::move(kernel));
    }
    json["copies"] = Json::array();
    for (const CopyUse& c : a.copies)
        json["copies"].push_back({{"direction", to_string(c.direction)},
                                  {"from", c.from},
                                  {"to", c.to},
                                  {"count", c.count},
                                  {"bytes", c.bytes},
                                  {"ns", c.ns}});
    json["ranges"] = Json::array();
    for (const RangeUse& r : ranges)
        json["ranges"].push_back({{"name", r.name},
                                  {"domain", r.domain},
                                  {"count", r.count},
                                  {"host_ns", r.host_ns},
                                  {"gpu_ns", r.gpu_ns}});
    json["api"] = Json::array();
    for (const ApiUse& u : a.api) {
        json["api"].push_back({{"name", u.name},
                               {"count", u.count},
                               {"failed", u.failed},
                               {"failures", Json::array()},
                               {"total_ns", u.total_ns},
                               {"max_ns", u.max_ns}});
        for (const auto& [result, count] : u.failures)
            json["api"].back()["failures"].push_back({{"result", result}, {"count", count}});
    }
    return json;
}

}  // namespace lab
