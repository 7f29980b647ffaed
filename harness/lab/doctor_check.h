// What `lab doctor` finds out about one tool, and what its trials have in common: each command line is shown
// before it runs, and none runs for longer than a limit.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/platform.h"
#include "core/process.h"
#include "course/course.h"
#include "course/known_failures.h"
#include "tools/machine.h"

namespace lab {

/// What the trial of a tool came to.
enum class State { works, broken, absent, untried };

[[nodiscard]] const char* to_string(State state);  ///< as in --json: "works", "broken", "absent", "untried"

/// A tool's trial.
struct Check {
    std::string name;  ///< what chapters name in `needs`, or "gpu" and "nvcc", which every live run needs
    State state = State::untried;
    std::string version = {};  ///< of the tool; "" if it was not asked or says none
    std::string path = {};     ///< where it is; "" if it is nowhere
    std::string found = {};    ///< what the trial proved, or why there was none; "" if it failed
    Diagnosis failure = {};    ///< why it failed and what to do; empty if it works
    std::string tried = {};    ///< the last command line that was run, as a shell reads it

    /// The tool works; `proof` says what it did.
    void succeed(const std::string& proof) { state = State::works, found = proof; }
};

/// The machine under examination, and how it is examined.
class Examination {
  public:
    Examination(const Course& course, KnownFailures failures, Platform platform);

    [[nodiscard]] const Course& course() const { return course_; }
    [[nodiscard]] const Platform& platform() const { return platform_; }

    /// Where the reports of the trials stay, so that they can be opened.
    [[nodiscard]] std::filesystem::path folder() const { return course_.build_folder() / "doctor"; }

    /// Shows a command, then runs it in the course's root. A tool in PATH goes by its name, and files of the
    /// course by their path in it, so that the line is short and still works when copied.
    Outcome run_shown(Check& check, std::vector<std::string> words) const;

    /// A path as it stands in a command that run_shown() runs.
    [[nodiscard]] std::string word(const std::filesystem::path& path) const;

    /// Asks a tool for its version; false, with the failure said, if it is older than `minimum` or fails.
    bool ask_version(Check& check, const std::string& minimum, const std::string& failure_if_older) const;

    /// What comes before every trial of nsys, ncu and compute-sanitizer: is it here, is there a program to
    /// try it on, and is it recent enough? False, with the reason said, if there can be no trial. The
    /// failures' ids begin with `id`.
    bool ready(Check& check, const std::optional<std::filesystem::path>& tool, bool has_program,
               const std::string& id, const std::string& oldest) const;

    /// Says that there is no such tool.
    void fail_as_absent(Check& check, const std::string& id) const;

    /// Says that the check failed, and how: by an id of the table.
    void fail(Check& check, const std::string& id, Details details = {}) const;

    /// The same for output that nobody expected: by the tool's own words if the table knows them, else by
    /// `otherwise`. A tool that was stopped at the limit hangs; where nothing is known and the temporary
    /// folder is mounted noexec, that is it.
    void fail_by_words(Check& check, const Outcome& outcome, const std::string& hangs,
                       const std::string& otherwise) const;

    /// Facts for the sentences of failures: "driver", "cuda".
    void learn(const std::string& name, const std::string& value) { facts_[name] = value; }

  private:
    const Course& course_;
    KnownFailures failures_;
    Platform platform_;
    std::chrono::seconds limit_;
    Details facts_;
};

}  // namespace lab
