#include "chapter_checks.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/process.h"
#include "core/text.h"
#include "course/case_evidence.h"
#include "course/grade.h"
#include "course/quiz.h"
#include "course/roofline_evidence.h"
#include "draw/roofline_evidence.h"
#include "evidence/views.h"

namespace lab {

namespace {

constexpr std::size_t kMostChangedLines = 60;
constexpr std::uintmax_t kMostBytes = 1'500'000;  ///< of one evidence file: room for 10,000 copies

/// A chapter and where it lies, and whether a draft has shown any gap.
struct Checked {
    Course course = Course::find();
    Chapter chapter;
    std::vector<WrongAnswer> wrong;

    explicit Checked(const std::string& id)
        : chapter(read_chapter(course.root(), id)), wrong(read_wrong_answers(course.root(), chapter)) {}
};

bool& skipped() {
    static bool any = false;
    return any;
}

/// May this be skipped, because the chapter is a draft and these programs are not recorded yet?
bool may_skip(const Checked& checked, const std::vector<Program>& programs) {
    if (!checked.chapter.draft || is_recorded(checked.course, programs)) return false;
    MESSAGE("not checked: ", programs[0].source.string(), " is in a draft, and not recorded yet");
    skipped() = true;
    return true;
}

std::vector<Program> programs_of(const Case& both) {
    return {both.programs.begin(), both.programs.end()};
}

/// Without evidence, a question can still be put to some recorded run of another program, for its SQL.
void check_question_is_sql(const Course& course, const std::string& id, const std::string& sql) {
    const Evidence any = Evidence::open(course.root() / "harness/tests/samples/nsys_2025.3_fixed.sqlite");
    const bool of_our_tables =
        sql.find("NSYS_RUN") != std::string::npos || sql.find("NCU_METRICS") != std::string::npos ||
        sql.find("SANITIZER_REPORTS") != std::string::npos || sql.find("PROGRAM") != std::string::npos ||
        sql.find("printed_json") != std::string::npos || sql.find("roofs") != std::string::npos;
    if (sql.empty() || of_our_tables) return;
    INFO(id, ": ", sql);
    project_ranges(any.database());
    CHECK_NOTHROW((void)any.database().prepare(sql));
}

void check_findings(const Checked& checked, const Case& both) {
    const Course& course = checked.course;
    const auto asserted = std::count_if(both.findings.begin(), both.findings.end(),
                                        [](const Finding& f) { return f.asserted(); });
    INFO(both.id, " has no finding beside the program's own answer");
    CHECK(asserted > 1);
    if (may_skip(checked, programs_of(both))) {
        for (const Finding& f : both.findings) check_question_is_sql(course, both.id + " " + f.id, f.sql);
        return;
    }
    for (const Program& program : both.programs)
        for (const Program& recorded : all_recordings(program))
            CHECK(fs::file_size(course.evidence_of(recorded)) < kMostBytes);
    const Evidence first = open_recorded(course, both.programs[0]);
    const Evidence second = open_recorded(course, both.programs[1]);
    for (const FindingRow& row : judge_case(both, first, second)) {
        if (!row.finding->asserted()) continue;
        for (std::size_t side = 0; side < 2; ++side) {
            INFO(both.id, " ", row.finding->id, ", ", both.programs[side].name, ": ", row.sides[side].why);
            CHECK(row.sides[side].verdict == Verdict::pass);
        }
        if (!row.quotient) continue;
        INFO(both.id, " ", row.finding->id, ": ", row.quotient->why);
        CHECK(row.quotient->verdict == Verdict::pass);
    }
}

void check_companion(const Checked& checked, const Companion& companion) {
    const Program& program = companion.program;
    const std::string id = checked.chapter.id + "/" + program.name;
    const auto asserted = std::count_if(companion.findings.begin(), companion.findings.end(),
                                        [](const Finding& f) { return f.asserted(); });
    INFO(id, " has no finding beside the program's own answer");
    CHECK(asserted > 1);
    if (may_skip(checked, {program})) {
        for (const Finding& f : companion.findings)
            check_question_is_sql(checked.course, id + " " + f.id, f.sql);
        return;
    }
    CHECK(fs::file_size(checked.course.evidence_of(program)) < kMostBytes);
    for (const FindingRow& row : judge_companion(companion, open_recorded(checked.course, program))) {
        if (!row.finding->asserted()) continue;
        INFO(id, " ", row.finding->id, ": ", row.sides[0].why);
        CHECK(row.verdict == Verdict::pass);
    }
}

/// Every query finds points, and all of them can be drawn under the roofs that were measured.
void check_points(const Checked& checked) {
    const Chapter& chapter = checked.chapter;
    const Companion* const companion = chapter.measures_roofs();
    if (!companion || may_skip(checked, {companion->program})) return;
    RooflineEvidence evidence =
        collect_points(checked.course, chapter, "", open_recorded(checked.course, companion->program), false);
    for (const std::string& sentence : evidence.left_out) {
        INFO(sentence);
        CHECK(chapter.draft);
        skipped() = true;
    }
    CHECK_NOTHROW(check(roofline_of(*companion, evidence)));
}

void check_starter_fails_as_stated(const Checked& checked, const Exercise& exercise) {
    const Program& program = exercise.programs.programs[0];
    if (may_skip(checked, {program})) return;
    const Evidence starter = open_recorded(checked.course, program);
    const Grade grade = grade_answer(exercise.programs, starter, &starter);
    std::set<std::string> failed;
    for (const GradedFinding& g : grade.findings)
        if (g.finding->asserted() && g.judged.verdict != Verdict::pass) failed.insert(g.finding->id);
    const std::set<std::string> stated(exercise.starter_fails.begin(), exercise.starter_fails.end());
    INFO(exercise.name, ": the starter fails ", fmt::format("{}", fmt::join(failed, ", ")), "; stated is ",
         fmt::format("{}", fmt::join(stated, ", ")));
    CHECK(failed == stated);
}

void check_wrong_answers(const Checked& checked, const Exercise& exercise) {
    std::set<std::vector<std::string>> reasons;
    int count = 0;
    for (const WrongAnswer& wrong : checked.wrong) {
        if (wrong.exercise != exercise.name) continue;
        ++count;
        REQUIRE_MESSAGE(fs::exists(checked.course.root() / wrong.program.source),
                        wrong.program.source.string(), " is missing");
        reasons.insert(wrong.fails);
        const Program& starter = exercise.programs.programs[0];
        if (may_skip(checked, {wrong.program, starter})) continue;
        const Evidence answer = open_recorded(checked.course, wrong.program);
        const Evidence first = open_recorded(checked.course, starter);
        const Grade grade = grade_answer(exercise.programs, answer, &first);
        INFO(wrong.program.source.string(), " is to be rejected because: ", wrong.why,
             " These did not reject it: ", not_failed(grade, wrong.fails));
        CHECK(grade.verdict == Verdict::fail);
        CHECK(not_failed(grade, wrong.fails).empty());
    }
    INFO(exercise.name, " has ", count, " wrong answers with ", reasons.size(),
         " different reasons; at least 2 are needed");
    CHECK(reasons.size() >= 2);
}

/// What an author left for a recording to decide is decided once a chapter is no draft.
void check_nothing_is_left_open(const Checked& checked) {
    if (checked.chapter.draft) return;
    for (const auto& entry :
         fs::recursive_directory_iterator(checked.course.root() / checked.chapter.folder)) {
        if (entry.path().extension() != ".md") continue;
        INFO(checked.course.shown(entry.path()), " holds a line '<!-- check: ... -->'");
        CHECK(read_file(entry.path()).find("<!-- check:") == std::string::npos);
    }
}

/// A draft that lacks nothing is none any more.
void check_draft_is_one(const Checked& checked) {
    if (!checked.chapter.draft) return;
    INFO(checked.chapter.id, " is recorded in full: take `draft = true` out of its chapter.toml");
    CHECK_FALSE(is_recorded(checked.course, all_programs(checked.course, checked.chapter)));
}

/// Evidence that no program asks for stays behind when one is renamed or recorded for less.
void check_evidence_belongs_to_a_program(const Checked& checked) {
    std::set<fs::path> known;
    for (const Program& program : all_programs(checked.course, checked.chapter))
        for (const Program& recorded : all_recordings(program))
            known.insert(recorded.evidence_folder / recorded.evidence_name);
    for (const fs::path& folder : std::set{checked.chapter.folder / "evidence",
                                           "harness/tests/wrong" / checked.chapter.folder / "evidence"}) {
        if (!fs::exists(checked.course.root() / folder)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(checked.course.root() / folder)) {
            if (entry.path().extension() != ".sqlite") continue;
            INFO(checked.course.shown(entry.path()), " is evidence of no program: git rm it");
            CHECK(known.count(folder / entry.path().filename()) == 1);
        }
    }
}

void check_diff(const Course& course, const Case& both) {
    const Outcome outcome = run({.words = {"diff", (course.root() / both.programs[0].source).string(),
                                           (course.root() / both.programs[1].source).string()}});
    std::size_t changed = 0;
    for (const std::string& line : split(outcome.out, '\n'))
        changed += !line.empty() && (line[0] == '<' || line[0] == '>');
    INFO("diff ", both.programs[0].source.string(), " ", both.programs[1].source.string(), " has ", changed,
         " changed lines; the diff is the explanation, so it must be small and not empty");
    CHECK(changed > 0);
    CHECK(changed <= kMostChangedLines);
}

}  // namespace

void check_pair(const std::string& id) {
    const Checked checked(id);
    check_findings(checked, checked.chapter.pair);
    check_draft_is_one(checked);
    check_nothing_is_left_open(checked);
    check_evidence_belongs_to_a_program(checked);
}

void check_companions(const std::string& id) {
    const Checked checked(id);
    REQUIRE_MESSAGE(!checked.chapter.companions.empty(), id, " has no companion");
    for (const Companion& companion : checked.chapter.companions) check_companion(checked, companion);
    check_points(checked);
}

void check_exercises(const std::string& id) {
    const Checked checked(id);
    REQUIRE_MESSAGE(!checked.chapter.exercises.empty(), id, " has no exercise");
    for (const Exercise& exercise : checked.chapter.exercises) {
        for (const char* file : {"README.md", "starter.cu", "solution.cu"})
            REQUIRE_MESSAGE(fs::exists(checked.course.root() / exercise.folder / file),
                            (exercise.folder / file).string(),
                            " is missing; the folder's number is the exercise's place in chapter.toml");
        check_findings(checked, exercise.programs);
        check_starter_fails_as_stated(checked, exercise);
        check_wrong_answers(checked, exercise);
    }
}

void check_quiz(const std::string& id) {
    const Checked checked(id);
    REQUIRE_MESSAGE(checked.chapter.quiz.size() >= 6, id, " has fewer than six questions");
    for (const Question& question : checked.chapter.quiz) {
        INFO(id, " ", question.id);
        CHECK_FALSE(question.look.empty());
        const Program program = checked.chapter.program_of(question);
        if (may_skip(checked, {program})) {
            check_question_is_sql(checked.course, question.id, question.sql);
            continue;
        }
        const double right = right_answer(question, open_recorded(checked.course, program));
        CHECK(is_right(question, right, right));
        CHECK_FALSE(is_right(question, right + 1 + 2 * question.tolerance * right, right));
    }
}

void check_small_diffs(const std::string& id) {
    const Checked checked(id);
    check_diff(checked.course, checked.chapter.pair);
    for (const Exercise& exercise : checked.chapter.exercises) check_diff(checked.course, exercise.programs);
}

bool anything_skipped() {
    return skipped();
}

}  // namespace lab
