#include "evidence/communication.h"

#include <algorithm>
#include <array>

#include "core/text.h"

namespace lab {

bool is_communication_kernel(std::string_view full_name) {
    const std::string function = short_function(full_name);
    // NVSHMEM names the kernels of its collectives without its prefix: barrier_on_stream_kernel_threadgroup.
    constexpr std::array kCollectives{"alltoall", "barrier", "broadcast", "fcollect",
                                      "rdxn",     "reduce",  "sync"};
    return function.starts_with("nccl") || function.starts_with("nvshmem") ||
           (function.find("_on_stream_kernel") != std::string::npos &&
            std::any_of(kCollectives.begin(), kCollectives.end(),
                        [&](const char* name) { return function.starts_with(name); }));
}

std::vector<bool> communication_names(const Trace& trace) {
    enum : char { unknown, no, yes };
    std::vector<char> known(trace.names.size(), unknown);
    for (const Kernel& k : trace.kernels) {
        char& of_name = known[static_cast<std::size_t>(k.name)];
        if (of_name == unknown) of_name = is_communication_kernel(trace.full_name_of(k.name)) ? yes : no;
    }
    std::vector<bool> names;
    for (const char of_name : known) names.push_back(of_name == yes);
    return names;
}

}  // namespace lab
