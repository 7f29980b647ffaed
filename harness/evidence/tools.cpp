#include "evidence/tools.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace lab {

namespace {

namespace fs = std::filesystem;

/// The numbers in a name: {13, 0} of "cuda-13.0".
std::vector<int> numbers_in(const std::string& name) {
    std::vector<int> numbers;
    bool within = false;
    for (const char c : name) {
        const bool digit = c >= '0' && c <= '9';
        if (digit && !within) numbers.push_back(0);
        if (digit && numbers.back() < 1'000'000) numbers.back() = numbers.back() * 10 + (c - '0');
        within = digit;
    }
    return numbers;
}

/// Folders below `base`, the newest version first: cuda-13.0 before cuda-9.2.
std::vector<fs::path> newest_first(const fs::path& base) {
    std::vector<fs::path> folders;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(base, ignored)) folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end(), [](const fs::path& a, const fs::path& b) {
        return numbers_in(a.filename().string()) > numbers_in(b.filename().string());
    });
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
