// What `--json` prints: the same numbers as the tables, under stable names.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "lab/command.h"

namespace lab {

using Json = nlohmann::ordered_json;

void print_json(const Json& json) {
    const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace);
    std::string safe;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
        if (c == 0x7F)
            safe += "\\u007f";
        else if (c == 0xC2 && next >= 0x80 && next < 0xA0)  // U+0080 to U+009F: control characters, too
            safe += fmt::format("\\u{:04x}", next), ++i;
        else
            safe += text[i];
    }
    std::puts(safe.c_str());
}

Json to_json(const Measured& measured) {
    if (!measured.value) return nullptr;
    if (const auto* number = std::get_if<double>(&*measured.value)) return *number;
    return std::get<std::string>(*measured.value);
}

Json to_json(const std::vector<FindingRow>& rows, const std::array<const char*, 2>& sides) {
    Json list = Json::array();
    for (const FindingRow& row : rows) {
        const Finding& finding = *row.finding;
        Json item{{"id", finding.id}, {"says", finding.says}, {"unit", finding.unit}};
        Json expect;
        for (std::size_t side = 0; side < 2; ++side) {
            item[sides[side]] = to_json(row.sides[side].measured);
            expect[sides[side]] = finding.expect[side] ? Json(finding.expect[side]->text) : Json(nullptr);
        }
        if (row.quotient) {
            const auto over = finding.quotient->over;
            const std::string name = fmt::format("{}_over_{}", sides[1 - over], sides[over]);
            item[name] = to_json(row.quotient->measured);
            expect = {{name, finding.quotient->expected.text}};
        }
        item["expect"] = std::move(expect);
        item["verdict"] = to_string(row.verdict);
        list.push_back(std::move(item));
    }
    return list;
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
