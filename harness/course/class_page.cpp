// The class as one HTML page (class_summary.h).
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "course/chapter.h"
#include "course/class_summary.h"

namespace lab {

namespace {

const char* const kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Class</title>
<style>
:root { color-scheme: light dark; --line: #d0d7de; --dim: #59636e; --pass: #1a7f37; --try: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --line: #3d444d; --dim: #9198a1; --pass: #3fb950; --try: #d29922; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
p, caption { color: var(--dim); text-align: left; }
div { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .7rem; text-align: left; vertical-align: top; }
th { white-space: nowrap; } td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.passed { color: var(--pass); } .tried, .ungraded, .started { color: var(--try); }
</style>
</head>
<body>
)";

std::string header(const std::vector<std::string>& names) {
    std::string row = "<tr>";
    for (const std::string& name : names) row += "<th scope=\"col\">" + xml_text(name) + "</th>";
    return row + "</tr>\n";
}

std::string text_cell(const std::string& text) {
    return "<td>" + xml_text(text) + "</td>";
}

std::string number_cell(const std::string& text) {
    return "<td class=\"n\">" + xml_text(text) + "</td>";
}

std::string of(int part, int whole) {
    return fmt::format("{} of {}", part, whole);
}

std::string learner_table(const std::vector<LearnerRow>& rows, const std::string& now) {
    std::string text =
        "<h2>Who stands where</h2>\n<div><table>\n" +
        header({"learner", "passed", "at", "failed last by", "checks", "hints", "quiz", "last seen"});
    for (const LearnerRow& r : rows) {
        const bool at_hand = !r.at.empty();
        text += "<tr><th scope=\"row\">" + xml_text(r.learner) + "</th>" +
                number_cell(of(r.passed, r.exercises)) + text_cell(r.at) + text_cell(join(r.failed, ", ")) +
                number_cell(at_hand ? std::to_string(r.checks) : "") +
                number_cell(at_hand ? std::to_string(r.hints) : "") + number_cell(of(r.right, r.questions)) +
                number_cell(time_since(r.last, now)) + "</tr>\n";
    }
    return text + "</table></div>\n";
}

std::string exercise_table(const std::vector<ExerciseRow>& rows) {
    std::string text = "<h2>How the exercises go</h2>\n<div><table>\n" +
                       header({"exercise", "passed", "at hand", "not begun", "fails most by"});
    for (const ExerciseRow& r : rows)
        text += "<tr><th scope=\"row\">" + xml_text(r.exercise) + "</th>" +
                number_cell(std::to_string(r.passed)) + number_cell(std::to_string(r.begun)) +
                number_cell(std::to_string(r.untouched)) +
                text_cell(r.fails_for > 0 ? fmt::format("{} ({})", r.fails_most, r.fails_for) : "") +
                "</tr>\n";
    return text + "</table></div>\n";
}

/// What one learner has done of one exercise; an empty cell if nothing.
std::string state_cell(const LearnerReport& report, const std::string& exercise) {
    const std::size_t slash = exercise.find('/');
    for (const ChapterReport& chapter : report.chapters) {
        if (short_chapter_id(chapter.id) != exercise.substr(0, slash)) continue;
        for (const ExerciseReport& e : chapter.exercises) {
            if (e.name != exercise.substr(slash + 1) || e.state == "not started") continue;
            const std::string mark = e.state == "passed" ? "✓" : e.state == "tried" ? "✗" : "…";
            return fmt::format(
                "<td class=\"{}\" title=\"{}\">{} {}</td>", xml_text(e.state),
                xml_text(fmt::format("{} checks, {} hints{}{}", e.checks, e.hints,
                                     e.failed.empty() ? "" : "; failed last by ", join(e.failed, ", "))),
                mark, e.checks > 0 ? std::to_string(e.checks) : "");
        }
    }
    return "<td></td>";
}

std::string state_table(const std::vector<LearnerReport>& reports, const std::vector<LearnerRow>& learners,
                        const std::vector<ExerciseRow>& exercises) {
    std::vector<std::string> names{"exercise"};
    for (const LearnerRow& r : learners) names.push_back(r.learner);
    std::string text =
        "<h2>Everything</h2>\n<p>✓ passed, ✗ tried, … begun or not graded yet; the number is of "
        "checks.</p>\n<div><table>\n" +
        header(names);
    for (const ExerciseRow& exercise : exercises) {
        text += "<tr><th scope=\"row\">" + xml_text(exercise.exercise) + "</th>";
        for (const LearnerRow& learner : learners)
            text += state_cell(
                *std::find_if(reports.begin(), reports.end(),
                              [&](const LearnerReport& r) { return r.learner == learner.learner; }),
                exercise.exercise);
        text += "</tr>\n";
    }
    return text + "</table></div>\n";
}

}  // namespace

std::string class_html(const std::vector<LearnerReport>& reports, const std::string& now) {
    const std::vector<LearnerRow> learners = learner_rows(reports);
    const std::vector<ExerciseRow> exercises = exercise_rows(reports);
    std::string text = kHead;
    text += fmt::format("<h1>Class of {}</h1>\n<p>As reported by {}.</p>\n", reports.size(), xml_text(now));
    text += learner_table(learners, now);
    if (!exercises.empty()) text += exercise_table(exercises) + state_table(reports, learners, exercises);
    return text + "</body>\n</html>\n";
}

}  // namespace lab
