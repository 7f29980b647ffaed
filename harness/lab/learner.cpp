#include "lab/learner.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/terminal.h"
#include "core/text.h"
#include "tools/fingerprint.h"
#include "tools/machine.h"

namespace lab {

fs::path answer_path(const Course& course, const Case& exercise) {
    // As deep as the exercise's own folder, so that the build line in the file's head works there too.
    return course.root() / "work" / *exercise.folder.begin() / exercise.folder.filename() / "answer.cu";
}

Progress progress_of(const Course& course) {
    return Progress(course.root() / "work" / "progress.txt");
}

Course::Chosen choose_exercise(const Course& course, const std::string& name) {
    Course::Chosen chosen = course.choose(name);
    if (chosen.part && chosen.part->kind == CaseKind::exercise) return chosen;
    std::vector<std::string> names;
    for (const Case& e : chosen.chapter.exercises) names.push_back(chosen.chapter.short_id + "/" + e.name);
    throw Error(fmt::format("'{}' is a chapter; name one of its exercises: {}", name, join(names, ", ")));
}

const Chapter& first_to_start(const std::vector<Chapter>& chapters) {
    const bool live = nvidia_smi().has_value();
    const auto at = std::find_if(chapters.begin(), chapters.end(),
                                 [&](const Chapter& c) { return live || !c.pair.draft; });
    return at == chapters.end() ? chapters.front() : *at;
}

std::string short_name(const Course::Chosen& chosen) {
    return chosen.chapter.short_id + "/" + chosen.part->name;
}

std::string question_subject(const Chapter& chapter, const Question& question) {
    return chapter.id + ":" + question.id;
}

bool is_still_the_starter(const Course& course, const Case& exercise) {
    const auto code = [](const fs::path& file) { return tokens_of(read_file(file)); };
    return code(answer_path(course, exercise)) == code(course.root() / exercise.programs[0].file);
}

void copy_starter(const Course& course, const Case& exercise) {
    std::vector<std::string> lines = split(read_file(course.root() / exercise.programs[0].file), '\n');
    for (std::string& line : lines) {
        if (line.rfind("// build:", 0) != 0 && line.rfind("// look:", 0) != 0) continue;
        for (std::size_t at = 0; (at = line.find("starter", at)) != std::string::npos;)
            line.replace(at, 7, "answer");
    }
    write_file(answer_path(course, exercise), join(lines, "\n"));
}

void start_exercise(const Course& course, const Case& exercise) {
    copy_starter(course, exercise);
    progress_of(course).add(Step::started, exercise.id);
}

void print_hint(const Case& exercise, int number) {
    const auto& hints = exercise.hints;
    const std::size_t shown = std::min(static_cast<std::size_t>(number), hints.size());
    fmt::print("{}\n", paragraph(fmt::format("hint {} of {}: {}", shown, hints.size(), hints[shown - 1])));
}

}  // namespace lab
