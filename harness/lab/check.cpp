// lab check EX: builds the learner's file, runs it under its tools and grades it by what they saw. lab watch
// EX does so whenever the file is saved, until it passes.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "core/files.h"
#include "core/terminal.h"
#include "core/text.h"
#include "course/case_evidence.h"
#include "course/judge.h"
#include "lab/command.h"
#include "lab/findings_table.h"
#include "lab/learner.h"
#include "tools/machine.h"

namespace lab {

namespace {

/// The learner's file as a program of the exercise: built, run and recorded like its solution.
Program answer_program(const Course& course, const Case& exercise) {
    Program program = exercise.programs[1];
    program.name = "answer";
    program.file = course.shown(answer_path(course, exercise));
    return program;
}

/// Prints the last lines of the program's output if it did not end as it should: they may be the reason for
/// all the rest.
void print_last_lines(const Case& exercise, const Evidence& evidence) {
    constexpr std::size_t kMostLines = 10;
    const std::optional<int> code = evidence.exit_code();
    const Finding& answer = exercise.findings.front();
    if (!code || judge(static_cast<double>(*code), *answer.expect[1]) == Verdict::pass) return;
    Statement row = evidence.database().prepare("SELECT stdout FROM PROGRAM");
    std::vector<std::string> lines = row.next() ? split(trim(row.text(0)), '\n') : std::vector<std::string>{};
    if (lines.size() > kMostLines) lines.erase(lines.begin(), lines.end() - kMostLines);
    fmt::print("  the program {} {}; the last that it printed:\n",
               *code > 128 ? "was killed by signal" : "ended with exit code",
               *code > 128 ? *code - 128 : *code);
    for (const std::string& line : lines) fmt::print("    {}\n", printable(line));
    fmt::print("\n");
}

std::string next_exercise(const Course::Chosen& chosen) {
    const auto next = static_cast<std::size_t>(chosen.part->number);
    const Chapter& chapter = chosen.chapter;
    if (next < chapter.exercises.size())
        return fmt::format("./lab start {}/{}", chapter.short_id, chapter.exercises[next].name);
    return fmt::format("./lab quiz {}", chapter.short_id);
}

/// What an answer failed by, for the learner's own record.
std::vector<std::string> failed_by(const Grade& grade) {
    std::vector<std::string> ids;
    for (const FindingRow& row : grade.rows)
        if (row.finding->asserted() && row.verdict == Verdict::fail) ids.push_back(row.finding->id);
    return ids;
}

/// `failed`: what to note of an answer that does not pass.
int finish(const Course& course, const Course::Chosen& chosen, Verdict verdict,
           const std::vector<std::string>& failed, const std::string& file) {
    const Progress progress = progress_of(course);
    const std::string& id = chosen.part->id;
    switch (verdict) {
        case Verdict::pass:
            progress.add(Step::passed, id);
            fmt::print("\n{}  {}\ncompare  diff {} {}\nnext     {}\n", green("passed"), file, file,
                       chosen.part->programs[1].file.string(), next_exercise(chosen));
            break;
        case Verdict::fail:
            progress.add(Step::failed, id, failed);
            fmt::print("\n{}  {}{}\n", red("not yet"), file,
                       is_still_the_starter(course, *chosen.part) ? ": it is still the starter" : "");
            print_hint(*chosen.part, std::max(progress.exercise(id).hints, 1));
            fmt::print("next     edit it, then ./lab check {}; a further hint: ./lab hint {}\n",
                       short_name(chosen), short_name(chosen));
            break;
        case Verdict::inconclusive:
            progress.add(Step::ungraded, id);
            fmt::print(
                "\n{}  {}: too close to call\nnext     ./lab check {} once more, with nothing else on the "
                "GPU\n",
                yellow("inconclusive"), file, short_name(chosen));
            break;
        case Verdict::not_run:
            progress.add(Step::ungraded, id);
            fmt::print(
                "\n{}  {}: what could be graded here is right, the rest was not run, and that is no "
                "pass\nnext     ./lab doctor says what is missing\n",
                yellow("not passed"), file);
            break;
    }
    return exit_code_of(verdict);
}

/// Says why the answer could not be graded, what would be, and what can be looked at instead.
int not_run_here(const Course& course, const Course::Chosen& chosen, const std::string& file,
                 const std::string& what_was_done, const std::string& missing) {
    const bool untouched = is_still_the_starter(course, *chosen.part);
    fmt::print("{}: {}{}. It was not run: {}. With a GPU and its tools, this would be graded:\n", file,
               what_was_done, untouched ? ", and it is still the starter" : "", missing);
    for (const Finding& f : chosen.part->findings)
        if (f.asserted())
            fmt::print("  - {}: {}{}\n", f.says, expected_of_answer(*chosen.part, f),
                       f.unit.empty() || f.quotient ? "" : " " + f.unit);
    const Program& starter = chosen.part->programs[0];
    const std::string name = short_name(chosen);
    if (!course.has_evidence_of(starter)) {  // a draft
        fmt::print(
            "\nnext     ./lab check {} on a machine with a GPU; nobody has recorded this exercise yet\n",
            name);
        return kNothingCouldRun;
    }
    fmt::print("\nnext     ./lab run {} shows the starter beside the solution, as they ran on a GPU\n", name);
    fmt::print("         ./lab analyze {} shows what the tools said about the starter\n",
               course.shown(course.evidence_of(starter)));
    if (!untouched)
        fmt::print("         diff -u {} {} compares it with a solution\n", file,
                   chosen.part->programs[1].file.string());
    fmt::print("         ./lab quiz {} works here\n", chosen.chapter.short_id);
    return kNothingCouldRun;
}

/// Builds, runs and grades the answer, prints all of it, and notes the result. Returns the exit code.
int check_answer(const Course& course, const Course::Chosen& chosen) {
    const Case& exercise = *chosen.part;
    const fs::path answer = answer_path(course, exercise);
    const std::string file = course.shown(answer);
    if (!fs::exists(answer))
        throw Error(fmt::format("there is no {} yet. ./lab start {} makes it.", file, short_name(chosen)));
    const Program program = answer_program(course, exercise);
    if (!nvcc())
        return not_run_here(course, chosen, file, "not compiled", "nvcc, the CUDA compiler, is not here");
    try {
        (void)build_program(course, program, announce_to_terminal);
    } catch (const ProgramError& problem) {
        // What the compiler says is the hint here.
        progress_of(course).add(Step::failed, exercise.id, {kDoesNotCompile});
        fmt::print("{}\n\n{}  {}\nnext     edit it, then ./lab check {}\n", problem.what(), red("not yet"),
                   file, short_name(chosen));
        return kFindingFailed;
    }
    if (!gpu()) {
        // The starter compiles before anything is done.
        if (!is_still_the_starter(course, exercise)) progress_of(course).add(Step::ungraded, exercise.id);
        return not_run_here(course, chosen, file, "it compiles", "there is no NVIDIA GPU here");
    }
    try {
        const LiveRun live = record_live(course, program, announce_to_terminal);
        // A comparison holds only between two runs on the same machine, one after the other.
        const std::optional<LiveRun> starter =
            exercise.compares()
                ? std::optional(record_live(course, exercise.programs[0], announce_to_terminal))
                : std::nullopt;
        const Grade grade = grade_answer(exercise, *live.evidence, starter ? &*starter->evidence : nullptr);
        fmt::print("\n{}  {}\n\n", bold(file), source_label(live.evidence->provenance(), true));
        print_last_lines(exercise, *live.evidence);
        fmt::print("{}", grade_text(exercise, grade));
        if (fs::exists(live.report)) fmt::print("report   {}\n", course.shown(live.report));
        return finish(course, chosen, grade.verdict, failed_by(grade), file);
    } catch (const ProgramError& problem) {
        fmt::print("{}\n", problem.what());
        return finish(course, chosen, Verdict::fail, {kDoesNotEnd}, file);
    }
}

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
    if (!fs::exists(answer)) start_exercise(course, *chosen.part);
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

void add_check(Session& session) {
    const auto name = std::make_shared<std::string>();
    Subcommand check(
        session, "check", "grade your answer by what the tools see",
        "Builds work/CHAPTER/N_EXERCISE/answer.cu, records it under the tools that its findings need, and "
        "shows each command line. A finding that does not hold comes with one hint. Without a GPU the answer "
        "is only compiled, which is no pass (exit code 77).\n"
        "Example: ./lab check ch05/vector_add_pipeline",
        [name] {
            const Course course = Course::find();
            return check_answer(course, choose_exercise(course, *name));
        });
    check.argument("EXERCISE", *name, kExerciseText);
    Subcommand watcher(session, "watch", "grade your answer whenever you save it",
                       "Does what ./lab check does, at once and after each save, until the answer passes or "
                       "Ctrl-C ends it. It starts the exercise if you have not.",
                       [name] { return watch(*name); });
    watcher.argument("EXERCISE", *name, kExerciseText);
}

}  // namespace lab
