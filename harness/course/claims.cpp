#include "course/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/process.h"
#include "core/text.h"
#include "course/case_evidence.h"
#include "course/quiz.h"
#include "course/roofline_evidence.h"
#include "evidence/launches.h"

namespace lab {

namespace {

constexpr std::ptrdiff_t kMostChangedLines = 60;
constexpr std::uintmax_t kMostBytes = 1'500'000;  ///< of one evidence file: room for 10,000 copies

Claim not_judged(Claim::Kind kind, std::string subject, std::string what, std::string where = "") {
    return {kind, std::move(subject), std::move(what), "", Verdict::not_run, "", false, std::move(where)};
}

void add_judged(const AddClaim& add, Claim claim, bool holds, const std::string& why) {
    claim.verdict = holds ? Verdict::pass : Verdict::fail;
    if (!holds) claim.why = why;
    add(std::move(claim));
}

/// Adds a claim that failed or was not run if the step ends in an Error. Later steps are still taken.
void attempt(Claim about, const AddClaim& add, const std::function<void()>& step) {
    try {
        step();
    } catch (const Error& problem) {
        about.verdict = problem.exit_code == kNothingCouldRun ? Verdict::not_run : Verdict::fail;
        about.why = problem.what();
        add(std::move(about));
    }
}

/// A range that no run has would leave pictures empty, even where no finding is narrowed to it.
void check_range(const Case& of, const Evidence& evidence) {
    if (of.range && evidence.has_trace() && !has_range(evidence.trace(), *of.range))
        throw Error(of.range_where + ": " + no_such_range(evidence.trace(), *of.range), kFindingFailed);
}

void judge_findings(const Case& of, const std::vector<Evidence>& evidence, const AddClaim& add) {
    for (const FindingRow& row : judge_case(of, evidence)) {
        std::vector<std::string> measured;
        for (const Judged& side : row.sides) measured.push_back(side.measured.text());
        std::string text = join(measured, " | ");
        if (row.ratio)
            text += fmt::format(", {}: {}", of.text_of(*row.finding->ratio), row.ratio->measured.text());
        add({Claim::Kind::finding, of.id, row.finding->id, text, row.verdict, row.why(of.programs),
             !row.finding->asserted(), row.finding->where});
    }
    for (const Finding& finding : of.findings)
        if (std::any_of(evidence.begin(), evidence.end(),
                        [&](const Evidence& side) { return is_left_out(finding, side); })) {
            Claim left_out = not_judged(Claim::Kind::finding, of.id, finding.id, finding.where);
            left_out.why = fmt::format("the recording '{}' is a draft, and not made yet", finding.recording);
            add(std::move(left_out));
        }
}

/// A finding whose tool did not run neither passes nor fails a program. `ids`: the findings that matter.
void expect_all_run(const Grade& grade, const std::vector<std::string>& ids) {
    for (const FindingRow& row : grade.rows)
        if (row.verdict == Verdict::not_run && std::count(ids.begin(), ids.end(), row.finding->id))
            throw Error(row.finding->id + " was not run", kNothingCouldRun);
}

void judge_starter(const Case& of, const Evidence& starter, const AddClaim& add) {
    const Claim about =
        not_judged(Claim::Kind::starter, of.programs[kFaulty].id(), "fails " + join(of.starter_fails, ", "));
    attempt(about, add, [&] {
        const Grade grade = grade_answer(of, starter, &starter);
        const std::vector<std::string> failed = grade.not_passed();
        expect_all_run(grade, failed);
        const std::set found(failed.begin(), failed.end());
        add_judged(add, about, found == std::set(of.starter_fails.begin(), of.starter_fails.end()),
                   "it fails " + join(failed, ", "));
    });
}

/// The findings that were to reject a wrong answer, and did not.
std::vector<std::string> missed_by(const Answer& wrong, const Grade& grade) {
    std::vector<std::string> missed;
    for (const FindingRow& row : grade.rows)
        if (row.verdict != Verdict::fail &&
            std::count(wrong.fails.begin(), wrong.fails.end(), row.finding->id))
            missed.push_back(row.finding->id);
    return missed;
}

/// Adds what an answer's grade proves. It fails for findings that came out `otherwise`, and is inconclusive
/// where each of them is.
void add_graded(const AddClaim& add, Claim claim, const Grade& grade,
                const std::vector<std::string>& otherwise, const std::string& why) {
    claim.verdict = otherwise.empty() ? Verdict::pass : Verdict::inconclusive;
    std::vector<std::string> said;
    for (const FindingRow& row : grade.rows) {
        if (!std::count(otherwise.begin(), otherwise.end(), row.finding->id)) continue;
        if (row.verdict != Verdict::inconclusive) claim.verdict = Verdict::fail;
        const std::string measured = row.why({});
        said.push_back(row.finding->id + (measured.empty() ? "" : " (" + measured + ")"));
    }
    if (!said.empty()) claim.why = why + join(said, ", ");
    add(std::move(claim));
}

void check_diff(const Course& course, const Case& of, const AddClaim& add) {
    const std::string first = of.programs[kFaulty].file.string(), second = of.programs[kRight].file.string();
    const std::vector<std::string> lines =
        split(run({.words = {"diff", course.root() / first, course.root() / second}}).out, '\n');
    const auto changed = std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
        return (line.starts_with("<") || line.starts_with(">")) && !trim(line.substr(1)).starts_with("//");
    });
    add_judged(add, not_judged(Claim::Kind::structure, of.id, "small difference"),
               changed > 0 && changed <= kMostChangedLines,
               fmt::format("diff {} {} has {} changed lines; the difference is the explanation, so it has "
                           "1 to {}",
                           first, second, changed, kMostChangedLines));
}

/// Is this recording of each program that is recorded so there?
bool is_made(const Course& course, const Case& of, const Recording& recording) {
    for (const Program& program : of.all_programs())
        if (const Recording* const own = program.recording_called(recording.name))
            if (!course.has_evidence_of(program.recorded_as(*own))) return false;
    return true;
}

/// Evidence that no program asks for stays behind when one is renamed or recorded for less.
void check_files(const Course& course, const Case& of, const AddClaim& add) {
    std::set<std::string> known;
    std::vector<std::string> faults;
    std::vector<Program> programs = of.all_programs();
    for (const Case& draw : of.further_draws) append(programs, draw.all_programs());
    for (const Program& program : programs)
        for (const Program& recorded : all_recordings(program)) known.insert(recorded.evidence_name());
    std::error_code missing;
    const fs::path folder = course.root() / of.folder / "evidence";
    for (const auto& entry : fs::recursive_directory_iterator(folder, missing)) {
        if (entry.path().extension() != ".sqlite") continue;
        const std::string shown = course.shown(entry.path());
        const fs::path run = entry.path().lexically_relative(folder);  // begins with the GPU's folder
        if (!known.count(run.lexically_relative(*run.begin()).string()))
            faults.push_back(shown + " is evidence of no program: git rm it");
        if (entry.file_size() >= kMostBytes)
            faults.push_back(
                fmt::format("{} has {} bytes, of at most {}", shown, entry.file_size(), kMostBytes));
    }
    for (const Recording& recording : of.programs[0].further)
        if (recording.draft && is_made(course, of, recording))
            faults.push_back(
                fmt::format("the recording '{}' is made: take `draft = true` out of its block in "
                            "case.toml",
                            recording.name));
    if (of.draft && is_freshly_recorded(course, programs))
        faults.push_back("all of it is recorded: take `draft = true` out of its case.toml");
    add_judged(add, not_judged(Claim::Kind::structure, of.id, "evidence files"), faults.empty(),
               join(faults, "; "));
}

EvidenceOf recorded_evidence(const Course& course, bool stale_fails) {
    return [&course, stale_fails](const Case& of, const Program& program) {
        (void)course.source_of(program);  // a patch that does not apply fails, recorded or not
        if (!is_recorded(course, {program}))
            throw Error(fmt::format("{} is not recorded{}. On a machine with a GPU: ./lab record",
                                    program.file.string(), of.draft ? " yet, as its case is a draft" : ""),
                        of.draft ? kNothingCouldRun : kFindingFailed);
        Evidence evidence = open_recorded(course, program);
        if (evidence.is_stale())
            throw Error(
                fmt::format("{} is stale: {}, a header that it includes, its flags or its arguments have "
                            "changed since it was recorded. On a machine with a GPU: ./lab record --stale",
                            course.shown(course.evidence_of(program)), program.file.string()),
                stale_fails && !of.draft ? kFindingFailed : kNothingCouldRun);
        return evidence;
    };
}

void judge_answers(const Chapter& chapter, const EvidenceOf& evidence_of, const AddClaim& add) {
    for (const Question& question : chapter.questions()) {
        const std::string subject =
            question.purpose == Question::diagnosis ? chapter.case_of(question).id : chapter.id;
        const Claim about = not_judged(Claim::Kind::answer, subject, question.id, question.where);
        attempt(about, add, [&] {
            const Case& of = chapter.case_of(question);
            const Evidence evidence = evidence_of(of, of.programs[question.side]);
            (void)right_words(question, *evidence.recording(question.recording));
            add_judged(add, about, true, "");
        });
    }
}

void check_structure(const Course& course, const Chapter& chapter, const AddClaim& add) {
    for (const Case* each : chapter.cases()) {
        if (each->draw > 1) continue;  // its files are the first draw's
        if (each->programs.size() > 1)
            attempt(not_judged(Claim::Kind::structure, each->id, "small difference"), add,
                    [&] { check_diff(course, *each, add); });
        check_files(course, *each, add);
    }
    const Case* const roofs = chapter.measures_roofs();
    if (!roofs || !is_recorded(course, roofs->programs)) return;
    const Claim about = not_judged(Claim::Kind::structure, chapter.id, "roofline");
    attempt(about, add, [&] {
        const RooflineEvidence found =
            collect_points(course, chapter, "", open_recorded_roofs(course, chapter, ""), false);
        add_judged(add, about, found.left_out.empty(), join(found.left_out, "; "));
    });
}

}  // namespace

void judge_claims(const Case& of, const EvidenceOf& evidence_of, const AddClaim& add) {
    std::vector<Evidence> evidence;
    attempt(not_judged(Claim::Kind::finding, of.id, ""), add, [&] {
        for (const Program& program : of.programs)
            check_range(of, evidence.emplace_back(evidence_of(of, program)));
        judge_findings(of, evidence, add);
        if (of.kind == CaseKind::exercise) judge_starter(of, evidence[kFaulty], add);
    });
    const auto grade = [&](const Answer& answer) {
        const Evidence run = evidence_of(of, answer.program);
        if (of.compares() && evidence.empty()) evidence.push_back(evidence_of(of, of.programs[kFaulty]));
        return grade_answer(of, run, of.compares() ? &evidence[kFaulty] : nullptr);
    };
    for (const Answer& wrong : of.wrong) {
        const std::string file = wrong.program.file.string();
        const Claim about = not_judged(Claim::Kind::rejected, file,
                                       "is rejected for " + join(wrong.fails, ", "), file + ":1");
        attempt(about, add, [&] {
            const Grade found = grade(wrong);
            expect_all_run(found, wrong.fails);
            add_graded(add, about, found, missed_by(wrong, found), "these did not reject it: ");
        });
    }
    for (const Answer& right : of.right) {
        const std::string file = right.program.file.string();
        const Claim about = not_judged(Claim::Kind::accepted, file, "is accepted", file + ":1");
        attempt(about, add, [&] {
            const Grade found = grade(right);
            const auto failed = found.not_passed();
            expect_all_run(found, failed);
            add_graded(add, about, found, failed, "it does not pass ");
        });
    }
}

Claims recorded_claims(const Course& course, const Chapter& chapter, bool stale_fails) {
    Claims claims;
    const AddClaim add = [&](Claim claim) { claims.push_back(std::move(claim)); };
    const EvidenceOf evidence_of = recorded_evidence(course, stale_fails);
    for (const Case* each : chapter.cases()) judge_claims(*each, evidence_of, add);
    judge_answers(chapter, evidence_of, add);
    check_structure(course, chapter, add);
    return claims;
}

}  // namespace lab
