// Kernels that move data between GPUs: the time they take is not compute.
#pragma once

#include <string_view>

namespace lab {

/// Is this the full name of a kernel of NCCL (or of RCCL, which has the same names) or of NVSHMEM?
[[nodiscard]] bool is_communication_kernel(std::string_view full_name);

}  // namespace lab
