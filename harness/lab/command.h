// What the commands share. Each command is one file: it declares its options, and does its work in a
// callback, whose result is the exit code of `lab`.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "course/course.h"
#include "course/findings.h"
#include "evidence/analysis.h"
#include "evidence/projection.h"
#include "lab/manual.h"

namespace CLI {
class App;
}

namespace lab {

/// One call of `lab`.
struct Session {
    CLI::App& app;
    Manuals manuals = {};      ///< of the commands, in the order in which they were added
    bool only_parses = false;  ///< for tests: reads the words, and does nothing
    int exit_code = kFine;     ///< of the command that was run
};

/// A command, its options and its page. Only command.cpp knows CLI11, which takes long to compile.
class Subcommand {
  public:
    /// `page` says all but the options. `work` runs once they are parsed, and returns the exit code.
    Subcommand(Session& session, Manual page, std::function<int()> work);

    /// An option with a value, one of its choices if it has some; or a word that goes by its place.
    void option(const Option& option, std::string& into);
    void option(const Option& option, std::optional<std::string>& into);

    /// An option without a value.
    void flag(const std::string& name, bool& into, const std::string& what);

    /// All further words.
    void rest(const Option& option, std::vector<std::string>& into);

    /// At most one of the two options may be given.
    void exclude(const std::string& option, const std::string& other);

  private:
    [[nodiscard]] Manual& manual() { return session_.manuals[index_]; }

    Session& session_;
    std::size_t index_;
    CLI::App* app_;
};

/// What an exit code says of every command that can have it.
[[nodiscard]] Said bad_usage();
[[nodiscard]] Said nothing_could_run(const std::string& when);

void add_commands(Session& session);  ///< all that follow

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
void add_class(Session& session);
void add_completion(Session& session);  ///< completion, and the hidden complete
void add_help(Session& session);        ///< help, and the page of ./lab test

/// "there is no command 'lst'; did you mean list? ./lab help lists them."
[[nodiscard]] std::string no_such_command(const Manuals& manuals, const std::string& name);

/// Prints the page of a command, or a line for each if none is named. An Error if there is none of this name.
int print_help(const Manuals& manuals, const std::string& name);

/// Prints a command line that is about to run, so that it can be copied. To stderr: stdout may be JSON.
void announce_to_terminal(const std::string& line);

/// Refuses a file that an option names to be written, if its folder is not there: a mistyped path should not
/// make folders. Nothing is named by "".
void demand_folder_of(const char* option, const std::string& file);

/// A verdict in its colour, with a mark that reads without colour.
[[nodiscard]] std::string verdict_mark(Verdict verdict);

/// The worst verdict of all rows as an exit code.
[[nodiscard]] int exit_code_of(Verdict worst);

/// JSON as one line a member, with whatever is no UTF-8 replaced.
void print_json(const nlohmann::ordered_json& json);

/// What --json prints of these; `sides` names the two programs.
[[nodiscard]] nlohmann::ordered_json to_json(const Measured& measured);
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<FindingRow>& rows,
                                             const std::array<const char*, 2>& sides);
[[nodiscard]] nlohmann::ordered_json to_json(const Analysis& analysis, const std::vector<RangeUse>& ranges);

}  // namespace lab
