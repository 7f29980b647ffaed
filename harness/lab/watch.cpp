// lab watch EX: checks the learner's answer whenever it is saved, until it passes.
#include <fmt/format.h>

#include <thread>

#include "core/files.h"
#include "lab/command.h"
#include "lab/learner.h"

namespace lab {

namespace {

/// What a save changes: the file's time and size. Nothing while an editor replaces the file by a new one.
using FileState = std::optional<std::pair<fs::file_time_type, std::uintmax_t>>;

FileState state_of(const fs::path& file) {
    std::error_code no_time, no_size;
    const std::pair state{fs::last_write_time(file, no_time), fs::file_size(file, no_size)};
    return no_time || no_size ? std::nullopt : std::optional(state);
}

/// Returns once the file differs from `seen` and two looks at it agree, as editors write in bursts.
FileState changed_state(const fs::path& file, const FileState& seen) {
    for (FileState before, now = seen;; before = now) {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        now = state_of(file);
        if (now && now != seen && now == before) return now;
    }
}

int watch(const std::string& name) {
    const Course course = Course::find();
    const Course::Chosen chosen = choose_exercise(course, name);
    const fs::path answer = answer_path(course, *chosen.part);
    if (!fs::exists(answer)) {
        copy_starter(course, *chosen.part);
        progress_of(course).add(Step::started, chosen.part->id);
    }
    for (FileState seen = state_of(answer);; seen = changed_state(answer, seen)) {
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
        fmt::print("\nwatching {}; save it to check again, Ctrl-C to end\n\n", course.shown(answer));
        std::fflush(stdout);
    }
}

}  // namespace

void add_watch(Session& session) {
    const auto name = std::make_shared<std::string>();
    Subcommand command(session, "watch", "grade your answer whenever you save it",
                       "Does what ./lab check does, at once and after each save, until the answer passes or "
                       "Ctrl-C ends it. It starts the exercise if you have not.",
                       [name] { return watch(*name); });
    command.argument("EXERCISE", *name, kExerciseText);
}

}  // namespace lab
