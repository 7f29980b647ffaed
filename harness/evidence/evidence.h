// One recorded run of one program: what nsys, ncu and compute-sanitizer said about it, and where that is
// from.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evidence/database.h"
#include "evidence/ncu_csv.h"
#include "evidence/sanitizer_report.h"
#include "evidence/trace.h"

namespace lab {

/// Where evidence is from: gpu, driver, cuda, nsys, ncu, compute-sanitizer (versions), date (UTC), command,
/// program, fingerprint.
using Provenance = std::map<std::string, std::string>;

/// "recorded · NVIDIA H200, driver 580.1, CUDA 13.0, nsys 2025.3.2, 2026-11-20", or the same with "live".
[[nodiscard]] std::string source_label(const Provenance& provenance, bool live);

/// What the tools said in one run, ready to be stored.
struct RunRecord {
    std::optional<std::filesystem::path> nsys_export;  ///< an .sqlite; nothing where nsys was not there
    std::vector<NcuMetric> ncu;
    std::map<std::string, std::vector<SanitizerReport>>
        sanitizer;      ///< by tool; a tool that ran clean has no reports
    int exit_code = 0;  ///< of the program run by itself
    std::string out;    ///< its standard output
    Provenance provenance;
};

/// Writes an evidence file whole or not at all. Of the export only the tables that questions are put to are
/// kept, and nothing that names the machine's user, environment or device serial.
void write_evidence(const RunRecord& run, const std::filesystem::path& path);

/// An evidence file, or any nsys export, opened for questions.
class Evidence {
  public:
    /// The views are ready afterwards if there is a trace. An export of somebody's own program has no
    /// provenance.
    [[nodiscard]] static Evidence open(const std::filesystem::path& path);

    [[nodiscard]] const Database& database() const { return database_; }
    [[nodiscard]] const Provenance& provenance() const { return provenance_; }
    [[nodiscard]] bool has_trace() const { return has_trace_; }

    /// The rows of the trace, read once.
    [[nodiscard]] const Trace& trace() const;

    [[nodiscard]] std::optional<int> exit_code() const;  ///< of the program run by itself

    /// Did this tool ("memcheck", ..., or "ncu") look at the program?
    [[nodiscard]] bool was_run(const std::string& tool) const;

  private:
    explicit Evidence(Database database) : database_(std::move(database)) {}

    Database database_;
    Provenance provenance_;
    bool has_trace_ = false;
    mutable std::optional<Trace> trace_;
};

}  // namespace lab
