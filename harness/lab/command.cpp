#include "lab/command.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <string_view>

#include "core/terminal.h"
#include "core/text.h"

namespace lab {

namespace {

/// In the course's root, from where all of these lines can be run: paths below it without it.
std::string from_here(std::string line) {
    if (!std::filesystem::exists("common/nvcc.flags")) return line;
    const std::string here = std::filesystem::current_path().string() + "/";
    for (std::size_t at = 0; (at = line.find(here, at)) != std::string::npos; ++at) {
        const bool begins_word =
            at == 0 || std::string_view(" '=").find(line[at - 1]) != std::string_view::npos;
        const std::size_t end = std::min(line.find_first_of(" '", at + here.size()), line.size());
        const std::string path = line.substr(at + here.size(), end - at - here.size());
        // Without a slash, a shell would look for the program in PATH; and an option may begin with a dash.
        if (!begins_word || path.empty() || path[0] == '-' || path.find('/') == std::string::npos) continue;
        line.erase(at, here.size());
    }
    return line;
}

}  // namespace

void announce_to_terminal(const std::string& line) {
    const std::string shown = line.rfind("# ", 0) == 0 ? line : "$ " + from_here(line);
    std::fprintf(stderr, "%s\n", dim(shown).c_str());
}

void demand_folder_of(const char* option, const std::string& file) {
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    if (file.empty() || folder.empty() || std::filesystem::is_directory(folder)) return;
    throw Error(fmt::format("{} {}: there is no folder {}. Make it, or give a file in one that is there.",
                            option, printable(file), printable(folder.string())));
}

int exit_code_of(Verdict worst) {
    switch (worst) {
        case Verdict::pass:
            return kFine;
        case Verdict::not_run:
            return kNothingCouldRun;
        case Verdict::fail:
        case Verdict::inconclusive:
            break;
    }
    return kFindingFailed;
}

}  // namespace lab
