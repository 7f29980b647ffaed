// Makes an evidence file of what the tools said in one run.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evidence/evidence.h"
#include "evidence/profiled_launch.h"
#include "tools/core_dump.h"
#include "tools/machine_code.h"
#include "tools/ncu_csv.h"
#include "tools/sanitizer_report.h"

namespace lab {

/// A run under nsys.
struct NsysRun {
    std::string options;                            ///< beside the course's own
    std::optional<std::filesystem::path> exported;  ///< an .sqlite; nothing if no report was generated
    std::string said;                               ///< why there is no report
};

/// What the tools said in one run, ready to be stored.
struct RunRecord {
    /// What a tool printed as a whole, and the command line.
    struct ToolOutput {
        std::string tool, command, text;
    };
    std::optional<NsysRun> nsys;                  ///< nothing if nsys is not installed
    std::optional<std::filesystem::path> kineto;  ///< the trace of a program that torch.profiler recorded
    std::vector<std::string> gpu_metrics;         ///< samples of metrics whose names begin so are kept
    std::vector<NcuMetric> ncu;
    std::vector<ProfiledLaunch> launches;  ///< ncu's pages of them
    /// By tool; a tool that ran clean has no reports.
    std::map<std::string, std::vector<SanitizerReport>> sanitizer;
    std::optional<MachineCode> code;  ///< nothing if cuobjdump did not look
    /// Nothing if nobody looked for a GPU core dump; none of a program that ended without a fault.
    std::optional<std::vector<CoreDump>> dumps;
    std::vector<ToolOutput> outputs;
    std::map<std::string, std::string> sources;  ///< texts by file name, for the line that a report blames
    std::optional<int> exit_code;                ///< of the program run by itself
    std::string out;                             ///< what it wrote
    Provenance provenance;
};

/// Writes an evidence file whole or not at all. It keeps only export_tables() of the export, so nothing in it
/// names the machine's user, environment or device serial.
void write_evidence(const RunRecord& run, const std::filesystem::path& path);

}  // namespace lab
