// Waits until a file is saved.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

namespace lab {

/// Watches the folder of a file with inotify, since editors often save by renaming a new file over the old
/// one. Where inotify does not fire (network file systems, a Windows drive under WSL), it looks at the file's
/// time and size instead.
class FileWatch {
  public:
    /// Watches from now on. The file need not be there.
    explicit FileWatch(std::filesystem::path file);
    FileWatch(const FileWatch&) = delete;
    FileWatch& operator=(const FileWatch&) = delete;
    ~FileWatch();

    /// "inotify" or "polling".
    [[nodiscard]] const char* method() const { return inotify_ >= 0 ? "inotify" : "polling"; }

    /// True once the file's contents have changed; false if `limit` passes first.
    [[nodiscard]] bool wait(std::chrono::milliseconds limit);

  private:
    struct Seen {
        std::filesystem::file_time_type time;
        std::uintmax_t bytes = 0;
        bool operator==(const Seen&) const = default;
    };
    [[nodiscard]] Seen look() const;

    std::filesystem::path file_;
    int inotify_ = -1;
    Seen seen_;
};

}  // namespace lab
