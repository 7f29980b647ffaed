// The whole course as it lies on disk.
#pragma once

#include <string>
#include <vector>

#include "course/chapter.h"
#include "tools/workspace.h"

namespace lab {

/// A copy of the repository.
class Course : public Workspace {
  public:
    using Workspace::Workspace;

    /// The repository of the ./lab that was called (it sets LAB_ROOT); else the one around the current
    /// folder, if it is the caller's or root's and others may not write to it; else that which this program
    /// was built from.
    [[nodiscard]] static Course find();

    /// The folders ch*/ with a chapter.toml, in order.
    [[nodiscard]] std::vector<std::string> chapter_ids() const;

    /// Reads all of them. Errors name file and line.
    [[nodiscard]] std::vector<Chapter> chapters() const;

    /// A chapter by "ch05", "5" or "ch05_streams". An Error lists them.
    [[nodiscard]] Chapter chapter(const std::string& name) const;

    /// A case by "ch05" (the pair), "ch05/seismometers", "ch05/4", "ch05/frames:2" (a draw) or by the path
    /// of its answer. An Error lists the exercises.
    struct Chosen {
        Chapter chapter;
        const Case* part = nullptr;  ///< into `chapter`; null for the pair
        bool names_draw = false;     ///< as "ch05/frames:2" does
        [[nodiscard]] const Case& subject() const { return part ? *part : chapter.pair; }

        /// The part as the one draw that was named, or as each of its draws.
        [[nodiscard]] std::vector<const Case*> draws() const;
    };
    [[nodiscard]] Chosen choose(const std::string& name_or_path) const;
};

/// Every program of a chapter: of each case, and wrong answers.
[[nodiscard]] std::vector<Program> all_programs(const Chapter& chapter);

}  // namespace lab
