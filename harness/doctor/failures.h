// How the CUDA tools fail, recognised from their own words, and what to do about it on each platform: the
// table in harness/doctor/failures.toml.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/platform.h"

namespace lab {

/// What the sentences of a failure name: {"version", "2022.4.2"} fills in {version}.
using Details = std::map<std::string, std::string>;

/// An entry of the table.
struct KnownFailure {
    std::string tool;                ///< as a check is called; "any" for each
    std::string id;                  ///< "counters_denied"
    std::vector<std::string> words;  ///< any of these in a tool's output tells of it; none: found otherwise
    std::string reason;
    std::array<std::string, kPlatformKinds> fixes;  ///< by PlatformKind
    std::string still_works, section;               ///< "" if the tool's own are meant
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

    /// The id of the failure whose words `output` holds: of this tool first, then of any; "" if none is
    /// known.
    [[nodiscard]] std::string recognise(const std::string& tool, std::string_view output) const;

    /// Puts a failure of a tool into words. Its id must be in the table, of this tool or of any.
    [[nodiscard]] Diagnosis diagnose(const std::string& tool, const std::string& id, PlatformKind platform,
                                     Details details) const;

    /// The package of Debian and Ubuntu that holds a library.
    [[nodiscard]] std::string package_of(const std::string& library) const;

  private:
    std::vector<KnownFailure> failures_;
    std::map<std::string, std::map<std::string, std::string>> tools_;
    std::map<std::string, std::string> packages_;  ///< by library
};

/// The line in which a tool says what is wrong: its first error, else its last line; "it said nothing".
[[nodiscard]] std::string what_it_said(std::string_view output);

/// The library that a program could not load, "libdw.so.1"; "" if the loader does not complain.
[[nodiscard]] std::string missing_library(std::string_view output);

/// Is version "2023.3.3" earlier than "2023.4"? Numbers are compared as numbers, and "" is not earlier.
[[nodiscard]] bool earlier(const std::string& version, const std::string& minimum);

}  // namespace lab
