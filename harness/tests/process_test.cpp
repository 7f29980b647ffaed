#include "core/process.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "core/parallel.h"
#include "core/text.h"

namespace lab::process_test {

using namespace std::chrono_literals;

namespace {

Outcome shell(const std::string& script, std::chrono::seconds limit = 20s) {
    return run({.words = {"sh", "-c", script}, .limit = limit});
}

/// Is the process gone within a second? A killed one may wait a moment for its new parent to bury it.
bool is_gone(pid_t pid) {
    for (int i = 0; i < 100; ++i) {
        const std::string stat = "/proc/" + std::to_string(pid) + "/stat";
        if (::kill(pid, 0) != 0 || !fs::exists(stat) || read_file(stat).find(") Z ") != std::string::npos)
            return true;
        std::this_thread::sleep_for(10ms);
    }
    return false;
}

}  // namespace

TEST_CASE("both outputs and the exit code come back") {
    const Outcome outcome = shell("echo to out; echo to err >&2; exit 3");
    CHECK(outcome.out == "to out\n");
    CHECK(outcome.err == "to err\n");
    CHECK(outcome.exit_code == 3);
    CHECK(outcome.signal == 0);
    CHECK_FALSE(outcome.timed_out);
    CHECK(describe(outcome, {}) == "exit code 3");
}

TEST_CASE("words reach the program as they are, its zero bytes come back, and it has no input to wait for") {
    CHECK(shell("printf 'a\\000b'").out == std::string("a\0b", 3));
    CHECK(run({.words = {"cat"}, .limit = 5s}).exit_code == 0);
    const Outcome outcome = run({.words = {"printf", "<%s>", "a b", "", "$HOME", "*", "'\"\n"}});
    CHECK(outcome.out == "<a b><><$HOME><*><'\"\n>");
}

TEST_CASE("a signal reads as a shell says it") {
    const Outcome outcome = shell("kill -SEGV $$");
    CHECK(outcome.signal == SIGSEGV);
    CHECK(outcome.exit_code == 128 + SIGSEGV);
    CHECK(describe(outcome, {}) == "killed by signal 11");
}

TEST_CASE("megabytes on both outputs at once do not jam") {
    const Outcome outcome = shell(
        "head -c 3000000 /dev/zero & head -c 3000000 /dev/zero >&2; wait; head -c 500000 /dev/zero >&2");
    CHECK_FALSE(outcome.timed_out);
    CHECK(outcome.out.size() == 3'000'000);
    CHECK(outcome.err.size() == 3'500'000);
}

TEST_CASE("the time limit ends a program and all it started, and keeps what they said before") {
    const TemporaryFolder folder;
    const Command command{.words = {"sh", "-c",
                                    "sh -c 'sleep 60; true' & echo $!; sleep 60 & echo $!; "
                                    "setsid sh -c 'echo $$ > pid; exec sleep 60' & wait; echo after"},
                          .limit = 1s,
                          .folder = folder.path()};
    const Outcome outcome = run(command);
    CHECK(outcome.timed_out);
    CHECK(outcome.signal == SIGKILL);
    CHECK(describe(outcome, command) == "stopped after 1 s");
    const std::vector<std::string> children = split(trim(outcome.out), '\n');
    REQUIRE(children.size() == 2);
    for (const std::string& child : children) CHECK(is_gone(std::stoi(child)));
    CHECK(is_gone(std::stoi(read_file(folder.path() / "pid"))));  // in a session of its own, as nsys does it
}

TEST_CASE("what has left its parents is also killed at the time limit") {
    const TemporaryFolder folder;
    const Outcome outcome =
        run({.words = {"sh", "-c", "(setsid sh -c 'echo $$ > pid; exec sleep 60' &); sleep 60"},
             .limit = 1s,
             .folder = folder.path()});
    CHECK(outcome.timed_out);
    CHECK(is_gone(std::stoi(read_file(folder.path() / "pid"))));
}

TEST_CASE("a program has ended when it ends, not when the last that holds its outputs does") {
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = shell("echo before; (sleep 20; echo late) & exit 4", 15s);
    CHECK(outcome.exit_code == 4);
    CHECK_FALSE(outcome.timed_out);
    CHECK(outcome.out == "before\n");
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
    CHECK_FALSE(shell("yes & exit 0", 15s).timed_out);
}

TEST_CASE("a program that closes its outputs is waited for, up to its time limit") {
    CHECK(shell("exec >&- 2>&-; sleep 8", 1s).timed_out);
    CHECK(shell("exec >&- 2>&-; exit 5").exit_code == 5);
}

TEST_CASE("a program that is not there is an error that names it") {
    CHECK_THROWS_WITH_AS((void)run({.words = {"no-such-program"}}),
                         doctest::Contains("no-such-program could not be started"), Error);
    try {
        (void)run({.words = {"/no/such/program"}});
    } catch (const Error& error) {
        CHECK(error.exit_code == kNothingCouldRun);
    }
    CHECK_THROWS_WITH_AS((void)run({.words = {"true"}, .folder = "/no/such/folder"}),
                         doctest::Contains("there is no such folder"), Error);
}

TEST_CASE("the environment is ours, or replaced as a whole") {
    ::setenv("LAB_TEST_VARIABLE", "ours", 1);
    CHECK(shell("echo $LAB_TEST_VARIABLE").out == "ours\n");
    const Outcome replaced = run({.words = {"env"}, .environment = std::vector<std::string>{"A=1", "B=x y"}});
    CHECK(replaced.out == "A=1\nB=x y\n");
    CHECK(run({.words = {"env"}, .environment = std::vector<std::string>{}}).out.empty());
}

TEST_CASE("a command runs in its folder, and finds programs there") {
    const TemporaryFolder folder;
    write_file(folder.path() / "say.sh", "#!/bin/sh\npwd\n");
    fs::permissions(folder.path() / "say.sh", fs::perms::owner_all);
    const Outcome outcome = run({.words = {"./say.sh"}, .folder = folder.path()});
    CHECK(fs::equivalent(trim(outcome.out), folder.path()));
}

TEST_CASE("many runs leave no file open and no process behind") {
    const auto open_files = [] {
        const fs::directory_iterator entries("/proc/self/fd");
        return std::distance(fs::begin(entries), fs::end(entries));
    };
    const auto before = open_files();
    for (int i = 0; i < 20; ++i) (void)run({.words = {"true"}});
    try {
        (void)run({.words = {"no-such-program"}});
    } catch (const Error&) {
    }
    CHECK(open_files() == before);
}

TEST_CASE("a program is found in PATH, a folder or a text is not") {
    const std::string before = std::getenv("PATH");
    const TemporaryFolder folder;
    fs::create_directory(folder.path() / "a-folder");
    write_file(folder.path() / "a-text", "");
    write_file(folder.path() / "a-program", "#!/bin/sh\n");
    fs::permissions(folder.path() / "a-program", fs::perms::owner_all);
    ::setenv("PATH", ("::/no/such/folder:" + folder.path().string()).c_str(), 1);
    CHECK(find_program("a-program") == folder.path() / "a-program");
    CHECK_FALSE(find_program("a-folder"));
    CHECK_FALSE(find_program("a-text"));
    CHECK_FALSE(find_program("no-such-program"));
    // Relative to where we are, and found from where it runs all the same.
    const std::string relative = folder.path().lexically_relative(fs::current_path()).string();
    ::setenv("PATH", relative.c_str(), 1);
    REQUIRE(find_program("a-program"));
    CHECK(find_program("a-program")->is_absolute());
    CHECK(fs::equivalent(*find_program("a-program"), folder.path() / "a-program"));
    ::setenv("PATH", before.c_str(), 1);
    CHECK(find_program("sh"));
}

TEST_CASE("parallel: each part is done once, whatever the number of workers") {
    for_each_in_parallel(0, 4, [](std::size_t) { FAIL("called"); });
    for (const unsigned workers : {0u, 1u, 3u, 64u}) {
        CAPTURE(workers);
        std::vector<int> done(50, 0);  // a part writes only its own place
        for_each_in_parallel(done.size(), workers, [&](std::size_t i) { ++done[i]; });
        CHECK(done == std::vector<int>(50, 1));
    }
}

TEST_CASE("parallel: an exception waits until all parts are done, and the first by number is thrown") {
    std::atomic<int> done = 0;
    std::string said;
    try {
        for_each_in_parallel(9, 3, [&](std::size_t i) {
            ++done;
            if (i == 7 || i == 2) throw std::runtime_error(std::to_string(i));
        });
    } catch (const std::runtime_error& problem) {
        said = problem.what();
    }
    CHECK(done == 9);
    CHECK(said == "2");
}

}  // namespace lab::process_test
