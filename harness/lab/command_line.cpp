// The command line of lab, over CLI11. CLI11 takes long to compile, so no other file includes it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "core/text.h"
#include "lab/command.h"

namespace lab {

namespace {

constexpr std::size_t kHelpColumns = 80;  ///< in which every line of the help fits
constexpr std::size_t kTextColumn = 24;   ///< where the texts of options begin

/// The text in lines that fit; lines that it has stay apart.
std::string fitted(const std::string& text, std::size_t columns) {
    std::vector<std::string> lines;
    for (const std::string& line : split(text, '\n'))
        for (std::string& part : wrapped(line, columns)) lines.push_back(std::move(part));
    return join(lines, "\n");
}

std::string option_text(const std::string& text) {
    return fitted(text, kHelpColumns - kTextColumn);
}

}  // namespace

Subcommand::Subcommand(Session& session, const std::string& name, const std::string& summary,
                       const std::string& footer, std::function<int()> work)
    : app_(session.app.add_subcommand(name, summary)) {
    app_->get_formatter()->column_width(kTextColumn);
    app_->footer(fitted(footer, kHelpColumns));
    app_->callback([&session, work = std::move(work)] { session.exit_code = work(); });
}

void Subcommand::argument(const std::string& name, std::string& into, const std::string& text) {
    app_->add_option(name, into, option_text(text))->type_name("")->required();
}

void Subcommand::optional_argument(const std::string& name, std::string& into, const std::string& text) {
    app_->add_option(name, into, option_text(text))->type_name("");
}

void Subcommand::rest(const std::string& name, std::vector<std::string>& into, const std::string& text) {
    app_->add_option(name, into, option_text(text))->type_name("");
}

void Subcommand::option(const std::string& name, const std::string& value, std::string& into,
                        const std::string& text, const std::vector<std::string>& choices) {
    CLI::Option* const option = app_->add_option(name, into, option_text(text))->type_name(value);
    if (!into.empty()) option->capture_default_str();
    if (!choices.empty()) option->check(CLI::IsMember(choices));
}

void Subcommand::option(const std::string& name, const std::string& value, std::optional<std::string>& into,
                        const std::string& text) {
    app_->add_option(name, into, option_text(text))->type_name(value);
}

void Subcommand::flag(const std::string& name, bool& into, const std::string& text) {
    app_->add_flag(name, into, option_text(text));
}

void Subcommand::exclude(const std::string& option, const std::string& other) {
    app_->get_option(option)->excludes(app_->get_option(other));
}

namespace {

std::string no_such_command(const CLI::App& app, const std::string& name) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
    const std::string near = nearest(name, names);
    return fmt::format("there is no command '{}'{} ./lab help lists them.", printable(name),
                       near.empty() ? "." : fmt::format("; did you mean {}?", near));
}

int print_help(const CLI::App& app, const std::string& name) {
    // App::help() would answer for the command that was parsed, which is `help`.
    const auto commands = app.get_subcommands([&](const CLI::App* each) { return each->get_name() == name; });
    if (name.empty())
        fmt::print("{}", app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal));
    else if (commands.empty())
        throw Error(no_such_command(app, name));
    else
        fmt::print("{}", commands[0]->help(app.get_name()));
    return kFine;
}

void add_help(Session& session) {
    const auto name = std::make_shared<std::string>();
    Subcommand help(session, "help", "what a command does, and its options", "Example: ./lab help check",
                    [name, &session] { return print_help(session.app, *name); });
    help.optional_argument("COMMAND", *name, "the command; without it, all of them are listed");

    // The front door runs this one without the program. Only its help is here.
    const auto options = std::make_shared<std::vector<std::string>>();
    Subcommand test(
        session, "test", "build everything and run every test that can run here",
        "No GPU is needed: findings are checked on recorded evidence. What was skipped is named at the end, "
        "with the reason.\nExample: ./lab test -L ch05 -N",
        []() -> int {
            throw Error("this is the program behind ./lab; the tests are run by ./lab test itself");
        });
    test.rest("OPTION", *options,
              "goes to ctest: -L ch05 chooses the tests of one chapter, -R NAME those whose name contains "
              "NAME, -N only lists them");
}

/// Every command, in the order of the help.
void add_commands(Session& session) {
    add_list(session);
    add_doctor(session);
    add_run(session);
    add_start(session);
    add_check(session);
    add_watch(session);
    add_quiz(session);
    add_report(session);
    add_class(session);
    add_analyze(session);
    add_timeline(session);
    add_tools(session);
    add_gate(session);
    add_record(session);
    add_verify(session);
    add_docs(session);
    add_help(session);
}

/// The chapters, for a command that needs the name of a chapter or an exercise and got none; "" where that is
/// not the mistake.
std::string chapters_to_name(const CLI::App& app, const CLI::ParseError& problem) {
    const auto commands = app.get_subcommands();
    if (commands.empty() || !dynamic_cast<const CLI::RequiredError*>(&problem)) return "";
    const std::string missing = std::string(problem.what()).substr(0, std::strcspn(problem.what(), " "));
    if (missing != "NAME" && missing != "CHAPTER" && missing != "EXERCISE") return "";
    std::string what = commands[0]->get_option(missing)->get_description();
    std::replace(what.begin(), what.end(), '\n', ' ');
    const std::string command = "./lab " + commands[0]->get_name();
    try {
        std::string text = fmt::format("{} needs {}. The chapters are:\n", command, what);
        for (const Chapter& chapter : Course::find().chapters())
            text += fmt::format("  {}  {}\n", chapter.short_id, chapter.title);
        return text + fmt::format("./lab list names their exercises, {} --help all options.\n", command);
    } catch (const Error&) {
        return "";
    }
}

/// CLI11 says what is wrong; the nearest command there is helps more.
int complain(const CLI::App& app, const CLI::ParseError& problem, int argc, char** argv) {
    if (problem.get_exit_code() == 0) return app.exit(problem);  // --help
    const auto commands = app.get_subcommands();
    const std::string first = argc > 1 ? argv[1] : "";
    const bool unknown = commands.empty() && !first.empty() && first[0] != '-';
    if (unknown)
        fmt::print(stderr, "{}\n", no_such_command(app, first));
    else if (const std::string chapters = chapters_to_name(app, problem); !chapters.empty())
        fmt::print(stderr, "{}", chapters);
    else
        fmt::print(stderr, "{}. ./lab {}--help lists the options.\n", problem.what(),
                   commands.empty() ? "" : commands[0]->get_name() + " ");
    return kBadInput;
}

/// Output that is lost, to a full disk for one, must not look like success.
int cannot_write() {
    fmt::print(stderr, "lab: the output could not be written: {}\n", std::strerror(errno));
    return kFindingFailed;
}

}  // namespace

int run_lab(int argc, char** argv) {
    CLI::App app{"A hands-on course in CUDA's developer tools.", "./lab"};
    app.require_subcommand(1);
    app.footer("./lab help COMMAND explains one of them.");
    Session session{app};
    add_commands(session);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
        return complain(app, problem, argc, argv);
    } catch (const Error& problem) {
        fmt::print(stderr, "lab: {}\n", problem.what());
        return problem.exit_code;
    } catch (const std::system_error& problem) {
        if (std::ferror(stdout)) return cannot_write();
        fmt::print(stderr, "lab: {}\n", problem.what());
        return kFindingFailed;
    } catch (const std::exception& problem) {
        fmt::print(stderr,
                   "lab: {}. This is a mistake in lab itself; please report it with the command you gave.\n",
                   problem.what());
        return kFindingFailed;
    }
    if (std::fflush(stdout) != 0) return cannot_write();
    return session.exit_code;
}

}  // namespace lab
