// Every relative link of every page leads to a file that is there, and to a heading that is in it; what
// pages name by its path is there, too.
#include <doctest/doctest.h>

#include <cctype>
#include <regex>
#include <set>

#include "command_lines.h"
#include "core/files.h"
#include "core/text.h"
#include "course/course.h"

namespace lab::links_test {

namespace {

const fs::path kRoot = LAB_SOURCE_FOLDER;

/// The lines outside of code blocks.
std::vector<std::string> prose_of(const fs::path& page) {
    std::vector<std::string> lines;
    bool code = false;
    for (const std::string& line : split(read_file(page), '\n')) {
        if (trim(line).starts_with("```")) code = !code;
        if (!code) lines.push_back(line);
    }
    return lines;
}

/// What a link to each of its headings ends in: in small letters, without punctuation.
std::set<std::string> anchors_of(const fs::path& page) {
    std::set<std::string> anchors;
    for (const std::string& line : prose_of(page)) {
        if (!line.starts_with("#")) continue;
        std::string anchor;
        for (const unsigned char c : line.substr(line.find(' ') + 1))
            if (std::isalnum(c) || c == '_' || c == '-' || c == ' ' || c > 127)
                anchor += c == ' ' ? '-' : static_cast<char>(std::tolower(c));
        anchors.insert(anchor);
    }
    return anchors;
}

/// Calls `use` with the first group of each match in a text; how many there are.
template <class Use>
int for_each_match(const std::string& text, const std::regex& pattern, const Use& use) {
    int matches = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at, ++matches)
        use(std::string((*at)[1]));
    return matches;
}

}  // namespace

TEST_CASE("links: each leads to a file, and to a heading in it" * doctest::test_suite("whole course")) {
    int links = 0;
    for (const fs::path& page : pages())
        for (const std::string& line : prose_of(page)) {
            const std::string text = std::regex_replace(line, std::regex("`[^`]*`"), "");
            links += for_each_match(text, std::regex(R"(\]\(([^)\s:]+)\))"), [&](const std::string& link) {
                const std::size_t hash = link.find('#');
                const fs::path target = hash == 0 ? page : page.parent_path() / link.substr(0, hash);
                INFO(page.string(), " links to ", link);
                REQUIRE(fs::exists(target));
                if (hash != std::string::npos) CHECK(anchors_of(target).count(link.substr(hash + 1)) == 1);
            });
        }
    CHECK(links >= 100);
}

TEST_CASE("programs and evidence that pages name are there") {
    int named = 0;
    std::set<std::string> awaited;  // folders of what is a draft until it is recorded
    for (const Chapter& chapter : Course(kRoot).chapters())
        for (const Case* of : chapter.cases())
            if (of->draft) awaited.insert((of->folder / "evidence/h200").string());
    for (const fs::path& page : pages()) {
        if (page.filename() == "verification.md") continue;  // says what was verified under the names of then
        const std::string text = read_file(page);
        INFO(page.string());
        named += for_each_match(
            text, std::regex(R"([^\w/](ch\d\d_\w+/[\w./-]*\.(sqlite|nsys-rep|ncu-rep|cu|py))\b)"),
            [&](const std::string& file) {
                const bool is_awaited = awaited.count(fs::path(file).parent_path().string()) == 1;
                CHECK_MESSAGE((is_awaited || fs::exists(kRoot / file)), file);
            });
    }
    CHECK(named >= 100);
}

TEST_CASE("exercises and wrong answers that the page for instructors names are there") {
    const Course course(kRoot);
    const std::string page = read_file(kRoot / "docs/instructors.md");
    CHECK(for_each_match(page, std::regex("`(ch\\d\\d/\\w+)`"), [&](const std::string& name) {
              CHECK_NOTHROW_MESSAGE((void)course.choose(name), name);
          }) >= 20);
    std::set<std::string> answers;
    for (const Chapter& chapter : course.chapters())
        for (const Case* exercise : chapter.cases())
            for (const Answer& wrong : exercise->wrong)
                answers.insert("`" + exercise->name + "`, `" + wrong.program.name + "`");
    CHECK(for_each_match(page, std::regex(R"(\n\| (`\w+`, `\w+`) \|)"), [&](const std::string& named) {
              CHECK_MESSAGE(answers.count(named) == 1, named);
          }) >= 25);
}

}  // namespace lab::links_test
