#include "draw/roofline_evidence.h"

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace lab {

namespace {

/// Measured roofs in front of theoretical ones; and for each name the place of its measured roof, or that of
/// the first one.
std::pair<std::vector<Roof>, std::vector<std::size_t>> roofs_of(const std::vector<MeasuredRoof>& all) {
    std::vector<Roof> roofs;
    std::vector<std::size_t> places;
    for (const MeasuredRoof& roof : all) {
        places.push_back(roof.measured ? roofs.size() : 0);
        if (roof.measured) roofs.push_back({roof.name, *roof.measured, true});
    }
    if (roofs.empty())
        throw Error("the companion measured no roof of this kind, so nothing can be held against one");
    for (const MeasuredRoof& roof : all)
        if (roof.theoretical) roofs.push_back({roof.name, *roof.theoretical, false});
    return {roofs, places};
}

}  // namespace

Roofline roofline_of(const Companion& companion, const RooflineEvidence& evidence) {
    Roofline roofline;
    roofline.title = "roofline";
    roofline.label = evidence.label;
    const auto [bandwidths, bandwidth_places] =
        roofs_of(read_roofs(evidence.companion, companion.bandwidths));
    const auto [computes, compute_places] = roofs_of(read_roofs(evidence.companion, companion.computes));
    roofline.bandwidths = bandwidths;
    roofline.computes = computes;
    for (const PointsFound& found : evidence.points)
        for (const MeasuredPoint& point : found.points)
            roofline.points.push_back({point.name, point.flop / point.bytes, point.flop / point.seconds,
                                       std::nullopt, bandwidth_places[found.query->bandwidth],
                                       compute_places[found.query->compute]});
    return roofline;
}

}  // namespace lab
