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
/// have comes back as `n/a`. If the GPU's counters may not be read, there are no metrics, and the reason is
/// announced. `for_publication` both are an Error.
[[nodiscard]] std::vector<NcuMetric> run_ncu(const Program& program, const std::filesystem::path& binary,
                                             const std::filesystem::path& report, bool for_publication,
                                             const Announce& announce);

}  // namespace lab
