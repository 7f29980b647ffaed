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

/// Is called with each command line, as a shell would read it, before it runs. Several threads may call it at
/// once.
using Announce = std::function<void(const std::string& line)>;

/// The program itself is wrong: it does not compile, or it never ends.
class ProgramError : public Error {
  public:
    explicit ProgramError(const std::string& sentence) : Error(sentence, kFindingFailed) {}
};

/// Returns the program's binary. nvcc builds it first if the source, a header, the flags, nvcc's version or
/// the GPU have changed. A ProgramError holds the compiler's own words. Of a Python program it is the source.
[[nodiscard]] std::filesystem::path build_program(const Workspace& workspace, const Program& program,
                                                  const Announce& announce);

/// The same for many programs. As many are built at a time as there are processors.
[[nodiscard]] std::vector<std::filesystem::path> build_programs(const Workspace& workspace,
                                                                const std::vector<Program>& programs,
                                                                const Announce& announce);

/// Some programs open a library at run time. It lies here, beside the binary.
[[nodiscard]] std::filesystem::path library_of(const std::filesystem::path& binary);

/// The words that run a program, without its arguments: the binary alone, or Python and the source.
[[nodiscard]] std::vector<std::string> words_to_run(const Program& program,
                                                    const std::filesystem::path& binary);

/// The same for a copy that is made in this folder, for a tool that begins there.
[[nodiscard]] std::vector<std::string> words_to_run_copy(const Program& program,
                                                         const std::filesystem::path& binary,
                                                         const std::filesystem::path& folder);

/// The build_fingerprint_of the source that a binary was built from. A learner may have edited it since.
[[nodiscard]] std::string built_fingerprint(const std::filesystem::path& binary);

/// A tool's command with the program and its arguments behind it. Reports hold the environment, the folder
/// and the command of what they profiled. To publish, a copy of the program runs in `scratch`, with only the
/// environment that a CUDA program needs, so that none of them names anybody.
[[nodiscard]] Command with_program(Command tool, const Program& program, const std::filesystem::path& binary,
                                   bool for_publication, const TemporaryFolder& scratch);

}  // namespace lab
