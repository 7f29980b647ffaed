// What a picture of a roofline shows, before anything is drawn: how fast the machine can be, and how fast
// programs are (Williams, Waterman, Patterson: Roofline, 2009).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "draw/log_axis.h"

namespace lab {

/// The most that one part of the machine does in a second: bytes of a memory or link, FLOP of a unit.
struct Roof {
    std::string name;      ///< "DRAM read"; the picture itself says whether it was measured
    double per_s = 0;      ///< byte/s, or FLOP/s
    bool measured = true;  ///< by a program; else from a data sheet
};

/// From the slowest to the fastest.
struct FlopRange {
    double low = 0, high = 0;  ///< FLOP/s
};

/// A kernel or a program.
struct RooflinePoint {
    std::string name;
    double flop_per_byte = 0;                ///< its arithmetic intensity
    double flop_per_s = 0;                   ///< what it reaches
    std::optional<FlopRange> runs;           ///< the slowest and the fastest of several runs
    std::size_t bandwidth = 0, compute = 0;  ///< which of the roofs it is held against
};

/// A picture's contents. All numbers are above 0; check() says so.
struct Roofline {
    std::string title;
    std::string label;             ///< where the numbers are from: "recorded · NVIDIA H200, driver ..."
    std::vector<Roof> bandwidths;  ///< byte/s
    std::vector<Roof> computes;    ///< FLOP/s
    std::vector<RooflinePoint> points;
};

/// Throws an Error that says which roof or point cannot be drawn, and why.
void check(const Roofline& roofline);

/// Where a bandwidth roof meets a compute roof: left of it the bandwidth limits, right of it the unit does.
struct Ridge {
    std::size_t bandwidth = 0, compute = 0;
    double flop_per_byte = 0, flop_per_s = 0;
};

/// Each bandwidth roof with each compute roof.
[[nodiscard]] std::vector<Ridge> ridges_of(const Roofline& roofline);

/// What a point could reach.
struct Limit {
    bool by_bandwidth = false;
    double flop_per_s = 0;    ///< the smaller of compute roof and intensity × bandwidth roof
    double share = 0;         ///< what the point reaches of it: 1 is all
    std::string denominator;  ///< the roof in words: "DRAM read, measured"
};
[[nodiscard]] Limit limit_of(const Roofline& roofline, const RooflinePoint& point);

/// "DRAM read, measured"
[[nodiscard]] std::string name_of(const Roof& roof);

/// "90.2%"
[[nodiscard]] std::string share_text(double share);

/// A rate with three significant digits and the unit that suits it: "4.5 TB/s" of 4.5e12 and "B/s".
[[nodiscard]] std::string format_rate(double per_s, std::string_view unit);

/// All there is to know, each in one line.
[[nodiscard]] std::string hover_of(const Roof& roof, bool is_bandwidth);
[[nodiscard]] std::string hover_of(const Roofline& roofline, const Ridge& ridge);
[[nodiscard]] std::string hover_of(const Roofline& roofline, const RooflinePoint& point);

/// What the axes show: all points, and of each roof a part that limits.
struct RooflineView {
    LogRange flop_per_byte, flop_per_s;
};
[[nodiscard]] RooflineView view_of(const Roofline& roofline);

/// The part of a roof that is in view, from its left end to its right end.
struct RoofSegment {
    double from_flop_per_byte = 0, from_flop_per_s = 0;
    double to_flop_per_byte = 0, to_flop_per_s = 0;
};

/// A bandwidth roof ends at the highest compute roof, and a compute roof begins at the highest bandwidth
/// roof: beyond, nothing can be.
[[nodiscard]] RoofSegment bandwidth_line(const Roofline& roofline, const RooflineView& view,
                                         const Roof& roof);
[[nodiscard]] RoofSegment compute_line(const Roofline& roofline, const RooflineView& view, const Roof& roof);

}  // namespace lab
