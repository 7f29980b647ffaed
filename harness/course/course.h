// The whole course as it lies on disk: the repository's root, its chapters, the evidence of its programs.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "course/chapter.h"

namespace lab {

/// A copy of the repository.
class Course {
  public:
    /// The repository that the current folder is in; else that of the ./lab that was called (it sets
    /// LAB_ROOT); else the one that this program was built from.
    [[nodiscard]] static Course find();

    explicit Course(std::filesystem::path root) : root_(std::move(root)) {}

    [[nodiscard]] const std::filesystem::path& root() const { return root_; }

    /// Where programs, live runs and figures go: LAB_BUILD, or build/ in the root.
    [[nodiscard]] std::filesystem::path build_folder() const;

    /// Chapter folders (ch*/ with a chapter.toml), in order.
    [[nodiscard]] std::vector<std::string> chapter_ids() const;

    /// All of them, read. An Error names the file and the line that cannot be.
    [[nodiscard]] std::vector<Chapter> chapters() const;

    /// A chapter by "ch05", "5" or "ch05_streams"; an Error names the nearest one there is, or the exercise
    /// that has this name.
    [[nodiscard]] Chapter chapter(const std::string& name) const;

    /// A case by "ch05" (the pair) or "ch05/vector_add_pipeline", also with the exercise's number, and an
    /// exercise by the path of its answer from the root. An Error names the nearest one there is.
    struct Chosen {
        Chapter chapter;
        const Exercise* exercise = nullptr;  ///< into `chapter`; null for the pair
        [[nodiscard]] const Case& programs() const { return exercise ? exercise->programs : chapter.pair; }
    };
    [[nodiscard]] Chosen choose(const std::string& asked) const;

    /// The recorded run of a program; of several GPUs' that of the first by name. An Error says how to record
    /// one if there is none.
    [[nodiscard]] std::filesystem::path evidence_of(const Program& program) const;
    /// Is a run of it recorded, fresh or stale?
    [[nodiscard]] bool has_evidence_of(const Program& program) const;

    /// Flags that every program is built with, from common/nvcc.flags.
    [[nodiscard]] std::vector<std::string> common_flags() const;

    /// Today's fingerprint of a program.
    [[nodiscard]] std::string fingerprint_of(const Program& program) const;

    /// The texts that a program is compiled from, by file name: its own and the headers in common/.
    [[nodiscard]] std::map<std::string, std::string> sources_of(const Program& program) const;

    /// A path as a person in the root would type it.
    [[nodiscard]] std::string shown(const std::filesystem::path& path) const;

    /// What may have been meant by a name that is no chapter's, or "": "ch05", "ch07/capstone".
    [[nodiscard]] std::string meant_by(const std::string& name) const;

  private:
    std::filesystem::path root_;
};

/// Every program of a chapter: the pair, companions, starters and solutions, wrong answers.
[[nodiscard]] std::vector<Program> all_programs(const Course& course, const Chapter& chapter);

/// "NVIDIA H200" -> "h200", "NVIDIA GeForce RTX 4090" -> "rtx-4090".
[[nodiscard]] std::string gpu_folder(const std::string& gpu_name);

}  // namespace lab
