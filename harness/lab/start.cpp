// lab start, reset and hint: the learner's way into an exercise.
#include <fmt/format.h>

#include "core/files.h"
#include "core/terminal.h"
#include "lab/command.h"
#include "lab/learner.h"

namespace lab {

namespace {

void print_next(const Course& course, const Course::Chosen& chosen) {
    fmt::print(
        "read   {}\nedit   {}\ncheck  ./lab check {}   (or ./lab watch {}: checks whenever you save)\n",
        (chosen.part->folder / "README.md").string(), course.shown(answer_path(course, *chosen.part)),
        short_name(chosen), short_name(chosen));
}

int start(const std::string& name) {
    const Course course = Course::find();
    const Course::Chosen chosen = choose_exercise(course, name);
    const fs::path answer = answer_path(course, *chosen.part);
    if (fs::exists(answer)) {
        fmt::print("you have started this one already; ./lab reset {} puts the starter back\n",
                   short_name(chosen));
    } else {
        start_exercise(course, *chosen.part);
        fmt::print("{}  {}, {} minutes\n", bold(short_name(chosen)), chosen.part->title,
                   chosen.part->minutes);
    }
    print_next(course, chosen);
    return kFine;
}

int reset(const std::string& name) {
    const Course course = Course::find();
    const Course::Chosen chosen = choose_exercise(course, name);
    const fs::path answer = answer_path(course, *chosen.part);
    if (fs::exists(answer)) {
        fs::path kept;
        for (int i = 1; kept.empty() || fs::exists(kept); ++i) kept = answer.string() + fmt::format(".{}", i);
        fs::rename(answer, kept);
        fmt::print("your answer is kept as {}\n", course.shown(kept));
    }
    copy_starter(course, *chosen.part);
    print_next(course, chosen);
    return kFine;
}

int hint(const std::string& name) {
    const Course course = Course::find();
    const Course::Chosen chosen = choose_exercise(course, name);
    const int all = static_cast<int>(chosen.part->hints.size());
    const Progress progress = progress_of(course);
    const int seen = progress.exercise(chosen.part->id).hints;
    if (seen < all) progress.add(Step::hint, chosen.part->id);
    print_hint(*chosen.part, seen + 1);
    if (seen + 1 < all)
        fmt::print("a further hint: ./lab hint {}\n", short_name(chosen));
    else
        fmt::print("that was the last one; the solution is {}\n", chosen.part->programs[1].file.string());
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
    add("start", "begin an exercise: a copy of its starter to edit",
        "The copy is work/CHAPTER/N_EXERCISE/answer.cu. If you have started already, it stays as it is.\n"
        "Example: ./lab start ch05/vector_add_pipeline",
        start);
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
