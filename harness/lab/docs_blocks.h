// The generated blocks of the Markdown files:
//
//   <!-- measured: pair -->                 the findings of the chapter's pair, from recorded evidence; also
//                                           of `exercise NAME` and `single NAME`
//   <!-- figure: pair -->                   two timelines on one scale, in timeline.svg; also of `exercise
//   NAME`
//   <!-- figure: pair fixed range=R file=F -->   one program's, zoomed to an NVTX range, with the projection
//                                           of the ranges on the GPU, in F
//   <!-- roofline: -->                      the chapter's roofline, or that of `exercise NAME`, in
//   roofline.svg
//                                           beside the page, and its numbers in two tables
//   <!-- report: pair buggy memcheck -->    the first report of a tool of compute-sanitizer, in its words
//   <!-- diff: buggy.cu fixed.cu -->        what changes between two files
//   <!-- status: -->                        how long a chapter takes, and whether it is a draft
//   <!-- exercises: -->                     the table of the chapter's exercises
//   <!-- chapters: -->                      the table of chapters
//   <!-- verification: -->                  what `lab verify --save` found
//
// Each ends with <!-- /measured --> and so on; what stands between is replaced.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/files.h"
#include "course/course.h"

namespace lab {

/// Files to write, by path: the Markdown files and the pictures that they show.
using Outputs = std::map<fs::path, std::string>;

/// A Markdown file.
struct Page {
    const Course& course;
    fs::path file;
    const Chapter* chapter;  ///< the chapter that it belongs to, or null
    bool check = false;      ///< nothing is written, so nothing new has to be drawn

    /// A file of the course as a link from this page.
    [[nodiscard]] std::string link_to(const fs::path& target) const;
};

/// The comment that begins a block: "<!-- kind: argument -->".
struct BlockBegin {
    std::string kind, argument;
};

/// The block that begins at this line, if one does.
[[nodiscard]] std::optional<BlockBegin> block_at(const std::string& line);

/// The text of a block. Pictures that it shows are added to the outputs.
[[nodiscard]] std::string block_text(const Page& page, const BlockBegin& block, Outputs& outputs);

}  // namespace lab
