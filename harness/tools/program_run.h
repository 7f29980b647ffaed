// A program behind a tool's words. Reports hold the environment, the folder and the command of what they
// profiled: a run to publish has none that name anybody.
#pragma once

#include <filesystem>

#include "core/files.h"
#include "core/process.h"
#include "tools/program.h"

namespace lab {

/// The tool's command with the program and its arguments. To publish, that is a copy of it in `scratch`, run
/// there with only the environment that a CUDA program needs.
[[nodiscard]] Command with_program(Command tool, const Program& program, const std::filesystem::path& binary,
                                   bool for_publication, const TemporaryFolder& scratch);

}  // namespace lab
