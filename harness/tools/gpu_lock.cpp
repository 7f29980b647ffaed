#include "tools/gpu_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "core/terminal.h"
#include "core/text.h"
#include "tools/machine.h"

namespace lab {

namespace {

std::mutex taken_by_process;

/// In /tmp, Linux refuses O_CREAT for a file that another user made, even one that all may write.
int open_or_make(const char* path) {
    constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    for (;;) {
        int fd = ::open(path, O_RDWR | kFlags);
        if (fd < 0 && errno == EACCES) fd = ::open(path, O_RDONLY | kFlags);
        if (fd >= 0 || errno != ENOENT) return fd;
        fd = ::open(path, O_RDWR | O_CREAT | O_EXCL | kFlags, 0666);
        if (fd >= 0) (void)!::fchmod(fd, 0666);  // whatever the umask
        if (fd >= 0 || errno != EEXIST) return fd;
    }
}

/// Waits until the file is locked, and writes this process into it. False, and errno says why, if it can't.
bool lock(int fd) {
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) return false;
        char holder[12]{};
        const bool is_known = ::pread(fd, holder, sizeof holder - 1, 0) > 0;
        say(fmt::format("another lab{} has the GPU: waiting for it to finish",
                        is_known ? ", process " + trim(holder) + "," : ""));
        while (::flock(fd, LOCK_EX) != 0)
            if (errno != EINTR) return false;
    }
    const std::string holder = fmt::format("{}\n", ::getpid());
    if (::ftruncate(fd, 0) == 0) (void)!::pwrite(fd, holder.data(), holder.size(), 0);
    return true;
}

}  // namespace

std::vector<std::string> gpus_in_use(const std::vector<std::string>& uuids, const char* visible) {
    std::set<std::string> gpus;
    if (!visible) gpus.insert(uuids.begin(), uuids.end());
    for (const std::string& word : split(visible ? visible : "", ',')) {
        const std::string entry = trim(word);
        if (entry.empty()) continue;
        const auto is_meant = [&](std::size_t i) {
            return entry == std::to_string(i) || uuids[i].starts_with(entry);
        };
        std::size_t i = 0;
        while (i < uuids.size() && !is_meant(i)) ++i;
        gpus.insert(i < uuids.size() ? uuids[i] : entry);
    }
    return {gpus.begin(), gpus.end()};
}

GpuLock::GpuLock() : GpuLock(gpus_in_use(gpu_uuids(), std::getenv("CUDA_VISIBLE_DEVICES"))) {}

GpuLock::GpuLock(const std::vector<std::string>& gpus) : of_process_(taken_by_process) {
    // /dev/shm would not do: systemd deletes what belongs to a user who logs out. TMPDIR is a user's own.
    const char* chosen = std::getenv("LAB_LOCKS");
    static bool told = false;
    for (std::string gpu : gpus) {
        std::erase(gpu, '/');
        const std::string path = fmt::format("{}/cuda-tools-course-{}.lock", chosen ? chosen : "/tmp", gpu);
        files_.push_back(open_or_make(path.c_str()));
        if ((files_.back() >= 0 && lock(files_.back())) || std::exchange(told, true)) continue;
        say(fmt::format(
            "cannot lock the GPU by {}: {}. Others may disturb the times here: set LAB_LOCKS to a "
            "folder that all users may write to.",
            path, std::strerror(errno)));
    }
}

GpuLock::~GpuLock() {
    for (const int fd : files_)
        if (fd >= 0) ::close(fd);
}

}  // namespace lab
