#include "core/files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "core/error.h"

namespace lab::files_test {

namespace {

int entries_in(const fs::path& folder) {
    return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("a file reads back as it was written, in folders made on the way") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "a/b/file";
    const std::string contents("zero \0 and \xff\n", 13);
    write_file(path, contents);
    CHECK(read_file(path) == contents);
    write_file(path, std::string(300'000, 'x'));
    CHECK(read_file(path).size() == 300'000);
    CHECK(entries_in(path.parent_path()) == 1);
}

TEST_CASE("reading what is no file names the path and the reason") {
    const TemporaryFolder folder;
    const auto refused = [&](const fs::path& path, const char* why) {
        CHECK_THROWS_WITH_AS((void)read_file(path, 9), doctest::Contains(why), Error);
    };
    refused(folder.path() / "none", "there is no file");
    refused(folder.path(), "Is a directory");
    refused("/dev/zero", "a device or a pipe");
    const fs::path pipe = folder.path() / "pipe", loop = folder.path() / "loop";
    ::mkfifo(pipe.c_str(), 0600);
    refused(pipe, "a device or a pipe");
    fs::create_symlink(loop, loop);
    refused(loop, "Too many levels of symbolic links");
    write_file(folder.path() / "large", "ten bytes.");
    refused(folder.path() / "large", "has more than 9 B");
    CHECK(read_start(folder.path() / "large", 3) == "ten");
}

TEST_CASE("what is written to stays what it is: a link, a mode, a device, a pipe") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "a/file", link = folder.path() / "link",
                   pipe = folder.path() / "pipe";
    write_file(file, "old");
    fs::permissions(file, fs::perms(0640));
    fs::create_symlink("a/file", link);
    CHECK(write_file(link, "new"));
    CHECK(fs::is_symlink(link));
    CHECK(read_file(file) == "new");
    CHECK(fs::status(file).permissions() == fs::perms(0640));
    fs::create_symlink("to/nothing", folder.path() / "dangling");
    CHECK(write_file(folder.path() / "dangling", "x"));
    CHECK(read_file(folder.path() / "to/nothing") == "x");

    ::mkfifo(pipe.c_str(), 0600);
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    CHECK_FALSE(write_file(pipe, "through"));
    char got[8] = {};
    CHECK(::read(reader, got, sizeof got) == 7);
    CHECK(fs::is_fifo(pipe));
    ::close(reader);
    if (::access("/dev/full", W_OK) == 0)
        CHECK_THROWS_WITH_AS(write_file("/dev/full", "x"), doctest::Contains("No space left"), Error);
    CHECK(entries_in(folder.path()) == 5);
}

TEST_CASE("two names are known to be of one file, whether it is there or not") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "file";
    fs::create_symlink("file", folder.path() / "link");
    for (int times = 0; times < 2; ++times) {
        CHECK(is_same_file(file, folder.path() / "link"));
        CHECK(is_same_file(file, folder.path() / "." / "file"));
        CHECK_FALSE(is_same_file(file, folder.path() / "other"));
        write_file(file, "");
    }
    fs::create_hard_link(file, folder.path() / "hard");
    CHECK(is_same_file(file, folder.path() / "hard"));
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
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{100'000, 100'000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        try {
            write_file(path, std::string(1'000'000, 'x'));
        } catch (const Error&) {
            ::_exit(7);
        }
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == 7);
    CHECK(read_file(path) == "old");
    CHECK(entries_in(folder.path()) == 1);
}

TEST_CASE("a finished file takes the place of another, on another file system too") {
    const TemporaryFolder folder;
    const fs::path elsewhere = fs::path("/dev/shm") / folder.path().filename(),
                   finished = folder.path() / "finished";
    std::vector<fs::path> places{folder.path() / "file"};
    if (::access("/dev/shm", W_OK) == 0) places.push_back(elsewhere / "file");
    for (const fs::path& path : places) {
        write_file(path, "old");
        CHECK_THROWS_AS(replace_file(finished, path), Error);
        CHECK(read_file(path) == "old");
        write_file(finished, "new");
        replace_file(finished, path);
        CHECK(read_file(path) == "new");
        CHECK_FALSE(fs::exists(finished));
    }
    fs::remove_all(elsewhere);
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

TEST_CASE("a second process waits for the lock until the first lets go or ends") {
    const TemporaryFolder folder;
    const fs::path ready = folder.path() / "ready", done = folder.path() / "done",
                   work = folder.path() / "work";
    const pid_t child = ::fork();
    if (child == 0) {
        while (!fs::exists(ready)) ::usleep(2000);
        if (!std::freopen("/dev/null", "w", stderr)) ::_exit(1);  // it says that it waits
        const Lock lock(work);
        write_file(done, "");
        ::_exit(0);  // without letting go
    }
    {
        const Lock lock(work);
        write_file(ready, "");
        ::usleep(100'000);
        CHECK_FALSE(fs::exists(done));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(fs::exists(done));
    const Lock again(work);
}

}  // namespace lab::files_test
