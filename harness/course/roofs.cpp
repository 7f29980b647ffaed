#include "course/roofs.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "evidence/views.h"

namespace lab {

namespace {

std::optional<double> number_or_none(const Statement& row, int column) {
    return row.is_null(column) ? std::nullopt : std::optional(row.number(column));
}

/// What the points are of, for an Error.
std::string whose(const PointQuery& points) {
    return points.exercise.empty() ? "the points of the pair" : "the points of " + points.exercise;
}

}  // namespace

std::vector<MeasuredRoof> read_roofs(const Evidence& companion, const std::vector<std::string>& names) {
    std::vector<MeasuredRoof> all, chosen;
    if (companion.exit_code())
        for (Statement row = companion.database().prepare("SELECT name, measured, theoretical FROM roofs");
             row.next();)
            all.push_back({row.text(0), number_or_none(row, 1), number_or_none(row, 2)});
    for (const std::string& name : names) {
        const auto at =
            std::find_if(all.begin(), all.end(), [&](const MeasuredRoof& roof) { return roof.name == name; });
        if (at == all.end())
            throw Error(
                fmt::format("{} prints no roof called '{}'", companion.database().path().string(), name),
                kFindingFailed);
        chosen.push_back(*at);
    }
    return chosen;
}

std::vector<MeasuredPoint> read_points(const Evidence& evidence, const PointQuery& points) {
    const Database& database = evidence.database();
    if (evidence.has_trace()) project_ranges(database);
    const NarrowedViews narrowed(database, points.range);
    Statement row = database.prepare(points.sql);
    if (row.columns() != 4)
        throw Error(fmt::format("{}: the query has {} columns, and a point is name, FLOP, bytes and seconds",
                                whose(points), row.columns()),
                    kFindingFailed);
    std::vector<MeasuredPoint> found;
    while (row.next()) {
        found.push_back({row.text(0), row.number(1), row.number(2), row.number(3)});
        const MeasuredPoint& point = found.back();
        for (const auto& [value, what] :
             {std::pair{point.flop, "FLOP"}, {point.bytes, "bytes"}, {point.seconds, "seconds"}})
            if (!(value > 0))
                throw Error(fmt::format("{}: '{}' has {} {}: there is nothing to draw", whose(points),
                                        printable(point.name), format_number(value), what),
                            kFindingFailed);
        if (point.name.empty()) throw Error(whose(points) + ": one has no name", kFindingFailed);
    }
    if (found.empty())
        throw Error(whose(points) + ": the query has no row, so there is nothing to draw", kFindingFailed);
    return found;
}

}  // namespace lab
