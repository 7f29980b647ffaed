// What kind of machine this is, as far as it decides how a tool is repaired: the same failure has another fix
// on one's own Linux, in a container, under WSL2, in a cloud notebook and on a cluster.
#pragma once

#include <filesystem>
#include <string>

namespace lab {

enum class PlatformKind { bare_metal, container, wsl2, notebook, cluster };
inline constexpr int kPlatformKinds = 5;

/// "bare_metal", "container", "wsl2", "notebook" or "cluster": the keys of harness/doctor/failures.toml.
[[nodiscard]] std::string key_of(PlatformKind kind);

struct Platform {
    PlatformKind kind = PlatformKind::bare_metal;
    std::string name;  ///< "a container"
};

/// This machine, known by its files below `root`, its environment and its programs. The closest kind wins: a
/// notebook is a container too, and so is a cluster's job.
[[nodiscard]] Platform platform_of(const std::filesystem::path& root = "/");

}  // namespace lab
