// What a chapter's roofline is drawn from: a run of the companion that measures roofs, and runs of the
// programs whose points it shows.
#pragma once

#include <string>
#include <vector>

#include "course/course.h"
#include "course/roofs.h"
#include "evidence/evidence.h"

namespace lab {

/// A query and its answer.
struct PointsFound {
    const PointQuery* query = nullptr;  ///< into the chapter
    std::vector<MeasuredPoint> points;
};

/// The roofs, by the companion's run, and the points under them.
struct RooflineEvidence {
    Evidence companion;
    std::string label;  ///< the honest label of the companion's run
    std::vector<PointsFound> points;
    std::vector<std::string> left_out;  ///< why others are not in it, as sentences
};

/// Adds the points of the chapter to a run of its companion, those of one exercise if it is named. If that
/// run was made here (`live`), so must theirs be; else recorded ones are taken. Points of another GPU have no
/// place under these roofs, and are left out, as are those of programs that were not run.
[[nodiscard]] RooflineEvidence collect_points(const Course& course, const Chapter& chapter,
                                              const std::string& exercise, Evidence companion, bool live);

}  // namespace lab
