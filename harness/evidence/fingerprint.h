// Does evidence still speak of today's program? A hash of all that decides what the program does.
#pragma once

#include <filesystem>
#include <string>

namespace lab {

/// Source text without comments and layout, so that reformatting or explaining it changes nothing.
[[nodiscard]] std::string without_comments_and_layout(const std::string& source);

/// 16 hex digits over the source, every header it includes by "path" (looked up from `root` and from the
/// including file's folder) and the compiler flags.
[[nodiscard]] std::string fingerprint(const std::filesystem::path& source, const std::filesystem::path& root,
                                      const std::string& flags);

}  // namespace lab
