#include "tools/libraries.h"

#include <algorithm>
#include <cstdlib>

#include "core/files.h"
#include "core/text.h"
#include "tools/machine.h"

namespace lab {

namespace {

/// Folders of headers and of libraries that belong together.
using Place = std::pair<fs::path, fs::path>;

/// What is looked for: one header, and the files of each option, which may carry a version.
struct Wanted {
    const char *name, *wheel, *header, *home;
    std::vector<std::pair<std::string, std::vector<std::string>>> files;
};

std::vector<Place> places(const Wanted& wanted) {
    const std::string folder = std::string(wanted.wheel).substr(7);  // "nvidia-nccl" is nvidia/nccl
    std::vector<Place> all;
    const auto add = [&](const fs::path& home) {
        for (const char* lib : {"lib", "lib64"}) all.emplace_back(home / "include", home / lib);
    };
    if (const char* home = std::getenv(wanted.home); home && *home) add(home);
    if (nvcc()) add(fs::weakly_canonical(*nvcc()).parent_path().parent_path());
    for (const char* system : {"/usr/local", "/usr"})
        for (const fs::path& lib : matching({std::string(system) + "/lib{,64,/*-linux-gnu}"}))
            all.emplace_back(fs::path(system) / "include", lib);
    for (const fs::path& include : matching({"/usr/include/" + folder + "_*"}))  // of NVIDIA's packages
        for (const fs::path& lib : matching({"/usr/lib/*-linux-gnu/" + folder + "/*"}))
            all.emplace_back(include, lib);
    std::vector<std::string> pythons{"/usr/local", "/usr"};
    for (const char* variable : {"HOME", "CONDA_PREFIX", "VIRTUAL_ENV"})
        if (const char* value = std::getenv(variable); value && *value)
            pythons.insert(pythons.begin(), std::string(value) + (variable[0] == 'H' ? "/.local" : ""));
    for (const std::string& python : pythons)
        for (const fs::path& home :
             matching({python + "/lib/python3*/{site,dist}-packages/nvidia/" + folder}))
            add(home);
    for (const fs::path& home : matching({"/opt/nvidia/hpc_sdk/Linux_*/*/comm_libs/" + folder})) add(home);
    return all;
}

Library look_for(const Wanted& wanted) {
    Library library{wanted.name, wanted.files[0].first, wanted.wheel, {}, {}};
    for (const auto& [headers, folder] : places(wanted)) {
        library.files.clear();
        for (const auto& [option, names] : wanted.files)
            for (const std::string& name : names)
                if (fs::exists(folder / name)) {
                    library.files.emplace_back(option, folder / name);
                    break;
                }
        if (!fs::exists(headers / wanted.header) || library.files.size() < wanted.files.size()) continue;
        library.headers = headers;
        return library;
    }
    library.files.clear();
    return library;
}

bool asks_for(const std::vector<std::string>& flags, const Library& library) {
    return std::find(flags.begin(), flags.end(), library.option) != flags.end();
}

}  // namespace

const std::vector<Library>& libraries() {
    static const std::vector<Library> all{
        look_for(
            {"NCCL", "nvidia-nccl", "nccl.h", "NCCL_HOME", {{"-lnccl", {"libnccl.so", "libnccl.so.2"}}}}),
        look_for({"NVSHMEM",
                  "nvidia-nvshmem",
                  "nvshmem.h",
                  "NVSHMEM_HOME",
                  {{"-lnvshmem_host", {"libnvshmem_host.so", "libnvshmem_host.so.3"}},
                   {"-lnvshmem_device", {"libnvshmem_device.a"}}}})};
    return all;
}

std::vector<std::string> missing_libraries(const std::vector<std::string>& flags) {
    std::vector<std::string> missing;
    if (std::none_of(flags.begin(), flags.end(), [](const std::string& f) { return f.starts_with("-ln"); }))
        return missing;  // not worth a look
    for (const Library& library : libraries())
        if (asks_for(flags, library) && library.headers.empty()) missing.push_back(library.name);
    return missing;
}

std::vector<std::string> located_flags(const std::vector<std::string>& flags) {
    std::vector<std::string> located;
    const auto is_system = [](const fs::path& folder) { return folder == "/usr/include"; };
    for (const std::string& flag : flags) {
        std::vector<std::string> words{flag};
        for (const Library& library : libraries()) {
            if (flag == library.option && !library.headers.empty() && !is_system(library.headers))
                append(located, {"-isystem", library.headers.string()});
            for (const auto& [option, file] : library.files)
                if (flag == option)
                    words = file.extension() == ".a"
                                ? std::vector{file.string()}
                                : std::vector{"-Xlinker=" + file.string(),
                                              "-Xlinker=-rpath," + file.parent_path().string()};
        }
        append(located, words);
    }
    return located;
}

}  // namespace lab
