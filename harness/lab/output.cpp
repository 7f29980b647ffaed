#include "lab/output.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/terminal.h"

namespace lab {

namespace {

/// Shortens the paths below the current folder if that is the course's root, where such a line can be run.
std::string with_short_paths(std::string line) {
    if (!std::filesystem::exists("common/nvcc.flags")) return line;
    const std::string here = std::filesystem::current_path().string() + "/";
    for (std::size_t at = 0; (at = line.find(here, at)) != std::string::npos; ++at) {
        // A program without a slash in front of its name would be looked for in PATH.
        const bool is_path =
            line.substr(0, line.find(' ', at)).find('/', at + here.size()) != std::string::npos;
        if (is_path && (at == 0 || line[at - 1] == ' ')) line.erase(at, here.size());
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
