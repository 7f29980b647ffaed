#include "course/class_summary.h"

#include <doctest/doctest.h>

using namespace lab;

namespace {

const char* const kNow = "2026-11-20T12:00:00Z";

ExerciseReport exercise(const char* name, const char* state, int checks, std::vector<std::string> failed,
                        const char* last) {
    return {name, state, checks, 1, std::move(failed), last};
}

LearnerReport learner(const char* name, std::vector<ExerciseReport> exercises, const char* last) {
    LearnerReport report{name, "2026-11-20T11:00:00Z", last, {}};
    report.chapters.push_back({"ch05_streams", std::move(exercises), 3, 13});
    return report;
}

std::vector<LearnerReport> sample() {
    return {
        learner("Cy", {exercise("one", "not started", 0, {}, ""), exercise("two", "not started", 0, {}, "")},
                ""),
        learner("bo",
                {exercise("one", "tried", 2, {"streams"}, "2026-11-20T09:00:00Z"),
                 exercise("two", "started", 0, {}, "2026-11-20T08:00:00Z")},
                "2026-11-20T09:00:00Z"),
        learner("Ada",
                {exercise("one", "passed", 1, {}, "2026-11-10T09:00:00Z"),
                 exercise("two", "tried", 7, {"answer", "streams"}, "2026-11-18T11:00:00Z")},
                "2026-11-18T11:00:00Z"),
        learner("Di", {exercise("one", "tried", 2, {"answer", "streams"}, "2026-11-20T11:30:00Z")},
                "2026-11-20T11:30:00Z"),
    };
}

}  // namespace

TEST_CASE("who stands where: the latest exercise that is begun and not passed, most checks first") {
    const std::vector<LearnerRow> rows = learner_rows(sample());
    REQUIRE(rows.size() == 4);
    CHECK(rows[0].learner == "Ada");
    CHECK(rows[0].at == "ch05/two");
    CHECK(rows[0].passed == 1);
    CHECK(rows[0].exercises == 2);
    CHECK(rows[0].failed == std::vector<std::string>{"answer", "streams"});
    CHECK(rows[0].checks == 7);
    CHECK(rows[0].right == 3);
    CHECK(rows[1].learner == "bo");
    CHECK(rows[1].at == "ch05/one");  // later than "two"
    CHECK(rows[2].learner == "Di");
    CHECK(rows[3].learner == "Cy");
    CHECK(rows[3].at.empty());
}

TEST_CASE("an exercise whose answer nothing could grade yet is begun") {
    const std::vector<LearnerReport> reports = {
        learner("Ed", {exercise("one", "ungraded", 1, {}, "2026-11-20T09:00:00Z")}, "2026-11-20T09:00:00Z")};
    CHECK(learner_rows(reports)[0].at == "ch05/one");
    const std::string page = class_html(reports, "2026-11-20T12:00:00Z");
    CHECK(page.find("<td class=\"ungraded\" title=\"1 checks, 1 hints\">… 1</td>") != std::string::npos);
}

TEST_CASE("how the exercises go: what most learners fail by, of those who have not passed") {
    const std::vector<ExerciseRow> rows = exercise_rows(sample());
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].exercise == "ch05/one");
    CHECK(rows[0].passed == 1);
    CHECK(rows[0].begun == 2);
    CHECK(rows[0].untouched == 1);
    CHECK(rows[0].fails_most == "streams");
    CHECK(rows[0].fails_for == 2);
    CHECK(rows[1].begun == 2);
    CHECK(exercise_rows({sample()[0]}).empty());
    CHECK(exercise_rows({}).empty());
}

TEST_CASE("reports of two versions of the course, whose exercises differ in place and name") {
    const std::vector<ExerciseRow> rows = exercise_rows(
        {learner("a", {exercise("one", "tried", 1, {}, kNow), exercise("two", "tried", 1, {}, kNow)}, kNow),
         learner("b", {exercise("new", "tried", 1, {}, kNow), exercise("one", "passed", 1, {}, kNow)},
                 kNow)});
    REQUIRE(rows.size() == 3);
    for (const ExerciseRow& row : rows)
        if (row.exercise == "ch05/one") CHECK(row.passed + row.begun == 2);
}

TEST_CASE("names of one learner") {
    CHECK(same_learner("Ada Lovelace", "ada  lovelace"));
    CHECK_FALSE(same_learner("Ada", "Adam"));
    CHECK_FALSE(same_learner("Jürgen", "Jorgen"));
}

TEST_CASE("times") {
    CHECK(is_time(kNow));
    for (const char* text :
         {"", "2026-11-20", "2026-13-20T12:00:00Z", "2026-11-20T12:00:00Z ", "yesterday, at 12:00Z"})
        CHECK_FALSE(is_time(text));
    CHECK(time_since("", kNow) == "never");
    CHECK(time_since("2026-11-20T11:30:00Z", kNow) == "under 1 h");
    CHECK(time_since("2026-11-20T07:00:00Z", kNow) == "5 h");
    CHECK(time_since("2026-11-18T13:00:00Z", kNow) == "47 h");
    CHECK(time_since("2026-11-18T11:00:00Z", kNow) == "2 days");
    CHECK(time_since("2027-01-01T00:00:00Z", kNow) == "under 1 h");  // a clock that is ahead
    CHECK(hours_between("2026-02-28T12:00:00Z", "2026-03-01T12:00:00Z") == 24);
}

TEST_CASE("CSV that a spreadsheet reads, and takes for no formula") {
    std::vector<LearnerReport> reports = sample();
    reports[0].learner = "=HYPERLINK(\"x\")";
    reports[1].learner = "Lovelace, Ada";
    const std::string csv = class_csv(learner_rows(reports), kNow);
    CHECK(csv.find("learner,passed,exercises,at,failed,checks,hints,quiz_right,quiz_questions,last_activity,"
                   "idle_hours\n") == 0);
    CHECK(csv.find("Ada,1,2,ch05/two,answer streams,7,1,3,13,2026-11-18T11:00:00Z,49\n") !=
          std::string::npos);
    CHECK(csv.find("\n\"Lovelace, Ada\",0,2,ch05/one,") != std::string::npos);
    CHECK(csv.find("\n\"'=HYPERLINK(\"\"x\"\")\",0,2,,,0,0,3,13,,\n") != std::string::npos);
}

TEST_CASE("a page that needs nothing else and runs nothing") {
    std::vector<LearnerReport> reports = sample();
    reports[0].learner = "<script>alert(1)</script>";
    reports[2].chapters[0].exercises[1].name = "two\" onclick='x";
    const std::string page = class_html(reports, kNow);
    for (const char* text :
         {"<script", "http://", "https://", "src=", "<link", "@import", "url(", " onclick='", "\" onclick"})
        CHECK(page.find(text) == std::string::npos);
    CHECK(page.find("&lt;script&gt;alert(1)&lt;/script&gt;") != std::string::npos);
    CHECK(page.find("two&quot; onclick=&#39;x") != std::string::npos);
    CHECK(page.find("prefers-color-scheme: dark") != std::string::npos);
    CHECK(page.find("default-src 'none'") != std::string::npos);
    CHECK(page.find("failed last by answer, streams") != std::string::npos);
    CHECK(page.find("</html>\n") == page.size() - 8);
    CHECK(class_html({}, kNow).find("Class of 0") != std::string::npos);
}
