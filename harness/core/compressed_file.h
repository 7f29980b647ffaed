// A file that may be compressed by gzip, read as a stream: neither form is ever held in memory whole.
#pragma once

#include <zlib.h>

#include <filesystem>
#include <memory>
#include <streambuf>
#include <string>
#include <vector>

namespace lab {

/// The text of a file, unpacked if it begins like gzip's. Reading throws an Error where gzip's data are
/// damaged or cut short, where they unpack to far more than a trace does, or where one value has no end in
/// sight.
class CompressedFile : public std::streambuf {
  public:
    /// An Error names a file that cannot be opened, or is no regular one.
    explicit CompressedFile(const std::filesystem::path& path);

    [[nodiscard]] bool is_compressed() const { return is_compressed_; }

    /// Has all of it been read?
    [[nodiscard]] bool is_at_end() const { return is_at_end_; }

  private:
    int_type underflow() override;
    void check_size(std::size_t more);

    std::filesystem::path path_;
    std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
    std::vector<char> chunk_;
    int64_t bytes_ = 0;           ///< unpacked so far
    int64_t without_quotes_ = 0;  ///< bytes since the last chunk with a quotation mark in it
    bool is_compressed_ = false, is_at_end_ = false;
};

}  // namespace lab
