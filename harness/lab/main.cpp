// lab: runs, checks and explains the course. ./lab builds this program when it has to and hands over to it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "lab/command.h"

namespace {

/// The chapters, for one who called a command that needs a name without one; "" where that is not the
/// mistake.
std::string chapters_to_name(const lab::Session& session, const CLI::ParseError& problem) {
    const auto commands = session.app.get_subcommands();
    if (commands.empty() || !dynamic_cast<const CLI::RequiredError*>(&problem)) return "";
    const lab::Manual* const manual = lab::manual_of(session.manuals, commands[0]->get_name());
    if (!manual || manual->options.empty()) return "";
    const lab::Option& first = manual->options[0];
    using lab::Takes;
    const bool of_course =
        first.takes == Takes::chapter || first.takes == Takes::exercise || first.takes == Takes::any_case;
    const std::string command = "./lab " + manual->name;
    if (!of_course || std::string(problem.what()).rfind(first.name + " is required", 0) != 0) return "";
    try {
        std::string text = fmt::format("{} needs {}. The chapters are:\n", command, first.text);
        for (const lab::Chapter& chapter : lab::Course::find().chapters())
            text += fmt::format("  {}  {}\n", chapter.short_id, chapter.title);
        return text + fmt::format("./lab list names their exercises, {} --help all options.\n", command);
    } catch (const lab::Error&) {
        return "";
    }
}

/// CLI11 says what is wrong; the nearest command there is helps more.
int complain(const lab::Session& session, const CLI::ParseError& problem, int argc, char** argv) {
    const CLI::App& app = session.app;
    const auto commands = app.get_subcommands();
    if (problem.get_exit_code() == 0)
        return commands.empty() ? app.exit(problem)
                                : lab::print_help(session.manuals, commands[0]->get_name());
    const std::string first = argc > 1 ? argv[1] : "";
    const bool unknown = commands.empty() && !first.empty() && first[0] != '-';
    if (unknown)
        fmt::print(stderr, "{}\n", lab::no_such_command(session.manuals, first));
    else if (const std::string chapters = chapters_to_name(session, problem); !chapters.empty())
        fmt::print(stderr, "{}", chapters);
    else
        fmt::print(stderr, "{}. ./lab {}--help lists the options.\n", problem.what(),
                   commands.empty() ? "" : commands[0]->get_name() + " ");
    return lab::kBadInput;
}

/// Output that is lost, to a full disk for one, must not look like success.
int cannot_write() {
    fmt::print(stderr, "lab: the output could not be written: {}\n", std::strerror(errno));
    return lab::kFindingFailed;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"A hands-on course in CUDA's developer tools.", "./lab"};
    app.require_subcommand(1);
    lab::Session session{app};
    lab::add_commands(session);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
        return complain(session, problem, argc, argv);
    } catch (const lab::Error& problem) {
        fmt::print(stderr, "lab: {}\n", problem.what());
        return problem.exit_code;
    } catch (const std::system_error& problem) {
        if (std::ferror(stdout)) return cannot_write();
        fmt::print(stderr, "lab: {}\n", problem.what());
        return lab::kFindingFailed;
    } catch (const std::exception& problem) {
        fmt::print(stderr,
                   "lab: {}. This is a mistake in lab itself; please report it with the command you gave.\n",
                   problem.what());
        return lab::kFindingFailed;
    }
    if (std::fflush(stdout) != 0) return cannot_write();
    return session.exit_code;
}
