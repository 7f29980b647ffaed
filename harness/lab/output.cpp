#include "lab/output.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/terminal.h"

namespace lab {

namespace {

/// Shortens the paths below the current folder if that is the course's root, where such a line can be run.
std::string with_short_paths(std::string line) {
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
    const std::string shown = line.rfind("# ", 0) == 0 ? line : "$ " + with_short_paths(line);
    std::fprintf(stderr, "%s\n", dim(shown).c_str());
}

void print_json(const nlohmann::ordered_json& json) {
    // All but ASCII is escaped, so that no control character of a name reaches a terminal.
    std::puts(json.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

}  // namespace lab
