// Every relative link of every page leads to a file that is there, and to a heading that is in it.
#include <doctest/doctest.h>

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/text.h"
#include "course/known_failures.h"

using namespace lab;

namespace {

const fs::path kRoot = LAB_SOURCE_FOLDER;

std::vector<fs::path> pages() {
    std::vector<fs::path> found;
    const auto add = [&](const fs::directory_entry& entry) {
        if (entry.path().extension() == ".md") found.push_back(entry.path());
    };
    for (const auto& entry : fs::directory_iterator(kRoot)) {
        add(entry);
        const std::string name = entry.path().filename().string();
        if (!entry.is_directory() || (name != "docs" && name != "harness" && name.rfind("ch", 0) != 0))
            continue;
        for (const auto& below : fs::recursive_directory_iterator(entry.path())) add(below);
    }
    return found;
}

/// The lines outside of code blocks, without `code` in them.
std::vector<std::string> prose_of(const fs::path& page) {
    std::vector<std::string> lines;
    bool code = false;
    for (const std::string& line : split(read_file(page), '\n')) {
        if (trim(line).rfind("```", 0) == 0) code = !code;
        if (!code) lines.push_back(std::regex_replace(line, std::regex("`[^`]*`"), ""));
    }
    return lines;
}

std::set<std::string> anchors_of(const fs::path& page) {
    std::set<std::string> anchors;
    bool code = false;
    for (const std::string& line : split(read_file(page), '\n')) {
        if (trim(line).rfind("```", 0) == 0) code = !code;
        std::smatch heading;
        if (!code && std::regex_match(line, heading, std::regex("#+ (.*)")))
            anchors.insert(anchor_of(heading[1]));
    }
    return anchors;
}

}  // namespace

TEST_CASE("links: each leads to a file, and to a heading in it") {
    int links = 0;
    for (const fs::path& page : pages()) {
        for (const std::string& line : prose_of(page)) {
            const std::regex shape(R"(\]\(([^)\s]+)\))");
            for (std::sregex_iterator at(line.begin(), line.end(), shape), end; at != end; ++at) {
                const std::string link = (*at)[1];
                if (link.find("://") != std::string::npos || link.rfind("mailto:", 0) == 0) continue;
                const std::size_t hash = link.find('#');
                const std::string file = link.substr(0, hash);
                const fs::path target = file.empty() ? page : page.parent_path() / file;
                // The last two chapters may come later than the pages that speak of them.
                const bool planned =
                    (file.find("/ch06_graphs/") != std::string::npos && !fs::exists(kRoot / "ch06_graphs")) ||
                    (file.find("/ch07_roofline/") != std::string::npos &&
                     !fs::exists(kRoot / "ch07_roofline"));
                if (planned) continue;
                INFO(page.string(), " links to ", link);
                CHECK(fs::exists(target));
                if (hash != std::string::npos && fs::exists(target))
                    CHECK(anchors_of(target).count(link.substr(hash + 1)) == 1);
                ++links;
            }
        }
    }
    CHECK(links >= 100);
}
