// lab watch EX: checks the learner's answer whenever it is saved, until it passes.
#include <fmt/format.h>

#include "core/file_watch.h"
#include "core/files.h"
#include "lab/command.h"
#include "lab/learner.h"

namespace lab {

namespace {

int watch(const std::string& name) {
    const Course course = Course::find();
    const Course::Chosen chosen = choose_exercise(course, name);
    const fs::path answer = answer_path(course, *chosen.exercise);
    if (!fs::exists(answer)) {
        copy_starter(course, *chosen.exercise);
        progress_of(course).add(Step::started, chosen.exercise->programs.id);
    }
    FileWatch file(answer);
    for (;;) {
        int result = kBadInput;
        try {
            result = check_answer(course, chosen);
        } catch (const Error& problem) {
            fmt::print("{}\n", problem.what());
        }
        if (result == kFine) {
            fmt::print("passed, so watching ends\n");
            return kFine;
        }
        fmt::print("\nwatching {} ({}); save it to check again, Ctrl-C to end\n", course.shown(answer),
                   file.method());
        std::fflush(stdout);
        while (!file.wait(std::chrono::hours(1))) {
        }
        fmt::print("\n");
    }
}

}  // namespace

void add_watch(Session& session) {
    const auto name = std::make_shared<std::string>();
    Subcommand command(session,
                       {.name = "watch",
                        .summary = "grade your answer whenever you save it",
                        .does = "Does what ./lab check does, at once and then again whenever the file "
                                "changes, until it passes or Ctrl-C ends it. It starts the exercise if you "
                                "have not. It asks the kernel for changes (inotify) and looks at the file "
                                "three times a second where that is not possible.",
                        .exits = {{"0", "passed"}, bad_usage()},
                        .reads = {{"work/CHAPTER/N_EXERCISE/answer.cu", "your answer"}},
                        .writes = {{"build/live/work/", "evidence and report of the latest run"},
                                   {"work/progress.txt", "each result"}},
                        .examples = {{"./lab watch ch05/vector_add_pipeline", "checks whenever you save"},
                                     {"LAB_WATCH=polling ./lab watch ch05/1",
                                      "on a network drive that tells of no changes"}},
                        .see_also = {"check", "start", "hint"}},
                       [name] { return watch(*name); });
    command.option(exercise_word(), *name);
}

}  // namespace lab
