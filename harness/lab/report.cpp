// lab report: what has been done so far, for the learner and for an instructor. lab class DIR: where a class
// stands, from the reports that its learners handed in. The JSON of a report:
//
//   {"format": "cuda-tools-course report", "version": 1, "learner": "Ada", "made": "2026-11-20T05:24:41Z",
//    "last_activity": a time or null, "chapters": [
//     {"chapter": "ch05_streams", "passed": 0, "quiz": {"right": 3, "questions": 13}, "exercises": [
//      {"name": "vector_add_pipeline", "state": "not started", "started", "diagnosed",
//       "diagnosed, reviewed", "reviewed", "ungraded", "tried", "repaired" or "passed",
//       "checks": 2, "hints": 1, "failed": [findings], "last_activity": a time or null}]}]}
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/table.h"
#include "core/text.h"
#include "lab/command.h"
#include "lab/handed_in.h"
#include "lab/learner.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

/// The name to report under, in one line of printable characters: the one given, else git's user.name.
std::string name_of_learner(const Course& course, std::string name) {
    if (name.empty()) name = name_in_git(course);
    name = shorten(trim(printable(name)), 80);
    if (name.empty()) throw Error("git knows no user.name: give your name with --name");
    return name;
}

Json time_or_null(const std::string& time) {
    return time.empty() ? Json(nullptr) : Json(time);
}

Json report_of(const Chapter& chapter, const Progress& progress) {
    Json exercises = Json::array();
    int passed = 0, right = 0;
    for (const Case& e : chapter.exercises) {
        const Case& own = begun_draw(progress, e);
        const Done done = progress.exercise(own.subjects());
        passed += done.passed;
        exercises.push_back({{"name", e.name},
                             {"state", learner_state(progress, chapter, own)},
                             {"checks", done.checks},
                             {"hints", done.hints},
                             {"failed", done.failed},
                             {"last_activity", time_or_null(done.last)}});
    }
    int questions = 0;
    for (const Question& q : chapter.quiz) {
        if (!q.instead_of.empty()) continue;
        ++questions;
        right += last_answer(progress, chapter, chapter.quiz, q) == Step::right;
    }
    return {{"chapter", chapter.id},
            {"passed", passed},
            {"exercises", exercises},
            {"quiz", {{"right", right}, {"questions", questions}}}};
}

/// The report of what has been done in this copy of the course.
Json report_of(const Course& course, const std::string& learner) {
    const Progress progress = progress_of(course);
    Json chapters = Json::array();
    for (const Chapter& chapter : course.chapters()) chapters.push_back(report_of(chapter, progress));
    return {{"format", kReportFormat},
            {"version", kReportVersion},
            {"learner", learner},
            {"made", utc_now()},
            {"last_activity", time_or_null(progress.last_activity())},
            {"chapters", chapters}};
}

void print_report(const Json& report) {
    Table table({"", "state", "checks", "hints", "quiz", "failed last by"},
                {Align::left, Align::left, Align::right, Align::right, Align::right, Align::left});
    for (const Json& chapter : report["chapters"]) {
        const Json &exercises = chapter["exercises"], &quiz = chapter["quiz"];
        table.add({short_chapter_id(chapter["chapter"]),
                   fmt::format("{} of {} passed", chapter["passed"].dump(), exercises.size()), "", "",
                   fmt::format("{} of {}", quiz["right"].dump(), quiz["questions"].dump())});
        for (const Json& e : exercises)
            table.add({"  " + e["name"].get<std::string>(), e["state"], e["checks"].dump(), e["hints"].dump(),
                       "", e["state"] == "passed" ? "" : join(e["failed"], ", ")});
    }
    fmt::print("{}", table.text());
}

int report(bool json, const std::string& name) {
    const Course course = Course::find();
    if (!json && !name.empty())
        throw Error("--name is for the report as JSON: ./lab report --json --name NAME");
    if (json)
        print_json(report_of(course, name_of_learner(course, name)));
    else
        print_report(report_of(course, ""));
    return kFine;
}

}  // namespace

void add_report(Session& session) {
    struct Options {
        bool json = false, csv = false;
        std::string name, folder;
    };
    const auto options = std::make_shared<Options>();
    Subcommand one(
        session, "report", "what you have done so far, also for an instructor",
        "The JSON is a file to hand in, for ./lab class. It holds your name, states, counts, times and the "
        "findings that failed last; no path, no name of the machine, and nothing of your answers.\n"
        "Example: ./lab report --json --name 'Ada Lovelace' > ada.json",
        [options] { return report(options->json, options->name); });
    one.flag("--json", options->json, "prints it as JSON, to hand in");
    one.option("--name", "NAME", options->name,
               "with --json: the name to report under, instead of git's user.name");
    Subcommand all(session, "class", "where a class stands, from its learners' reports",
                   "Names that differ only in case and spaces are one learner, and the newest report "
                   "counts. Found are exercises that are diagnosed, or reviewed where there is no diagnosis, "
                   "and not repaired; fixed those that are repaired and not diagnosed. A .json file that is "
                   "no report of ./lab report --json is named on stderr and left out.\nExample: ./lab class "
                   "handed-in --csv > class.csv",
                   [options] {
                       const std::vector<Learner> learners = read_class(options->folder);
                       fmt::print("{}", options->csv ? class_csv(learners) : class_table(learners));
                       return kFine;
                   });
    all.argument("DIR", options->folder, "the folder that holds the reports, also in folders in it");
    all.flag("--csv", options->csv, "prints the learners as CSV, for a spreadsheet");
}

}  // namespace lab
