// Files that are written whole or not at all, temporary folders, and a lock between two runs of `lab`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lab {

namespace fs = std::filesystem;

/// The whole file. An Error names the path and the reason: what is no regular file is never read, nor what
/// has more bytes than `most`.
[[nodiscard]] std::string read_file(const fs::path& path, std::size_t most = std::size_t{64} << 20);

/// The first bytes of a file, `most` of them if it has more; else as read_file().
[[nodiscard]] std::string read_start(const fs::path& path, std::size_t most);

/// Do both names lead to one file, or would they if it were there?
[[nodiscard]] bool is_same_file(const fs::path& a, const fs::path& b);

/// A name beside `path` that no other process uses, to write what is to replace it.
[[nodiscard]] fs::path scratch_beside(const fs::path& path);

/// Writes beside `path` and renames, so that a reader sees the old file or the new one, never a part, and a
/// full disk leaves the old one as it was. Makes the folders above it. The file keeps its mode, and a link
/// stays one. A device or a pipe, such as /dev/stdout, is written to as it is; false then.
bool write_file(const fs::path& path, std::string_view contents);

/// Moves a finished file over `path`, across file systems if need be, with the same promise as write_file().
void replace_file(const fs::path& finished, const fs::path& path);

/// A new folder. The destructor removes it with all it holds.
class TemporaryFolder {
  public:
    TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder();
    [[nodiscard]] const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

/// Held while `what`, a file or folder, is made: a second `lab` waits for the first, and says so on stderr.
/// The lock is the file `what`.lock beside it; on a file system that has no locks, nobody waits.
class Lock {
  public:
    explicit Lock(const fs::path& what);
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock();

  private:
    int fd_ = -1;
};

}  // namespace lab
