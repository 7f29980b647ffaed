#include "core/files.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/error.h"

using namespace lab;

namespace {

int entries_in(const fs::path& folder) {
    return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

/// Runs `work` in a process of its own and returns its exit code.
template <class Work>
int exit_code_of_child(const Work& work) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) ::_exit(work());
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// As if the disk were full: a file may not grow beyond `bytes`.
void limit_file_size(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
}

}  // namespace

TEST_CASE("a file reads back as it was written, in folders made on the way") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "a/b/file";
    const std::string contents("zero \0 and \xff\n", 13);
    write_file(path, contents);
    CHECK(read_file(path) == contents);
    write_file(path, "");
    CHECK(read_file(path).empty());
    write_file(path, std::string(300'000, 'x'));
    CHECK(read_file(path).size() == 300'000);
    CHECK(entries_in(path.parent_path()) == 1);
}

TEST_CASE("reading what is no file names the path and the reason") {
    const TemporaryFolder folder;
    CHECK_THROWS_WITH_AS((void)read_file(folder.path() / "none"), doctest::Contains("none: No such file"),
                         Error);
    CHECK_THROWS_WITH_AS((void)read_file(folder.path()), doctest::Contains("Is a directory"), Error);
    CHECK_THROWS_AS((void)read_file(folder.path() / std::string(300, 'x')), Error);
    fs::create_symlink("circle", folder.path() / "circle");
    CHECK_THROWS_AS((void)read_file(folder.path() / "circle"), Error);
}

TEST_CASE("a file that cannot be written is an error, and nothing is left beside it") {
    const TemporaryFolder folder;
    write_file(folder.path() / "file", "old");
    CHECK_THROWS_WITH_AS(write_file(folder.path() / "file/below", "new"), doctest::Contains("file/below"),
                         Error);
    CHECK(read_file(folder.path() / "file") == "old");

    write_file(folder.path() / "full/file", "");
    CHECK_THROWS_AS(write_file(folder.path() / "full", "a folder is in the way"), Error);
    CHECK(entries_in(folder.path()) == 2);
}

TEST_CASE("a disk that fills up leaves the old file whole, and no part of the new one") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "file";
    write_file(path, "old");
    const int code = exit_code_of_child([&] {
        limit_file_size(100'000);
        try {
            write_file(path, std::string(1'000'000, 'x'));
        } catch (const Error&) {
            return 7;
        }
        return 0;
    });
    CHECK(code == 7);
    CHECK(read_file(path) == "old");
    CHECK(entries_in(folder.path()) == 1);
}

TEST_CASE("a finished file takes the place of another") {
    const TemporaryFolder folder;
    write_file(folder.path() / "finished", "new");
    write_file(folder.path() / "file", "old");
    replace_file(folder.path() / "finished", folder.path() / "file");
    CHECK(read_file(folder.path() / "file") == "new");
    CHECK_FALSE(fs::exists(folder.path() / "finished"));
    CHECK_THROWS_AS(replace_file(folder.path() / "none", folder.path() / "file"), Error);
    CHECK(read_file(folder.path() / "file") == "new");
}

TEST_CASE("a finished file moves to another file system") {
    const fs::path elsewhere = "/dev/shm";
    const TemporaryFolder folder;
    if (!fs::is_directory(elsewhere) || ::access(elsewhere.c_str(), W_OK) != 0) return;
    const fs::path path = elsewhere / folder.path().filename() / "file";
    write_file(path, "old");
    write_file(folder.path() / "finished", "new");
    replace_file(folder.path() / "finished", path);
    CHECK(read_file(path) == "new");
    CHECK_FALSE(fs::exists(folder.path() / "finished"));
    fs::remove_all(path.parent_path());
}

TEST_CASE("a temporary folder goes away with all it holds") {
    fs::path first;
    {
        const TemporaryFolder folder, other;
        first = folder.path();
        CHECK(first != other.path());
        write_file(first / "a/b/c", "");
        CHECK(fs::is_directory(first));
    }
    CHECK_FALSE(fs::exists(first));
}

TEST_CASE("what a killed process has left is removed by a later one, and nothing else is") {
    const TemporaryFolder folder;
    const auto make_old = [](const fs::path& path) {
        fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(30));
    };
    const fs::path file = folder.path() / "file";
    for (const char* name :
         {"file.12.part", "file.345.part", "file.x.part", "file.part", "other.12.part", "file.12"}) {
        write_file(folder.path() / name, "half");
        if (std::string(name) != "file.345.part") make_old(folder.path() / name);
    }
    write_file(file, "new");
    CHECK_FALSE(fs::exists(folder.path() / "file.12.part"));
    CHECK(fs::exists(folder.path() / "file.345.part"));  // another lab may be writing it
    CHECK(entries_in(folder.path()) == 6);

    const char* const before = std::getenv("TMPDIR");
    const std::string old = before ? before : "";
    ::setenv("TMPDIR", folder.path().c_str(), 1);
    fs::path kept;
    {
        const TemporaryFolder scratch;
        kept = scratch.path().string().substr(0, scratch.path().string().size() - 6);
    }
    for (const char* end : {"aaaaaa", "bbbbbb", "no-one"})
        fs::create_directories(kept.string() + end + "/in");
    make_old(kept.string() + "aaaaaa"), make_old(kept.string() + "no-one");
    {
        const TemporaryFolder scratch;
        CHECK_FALSE(fs::exists(kept.string() + "aaaaaa"));
        CHECK(fs::exists(kept.string() + "bbbbbb/in"));
        CHECK(fs::exists(kept.string() + "no-one/in"));
    }
    old.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", old.c_str(), 1);
}

TEST_CASE("no place for temporary folders is an error like any other") {
    const char* const before = std::getenv("TMPDIR");
    const std::string old = before ? before : "";
    ::setenv("TMPDIR", "/no/such/folder", 1);
    CHECK_THROWS_AS((void)TemporaryFolder(), Error);
    old.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", old.c_str(), 1);
}

TEST_CASE("a second process waits for the lock until the first lets go") {
    using namespace std::chrono_literals;
    const TemporaryFolder folder;
    const fs::path ready = folder.path() / "ready", done = folder.path() / "done";
    const pid_t child = ::fork();
    if (child == 0) {
        while (!fs::exists(ready)) std::this_thread::sleep_for(2ms);
        if (!std::freopen("/dev/null", "w", stderr)) ::_exit(1);  // it says that it waits
        const Lock lock(folder.path() / "work");
        write_file(done, "");
        ::_exit(0);
    }
    {
        const Lock lock(folder.path() / "work");
        write_file(ready, "");
        std::this_thread::sleep_for(200ms);
        CHECK_FALSE(fs::exists(done));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(fs::exists(done));
    const Lock again(folder.path() / "work");
}

TEST_CASE("a lock ends with the process that holds it") {
    const TemporaryFolder folder;
    CHECK(exit_code_of_child([&] {
              const Lock held(folder.path());
              ::_exit(9);
              return 0;
          }) == 9);
    const Lock lock(folder.path());
}
