// What kind of machine this is, as far as it decides how a tool is repaired: the same failure has another fix
// on one's own Linux, in a container, under WSL2, in a cloud notebook and on a cluster.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace lab {

/// In the order of the fixes of a KnownFailure.
enum class PlatformKind { bare_metal, container, wsl2, notebook, cluster };

/// A kind of machine, and what it was known by.
struct Platform {
    PlatformKind kind = PlatformKind::bare_metal;
    std::string name;     ///< "a container (Docker)"
    std::string because;  ///< what it is known by: "there is a file /.dockerenv"
    bool in_job = true;   ///< false on a cluster's login node, where no GPU is to be expected
    bool root = false;    ///< runs as root, so that no sudo is needed
};

/// What a machine says of itself: its files, its environment and its programs. Tests make one up.
struct Surroundings {
    std::function<std::optional<std::string>(const std::string& path)> file;  ///< its text, or nothing
    std::function<std::string(const std::string& name)> variable;             ///< "" if it is not set
    std::function<bool(const std::string& name)> program;                     ///< is it in PATH?
    bool root = false;
};

/// "bare_metal", "container", "wsl2", "notebook" or "cluster": the keys of harness/doctor/failures.toml.
[[nodiscard]] std::string key_of(PlatformKind kind);

/// The closest kind wins: a notebook is a container too, and so is a cluster's job.
[[nodiscard]] Platform platform_of(const Surroundings& surroundings);

/// This machine, through its own files.
[[nodiscard]] Surroundings here();

/// An absolute path as it is looked for here. Tests set LAB_TEST_ROOT to a folder that stands for /.
[[nodiscard]] std::filesystem::path on_this_machine(const std::string& absolute);

}  // namespace lab
