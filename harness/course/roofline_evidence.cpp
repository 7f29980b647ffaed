#include "course/roofline_evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "course/case_evidence.h"

namespace lab {

namespace {

std::string gpu_of(const Evidence& evidence) {
    const std::string gpu = value_of(evidence.provenance(), "gpu");
    return gpu.empty() ? "an unknown GPU" : gpu;
}

std::vector<MeasuredRoof> read_roofs(const Evidence& evidence, const std::vector<std::string>& names) {
    const auto number = [](const Statement& row, int column) {
        return row.is_null(column) ? std::nullopt : std::optional(row.number(column));
    };
    std::vector<MeasuredRoof> roofs;
    for (const std::string& name : names) {
        Statement row =
            evidence.database().prepare("SELECT measured, theoretical FROM roofs WHERE name = ?1");
        if (!row.bind(1, name).next())
            throw Error(
                fmt::format("{} prints no roof called '{}'", evidence.database().path().string(), name),
                kFindingFailed);
        roofs.push_back({name, number(row, 0), number(row, 1)});
    }
    return roofs;
}

/// The rows of a query for points. An Error if there is no row, or one without a name or a number above 0:
/// nothing to draw must not pass for a picture.
std::vector<MeasuredPoint> read_points(const Evidence& evidence, const PointQuery& points) {
    const auto fail = [&](const std::string& why) { throw Error(points.where + ": " + why, kFindingFailed); };
    std::optional<Capture::Narrowed> narrowed;
    try {
        if (evidence.has_trace()) narrowed.emplace(evidence.capture(), points.query.range);
    } catch (const Error& no_such_range) {
        fail(no_such_range.what());
    }
    Statement row = evidence.database().prepare(points.query.sql);
    std::vector<MeasuredPoint> found;
    while (row.next()) {
        const MeasuredPoint& point = found.emplace_back(MeasuredPoint{
            row.text(0), row.number(1), row.number(2), row.number(3), points.bandwidth, points.compute});
        if (point.name.empty() || !(point.flop > 0 && point.bytes > 0 && point.seconds > 0))
            fail(fmt::format("the point '{}' has {} FLOP, {} bytes and {} s: there is nothing to draw",
                             printable(point.name), point.flop, point.bytes, point.seconds));
    }
    if (found.empty()) fail("the query has no row, so there is nothing to draw");
    return found;
}

/// The evidence of a program on the GPU of the roofs: an earlier run here (`live`), or the recorded run.
Evidence open_beside(const Evidence& roofs, const Course& course, const Program& program, bool live) {
    std::optional<Evidence> evidence =
        live ? own_live_run(course, program) : std::optional(open_recorded(course, program));
    if (!evidence)
        throw Error(fmt::format("{} as it is today has not been run here yet", program.file.string()),
                    kNothingCouldRun);
    if (gpu_of(*evidence) != gpu_of(roofs))
        throw Error(fmt::format("{} ran on {}, and the roofs are of {}", program.file.string(),
                                gpu_of(*evidence), gpu_of(roofs)));
    return std::move(*evidence);
}

double measured_roof(const std::vector<MeasuredRoof>& roofs, const std::string& name) {
    for (const MeasuredRoof& roof : roofs)
        if (roof.name == name && roof.measured) return *roof.measured;
    throw Error(fmt::format("no roof called '{}' is measured on this GPU", name), kFindingFailed);
}

}  // namespace

Limit RooflineEvidence::limit_of(const MeasuredPoint& point) const {
    const double by_bandwidth = measured_roof(bandwidths, point.bandwidth) * point.flop_per_byte();
    const double by_compute = measured_roof(computes, point.compute);
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
    const auto add = [&](const Program& program, const PointQuery& query) {
        const Evidence evidence = open_beside(roofs, course, program, live);
        for (MeasuredPoint& point : read_points(evidence, query)) {
            (void)result.limit_of(point);  // an Error if its roofs are not measured
            result.points.push_back(std::move(point));
        }
    };
    const std::string& name = exercise.empty() ? chapter.pair.name : exercise;
    for (const Case* each : chapter.cases())
        for (const PointQuery& query : each->points) {
            if (each->name != name) continue;
            try {
                add(each->programs[query.side], query);
            } catch (const Error& problem) {
                result.left_out.push_back(problem.what());
            }
        }
    return result;
}

Evidence open_recorded_roofs(const Course& course, const Chapter& chapter, const std::string& exercise) {
    const std::string& name = exercise.empty() ? chapter.pair.name : exercise;
    std::string gpu;
    for (const Case* each : chapter.cases())
        if (each->name == name && course.has_evidence_of(each->programs[0]))
            gpu = course.evidence_of(each->programs[0]).parent_path().filename().string();
    return open_recorded(course, chapter.measures_roofs()->programs[0], gpu);
}

}  // namespace lab
