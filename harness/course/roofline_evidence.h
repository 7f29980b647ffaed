// The roofs and points of a chapter's roofline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "course/course.h"
#include "evidence/evidence.h"

namespace lab {

/// A roof in byte/s or FLOP/s. A value is missing where it is unknown, or where this GPU has no such unit.
struct MeasuredRoof {
    std::string name;
    std::optional<double> measured, theoretical;
};

/// The work of a program, or of one of its kernels, and the names of the roofs that limit it.
struct MeasuredPoint {
    std::string name;
    double flop = 0, bytes = 0, seconds = 0;
    std::string bandwidth, compute;

    [[nodiscard]] double flop_per_byte() const { return flop / bytes; }
    [[nodiscard]] double flop_per_s() const { return flop / seconds; }
};

/// The most that a point could reach under its roofs.
struct Limit {
    double flop_per_s = 0;
    double share = 0;         ///< what the point reaches of it: 1 is all
    std::string denominator;  ///< the roof in words: "DRAM read, measured"
};

struct RooflineEvidence {
    std::string title;  ///< the chapter's or the exercise's id
    std::string label;  ///< where the roofs are from, for people
    std::vector<MeasuredRoof> bandwidths, computes;
    std::vector<MeasuredPoint> points;
    std::vector<std::string> left_out;  ///< why other points are missing, as sentences
    bool blank = false;  ///< the picture has room for the points and shows none: a reader places them

    /// The smaller of the compute roof and of intensity × bandwidth roof, both measured.
    [[nodiscard]] Limit limit_of(const MeasuredPoint& point) const;
};

/// The points of the chapter's pair, or of one exercise if it is named, under the roofs that `roofs`
/// measured. Live roofs need live points. Points of another GPU are left out, as are programs that were not
/// run. An Error if a roof is missing.
[[nodiscard]] RooflineEvidence collect_points(const Course& course, const Chapter& chapter,
                                              const std::string& exercise, const Evidence& roofs, bool live);

/// The chapter's recorded roofs, of the GPU that its pair or the named exercise was recorded on if there are.
[[nodiscard]] Evidence open_recorded_roofs(const Course& course, const Chapter& chapter,
                                           const std::string& exercise);

}  // namespace lab
