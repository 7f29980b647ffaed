// The numbers of a roofline, out of evidence: roofs that a companion measured, and what programs reach.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "course/chapter.h"
#include "evidence/evidence.h"

namespace lab {

/// A roof as the companion prints it: byte/s or FLOP/s. A value is missing where it is not known, or where
/// this GPU has no such unit.
struct MeasuredRoof {
    std::string name;
    std::optional<double> measured, theoretical;
};

/// The roofs of these names, in this order. An Error names one that the companion does not print.
[[nodiscard]] std::vector<MeasuredRoof> read_roofs(const Evidence& companion,
                                                   const std::vector<std::string>& names);

/// What a program or a kernel of it did.
struct MeasuredPoint {
    std::string name;
    double flop = 0, bytes = 0, seconds = 0;
};

/// The rows of a query for points. An Error if there is none, or one without a name or a number above 0:
/// there is nothing to draw then, and that must not pass for a picture.
[[nodiscard]] std::vector<MeasuredPoint> read_points(const Evidence& evidence, const PointQuery& points);

}  // namespace lab
