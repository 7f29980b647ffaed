// Reads what compute-sanitizer prints.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

/// One kind of problem at one place; `count` says how often it was reported there.
struct SanitizerReport {
    /// "Invalid __global__ read", "Race", "Uninitialized __global__ memory read", "Leak", "API cudaError...",
    /// ...; "Unknown" for errors that the summary counts and nothing here can read.
    std::string kind;
    std::string severity;  ///< "error" or "warning"
    std::string function;  ///< the kernel's short name, or the API call for an API error; empty if unknown
    std::string file;      ///< file name without folders; empty without line information
    int64_t line = 0;      ///< 0 if unknown
    int64_t bytes = 0;     ///< size of the access, or of the leak; 0 if it has none
    int64_t count = 0;
};

struct SanitizerOutput {
    std::vector<SanitizerReport> reports;
    int64_t errors = 0;  ///< what the tool's own summary line says
};

/// Lines of the program itself are passed over. An Error if the output is not whole (no summary line), or if
/// the tool never saw the program reach the GPU, which would be a false pass.
[[nodiscard]] SanitizerOutput parse_sanitizer_output(std::string_view text);

}  // namespace lab
