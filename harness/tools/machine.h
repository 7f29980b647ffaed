// The CUDA tools and the GPU of this machine, each looked for when it is first asked about.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/process.h"

namespace lab {

/// A GPU as its driver names it.
struct GpuInfo {
    std::string name, driver, compute_capability;  ///< "NVIDIA H200", "580.159.04", "9.0"
};

/// The first GPU that the driver reports, or nothing.
[[nodiscard]] const std::optional<GpuInfo>& gpu();

/// The UUIDs of all that it reports, in its order: "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6".
[[nodiscard]] std::vector<std::string> gpu_uuids();

/// The command that asks nvidia-smi for a GpuInfo, and its answer as one; nothing if it names no GPU.
[[nodiscard]] std::vector<std::string> gpu_query(const std::filesystem::path& smi);
[[nodiscard]] std::optional<GpuInfo> read_gpu(const Outcome& answer);

/// The files that these patterns of a shell match. Of each pattern the newest version comes first: cuda-13.0
/// before cuda-9.2.
[[nodiscard]] std::vector<std::filesystem::path> matching(const std::vector<std::string>& patterns);

/// The program's path: PATH first, then where NVIDIA's and the distributions' packages put it. nsys is also
/// found inside ncu's package.
[[nodiscard]] const std::optional<std::filesystem::path>& nvidia_smi();
[[nodiscard]] const std::optional<std::filesystem::path>& nvcc();
[[nodiscard]] const std::optional<std::filesystem::path>& nsys();
[[nodiscard]] const std::optional<std::filesystem::path>& ncu();
[[nodiscard]] const std::optional<std::filesystem::path>& compute_sanitizer();
[[nodiscard]] const std::optional<std::filesystem::path>& cuobjdump();
[[nodiscard]] const std::optional<std::filesystem::path>& cuda_gdb();

/// The version a tool prints of itself: "2025.3.2" of nsys, "13.0" of nvcc; "" if it prints none. An Error if
/// it cannot be started.
[[nodiscard]] std::string version_of(const std::filesystem::path& tool,
                                     std::chrono::seconds limit = std::chrono::seconds(20));

}  // namespace lab
