#include "lab/rooflines.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/process.h"
#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "tools/fingerprint.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

/// A rate or an amount with three significant digits and the unit that suits it: "4.5 TB/s" of 4.5e12, "B/s".
std::string with_prefix(double value, const char* unit) {
    constexpr std::array kPrefixes{"", "k", "M", "G", "T", "P"};
    std::size_t prefix = 0;
    for (; value >= 999.5 && prefix + 1 < kPrefixes.size(); ++prefix) value /= 1000;
    return fmt::format("{} {}{}", format_number(value, 3), kPrefixes[prefix], unit);
}

std::string rate_or_dash(const std::optional<double>& rate, const char* unit) {
    return rate ? with_prefix(*rate, unit) : "–";
}

Table roofs_table(const RooflineEvidence& roofline) {
    Table table({"roof", "measured", "theoretical", "measured / theoretical"},
                {Align::left, Align::right, Align::right, Align::right});
    const auto add = [&](const std::vector<MeasuredRoof>& roofs, const char* unit) {
        for (const MeasuredRoof& roof : roofs)
            table.add(
                {roof.name, rate_or_dash(roof.measured, unit), rate_or_dash(roof.theoretical, unit),
                 roof.measured && roof.theoretical ? percent(*roof.measured / *roof.theoretical) : "–"});
    };
    add(roofline.bandwidths, "B/s");
    add(roofline.computes, "FLOP/s");
    return table;
}

Table points_table(const RooflineEvidence& roofline) {
    Table table(
        {"point", "FLOP", "bytes", "FLOP/byte", "time", "reaches", "of what it could reach there"},
        {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::left});
    for (const MeasuredPoint& point : roofline.points) {
        const Limit limit = roofline.limit_of(point);
        table.add({point.name, with_prefix(point.flop, "FLOP"), with_prefix(point.bytes, "B"),
                   format_number(point.flop_per_byte(), 3), format_ns(point.seconds * 1e9),
                   with_prefix(point.flop_per_s(), "FLOP/s"),
                   fmt::format("{} ({})", percent(limit.share), limit.denominator)});
    }
    return table;
}

/// 16 hex digits that stand for the numbers.
std::string hash_of(const RooflineEvidence& roofline) {
    return fingerprint({}, to_json(roofline).dump());
}

}  // namespace

Json to_json(const RooflineEvidence& roofline) {
    Json json{{"label", roofline.label}};
    json["roofs"] = Json::array();
    const auto add = [&](const std::vector<MeasuredRoof>& roofs, const char* unit) {
        for (const bool measured : {true, false})
            for (const MeasuredRoof& roof : roofs)
                if (const auto& rate = measured ? roof.measured : roof.theoretical)
                    json["roofs"].push_back(
                        {{"name", roof.name}, {"unit", unit}, {"measured", measured}, {"per_s", *rate}});
    };
    add(roofline.bandwidths, "B/s");
    add(roofline.computes, "FLOP/s");
    json["points"] = Json::array();
    for (const MeasuredPoint& point : roofline.points) {
        const Limit limit = roofline.limit_of(point);
        json["points"].push_back({{"name", point.name},
                                  {"flop", point.flop},
                                  {"bytes", point.bytes},
                                  {"seconds", point.seconds},
                                  {"share", limit.share},
                                  {"of", limit.denominator},
                                  {"roofs", {point.bandwidth, point.compute}}});
    }
    json["left_out"] = roofline.left_out;
    if (roofline.blank) json["blank"] = true;
    return json;
}

std::string roofline_tables(const RooflineEvidence& roofline, bool markdown) {
    const auto text = [&](const Table& table) { return markdown ? table.markdown() : table.text(); };
    std::string tables = text(roofs_table(roofline));
    if (!roofline.points.empty()) tables += "\n" + text(points_table(roofline));
    for (const std::string& sentence : roofline.left_out)
        tables += (markdown ? "not among the points: " + sentence
                            : paragraph("not among the points: " + sentence)) +
                  "\n";
    return tables;
}

std::string draw_roofline(const Course& course, const RooflineEvidence& roofline, const fs::path& svg) {
    if (!find_program("python3")) return "python3 is not here";
    Json json = to_json(roofline);
    json["title"] = roofline.title;
    json["hash"] = hash_of(roofline);
    const TemporaryFolder scratch;
    write_file(scratch.path() / "roofline.json", json.dump());
    const fs::path drawn = scratch.path() / "roofline.svg";
    const Outcome outcome = run({.words = {"python3", (course.root() / "harness/draw/roofline.py").string(),
                                           (scratch.path() / "roofline.json").string(), drawn.string()}});
    if (outcome.exit_code == kNothingCouldRun) return printable(trim(outcome.err));
    if (outcome.exit_code != 0)
        throw Error("harness/draw/roofline.py failed: " + printable(trim(outcome.err)), kFindingFailed);
    replace_file(drawn, svg);
    return "";
}

bool is_picture_of(const std::string& svg, const RooflineEvidence& roofline) {
    return svg.find("numbers " + hash_of(roofline)) != std::string::npos;
}

}  // namespace lab
