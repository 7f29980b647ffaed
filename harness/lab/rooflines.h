// A chapter's roofline, as commands show it: two tables, JSON, and a picture that harness/draw/roofline.py
// makes with matplotlib.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/files.h"
#include "course/roofline_evidence.h"

namespace lab {

/// What --json prints, and what roofline.py draws.
[[nodiscard]] nlohmann::ordered_json to_json(const RooflineEvidence& roofline);

/// The roofs, then the points, each with the roof that its share is of: in Markdown, or for the terminal.
[[nodiscard]] std::string roofline_tables(const RooflineEvidence& roofline, bool markdown);

/// Draws the picture into an .svg. Returns why it could not be drawn, as where matplotlib is missing; else
/// "".
[[nodiscard]] std::string draw_roofline(const Course& course, const RooflineEvidence& roofline,
                                        const fs::path& svg);

/// Was this picture drawn from these numbers? It holds a hash of them, since matplotlib's versions draw alike
/// but not the same bytes.
[[nodiscard]] bool is_picture_of(const std::string& svg, const RooflineEvidence& roofline);

}  // namespace lab
