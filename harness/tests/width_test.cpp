// What lab prints fits the width of the screen, on the course's own evidence: no line is wider, and no word
// is broken in its middle, except for a command or a path, which is to be copied, and a name that shows its
// ellipsis.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <thread>

#include "core/parallel.h"
#include "core/text.h"
#include "course/course.h"
#include "lab_binary.h"

using namespace lab;

namespace {

using Words = std::vector<std::string>;

std::string printed(const Words& command, int columns, const fs::path& build) {
    return run_lab(command, LAB_SOURCE_FOLDER,
                   Words{"PATH=/usr/bin:/bin", "COLUMNS=" + std::to_string(columns),
                         "LAB_BUILD=" + build.string()})
        .out;
}

/// Commands that print something of each chapter, exercise and kind of evidence, and write nothing.
std::vector<Words> commands() {
    const Course course = Course(LAB_SOURCE_FOLDER);
    std::vector<Words> all{{"list"}, {"report"}, {"run", "--help"}};
    const auto add = [&](const std::string& name, const Case& of) {
        all.push_back({"run", name, "--recorded"});
        const Program& program = of.programs.back();
        if (course.has_evidence_of(program))
            all.push_back({"analyze", course.shown(course.evidence_of(program))});
    };
    for (const Chapter& chapter : course.chapters()) {
        all.push_back({"quiz", chapter.short_id});
        add(chapter.short_id, chapter.pair);
        for (const Case& exercise : chapter.exercises) add(chapter.short_id + "/" + exercise.name, exercise);
    }
    return all;
}

/// Is the line too long only because of a command or a path?
bool is_to_be_copied(const std::string& line, std::size_t columns) {
    for (const std::string& word : wrapped(line, 1))
        if (word.find('/') != word.npos && display_width(line) - display_width(word) <= columns / 8)
            return true;
    return false;
}

/// A word as it reads, not a drawing and no tick of an axis, where these can be told apart.
bool is_word(const std::string& word) {
    const bool has_letters =
        std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isalpha(c); });
    const std::u32string all = decode_utf8(word);
    return has_letters && std::none_of(all.begin(), all.end(), [](char32_t c) {
               return (c >= U'─' && c <= U'▟') ||
                      std::u32string_view(U"→←↔·…").find(c) != std::u32string_view::npos;
           });
}

std::set<std::string> words_of(const std::string& text) {
    std::set<std::string> words;
    for (const std::string& line : split(text, '\n'))
        for (const std::string& word : split(line, ' ')) {
            words.insert(word);
            words.insert(word + ":");  // as a column's name stands before a value below its row
        }
    return words;
}

}  // namespace

TEST_CASE("whatever a command prints fits 80 columns, or 120, and breaks no word") {
    const TemporaryFolder build;
    const std::vector<Words> all = commands();
    CHECK(all.size() > 100);
    std::vector<std::string> faults(all.size());
    for_each_in_parallel(all.size(), std::thread::hardware_concurrency(), [&](std::size_t i) {
        const std::set<std::string> whole = words_of(printed(all[i], 10'000, build.path()));
        for (const std::size_t columns : {std::size_t{80}, std::size_t{120}})
            for (const std::string& line :
                 split(printed(all[i], static_cast<int>(columns), build.path()), '\n')) {
                if (display_width(line) > columns && !is_to_be_copied(line, columns))
                    faults[i] += "\n" + line;
                for (const std::string& word : split(line, ' '))
                    if (is_word(word) && !whole.contains(word)) faults[i] += "\n" + word + " in: " + line;
            }
    });
    for (std::size_t i = 0; i < all.size(); ++i)
        CHECK_MESSAGE(faults[i].empty(), shell_line(all[i]) << faults[i]);
    const auto widest = [&](int columns) {
        std::size_t width = 0;
        for (const std::string& line : split(printed({"list"}, columns, build.path()), '\n'))
            width = std::max(width, display_width(line));
        return width;
    };
    CHECK(widest(80) <= 80);
    CHECK(widest(120) > 80);
}
