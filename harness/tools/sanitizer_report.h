// Reads what compute-sanitizer prints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

/// A frame of a backtrace: device functions, then host functions up to the launch or call.
struct SanitizerFrame {
    bool on_host = false;
    std::string function;  ///< short name on the device, as printed on the host; empty if unknown
    std::string file;      ///< file name without folders; empty without line information
    int64_t line = 0;      ///< 0 if unknown
    std::string module;    ///< the binary or library of a host frame, without folders
};

/// One kind of problem at one place; `count` says how often it was reported there. A place on the host is a
/// whole backtrace: leaks of one size from two functions are two reports.
struct SanitizerReport {
    /// "Invalid __global__ read", "Race", "Uninitialized __global__ memory read", "Leak", "API cudaError...",
    /// ...; "Unknown" for errors that the summary counts and this reader does not know.
    std::string kind;
    std::string severity = "error";  ///< or "warning"
    std::string function;  ///< the kernel's short name, or the API call for an API error; empty if unknown
    std::string file;      ///< file name without folders; empty without line information
    int64_t line = 0;      ///< 0 if unknown
    int64_t bytes = 0;     ///< size of the access, or of the leak; 0 if it has none
    int64_t count = 1;
    int64_t allocation_bytes = 0;  ///< size of the allocation nearest to a bad address; 0 if none is named
    int64_t beyond_bytes = 0;  ///< how far past that allocation's end, of the first thread reported; else 0
    std::string text = {};     ///< the lines of the first one, as printed, and of how many threads they are
    std::vector<SanitizerFrame> frames = {};  ///< of the first one: innermost first, device then host
};

/// What one tool said of one run.
struct SanitizerOutput {
    std::vector<SanitizerReport> reports;
    int64_t errors = 0;  ///< what the tool's own summary line says
    int exit_code = 0;   ///< the program's own, where the tool found nothing
};

/// Reads what one tool printed in one run, and skips the program's own lines. An Error if there is no summary
/// line (the output is not whole), if the tool itself failed, or if the program never reached the GPU, which
/// would be a false pass.
[[nodiscard]] SanitizerOutput parse_sanitizer_output(std::string_view text);

}  // namespace lab
