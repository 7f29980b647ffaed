// A chapter's companions and its roofline, as commands show them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "course/course.h"
#include "course/findings.h"
#include "course/roofline_evidence.h"
#include "draw/roofline.h"

namespace lab {

/// A companion's run and what was found in it; or why there is none.
struct CompanionRun {
    const Companion* companion = nullptr;
    std::optional<Evidence> evidence;
    std::string label, missing;
    std::vector<FindingRow> rows;
};

/// Runs a companion here, or opens its recorded run. One that cannot be had is missing, with the reason.
[[nodiscard]] CompanionRun companion_run(const Course& course, const Companion& companion, bool live);

/// The same for what needs a run of today's program here, and takes the last one if there is one.
[[nodiscard]] CompanionRun last_companion_run(const Course& course, const Companion& companion, bool live);

/// A roofline and the points that are not in it.
struct ShownRoofline {
    RooflineEvidence evidence;
    Roofline picture;
};

/// The chapter's roofline, or that of one exercise. An Error says why it cannot be drawn.
[[nodiscard]] ShownRoofline shown_roofline(const Course& course, const Chapter& chapter,
                                           const std::string& exercise, Evidence companion, bool live);

/// What --json prints of these.
[[nodiscard]] nlohmann::ordered_json to_json(const CompanionRun& run);
[[nodiscard]] nlohmann::ordered_json to_json(const ShownRoofline& roofline);

/// What `lab docs` writes: the roofs, then the points, each with the roof that its share is of.
[[nodiscard]] std::string roofs_markdown(const ShownRoofline& roofline, const Companion& companion);
[[nodiscard]] std::string points_markdown(const ShownRoofline& roofline);

}  // namespace lab
