#include "course/chapter.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "course/toml_reader.h"

namespace lab {

namespace {

/// "frames" and "2" of "frames:2".
std::pair<std::string, std::string> name_and_draw(const std::string& text) {
    const std::size_t colon = text.find(':');
    return {text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1)};
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

/// Reads the exercises in the order of their numbers.
std::vector<Case> read_exercises(const fs::path& root, const std::string& chapter) {
    std::vector<Case> exercises;
    for (const fs::path& folder : case_folders(root, fs::path(chapter) / "exercises"))
        exercises.push_back(read_case(root, chapter, folder));
    std::sort(exercises.begin(), exercises.end(),
              [](const Case& a, const Case& b) { return a.number < b.number; });
    const auto twice = std::adjacent_find(exercises.begin(), exercises.end(),
                                          [](const Case& a, const Case& b) { return a.number == b.number; });
    if (twice != exercises.end())
        throw Error(fmt::format("{}/case.toml:1: {} has the same number", twice->folder.string(),
                                twice[1].folder.string()));
    return exercises;
}

/// A question of the quiz: about the pair unless it names another case.
Question read_quiz_question(TomlReader& toml, const Chapter& chapter) {
    const std::string about = toml.text_or("case", "");
    const Case* const found = chapter.exercise(about) ? chapter.exercise(about) : chapter.single(about);
    if (!about.empty() && !found) toml.fail(fmt::format("there is no case '{}'", about), "case");
    return read_question(toml, found ? *found : chapter.pair, Question::quiz);
}

}  // namespace

const Case* Chapter::exercise(const std::string& name_or_number) const {
    const auto [wanted, draw] = name_and_draw(name_or_number);
    for (const Case& e : exercises)
        if (wanted == e.name || wanted == std::to_string(e.number) || wanted == e.folder.filename() ||
            std::count(e.formerly.begin(), e.formerly.end(), wanted))
            return draw.empty() ? &e : e.drawn(std::atoi(draw.c_str()));
    return nullptr;
}

const Case* Chapter::single(const std::string& name) const {
    for (const Case& one : singles)
        if (one.name == name) return &one;
    return nullptr;
}

std::vector<const Case*> Chapter::cases() const {
    std::vector<const Case*> all{&pair};
    for (const Case& one : singles) all.push_back(&one);
    for (const Case& one : exercises) {
        all.push_back(&one);
        for (const Case& draw : one.further_draws) all.push_back(&draw);
    }
    return all;
}

const Case* Chapter::measures_roofs() const {
    for (const Case& one : singles)
        if (!one.bandwidths.empty()) return &one;
    return nullptr;
}

std::vector<Question> Chapter::questions() const {
    std::vector<Question> all = look;
    append(all, quiz);
    for (const Case* each : cases()) append(all, each->diagnosis);
    return all;
}

int Chapter::exercise_minutes() const {
    int minutes_of_all = 0;
    for (const Case& one : exercises) minutes_of_all += one.minutes;
    return minutes_of_all;
}

const Case& Chapter::case_of(const Question& q) const {
    const Case* const found = exercise(q.about);
    return q.about.empty() ? pair : found ? *found : *single(q.about);
}

Program Chapter::program_of(const Question& q) const {
    const Program& program = case_of(q).programs[q.side];
    const Recording* const further = program.recording_called(q.recording);
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
    if (toml.has("look_ms")) chapter.look_to_ns = toml.integer("look_ms") * 1'000'000;
    chapter.pair = read_case(root, folder, folder);
    chapter.pair.title = chapter.title;
    if (!chapter.headline.empty() && !chapter.pair.finding(chapter.headline))
        toml.fail(fmt::format("the pair has no finding '{}'", chapter.headline), "headline");
    for (const fs::path& parent : {fs::path(folder), fs::path(folder) / "python"})
        for (const fs::path& each : case_folders(root, parent))
            chapter.singles.push_back(read_case(root, folder, each));
    chapter.exercises = read_exercises(root, folder);
    for (TomlReader& block : toml.tables("look"))
        add_question(chapter.look, read_question(block, chapter.pair, Question::look_first), block);
    for (TomlReader& block : toml.tables("quiz"))
        add_question(chapter.quiz, read_quiz_question(block, chapter), block);
    toml.expect_all_read();
    return chapter;
}

}  // namespace lab
