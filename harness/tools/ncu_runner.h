// Profiles a program's kernels with ncu, for the metrics that findings need.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/builder.h"
#include "tools/ncu_csv.h"

namespace lab {

/// The words of an ncu profile of these metrics, without the program.
[[nodiscard]] std::vector<std::string> ncu_command(const std::filesystem::path& ncu_path,
                                                   const std::filesystem::path& report,
                                                   const Program& program,
                                                   const std::vector<std::string>& metrics);

/// Writes `report`, which the GUI opens, and reads the metrics out of it. A metric that this GPU does not
/// have comes back as `n/a`, or `for_publication` is an Error that names it.
/// So is a GPU whose counters may not be read; without, that yields nothing, and the reason is announced.
[[nodiscard]] std::vector<NcuMetric> run_ncu(const Program& program, const std::filesystem::path& binary,
                                             const std::filesystem::path& report, bool for_publication,
                                             const Announce& announce);

}  // namespace lab
