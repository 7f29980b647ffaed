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
#include "tools/libraries.h"
#include "tools/machine.h"

namespace lab {

namespace {

/// A program of the exercise as it is recorded for a grade: without ncu's pages, which take many passes, if
/// nothing is asked of them.
Program graded(const Case& of, std::size_t side) {
    Program program = of.programs[side];
    if (!of.asks_details_of_answers()) program.ncu_details.clear();
    return program;
}

/// The learner's file as a program of the exercise: built, run and recorded like its solution.
Program answer_program(const Exercise& exercise) {
    Program program = graded(exercise.of, kRight);
    program.name = "answer";
    program.file = exercise.answer;
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
    for (const std::string& line : lines) fmt::print("{}\n", indented(printable(line)));
    fmt::print("\n");
}

/// The page that explains a fault which the exercise's own page doesn't name, as a line to go on with.
std::string explained_in(const Exercise& exercise) {
    const fs::path page = exercise.of.folder / "after.md";
    return fs::exists(exercise.course.root() / page) ? "\nread     " + unbroken(page.string()) : "";
}

/// What is asked of an answer would tell its diagnosis, so that comes first.
bool may_be_told(const Exercise& exercise) {
    return is_diagnosed(exercise.progress, exercise.chosen.chapter, exercise.of);
}

/// `what` an answer's grade would show, as a sentence that names the command which comes first.
std::string told_after_diagnosis(const Exercise& exercise, const std::string& what) {
    return fmt::format("{} would tell its diagnosis, so that comes first: ./lab diagnose {}", what,
                       exercise.name);
}

/// Notes and prints the verdict on an answer, and what to do next. `failed`: by what it does not pass.
int finish(const Exercise& exercise, Verdict verdict, const std::vector<std::string>& failed) {
    const std::string &id = exercise.of.id, &file = exercise.answer, &name = exercise.name;
    const auto end = [&](Step step, const std::string& word, const std::string& more,
                         const std::string& next) {
        exercise.progress.add(step, id, failed);
        fmt::print("\n{}\n", paragraph(fmt::format("{}  {}{}", word, file, more)));
        if (step == Step::failed)
            exercise.print_hint(std::max(exercise.progress.exercise(exercise.of.subjects()).hints, 1));
        fmt::print("next     {}\n", paragraph(next, 9));
        return step == Step::repaired ? kFindingFailed : exit_code_of(verdict);
    };
    switch (verdict) {
        case Verdict::pass:
            if (!may_be_told(exercise))
                return end(Step::repaired, yellow("repaired"),
                           ", and not diagnosed: what was wrong, and how do you know?",
                           fmt::format("./lab diagnose {} asks; with that it has passed", name));
            return end(Step::passed, green("passed"),
                       "\ncompare  " +
                           unbroken(fmt::format("diff {} {}", file, exercise.of.programs[1].file.string())) +
                           explained_in(exercise),
                       next_exercise(exercise.progress, exercise.chosen.chapter, exercise.of));
        case Verdict::fail:
            return end(
                Step::failed, red("not yet"),
                exercise.is_still_the_starter() ? ": it is still the starter" : "",
                fmt::format("edit it, then ./lab check {}; a further hint: ./lab hint {}", name, name));
        case Verdict::inconclusive:
            return end(Step::ungraded, yellow("inconclusive"), ": too close to call",
                       fmt::format("./lab check {} once more, with nothing else on the GPU", name));
        case Verdict::not_run:
            break;
    }
    return end(Step::ungraded, yellow("not passed"),
               ": what could be graded here is right, the rest was not run, and that is no pass",
               "./lab doctor says what is missing");
}

/// The asserted findings that an answer fails.
std::vector<std::string> failed_in(const Grade& grade) {
    std::vector<std::string> failed;
    for (const FindingRow& row : grade.rows)
        if (row.finding->asserted() && row.verdict == Verdict::fail) failed.push_back(row.finding->id);
    return failed;
}

void print_grade(const Exercise& exercise, const Grade& grade) {
    if (may_be_told(exercise)) {
        fmt::print("{}", grade_text(exercise.of, grade));
        return;
    }
    std::size_t asked = 0, hold = 0;
    for (const FindingRow& row : grade.rows)
        if (row.finding->asserted()) {
            ++asked;
            if (row.verdict == Verdict::pass) ++hold;
        }
    fmt::print("{}\n",
               paragraph(fmt::format("{} of {} findings hold. {}", hold, asked,
                                     told_after_diagnosis(exercise, "Which ones an answer must show"))));
}

/// Says why the answer could not be graded by more than these rows, and what would be.
void print_not_run(const Exercise& exercise, const std::string& what_was_done, const std::string& missing,
                   const Grade& judged = {}) {
    const bool told = may_be_told(exercise);
    fmt::print(
        "{}\n",
        paragraph(fmt::format(
            "{}: {}{}. It was not run: {}. With a GPU and its tools, {} would be graded{}{}", exercise.answer,
            what_was_done, exercise.is_still_the_starter() ? ", and it is still the starter" : "", missing,
            told ? "this" : "more", judged.rows.empty() ? "" : ", too",
            told ? ":" : ". " + told_after_diagnosis(exercise, "What is asked of an answer"))));
    if (!told) return;
    const auto is_judged = [&](const Finding& f) {
        return std::any_of(judged.rows.begin(), judged.rows.end(),
                           [&](const FindingRow& row) { return row.finding == &f; });
    };
    for (const Finding& f : exercise.of.findings)
        if (f.asserts(kRight) && !f.draft && !is_judged(f))
            fmt::print("{}\n",
                       paragraph(fmt::format("  - {}: {}{}", f.says, expected_of_answer(exercise.of, f),
                                             f.ratio ? "" : unit_behind_number(f.unit)),
                                 4));
}

/// Says what can be done in place of a grade.
int not_run_here(const Exercise& exercise) {
    const Course& course = exercise.course;
    const Program& starter = exercise.of.programs[0];
    if (!course.has_evidence_of(starter)) return kNothingCouldRun;  // a draft
    std::string next = fmt::format("./lab diagnose {} asks what is wrong with the starter\n", exercise.name);
    if (may_be_told(exercise)) {
        next = is_reviewed(exercise.progress, exercise.of)
                   ? next_exercise(exercise.progress, exercise.chosen.chapter, exercise.of)
                   : fmt::format("./lab review {} asks which recorded answer you'd merge", exercise.name);
        next += "\n";
    }
    next += fmt::format("./lab analyze {} shows what the tools said about the starter",
                        course.shown(course.evidence_of(starter)));
    if (may_be_told(exercise))
        next += fmt::format(
            "\n./lab run {} --solution shows the starter beside the solution, as they ran on a GPU",
            exercise.name);
    fmt::print("\nnext     {}\n", paragraph(next, 9));
    return kNothingCouldRun;
}

/// Grades a compiled answer as far as its machine code tells. `missing`: why it cannot be run.
int check_unrun(const Exercise& exercise, const Program& program, std::string missing) {
    const Case& of = exercise.of;
    Grade grade;
    if (of.needs().code && !cuobjdump()) {
        missing +=
            ", and no cuobjdump, which would show its machine code (package cuda-cuobjdump-13-0, or of your "
            "toolkit's release; docs/setup.md)";
    } else if (of.needs().code) {
        const Evidence code = record_code_alone(exercise.course, program, announce_to_terminal);
        grade = grade_answer(of, code);
        std::erase_if(grade.rows, [](const FindingRow& row) { return row.verdict == Verdict::not_run; });
        fmt::print("\n{}\n\n", paragraph(fmt::format("{}  machine code · {}, CUDA {}", bold(exercise.answer),
                                                     value_of(code.provenance(), "code_arch"),
                                                     value_of(code.provenance(), "cuda"))));
        print_grade(exercise, grade);
    }
    print_not_run(exercise, "it compiles", missing, grade);
    if (const std::vector<std::string> failed = failed_in(grade); !failed.empty())
        return finish(exercise, Verdict::fail, failed);
    // The starter compiles before anything is done.
    if (!exercise.is_still_the_starter()) exercise.progress.add(Step::ungraded, of.id);
    return not_run_here(exercise);
}

/// Builds, runs and grades the answer, prints all of it, and notes the result. Returns the exit code.
int check_answer(const Exercise& exercise) {
    const Case& of = exercise.of;
    if (!fs::exists(exercise.answer_path))
        throw Error(
            fmt::format("there is no {} yet. ./lab start {} makes it.", exercise.answer, exercise.name));
    const Program program = answer_program(exercise);
    const auto cannot_be_compiled = [&](const std::string& missing) {
        print_not_run(exercise, "not compiled", missing);
        return not_run_here(exercise);
    };
    if (!program.is_python() && !nvcc()) return cannot_be_compiled("nvcc, the CUDA compiler, is not here");
    const std::string missing = missing_for_programs(of);
    if (!missing_libraries(program.flags).empty()) return cannot_be_compiled(missing);
    try {
        (void)build_program(exercise.course, program, announce_to_terminal);
    } catch (const ProgramError& problem) {
        // What the compiler says is the hint here.
        exercise.progress.add(Step::failed, of.id, {kDoesNotCompile});
        fmt::print("{}\n\n{}  {}\nnext     edit it, then ./lab check {}\n", problem.what(), red("not yet"),
                   exercise.answer, exercise.name);
        return kFindingFailed;
    }
    if (!gpu()) return check_unrun(exercise, program, "there is no NVIDIA GPU here");
    if (!missing.empty()) return check_unrun(exercise, program, missing);
    try {
        const Evidence live = record_live(exercise.course, program, announce_to_terminal);
        // A comparison holds only between two runs on the same machine, one after the other.
        std::optional<Evidence> starter;
        if (of.compares()) starter = record_live(exercise.course, graded(of, kFaulty), announce_to_terminal);
        const Grade grade = grade_answer(of, live, starter ? &*starter : nullptr);
        fmt::print("\n{}\n\n",
                   paragraph(bold(exercise.answer) + "  " + source_label(live.provenance(), true)));
        print_last_lines(of, live);
        print_grade(exercise, grade);
        const fs::path report =
            live_evidence_path(exercise.course, program)
                .replace_extension(program.profiles_itself ? kTraceExtension : ".nsys-rep");
        if (fs::exists(report)) fmt::print("report   {}\n", exercise.course.shown(report));
        return finish(exercise, grade.verdict, failed_in(grade));
    } catch (const ProgramError& problem) {
        fmt::print("{}\n", problem.what());
        return finish(exercise, Verdict::fail, {kDoesNotEnd});
    }
}

/// When the file was saved last. Nothing while an editor replaces the file by a new one.
std::optional<fs::file_time_type> saved_at(const fs::path& file) {
    std::error_code failed;
    const auto time = fs::last_write_time(file, failed);
    return failed ? std::nullopt : std::optional(time);
}

int watch(const std::string& name) {
    const Exercise exercise = choose_exercise(name);
    const fs::path& answer = exercise.answer_path;
    if (!fs::exists(answer)) exercise.start();
    for (;;) {
        const auto seen = saved_at(answer);
        int result = kBadInput;
        try {
            result = check_answer(exercise);
        } catch (const Error& problem) {
            fmt::print("{}\n", problem.what());
        }
        if (result == kFine) {
            fmt::print("passed, so watching ends\n");
            return kFine;
        }
        fmt::print("\nwatching {}; save it to check again, Ctrl-C to end\n\n", exercise.answer);
        std::fflush(stdout);
        do {
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
        } while (!saved_at(answer) || saved_at(answer) == seen);
    }
}

}  // namespace

void add_check(Session& session) {
    const auto name = std::make_shared<std::string>();
    Subcommand check(session, "check", "grade your answer by what the tools see",
                     "Builds work/CHAPTER/N_EXERCISE/answer.cu (or .py), records it under the tools that its "
                     "findings need, and shows each command line. A finding that does not hold comes with "
                     "one hint. Without a GPU the answer is only compiled, and its machine code looked at "
                     "where a finding asks for it, which is no pass (exit code 77).\n"
                     "Example: ./lab check ch05/vector_add_pipeline",
                     [name] { return check_answer(choose_exercise(*name)); });
    check.argument("EXERCISE", *name, kExerciseText);
    Subcommand watcher(session, "watch", "grade your answer whenever you save it",
                       "Does what ./lab check does, at once and after each save, until the answer passes or "
                       "Ctrl-C ends it. It starts the exercise if you have not.",
                       [name] { return watch(*name); });
    watcher.argument("EXERCISE", *name, kExerciseText);
}

}  // namespace lab
