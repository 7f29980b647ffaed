// Runs programs under the tools. Every command line is announced before it runs, and works when copied.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/builder.h"
#include "tools/evidence_writer.h"

namespace lab {

/// What the trace of a program that profiles itself is called, behind its name.
inline constexpr const char* kTraceExtension = ".json.gz";

/// Runs a built program by itself, then under nsys or with its own profiler on, and under ncu,
/// compute-sanitizer and cuda-gdb where its findings need them. A tool that is not installed is left out, and
/// the evidence then has nothing of it. An Error says which step failed and how. A further recording runs
/// nsys alone, or the program with other arguments. `report` is where the .nsys-rep goes, and the trace
/// beside it. `for_publication` the user's environment is kept out of it, and a tool that may not see all it
/// is asked for is an Error.
[[nodiscard]] RunRecord record_program(const Workspace& workspace, const Program& program,
                                       const std::filesystem::path& binary,
                                       const std::filesystem::path& report, bool for_publication,
                                       const Announce& announce);

/// What the machine code of a built program says. The program does not run, so no GPU is needed.
[[nodiscard]] RunRecord record_code(const Workspace& workspace, const Program& program,
                                    const std::filesystem::path& binary, const Announce& announce);

/// The words that export a report as SQLite.
[[nodiscard]] std::vector<std::string> export_command(const std::filesystem::path& nsys_path,
                                                      const std::filesystem::path& report,
                                                      const std::filesystem::path& to);

/// Exports a report as SQLite to a file; an Error if nsys is not there or fails.
[[nodiscard]] std::filesystem::path export_report(const std::filesystem::path& report,
                                                  const std::filesystem::path& to, const Announce& announce);

/// The words of an nsys recording, without the program to run: the course's options, and what the program's
/// recording asks for beside. GPU metrics are sampled only if `sample_gpu`.
[[nodiscard]] std::vector<std::string> nsys_command(const std::filesystem::path& nsys_path,
                                                    const std::filesystem::path& report,
                                                    const Program& program = {}, bool sample_gpu = false);

/// The words in front of a program that is to leave a GPU core dump if a kernel faults, without any memory in
/// it: a MB or less.
[[nodiscard]] std::vector<std::string> core_dump_command(const std::filesystem::path& dump);

/// The words that print what a dump says of the fault.
[[nodiscard]] std::vector<std::string> cuda_gdb_command(const std::filesystem::path& cuda_gdb_path,
                                                        const std::filesystem::path& dump);

/// The words of a run under one tool of compute-sanitizer, without the program.
[[nodiscard]] std::vector<std::string> sanitizer_command(const std::filesystem::path& sanitizer_path,
                                                         const std::string& tool);

/// Runs one compute-sanitizer tool on a built program, with its `check_arguments`, and reads what it prints.
[[nodiscard]] SanitizerOutput run_sanitizer(const std::string& tool, const Program& program,
                                            const std::filesystem::path& binary, const Announce& announce);

}  // namespace lab
