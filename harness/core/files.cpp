#include "core/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>

#include "core/error.h"
#include "core/terminal.h"
#include "core/text.h"

namespace lab {

namespace {

[[noreturn]] void fail(const char* what, const fs::path& path, int reason) {
    throw Error(fmt::format("{} {}: {}", what, path.string(), std::strerror(reason)),
                reason == ENOSPC || reason == EDQUOT || reason == EFBIG ? kFindingFailed : kBadInput);
}

void make_folders_above(const fs::path& path) {
    std::error_code problem;
    if (path.has_parent_path()) fs::create_directories(path.parent_path(), problem);
    if (problem) fail("cannot make the folder of", path, problem.value());
}

/// Where a name leads, over links whose end need not be there.
fs::path target_of(fs::path path) {
    std::error_code none;
    for (int links = 0; links < 40 && fs::is_symlink(path, none); ++links) {  // as many as the system follows
        const fs::path next = path.parent_path() / fs::read_symlink(path, none);
        if (fs::exists(path, none) && !fs::exists(next, none)) break;  // in /proc: an open file without name
        path = next;
    }
    return path;
}

}  // namespace

fs::path scratch_beside(const fs::path& path) {
    // In containers that share a folder, processes have the same ids.
    static const unsigned drawn = std::random_device{}() % 1'000'000;
    static std::atomic<unsigned> made{0};
    return path.string() + fmt::format(".{}{:06}.{}.part", ::getpid(), drawn, made++);
}

std::string read_start(const fs::path& path, std::size_t most) {
    // Not to block on a pipe, and not to read a device, which may have no end.
    const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) throw Error(fmt::format("there is no file {}", path.string()));
    if (fd < 0) fail("cannot read", path, errno);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(::fdopen(fd, "rb"), std::fclose);
    struct stat about {};
    if (::fstat(fd, &about) != 0 || S_ISDIR(about.st_mode)) fail("cannot read", path, EISDIR);
    if (!S_ISREG(about.st_mode))
        throw Error(fmt::format("cannot read {}: it is a device or a pipe. Give a file.", path.string()));
    std::string contents;
    char buffer[65536];
    while (const std::size_t got =
               std::fread(buffer, 1, std::min(sizeof buffer, most - contents.size()), file.get()))
        contents.append(buffer, got);
    if (std::ferror(file.get())) fail("cannot read", path, errno);
    return contents;
}

std::string read_file(const fs::path& path, std::size_t most) {
    std::string contents = read_start(path, most + 1);
    if (contents.size() <= most) return contents;
    throw Error(fmt::format("{} has more than {}, which is not read", path.string(),
                            format_bytes(static_cast<double>(most))));
}

bool is_same_file(const fs::path& a, const fs::path& b) {
    std::error_code none;
    return fs::equivalent(a, b, none) ||
           fs::weakly_canonical(target_of(a), none) == fs::weakly_canonical(target_of(b), none);
}

bool write_file(const fs::path& path, std::string_view contents) {
    std::error_code none;
    const fs::path target = target_of(path), part = scratch_beside(target);
    struct stat old = {}, out = {};
    const bool is_there = ::stat(target.c_str(), &old) == 0;
    const bool is_stdout =
        is_there && ::fstat(STDOUT_FILENO, &out) == 0 && old.st_dev == out.st_dev && old.st_ino == out.st_ino;
    const bool replaces = !is_stdout && !fs::is_other(target, none);
    if (replaces) make_folders_above(target);
    std::fflush(stdout);  // what is written there comes behind it
    const int fd = is_stdout  ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                   : replaces ? ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                              : ::open(target.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    std::FILE* const file = fd < 0 ? nullptr : ::fdopen(fd, "wb");
    if (!file) fail("cannot write", path, errno);
    if (replaces && is_there) {
        (void)!::fchown(fd, old.st_uid, old.st_gid);  // only root can
        (void)!::fchmod(fd, old.st_mode & 07777);
    }
    int reason = 0;  // of the first step that fails
    const auto step = [&](bool done) {
        if (!done && reason == 0) reason = errno != 0 ? errno : EIO;
    };
    step(std::fwrite(contents.data(), 1, contents.size(), file) == contents.size());
    step(std::fflush(file) == 0);
    step(!replaces || ::fsync(fd) == 0);
    step(std::fclose(file) == 0);
    if (reason == 0 && replaces) step(std::rename(part.c_str(), target.c_str()) == 0);
    if (reason == 0) return replaces;
    if (replaces) ::unlink(part.c_str());
    fail("cannot write", path, reason);
}

void replace_file(const fs::path& finished, const fs::path& path) {
    std::error_code none;
    const fs::path target = target_of(path);
    make_folders_above(target);
    if (!fs::is_other(target, none)) {
        if (std::rename(finished.c_str(), target.c_str()) == 0) return;
        if (errno != EXDEV) fail("cannot write", path, errno);
    }
    write_file(target, read_file(finished, SIZE_MAX - 1));
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
    say(fmt::format("another lab is making {}: waiting for it to finish", what.string()));
    while (::flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
}

Lock::~Lock() {
    ::close(fd_);
}

}  // namespace lab
