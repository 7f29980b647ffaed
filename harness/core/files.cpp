#include "core/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "core/error.h"

namespace lab {

namespace {

[[noreturn]] void fail(const char* what, const fs::path& path, int reason) {
    throw Error(fmt::format("{} {}: {}", what, path.string(), std::strerror(reason)),
                reason == ENOSPC ? kFindingFailed : kBadInput);
}

void make_folders_above(const fs::path& path) {
    std::error_code problem;
    if (path.has_parent_path()) fs::create_directories(path.parent_path(), problem);
    if (problem) fail("cannot make the folder of", path, problem.value());
}

}  // namespace

fs::path scratch_beside(const fs::path& path) {
    // In containers that share a folder, processes have the same ids.
    static const unsigned drawn = std::random_device{}() % 1'000'000;
    static std::atomic<unsigned> made{0};
    return path.string() + fmt::format(".{}{:06}.{}.part", ::getpid(), drawn, made++);
}

std::string read_file(const fs::path& path) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) fail("cannot read", path, EISDIR);
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (!file) fail("cannot read", path, errno);
    std::string contents;
    char buffer[65536];
    for (std::size_t got; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
        contents.append(buffer, got);
    const bool broken = std::ferror(file);
    std::fclose(file);
    if (broken) fail("cannot read", path, EIO);
    return contents;
}

void write_file(const fs::path& path, std::string_view contents) {
    make_folders_above(path);
    const fs::path part = scratch_beside(path);
    std::FILE* file = std::fopen(part.c_str(), "wb");
    if (!file) fail("cannot write", part, errno);
    int reason = 0;  // of the first step that fails
    const auto step = [&](bool done) {
        if (!done && reason == 0) reason = errno != 0 ? errno : EIO;
    };
    step(std::fwrite(contents.data(), 1, contents.size(), file) == contents.size());
    step(std::fflush(file) == 0);
    step(::fsync(::fileno(file)) == 0);
    step(std::fclose(file) == 0);
    if (reason == 0) step(std::rename(part.c_str(), path.c_str()) == 0);
    if (reason == 0) return;
    ::unlink(part.c_str());
    fail("cannot write", path, reason);
}

void replace_file(const fs::path& finished, const fs::path& path) {
    make_folders_above(path);
    if (std::rename(finished.c_str(), path.c_str()) == 0) return;
    if (errno != EXDEV) fail("cannot write", path, errno);
    write_file(path, read_file(finished));
    ::unlink(finished.c_str());
}

TemporaryFolder::TemporaryFolder() {
    std::error_code problem;
    const fs::path all = fs::temp_directory_path(problem);
    std::string name = (all / "cuda-tools-course-lab.XXXXXX").string();
    if (problem) fail("there is no folder for temporary files; set TMPDIR to one", name, problem.value());
    if (!::mkdtemp(name.data())) fail("cannot make a temporary folder", name, errno);
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

Lock::Lock(const fs::path& what) {
    const fs::path path = what.string() + ".lock";
    make_folders_above(path);
    fd_ = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (fd_ < 0) fail("cannot open the lock", path, errno);
    if (::flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;  // else one without locks
    std::fprintf(stderr, "another lab is making %s: waiting for it to finish\n", what.c_str());
    while (::flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
}

Lock::~Lock() {
    ::close(fd_);
}

}  // namespace lab
