// docs/instructors.md against the chapters: minutes, exercises and wrong answers that it names are real.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "core/files.h"
#include "core/text.h"
#include "course/chapter.h"

using namespace lab;

namespace {

const fs::path kRoot = LAB_SOURCE_FOLDER;
const std::set<std::string> kPlanned{"ch06", "ch07"};  // may come later than the page; held to it once there

std::string page() {
    return read_file(kRoot / "docs/instructors.md");
}

const std::map<std::string, Chapter>& chapters() {
    static const std::map<std::string, Chapter> all = [] {
        std::map<std::string, Chapter> found;
        for (const auto& entry : fs::directory_iterator(kRoot))
            if (fs::exists(entry.path() / "chapter.toml")) {
                const Chapter chapter = read_chapter(kRoot, entry.path().filename().string());
                found.emplace(chapter.short_id, chapter);
            }
        return found;
    }();
    return all;
}

const Chapter* chapter_named(const std::string& id) {
    const auto at = chapters().find(id);
    if (at == chapters().end() && !kPlanned.count(id)) FAIL_CHECK("there is no chapter " << id);
    return at == chapters().end() ? nullptr : &at->second;
}

template <class Use>
void for_each_match(const std::string& text, const std::string& pattern, const Use& use) {
    const std::regex shape(pattern);
    for (std::sregex_iterator at(text.begin(), text.end(), shape), end; at != end; ++at) use(*at);
}

int minutes_of_exercises(const Chapter& chapter) {
    int minutes = 0;
    for (const Exercise& exercise : chapter.exercises) minutes += exercise.minutes;
    return minutes;
}

}  // namespace

TEST_CASE("instructors: minutes of chapters and exercises are those of chapter.toml") {
    std::set<std::string> cases, exercises;
    for_each_match(page(), R"(\| (ch\d\d) \((\d+)\))", [&](const std::smatch& found) {
        if (const Chapter* chapter = chapter_named(found[1])) {
            CHECK_MESSAGE(std::stoi(found[2]) == chapter->minutes, found[1].str());
            cases.insert(found[1]);
        }
    });
    for_each_match(page(), R"(exercises of (ch\d\d) \((\d+)\))", [&](const std::smatch& found) {
        if (const Chapter* chapter = chapter_named(found[1])) {
            CHECK_MESSAGE(std::stoi(found[2]) == minutes_of_exercises(*chapter), found[1].str());
            exercises.insert(found[1]);
        }
    });
    for_each_match(page(), R"(`(ch\d\d)/(\w+)` \((\d+)\))", [&](const std::smatch& found) {
        const Chapter* chapter = chapter_named(found[1]);
        if (!chapter) return;
        const Exercise* exercise = chapter->exercise(found[2]);
        INFO(found[0].str());
        REQUIRE(exercise);
        CHECK(std::stoi(found[3]) == exercise->minutes);
    });
    for (const auto& [id, chapter] : chapters()) {  // the plan of a semester leaves none out
        CHECK_MESSAGE(cases.count(id) == 1, id);
        CHECK_MESSAGE(exercises.count(id) == 1, id);
    }
}

TEST_CASE("instructors: the day's plan has no gap and no overlap") {
    int next = -1, rows = 0;
    for_each_match(page(), R"(\n\| (\d\d):(\d\d) \| [^|]+ \| (\d+) \|)", [&](const std::smatch& found) {
        const int begin = std::stoi(found[1]) * 60 + std::stoi(found[2]);
        if (next >= 0) CHECK_MESSAGE(begin == next, found[0].str());
        next = begin + std::stoi(found[3]);
        ++rows;
    });
    CHECK(rows >= 10);
    for_each_match(
        page(), R"(\n\| \d\d:\d\d \| [^|]*\((\d+)\)[^|]*\| (\d+) \|)",
        [](const std::smatch& found) { CHECK_MESSAGE(found[1].str() == found[2].str(), found[0].str()); });
}

TEST_CASE("instructors: every wrong answer that is named is a committed one") {
    std::string chapter_id;
    int named = 0;
    for (const std::string& line : split(page(), '\n')) {
        std::smatch found;
        if (std::regex_search(line, found, std::regex(R"(^### Chapter (\d))")))
            chapter_id = "ch0" + found[1].str();
        if (!std::regex_search(line, found, std::regex(R"(^\| `(\w+)`, `(\w+\.cu)` \|)"))) continue;
        const Chapter* chapter = chapter_named(chapter_id);
        if (!chapter) continue;
        ++named;
        const auto answers = read_wrong_answers(kRoot, *chapter);
        INFO(line);
        CHECK(std::any_of(answers.begin(), answers.end(), [&](const WrongAnswer& answer) {
            return answer.exercise == found[1].str() && answer.program.source.filename() == found[2].str();
        }));
    }
    CHECK(named >= 25);
}
