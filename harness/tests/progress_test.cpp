#include "course/progress.h"

#include "made_course.h"

namespace lab::progress_test {

TEST_CASE("progress: what has been done is read off the lines, and others are passed over") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "work/progress.txt";
    const Progress progress(file);
    CHECK(std::string(state_of(progress.exercise({"ch05/x"}))) == "not started");
    CHECK(progress.last_activity().empty());
    progress.add(Step::started, "ch05/x");
    progress.add(Step::failed, "ch05/x", {"streams_used", "answer"});
    progress.add(Step::hint, "ch05/x");
    write_file(file, read_file(file) + "no line of ours\n2026-01-01T00:00:00Z passed ch05/x and more");
    const Done done = progress.exercise({"ch05/x"});
    CHECK(std::string(state_of(done)) == "tried");
    CHECK(done.failed == std::vector<std::string>{"streams_used", "answer"});
    CHECK(done.hints == 1);
    progress.add(Step::passed, "ch05/x");  // behind a line without its end
    CHECK(std::string(state_of(progress.exercise({"ch05/x"}))) == "passed");
    CHECK(progress.exercise({"ch05/x"}).checks == 2);
    CHECK(progress.exercise({"ch05/x"}).failed.empty());
    CHECK(progress.exercise({"ch05/y"}).checks == 0);
}

TEST_CASE("progress: what compiles again, and nothing can grade, has failed by nothing") {
    const TemporaryFolder folder;
    const Progress progress(folder.path() / "progress.txt");
    progress.add(Step::failed, "ch05/x", {kDoesNotCompile});
    progress.add(Step::ungraded, "ch05/x");
    CHECK(std::string(state_of(progress.exercise({"ch05/x"}))) == "ungraded");
    CHECK(progress.exercise({"ch05/x"}).failed.empty());
    CHECK(progress.exercise({"ch05/x"}).checks == 2);
    progress.add(Step::passed, "ch05/x");
    progress.add(Step::ungraded, "ch05/x");
    CHECK(std::string(state_of(progress.exercise({"ch05/x"}))) == "passed");
}

TEST_CASE("progress: a repair without its diagnosis has not passed, until it has") {
    const TemporaryFolder folder;
    const Progress progress(folder.path() / "progress.txt");
    progress.add(Step::failed, "ch05/x", {"answer"});
    progress.add(Step::repaired, "ch05/x");
    CHECK(std::string(state_of(progress.exercise({"ch05/x"}))) == "repaired");
    CHECK_FALSE(progress.exercise({"ch05/x"}).passed);
    CHECK(progress.exercise({"ch05/x"}).checks == 2);
    progress.add(Step::failed, "ch05/x", {"answer"});
    CHECK(std::string(state_of(progress.exercise({"ch05/x"}))) == "tried");
    progress.add(Step::passed, "ch05/x");
    CHECK(std::string(state_of(progress.exercise({"ch05/x"}))) == "passed");
}

TEST_CASE("progress: of several answers to a question the last counts") {
    const TemporaryFolder folder;
    const Progress progress(folder.path() / "progress.txt");
    CHECK_FALSE(progress.last_answer("ch05:x").has_value());
    progress.add(Step::right, "ch05:x");
    CHECK(progress.last_answer("ch05:x") == Step::right);
    CHECK_FALSE(progress.last_answer("ch05:y").has_value());
    progress.add(Step::wrong, "ch05:x");
    CHECK(progress.last_answer("ch05:x") == Step::wrong);
    CHECK(progress.wrong_answers("ch05:x") == 1);
    CHECK(progress.wrong_answers("ch05:y") == 0);
}

TEST_CASE("progress: the order is that of the file, whatever the clock said, and a line needs a time") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "progress.txt";
    const Progress progress(file);
    write_file(file, "2099-01-01T00:00:00Z wrong ch05:x\n2026-01-01 passed ch05/x\n");
    progress.add(Step::right, "ch05:x");
    CHECK(progress.last_answer("ch05:x") == Step::right);
    CHECK(progress.last_activity() < "2099");
    CHECK_FALSE(progress.exercise({"ch05/x"}).passed);
    progress.add(Step::started, "ch05/y");
    CHECK(progress.exercise({"ch05/y"}).line == 3);
}

TEST_CASE("progress: a file that cannot be written is named, with the reason") {
    const TemporaryFolder folder;
    fs::create_directories(folder.path() / "progress.txt");
    CHECK(fault_of([&] { Progress(folder.path() / "progress.txt").add(Step::started, "ch05/x"); }) ==
          "cannot write " + (folder.path() / "progress.txt").string() + ": Is a directory");
}

}  // namespace lab::progress_test
