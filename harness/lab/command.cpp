// The command line of lab, over CLI11. CLI11 takes long to compile, so no other file includes it.
#include "lab/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/terminal.h"
#include "core/text.h"

namespace lab {

namespace {

constexpr std::size_t kHelpColumns = 80;  ///< in which every line of the help fits
constexpr std::size_t kTextColumn = 24;   ///< where the texts of options begin
constexpr std::size_t kTextColumns = kHelpColumns - kTextColumn;

/// Breaks a text into lines that fit; lines that it has stay apart.
std::string fitted(const std::string& text, std::size_t columns) {
    std::vector<std::string> lines;
    for (const std::string& line : split(text, '\n')) append(lines, wrapped(line, columns));
    return join(lines, "\n");
}

/// Shortens the paths below the current folder if that is the course's root, where such a line can be run.
std::string with_short_paths(std::string line) {
    if (!std::filesystem::exists("common/nvcc.flags")) return line;
    const std::string here = std::filesystem::current_path().string() + "/";
    for (std::size_t at = 0; (at = line.find(here, at)) != std::string::npos; ++at) {
        // A program without a slash in front of its name would be looked for in PATH.
        const bool is_path =
            line.substr(0, line.find(' ', at)).find('/', at + here.size()) != std::string::npos;
        if (is_path && (at == 0 || line[at - 1] == ' ')) line.erase(at, here.size());
    }
    return line;
}

}  // namespace

Subcommand::Subcommand(Session& session, const std::string& name, const std::string& summary,
                       const std::string& footer, std::function<int()> work)
    : app_(session.app.add_subcommand(name, summary)) {
    app_->get_formatter()->column_width(kTextColumn);
    app_->footer(fitted(footer, kHelpColumns));
    app_->callback([&session, work = std::move(work)] { session.exit_code = work(); });
}

void Subcommand::argument(const std::string& name, std::string& into, const std::string& text,
                          bool required) {
    app_->add_option(name, into, fitted(text, kTextColumns))->type_name("")->required(required);
}

void Subcommand::rest(const std::string& name, std::vector<std::string>& into, const std::string& text,
                      bool required) {
    app_->add_option(name, into, fitted(text, kTextColumns))->type_name("")->required(required);
}

void Subcommand::option(const std::string& name, const std::string& value, std::string& into,
                        const std::string& text, const std::vector<std::string>& choices) {
    CLI::Option* const option = app_->add_option(name, into, fitted(text, kTextColumns))->type_name(value);
    if (!into.empty()) option->capture_default_str();
    if (!choices.empty()) option->check(CLI::IsMember(choices));
}

void Subcommand::number(const std::string& name, const std::string& value, int& into, int least, int most,
                        const std::string& text) {
    CLI::Option* const option = app_->add_option(name, into, fitted(text, kTextColumns))->type_name(value);
    option->capture_default_str()->check(CLI::Range(least, most).description(""));
}

void Subcommand::flag(const std::string& name, bool& into, const std::string& text) {
    app_->add_flag(name, into, fitted(text, kTextColumns));
}

void Subcommand::exclude(const std::string& option, const std::string& other) {
    app_->get_option(option)->excludes(app_->get_option(other));
}

void announce_to_terminal(const std::string& line) {
    const std::string shown = line.rfind("# ", 0) == 0 ? paragraph(line, 2) : "$ " + with_short_paths(line);
    say(shown, "2");
}

void print_json(const nlohmann::ordered_json& json) {
    // All but ASCII is escaped, so that no control character of a name reaches a terminal.
    if (std::puts(json.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace).c_str()) < 0)
        throw std::system_error(errno, std::generic_category());
}

namespace {

/// Adds those two whose work is done elsewhere: `help` in run_lab(), and `test` by the front door. They have
/// a help.
void add_help_and_test(Session& session) {
    const auto name = std::make_shared<std::string>();
    const auto words = std::make_shared<std::vector<std::string>>();
    Subcommand help(session, "help", "what a command does, and its options", "Example: ./lab help check",
                    [name] { return kFine; });
    help.argument("COMMAND", *name, "the command; without it, all of them are listed", false);
    Subcommand test(
        session, "test", "build everything and run every test that can run here",
        "No GPU is needed: findings are checked on recorded evidence. What was skipped is named at the end, "
        "with the reason.\nExample: ./lab test -L ch05 -N",
        [words]() -> int {  // which CLI11 fills
            throw Error("this is the program behind ./lab; the tests are run by ./lab test itself");
        });
    test.rest("OPTION", *words,
              "goes to ctest: -L ch05 chooses the tests of one chapter, -R NAME those whose name contains "
              "NAME, -N only lists them");
}

/// Refuses a first word that is neither a command nor an option, and names the nearest one.
void check_command(const CLI::App& app, const std::string& name) {
    const bool is_option = name.starts_with('-');
    std::vector<std::string> names;
    if (is_option)
        names = {"--help", "--version"};
    else
        for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
    if (name == "-h" || std::find(names.begin(), names.end(), name) != names.end()) return;
    const std::string near = nearest(name, names);
    throw Error(fmt::format("there is no {} '{}'{} ./lab help lists them.", is_option ? "option" : "command",
                            printable(name), near.empty() ? "." : fmt::format("; did you mean {}?", near)));
}

void parse(CLI::App& app, std::vector<std::string> words) {
    // "help run" is "run --help".
    if (!words.empty() && words[0] == "help" && (words.size() == 1 || words[1][0] != '-')) {
        words.erase(words.begin());
        words.emplace_back("--help");
    }
    if (!words.empty()) check_command(app, words[0]);
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(std::move(words));
}

/// Output that is lost, to a full disk for one, must not look like success.
int cannot_write(int reason) {
    say(fmt::format("lab: the output could not be written: {}", std::strerror(reason)));
    return kFindingFailed;
}

/// The next file that is opened would get the number of a stream that is closed, and what is printed into it.
void keep_numbers_of_streams() {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(fd, F_GETFD) < 0) (void)!::open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    ::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is an error with a sentence
}

}  // namespace

int run_lab(int argc, char** argv) {
    keep_numbers_of_streams();
    CLI::App app{"A hands-on course in CUDA's developer tools.", "./lab"};
    app.require_subcommand(1);
    app.set_version_flag("--version", "lab " LAB_VERSION, "says which release this is");
    app.footer("./lab help COMMAND explains one of them.");
    Session session{app};
    for (const auto add :
         {add_list,     add_doctor, add_look,   add_run,     add_start,   add_check,   add_diagnose,
          add_quiz,     add_review, add_report, add_answers, add_analyze, add_compare, add_ncu_details,
          add_timeline, add_tools,  add_gate,   add_record,  add_verify,  add_docs,    add_help_and_test})
        add(session);
    try {
        parse(app, {argv + 1, argv + argc});
    } catch (const CLI::ParseError& problem) {
        if (problem.get_exit_code() == 0) return app.exit(problem);  // --help
        const auto commands = app.get_subcommands();
        const std::string what = problem.what();
        const bool listed =
            what == "NAME is required" || what == "EXERCISE is required" || what == "CHAPTER is required";
        say(paragraph(fmt::format("{}. ./lab {}--help lists the options.{}", what,
                                  commands.empty() ? "" : commands[0]->get_name() + " ",
                                  listed ? " ./lab list names chapters and exercises." : "")));
        return kBadInput;
    } catch (const Error& problem) {
        say(paragraph(fmt::format("lab: {}", problem.what())));
        return problem.exit_code;
    } catch (const std::bad_alloc&) {  // no memory for a longer sentence either
        std::fputs("lab: there is not enough memory for this file\n", stderr);
        return kFindingFailed;
    } catch (const std::filesystem::filesystem_error& problem) {
        say(fmt::format("lab: cannot use {}: {}", problem.path1().string(), problem.code().message()));
        return kBadInput;
    } catch (const std::system_error& problem) {
        if (std::ferror(stdout)) return cannot_write(problem.code().value());
        say(fmt::format("lab: {}", problem.what()));
        return kFindingFailed;
    } catch (const std::exception& problem) {
        say(fmt::format(
            "lab: {}. This is a mistake in lab itself; please report it with the command you gave.",
            problem.what()));
        return kFindingFailed;
    }
    if (std::fflush(stdout) != 0) return cannot_write(errno);
    return session.exit_code;
}

}  // namespace lab
