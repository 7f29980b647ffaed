// lab check EX: builds the learner's file, runs it under its tools and grades it by what they saw.
#include <fmt/format.h>

#include <algorithm>

#include "core/files.h"
#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "course/case_evidence.h"
#include "course/grade.h"
#include "evidence/tools.h"
#include "lab/command.h"
#include "lab/learner.h"

namespace lab {

namespace {

/// The learner's file as a program of the exercise: built, run and recorded like its solution.
Program answer_program(const Course& course, const Exercise& exercise) {
    Program program = exercise.programs.programs[1];
    program.name = "answer";
    program.source = course.shown(answer_path(course, exercise));
    return program;
}

std::string expected_of(const Case& both, const Finding& finding) {
    if (finding.quotient) return both.text_of(*finding.quotient);
    return finding.asserted() ? finding.expect[1]->text : "shown, not asserted";
}

void print_what_would_be_graded(const Exercise& exercise) {
    for (const Finding& f : exercise.programs.findings)
        if (f.asserted())
            fmt::print("  - {}: {}{}\n", f.says, expected_of(exercise.programs, f),
                       f.unit.empty() || f.quotient ? "" : " " + f.unit);
}

/// What the program printed, if it did not end as it should: that may be the reason for all the rest.
void print_last_words(const Case& both, const Evidence& evidence) {
    constexpr std::size_t kMostLines = 10;
    const std::optional<int> code = evidence.exit_code();
    const Finding& answer = both.findings.front();
    if (!code || judge(static_cast<double>(*code), *answer.expect[1]) == Verdict::pass) return;
    Statement row = evidence.database().prepare("SELECT stdout FROM PROGRAM");
    std::vector<std::string> lines = row.next() ? split(trim(row.text(0)), '\n') : std::vector<std::string>{};
    if (lines.size() > kMostLines) lines.erase(lines.begin(), lines.end() - kMostLines);
    const std::string ended = *code > 128 ? fmt::format("was killed by signal {}", *code - 128)
                                          : fmt::format("ended with exit code {}", *code);
    fmt::print("  the program {}; the last that it printed:\n", ended);
    for (const std::string& line : lines) fmt::print("    {}\n", printable(line));
    fmt::print("\n");
}

/// Reasons that the table does not show: why something has no value, or is inconclusive. Each once.
void print_reasons(const Grade& grade) {
    std::vector<std::string> said;
    for (const GradedFinding& g : grade.findings) {
        const bool in_table = g.judged.verdict == Verdict::fail && g.judged.measured.value.has_value();
        if (!g.finding->asserted() || g.judged.verdict == Verdict::pass || in_table) continue;
        if (std::find(said.begin(), said.end(), g.judged.why) != said.end()) continue;
        said.push_back(g.judged.why);
        fmt::print("{}\n", paragraph(fmt::format("  {}: {}", g.finding->says, g.judged.why), 4));
    }
}

void print_grade(const Case& both, const Grade& grade) {
    using Align = Table::Align;
    Table table({"finding", "expected", "found", "verdict"},
                {Align::left, Align::left, Align::right, Align::left});
    for (const GradedFinding& g : grade.findings) {
        const Finding& f = *g.finding;
        table.add({both.said_by(f), expected_of(both, f), g.judged.measured.text_in(f.quotient ? "" : f.unit),
                   f.asserted() ? verdict_mark(g.judged.verdict) : ""});
    }
    fmt::print("{}\n", table.text(2, table_columns()));
    print_reasons(grade);
}

/// One hint, the furthest that was asked for so far: further ones are for the learner to want.
void print_hint(const Course& course, const Course::Chosen& chosen) {
    const std::vector<std::string>& hints = chosen.exercise->hints;
    const auto shown =
        static_cast<std::size_t>(progress_of(course).exercise(chosen.exercise->programs.id).hints);
    const std::size_t index = std::min(shown == 0 ? 0 : shown - 1, hints.size() - 1);
    fmt::print("{}\n", paragraph(fmt::format("hint {} of {}: {}", index + 1, hints.size(), hints[index])));
}

std::string next_exercise(const Course::Chosen& chosen) {
    const auto next = static_cast<std::size_t>(chosen.exercise->number);
    const Chapter& chapter = chosen.chapter;
    if (next < chapter.exercises.size())
        return fmt::format("./lab start {}/{}", chapter.short_id, chapter.exercises[next].name);
    return fmt::format("./lab quiz {}", chapter.short_id);
}

/// What an answer failed by, for the learner's own record.
std::vector<std::string> failed_by(const Grade& grade) {
    std::vector<std::string> ids;
    for (const GradedFinding& g : grade.findings)
        if (g.finding->asserted() && g.judged.verdict == Verdict::fail) ids.push_back(g.finding->id);
    return ids;
}

/// `failed`: what to note of an answer that does not pass.
int finish(const Course& course, const Course::Chosen& chosen, Verdict verdict,
           const std::vector<std::string>& failed, const std::string& file) {
    const Progress progress = progress_of(course);
    const std::string& id = chosen.exercise->programs.id;
    switch (verdict) {
        case Verdict::pass:
            progress.add(Step::passed, id);
            fmt::print("\n{}  {}\ncompare  diff {} {}\nnext     {}\n", green("passed"), file, file,
                       chosen.exercise->programs.programs[1].source.string(), next_exercise(chosen));
            break;
        case Verdict::fail:
            progress.add(Step::failed, id, failed);
            fmt::print("\n{}  {}{}\n", red("not yet"), file,
                       is_still_the_starter(course, *chosen.exercise) ? ": it is still the starter" : "");
            print_hint(course, chosen);
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

/// What ./lab analyze shows of evidence, as far as the findings ask for it.
std::string shown_by_analyze(const Asked& asked) {
    std::vector<std::string> parts;
    if (asked.trace) parts.emplace_back("where its time went");
    if (asked.counters) parts.emplace_back("what ncu counted");
    if (asked.reports) parts.emplace_back("what compute-sanitizer said");
    return parts.empty() ? "what it printed" : join(parts, ", ");
}

int not_run_here(const Course& course, const Course::Chosen& chosen, const std::string& file,
                 const std::string& what_was_done, const std::string& missing) {
    const bool untouched = is_still_the_starter(course, *chosen.exercise);
    fmt::print("{}: {}{}. It was not run: {}. With a GPU and its tools, this would be graded:\n", file,
               what_was_done, untouched ? ", and it is still the starter" : "", missing);
    print_what_would_be_graded(*chosen.exercise);
    const Program& program = chosen.exercise->programs.programs[0];
    if (!course.has_evidence_of(program)) {  // a draft
        fmt::print(
            "\nnext     ./lab check {} on a machine with a GPU; nobody has recorded this exercise yet\n",
            short_name(chosen));
        return kNothingCouldRun;
    }
    const std::string starter = course.shown(course.evidence_of(program));
    fmt::print("\nnext     ./lab run {} shows the starter beside the solution, as they ran on a GPU\n",
               short_name(chosen));
    fmt::print("         ./lab analyze {} shows more of the starter: {}\n", starter,
               shown_by_analyze(asked_by(chosen.exercise->programs)));
    if (!untouched)
        fmt::print("         diff -u {} {} compares it with a solution\n", file,
                   chosen.exercise->programs.programs[1].source.string());
    fmt::print("         ./lab quiz {} works here\n", chosen.chapter.short_id);
    return kNothingCouldRun;
}

}  // namespace

int check_answer(const Course& course, const Course::Chosen& chosen) {
    const Exercise& exercise = *chosen.exercise;
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
        progress_of(course).add(Step::failed, exercise.programs.id, {kDoesNotCompile});
        fmt::print("{}\n\n{}  {}\nnext     edit it, then ./lab check {}\n", problem.what(), red("not yet"),
                   file, short_name(chosen));
        return kFindingFailed;
    }
    if (!gpu()) {
        // The starter compiles before anything is done.
        if (!is_still_the_starter(course, exercise))
            progress_of(course).add(Step::ungraded, exercise.programs.id);
        return not_run_here(course, chosen, file, "it compiles", "there is no NVIDIA GPU here");
    }
    try {
        const LiveRun live = record_live(course, program, announce_to_terminal);
        // A comparison holds only between two runs on the same machine, one after the other.
        const std::optional<LiveRun> starter =
            compares(exercise.programs)
                ? std::optional(record_live(course, exercise.programs.programs[0], announce_to_terminal))
                : std::nullopt;
        const Grade grade =
            grade_answer(exercise.programs, *live.evidence, starter ? &*starter->evidence : nullptr);
        fmt::print("\n{}  {}\n\n", bold(file), source_label(live.evidence->provenance(), true));
        print_last_words(exercise.programs, *live.evidence);
        print_grade(exercise.programs, grade);
        if (fs::exists(live.report)) fmt::print("report   {}\n", course.shown(live.report));
        return finish(course, chosen, grade.verdict, failed_by(grade), file);
    } catch (const ProgramError& problem) {
        fmt::print("{}\n", problem.what());
        return finish(course, chosen, Verdict::fail, {kDoesNotEnd}, file);
    }
}

void add_check(Session& session) {
    const auto name = std::make_shared<std::string>();
    Subcommand command(
        session,
        {.name = "check",
         .summary = "grade your answer by what the tools see",
         .does =
             "Builds your copy of the exercise, runs it, records it under the tools that its findings need, "
             "and judges every finding by what is expected of the solution. A ratio of starter and answer "
             "is judged on two runs of the same minute. Each command line is printed before it runs.\n\n"
             "What does not hold comes with one hint, the furthest that you have asked for. Where there is "
             "no GPU, your answer is compiled if nvcc is here, and what would be graded is listed: that is "
             "no pass.",
         .exits =
             {{"0", "passed: every finding holds"},
              {"1",
               "it does not compile or does not end, a finding does not hold, or it is too close to call"},
              bad_usage(),
              nothing_could_run("there is no GPU, or a tool is missing, so not everything was graded")},
         .reads = {{"work/CHAPTER/N_EXERCISE/answer.cu", "your answer"},
                   {"ch*/chapter.toml", "the findings"}},
         .writes = {{"build/live/work/", "evidence and report of the run"},
                    {"build/programs/work/",
                     "your answer, built, and what compute-sanitizer saved of it as XML"},
                    {"work/progress.txt",
                     "passed, ungraded, or failed and by which findings; nothing of an unchanged starter "
                     "that was not run"}},
         .examples = {{"./lab check ch05/vector_add_pipeline",
                       "grades work/ch05_streams/1_vector_add_pipeline/answer.cu"},
                      {"./lab check ch05/1", "the same, by number"}},
         .see_also = {"start", "watch", "hint", "run"}},
        [name] {
            const Course course = Course::find();
            return check_answer(course, choose_exercise(course, *name));
        });
    command.option(exercise_word(), *name);
}

}  // namespace lab
