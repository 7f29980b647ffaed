// docs/glossary.md against the chapters: every term is explained once, in order, and its chapter uses it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/text.h"

using namespace lab;

namespace {

const fs::path kRoot = LAB_SOURCE_FOLDER;

struct Entry {
    std::string term, chapter, folder, explanation;
};

/// A paragraph "**Term** ([ch05](../ch05_streams/README.md)). Explanation."
std::vector<Entry> entries() {
    static const std::regex shape(
        R"(\*\*([^*]+)\*\* \(\[(ch\d\d)\]\(\.\./(ch\d\d_[a-z0-9_]+)/README\.md\)\)\. ([\s\S]+))");
    std::vector<Entry> found;
    std::string paragraph;
    const auto end_paragraph = [&] {
        std::smatch part;
        const std::string text = trim(paragraph);
        if (std::regex_match(text, part, shape))
            found.push_back({part[1], part[2], part[3], part[4]});
        else if (text.rfind("**", 0) == 0)
            FAIL_CHECK("no entry of the glossary's shape: " << text);
        paragraph.clear();
    };
    for (const std::string& line : split(read_file(kRoot / "docs/glossary.md"), '\n')) {
        if (trim(line).empty())
            end_paragraph();
        else
            paragraph += line + "\n";
    }
    end_paragraph();
    return found;
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

/// Small letters, one space between words, no emphasis.
std::string plain(const std::string& text) {
    std::string result;
    for (const char c : lower(text)) {
        if (c == '*' || c == '`') continue;
        const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
        if (!space || (!result.empty() && result.back() != ' ')) result += space ? ' ' : c;
    }
    return result;
}

/// All that a chapter says: its pages, its facts and its programs.
std::string words_of(const fs::path& folder) {
    std::string words;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string kind = entry.path().extension().string();
        if (kind == ".md" || kind == ".toml" || kind == ".cu") words += plain(read_file(entry.path())) + "\n";
    }
    return words;
}

}  // namespace

TEST_CASE("glossary: about seventy terms, each once and in alphabetical order, in a sentence or two") {
    const std::vector<Entry> all = entries();
    CHECK(all.size() >= 60);
    for (std::size_t i = 0; i < all.size(); ++i) {
        INFO(all[i].term);
        CHECK(all[i].folder.rfind(all[i].chapter + "_", 0) == 0);
        CHECK(std::count(all[i].explanation.begin(), all[i].explanation.end(), '\n') <= 2);
        CHECK(all[i].explanation.back() == '.');
        if (i > 0) CHECK(lower(all[i - 1].term) < lower(all[i].term));
    }
}

TEST_CASE("glossary: each term's chapter uses it") {
    std::set<std::string> chapters;
    for (const Entry& entry : entries()) {
        // The last two chapters may come later than this page; a chapter that is there is held to it.
        const bool planned = entry.folder == "ch06_graphs" || entry.folder == "ch07_roofline";
        if (planned && !fs::exists(kRoot / entry.folder)) continue;
        INFO(entry.term, " in ", entry.folder);
        REQUIRE(fs::exists(kRoot / entry.folder / "chapter.toml"));
        CHECK(words_of(kRoot / entry.folder).find(plain(entry.term)) != std::string::npos);
        chapters.insert(entry.folder);
    }
    CHECK(chapters.size() >= 5);
}
