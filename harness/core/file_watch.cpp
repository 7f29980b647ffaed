#include "core/file_watch.h"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace lab {

namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kPollEvery{300}, kSettle{60};

/// File systems whose other side may change a file without this kernel's knowledge.
bool inotify_fires_on(const fs::path& folder) {
    constexpr std::array<unsigned long, 6> kRemote{0x6969UL,      /* NFS */
                                                   0xFF534D42UL,  /* CIFS */
                                                   0xFE534D42UL,  /* SMB2 */
                                                   0x01021997UL,  /* 9p, as WSL mounts Windows drives */
                                                   0x65735546UL,  /* FUSE */
                                                   0x786F4256UL}; /* VirtualBox shared folders */
    struct statfs info {};
    if (::statfs(folder.c_str(), &info) != 0) return false;
    const auto type = static_cast<unsigned long>(info.f_type) & 0xFFFFFFFFUL;
    return std::find(kRemote.begin(), kRemote.end(), type) == kRemote.end();
}

}  // namespace

FileWatch::FileWatch(fs::path file) : file_(std::move(file)), seen_(look()) {
    const fs::path folder = file_.parent_path();
    const char* forced = std::getenv("LAB_WATCH");
    if ((forced && std::strcmp(forced, "polling") == 0) || !inotify_fires_on(folder)) return;
    inotify_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (inotify_ >= 0 && ::inotify_add_watch(inotify_, folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
        ::close(inotify_);
        inotify_ = -1;
    }
}

FileWatch::~FileWatch() {
    if (inotify_ >= 0) ::close(inotify_);
}

FileWatch::Seen FileWatch::look() const {
    std::error_code problem;
    Seen seen{fs::last_write_time(file_, problem), 0};
    seen.bytes = fs::file_size(file_, problem);
    return problem ? Seen{} : seen;
}

bool FileWatch::wait(std::chrono::milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0) return false;
        const auto pause = static_cast<int>(std::min(left, inotify_ >= 0 ? left : kPollEvery).count());
        pollfd ready{inotify_, POLLIN, 0};
        ::poll(&ready, inotify_ >= 0 ? 1 : 0, pause);
        if (inotify_ >= 0) {
            std::this_thread::sleep_for(kSettle);  // editors write in bursts
            std::array<char, 4096> events;
            while (::read(inotify_, events.data(), events.size()) > 0) {
            }
        }
        const Seen now = look();
        if (now == seen_ || now == Seen{}) continue;
        seen_ = now;
        return true;
    }
}

}  // namespace lab
