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

    /// The same of what nvcc makes of it: draws and recordings that share a source share its binary.
    [[nodiscard]] std::string build_fingerprint_of(const Program& program) const;

    /// Have the source, a header, the flags or the options changed since this evidence was recorded?
    [[nodiscard]] bool is_stale(const Program& program, const Evidence& evidence) const;

    /// The texts that a program is compiled from, by file name: its own and the headers in common/.
    [[nodiscard]] std::map<std::string, std::string> sources_of(const Program& program) const;

    /// The recorded run of a program. If several GPUs have one, that in the folder `gpu` counts, or else the
    /// last by name. If there is none, an Error says how to record one.
    [[nodiscard]] std::filesystem::path evidence_of(const Program& program,
                                                    const std::string& gpu = "") const;
    /// Is a run of it recorded, fresh or stale?
    [[nodiscard]] bool has_evidence_of(const Program& program) const;

  private:
    std::filesystem::path root_;
};

/// Adds the keys `fingerprint` and `silent` (the messages that the run did not print) of a program that was
/// just recorded.
void add_fingerprint(const Workspace& workspace, const Program& program, const std::string& seen,
                     Provenance& provenance);

/// The options for nsys and the arguments that a recording adds to the course's own. Evidence that was made
/// with others is stale.
[[nodiscard]] std::string recording_text(const Program& program);

/// "NVIDIA H200" -> "h200", "NVIDIA GeForce RTX 4090" -> "rtx-4090".
[[nodiscard]] std::string gpu_folder(const std::string& gpu_name);

/// The lines of a text file that are not empty; no lines if there is no such file.
[[nodiscard]] std::vector<std::string> lines_of_flags(const std::filesystem::path& file);

}  // namespace lab
