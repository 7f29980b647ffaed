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

namespace lab {

namespace {

constexpr std::size_t kMostChangedLines = 60;

Chapter load(const Course& course, const std::string& id) {
    return read_chapter(course.root(), id);
}

void check_findings(const Course& course, const Case& both) {
    for (const Program& program : both.programs) CHECK(fs::file_size(course.evidence_of(program)) < 200'000);
    const Evidence first = open_recorded(course, both.programs[0]);
    const Evidence second = open_recorded(course, both.programs[1]);
    int asserted = 0;
    for (const FindingRow& row : judge_case(both, first, second)) {
        if (!row.finding->expect[0]) continue;
        ++asserted;
        for (std::size_t side = 0; side < 2; ++side) {
            INFO(both.id, " ", row.finding->id, ", ", both.programs[side].name, ": ", row.sides[side].why);
            CHECK(row.sides[side].verdict == Verdict::pass);
        }
    }
    INFO(both.id, " has no finding beside the program's own answer");
    CHECK(asserted > 1);
}

void check_starter_fails_as_stated(const Course& course, const Exercise& exercise) {
    const Grade grade = grade_answer(exercise.programs, open_recorded(course, exercise.programs.programs[0]));
    std::set<std::string> failed;
    for (const GradedFinding& g : grade.findings)
        if (g.judged.verdict != Verdict::pass) failed.insert(g.finding->id);
    const std::set<std::string> stated(exercise.starter_fails.begin(), exercise.starter_fails.end());
    INFO(exercise.name, ": the starter fails ", fmt::format("{}", fmt::join(failed, ", ")), "; stated is ",
         fmt::format("{}", fmt::join(stated, ", ")));
    CHECK(failed == stated);
}

void check_wrong_answers(const Course& course, const Exercise& exercise,
                         const std::vector<WrongAnswer>& all) {
    std::set<std::vector<std::string>> reasons;
    int count = 0;
    for (const WrongAnswer& wrong : all) {
        if (wrong.exercise != exercise.name) continue;
        ++count;
        const Grade grade = grade_answer(exercise.programs, open_recorded(course, wrong.program));
        INFO(wrong.program.source.string(), " is to be rejected because: ", wrong.why,
             " These did not reject it: ", not_failed(grade, wrong.fails));
        CHECK(grade.verdict == Verdict::fail);
        CHECK(not_failed(grade, wrong.fails).empty());
        reasons.insert(wrong.fails);
    }
    INFO(exercise.name, " has ", count, " wrong answers with ", reasons.size(),
         " different reasons; at least 2 are needed");
    CHECK(reasons.size() >= 2);
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

void check_pair(const std::string& chapter) {
    const Course course = Course::find();
    check_findings(course, load(course, chapter).pair);
}

void check_exercises(const std::string& id) {
    const Course course = Course::find();
    const Chapter chapter = load(course, id);
    const std::vector<WrongAnswer> wrong = read_wrong_answers(course.root(), chapter);
    REQUIRE_MESSAGE(!chapter.exercises.empty(), id, " has no exercise");
    for (const Exercise& exercise : chapter.exercises) {
        for (const char* file : {"README.md", "starter.cu", "solution.cu"})
            REQUIRE_MESSAGE(fs::exists(course.root() / exercise.folder / file),
                            (exercise.folder / file).string(),
                            " is missing; the folder's number is the exercise's place in chapter.toml");
        check_findings(course, exercise.programs);
        check_starter_fails_as_stated(course, exercise);
        check_wrong_answers(course, exercise, wrong);
    }
}

void check_quiz(const std::string& id) {
    const Course course = Course::find();
    const Chapter chapter = load(course, id);
    REQUIRE_MESSAGE(chapter.quiz.size() >= 6, id, " has fewer than six questions");
    for (const Question& question : chapter.quiz) {
        INFO(id, " ", question.id);
        const double right = right_answer(question, open_recorded(course, chapter.program_of(question)));
        CHECK(is_right(question, right, right));
        CHECK_FALSE(is_right(question, right + 1 + 2 * question.tolerance * right, right));
        CHECK_FALSE(question.look.empty());
    }
}

void check_small_diffs(const std::string& id) {
    const Course course = Course::find();
    const Chapter chapter = load(course, id);
    check_diff(course, chapter.pair);
    for (const Exercise& exercise : chapter.exercises) check_diff(course, exercise.programs);
}

}  // namespace lab
