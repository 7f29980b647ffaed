// What a chapter's roofline is drawn from: a run of the program that measures roofs, and runs of the programs
// whose points it shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "course/course.h"
#include "evidence/evidence.h"

namespace lab {

/// A roof as the program prints it: byte/s or FLOP/s. A value is missing where it is not known, or where this
/// GPU has no such unit.
struct MeasuredRoof {
    std::string name;
    std::optional<double> measured, theoretical;
};

/// What a program or a kernel of it did, and the roofs that it is held against.
struct MeasuredPoint {
    std::string name;
    double flop = 0, bytes = 0, seconds = 0;
    std::string bandwidth, compute;

    [[nodiscard]] double flop_per_byte() const { return flop / bytes; }
    [[nodiscard]] double flop_per_s() const { return flop / seconds; }
};

/// The most that a point could reach by the roofs that it is held against.
struct Limit {
    double flop_per_s = 0;
    double share = 0;         ///< what the point reaches of it: 1 is all
    std::string denominator;  ///< the roof in words: "DRAM read, measured"
};

struct RooflineEvidence {
    std::string title;  ///< the chapter's or the exercise's id
    std::string label;  ///< the honest label of the run that measured the roofs
    std::vector<MeasuredRoof> bandwidths, computes;
    std::vector<MeasuredPoint> points;
    std::vector<std::string> left_out;  ///< why others are not in it, as sentences

    /// The smaller of the compute roof and of intensity × bandwidth roof, both measured.
    [[nodiscard]] Limit limit_of(const MeasuredPoint& point) const;
};

/// The points of the chapter, or those of one exercise if it is named, under the roofs that `roofs` measured.
/// If that run was made here (`live`), so must theirs be; else recorded ones are taken. Points of another GPU
/// have no place under these roofs, and are left out, as are those of programs that were not run. An Error if
/// a roof is not there, or if a query finds nothing to draw.
[[nodiscard]] RooflineEvidence collect_points(const Course& course, const Chapter& chapter,
                                              const std::string& exercise, const Evidence& roofs, bool live);

}  // namespace lab
