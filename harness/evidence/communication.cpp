#include "evidence/communication.h"

#include "core/text.h"

namespace lab {

bool is_communication_kernel(std::string_view full_name) {
    const std::string function = short_function(full_name);
    return function.starts_with("nccl") || function.starts_with("nvshmem");
}

}  // namespace lab
