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
#include <random>

#include "core/error.h"
#include "core/terminal.h"
#include "core/text.h"

namespace lab {

namespace {

[[noreturn]] void fail(const char* what, const fs::path& path, int reason) {
    const bool is_full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
    throw Error(fmt::format("{} {}: {}", what, path.string(), std::strerror(reason)),
                is_full ? kFindingFailed : kBadInput);
}

void make_folders_above(const fs::path& path) {
    std::error_code problem;
    if (path.has_parent_path()) fs::create_directories(path.parent_path(), problem);
    if (problem) fail("cannot make the folder of", path, problem.value());
}

/// Closes itself.
struct Descriptor {
    int fd;
    ~Descriptor() { ::close(fd); }
};

/// Every reader's way to a file. A device or a pipe might block, or never end.
std::string read_up_to(const fs::path& path, std::size_t most) {
    const Descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
    if (file.fd < 0 && errno == ENOENT) throw Error(fmt::format("there is no file {}", path.string()));
    struct stat about {};
    if (file.fd < 0 || ::fstat(file.fd, &about) != 0) fail("cannot read", path, errno);
    if (S_ISDIR(about.st_mode)) fail("cannot read", path, EISDIR);
    if (!S_ISREG(about.st_mode))
        throw Error(fmt::format("cannot read {}: it is a device or a pipe. Give a file.", path.string()));
    std::string contents;
    char buffer[65536];
    while (contents.size() < most) {
        const ssize_t got = ::read(file.fd, buffer, std::min(sizeof buffer, most - contents.size()));
        if (got == 0) break;
        if (got > 0)
            contents.append(buffer, static_cast<std::size_t>(got));
        else if (errno != EINTR)
            fail("cannot read", path, errno);
    }
    return contents;
}

/// Links there lead to open files, which have no name.
bool is_in_proc(const fs::path& path) {
    std::error_code ignored;
    return fs::canonical(path.has_parent_path() ? path.parent_path() : ".", ignored)
        .string()
        .starts_with("/proc/");
}

/// Where a name leads, over links whose end need not be there.
fs::path target_of(fs::path path) {
    constexpr int kMostLinks = 40;  // as the system follows
    std::error_code none;
    for (int links = 0; links < kMostLinks && fs::is_symlink(path, none) && !is_in_proc(path); ++links)
        path = path.parent_path() / fs::read_symlink(path, none);
    return path;
}

/// Is it there, and nothing that can take the place of another file, or have its place taken?
bool is_special(const fs::path& target) {
    std::error_code none;
    const fs::file_status status = fs::status(target, none);
    return (fs::exists(status) && !fs::is_regular_file(status)) || (fs::exists(status) && is_in_proc(target));
}

/// Opens a device or a pipe. What goes to standard output goes behind what was printed.
int open_special(const fs::path& path) {
    struct stat out {
    }, there{};
    std::fflush(stdout);
    if (::fstat(STDOUT_FILENO, &out) == 0 && ::stat(path.c_str(), &there) == 0 &&
        out.st_dev == there.st_dev && out.st_ino == there.st_ino)
        return ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    return ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
}

/// 0, or why not all could be written. Closes the file.
int write_all(int fd, std::string_view contents, bool sync) {
    int reason = 0;
    while (!contents.empty() && reason == 0) {
        const ssize_t put = ::write(fd, contents.data(), contents.size());
        if (put > 0)
            contents.remove_prefix(static_cast<std::size_t>(put));
        else if (put == 0 || errno != EINTR)
            reason = put == 0 ? EIO : errno;
    }
    if (reason == 0 && sync && ::fsync(fd) != 0) reason = errno;
    if (::close(fd) != 0 && reason == 0) reason = errno;
    return reason;
}

}  // namespace

fs::path scratch_beside(const fs::path& path) {
    // In containers that share a folder, processes have the same ids.
    static const unsigned drawn = std::random_device{}() % 1'000'000;
    static std::atomic<unsigned> made{0};
    return path.string() + fmt::format(".{}{:06}.{}.part", ::getpid(), drawn, made++);
}

std::string read_file(const fs::path& path, std::size_t most) {
    std::string contents = read_up_to(path, most + 1);
    if (contents.size() <= most) return contents;
    throw Error(fmt::format("{} has more than {}, the most that is read of such a file", path.string(),
                            format_bytes(static_cast<double>(most))));
}

std::string read_start(const fs::path& path, std::size_t count) {
    return read_up_to(path, count);
}

bool is_same_file(const fs::path& a, const fs::path& b) {
    std::error_code none;
    return fs::equivalent(a, b, none) ||
           fs::weakly_canonical(target_of(a), none) == fs::weakly_canonical(target_of(b), none);
}

bool write_file(const fs::path& path, std::string_view contents) {
    const fs::path target = target_of(path);
    if (is_special(target)) {
        const int fd = open_special(target);
        const int reason = fd < 0 ? errno : write_all(fd, contents, false);
        if (reason != 0) fail("cannot write", path, reason);
        return false;
    }
    make_folders_above(target);
    const fs::path part = scratch_beside(target);
    const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) fail("cannot write", path, errno);
    struct stat old {};
    if (::stat(target.c_str(), &old) == 0) {
        (void)!::fchown(fd, old.st_uid, old.st_gid);  // only root can
        (void)!::fchmod(fd, old.st_mode & 07777);
    }
    int reason = write_all(fd, contents, true);
    if (reason == 0 && std::rename(part.c_str(), target.c_str()) != 0) reason = errno;
    if (reason == 0) return true;
    ::unlink(part.c_str());
    fail("cannot write", path, reason);
}

void replace_file(const fs::path& finished, const fs::path& path) {
    const fs::path target = target_of(path);
    make_folders_above(target);
    if (!is_special(target)) {
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
