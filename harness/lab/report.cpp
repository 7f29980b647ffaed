// lab report: what has been done so far, for the learner and for an instructor. lab class DIR: where a class
// stands, from the reports that its learners handed in. The JSON of a report:
//
//   {"format": "cuda-tools-course report", "version": 1, "learner": "Ada", "made": "2026-11-20T05:24:41Z",
//    "last_activity": a time or null, "chapters": [
//     {"chapter": "ch05_streams", "passed": 0, "quiz": {"right": 3, "questions": 13}, "exercises": [
//      {"name": "vector_add_pipeline", "state": "not started", "started", "ungraded", "tried" or "passed",
//       "checks": 2, "hints": 1, "failed": [findings], "last_activity": a time or null}]}]}
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/process.h"
#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "lab/command.h"
#include "lab/learner.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kReportFormat = "cuda-tools-course report";
constexpr int kReportVersion = 1;

/// The name to report under, in one line of printable characters: the one given, else git's user.name.
std::string name_of_learner(const Course& course, std::string name) {
    if (name.empty() && find_program("git"))
        name = run({.words = {"git", "config", "user.name"}, .folder = course.root()}).out;
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

/// A learner's report, its words safe to print. Times are as utc_now() writes them, "" for never.
struct Learner {
    std::string file, name, made, last;
    unsigned passed = 0, exercises = 0, right = 0, questions = 0;
    // The exercise that is begun and not passed, the latest if there are several; "" if there is none.
    std::string at, at_last;
    unsigned checks = 0, hints = 0;
    std::vector<std::string> failed;
};

std::string word(const nlohmann::json& json) {
    return json.is_null() ? "" : shorten(printable(json.get<std::string>()), 80);
}

/// An Error says why the text cannot be used as a report.
Learner read_report(const std::string& file, const std::string& text) try {
    const nlohmann::json json = nlohmann::json::parse(text);  // ordered_json copies deep values
    if (!json.is_object() || !json.contains("format") || json["format"] != kReportFormat)
        throw Error("it is no report of a learner (./lab report --json)");
    if (json.at("version") > kReportVersion)
        throw Error("it is from a newer lab: update this copy of the course");
    Learner learner;
    learner.file = file, learner.name = word(json.at("learner"));
    learner.made = word(json.at("made")), learner.last = word(json.at("last_activity"));
    for (const nlohmann::json& chapter : json.at("chapters")) {
        learner.right += chapter.at("quiz").at("right").get<unsigned>();
        learner.questions += chapter.at("quiz").at("questions").get<unsigned>();
        const std::string id = short_chapter_id(word(chapter.at("chapter")));
        for (const nlohmann::json& e : chapter.at("exercises")) {
            const std::string state = word(e.at("state")), last = word(e.at("last_activity"));
            ++learner.exercises;
            learner.passed += state == "passed";
            if (state == "passed" || state == "not started" || last < learner.at_last) continue;
            learner.at = id + "/" + word(e.at("name"));
            learner.at_last = last;
            learner.checks = e.at("checks").get<unsigned>();
            learner.hints = e.at("hints").get<unsigned>();
            learner.failed.clear();
            for (const nlohmann::json& finding : e.at("failed")) learner.failed.push_back(word(finding));
        }
    }
    return learner;
} catch (const nlohmann::json::exception& problem) {
    throw Error(fmt::format("it is damaged: {}", problem.what()));
}

void warn(const std::string& file, const std::string& why) {
    fmt::print(stderr, "{}\n", yellow(printable(fmt::format("{} is not counted: {}", file, why))));
}

/// Each learner's newest report, by name in lower case without spaces. Names on stderr what is left out.
std::map<std::string, Learner> read_reports(const fs::path& folder) {
    if (!fs::is_directory(folder))
        throw Error(fmt::format("{} is no folder. Give the folder that holds the learners' reports.",
                                printable(folder.string())));
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        // Neither links nor the hidden files of editors and systems are handed in.
        if (fs::is_regular_file(entry.symlink_status()) && entry.path().extension() == ".json" &&
            !entry.path().filename().string().starts_with("."))
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::map<std::string, Learner> learners;
    for (const fs::path& path : files) {
        const std::string file = path.lexically_relative(folder).string();
        try {
            Learner report = read_report(file, read_file(path));
            std::string key;
            for (const char c : report.name)
                if (c != ' ') key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
            Learner& newest = learners[key];
            if (newest.made <= report.made) std::swap(newest, report);
            if (!report.file.empty())
                warn(report.file, fmt::format("{} is a newer report of {}", newest.file, newest.name));
        } catch (const Error& problem) {
            warn(file, problem.what());
        }
    }
    if (learners.empty())
        throw Error(fmt::format("{} holds no report of a learner: ./lab report --json > NAME.json makes one.",
                                printable(folder.string())));
    return learners;
}

/// A cell as spreadsheets read it. What they would take for a formula is put behind an apostrophe.
std::string csv_cell(const std::string& text) {
    std::string cell = text.find_first_of("=+-@") == 0 ? "'" : "";
    for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
    return cell.find_first_of(",;\"") == std::string::npos ? cell : '"' + cell + '"';
}

void print_csv(const std::vector<Learner>& learners) {
    fmt::print("learner,passed,exercises,at,failed,checks,hints,quiz_right,quiz_questions,last_activity\n");
    for (const Learner& l : learners)
        fmt::print("{},{},{},{},{},{},{},{},{},{}\n", csv_cell(l.name), l.passed, l.exercises, csv_cell(l.at),
                   csv_cell(join(l.failed, " ")), l.checks, l.hints, l.right, l.questions, csv_cell(l.last));
}

void print_learners(const std::vector<Learner>& learners) {
    constexpr auto left = Align::left, right = Align::right;
    Table table({"learner", "passed", "at", "failed last by", "checks", "hints", "quiz", "last seen"},
                {left, right, left, left, right, right, right});
    for (const Learner& l : learners) {
        const bool begun = !l.at.empty();
        table.add({l.name, fmt::format("{} of {}", l.passed, l.exercises), l.at, join(l.failed, " "),
                   begun ? std::to_string(l.checks) : "", begun ? std::to_string(l.hints) : "",
                   fmt::format("{} of {}", l.right, l.questions), l.last});
    }
    fmt::print("{}", table.text());
}

/// On top stand the learners who have begun an exercise, the most checks first; then the others, by name.
int show_class(const std::string& folder, bool csv) {
    std::vector<Learner> learners;
    for (auto& [name, learner] : read_reports(folder)) learners.push_back(learner);
    std::stable_sort(learners.begin(), learners.end(), [](const Learner& a, const Learner& b) {
        return std::pair(!a.at.empty(), a.checks) > std::pair(!b.at.empty(), b.checks);
    });
    if (csv)
        print_csv(learners);
    else
        print_learners(learners);
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
                   "counts. A .json file that is no report of ./lab report --json is named on stderr and "
                   "left out.\nExample: ./lab class handed-in --csv > class.csv",
                   [options] { return show_class(options->folder, options->csv); });
    all.argument("DIR", options->folder, "the folder that holds the reports, also in folders in it");
    all.flag("--csv", options->csv, "prints the learners as CSV, for a spreadsheet");
}

}  // namespace lab
