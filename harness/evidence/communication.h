// What moves data between GPUs: the time it takes is not compute.
#pragma once

#include <string_view>
#include <vector>

#include "evidence/trace.h"

namespace lab {

/// Is this the full name of a kernel of NCCL (or of RCCL, which has the same names) or of NVSHMEM?
[[nodiscard]] bool is_communication_kernel(std::string_view full_name);

/// For each of Trace::names: does it belong to such a kernel?
[[nodiscard]] std::vector<bool> communication_names(const Trace& trace);

}  // namespace lab
