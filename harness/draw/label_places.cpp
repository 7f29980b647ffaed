#include "draw/label_places.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lab {

namespace {

constexpr double kGap = 3, kAir = 2;  ///< px: above and below a label, before and behind it

/// Which way a label lies from its marker: the shift of its middle, in half widths and half heights.
constexpr Spot kBeside[] = {{1, 0}, {-1, 0}, {1, 1}, {1, -1}, {-1, -1}, {-1, 1}, {0, -1}, {0, 1}};

/// Where a label that is not beside its marker begins, in px from it.
constexpr double kColumns[] = {0, 16, 32, 56, 88, 128, 184, 256};
constexpr int kRows = 16;  ///< of labels, above it and below it

LabelPlace place_at(const Spot& middle, double side, double width) {
    LabelPlace place{
        .middle = middle, .outline = rectangle(middle, width + 2 * kAir, kLabelHeight), .leader = {}};
    place.anchor = side > 0 ? "start" : side < 0 ? "end" : "middle";
    return place;
}

/// From the edge of the marker to the nearest part of the label.
Outline leader_to(const Spot& middle, double width, const Spot& marker, double radius) {
    const Spot end{std::clamp(marker.x, middle.x - width / 2, middle.x + width / 2),
                   std::clamp(marker.y, middle.y - kLabelHeight / 2, middle.y + kLabelHeight / 2)};
    const Spot way{end.x - marker.x, end.y - marker.y};
    const double clear = 1.5 * radius / std::max(1., std::hypot(way.x, way.y));
    return {{marker.x + clear * way.x, marker.y + clear * way.y}, end};
}

/// A line with its directions.
struct Way {
    Spot begin, along, up;
    double length = 0, degrees = 0;

    [[nodiscard]] Spot spot(double at, double above) const {
        return {begin.x + at * along.x + above * up.x, begin.y + at * along.y + above * up.y};
    }
};

Way way_of(const Outline& line) {
    const double x = line[1].x - line[0].x, y = line[1].y - line[0].y;
    const double length = std::max(1., std::hypot(x, y));
    const Spot along{x / length, y / length};
    return {line[0], along, {along.y, -along.x}, length, std::atan2(y, x) * 180 / std::numbers::pi};
}

/// So many rows above a line, or below it, and for `row` 0 right next to it.
LabelPlace place_along(const Way& way, double at, int side, int row, double width) {
    // Free on both sides up to its own line, so that no other line is nearer to it.
    constexpr double kFree = kLabelHeight + 2 * (kGap - 0.5);
    const double away = row * (kLabelHeight + 2), edge = side * (kGap + away);
    LabelPlace place{.middle = way.spot(at, edge + side * kLabelHeight / 2), .outline = {}, .leader = {}};
    place.degrees = way.degrees;
    place.outline = rectangle(place.middle, width + 2 * kAir, kFree, way.degrees);
    if (row > 0) place.leader = {way.spot(at, 0), way.spot(at, edge)};
    place.away = away;
    return place;
}

}  // namespace

std::vector<LabelPlace> places_along(const Outline& line, double width, bool from_first_end) {
    constexpr int kSteps = 48, kRowsAway = 6;
    const Way way = way_of(line);
    const double slack = std::max(0., way.length - width - 2 * (kGap + kAir));
    std::vector<LabelPlace> places;
    for (int row = 0; row < kRowsAway; ++row)
        for (const int side : {1, -1})
            for (int step = 0; step <= kSteps; ++step) {
                const double from_end = width / 2 + kGap + kAir + slack * step / kSteps;
                places.push_back(
                    place_along(way, from_first_end ? from_end : way.length - from_end, side, row, width));
                places.back().anchor = from_first_end ? "start" : "end";
            }
    return places;
}

std::vector<LabelPlace> places_around(const Spot& marker, double radius, double width) {
    std::vector<LabelPlace> places;
    for (const Spot& to : kBeside) {
        const Spot middle{marker.x + to.x * (width / 2 + radius + kGap),
                          marker.y + to.y * (kLabelHeight / 2 + radius + kGap)};
        places.push_back(place_at(middle, to.x, width));
    }
    // Further away in columns, left-aligned on the right and right-aligned on the left: the labels of a crowd
    // can stand above each other there, and their leaders need not cross.
    for (const double column : kColumns)
        for (int row = -kRows; row <= kRows; ++row)
            for (const int side : {1, -1}) {
                const Spot middle{marker.x + side * (column > 0 ? column + width / 2 : 0),
                                  marker.y + row * (kLabelHeight + 1)};
                LabelPlace place = place_at(middle, column > 0 ? side : 0, width);
                place.leader = leader_to(middle, width, marker, radius);
                const Spot& end = place.leader->back();
                place.away = std::hypot(end.x - marker.x, end.y - marker.y);
                if (place.away > radius + kGap) places.push_back(std::move(place));
            }
    return places;
}

}  // namespace lab
