// Libraries that single programs need and no toolkit has to have: NCCL and NVSHMEM. A program asks for one by
// its option in nvcc.flags, such as -lnccl, and here is where it lies on this machine: as NCCL_HOME or
// NVSHMEM_HOME says, beside the toolkit, from the system's packages, or from a Python wheel.
// harness/cmake/libraries.cmake looks in the same places.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lab {

/// A library, and what nvcc needs for it here.
struct Library {
    std::string name;               ///< "NCCL"
    std::string option;             ///< of nvcc.flags, by which programs ask for it: "-lnccl"
    std::string wheel;              ///< of Python, without the version of CUDA: "nvidia-nccl"
    std::filesystem::path headers;  ///< empty if it is not here
    std::vector<std::pair<std::string, std::filesystem::path>> files;  ///< by option: "-lnccl"
};

/// All that the course knows of, here or not. Looked for when it is first asked about.
[[nodiscard]] const std::vector<Library>& libraries();

/// The libraries that these flags ask for and that are not here: "NCCL".
[[nodiscard]] std::vector<std::string> missing_libraries(const std::vector<std::string>& flags);

/// The flags with each option of such a library replaced by where it is here, for nvcc and for the loader.
[[nodiscard]] std::vector<std::string> located_flags(const std::vector<std::string>& flags);

}  // namespace lab
