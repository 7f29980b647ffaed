#include "lab/learner_report.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/process.h"
#include "core/text.h"
#include "lab/learner.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "cuda-tools-course report";
constexpr int kVersion = 1;
constexpr int kMostOfAnything = 1'000'000;

int right_answers(const Progress& progress, const Chapter& chapter) {
    int right = 0;
    for (const Question& q : chapter.quiz) right += progress.answered_right(question_subject(chapter, q));
    return right;
}

/// A word from a stranger's file, safe to print.
std::string word(const Json& json) {
    return shorten(printable(json.get<std::string>()), 80);
}

int count(const Json& json) {
    const int64_t number = json.is_number_integer() ? json.get<int64_t>() : -1;
    if (number < 0 || number > kMostOfAnything)
        throw Error(fmt::format("it is damaged: {} is no count", json.dump()));
    return static_cast<int>(number);
}

std::string time_or_none(const Json& json) {
    if (json.is_null()) return "";
    const auto text = json.get<std::string>();
    if (!is_time(text))
        throw Error(fmt::format("it is damaged: '{}' is no time", shorten(printable(text), 40)));
    return text;
}

ExerciseReport read_exercise(const Json& json) {
    ExerciseReport e{
        .name = word(json.at("name")), .state = word(json.at("state")), .failed = {}, .last = {}};
    e.checks = count(json.at("checks"));
    e.hints = count(json.at("hints"));
    for (const Json& finding : json.at("failed")) e.failed.push_back(word(finding));
    e.last = time_or_none(json.at("last_activity"));
    return e;
}

ChapterReport read_chapter_report(const Json& json) {
    ChapterReport chapter{.id = word(json.at("chapter")), .exercises = {}};
    for (const Json& exercise : json.at("exercises")) chapter.exercises.push_back(read_exercise(exercise));
    chapter.right = count(json.at("quiz").at("right"));
    chapter.questions = count(json.at("quiz").at("questions"));
    return chapter;
}

Json or_null(const std::string& time) {
    return time.empty() ? Json(nullptr) : Json(time);
}

}  // namespace

LearnerReport report_of(const Course& course, const std::string& learner) {
    const Progress progress = progress_of(course);
    LearnerReport report{
        .learner = learner, .made = utc_now(), .last = progress.last_activity(), .chapters = {}};
    for (const Chapter& chapter : course.chapters()) {
        ChapterReport of{.id = chapter.id, .exercises = {}};
        for (const Exercise& e : chapter.exercises) {
            const Done done = progress.exercise(e.programs.id);
            of.exercises.push_back({e.name, state_of(done), done.checks, done.hints, done.failed, done.last});
        }
        of.right = right_answers(progress, chapter);
        of.questions = static_cast<int>(chapter.quiz.size());
        report.chapters.push_back(std::move(of));
    }
    return report;
}

std::string usable_name(const std::string& name) {
    const std::string usable = shorten(trim(printable(name)), 80);
    if (usable.empty()) throw Error("--name: give a name that is not empty");
    return usable;
}

std::string name_of_learner(const Course& course) {
    if (find_program("git")) {
        const Outcome git = run({.words = {"git", "config", "user.name"}, .folder = course.root()});
        if (git.exit_code == 0 && !trim(git.out).empty()) return usable_name(git.out);
    }
    const passwd* const login = ::getpwuid(::geteuid());
    const char* const user = login ? login->pw_name : std::getenv("USER");
    return user && *user ? usable_name(user) : "unknown";
}

Json to_json(const LearnerReport& report) {
    Json chapters = Json::array();
    for (const ChapterReport& chapter : report.chapters) {
        Json exercises = Json::array();
        int passed = 0;
        for (const ExerciseReport& e : chapter.exercises) {
            passed += e.state == "passed";
            exercises.push_back({{"name", e.name},
                                 {"state", e.state},
                                 {"checks", e.checks},
                                 {"hints", e.hints},
                                 {"failed", e.failed},
                                 {"last_activity", or_null(e.last)}});
        }
        chapters.push_back({{"chapter", chapter.id},
                            {"passed", passed},
                            {"exercises", exercises},
                            {"quiz", {{"right", chapter.right}, {"questions", chapter.questions}}}});
    }
    return {{"format", kFormat},
            {"version", kVersion},
            {"learner", report.learner},
            {"made", report.made},
            {"last_activity", or_null(report.last)},
            {"chapters", chapters}};
}

LearnerReport read_report(const std::string& text) {
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded() && (trim(text).empty() || trim(text).front() == '{'))
        throw Error("it is damaged: no whole JSON");
    if (!json.is_object() || !json.contains("format") || json["format"] != kFormat)
        throw NoReport("it is no report of a learner (./lab report --json)");
    try {
        if (json.at("version").get<int>() > kVersion)
            throw Error("it is from a newer lab: update this copy of the course");
        LearnerReport report;
        report.learner = usable_name(json.at("learner").get<std::string>());
        report.made = time_or_none(json.at("made"));
        if (report.made.empty()) throw Error("it is damaged: it does not say when it was made");
        report.last = time_or_none(json.at("last_activity"));
        for (const Json& chapter : json.at("chapters"))
            report.chapters.push_back(read_chapter_report(chapter));
        return report;
    } catch (const Json::exception& problem) {
        throw Error(fmt::format("it is damaged: {}", problem.what()));
    }
}

}  // namespace lab
