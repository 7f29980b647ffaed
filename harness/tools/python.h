// The Python of this machine, which runs the programs that are no CUDA C++. The first python3 of PATH counts.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lab {

[[nodiscard]] const std::optional<std::filesystem::path>& python();

/// What runs a program: "3.12.3" and "cupy 14.2.0".
struct PythonVersions {
    std::string python, library;
};

/// Asks Python, which imports the library to know: once for each, since that may take seconds. Nothing if
/// there is no Python, or if it cannot import it. Several threads may ask.
[[nodiscard]] std::optional<PythonVersions> python_with(const std::string& library);

/// Those of the libraries that Python cannot import here.
[[nodiscard]] std::vector<std::string> missing_in_python(const std::vector<std::string>& libraries);

}  // namespace lab
