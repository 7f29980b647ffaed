// lab report: what has been done so far, for the learner and for an instructor.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/table.h"
#include "core/text.h"
#include "course/chapter.h"
#include "lab/command.h"
#include "lab/learner_report.h"

namespace lab {

namespace {

void print(const LearnerReport& report) {
    using Align = Table::Align;
    Table table({"", "state", "checks", "hints", "quiz", "failed last by"},
                {Align::left, Align::left, Align::right, Align::right, Align::right, Align::left});
    for (const ChapterReport& chapter : report.chapters) {
        int passed = 0;
        for (const ExerciseReport& e : chapter.exercises) passed += e.state == "passed";
        table.add({short_chapter_id(chapter.id),
                   fmt::format("{} of {} passed", passed, chapter.exercises.size()), "", "",
                   fmt::format("{} of {}", chapter.right, chapter.questions), ""});
        for (const ExerciseReport& e : chapter.exercises)
            table.add({"  " + e.name, e.state, std::to_string(e.checks), std::to_string(e.hints), "",
                       e.state == "passed" ? "" : join(e.failed, ", ")});
    }
    fmt::print("{}", table.text());
}

int report(bool json, const std::optional<std::string>& name) {
    const Course course = Course::find();
    if (!json) {
        if (name) throw Error("--name is for the report as JSON: ./lab report --json --name NAME");
        print(report_of(course, ""));
        return kFine;
    }
    print_json(to_json(report_of(course, name ? usable_name(*name) : name_of_learner(course))));
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
        session,
        {.name = "report",
         .summary = "what you have done so far, also for an instructor",
         .does =
             "Lists every exercise with its state, how often it was checked, how many hints were taken "
             "and by what the last check failed; and for every chapter how many questions were answered "
             "right. An answer is ungraded if it compiled when it was last checked, and could not be run, "
             "or not under every tool.\n\n"
             "With --json it is a file to hand in: ./lab class makes a table of many. The file holds "
             "your name, chapters and exercises with states, counts and times, and the names of "
             "findings that failed last. It holds no path, no name of the machine, and nothing of your "
             "answers.",
         .exits = {{"0", "the report is printed"}, bad_usage()},
         .reads = {{"work/progress.txt", "what you have done"}, {"ch*/chapter.toml", "what there is to do"}},
         .examples = {{"./lab report", "for yourself"},
                      {"./lab report --json --name 'Ada Lovelace' > ada.json", "to hand in"}},
         .see_also = {"class", "list", "check", "quiz"}},
        [options] { return report(options->json, options->name); });
    command.flag("--json", options->json, "prints it as JSON, to hand in");
    command.option({.name = "--name",
                    .text = "with --json: the name to report under",
                    .value = "NAME",
                    .otherwise = "user.name of git's configuration, else the name of the login"},
                   options->name);
}

}  // namespace lab
