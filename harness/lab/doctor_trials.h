// The trials of `lab doctor`. Each uses a tool on harness/doctor/probe.cu and believes nothing that it has
// not seen: a counter's value, a kernel in a trace, a planted bug that is found.
#pragma once

#include <filesystem>
#include <optional>

#include "lab/doctor_check.h"

namespace lab {

/// Asks the driver for a GPU.
[[nodiscard]] Check try_gpu(Examination& examination);

/// Builds the probe, and runs it where there is a GPU; `binary` is set if it is fit to try the tools on.
[[nodiscard]] Check try_nvcc(Examination& examination, bool has_gpu,
                             std::optional<std::filesystem::path>& binary);

/// Each of these tools needs a program that runs on a GPU; without one it is looked for, and not tried.
using Binary = std::optional<std::filesystem::path>;
[[nodiscard]] Check try_nsys(const Examination& examination, const Binary& binary);
[[nodiscard]] Check try_ncu(const Examination& examination, const Binary& binary);
[[nodiscard]] Check try_sanitizer(const Examination& examination, const Binary& binary);

}  // namespace lab
