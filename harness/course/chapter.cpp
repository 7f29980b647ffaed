#include "course/chapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "course/toml_reader.h"

namespace lab {

namespace {

const Case* named(const std::vector<Case>& cases, const std::string& name) {
    const auto at = std::find_if(cases.begin(), cases.end(), [&](const Case& c) { return c.name == name; });
    return at == cases.end() ? nullptr : &*at;
}

/// The folders below `folder` that hold a case, from the root, by name.
std::vector<fs::path> case_folders(const fs::path& root, const fs::path& folder) {
    std::vector<fs::path> folders;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(root / folder, missing))
        if (fs::exists(entry.path() / "case.toml")) folders.push_back(folder / entry.path().filename());
    std::sort(folders.begin(), folders.end());
    return folders;
}

void add_exercise(std::vector<Case>& exercises, Case exercise) {
    for (const Case& other : exercises) {
        const std::string where = (exercise.folder / "case.toml").string() + ":1: ";
        if (other.number == exercise.number)
            throw Error(
                fmt::format("{}number {} is also that of {}", where, exercise.number, other.folder.string()));
        if (other.name == exercise.name)
            throw Error(
                fmt::format("{}the name {} is also that of {}", where, exercise.name, other.folder.string()));
    }
    exercises.push_back(std::move(exercise));
}

Question read_question(TomlReader& toml, const Chapter& chapter) {
    Question question;
    question.where = toml.where();
    question.id = toml.text("id");
    question.asks = toml.text("asks");
    question.look = toml.text("look");
    question.about = toml.text_or("case", "");
    if (!question.about.empty() && !chapter.exercise(question.about) && !chapter.single(question.about))
        toml.fail(fmt::format("there is no case '{}'", question.about), "case");
    const Case& about = chapter.case_of(question);
    std::vector<std::string> sides;
    for (const Program& program : about.programs) sides.push_back(program.name);
    if (sides.size() > 1) question.side = read_side(toml, sides);
    question.recording = toml.text_or("recording", "");
    question.query = read_query(toml, about, question.recording);
    question.unit = toml.text_or("unit", "");
    question.tolerance = toml.number_or("tolerance", 0);
    question.choices = toml.texts_or_none("choices");
    if (question.choices.size() == 1) toml.fail("one choice is no choice", "choices");
    toml.expect_all_read();
    return question;
}

/// A point that is held against a roof that no program measures could never be drawn.
void check_roofs(const Chapter& chapter) {
    const Case* const roofs = chapter.measures_roofs();
    const auto has = [](const std::vector<std::string>& names, const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    for (const Case* each : chapter.cases())
        for (const PointQuery& points : each->points)
            if (!roofs || !has(roofs->bandwidths, points.bandwidth) || !has(roofs->computes, points.compute))
                throw Error(fmt::format("{}: no program of the chapter measures both roofs, '{}' and '{}'",
                                        points.where, points.bandwidth, points.compute));
}

}  // namespace

const Case* Chapter::exercise(const std::string& name) const {
    return named(exercises, name);
}

const Case* Chapter::single(const std::string& name) const {
    return named(singles, name);
}

std::vector<const Case*> Chapter::cases() const {
    std::vector<const Case*> all{&pair};
    for (const Case& one : singles) all.push_back(&one);
    for (const Case& one : exercises) all.push_back(&one);
    return all;
}

const Case* Chapter::measures_roofs() const {
    const auto at =
        std::find_if(singles.begin(), singles.end(), [](const Case& c) { return !c.bandwidths.empty(); });
    return at == singles.end() ? nullptr : &*at;
}

int Chapter::exercise_minutes() const {
    return std::accumulate(exercises.begin(), exercises.end(), 0,
                           [](int sum, const Case& e) { return sum + e.minutes; });
}

const Case& Chapter::case_of(const Question& asked) const {
    if (asked.about.empty()) return pair;
    const Case* const found = exercise(asked.about);
    return found ? *found : *single(asked.about);
}

Program Chapter::program_of(const Question& asked) const {
    const Program& program = case_of(asked).programs[asked.side];
    const Recording* const further = program.recording_called(asked.recording);
    return further ? program.recorded_as(*further) : program;
}

std::string short_chapter_id(const std::string& id) {
    return id.substr(0, id.find('_'));
}

Chapter read_chapter(const fs::path& root, const std::string& folder) {
    const std::string file = folder + "/chapter.toml";
    TomlReader toml = TomlReader::parse_file(root / file, file);
    Chapter chapter;
    chapter.id = folder;
    chapter.short_id = short_chapter_id(folder);
    chapter.folder = folder;
    chapter.title = toml.text("title");
    chapter.question = toml.text("question");
    chapter.minutes = static_cast<int>(toml.integer("minutes"));
    chapter.objectives = toml.texts("objectives");
    chapter.headline = toml.text_or("headline", "");
    chapter.pair = read_case(root, folder, folder);
    chapter.pair.title = chapter.title;
    if (!chapter.headline.empty() && !chapter.pair.finding(chapter.headline))
        toml.fail(fmt::format("the pair has no finding '{}'", chapter.headline), "headline");
    for (const fs::path& each : case_folders(root, folder))
        chapter.singles.push_back(read_case(root, folder, each));
    for (const fs::path& each : case_folders(root, fs::path(folder) / "exercises"))
        add_exercise(chapter.exercises, read_case(root, folder, each));
    std::sort(chapter.exercises.begin(), chapter.exercises.end(),
              [](const Case& a, const Case& b) { return a.number < b.number; });
    check_roofs(chapter);
    std::set<std::string> questions;
    for (TomlReader& block : toml.tables("quiz")) {
        chapter.quiz.push_back(read_question(block, chapter));
        if (!questions.insert(chapter.quiz.back().id).second)
            block.fail(fmt::format("a second question is called '{}'", chapter.quiz.back().id), "id");
    }
    toml.expect_all_read();
    return chapter;
}

}  // namespace lab
