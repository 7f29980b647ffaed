// Managed memory in a recording: pages that moved, and page faults of the CPU and the GPU.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "evidence/evidence.h"

namespace lab {

/// Tables of migrations, of the CPU's page faults by function and of the GPU's, while the host was in the
/// NVTX range; "" where nsys recorded none.
[[nodiscard]] std::string unified_memory_text(const Evidence& evidence,
                                              const std::optional<std::string>& range);

/// {migrations: [{direction, count, bytes}], cpu_page_faults: [{function, count}],
///  gpu_page_faults: {count, faults, total_ns}}
[[nodiscard]] nlohmann::ordered_json unified_memory_json(const Evidence& evidence,
                                                         const std::optional<std::string>& range);

}  // namespace lab
