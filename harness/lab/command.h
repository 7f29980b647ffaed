// The command line of lab. Each command is one file: it declares its options, and does its work in a
// callback, whose result is the exit code of `lab`.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "course/course.h"

namespace CLI {
class App;
}

namespace lab {

/// One call of `lab`.
struct Session {
    CLI::App& app;
    int exit_code = kFine;  ///< of the command that was run
};

/// A command with its options and its help.
class Subcommand {
  public:
    /// The help begins with `summary` and ends with `footer`. `work` runs after parsing, and returns the exit
    /// code.
    Subcommand(Session& session, const std::string& name, const std::string& summary,
               const std::string& footer, std::function<int()> work);

    /// A positional argument.
    void argument(const std::string& name, std::string& into, const std::string& text, bool required = true);

    /// All further positional arguments; at least one if they are required.
    void rest(const std::string& name, std::vector<std::string>& into, const std::string& text,
              bool required = false);

    /// An option with a value, which the help calls `value`. If `into` is not empty, it is the default.
    void option(const std::string& name, const std::string& value, std::string& into, const std::string& text,
                const std::vector<std::string>& choices = {});

    /// An option whose value is a whole number in these bounds. `into` is the default.
    void number(const std::string& name, const std::string& value, int& into, int least, int most,
                const std::string& text);

    /// An option without a value.
    void flag(const std::string& name, bool& into, const std::string& text);

    /// At most one of the two options may be given.
    void exclude(const std::string& option, const std::string& other);

  private:
    CLI::App* app_;
};

/// Prints a command line that is about to run, so that it can be copied. To stderr: stdout may be JSON.
void announce_to_terminal(const std::string& line);

/// Prints JSON in ASCII, with U+FFFD for bytes that are no UTF-8.
void print_json(const nlohmann::ordered_json& json);

void add_list(Session& session);
void add_doctor(Session& session);
void add_run(Session& session);
void add_tools(Session& session);  ///< nsys, ncu, sanitize
void add_analyze(Session& session);
void add_compare(Session& session);
void add_ncu_details(Session& session);
void add_timeline(Session& session);
void add_gate(Session& session);
void add_record(Session& session);
void add_verify(Session& session);
void add_start(Session& session);  ///< start, reset, hint
void add_check(Session& session);  ///< check, watch
void add_look(Session& session);
void add_quiz(Session& session);
void add_review(Session& session);
void add_diagnose(Session& session);
void add_answers(Session& session);
void add_report(Session& session);  ///< report, class
void add_docs(Session& session);

/// All of lab: parses the words, does the work, and returns the exit code. An Error becomes a sentence on
/// stderr.
int run_lab(int argc, char** argv);

}  // namespace lab
