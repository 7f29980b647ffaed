// What lab prints fits the width of the screen, on the course's own evidence: no line is wider, and no word
// is broken in its middle, except for a command or a path, which is to be copied, and a name that shows its
// ellipsis.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "core/parallel.h"
#include "core/text.h"
#include "course/course.h"
#include "lab_binary.h"

namespace lab::width_test {

namespace {

using Words = std::vector<std::string>;

bool has_trace(const Course& course, const Program& program) {
    return Evidence::open(course.evidence_of(program)).has_trace();
}

/// Commands that print something of each chapter, exercise and kind of evidence, and write nothing.
std::vector<Words> commands_of_course() {
    const Course course = Course(LAB_SOURCE_FOLDER);
    std::vector<Words> all{{"list"}, {"report"}, {"help"}};
    for (const char* command :
         {"run", "list", "analyze", "compare", "report", "class", "quiz", "check", "gate", "look", "diagnose",
          "review", "answers", "doctor", "verify", "timeline", "ncu-details"})
        all.push_back({"help", command});
    all.push_back({"analyze", "ch05_streams/evidence/h200/fixed.sqlite", "--critical-path"});
    const auto add = [&](const std::string& name, const Case& of) {
        all.push_back({"run", name, "--recorded"});
        const Program& program = of.programs.back();
        if (!course.has_evidence_of(program)) return;
        const std::string evidence = course.shown(course.evidence_of(program));
        all.push_back({"analyze", evidence});
        const Program& first = of.programs.front();
        if (first.name != program.name && course.has_evidence_of(first) && has_trace(course, first) &&
            has_trace(course, program))
            all.push_back({"compare", course.shown(course.evidence_of(first)), evidence});
        if (program.ncu_details.empty()) return;
        for (const char* page : {"details", "source"})
            all.push_back({"ncu-details", evidence, "--page", page});
    };
    for (const Chapter& chapter : course.chapters()) {
        for (const char* asks : {"look", "review", "quiz", "answers"})
            all.push_back({asks, chapter.short_id});
        add(chapter.short_id, chapter.pair);
        for (const Case& exercise : chapter.exercises) add(chapter.short_id + "/" + exercise.name, exercise);
    }
    return all;
}

/// Commands that write, measure, or find a fault, in a copy of chapter 5 with faked tools.
std::vector<Words> commands_of_copy(const CourseCopy& copy) {
    const auto quietly = [&](Words words) {
        return run_lab(std::move(words), copy.root(), copy.with_fake_tools());
    };
    copy.replace("ch05_streams/case.toml", "fixed = \"== 4\"", "fixed = \"== 5\"");
    fs::create_directories(copy.root() / "class");
    for (const Words& first : {Words{"doctor"}, Words{"start", "ch05/1"}, Words{"check", "ch05/1"}})
        (void)quietly(first);
    write_file(copy.root() / "class/a.json", quietly({"report", "--json", "--name", "Ada Lovelace"}).out);
    return {{"check", "ch05/1"},
            {"class", "class"},
            {"doctor"},
            {"timeline", "ch05_streams/evidence/h200/fixed.sqlite"},
            {"verify", "ch05", "--recorded"},
            {"gate", "/bin/echo", "/bin/echo", "--pairs", "6", "--figure", "([0-9]+) ms", "--", "5 ms"}};
}

/// Is the line too long only because of a command or a path, as in "next     ./lab run ch05"?
bool is_to_be_copied(const std::string& line) {
    if (line.starts_with("live     ")) return true;  // the command of ncu-details
    for (const std::string& word : wrapped(line, 1))
        if (word.find('/') != word.npos && line.size() - word.size() <= 30) return true;
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

/// What is wrong with what a command prints at 80 and at 120 columns: a line each.
std::string faults_of(const Words& command, const fs::path& folder, Words environment) {
    environment.emplace_back();
    const auto printed = [&](int columns) {
        environment.back() = "COLUMNS=" + std::to_string(columns);
        return run_lab(command, folder, environment).out;
    };
    const std::set<std::string> whole = words_of(printed(10'000));
    std::string faults = whole.size() > 1 ? "" : "\nit prints nothing";
    for (const int columns : {80, 120})
        for (const std::string& line : split(printed(columns), '\n')) {
            if (display_width(line) > static_cast<std::size_t>(columns) && !is_to_be_copied(line))
                faults += fmt::format("\nover {}: {}", columns, line);
            for (const std::string& word : split(line, ' '))
                if (is_word(word) && !whole.contains(word)) faults += "\nbroken: " + word + " in: " + line;
        }
    return faults;
}

}  // namespace

TEST_CASE("whatever a command prints fits 80 columns, or 120, and breaks no word" *
          doctest::test_suite("whole course")) {
    const TemporaryFolder build;
    const CourseCopy copy;
    const std::vector<Words> of_course = commands_of_course(), of_copy = commands_of_copy(copy);
    CHECK(of_course.size() > 100);
    std::vector<std::string> faults(of_course.size());
    for_each_in_parallel(of_course.size(), [&](std::size_t i) {
        faults[i] = faults_of(of_course[i], LAB_SOURCE_FOLDER,
                              {"PATH=/usr/bin:/bin", "LAB_BUILD=" + build.path().string()});
    });
    for (std::size_t i = 0; i < of_course.size(); ++i)
        CHECK_MESSAGE(faults[i].empty(), shell_line(of_course[i]) << faults[i]);
    for (const Words& command : of_copy) {
        const std::string wrong = faults_of(command, copy.root(), copy.with_fake_tools());
        CHECK_MESSAGE(wrong.empty(), shell_line(command) << wrong);
    }
}

TEST_CASE("at 120 columns the room is used, and a pipe has any number") {
    const auto widest = [](const Words& environment) {
        std::size_t width = 0;
        for (const char* name : {"ch05", "ch07"})
            for (const std::string& line : split(
                     run_lab({"run", name, "--recorded", "--all"}, LAB_SOURCE_FOLDER, environment).out, '\n'))
                if (!is_to_be_copied(line)) width = std::max(width, display_width(line));
        return width;
    };
    const TemporaryFolder build;
    const std::string folder = "LAB_BUILD=" + build.path().string();
    CHECK(widest({folder, "COLUMNS=80"}) == 80);
    CHECK(widest({folder, "COLUMNS=120"}) > 110);
    CHECK(widest({folder}) > 160);
}

}  // namespace lab::width_test
