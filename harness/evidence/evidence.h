// One recorded run of one program: what nsys, ncu and compute-sanitizer said of it, and where that is from.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "evidence/capture.h"
#include "evidence/database.h"
#include "evidence/trace.h"

namespace lab {

/// The tools of compute-sanitizer, as its --tool takes them.
inline constexpr std::array kSanitizerTools{"memcheck", "racecheck", "initcheck", "synccheck"};

/// What TOOLS_RUN calls the profiler inside of a program that imports PyTorch. It makes a trace in place of
/// nsys's.
inline constexpr const char* kTorchProfiler = "torch.profiler";

/// Where evidence is from: gpu, compute_capability, driver, cuda, nsys, ncu, compute-sanitizer, python,
/// library (versions), date (UTC), command, program, recording, ncu_details, outputs, code_arch, fingerprint,
/// silent (see tools/fingerprint.h), stale.
using Provenance = std::map<std::string, std::string>;

/// What it says under this key; "" if it says nothing.
[[nodiscard]] std::string value_of(const Provenance& provenance, const std::string& key);

/// "recorded · NVIDIA H200, driver 580.1, CUDA 13.0, nsys 2025.3.2, 2026-11-20", or the same with "live". Of
/// stale evidence it says that the program has changed since.
[[nodiscard]] std::string source_label(const Provenance& provenance, bool live);

/// An evidence file, or any nsys export, opened for questions.
class Evidence {
  public:
    /// The views are ready afterwards if there is a trace. An export of somebody's own has no provenance.
    [[nodiscard]] static Evidence open(const std::filesystem::path& path);

    /// The file, where it is from, and whether there is a trace of the run.
    [[nodiscard]] const Database& database() const { return *database_; }
    [[nodiscard]] const Provenance& provenance() const { return provenance_; }
    [[nodiscard]] bool has_trace() const { return capture_ != nullptr; }

    /// Notes that the program has changed since; its label says so then.
    void mark_stale() { provenance_["stale"] = "yes"; }
    [[nodiscard]] bool is_stale() const { return provenance_.count("stale") > 0; }

    /// Did nsys run, and generate no report?
    [[nodiscard]] bool captured_nothing() const;

    /// What nsys saw; there must be a trace.
    [[nodiscard]] const Capture& capture() const { return *capture_; }
    [[nodiscard]] const Trace& trace() const { return capture_->trace(); }

    [[nodiscard]] std::optional<int> exit_code() const;  ///< of the program run by itself

    /// Did this tool ("nsys", "ncu", "memcheck", ...; "gpu_metrics" for nsys's samples) look at the program?
    [[nodiscard]] bool was_run(const std::string& tool) const;

    /// Adds a further recording of the same program, by the name that findings use.
    void add_recording(const std::string& name, Evidence further);

    /// A further recording, this one for ""; null if it was not made.
    [[nodiscard]] const Evidence* recording(const std::string& name) const;

  private:
    explicit Evidence(Database database) : database_(std::make_unique<Database>(std::move(database))) {}

    std::unique_ptr<const Database> database_;
    std::unique_ptr<const Capture> capture_;
    Provenance provenance_;
    std::map<std::string, std::unique_ptr<const Evidence>> recordings_;
};

}  // namespace lab
