// lab report: what has been done so far, for the learner and for an instructor's script.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/table.h"
#include "lab/command.h"
#include "lab/learner.h"

namespace lab {

namespace {

int right_answers(const Progress& progress, const Chapter& chapter) {
    int right = 0;
    for (const Question& q : chapter.quiz) right += progress.answered_right(question_subject(chapter, q));
    return right;
}

int report(bool json) {
    const Course course = Course::find();
    const Progress progress = progress_of(course);
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    using Align = Table::Align;
    Table table({"", "state", "checks", "hints", "quiz"},
                {Align::left, Align::left, Align::right, Align::right, Align::right});
    for (const Chapter& chapter : course.chapters()) {
        nlohmann::ordered_json exercises = nlohmann::ordered_json::array();
        int passed = 0;
        for (const Exercise& e : chapter.exercises) passed += progress.exercise(e.programs.id).passed;
        const int right = right_answers(progress, chapter);
        table.add({chapter.short_id, fmt::format("{} of {} passed", passed, chapter.exercises.size()), "", "",
                   fmt::format("{} of {}", right, chapter.quiz.size())});
        for (const Exercise& e : chapter.exercises) {
            const Done done = progress.exercise(e.programs.id);
            table.add(
                {"  " + e.name, state_of(done), std::to_string(done.checks), std::to_string(done.hints), ""});
            exercises.push_back({{"name", e.name},
                                 {"state", state_of(done)},
                                 {"checks", done.checks},
                                 {"hints", done.hints}});
        }
        all.push_back({{"chapter", chapter.id},
                       {"passed", passed},
                       {"exercises", exercises},
                       {"quiz", {{"right", right}, {"questions", chapter.quiz.size()}}}});
    }
    if (json)
        print_json(all);
    else
        fmt::print("{}", table.text());
    return kFine;
}

}  // namespace

void add_report(Session& session) {
    const auto json = std::make_shared<bool>(false);
    Subcommand command(session, "report", "what you have done so far", [json] { return report(*json); });
    command.flag("--json", *json, "print it as JSON");
}

}  // namespace lab
