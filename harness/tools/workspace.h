// A clone of the repository on disk: where its programs, their flags and their evidence are.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "evidence/evidence.h"
#include "tools/program.h"

namespace lab {

class Workspace {
  public:
    explicit Workspace(std::filesystem::path root) : root_(std::move(root)) {}

    [[nodiscard]] const std::filesystem::path& root() const { return root_; }

    /// Where programs, live runs and figures go: LAB_BUILD, or build/ in the root.
    [[nodiscard]] std::filesystem::path build_folder() const;

    /// A path as a person in the root would type it.
    [[nodiscard]] std::string shown(const std::filesystem::path& path) const;

    /// Flags that every program is built with, from common/nvcc.flags.
    [[nodiscard]] std::vector<std::string> common_flags() const;

    /// The .cu that is compiled, with the root in front: the program's own file, or what its patch makes of
    /// its base, below the build folder. An Error says that a patch does not apply.
    [[nodiscard]] std::filesystem::path source_of(const Program& program) const;

    /// Today's fingerprint of a program, with these messages left out (see fingerprint.h).
    [[nodiscard]] std::string fingerprint_of(const Program& program, const std::string& silent = "") const;

    /// Is the evidence of another source, other headers, flags or options than today's?
    [[nodiscard]] bool is_stale(const Program& program, const Evidence& evidence) const;

    /// The texts that a program is compiled from, by file name: its own and the headers in common/.
    [[nodiscard]] std::map<std::string, std::string> sources_of(const Program& program) const;

    /// The recorded run of a program; of several GPUs' that of the first by name. An Error says how to record
    /// one if there is none.
    [[nodiscard]] std::filesystem::path evidence_of(const Program& program) const;
    /// Is a run of it recorded, fresh or stale?
    [[nodiscard]] bool has_evidence_of(const Program& program) const;

  private:
    std::filesystem::path root_;
};

/// The fingerprint of a program that was just recorded, and which of its messages the run did not print, as
/// PROVENANCE holds them: keys fingerprint and silent.
void add_fingerprint(const Workspace& workspace, const Program& program, const std::string& seen,
                     Provenance& provenance);

/// What a program's recording asks of nsys beside the course's own options, and of the program; evidence of
/// another is stale.
[[nodiscard]] std::string recording_text(const Program& program);

/// "NVIDIA H200" -> "h200", "NVIDIA GeForce RTX 4090" -> "rtx-4090".
[[nodiscard]] std::string gpu_folder(const std::string& gpu_name);

/// A text file's lines without those that are empty; none if there is no such file.
[[nodiscard]] std::vector<std::string> lines_of_flags(const std::filesystem::path& file);

}  // namespace lab
