// The generated blocks of the Markdown files, of which no number is typed by hand.
//
//   <!-- measured: pair -->                   the findings of the chapter's pair, from recorded evidence
//   <!-- measured: exercise NAME -->          those of an exercise
//   <!-- figure: pair -->                     both timelines on one scale, in timeline.svg
//   <!-- figure: pair fixed range=R file=F -->   one program's, zoomed to an NVTX range, with the projection
//                                             of the ranges on the GPU, in F
//   <!-- figure: exercise NAME ... -->        the same for an exercise
//   <!-- measured: single NAME -->            those of a single program
//   <!-- roofline: -->                        the chapter's roofline, in roofline.svg beside the page, and
//                                             its numbers in two tables
//   <!-- roofline: exercise NAME -->          that of an exercise
//   <!-- report: pair buggy memcheck -->      the first report of a tool of compute-sanitizer, in its words
//   <!-- diff: buggy.cu fixed.cu -->          what changes between two files
//   <!-- status: -->                          how long a chapter takes, and whether it is a draft
//   <!-- exercises: -->                       the table of the chapter's exercises
//   <!-- chapters: -->                        the table of chapters
//   <!-- verification: -->                    what `lab verify --save` found
//
// Each ends with <!-- /measured --> and so on; what stands between is replaced.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <string>

#include "core/files.h"
#include "course/course.h"

namespace lab {

/// Files to write, by path: the Markdown files and the figures that they show.
using Outputs = std::map<fs::path, std::string>;

/// Where a block stands.
struct Place {
    const Course& course;
    fs::path file;           ///< the Markdown file
    const Chapter* chapter;  ///< the chapter it belongs to; null if to none
    bool check = false;      ///< nothing is written, so nothing new has to be drawn
};

/// What the comment at a block's begin can say in front of its colon.
inline constexpr std::array kBlockKinds{"measured", "figure",    "roofline", "report",      "diff",
                                        "status",   "exercises", "chapters", "verification"};

/// What stands in a block of a page; figures are added to the outputs. An Error names the page and the fault.
[[nodiscard]] std::string block_text(const Place& place, const std::string& kind, const std::string& argument,
                                     Outputs& outputs);

}  // namespace lab
