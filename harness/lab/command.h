// What the commands share. Each command is one file: it declares its options and does
// its work in a callback, whose result is the exit code of `lab`.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "course/course.h"
#include "course/findings.h"
#include "evidence/analysis.h"

namespace CLI {
class App;
}

namespace lab {

struct Session {
    CLI::App& app;
    int exit_code = kFine;
};

/// A command and its options. Only command.cpp knows CLI11, which takes long to compile.
class Subcommand {
  public:
    /// `work` runs once the options are parsed, and returns the exit code.
    Subcommand(Session& session, const std::string& name, const std::string& what, std::function<int()> work);

    void required(const std::string& name, std::string& into, const std::string& what);
    void optional(const std::string& name, std::string& into, const std::string& what);
    void flag(const std::string& name, bool& into, const std::string& what);
    void rest(const std::string& name, std::vector<std::string>& into, const std::string& what);
    void one_of(const std::string& name, std::string& into, const std::vector<std::string>& choices);

    /// At most one of the two flags may be given.
    void exclude(const std::string& flag, const std::string& other);

  private:
    CLI::App* app_;
};

void add_list(Session& session);
void add_doctor(Session& session);
void add_run(Session& session);
void add_tools(Session& session);  ///< nsys, ncu, sanitize
void add_analyze(Session& session);
void add_timeline(Session& session);
void add_gate(Session& session);
void add_record(Session& session);
void add_verify(Session& session);
void add_start(Session& session);  ///< start, reset, hint
void add_check(Session& session);
void add_watch(Session& session);
void add_quiz(Session& session);
void add_report(Session& session);
void add_docs(Session& session);

/// Prints a command line that is about to run, so that it can be copied. To stderr: stdout may be JSON.
void announce_to_terminal(const std::string& line);

/// A verdict in its colour, with a mark that reads without colour.
[[nodiscard]] std::string verdict_mark(Verdict verdict);

/// The worst verdict of all rows as an exit code.
[[nodiscard]] int exit_code_of(Verdict worst);

/// JSON as one line a member, with whatever is no UTF-8 replaced.
void print_json(const nlohmann::ordered_json& json);

[[nodiscard]] nlohmann::ordered_json to_json(const Measured& measured);
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<FindingRow>& rows,
                                             const std::array<const char*, 2>& sides);
[[nodiscard]] nlohmann::ordered_json to_json(const Analysis& analysis, const std::vector<RangeUse>& ranges);

}  // namespace lab
