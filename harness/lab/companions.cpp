#include "lab/companions.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/table.h"
#include "course/case_evidence.h"
#include "draw/roofline_evidence.h"
#include "lab/command.h"

namespace lab {

namespace {

using Align = Table::Align;

/// Fills in what a way to the evidence gives, or why it gives none.
template <class Obtain>
CompanionRun run_by(const Companion& companion, bool live, const Obtain& obtain) {
    CompanionRun run;
    run.companion = &companion;
    try {
        run.evidence.emplace(obtain());
        run.label = source_label(run.evidence->provenance(), live);
        run.rows = judge_companion(companion, *run.evidence);
    } catch (const Error& problem) {
        run.missing = problem.what();
    }
    return run;
}

Evidence run_here(const Course& course, const Companion& companion) {
    if (const std::string missing = missing_for_live(companion.needs); !missing.empty()) throw Error(missing);
    return std::move(*record_live(course, companion.program, announce_to_terminal).evidence);
}

/// A roof's rate with its unit; what is not known or not there is a dash.
std::string rate_or_dash(const std::optional<double>& rate, const char* unit) {
    return rate ? format_rate(*rate, unit) : "–";
}

/// "0.412 ms"
std::string time_text(double seconds) {
    return seconds < 1e-3 ? short_number(seconds * 1e6) + " µs" : short_number(seconds * 1e3) + " ms";
}

}  // namespace

CompanionRun companion_run(const Course& course, const Companion& companion, bool live) {
    return run_by(companion, live, [&] {
        return live ? run_here(course, companion) : open_recorded(course, companion.program);
    });
}

CompanionRun last_companion_run(const Course& course, const Companion& companion, bool live) {
    if (live)
        if (auto last = own_live_run(course, companion.program))
            return run_by(companion, true, [&] { return std::move(*last); });
    return companion_run(course, companion, live);
}

ShownRoofline shown_roofline(const Course& course, const Chapter& chapter, const std::string& exercise,
                             Evidence companion, bool live) {
    ShownRoofline shown{collect_points(course, chapter, exercise, std::move(companion), live), {}};
    shown.picture = roofline_of(*chapter.measures_roofs(), shown.evidence);
    shown.picture.title = exercise.empty() ? chapter.id : chapter.id + "/" + exercise;
    check(shown.picture);
    return shown;
}

nlohmann::ordered_json to_json(const CompanionRun& run) {
    nlohmann::ordered_json json{{"name", run.companion->program.name}};
    if (!run.evidence) {
        json["missing"] = run.missing;
        return json;
    }
    json["label"] = run.label;
    json["findings"] = nlohmann::ordered_json::array();
    for (const FindingRow& row : run.rows)
        json["findings"].push_back(
            {{"id", row.finding->id},
             {"says", row.finding->says},
             {"unit", row.finding->unit},
             {"value", to_json(row.sides[0].measured)},
             {"expect", row.finding->asserted() ? nlohmann::ordered_json(row.finding->expect[0]->text)
                                                : nlohmann::ordered_json(nullptr)},
             {"verdict", to_string(row.verdict)}});
    return json;
}

nlohmann::ordered_json to_json(const ShownRoofline& roofline) {
    nlohmann::ordered_json json{{"label", roofline.evidence.label}};
    const auto add = [&](const std::vector<Roof>& roofs, const char* unit) {
        for (const Roof& roof : roofs)
            json["roofs"].push_back(
                {{"name", roof.name}, {"unit", unit}, {"measured", roof.measured}, {"per_s", roof.per_s}});
    };
    add(roofline.picture.bandwidths, "B/s");
    add(roofline.picture.computes, "FLOP/s");
    json["points"] = nlohmann::ordered_json::array();
    std::size_t place = 0;
    for (const PointsFound& found : roofline.evidence.points)
        for (const MeasuredPoint& point : found.points) {
            const Limit limit = limit_of(roofline.picture, roofline.picture.points[place++]);
            json["points"].push_back({{"name", point.name},
                                      {"flop", point.flop},
                                      {"bytes", point.bytes},
                                      {"seconds", point.seconds},
                                      {"share", limit.share},
                                      {"of", limit.denominator}});
        }
    json["left_out"] = roofline.evidence.left_out;
    return json;
}

std::string roofs_markdown(const ShownRoofline& roofline, const Companion& companion) {
    Table table({"roof", "measured", "theoretical", "measured / theoretical"},
                {Align::left, Align::right, Align::right, Align::right});
    const auto add = [&](const std::vector<std::string>& names, const char* unit) {
        for (const MeasuredRoof& roof : read_roofs(roofline.evidence.companion, names))
            table.add(
                {roof.name, rate_or_dash(roof.measured, unit), rate_or_dash(roof.theoretical, unit),
                 roof.measured && roof.theoretical ? share_text(*roof.measured / *roof.theoretical) : "–"});
    };
    add(companion.bandwidths, "B/s");
    add(companion.computes, "FLOP/s");
    return table.markdown();
}

std::string points_markdown(const ShownRoofline& roofline) {
    Table table(
        {"point", "FLOP", "bytes", "FLOP/byte", "time", "reaches", "of what it could reach there"},
        {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::left});
    std::size_t place = 0;
    for (const PointsFound& found : roofline.evidence.points)
        for (const MeasuredPoint& point : found.points) {
            const RooflinePoint& drawn = roofline.picture.points[place++];
            const Limit limit = limit_of(roofline.picture, drawn);
            table.add({point.name, format_rate(point.flop, "FLOP"), format_rate(point.bytes, "B"),
                       short_number(drawn.flop_per_byte), time_text(point.seconds),
                       format_rate(drawn.flop_per_s, "FLOP/s"),
                       fmt::format("{} ({})", share_text(limit.share), limit.denominator)});
        }
    return table.markdown();
}

}  // namespace lab
