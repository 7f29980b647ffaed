// lab verify: on a GPU, every claim of the course once more: all findings live, and every right program clean
// under all four tools of compute-sanitizer.
#include <fmt/format.h>

#include <functional>
#include <optional>

#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "course/case_evidence.h"
#include "course/grade.h"
#include "evidence/tools.h"
#include "lab/command.h"

namespace lab {

namespace {

/// Counts what was checked, so that nothing passes by not being looked at.
struct Tally {
    int passed = 0, failed = 0, not_run = 0;

    void line(const std::string& what, Verdict verdict, const std::string& why = "") {
        fmt::print("{}  {}{}\n", verdict_mark(verdict), what, why.empty() ? "" : ": " + why);
        std::fflush(stdout);
        (verdict == Verdict::pass ? passed : verdict == Verdict::not_run ? not_run : failed)++;
    }
};

/// A step that cannot run is not passed, and the steps after it are still taken.
void attempt(const std::string& what, Tally& tally, const std::function<void()>& step) {
    try {
        step();
    } catch (const Error& problem) {
        tally.line(what, problem.exit_code == kNothingCouldRun ? Verdict::not_run : Verdict::fail,
                   problem.what());
    }
}

Evidence run_live(const Course& course, const Program& program) {
    return std::move(*record_live(course, program, announce_to_terminal).evidence);
}

void verify_findings(const Course& course, const Case& both, Tally& tally) {
    const Evidence first = run_live(course, both.programs[0]), second = run_live(course, both.programs[1]);
    for (const FindingRow& row : judge_case(both, first, second)) {
        if (!row.finding->asserted()) continue;
        std::string why, quotient;
        if (row.quotient) {
            quotient =
                fmt::format(", {}: {}", both.text_of(*row.finding->quotient), row.quotient->measured.text());
            if (row.quotient->verdict != Verdict::pass) why = row.quotient->why + ". ";
        }
        for (std::size_t side = 0; side < 2; ++side)
            if (!row.sides[side].why.empty())
                why += fmt::format("{}: {}. ", both.programs[side].name, row.sides[side].why);
        tally.line(fmt::format("{} {} ({} | {}{})", both.id, row.finding->id, row.sides[0].measured.text(),
                               row.sides[1].measured.text(), quotient),
                   row.verdict, why);
    }
}

void verify_clean(const Course& course, const Program& program, Tally& tally) {
    for (const char* tool : {"memcheck", "racecheck", "initcheck", "synccheck"}) {
        const std::string what = fmt::format("{} {}", program.source.string(), tool);
        if (!compute_sanitizer()) {
            tally.line(what, Verdict::not_run, "compute-sanitizer is not here");
            continue;
        }
        const SanitizerOutput output =
            run_sanitizer(tool, build_program(course, program, announce_to_terminal), program.check_arguments,
                          announce_to_terminal);
        const bool clean = output.errors == 0 && output.reports.empty();
        tally.line(what, clean ? Verdict::pass : Verdict::fail,
                   clean ? ""
                         : fmt::format("{} errors, the first: {}", output.errors,
                                       output.reports.empty() ? "?" : output.reports[0].kind));
    }
}

void verify_case(const Course& course, const Case& both, Tally& tally) {
    attempt(both.id, tally, [&] {
        if (const std::string missing = missing_for_live(both.needs); !missing.empty())
            throw Error(missing, kNothingCouldRun);
        verify_findings(course, both, tally);
    });
    attempt(both.programs[1].source.string(), tally, [&] { verify_clean(course, both.programs[1], tally); });
}

void verify_exercise(const Course& course, const Chapter& chapter, const Exercise& exercise, Tally& tally) {
    verify_case(course, exercise.programs, tally);
    std::optional<Evidence> first;  // recorded once, for all answers that are compared with it
    for (const WrongAnswer& wrong : read_wrong_answers(course.root(), chapter)) {
        if (wrong.exercise != exercise.name) continue;
        const std::string what =
            fmt::format("{} is rejected for {}", wrong.program.source.string(), join(wrong.fails, ", "));
        attempt(what, tally, [&] {
            const Evidence answer = run_live(course, wrong.program);
            if (compares(exercise.programs) && !first)
                first = run_live(course, exercise.programs.programs[0]);
            const Grade grade = grade_answer(exercise.programs, answer, first ? &*first : nullptr);
            const std::string missed = not_failed(grade, wrong.fails);
            tally.line(what, missed.empty() ? Verdict::pass : Verdict::fail,
                       missed.empty() ? "" : "these did not reject it: " + missed);
        });
    }
}

int verify(const std::string& name) {
    const Course course = Course::find();
    if (const std::string missing = missing_for_live({}); !missing.empty())
        throw Error(fmt::format("nothing could be verified: {}. It has not been run, and that is not a pass.",
                                missing),
                    kNothingCouldRun);
    std::vector<Chapter> chapters;
    if (name.empty())
        chapters = course.chapters();
    else
        chapters.push_back(course.chapter(name));
    std::vector<Program> programs;
    for (const Chapter& chapter : chapters)
        for (const Program& program : all_programs(course, chapter)) programs.push_back(program);
    (void)build_programs(course, programs, announce_to_terminal);

    Tally tally;
    for (const Chapter& chapter : chapters) {
        verify_case(course, chapter.pair, tally);
        for (const Exercise& exercise : chapter.exercises) verify_exercise(course, chapter, exercise, tally);
    }
    fmt::print("\nlive · {}, driver {}\n{} passed, {} failed, {} not run\n", gpu()->name, gpu()->driver,
               tally.passed, tally.failed, tally.not_run);
    if (tally.passed + tally.failed == 0) throw Error("there was nothing to verify", kFindingFailed);
    return tally.failed ? kFindingFailed : tally.not_run ? kNothingCouldRun : kFine;
}

}  // namespace

void add_verify(Session& session) {
    const auto name = std::make_shared<std::string>();
    Subcommand command(
        session,
        {.name = "verify",
         .summary = "every claim once more, live (on a GPU)",
         .does = "Runs both programs of each case and judges every finding on this GPU; runs every program "
                 "that is meant to be right under all four tools of compute-sanitizer; and sees each wrong "
                 "answer rejected for its stated reason. A line each, and at the end how many passed, "
                 "failed and were not run.",
         .exits = {{"0", "everything passed"},
                   {"1", "something failed"},
                   bad_usage(),
                   nothing_could_run("there is no GPU, or a tool is missing, so something was not run")},
         .reads = {{"ch*/, common/, harness/tests/wrong/", "the programs and their findings"}},
         .writes = {{"build/live/", "evidence and reports"}, {"build/programs/", "the programs, built"}},
         .examples = {{"./lab verify ch05", "one chapter, a few minutes"},
                      {"./lab verify", "the whole course"}},
         .see_also = {"record", "run", "docs/contributing.md"}},
        [name] { return verify(*name); });
    command.option(
        {.name = "CHAPTER", .text = "one chapter", .otherwise = "all of them", .takes = Takes::chapter},
        *name);
}

}  // namespace lab
