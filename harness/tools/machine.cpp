#include "tools/machine.h"

#include <glob.h>
#include <string.h>  // strverscmp

#include <algorithm>
#include <vector>

#include "core/text.h"

namespace lab {

namespace {

namespace fs = std::filesystem;

/// Asked once. An exit code that is not 0 if there is none to ask.
const Outcome& what_smi_says() {
    static const Outcome outcome =
        nvidia_smi() ? run({.words = gpu_query(*nvidia_smi()), .limit = std::chrono::seconds(20)})
                     : Outcome{.exit_code = 127, .signal = 0, .timed_out = false, .out = "", .err = ""};
    return outcome;
}

std::optional<fs::path> find_tool(const std::string& name, const std::vector<std::string>& elsewhere) {
    if (const auto in_path = find_program(name)) return in_path;
    const std::vector<fs::path> found = matching(elsewhere);
    return found.empty() ? std::nullopt : std::optional(found[0]);
}

}  // namespace

std::vector<fs::path> matching(const std::vector<std::string>& patterns) {
    std::vector<fs::path> all;
    for (const std::string& pattern : patterns) {
        glob_t found{};
        if (::glob(pattern.c_str(), GLOB_BRACE, nullptr, &found) == 0) {
            std::vector<fs::path> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
            std::sort(paths.begin(), paths.end(), [](const fs::path& a, const fs::path& b) {
                return ::strverscmp(a.c_str(), b.c_str()) > 0;
            });
            append(all, paths);
        }
        ::globfree(&found);
    }
    return all;
}

const std::optional<GpuInfo>& gpu() {
    static const std::optional<GpuInfo> found = read_gpu(what_smi_says());
    return found;
}

std::vector<std::string> gpu_uuids() {
    std::vector<std::string> uuids;
    if (!gpu()) return uuids;
    for (const std::string& line : split(trim(what_smi_says().out), '\n'))
        uuids.push_back(trim(split(line, ',').back()));
    return uuids;
}

std::vector<std::string> gpu_query(const fs::path& smi) {
    return {smi.string(), "--query-gpu=name,driver_version,compute_cap,uuid", "--format=csv,noheader"};
}

std::optional<GpuInfo> read_gpu(const Outcome& answer) {
    const std::vector<std::string> cells = split(split(answer.out, '\n')[0], ',');
    if (answer.exit_code != 0 || cells.size() != 4) return std::nullopt;
    return GpuInfo{trim(cells[0]), trim(cells[1]), trim(cells[2])};
}

const std::optional<fs::path>& nvidia_smi() {
    static const auto found =
        find_tool("nvidia-smi", {"/usr/lib/wsl/lib/nvidia-smi", "/usr/local/nvidia/bin/nvidia-smi"});
    return found;
}

const std::optional<fs::path>& nvcc() {
    static const auto found = find_tool("nvcc", {"/usr/local/cuda{,-*}/bin/nvcc"});
    return found;
}

const std::optional<fs::path>& nsys() {
    static const auto found =
        find_tool("nsys", {"/usr/local/cuda{,-*}/bin/nsys",
                           "/opt/nvidia/nsight-systems{,-cli}/*/{bin,target-linux-*}/nsys",
                           "/usr/local/cuda{,-*}/nsight-systems-*/{bin,target-linux-*}/nsys",
                           "/usr/lib/nsight-systems/{bin,target-linux-*}/nsys",
                           "/opt/nvidia/nsight-compute/*/host/target-linux-*/nsys",
                           "/usr/local/cuda{,-*}/nsight-compute-*/host/target-linux-*/nsys",
                           "/usr/lib/nsight-compute/host/target-linux-*/nsys"});
    return found;
}

const std::optional<fs::path>& ncu() {
    static const auto found =
        find_tool("ncu", {"/usr/local/cuda{,-*}/bin/ncu", "/opt/nvidia/nsight-compute{,-cli}/*/ncu",
                          "/usr/local/cuda{,-*}/nsight-compute-*/ncu", "/usr/lib/nsight-compute/ncu"});
    return found;
}

const std::optional<fs::path>& compute_sanitizer() {
    static const auto found =
        find_tool("compute-sanitizer", {"/usr/local/cuda{,-*}/{bin,compute-sanitizer}/compute-sanitizer"});
    return found;
}

const std::optional<fs::path>& cuobjdump() {
    static const auto found = find_tool("cuobjdump", {"/usr/local/cuda{,-*}/bin/cuobjdump"});
    return found;
}

const std::optional<fs::path>& cuda_gdb() {
    static const auto found = find_tool("cuda-gdb", {"/usr/local/cuda{,-*}/bin/cuda-gdb"});
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
