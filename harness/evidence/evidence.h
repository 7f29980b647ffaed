// One recorded run of one program: what nsys, ncu and compute-sanitizer said of it, and where that is from.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
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

/// What it says under this key; "" if it says nothing.
[[nodiscard]] std::string value_of(const Provenance& provenance, const std::string& key);

/// "recorded · NVIDIA H200, driver 580.1, CUDA 13.0, nsys 2025.3.2, 2026-11-20", or the same with "live".
[[nodiscard]] std::string source_label(const Provenance& provenance, bool live);

/// A run under nsys: what was asked of it beside the course's own options, and what it left.
struct NsysRun {
    std::string options;
    std::optional<std::filesystem::path> exported;  ///< an .sqlite; nothing if no report was generated
    std::string said;                               ///< why there is no report
};

/// What the tools said in one run, ready to be stored.
struct RunRecord {
    std::optional<NsysRun> nsys;           ///< nothing where nsys was not there
    std::vector<std::string> gpu_metrics;  ///< of the sampled metrics, those whose name begins so are kept
    std::vector<NcuMetric> ncu;
    /// By tool; a tool that ran clean has no reports.
    std::map<std::string, std::vector<SanitizerReport>> sanitizer;
    std::map<std::string, std::string> sources;  ///< texts by file name, for the line that a report blames
    std::optional<int> exit_code;                ///< of the program run by itself
    std::string out;                             ///< what it wrote
    Provenance provenance;
};

/// Writes an evidence file whole or not at all. Of the export only the tables that questions are put to are
/// kept, and nothing that names the machine's user, environment or device serial.
void write_evidence(const RunRecord& run, const std::filesystem::path& path);

/// An evidence file, or any nsys export, opened for questions.
class Evidence {
  public:
    /// The views are ready afterwards if there is a trace. An export of somebody's own has no provenance.
    [[nodiscard]] static Evidence open(const std::filesystem::path& path);

    /// The file, where it is from, and whether nsys made a trace of the run.
    [[nodiscard]] const Database& database() const { return database_; }
    [[nodiscard]] const Provenance& provenance() const { return provenance_; }
    [[nodiscard]] bool has_trace() const { return has_trace_; }

    /// Did nsys run, and generate no report?
    [[nodiscard]] bool captured_nothing() const;

    /// The rows of the trace, read once.
    [[nodiscard]] const Trace& trace() const;

    [[nodiscard]] std::optional<int> exit_code() const;  ///< of the program run by itself

    /// Did this tool ("nsys", "ncu", "memcheck", ...; "gpu_metrics" for nsys's samples) look at the program?
    [[nodiscard]] bool was_run(const std::string& tool) const;

    /// Adds a further recording of the same program, by the name that findings use.
    void add_recording(const std::string& name, Evidence further);

    /// A further recording, this one for ""; null if it was not made.
    [[nodiscard]] const Evidence* recording(const std::string& name) const;

  private:
    explicit Evidence(Database database) : database_(std::move(database)) {}

    Database database_;
    Provenance provenance_;
    bool has_trace_ = false;
    mutable std::optional<Trace> trace_;
    std::map<std::string, std::unique_ptr<const Evidence>> recordings_;
};

}  // namespace lab
