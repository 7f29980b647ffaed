// Builds programs with nvcc, and puts them behind a tool. Every command line is announced before it runs,
// and works when copied.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/process.h"
#include "tools/workspace.h"

namespace lab {

/// Told each command line, as a shell would read it, before it runs.
using Announce = std::function<void(const std::string& line)>;

/// The same for several threads: one line at a time.
[[nodiscard]] Announce in_turn(Announce announce);

/// The program is at fault, and no tool: it does not compile, or it never ends.
class ProgramError : public Error {
  public:
    explicit ProgramError(const std::string& sentence) : Error(sentence, kFindingFailed) {}
};

/// The program's binary, built with nvcc if what is there is not of today's source, headers, flags and GPU.
/// A ProgramError holds the compiler's own words.
[[nodiscard]] std::filesystem::path build_program(const Workspace& workspace, const Program& program,
                                                  const Announce& announce);

/// The same for many programs, as many at a time as there are processors.
[[nodiscard]] std::vector<std::filesystem::path> build_programs(const Workspace& workspace,
                                                                const std::vector<Program>& programs,
                                                                const Announce& announce);

/// Where the library of a program stands that has one: beside its binary.
[[nodiscard]] std::filesystem::path library_of(const std::filesystem::path& binary);

/// The fingerprint that a built binary was made from, which a learner may have edited since.
[[nodiscard]] std::string built_fingerprint(const std::filesystem::path& binary);

/// A tool's command with the program and its arguments behind it. Reports hold the environment, the folder
/// and the command of what they profiled. To publish, a copy of the program runs in `scratch`, with only the
/// environment that a CUDA program needs, so that none of them names anybody.
[[nodiscard]] Command with_program(Command tool, const Program& program, const std::filesystem::path& binary,
                                   bool for_publication, const TemporaryFolder& scratch);

}  // namespace lab
