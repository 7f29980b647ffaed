// lab help COMMAND: its page. --help behind a command shows the same.
#include <fmt/format.h>

#include <algorithm>

#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "lab/command.h"

namespace lab {

namespace {

void print_all(const Manuals& manuals) {
    Table table({"command", "for"});
    for (const Manual& m : manuals)
        if (!m.hidden) table.add({m.name, m.summary});
    fmt::print("{}\n./lab help COMMAND says all about one of them.\n", table.text());
}

}  // namespace

std::string no_such_command(const Manuals& manuals, const std::string& name) {
    std::vector<std::string> names;
    for (const Manual& m : manuals)
        if (!m.hidden) names.push_back(m.name);
    const std::string near = nearest(name, names);
    return fmt::format("there is no command '{}'{} ./lab help lists them.", printable(name),
                       near.empty() ? "." : fmt::format("; did you mean {}?", near));
}

int print_help(const Manuals& manuals, const std::string& name) {
    if (name.empty()) {
        print_all(manuals);
        return kFine;
    }
    const Manual* manual = manual_of(manuals, name);
    if (!manual) throw Error(no_such_command(manuals, name));
    fmt::print("{}", manual_text(*manual, static_cast<std::size_t>(std::min(100, terminal_columns()))));
    return kFine;
}

void add_help(Session& session) {
    const auto name = std::make_shared<std::string>();
    Subcommand command(
        session,
        {.name = "help",
         .summary = "what a command does, its options, files and exit codes",
         .does = "Prints the page of a command, or names all of them. ./lab COMMAND --help prints the same "
                 "page, and docs/lab.md holds all of them.",
         .exits = {{"0", "the page is printed"}, bad_usage()},
         .reads = {{"nothing", "the pages are part of the program"}},
         .examples = {{"./lab help check", "one command"}, {"./lab help", "all of them, a line each"}},
         .see_also = {"list", "completion", "docs/lab.md"}},
        [name, &session] { return print_help(session.manuals, *name); });
    command.option(
        {.name = "COMMAND", .text = "the command", .otherwise = "all of them", .takes = Takes::command},
        *name);

    // The front door does this one by itself; here is its page.
    const auto options = std::make_shared<std::vector<std::string>>();
    Subcommand test(
        session,
        {.name = "test",
         .summary = "build everything and run every test that can run here",
         .does = "Builds the program, the chapters' CUDA programs if nvcc is here, and all tests, then runs "
                 "them with ctest. No GPU is needed: findings are checked against recorded evidence, and "
                 "paths that need a GPU on faked tools. What was skipped is named at the end, with the "
                 "reason.",
         .exits = {{"0", "every test that can run here passed"},
                   {"1", "a test failed, or the build did"},
                   {"2", "a package is missing that the build needs"}},
         .reads = {{"the repository", "sources, chapters, evidence"}},
         .writes = {{"build/", "everything that is built; build/lab-build.log says how it went"}},
         .examples = {{"./lab test", "everything"},
                      {"./lab test -L ch05 -N", "lists the tests of one chapter"}},
         .see_also = {"verify", "docs/contributing.md"}},
        []() -> int {
            throw Error("this is the program behind ./lab; the tests are run by ./lab test itself");
        });
    test.rest({.name = "OPTION",
               .text = "goes to ctest: -L ch05 chooses the tests of one chapter, -R NAME those whose name "
                       "contains NAME, -N only lists them"},
              *options);
}

}  // namespace lab
