// Tries each CUDA tool by using it on harness/doctor/probe.cu, and believes nothing that it has not seen: a
// counter's value, a kernel in a trace, a planted bug that is found. Each command line is shown before it
// runs, and none runs for longer than a limit.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/process.h"
#include "course/course.h"
#include "doctor/failures.h"
#include "tools/builder.h"

namespace lab {

/// What the trial of a tool came to.
enum class State { works, broken, absent, untried, denied };

/// A tool's trial.
struct Check {
    std::string name;  ///< "gpu", "nvcc", "nsys", "ncu" or "compute-sanitizer", as chapters name what they
                       ///< need; "nccl" or "nvshmem", which single exercises link, where nvcc works;
                       ///< "cpu-samples" or "gpu-metrics": what nsys may record, where nsys works
    State state = State::untried;
    std::string version = {};  ///< of the tool; "" if it was not asked or says none
    std::string path = {};     ///< where it is; "" if it is nowhere
    std::string found = {};    ///< what the trial proved, or why there was none; "" if it failed
    Diagnosis failure = {};    ///< why it failed and what to do; empty if it works
    std::string tried = {};    ///< the last command line that was run, as a shell reads it

    /// The tool works; `proof` says what it did.
    void succeed(const std::string& proof) { state = State::works, found = proof; }
};

/// How a machine is examined.
struct Examination {
    const Course& course;
    const KnownFailures& failures;
    const Platform& platform;
    Announce announce;  ///< told each command line
    std::chrono::seconds limit{60};
    Details facts = {};  ///< for the sentences of failures: "driver", "cuda"; the trials add to them

    /// Runs a command in the course's root.
    Outcome run_shown(Check& check, std::vector<std::string> words) const;

    /// The same, when no other lab is using the GPU: ncu may not share its counters, and would seem broken.
    Outcome run_on_gpu(Check& check, std::vector<std::string> words) const;

    /// A path as a command line names it: a tool in PATH by its name, a file of the course by its path in it,
    /// so that the line is short and still works when copied.
    [[nodiscard]] std::string word(const std::filesystem::path& path) const;

    /// Is the tool here, is there a program to try it on, and is the tool recent enough? False, with the
    /// reason said, if there can be no trial.
    bool ready(Check& check, const std::optional<std::filesystem::path>& tool, bool has_program,
               const std::string& oldest) const;

    /// Says that the check failed, and how: by an id of the table.
    void fail(Check& check, const std::string& id, Details details = {}) const;

    /// The same for output that nobody expected: by the tool's own words if the table knows them, else by
    /// `otherwise`. A tool that was stopped at the limit hangs.
    void fail_by_words(Check& check, const Outcome& outcome, const std::string& otherwise = "unknown") const;
};

/// Tries the GPU's driver, nvcc, nsys, ncu and compute-sanitizer, in the order in which one needs another;
/// where nvcc works, libraries; and where nsys works, what it may record. `tell` hears of each check at its
/// end.
std::vector<Check> examine(Examination& x, const std::function<void(const Check&)>& tell);

}  // namespace lab
