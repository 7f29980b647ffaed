#include "draw/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"

namespace lab {

namespace {

// No machine has such numbers, and between them products and quotients stay far from what a double can hold.
constexpr double kLeast = 1e-18, kMost = 1e27;

/// Refuses what has no place on a logarithmic axis.
void check_number(double value, const std::string& whose, std::string_view what) {
    if (!std::isfinite(value)) throw Error(fmt::format("{} has {} that is not finite", whose, what));
    if (value <= 0)
        throw Error(fmt::format("{} has {} of {}: a logarithmic axis has a place only for numbers above 0",
                                whose, what, format_number(value)));
    if (value < kLeast || value > kMost)
        throw Error(fmt::format("{} has {} of {:g}: is its unit right? {:g} to {:g} can be drawn", whose,
                                what, value, kLeast, kMost));
}

void check_roof_of(const std::string& whose, std::size_t index, const std::vector<Roof>& roofs,
                   std::string_view kind) {
    if (!roofs.empty() && index >= roofs.size())
        throw Error(fmt::format("{} is held against {} roof {}, and there are {}: count from 0", whose, kind,
                                index, roofs.size()));
}

void check_point(const Roofline& roofline, const RooflinePoint& point) {
    const std::string whose = fmt::format("the point '{}'", one_line(point.name));
    check_number(point.flop_per_byte, whose, "an arithmetic intensity");
    check_number(point.flop_per_s, whose, "a rate in FLOP/s");
    check_roof_of(whose, point.bandwidth, roofline.bandwidths, "bandwidth");
    check_roof_of(whose, point.compute, roofline.computes, "compute");
    if (!point.runs) return;
    check_number(point.runs->low, whose, "a lowest FLOP/s");
    check_number(point.runs->high, whose, "a highest FLOP/s");
    if (point.runs->low > point.flop_per_s || point.runs->high < point.flop_per_s)
        throw Error(fmt::format("{} has {}, which is outside of its own runs, {} to {}", whose,
                                format_rate(point.flop_per_s, "FLOP/s"),
                                format_rate(point.runs->low, "FLOP/s"),
                                format_rate(point.runs->high, "FLOP/s")));
}

bool slower(const Roof& a, const Roof& b) {
    return a.per_s < b.per_s;
}
double lowest(const std::vector<Roof>& roofs) {
    return std::min_element(roofs.begin(), roofs.end(), slower)->per_s;
}
double highest(const std::vector<Roof>& roofs) {
    return std::max_element(roofs.begin(), roofs.end(), slower)->per_s;
}

/// The numbers that an axis has to show.
struct Extent {
    double low = 0, high = 0;

    void add(double value) {
        low = low > 0 ? std::min(low, value) : value;
        high = std::max(high, value);
    }
};

LogRange intensities(const Roofline& roofline) {
    Extent extent;
    for (const RooflinePoint& point : roofline.points) extent.add(point.flop_per_byte);
    if (!roofline.bandwidths.empty() && !roofline.computes.empty()) {
        for (const Roof& roof : roofline.bandwidths) extent.add(lowest(roofline.computes) / roof.per_s);
        for (const Roof& roof : roofline.computes) extent.add(roof.per_s / highest(roofline.bandwidths));
    }
    if (extent.low <= 0) extent.add(1);
    return round_range(extent.low / 4, extent.high * 4);
}

}  // namespace

void check(const Roofline& roofline) {
    if (roofline.bandwidths.empty() && roofline.computes.empty())
        throw Error("a roofline needs a roof: there is neither a bandwidth nor a compute roof");
    for (const Roof& roof : roofline.bandwidths)
        check_number(roof.per_s, fmt::format("the roof '{}'", one_line(roof.name)), "a bandwidth");
    for (const Roof& roof : roofline.computes)
        check_number(roof.per_s, fmt::format("the roof '{}'", one_line(roof.name)), "a rate in FLOP/s");
    for (const RooflinePoint& point : roofline.points) check_point(roofline, point);
}

std::vector<Ridge> ridges_of(const Roofline& roofline) {
    std::vector<Ridge> ridges;
    for (std::size_t b = 0; b < roofline.bandwidths.size(); ++b)
        for (std::size_t c = 0; c < roofline.computes.size(); ++c)
            ridges.push_back({b, c, roofline.computes[c].per_s / roofline.bandwidths[b].per_s,
                              roofline.computes[c].per_s});
    return ridges;
}

Limit limit_of(const Roofline& roofline, const RooflinePoint& point) {
    const Roof* bandwidth = roofline.bandwidths.empty() ? nullptr : &roofline.bandwidths[point.bandwidth];
    const Roof* compute = roofline.computes.empty() ? nullptr : &roofline.computes[point.compute];
    Limit limit;
    limit.by_bandwidth = !compute || (bandwidth && point.flop_per_byte * bandwidth->per_s < compute->per_s);
    limit.flop_per_s = limit.by_bandwidth ? point.flop_per_byte * bandwidth->per_s : compute->per_s;
    limit.share = point.flop_per_s / limit.flop_per_s;
    limit.denominator = name_of(limit.by_bandwidth ? *bandwidth : *compute);
    return limit;
}

std::string name_of(const Roof& roof) {
    return fmt::format("{}, {}", one_line(roof.name), roof.measured ? "measured" : "theoretical");
}

std::string share_text(double share) {
    return short_number(100 * share) + "%";
}

std::string format_rate(double per_s, std::string_view unit) {
    constexpr std::array<const char*, 7> kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
    std::size_t prefix = 0;
    while (per_s >= 999.5 && prefix + 1 < kPrefixes.size()) per_s /= 1000, ++prefix;
    return fmt::format("{} {}{}", short_number(per_s), kPrefixes[prefix], unit);
}

std::string hover_of(const Roof& roof, bool is_bandwidth) {
    return fmt::format("{}: {}", name_of(roof), format_rate(roof.per_s, is_bandwidth ? "B/s" : "FLOP/s"));
}

std::string hover_of(const Roofline& roofline, const Ridge& ridge) {
    return fmt::format("ridge point of {} and {}: {} FLOP/byte, {}",
                       name_of(roofline.bandwidths[ridge.bandwidth]),
                       name_of(roofline.computes[ridge.compute]), short_number(ridge.flop_per_byte),
                       format_rate(ridge.flop_per_s, "FLOP/s"));
}

std::string hover_of(const Roofline& roofline, const RooflinePoint& point) {
    const Limit limit = limit_of(roofline, point);
    const std::string intensity = short_number(point.flop_per_byte) + " FLOP/byte";
    const std::string runs = point.runs ? fmt::format(" ({} to {})", format_rate(point.runs->low, "FLOP/s"),
                                                      format_rate(point.runs->high, "FLOP/s"))
                                        : "";
    const std::string product =
        limit.by_bandwidth ? fmt::format(", {} × {}", intensity,
                                         format_rate(roofline.bandwidths[point.bandwidth].per_s, "B/s"))
                           : "";
    return fmt::format("{}: {}, {}{}, {} of {} ({}{})", one_line(point.name), intensity,
                       format_rate(point.flop_per_s, "FLOP/s"), runs, share_text(limit.share),
                       format_rate(limit.flop_per_s, "FLOP/s"), limit.denominator, product);
}

RooflineView view_of(const Roofline& roofline) {
    RooflineView view{intensities(roofline), {}};
    Extent extent;
    for (const RooflinePoint& point : roofline.points) {
        extent.add(point.runs ? point.runs->low : point.flop_per_s);
        extent.add(point.runs ? point.runs->high : point.flop_per_s);
    }
    if (!roofline.computes.empty()) {
        extent.add(lowest(roofline.computes) / 10);
        extent.add(highest(roofline.computes));
    } else {
        extent.add(view.flop_per_byte.high * highest(roofline.bandwidths));
        extent.add(view.flop_per_byte.low * lowest(roofline.bandwidths));
    }
    // The first roof is the one that the picture is about: it comes in from the left edge.
    if (!roofline.bandwidths.empty()) extent.add(view.flop_per_byte.low * roofline.bandwidths.front().per_s);
    view.flop_per_s = round_range(extent.low / 1.5, extent.high);
    return view;
}

RoofSegment bandwidth_line(const Roofline& roofline, const RooflineView& view, const Roof& roof) {
    const double top = roofline.computes.empty() ? view.flop_per_s.high : highest(roofline.computes);
    const double from = std::max(view.flop_per_byte.low, view.flop_per_s.low / roof.per_s);
    const double to = std::min(view.flop_per_byte.high, top / roof.per_s);
    return {from, from * roof.per_s, to, to * roof.per_s};
}

RoofSegment compute_line(const Roofline& roofline, const RooflineView& view, const Roof& roof) {
    const double from =
        roofline.bandwidths.empty() ? view.flop_per_byte.low : roof.per_s / highest(roofline.bandwidths);
    return {std::max(from, view.flop_per_byte.low), roof.per_s, view.flop_per_byte.high, roof.per_s};
}

}  // namespace lab
