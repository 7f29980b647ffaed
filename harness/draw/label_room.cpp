#include "draw/label_room.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

namespace lab {

namespace {

/// How much further away a label had better be than cover a line, or have its leader run across a marker.
constexpr double kCoverPx = 400, kAcrossPx = 150;
constexpr double kMissingPx = 1e6;
constexpr std::size_t kMostOrdered = 40;

struct Extent {
    double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
};

/// The shadow of an outline on a line of this direction.
Extent shadow_of(const Outline& outline, const Spot& direction) {
    Extent extent;
    for (const Spot& corner : outline) {
        const double at = corner.x * direction.x + corner.y * direction.y;
        extent.low = std::min(extent.low, at);
        extent.high = std::max(extent.high, at);
    }
    return extent;
}

/// Is there a line along or across a side of `a` on which the shadows of both are apart?
bool some_side_parts(const Outline& a, const Outline& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        const Spot& from = a[i];
        const Spot& to = a[(i + 1) % a.size()];
        const Spot along{to.x - from.x, to.y - from.y};
        for (const Spot& direction : {Spot{-along.y, along.x}, along}) {
            const Extent of_a = shadow_of(a, direction), of_b = shadow_of(b, direction);
            if (of_a.high < of_b.low || of_b.high < of_a.low) return true;
        }
    }
    return false;
}

bool touches_any(const Outline& outline, const std::vector<Outline>& others) {
    return std::any_of(others.begin(), others.end(),
                       [&](const Outline& other) { return touch(outline, other); });
}

/// As given, and from left, right, top and bottom, and as given from the end. So many labels that this would
/// take long have no room in any order.
std::vector<std::vector<std::size_t>> orders_of(const std::vector<std::vector<LabelPlace>>& labels) {
    std::vector<std::size_t> given(labels.size());
    std::iota(given.begin(), given.end(), std::size_t{0});
    if (labels.size() > kMostOrdered) return {given};
    const auto by = [&](double Spot::*coordinate) {
        const auto first = [&](std::size_t label) {
            return labels[label].empty() ? 0 : labels[label].front().middle.*coordinate;
        };
        std::vector<std::size_t> order = given;
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return first(a) < first(b); });
        return order;
    };
    std::vector<std::vector<std::size_t>> orders = {given, by(&Spot::x), by(&Spot::y)};
    for (std::size_t i = 0; i < 3; ++i) orders.emplace_back(orders[i].rbegin(), orders[i].rend());
    return orders;
}

}  // namespace

bool touch(const Outline& a, const Outline& b) {
    return !some_side_parts(a, b) && !some_side_parts(b, a);
}

Outline rectangle(const Spot& middle, double width, double height, double degrees) {
    const double angle = degrees * std::numbers::pi / 180;
    Outline outline;
    for (const Spot& corner : {Spot{-0.5, -0.5}, Spot{0.5, -0.5}, Spot{0.5, 0.5}, Spot{-0.5, 0.5}}) {
        const double x = corner.x * width, y = corner.y * height;
        outline.push_back({middle.x + x * std::cos(angle) - y * std::sin(angle),
                           middle.y + x * std::sin(angle) + y * std::cos(angle)});
    }
    return outline;
}

bool LabelRoom::is_inside(const Outline& outline) const {
    for (const Spot& direction : {Spot{1, 0}, Spot{0, 1}}) {
        const Extent room = shadow_of(bounds_, direction), used = shadow_of(outline, direction);
        if (used.low < room.low || used.high > room.high) return false;
    }
    return true;
}

bool LabelRoom::is_free(const LabelPlace& place) const {
    return is_inside(place.outline) && !touches_any(place.outline, clear_) &&
           !touches_any(place.outline, labels_) && (!place.leader || !touches_any(*place.leader, labels_));
}

double LabelRoom::cost(const LabelPlace& place) const {
    const bool covers = touches_any(place.outline, spared_);
    const bool leads_across = place.leader && touches_any(*place.leader, clear_);
    return place.away + (covers ? kCoverPx : 0) + (leads_across ? kAcrossPx : 0);
}

std::optional<LabelPlace> LabelRoom::take_one(const std::vector<LabelPlace>& places, double& total_cost) {
    const LabelPlace* best = nullptr;
    double best_cost = kMissingPx;
    for (const LabelPlace& place : places) {
        if (place.away >= best_cost || !is_free(place)) continue;
        const double this_cost = cost(place);
        if (this_cost < best_cost) best = &place, best_cost = this_cost;
    }
    total_cost += best_cost;
    if (!best) return std::nullopt;
    labels_.push_back(best->outline);
    if (best->leader) labels_.push_back(*best->leader);
    return *best;
}

std::vector<std::optional<LabelPlace>> LabelRoom::take(const std::vector<std::vector<LabelPlace>>& labels) {
    std::vector<std::optional<LabelPlace>> best(labels.size());
    LabelRoom best_room = *this;
    double best_cost = std::numeric_limits<double>::max();
    for (const std::vector<std::size_t>& order : orders_of(labels)) {
        std::vector<std::optional<LabelPlace>> places(labels.size());
        LabelRoom room = *this;
        double cost = 0;
        for (const std::size_t label : order) places[label] = room.take_one(labels[label], cost);
        if (cost >= best_cost) continue;
        best = std::move(places), best_room = std::move(room), best_cost = cost;
    }
    *this = std::move(best_room);
    return best;
}

}  // namespace lab
