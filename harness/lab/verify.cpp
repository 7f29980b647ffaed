// lab verify: on a GPU, every claim of the course once more: all findings live, every wrong answer rejected,
// and every program clean under all four tools of compute-sanitizer whose fault there is not the lesson.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <thread>

#include "core/files.h"
#include "core/parallel.h"
#include "core/terminal.h"
#include "core/text.h"
#include "course/case_evidence.h"
#include "course/grade.h"
#include "evidence/tools.h"
#include "lab/command.h"
#include "lab/verification.h"

namespace lab {

namespace {

/// Keeps what was checked, so that nothing passes by not being looked at.
struct Tally {
    std::vector<Claim> claims;

    void add(Claim claim) {
        std::string line = claim.subject;
        if (!claim.what.empty()) line += " " + claim.what;
        if (!claim.measured.empty()) line += fmt::format(" ({})", claim.measured);
        if (!claim.why.empty()) line += ": " + claim.why;
        fmt::print("{}  {}\n", verdict_mark(claim.verdict), line);
        std::fflush(stdout);
        claims.push_back(std::move(claim));
    }

    [[nodiscard]] int count(const std::function<bool(Verdict)>& wanted) const {
        return static_cast<int>(std::count_if(claims.begin(), claims.end(),
                                              [&](const Claim& claim) { return wanted(claim.verdict); }));
    }
    [[nodiscard]] int passed() const {
        return count([](Verdict v) { return v == Verdict::pass; });
    }
    [[nodiscard]] int not_run() const {
        return count([](Verdict v) { return v == Verdict::not_run; });
    }
    [[nodiscard]] int failed() const { return static_cast<int>(claims.size()) - passed() - not_run(); }
};

/// A step that cannot run is not passed, and the steps after it are still taken.
void attempt(const Claim& about, Tally& tally, const std::function<void()>& step) {
    try {
        step();
    } catch (const Error& problem) {
        Claim claim = about;
        claim.verdict = problem.exit_code == kNothingCouldRun ? Verdict::not_run : Verdict::fail;
        claim.why = problem.what();
        tally.add(std::move(claim));
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
        const std::string measured =
            fmt::format("{} | {}{}", row.sides[0].measured.text(), row.sides[1].measured.text(), quotient);
        tally.add({Claim::Kind::finding, both.id, row.finding->id, measured, row.verdict, why});
    }
}

void verify_case(const Course& course, const Case& both, Tally& tally) {
    attempt({Claim::Kind::finding, both.id, "", "", Verdict::fail, ""}, tally, [&] {
        if (const std::string missing = missing_for_live(both.needs); !missing.empty())
            throw Error(missing, kNothingCouldRun);
        verify_findings(course, both, tally);
    });
}

/// A program under a tool of compute-sanitizer.
struct SanitizerRun {
    Program program;
    std::string tool;
    bool must_report = false;  ///< else it must find nothing
};

/// The second program of a case is right, so all tools find it clean. The first one's fault is the lesson: if
/// findings ask the sanitizer about it they have the say; if not, only what the chapter states is reported.
std::vector<SanitizerRun> sanitizer_runs(const Case& both) {
    std::vector<SanitizerRun> runs;
    for (const char* tool : kSanitizerTools) {
        const auto& reports = both.first_reports;
        if (both.programs[0].sanitizers.empty())
            runs.push_back(
                {both.programs[0], tool, std::find(reports.begin(), reports.end(), tool) != reports.end()});
        runs.push_back({both.programs[1], tool});
    }
    return runs;
}

Claim judge_sanitizer(const Course& course, const SanitizerRun& wanted, const Announce& announce) {
    Claim claim{Claim::Kind::clean,
                wanted.program.source.string(),
                wanted.tool + (wanted.must_report ? ", which must report" : ""),
                "",
                Verdict::fail,
                ""};
    if (!compute_sanitizer()) {
        claim.verdict = Verdict::not_run;
        claim.why = "compute-sanitizer is not here";
        return claim;
    }
    try {
        const SanitizerOutput output =
            run_sanitizer(wanted.tool, build_program(course, wanted.program, announce),
                          wanted.program.check_arguments, announce);
        const bool clean = output.errors == 0 && output.reports.empty();
        if (clean != wanted.must_report)
            claim.verdict = Verdict::pass;
        else
            claim.why = clean ? "it reports nothing"
                              : fmt::format("{} errors, the first: {}", output.errors,
                                            output.reports.empty() ? "?" : output.reports[0].kind);
    } catch (const Error& problem) {
        claim.why = problem.what();
    }
    return claim;
}

/// Times mean nothing under the sanitizer, so several programs run at once.
void verify_clean(const Course& course, const std::vector<SanitizerRun>& runs, Tally& tally) {
    constexpr unsigned kMostAtOnce = 8;  // each takes memory of the GPU
    const Announce announce = in_turn(announce_to_terminal);
    std::vector<Claim> claims(runs.size());
    (void)compute_sanitizer();  // looked for once, before the threads ask
    for_each_in_parallel(runs.size(), std::min(std::thread::hardware_concurrency() / 2, kMostAtOnce),
                         [&](std::size_t i) { claims[i] = judge_sanitizer(course, runs[i], announce); });
    for (Claim& claim : claims) tally.add(std::move(claim));
}

void verify_companion(const Course& course, const Chapter& chapter, const Companion& companion,
                      Tally& tally) {
    const std::string id = fmt::format("{}/{}", chapter.id, companion.program.name);
    attempt({Claim::Kind::finding, id, "", "", Verdict::fail, ""}, tally, [&] {
        if (const std::string missing = missing_for_live(companion.needs); !missing.empty())
            throw Error(missing, kNothingCouldRun);
        const Evidence evidence = run_live(course, companion.program);
        for (const FindingRow& row : judge_companion(companion, evidence))
            if (row.finding->asserted())
                tally.add({Claim::Kind::finding, id, row.finding->id, row.sides[0].measured.text(),
                           row.verdict, row.sides[0].why});
    });
}

void verify_exercise(const Course& course, const Chapter& chapter, const Exercise& exercise, Tally& tally) {
    verify_case(course, exercise.programs, tally);
    std::optional<Evidence> first;  // recorded once, for all answers that are compared with it
    for (const WrongAnswer& wrong : read_wrong_answers(course.root(), chapter)) {
        if (wrong.exercise != exercise.name) continue;
        const Claim about{Claim::Kind::rejected,
                          wrong.program.source.string(),
                          "is rejected for " + join(wrong.fails, ", "),
                          "",
                          Verdict::pass,
                          ""};
        attempt(about, tally, [&] {
            const Evidence answer = run_live(course, wrong.program);
            if (compares(exercise.programs) && !first)
                first = run_live(course, exercise.programs.programs[0]);
            const Grade grade = grade_answer(exercise.programs, answer, first ? &*first : nullptr);
            Claim claim = about;
            if (const std::string missed = not_failed(grade, wrong.fails); !missed.empty()) {
                claim.verdict = Verdict::fail;
                claim.why = "these did not reject it: " + missed;
            }
            tally.add(std::move(claim));
        });
    }
}

Verified verify_chapter(const Course& course, const Chapter& chapter) {
    Tally tally;
    verify_case(course, chapter.pair, tally);
    std::vector<SanitizerRun> runs = sanitizer_runs(chapter.pair);
    for (const Companion& companion : chapter.companions) {
        verify_companion(course, chapter, companion, tally);
        for (const char* tool : kSanitizerTools) runs.push_back({companion.program, tool});
    }
    for (const Exercise& exercise : chapter.exercises) {
        verify_exercise(course, chapter, exercise, tally);
        for (SanitizerRun& run : sanitizer_runs(exercise.programs)) runs.push_back(std::move(run));
    }
    verify_clean(course, runs, tally);
    Verified verified{{{"date", utc_now()}, {"gpu", gpu()->name}, {"driver", gpu()->driver}}, {}, {}};
    if (nvcc()) verified.provenance["cuda"] = version_of(*nvcc());
    if (nsys()) verified.provenance["nsys"] = version_of(*nsys());
    if (ncu()) verified.provenance["ncu"] = version_of(*ncu());
    if (compute_sanitizer()) verified.provenance["compute-sanitizer"] = version_of(*compute_sanitizer());
    for (const Program& program : all_programs(course, chapter))
        verified.sources[program.source.string()] = course.fingerprint_of(program);
    verified.claims = std::move(tally.claims);
    return verified;
}

int verify(const std::string& name, bool save) {
    const Course course = Course::find();
    if (const std::string missing = missing_for_live({}); !missing.empty())
        throw Error(fmt::format("nothing could be verified: {}. It has not been run, and that is not a pass. "
                                "./lab doctor says what to do about it; ./lab run shows what was recorded.",
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

    Verification verification = save ? read_verification(verification_file(course)) : Verification();
    Tally all;
    for (const Chapter& chapter : chapters) {
        Verified verified = verify_chapter(course, chapter);
        all.claims.insert(all.claims.end(), verified.claims.begin(), verified.claims.end());
        verification[chapter.id] = std::move(verified);
        if (save) write_verification(verification, verification_file(course));
    }
    fmt::print("\nlive · {}, driver {}\n{} passed, {} failed, {} not run\n", gpu()->name, gpu()->driver,
               all.passed(), all.failed(), all.not_run());
    if (save) fmt::print("kept in {}; ./lab docs makes the page\n", course.shown(verification_file(course)));
    if (all.passed() + all.failed() == 0) throw Error("there was nothing to verify", kFindingFailed);
    return all.failed() ? kFindingFailed : all.not_run() ? kNothingCouldRun : kFine;
}

}  // namespace

void add_verify(Session& session) {
    struct Options {
        std::string name;
        bool save = false;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command(
        session,
        {.name = "verify",
         .summary = "every claim once more, live (on a GPU)",
         .does =
             "Runs both programs of each case and judges every finding on this GPU; runs every program "
             "under all four tools of compute-sanitizer, unless its fault there is the lesson; and sees each "
             "wrong answer rejected for its stated reason. A line each, and at the end how many passed, "
             "failed and were not run.",
         .exits = {{"0", "everything passed"},
                   {"1", "something failed"},
                   bad_usage(),
                   nothing_could_run("there is no GPU, or a tool is missing, so something was not run")},
         .reads = {{"ch*/, common/, harness/tests/wrong/", "the programs and their findings"}},
         .writes = {{"build/live/", "evidence and reports"},
                    {"build/programs/",
                     "the programs, built, and what compute-sanitizer saved of them as XML"},
                    {"docs/verification.json", "with --save: the result, for docs/verification.md"}},
         .examples = {{"./lab verify ch05", "one chapter, a few minutes"},
                      {"./lab verify", "the whole course"}},
         .see_also = {"record", "run", "docs/contributing.md"}},
        [options] { return verify(options->name, options->save); });
    command.option(
        {.name = "CHAPTER", .text = "one chapter", .otherwise = "all of them", .takes = Takes::chapter},
        options->name);
    command.flag("--save", options->save, "keeps the result for docs/verification.md");
}

}  // namespace lab
