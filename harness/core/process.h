// Runs other programs: the compiler, the profilers, the learner's program.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lab {

/// A program to run, and how.
struct Command {
    std::vector<std::string> words;  ///< the program, looked up in PATH, and its arguments
    std::chrono::seconds limit{120};
    std::filesystem::path folder = {};                         ///< where it runs; here if empty
    std::optional<std::vector<std::string>> environment = {};  ///< "NAME=value"; ours if not given
};

/// How a program ended, and what it wrote.
struct Outcome {
    int exit_code = 0;       ///< 128 + signal where a signal ended it, as a shell says it
    int signal = 0;          ///< that ended it; 0 if none did
    bool timed_out = false;  ///< it was killed at the time limit
    std::string out, err;    ///< standard output and standard error
};

/// Runs a command to its end and keeps both of its outputs, up to 64 MiB each; for what it leaves behind
/// nobody waits. At the time limit the command and all it started are killed. A program that cannot be
/// started is an Error.
[[nodiscard]] Outcome run(const Command& command);

/// The full path of a program in PATH, or nothing.
[[nodiscard]] std::optional<std::filesystem::path> find_program(const std::string& name);

/// How an outcome reads in a sentence: "exit code 3", "killed by signal 11", "stopped after 120 s".
[[nodiscard]] std::string describe(const Outcome& outcome, const Command& command);

}  // namespace lab
