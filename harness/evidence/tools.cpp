#include "evidence/tools.h"

#include <algorithm>
#include <regex>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace lab {

namespace {

namespace fs = std::filesystem;

/// Folders below `base` whose name sorts last first, so that the newest version wins.
std::vector<fs::path> newest_first(const fs::path& base) {
    std::vector<fs::path> folders;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(base, ignored)) folders.push_back(entry.path());
    std::sort(folders.rbegin(), folders.rend());
    return folders;
}

std::optional<fs::path> find_tool(const std::string& name, const std::vector<fs::path>& elsewhere) {
    if (const auto in_path = find_program(name)) return in_path;
    for (const fs::path& candidate : elsewhere)
        if (fs::is_regular_file(candidate)) return candidate;
    return std::nullopt;
}

std::vector<fs::path> below(const std::string& base, const std::vector<std::string>& inside) {
    std::vector<fs::path> paths;
    for (const fs::path& folder : newest_first(base))
        for (const std::string& i : inside) paths.push_back(folder / i);
    return paths;
}

std::vector<fs::path> in_toolkit(const std::string& name) {
    std::vector<fs::path> paths{"/usr/local/cuda/bin/" + name};
    for (const fs::path& folder : newest_first("/usr/local"))
        if (folder.filename().string().rfind("cuda-", 0) == 0) paths.push_back(folder / "bin" / name);
    return paths;
}

std::vector<fs::path> nsys_places() {
    std::vector<fs::path> places = in_toolkit("nsys");
    for (const fs::path& p : below("/opt/nvidia/nsight-systems", {"bin/nsys", "target-linux-x64/nsys"}))
        places.push_back(p);
    for (const fs::path& p : below("/opt/nvidia/nsight-compute",
                                   {"host/target-linux-x64/nsys", "host/target-linux-sbsa-armv8/nsys"}))
        places.push_back(p);
    return places;
}

std::vector<fs::path> ncu_places() {
    std::vector<fs::path> places = in_toolkit("ncu");
    for (const fs::path& p : below("/opt/nvidia/nsight-compute", {"ncu"})) places.push_back(p);
    return places;
}

}  // namespace

const std::optional<GpuInfo>& gpu() {
    static const std::optional<GpuInfo> found = []() -> std::optional<GpuInfo> {
        const auto smi = find_program("nvidia-smi");
        if (!smi) return std::nullopt;
        const Outcome outcome = run(
            {.words = {smi->string(), "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"},
             .limit = std::chrono::seconds(20)});
        const std::vector<std::string> cells = split(split(outcome.out, '\n')[0], ',');
        if (outcome.exit_code != 0 || cells.size() != 3) return std::nullopt;
        return GpuInfo{trim(cells[0]), trim(cells[1]), trim(cells[2])};
    }();
    return found;
}

const std::optional<fs::path>& nvcc() {
    static const auto found = find_tool("nvcc", in_toolkit("nvcc"));
    return found;
}

const std::optional<fs::path>& nsys() {
    static const auto found = find_tool("nsys", nsys_places());
    return found;
}

const std::optional<fs::path>& ncu() {
    static const auto found = find_tool("ncu", ncu_places());
    return found;
}

const std::optional<fs::path>& compute_sanitizer() {
    static const auto found = find_tool("compute-sanitizer", in_toolkit("compute-sanitizer"));
    return found;
}

std::string version_of(const fs::path& tool) {
    const Outcome outcome = run({.words = {tool.string(), "--version"}, .limit = std::chrono::seconds(20)});
    static const std::regex release(R"(release (\d+\.\d+))"), dotted(R"((\d{4}\.\d+\.\d+))");
    std::smatch m;
    if (std::regex_search(outcome.out, m, release)) return m[1];
    if (std::regex_search(outcome.out, m, dotted)) return m[1];
    return "";
}

}  // namespace lab
