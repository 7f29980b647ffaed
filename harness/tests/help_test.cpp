// Every command has a page, and the page says what the command really takes.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/files.h"
#include "core/text.h"
#include "lab/command.h"

using namespace lab;

namespace {

/// All commands as `lab` has them, which read their words and do nothing.
struct Commands {
    CLI::App app{"", "./lab"};
    Session session{app};

    Commands() {
        app.require_subcommand(1);
        add_commands(session);
        session.only_parses = true;
    }
};

/// The lines below a heading of a page.
std::vector<std::string> section(const std::string& page, const std::string& heading) {
    const std::vector<std::string> lines = split(page, '\n');
    auto at = std::find(lines.begin(), lines.end(), heading);
    std::vector<std::string> found;
    if (at == lines.end()) return found;
    for (++at; at != lines.end() && (at->empty() || at->front() == ' '); ++at)
        if (!at->empty()) found.push_back(*at);
    return found;
}

bool is_sentence_part(const std::string& text) {
    return text.size() > 5 && text.back() != '.' && text.find("  ") == std::string::npos;
}

/// The words of a command line as a shell reads them, up to where its output goes.
std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words;
    std::string word;
    bool quoted = false;
    for (const char c : line + " ") {
        if (c == '\'') {
            quoted = !quoted;
        } else if (c == ' ' && !quoted) {
            if (word == ">" || word == "|") break;
            if (!word.empty()) words.push_back(word);
            word.clear();
        } else {
            word += c;
        }
    }
    return words;
}

}  // namespace

TEST_CASE("every page has every section, and no line is too long") {
    const Commands all;
    REQUIRE(all.session.manuals.size() >= 20);
    for (const Manual& manual : all.session.manuals) {
        if (manual.hidden) continue;
        INFO(manual.name);
        const std::string page = manual_text(manual, 100);
        for (const char* heading :
             {"NAME", "USAGE", "WHAT IT DOES", "OPTIONS", "EXIT CODES", "FILES", "EXAMPLES", "SEE ALSO"}) {
            INFO(heading);
            CHECK_FALSE(section(page, heading).empty());
        }
        for (const std::string& line : split(page, '\n')) {
            INFO(line);
            CHECK(display_width(line) <= 100);
        }
        CHECK(is_sentence_part(manual.summary));
        CHECK(manual.does.back() == '.');
        CHECK(manual.examples.size() >= 2);
        CHECK(manual.see_also.size() >= 1);
        CHECK(manual.exits.front().what == "0");
    }
}

TEST_CASE("a name that is to be typed stands as it is typed, also at the beginning of a sentence") {
    const Commands all;
    const std::string pages = manuals_markdown(all.session.manuals);
    CHECK(pages.find("An exercise: ch05/vector_add_pipeline") != pages.npos);
    for (const char* wrong : {"Ch0", "CH0"}) CHECK(pages.find(wrong) == pages.npos);
}

TEST_CASE("every option that is read is described, with what it takes and what holds without it") {
    const Commands all;
    for (const CLI::App* command : all.app.get_subcommands({})) {
        const Manual* manual = manual_of(all.session.manuals, command->get_name());
        INFO(command->get_name());
        REQUIRE(manual);
        std::size_t described = 0;
        for (const CLI::Option* read : command->get_options()) {
            const std::string name = read->get_name(false, true);
            INFO(name);
            if (name.find("--help") != std::string::npos) continue;
            const auto at = std::find_if(manual->options.begin(), manual->options.end(),
                                         [&](const Option& o) { return o.name == name; });
            REQUIRE(at != manual->options.end());
            ++described;
            CHECK(is_sentence_part(at->text));
            CHECK(at->is_word() == read->get_positional());
            CHECK(at->required == read->get_required());
            const bool takes_value = !at->is_flag() && !at->repeated;
            CHECK((!takes_value || at->required || !at->otherwise.empty()));
            if (!manual->hidden) CHECK(manual_text(*manual, 100).find("  " + at->name) != std::string::npos);
        }
        CHECK(described == manual->options.size());
    }
}

TEST_CASE("what a page says that holds without an option is what the command begins with") {
    const Commands all;
    const Manual* gate = manual_of(all.session.manuals, "gate");
    REQUIRE(gate);
    for (const Option& option : gate->options) {
        if (option.name == "--pairs") CHECK(option.otherwise == "30");
        if (option.name == "--threshold") CHECK(option.otherwise == "5%");
    }
}

TEST_CASE("every example can be read, and what it refers to is there") {
    const Commands names;
    for (const Manual& manual : names.session.manuals) {
        for (const Said& example : manual.examples) {
            INFO(example.what);
            const std::size_t lab = example.what.find("./lab ");
            REQUIRE(lab != std::string::npos);
            std::string line = example.what.substr(lab + 6);
            if (line.back() == ')') line.pop_back();  // source <(./lab ...)
            std::vector<std::string> words = words_of(line);
            CHECK(words.front() == manual.name);
            CHECK(is_sentence_part(example.says));
            if (manual.name == "test") continue;  // its words are ctest's
            Commands all;
            std::reverse(words.begin(), words.end());
            CHECK_NOTHROW(all.app.parse(words));
        }
        for (const std::string& other : manual.see_also) {
            INFO(manual.name, " ", other);
            const bool is_page = other.find('.') != std::string::npos;
            CHECK((is_page ? fs::exists(fs::path(LAB_SOURCE_FOLDER) / other)
                           : manual_of(names.session.manuals, other) != nullptr));
            CHECK(other != manual.name);
        }
    }
}

TEST_CASE("a wrong example would be noticed") {
    Commands all;
    CHECK_THROWS(all.app.parse(std::vector<std::string>{"--no-such-option", "list"}));
    Commands more;
    CHECK_THROWS(more.app.parse(std::vector<std::string>{"--recorded", "--live", "ch05", "run"}));
}

TEST_CASE("a page for the web: tables hold, and nothing of it is taken for a block") {
    Manual manual{.name = "sample", .summary = "a sample"};
    manual.does = "One <paragraph>.\n\nAnother.";
    manual.options = {{.name = "--a", .text = "one", .value = "A|B", .otherwise = "none"}};
    manual.exits = {{"0", "fine"}};
    manual.reads = {{"a|b", "one | two"}};
    manual.examples = {{"./lab sample", "shows it"}, {"./lab sample --a A", "shows more"}};
    manual.see_also = {"list", "docs/setup.md", "README.md"};
    const std::string page = manuals_markdown({manual});
    CHECK(page.find("| `a\\|b` | one \\| two |") != std::string::npos);
    CHECK(page.find("./lab sample        # shows it\n./lab sample --a A  # shows more\n") !=
          std::string::npos);
    CHECK(page.find("[setup.md](setup.md)") == std::string::npos);
    CHECK(page.find("[docs/setup.md](setup.md), [README.md](../README.md)") != std::string::npos);
    manual.hidden = true;
    CHECK(manuals_markdown({manual}).empty());
}
