// The whole course as it lies on disk.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/chapter.h"
#include "tools/workspace.h"

namespace lab {

/// A copy of the repository.
class Course : public Workspace {
  public:
    using Workspace::Workspace;

    /// The repository that the current folder is in; else that of the ./lab that was called (it sets
    /// LAB_ROOT); else the one that this program was built from.
    [[nodiscard]] static Course find();

    /// Chapter folders (ch*/ with a chapter.toml), in order.
    [[nodiscard]] std::vector<std::string> chapter_ids() const;

    /// All of them, read. An Error names the file and the line that cannot be.
    [[nodiscard]] std::vector<Chapter> chapters() const;

    /// A chapter by "ch05", "5" or "ch05_streams"; an Error names the nearest one there is, or the exercise
    /// that has this name.
    [[nodiscard]] Chapter chapter(const std::string& name) const;

    /// A case by "ch05" (the pair) or "ch05/missing_event", also with the exercise's number, and an exercise
    /// by the path of its answer from the root. An Error names the nearest one there is.
    struct Chosen {
        Chapter chapter;
        const Case* part = nullptr;  ///< into `chapter`; null for the pair
        [[nodiscard]] const Case& subject() const { return part ? *part : chapter.pair; }
    };
    [[nodiscard]] Chosen choose(const std::string& asked) const;

    /// What may have been meant by a name that is no chapter's, or "": "ch05", "ch07/capstone".
    [[nodiscard]] std::string meant_by(const std::string& name) const;
};

/// Every program of a chapter: of each case, and wrong answers.
[[nodiscard]] std::vector<Program> all_programs(const Chapter& chapter);

}  // namespace lab
