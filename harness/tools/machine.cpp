#include "tools/machine.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/text.h"

namespace lab {

namespace {

namespace fs = std::filesystem;

/// Folders below `base` whose names begin so, the newest version first: cuda-13.0 before cuda-9.2.
std::vector<fs::path> newest_first(const fs::path& base, const std::string& beginning = "") {
    std::vector<fs::path> folders;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(base, ignored))
        if (entry.path().filename().string().starts_with(beginning)) folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end(), [](const fs::path& a, const fs::path& b) {
        return ::strverscmp(a.filename().c_str(), b.filename().c_str()) > 0;
    });
    return folders;
}

std::optional<fs::path> find_tool(const std::string& name, const std::vector<fs::path>& elsewhere) {
    if (const auto in_path = find_program(name)) return in_path;
    std::error_code ignored;  // a folder that only others may read
    for (const fs::path& candidate : elsewhere)
        if (fs::is_regular_file(candidate, ignored)) return candidate;
    return std::nullopt;
}

std::vector<fs::path> below(const std::vector<fs::path>& folders, const std::vector<std::string>& inside) {
    std::vector<fs::path> paths;
    for (const fs::path& folder : folders)
        for (const std::string& i : inside) paths.push_back(folder / i);
    return paths;
}

std::vector<fs::path> toolkits() {
    std::vector<fs::path> folders{"/usr/local/cuda"};
    append(folders, newest_first("/usr/local", "cuda-"));
    return folders;
}

/// Where a tool lies in each toolkit.
std::vector<fs::path> in_toolkit(const std::string& tool) {
    return below(toolkits(), {"bin/" + tool, tool + "/" + tool});
}

/// Files of a product such as "nsight-compute", as NVIDIA, a toolkit and the distribution install it.
std::vector<fs::path> in_product(const std::string& product, const std::vector<std::string>& inside) {
    std::vector<fs::path> folders = newest_first("/opt/nvidia/" + product);
    append(folders, newest_first("/opt/nvidia/" + product + "-cli"));
    for (const fs::path& toolkit : toolkits()) append(folders, newest_first(toolkit, product + "-"));
    folders.push_back("/usr/lib/" + product);
    return below(folders, inside);
}

}  // namespace

const std::optional<GpuInfo>& gpu() {
    static const std::optional<GpuInfo> found = []() -> std::optional<GpuInfo> {
        if (!nvidia_smi()) return std::nullopt;
        return read_gpu(run({.words = gpu_query(*nvidia_smi()), .limit = std::chrono::seconds(20)}));
    }();
    return found;
}

std::vector<std::string> gpu_query(const fs::path& smi) {
    return {smi.string(), "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"};
}

std::optional<GpuInfo> read_gpu(const Outcome& answer) {
    const std::vector<std::string> cells = split(split(answer.out, '\n')[0], ',');
    if (answer.exit_code != 0 || cells.size() != 3) return std::nullopt;
    return GpuInfo{trim(cells[0]), trim(cells[1]), trim(cells[2])};
}

const std::optional<fs::path>& nvidia_smi() {
    static const auto found =
        find_tool("nvidia-smi", {"/usr/lib/wsl/lib/nvidia-smi", "/usr/local/nvidia/bin/nvidia-smi"});
    return found;
}

const std::optional<fs::path>& nvcc() {
    static const auto found = find_tool("nvcc", in_toolkit("nvcc"));
    return found;
}

const std::optional<fs::path>& nsys() {
    static const auto found = [] {
        std::vector<fs::path> places = in_toolkit("nsys");
        append(places, in_product("nsight-systems",
                                  {"bin/nsys", "target-linux-x64/nsys", "target-linux-sbsa-armv8/nsys"}));
        append(places, in_product("nsight-compute",
                                  {"host/target-linux-x64/nsys", "host/target-linux-sbsa-armv8/nsys"}));
        return find_tool("nsys", places);
    }();
    return found;
}

const std::optional<fs::path>& ncu() {
    static const auto found = [] {
        std::vector<fs::path> places = in_toolkit("ncu");
        append(places, in_product("nsight-compute", {"ncu"}));
        return find_tool("ncu", places);
    }();
    return found;
}

const std::optional<fs::path>& compute_sanitizer() {
    static const auto found = find_tool("compute-sanitizer", in_toolkit("compute-sanitizer"));
    return found;
}

std::string version_of(const fs::path& tool, std::chrono::seconds limit) {
    const Outcome outcome = run({.words = {tool.string(), "--version"}, .limit = limit});
    std::string before;
    for (const std::string& line : split(outcome.out, '\n')) {
        for (const std::string& word : split(line, ' ')) {
            const std::string number = word.substr(0, word.find_first_not_of("0123456789."));
            const std::vector<std::string> parts = split(number, '.');
            if (before == "release" && parts.size() == 2) return number;
            if (parts.size() >= 3 && parts[0].size() == 4) return parts[0] + "." + parts[1] + "." + parts[2];
            before = word;
        }
    }
    return "";
}

}  // namespace lab
