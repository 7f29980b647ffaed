#include "command_lines.h"

#include <algorithm>
#include <cctype>
#include <regex>

#include "core/files.h"
#include "core/text.h"

namespace lab {

PageCode code_of(const std::string& page) {
    PageCode code;
    std::string prose, line, language;
    for (const std::string& raw : split(page, '\n')) {
        if (trim(raw).rfind("```", 0) == 0) {
            language = language.empty() ? trim(raw).substr(3) + " " : "";
            continue;
        }
        if (language.empty()) {
            prose += trim(raw).empty() ? "\n" : raw + " ";
            continue;
        }
        if (language != "sh " && language != "bash " && language != "yaml ") continue;
        line += raw;
        if (!line.empty() && line.back() == '\\') {
            line.back() = ' ';
            continue;
        }
        code.lines.push_back(line);
        line.clear();
    }
    static const std::regex span("`([^`\n]+)`");
    for (std::sregex_iterator at(prose.begin(), prose.end(), span), end; at != end; ++at)
        code.spans.push_back((*at)[1]);
    return code;
}

std::string part_of(const std::string& page, bool the_gone) {
    const std::size_t begin = page.find("## Spellings that are gone");
    if (begin == std::string::npos) return the_gone ? "" : page;
    const std::size_t end = std::min(page.find("\n## ", begin), page.size());
    return the_gone ? page.substr(begin, end - begin) : page.substr(0, begin) + page.substr(end);
}

Renamed renamed_on(const std::string& page) {
    Renamed all;
    for (const std::string& line : split(part_of(page, true), '\n')) {
        const std::vector<std::string> cells = split(line, '|');
        if (line.rfind("| `", 0) != 0 || cells.size() < 3) continue;
        for (const std::string& span : code_of(cells[1]).spans) all.gone.push_back(span);
        for (const std::string& span : code_of(cells[2]).spans) all.today.push_back(span);
    }
    return all;
}

std::vector<fs::path> pages() {
    const fs::path root = LAB_SOURCE_FOLDER;
    std::vector<fs::path> found;
    for (const fs::path& folder : {root, root / "docs"})
        for (const auto& entry : fs::directory_iterator(folder))
            if (entry.path().extension() == ".md") found.push_back(entry.path());
    for (const auto& chapter : fs::directory_iterator(root)) {
        if (chapter.path().filename().string().rfind("ch", 0) != 0 || !chapter.is_directory()) continue;
        for (const auto& entry : fs::recursive_directory_iterator(chapter.path()))
            if (entry.path().filename() == "README.md") found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::vector<std::vector<std::string>> commands_in(const std::string& code, const std::string& tool) {
    std::vector<std::vector<std::string>> commands;
    std::vector<std::string> words = split(code.substr(0, code.find(" #")), ' ');
    std::erase(words, "");
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        const bool is_ours = i > 0 && words[i - 1].ends_with("lab");
        const bool is_version = words[i + 1].find_first_of("0123456789") == 0;
        const bool is_key = words[i + 1] == "=";  // of chapter.toml
        if ((words[i] == tool || words[i].ends_with("/" + tool)) && !is_ours && !is_version && !is_key)
            commands.emplace_back(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
    }
    return commands;
}

bool says(const std::string& page, const std::string& word) {
    const auto part_of_word = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
    };
    for (std::size_t at = 0; (at = page.find(word, at)) != std::string::npos; ++at) {
        const std::size_t end = at + word.size();
        if ((at == 0 || !part_of_word(page[at - 1])) && (end == page.size() || !part_of_word(page[end])))
            return true;
    }
    return false;
}

}  // namespace lab
