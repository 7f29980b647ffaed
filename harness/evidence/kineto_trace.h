// What torch.profiler exports: the Chrome trace-event JSON of Kineto, as a trace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "evidence/trace.h"

namespace lab {

/// Does the file begin like JSON, or like JSON that gzip has packed? False where it cannot be read.
[[nodiscard]] bool is_kineto_trace(const std::filesystem::path& path);

/// Kernels, copies, memsets, CUDA calls and annotations of one process, read as a stream, and on request the
/// operators of PyTorch, which no analysis needs and which are most of a trace. Times are exact to
/// the ns, and since 1970 where the file says when its clock began. An annotation becomes a range of its
/// thread; what crosses_threads is in kineto_trace.cpp. An Error says what makes the file unusable: JSON that
/// is damaged or cut short, no GPU work, several processes, times that no capture has.
[[nodiscard]] Trace read_kineto_trace(const std::filesystem::path& path, bool with_operators = false);

/// A time or a duration as JSON has it, in µs, in ns: "4458676524670.502" is 4458676524670502. Decimals
/// beyond the third are rounded; what is too large for 64 bits becomes the largest number of its sign.
[[nodiscard]] int64_t ns_of_microseconds(std::string_view number);

}  // namespace lab
