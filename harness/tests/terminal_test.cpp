#include "core/terminal.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

using namespace lab;

namespace {

/// Does `question` hold in a process whose standard output is a file?
template <class Question>
bool holds_without_terminal(const Question& question) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
        ::setenv("TERM", "xterm", 1);
        ::_exit(question() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status == 0;
}

}  // namespace

TEST_CASE("no terminal, no colour") {
    CHECK(holds_without_terminal([] { return !terminal_has_colour() && !is_interactive(); }));
    CHECK(holds_without_terminal([] { return terminal_columns() == 100; }));
    CHECK(holds_without_terminal([] {
        return bold("a") == "a" && green("b") == "b" && red("c") == "c" && yellow("d") == "d" &&
               dim("e") == "e";
    }));
}
