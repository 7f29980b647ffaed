// lab class DIR: where a class stands, from the reports that its learners handed in.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "course/chapter.h"
#include "lab/command.h"
#include "lab/learner_report.h"

namespace lab {

namespace {

using Json = nlohmann::json;  // not ordered_json, which takes quadratic time for an object of many members
using Row = std::vector<std::string>;
using Align = Table::Align;

constexpr std::uintmax_t kMostBytes = 1'000'000;  ///< A report has some 10 000.
constexpr int kDeepest = 8;                       ///< A report nests 6 deep.
constexpr unsigned kMostCounted = 100'000;

struct ExerciseState {
    std::string name, state;  ///< "ch05/vector_add_pipeline", "tried"
    int checks = 0, hints = 0;
    std::string last;  ///< when something was last done here
    std::vector<std::string> failed = {};

    [[nodiscard]] bool is_at_hand() const { return state != "passed" && state != "not started"; }
};

/// A learner's report, its words safe to print. Times are as utc_now() writes them, "" for never.
struct Learner {
    std::string file, name, made, last;
    int right = 0, questions = 0;
    std::vector<ExerciseState> exercises = {};
};

std::string word(const Json& json) {
    return json.is_null() ? "" : shorten(printable(json.get<std::string>()), 80);
}

int count(const Json& json) {
    if (json.is_number_unsigned() && json.get<uint64_t>() <= kMostCounted) return json.get<int>();
    throw Error(fmt::format("it is damaged: a count is no number from 0 to {}", kMostCounted));
}

/// An Error says why the text cannot be used as a report.
Learner read_report(const std::string& file, const std::string& text) try {
    // Copying a deeply nested value overflows the stack, so the parser stops before there is one.
    const auto stop_deep = [](int depth, Json::parse_event_t, const Json&) {
        return depth <= kDeepest ? true : throw Error("it nests too deeply for a report of a learner");
    };
    const Json json = Json::parse(text, stop_deep, false);
    if (json.is_discarded()) throw Error("it is damaged: no whole JSON");
    if (!json.is_object() || json.value("format", Json()) != kReportFormat)
        throw Error("it is no report of a learner (./lab report --json)");
    if (json.at("version") > kReportVersion)
        throw Error("it is from a newer lab: update this copy of the course");
    Learner learner{file, word(json.at("learner")), word(json.at("made")), word(json.at("last_activity"))};
    for (const Json& chapter : json.at("chapters")) {
        learner.right += count(chapter.at("quiz").at("right"));
        learner.questions += count(chapter.at("quiz").at("questions"));
        const std::string id = short_chapter_id(word(chapter.at("chapter")));
        for (const Json& e : chapter.at("exercises")) {
            ExerciseState state{id + "/" + word(e.at("name")), word(e.at("state")), count(e.at("checks")),
                                count(e.at("hints")), word(e.at("last_activity"))};
            for (const Json& finding : e.at("failed")) state.failed.push_back(word(finding));
            learner.exercises.push_back(std::move(state));
        }
    }
    return learner;
} catch (const Json::exception& problem) {
    throw Error(fmt::format("it is damaged: {}", problem.what()));
}

/// All JSON files below a folder, in order. Hidden ones and links are passed over.
std::vector<fs::path> files_below(const fs::path& folder) {
    if (!fs::is_directory(folder))
        throw Error(fmt::format("{} is no folder. Give the folder that holds the learners' reports.",
                                printable(folder.string())));
    std::vector<fs::path> files;
    const auto options = fs::directory_options::skip_permission_denied;
    for (auto at = fs::recursive_directory_iterator(folder, options); at != fs::end(at); ++at) {
        const bool hidden = at->path().filename().string().rfind('.', 0) == 0;
        if (hidden) at.disable_recursion_pending();
        if (hidden || !fs::is_regular_file(at->symlink_status())) continue;
        if (at->path().extension() == ".json") files.push_back(at->path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

void warn(const std::string& text) {
    fmt::print(stderr, "{}\n", yellow(printable(text)));
}

/// A name in lower case without spaces: reports whose names differ in no more are of one learner.
std::string plain(const std::string& name) {
    std::string letters;
    for (const char c : name)
        if (c != ' ') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return letters;
}

/// Each learner's newest report, sorted by plain name. What is left out is named on stderr.
std::map<std::string, Learner> read_reports(const fs::path& folder) {
    std::map<std::string, Learner> learners;
    for (const fs::path& path : files_below(folder)) {
        const std::string file = path.lexically_relative(folder).string();
        try {
            if (fs::file_size(path) > kMostBytes) throw Error("it is too large for a report of a learner");
            Learner report = read_report(file, read_file(path));
            Learner& newest = learners[plain(report.name)];
            if (newest.made <= report.made) std::swap(newest, report);
            if (!report.file.empty())
                warn(fmt::format("{} is not counted: {} is a newer report of {}", report.file, newest.file,
                                 newest.name));
        } catch (const std::exception& problem) {
            warn(fmt::format("{} is not counted: {}", file, problem.what()));
        }
    }
    if (learners.empty())
        throw Error(fmt::format("{} holds no report of a learner: ./lab report --json > NAME.json makes one.",
                                printable(folder.string())));
    return learners;
}

constexpr const char* kCsvHeader =
    "learner,passed,exercises,at,failed,checks,hints,quiz_right,quiz_questions,last_activity";

/// A row for --csv. `at` is the exercise that is begun and not passed, the latest one if there are several.
Row row_of(const Learner& learner) {
    int passed = 0;
    ExerciseState at;
    for (const ExerciseState& e : learner.exercises) {
        passed += e.state == "passed";
        if (e.is_at_hand() && (at.name.empty() || e.last > at.last)) at = e;
    }
    const auto text = [](auto number) { return std::to_string(number); };
    return {learner.name,   text(passed),         text(learner.exercises.size()),
            at.name,        join(at.failed, " "), text(at.checks),
            text(at.hints), text(learner.right),  text(learner.questions),
            learner.last};
}

/// A row a learner. On top stand those with an exercise at hand, the most checks first; then the others, by
/// name.
std::vector<Row> rows_of(const std::map<std::string, Learner>& learners) {
    std::vector<Row> rows;
    for (const auto& [name, learner] : learners) rows.push_back(row_of(learner));
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        return std::pair(!a[3].empty(), std::stoi(a[5])) > std::pair(!b[3].empty(), std::stoi(b[5]));
    });
    return rows;
}

/// A cell as spreadsheets read it. What they would take for a formula is put behind an apostrophe.
std::string csv_cell(const std::string& text) {
    std::string cell = text.find_first_of("=+-@") == 0 ? "'" : "";
    for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
    return cell.find_first_of(",;\"") == std::string::npos ? cell : '"' + cell + '"';
}

void print_csv(const std::vector<Row>& rows) {
    fmt::print("{}\n", kCsvHeader);
    for (Row row : rows) {
        for (std::string& cell : row) cell = csv_cell(cell);
        fmt::print("{}\n", join(row, ","));
    }
}

void print_learners(const std::vector<Row>& rows) {
    constexpr auto left = Align::left, right = Align::right;
    Table table({"learner", "passed", "at", "failed last by", "checks", "hints", "quiz", "last seen"},
                {left, right, left, left, right, right, right});
    for (const Row& r : rows) {
        const bool at_hand = !r[3].empty();
        table.add({r[0], r[1] + " of " + r[2], r[3], r[4], at_hand ? r[5] : "", at_hand ? r[6] : "",
                   r[7] + " of " + r[8], r[9]});
    }
    fmt::print("{}", table.text());
}

/// How the exercises go that somebody has begun.
void print_exercises(const std::map<std::string, Learner>& learners) {
    std::map<std::string, std::map<std::string, int>> states, failed;  // by exercise
    for (const auto& [name, learner] : learners)
        for (const ExerciseState& e : learner.exercises) {
            ++states[e.name][e.is_at_hand() ? "at hand" : e.state];
            if (e.is_at_hand())
                for (const std::string& finding : e.failed) ++failed[e.name][finding];
        }
    Table table({"exercise", "passed", "at hand", "not begun", "fails most by"},
                {Align::left, Align::right, Align::right, Align::right, Align::left});
    for (auto& [name, by_state] : states) {
        const auto& by_finding = failed[name];
        const auto most = std::max_element(by_finding.begin(), by_finding.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (by_state["passed"] + by_state["at hand"] > 0)
            table.add({name, std::to_string(by_state["passed"]), std::to_string(by_state["at hand"]),
                       std::to_string(by_state["not started"]),
                       most == by_finding.end() ? "" : fmt::format("{} ({})", most->first, most->second)});
    }
    if (!table.empty()) fmt::print("\n{}", table.text());
}

int show_class(const std::string& folder, bool csv) {
    const std::map<std::string, Learner> learners = read_reports(folder);
    if (csv) {
        print_csv(rows_of(learners));
    } else {
        print_learners(rows_of(learners));
        print_exercises(learners);
    }
    return kFine;
}

}  // namespace

void add_class(Session& session) {
    struct Options {
        std::string folder;
        bool csv = false;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command(session, "class", "where a class stands, from its learners' reports",
                       "Names that differ only in case and spaces are one learner, and the newest report "
                       "counts. A .json file that is no report of ./lab report --json is named on stderr and "
                       "left out.\nExample: ./lab class handed-in --csv > class.csv",
                       [options] { return show_class(options->folder, options->csv); });
    command.argument("DIR", options->folder, "the folder that holds the reports, also in folders in it");
    command.flag("--csv", options->csv, "prints the learners as CSV, for a spreadsheet");
}

}  // namespace lab
