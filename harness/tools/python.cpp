#include "tools/python.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <mutex>

#include "core/process.h"
#include "core/text.h"

namespace lab {

namespace fs = std::filesystem;

namespace {

std::optional<PythonVersions> ask(const std::string& library) {
    if (!python()) return std::nullopt;
    constexpr std::chrono::seconds kImportLimit{120};  // the first import reads gigabytes from a cold disk
    // Not every library has its version as a name: that of nvtx stands in what pip installed.
    const std::string code = fmt::format(
        "import importlib.metadata as installed, platform, {0} as library\n"
        "print(platform.python_version(), getattr(library, '__version__', '') or installed.version('{0}'))",
        library);
    const Outcome outcome = run({.words = {python()->string(), "-c", code}, .limit = kImportLimit});
    const std::vector<std::string> words = split(trim(outcome.out), ' ');
    if (outcome.exit_code != 0 || words.size() != 2) return std::nullopt;
    return PythonVersions{words[0], library + " " + words[1]};
}

}  // namespace

const std::optional<fs::path>& python() {
    static const std::optional<fs::path> found = find_program("python3");
    return found;
}

std::optional<PythonVersions> python_with(const std::string& library) {
    static std::mutex one_at_a_time;
    static std::map<std::string, std::optional<PythonVersions>> known;
    const std::lock_guard lock(one_at_a_time);
    const auto at = known.find(library);
    return at != known.end() ? at->second : known.emplace(library, ask(library)).first->second;
}

std::vector<std::string> missing_in_python(const std::vector<std::string>& libraries) {
    std::vector<std::string> missing = libraries;
    std::erase_if(missing, [](const std::string& library) { return python_with(library).has_value(); });
    return missing;
}

}  // namespace lab
