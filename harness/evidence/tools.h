// The CUDA tools and the GPU of this machine, each looked for when it is first asked about.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/process.h"

namespace lab {

struct GpuInfo {
    std::string name, driver, compute_capability;  ///< "NVIDIA H200", "580.159.04", "9.0"
};

/// The first GPU that the driver reports, or nothing.
[[nodiscard]] const std::optional<GpuInfo>& gpu();

/// The program's path: PATH first, then where NVIDIA's packages put it. nsys is also found inside ncu's
/// package.
[[nodiscard]] const std::optional<std::filesystem::path>& nvcc();
[[nodiscard]] const std::optional<std::filesystem::path>& nsys();
[[nodiscard]] const std::optional<std::filesystem::path>& ncu();
[[nodiscard]] const std::optional<std::filesystem::path>& compute_sanitizer();

/// The version a tool prints of itself: "2025.3.2" of nsys, "13.0" of nvcc; "" if it prints none.
[[nodiscard]] std::string version_of(const std::filesystem::path& tool);

}  // namespace lab
