// lab start, reset and hint: the learner's way into an exercise.
#include <fmt/format.h>

#include "core/files.h"
#include "core/terminal.h"
#include "lab/command.h"
#include "lab/learner.h"

namespace lab {

namespace {

void print_next(const Exercise& exercise) {
    fmt::print("read   {}\n", (exercise.of.folder / "README.md").string());
    if (!exercise.of.diagnosis.empty()) fmt::print("ask    ./lab diagnose {}\n", exercise.name);
    fmt::print(
        "edit   {}\ncheck  ./lab check {}\n"
        "watch  ./lab watch {} checks whenever you save\n",
        exercise.answer, exercise.name, exercise.name);
}

/// `draw`: of an exercise whose fault is drawn; 0 for the learner's own.
int start(const std::string& name, int draw) {
    const Exercise exercise =
        choose_exercise(draw > 0 ? fmt::format("{}:{}", name.substr(0, name.find(':')), draw) : name);
    const bool is_begun = fs::exists(exercise.answer_path);
    if (is_begun) {
        fmt::print("begun already: {} stays as it is; ./lab reset {} puts the starter back\n",
                   exercise.answer, exercise.name);
        if (draw > 0) exercise.progress.add(Step::started, exercise.of.id);
    } else {
        exercise.start();
        fmt::print("{}  {}, {} minutes\n", bold(exercise.name), exercise.of.title, exercise.of.minutes);
    }
    if (exercise.of.draw > 0)
        fmt::print("{}\n",
                   paragraph(fmt::format("your draw is {}: the program runs with {}", exercise.of.draw,
                                         join(exercise.of.programs[0].arguments, " "))));
    print_next(exercise);
    return kFine;
}

/// Gives an answer a second name that was free, also if another lab does so at the same time. Returns that
/// name, or "" if there is no answer.
fs::path keep_answer(const fs::path& answer) {
    for (int i = 1;; ++i) {
        fs::path kept = answer.string() + fmt::format(".{}", i);
        std::error_code problem;
        fs::create_hard_link(answer, kept, problem);
        if (problem == std::errc::no_such_file_or_directory) return "";
        // Some file systems have no hard links.
        if (problem && problem != std::errc::file_exists) fs::copy_file(answer, kept, problem);
        if (!problem) return kept;
        if (problem != std::errc::file_exists) throw fs::filesystem_error("cannot keep", kept, problem);
    }
}

int reset(const std::string& name) {
    const Exercise exercise = choose_exercise(name);
    const fs::path starter = scratch_beside(exercise.answer_path);
    exercise.copy_starter(starter);  // first, so that at no time there is no answer
    const fs::path kept = keep_answer(exercise.answer_path);
    fs::rename(starter, exercise.answer_path);
    if (!kept.empty()) fmt::print("your answer is kept as {}\n", exercise.course.shown(kept));
    print_next(exercise);
    return kFine;
}

int hint(const std::string& name) {
    const Exercise exercise = choose_exercise(name);
    const int all = static_cast<int>(exercise.of.hints.size());
    const int seen = exercise.progress.exercise(exercise.of.subjects()).hints;
    if (seen < all) exercise.progress.add(Step::hint, exercise.of.id);
    exercise.print_hint(seen + 1);
    if (seen + 1 < all)
        fmt::print("a further hint: ./lab hint {}\n", exercise.name);
    else
        fmt::print("{}\n", paragraph("that was the last one; the solution is " +
                                     exercise.of.programs[1].file.string()));
    return kFine;
}

}  // namespace

void add_start(Session& session) {
    const auto add = [&](const char* name, const char* summary, const char* footer,
                         int (*work)(const std::string&)) {
        const auto exercise = std::make_shared<std::string>();
        Subcommand command(session, name, summary, footer, [exercise, work] { return work(*exercise); });
        command.argument("EXERCISE", *exercise, kExerciseText);
    };
    struct Begun {
        std::string exercise;
        int draw = 0;
    };
    const auto begun = std::make_shared<Begun>();
    Subcommand command(
        session, "start", "begin an exercise: a copy of its starter to edit",
        "The copy is work/CHAPTER/N_EXERCISE/answer.cu (or .py). If you have started already, it stays as it "
        "is. In an exercise of kind unknown, your name in git draws the fault.\n"
        "Example: ./lab start ch05/vector_add_pipeline",
        [begun] { return start(begun->exercise, begun->draw); });
    command.argument("EXERCISE", begun->exercise, kExerciseText);
    command.number("--draw", "N", begun->draw, 1, 99, "takes this draw of an exercise of kind unknown");
    add("reset", "put the starter back and keep your answer beside it",
        "Your answer is renamed to answer.cu.1 (or .2 and so on, the first that is free). Your progress "
        "stays as it is.",
        reset);
    add("hint", "the next hint of an exercise",
        "Hints rise from a nudge to nearly the answer; each call shows one more. ./lab check repeats the "
        "last one that you have seen, and ./lab report counts them.",
        hint);
}

}  // namespace lab
