// lab analyze FILE --critical-path: what set the time, and what it would be without a kernel.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "lab/report_file.h"

namespace lab {

/// As JSON: total_ns; by_kind, ns, together the total; links; free_kernels. Errors are those of Dependencies.
[[nodiscard]] nlohmann::ordered_json critical_path_json(const ReportFile& report,
                                                        const std::optional<std::string>& range);

/// Prints it.
void print_critical_path(const ReportFile& report, const std::optional<std::string>& range);

}  // namespace lab
