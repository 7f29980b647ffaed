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
        (chosen.exercise->folder / "README.md").string(), course.shown(answer_path(course, *chosen.exercise)),
        short_name(chosen), short_name(chosen));
}

int start(const std::string& name) {
    const Course course = Course::find();
    const Course::Chosen chosen = choose_exercise(course, name);
    const fs::path answer = answer_path(course, *chosen.exercise);
    if (fs::exists(answer)) {
        fmt::print("you have started this one already; ./lab reset {} puts the starter back\n",
                   short_name(chosen));
    } else {
        copy_starter(course, *chosen.exercise);
        progress_of(course).add(Step::started, chosen.exercise->programs.id);
        fmt::print("{}  {}, {} minutes\n", bold(short_name(chosen)), chosen.exercise->programs.title,
                   chosen.exercise->minutes);
    }
    print_next(course, chosen);
    return kFine;
}

int reset(const std::string& name) {
    const Course course = Course::find();
    const Course::Chosen chosen = choose_exercise(course, name);
    const fs::path answer = answer_path(course, *chosen.exercise);
    if (fs::exists(answer)) {
        fs::path kept;
        for (int i = 1; kept.empty() || fs::exists(kept); ++i) kept = answer.string() + fmt::format(".{}", i);
        fs::rename(answer, kept);
        fmt::print("your answer is kept as {}\n", course.shown(kept));
    }
    copy_starter(course, *chosen.exercise);
    print_next(course, chosen);
    return kFine;
}

int hint(const std::string& name) {
    const Course course = Course::find();
    const Course::Chosen chosen = choose_exercise(course, name);
    const std::vector<std::string>& hints = chosen.exercise->hints;
    const Progress progress = progress_of(course);
    const auto shown = static_cast<std::size_t>(progress.exercise(chosen.exercise->programs.id).hints);
    const std::size_t now = std::min(shown, hints.size() - 1);
    if (shown < hints.size()) progress.add(Step::hint, chosen.exercise->programs.id);
    fmt::print("{}\n", paragraph(fmt::format("hint {} of {}: {}", now + 1, hints.size(), hints[now])));
    if (now + 1 < hints.size())
        fmt::print("a further hint: ./lab hint {}\n", short_name(chosen));
    else
        fmt::print("that was the last one; the solution is {}\n",
                   chosen.exercise->programs.programs[1].source.string());
    return kFine;
}

}  // namespace

void add_start(Session& session) {
    const auto add = [&](Manual page, int (*work)(const std::string&)) {
        const auto exercise = std::make_shared<std::string>();
        Subcommand command(session, std::move(page), [exercise, work] { return work(*exercise); });
        command.option(exercise_word(), *exercise);
    };
    add({.name = "start",
         .summary = "begin an exercise: a copy of its starter for you to edit",
         .does = "Copies the exercise's starter to work/, where you edit it, and says what to read, what to "
                 "edit and how to check it. If you have started already, your copy stays as it is.",
         .exits = {{"0", "the copy is there"}, bad_usage()},
         .reads = {{"ch*/exercises/N_EXERCISE/starter.cu", "what you begin with"}},
         .writes = {{"work/CHAPTER/N_EXERCISE/answer.cu", "your copy"},
                    {"work/progress.txt", "that you have started"}},
         .examples = {{"./lab start ch05/vector_add_pipeline", "begins the first exercise of chapter 5"},
                      {"./lab start ch05/1", "the same, by number"}},
         .see_also = {"check", "watch", "hint", "reset"}},
        start);
    add({.name = "reset",
         .summary = "put the starter back; your answer is kept beside it",
         .does = "Renames your answer to answer.cu.1 (or .2 and so on, the first that is free) and copies "
                 "the starter once more. Your progress stays as it is.",
         .exits = {{"0", "the starter is back"}, bad_usage()},
         .reads = {{"ch*/exercises/N_EXERCISE/starter.cu", "what you begin with"}},
         .writes = {{"work/CHAPTER/N_EXERCISE/answer.cu", "the starter"},
                    {"work/CHAPTER/N_EXERCISE/answer.cu.N", "what you had"}},
         .examples = {{"./lab reset ch05/vector_add_pipeline", "begins again, and keeps what there was"},
                      {"./lab reset ch05/1", "the same, by number"}},
         .see_also = {"start", "check"}},
        reset);
    add({.name = "hint",
         .summary = "the next hint of an exercise",
         .does = "Hints rise from a nudge to nearly the answer; each call shows one more. After the last "
                 "one it shows that one again and says where the solution is. ./lab check repeats the "
                 "furthest that you have seen. The number of hints is noted, for yourself and for ./lab "
                 "report.",
         .exits = {{"0", "a hint is shown"}, bad_usage()},
         .reads = {{"ch*/chapter.toml", "the hints"}},
         .writes = {{"work/progress.txt", "that you have seen it"}},
         .examples = {{"./lab hint ch05/vector_add_pipeline", "the first hint"},
                      {"./lab hint ch05/1", "called once more: the second"}},
         .see_also = {"check", "start", "report"}},
        hint);
}

}  // namespace lab
