#include "core/compressed_file.h"

#include <fmt/format.h>

#include <cstring>

#include "core/error.h"

namespace lab {

namespace {

constexpr std::size_t kChunk = 256 << 10;
constexpr int64_t kMiB = int64_t{1} << 20;
/// A trace in JSON takes 10 to 40 times the room when it is unpacked; gzip can do 1000 times.
constexpr int64_t kMostUnpacked = 8192 * kMiB, kMostTimes = 200, kSmall = 256 * kMiB;
constexpr int64_t kLongestValue = 16 * kMiB;  ///< the lexer of JSON holds one in memory

}  // namespace

CompressedFile::CompressedFile(const std::filesystem::path& path)
    : path_(path), file_(nullptr, gzclose), chunk_(kChunk) {
    std::error_code unseen;
    if (!std::filesystem::is_regular_file(path, unseen))
        throw Error(fmt::format("{} is no regular file, and cannot be read", path.string()));
    errno = 0;
    file_.reset(gzopen(path.c_str(), "rb"));
    if (!file_)
        throw Error(fmt::format("{} cannot be read: {}", path.string(),
                                errno == 0 ? "out of memory" : std::strerror(errno)));
    gzbuffer(file_.get(), kChunk);
    is_compressed_ = gzdirect(file_.get()) == 0;
}

void CompressedFile::check_size(std::size_t more) {
    bytes_ += static_cast<int64_t>(more);
    without_quotes_ =
        std::memchr(chunk_.data(), '"', more) ? 0 : without_quotes_ + static_cast<int64_t>(more);
    if (without_quotes_ > kLongestValue)
        throw Error(fmt::format("{} is no trace: it holds more than {} MiB without any quotation mark",
                                path_.string(), kLongestValue / kMiB));
    if (!is_compressed_ || bytes_ <= kSmall) return;
    if (bytes_ > kMostUnpacked)
        throw Error(
            fmt::format("{} unpacks to more than {} GiB, the limit for a compressed trace. If you "
                        "trust it, unpack it with gunzip and name what comes out.",
                        path_.string(), kMostUnpacked / (1024 * kMiB)));
    if (bytes_ / kMostTimes > gzoffset(file_.get()))
        throw Error(
            fmt::format("{} unpacks to more than {} times its size, which no trace does. If you "
                        "trust it, unpack it with gunzip and name what comes out.",
                        path_.string(), kMostTimes));
}

CompressedFile::int_type CompressedFile::underflow() {
    const int read = gzread(file_.get(), chunk_.data(), static_cast<unsigned>(chunk_.size()));
    int code = Z_OK;
    const char* const problem = gzerror(file_.get(), &code);
    if (read <= 0 && code == Z_BUF_ERROR)
        throw Error(
            fmt::format("{} is cut short: its gzip data end at byte {}, in the middle. Copy or "
                        "export it again.",
                        path_.string(), gzoffset(file_.get())));
    if (read < 0)
        throw Error(fmt::format("{} cannot be unpacked ({}). Copy or export it again.", path_.string(),
                                code == Z_ERRNO ? std::strerror(errno) : problem));
    is_at_end_ = read == 0;
    if (is_at_end_) return traits_type::eof();
    check_size(static_cast<std::size_t>(read));
    setg(chunk_.data(), chunk_.data(), chunk_.data() + read);
    return traits_type::to_int_type(chunk_[0]);
}

}  // namespace lab
