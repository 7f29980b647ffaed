#include "lab/handed_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "course/chapter.h"

namespace lab {

namespace {

constexpr int kMostBytes = 1'000'000, kMostInList = 100, kDeepest = 8;  ///< of a report, which is 6 deep

std::string word(const nlohmann::json& json) {
    return json.is_null() ? "" : trim(shorten(printable(json.get<std::string>()), 80));
}

unsigned count(const nlohmann::json& json) {
    constexpr unsigned kMost = 1'000'000;
    if (!json.is_number_unsigned() || json > kMost) throw Error("a count is no number from 0 to a million");
    return json.get<unsigned>();
}

/// A list of no more elements than a report has.
const nlohmann::json& list(const nlohmann::json& json) {
    if (!json.is_array() || json.size() > kMostInList)
        throw Error(fmt::format("a list is none, or has more than {} elements", kMostInList));
    return json;
}

void add_exercise(Learner& learner, const std::string& chapter, const nlohmann::json& e) {
    const std::string state = word(e.at("state")), last = word(e.at("last_activity"));
    ++learner.exercises;
    learner.passed += state == "passed";
    learner.diagnosed += state.starts_with("diagnosed");
    learner.reviewed += state == "reviewed";
    learner.repaired += state == "repaired";
    if (state == "passed" || state == "not started" || last < learner.at_last) return;
    learner.at = chapter + "/" + word(e.at("name"));
    learner.at_last = last;
    learner.checks = count(e.at("checks"));
    learner.hints = count(e.at("hints"));
    learner.failed.clear();
    for (const nlohmann::json& finding : list(e.at("failed"))) learner.failed.push_back(word(finding));
}

void warn(const std::string& file, const std::string& why) {
    say(fmt::format("{} is not counted: {}", shorten(printable(file), 200), shorten(printable(why), 300)),
        "33");
}

/// Adds the files in a folder and in folders in it, but no links and no hidden files of editors and systems.
void add_files(std::vector<fs::path>& files, const fs::path& folder) {
    std::error_code problem;
    for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
        std::error_code unseen;
        const fs::file_status status = at->symlink_status(unseen);
        if (fs::is_directory(status))
            add_files(files, at->path());
        else if (fs::is_regular_file(status) && at->path().extension() == ".json" &&
                 !at->path().filename().string().starts_with("."))
            files.push_back(at->path());
    }
    if (problem) warn(folder.string(), problem.message());
}

/// A cell as spreadsheets read it. What they would take for a formula is put behind an apostrophe.
std::string csv_cell(const std::string& text) {
    constexpr std::u32string_view kFormula = U"=+-@＝＋－＠";
    std::string cell = kFormula.find(decode_utf8(text + ' ')[0]) != kFormula.npos ? "'" : "";
    for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
    return cell.find_first_of(",;\"") == std::string::npos ? cell : '"' + cell + '"';
}

}  // namespace

Learner read_report(const std::string& file, const std::string& text) try {
    // What is nested deeper would be copied and destroyed call by call, until the stack is full.
    const auto json = nlohmann::json::parse(text, [](int depth, auto, const auto&) {
        if (depth > kDeepest) throw Error("it is no report of a learner: it is nested too deeply");
        return true;
    });
    if (!json.is_object() || !json.contains("format") || json["format"] != kReportFormat)
        throw Error("it is no report of a learner (./lab report --json)");
    if (json.at("version") > kReportVersion)
        throw Error("it is from a newer lab: update this copy of the course");
    Learner learner;
    learner.file = file, learner.name = word(json.at("learner"));
    learner.made = word(json.at("made")), learner.last = word(json.at("last_activity"));
    for (const nlohmann::json& chapter : list(json.at("chapters"))) {
        learner.right += count(chapter.at("quiz").at("right"));
        learner.questions += count(chapter.at("quiz").at("questions"));
        const std::string id = short_chapter_id(word(chapter.at("chapter")));
        for (const nlohmann::json& e : list(chapter.at("exercises"))) add_exercise(learner, id, e);
    }
    return learner;
} catch (const nlohmann::json::exception& problem) {
    const std::string_view what = problem.what();  // begins with "[json.exception.parse_error.101] "
    throw Error(fmt::format("it is damaged: {}", what.substr(what.find("] ") + 2)));
}

std::vector<Learner> read_class(const std::string& folder) {
    std::error_code unseen;
    if (!fs::is_directory(folder, unseen))
        throw Error(
            fmt::format("{} is no folder. Give the folder that holds the learners' reports.", folder));
    std::vector<fs::path> files;
    add_files(files, folder);
    std::sort(files.begin(), files.end());
    std::map<std::string, Learner> by_name;  // in lower case without spaces
    for (const fs::path& path : files) {
        const std::string file = path.lexically_relative(folder).string();
        try {
            Learner report = read_report(file, read_file(path, kMostBytes));
            std::string key;
            for (const char c : report.name)
                if (c != ' ') key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
            Learner& newest = by_name[key];
            if (newest.made <= report.made) std::swap(newest, report);
            if (!report.file.empty())
                warn(report.file, fmt::format("{} is a newer report of {}", newest.file, newest.name));
        } catch (const Error& problem) {
            warn(file, problem.what());
        }
    }
    if (by_name.empty())
        throw Error(fmt::format("{} holds no report of a learner: ./lab report --json > NAME.json makes one.",
                                folder));
    std::vector<Learner> learners;
    for (auto& [name, learner] : by_name) learners.push_back(std::move(learner));
    std::stable_sort(learners.begin(), learners.end(), [](const Learner& a, const Learner& b) {
        return std::pair(!a.at.empty(), a.checks) > std::pair(!b.at.empty(), b.checks);
    });
    return learners;
}

std::string class_csv(const std::vector<Learner>& learners) {
    std::string csv =
        "learner,passed,exercises,diagnosed,reviewed,repaired,at,failed,checks,hints,quiz_right,"
        "quiz_questions,last_activity\n";
    for (const Learner& l : learners)
        csv +=
            fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_cell(l.name), l.passed, l.exercises,
                        l.diagnosed, l.reviewed, l.repaired, csv_cell(l.at), csv_cell(join(l.failed, " ")),
                        l.checks, l.hints, l.right, l.questions, csv_cell(l.last));
    return csv;
}

std::string class_table(const std::vector<Learner>& learners) {
    constexpr auto left = Align::left, right = Align::right;
    Table table({"learner", "passed", "found", "fixed", "at", "failed last by", "checks", "hints", "quiz",
                 "last seen"},
                {left, right, right, right, left, left, right, right, right});
    for (const Learner& l : learners) {
        const bool begun = !l.at.empty();
        table.add(
            {l.name, fmt::format("{} of {}", l.passed, l.exercises), std::to_string(l.diagnosed + l.reviewed),
             std::to_string(l.repaired), l.at, join(l.failed, " "), begun ? std::to_string(l.checks) : "",
             begun ? std::to_string(l.hints) : "", fmt::format("{} of {}", l.right, l.questions), l.last});
    }
    return table.text();
}

}  // namespace lab
