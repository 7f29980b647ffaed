#include "course/roofline_evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "course/case_evidence.h"

namespace lab {

namespace {

std::optional<double> number_or_none(const Statement& row, int column) {
    return row.is_null(column) ? std::nullopt : std::optional(row.number(column));
}

std::string gpu_of(const Evidence& evidence) {
    const std::string gpu = value_of(evidence.provenance(), "gpu");
    return gpu.empty() ? "an unknown GPU" : gpu;
}

/// The roofs of these names, in this order.
std::vector<MeasuredRoof> read_roofs(const Evidence& evidence, const std::vector<std::string>& names) {
    std::vector<MeasuredRoof> roofs;
    for (const std::string& name : names) {
        Statement row =
            evidence.database().prepare("SELECT measured, theoretical FROM roofs WHERE name = ?1");
        if (!row.bind(1, name).next())
            throw Error(
                fmt::format("{} prints no roof called '{}'", evidence.database().path().string(), name),
                kFindingFailed);
        roofs.push_back({name, number_or_none(row, 0), number_or_none(row, 1)});
    }
    return roofs;
}

/// The rows of a query for points. An Error if there is none, or one without a name or a number above 0:
/// there is nothing to draw then, and that must not pass for a picture.
std::vector<MeasuredPoint> read_points(const Evidence& evidence, const PointQuery& points) {
    std::optional<Capture::Narrowed> narrowed;
    try {
        if (evidence.has_trace()) narrowed.emplace(evidence.capture(), points.query.range);
    } catch (const Error& problem) {
        throw Error(points.where + ": " + problem.what(), kFindingFailed);
    }
    Statement row = evidence.database().prepare(points.query.sql);
    if (row.columns() != 4)
        throw Error(fmt::format("{}: the query has {} columns; a point is name, FLOP, bytes and seconds",
                                points.where, row.columns()),
                    kFindingFailed);
    std::vector<MeasuredPoint> found;
    while (row.next()) {
        const MeasuredPoint& point = found.emplace_back(MeasuredPoint{
            row.text(0), row.number(1), row.number(2), row.number(3), points.bandwidth, points.compute});
        for (const double value : {point.flop, point.bytes, point.seconds})
            if (point.name.empty() || !(value > 0))
                throw Error(
                    fmt::format("{}: the point '{}' has {} FLOP, {} bytes and {} s: there is nothing to draw",
                                points.where, printable(point.name), point.flop, point.bytes, point.seconds),
                    kFindingFailed);
    }
    if (found.empty())
        throw Error(points.where + ": the query has no row, so there is nothing to draw", kFindingFailed);
    return found;
}

/// The last run that was made here. An Error if there is none of today's program.
Evidence open_live(const Course& course, const Program& program) {
    std::optional<Evidence> own = own_live_run(course, program);
    if (!own)
        throw Error(fmt::format("{} as it is today has not been run here yet", program.file.string()),
                    kNothingCouldRun);
    return std::move(*own);
}

const MeasuredRoof& roof_called(const std::vector<MeasuredRoof>& roofs, const std::string& name) {
    const auto at =
        std::find_if(roofs.begin(), roofs.end(), [&](const MeasuredRoof& r) { return r.name == name; });
    if (at == roofs.end() || !at->measured)
        throw Error(fmt::format("no roof called '{}' is measured on this GPU", name), kFindingFailed);
    return *at;
}

}  // namespace

Limit RooflineEvidence::limit_of(const MeasuredPoint& point) const {
    const double by_bandwidth = *roof_called(bandwidths, point.bandwidth).measured * point.flop_per_byte();
    const double by_compute = *roof_called(computes, point.compute).measured;
    const double least = std::min(by_bandwidth, by_compute);
    return {least, point.flop_per_s() / least,
            (by_bandwidth < by_compute ? point.bandwidth : point.compute) + ", measured"};
}

RooflineEvidence collect_points(const Course& course, const Chapter& chapter, const std::string& exercise,
                                const Evidence& roofs, bool live) {
    const Case& measures = *chapter.measures_roofs();
    RooflineEvidence result;
    result.title = exercise.empty() ? chapter.id : chapter.id + "/" + exercise;
    result.label = source_label(roofs.provenance(), live);
    result.bandwidths = read_roofs(roofs, measures.bandwidths);
    result.computes = read_roofs(roofs, measures.computes);
    for (const Case* each : chapter.cases()) {
        if (!exercise.empty() && each->name != exercise) continue;
        for (const PointQuery& query : each->points) {
            const Program& program = each->programs[query.side];
            try {
                const Evidence evidence = live ? open_live(course, program) : open_recorded(course, program);
                if (gpu_of(evidence) != gpu_of(roofs))
                    throw Error(fmt::format("{} ran on {}, and the roofs are of {}", program.file.string(),
                                            gpu_of(evidence), gpu_of(roofs)));
                for (MeasuredPoint& point : read_points(evidence, query)) {
                    (void)result.limit_of(point);  // an Error if its roofs are not there
                    result.points.push_back(std::move(point));
                }
            } catch (const Error& problem) {
                result.left_out.push_back(problem.what());
            }
        }
    }
    return result;
}

}  // namespace lab
