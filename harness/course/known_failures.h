// How the CUDA tools fail, recognised from their own words, and what to do about it on each platform: the
// table in harness/doctor/failures.toml.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/platform.h"

namespace lab {

/// What the sentences of a failure name: {"version", "2022.4.2"} fills in {version}.
using Details = std::map<std::string, std::string>;

/// An entry of the table.
struct KnownFailure {
    std::string id;
    std::string tool;                ///< "gpu", "nvcc", "nsys", "ncu", "compute-sanitizer"; "" for any
    std::vector<std::string> words;  ///< any of these in a tool's output tells of it; none: found otherwise
    std::string reason;
    std::array<std::string, 5> fixes;  ///< by PlatformKind
    std::string still_works;
    std::string section;  ///< a heading of docs/setup.md
};

/// A failure as it is told: one line each, with nothing left to fill in.
struct Diagnosis {
    std::string id, reason, remedy, still_works;
    std::string section;  ///< "docs/setup.md#err_nvgpuctrperm"
};

/// The table.
class KnownFailures {
  public:
    /// An Error names the file and the line where an entry is not as it should be.
    [[nodiscard]] static KnownFailures read(const std::filesystem::path& path);

    [[nodiscard]] const std::vector<KnownFailure>& all() const { return failures_; }

    /// The failure whose words `output` holds: of this tool first, then of any; null if none is known.
    [[nodiscard]] const KnownFailure* recognise(const std::string& tool, std::string_view output) const;

    /// By its id, which must be in the table.
    [[nodiscard]] const KnownFailure& by_id(const std::string& id) const;

  private:
    std::vector<KnownFailure> failures_;
};

/// Puts a failure into words for a platform.
[[nodiscard]] Diagnosis diagnose(const KnownFailure& failure, const Platform& platform,
                                 const Details& details);

/// The line in which a tool says what is wrong: its first error, else its last line; "it said nothing".
[[nodiscard]] std::string what_it_said(std::string_view output);

/// The library that a program could not load, "libdw.so.1"; "" if the loader does not complain.
[[nodiscard]] std::string missing_library(std::string_view output);

/// The package of Debian and Ubuntu that holds a library.
[[nodiscard]] std::string package_of(const std::string& library);

/// Is version "2023.3.3" earlier than "2023.4"? Numbers are compared as numbers, and "" is not earlier.
[[nodiscard]] bool earlier(const std::string& version, const std::string& minimum);

/// The first driver that serves a CUDA version: "580" for "13.0".
[[nodiscard]] std::string driver_needed_by(const std::string& cuda);

/// What a link to a heading ends in, as GitHub makes it: "ERR_NVGPUCTRPERM" -> "err_nvgpuctrperm".
[[nodiscard]] std::string anchor_of(const std::string& heading);

}  // namespace lab
