// lab report: what has been done so far, for the learner and for an instructor.
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/process.h"
#include "core/table.h"
#include "core/text.h"
#include "lab/command.h"
#include "lab/learner.h"
#include "lab/learner_report.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

/// A name as it is shown: one line, and not endless.
std::string usable_name(const std::string& name) {
    const std::string usable = shorten(trim(printable(name)), 80);
    if (usable.empty()) throw Error("--name: give a name that is not empty");
    return usable;
}

/// The name to report under if none is given: git's user.name, else that of the login.
std::string name_of_learner(const Course& course) {
    if (find_program("git")) {
        const Outcome git = run({.words = {"git", "config", "user.name"}, .folder = course.root()});
        if (git.exit_code == 0 && !trim(git.out).empty()) return usable_name(git.out);
    }
    const passwd* const login = ::getpwuid(::geteuid());
    return login ? usable_name(login->pw_name) : "unknown";
}

Json time_or_null(const std::string& time) {
    return time.empty() ? Json(nullptr) : Json(time);
}

Json report_of(const Chapter& chapter, const Progress& progress) {
    Json exercises = Json::array();
    int passed = 0, right = 0;
    for (const Case& e : chapter.exercises) {
        const Done done = progress.exercise(e.id);
        passed += done.passed;
        exercises.push_back({{"name", e.name},
                             {"state", state_of(done)},
                             {"checks", done.checks},
                             {"hints", done.hints},
                             {"failed", done.failed},
                             {"last_activity", time_or_null(done.last)}});
    }
    for (const Question& q : chapter.quiz)
        right += progress.last_answer(question_subject(chapter, q)) == Step::right;
    return {{"chapter", chapter.id},
            {"passed", passed},
            {"exercises", exercises},
            {"quiz", {{"right", right}, {"questions", chapter.quiz.size()}}}};
}

/// What has been done in this copy of the course.
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

void print(const Json& report) {
    using Align = Table::Align;
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

int report(bool json, const std::optional<std::string>& name) {
    const Course course = Course::find();
    if (!json && name) throw Error("--name is for the report as JSON: ./lab report --json --name NAME");
    if (json)
        print_json(report_of(course, name ? usable_name(*name) : name_of_learner(course)));
    else
        print(report_of(course, ""));
    return kFine;
}

}  // namespace

void add_report(Session& session) {
    struct Options {
        bool json = false;
        std::optional<std::string> name;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command(
        session, "report", "what you have done so far, also for an instructor",
        "The JSON is a file to hand in, for ./lab class. It holds your name, states, counts, times and the "
        "findings that failed last; no path, no name of the machine, and nothing of your answers.\n"
        "Example: ./lab report --json --name 'Ada Lovelace' > ada.json",
        [options] { return report(options->json, options->name); });
    command.flag("--json", options->json, "prints it as JSON, to hand in");
    command.option("--name", "NAME", options->name,
                   "with --json: the name to report under, instead of git's user.name or that of the login");
}

}  // namespace lab
