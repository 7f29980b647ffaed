// lab class DIR: where a class stands, from the reports that its learners handed in.
#include <fmt/format.h>

#include <algorithm>

#include "core/files.h"
#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "lab/command.h"
#include "lab/learner_report.h"

namespace lab {

namespace {

constexpr std::size_t kMostNamed = 10;            ///< files that are no report: beyond, they are counted
constexpr std::uintmax_t kMostBytes = 1'000'000;  ///< a report has some 10 000

struct ReadFile {
    std::string file;
    LearnerReport report;
};

void warn(const std::string& file, const std::string& why) {
    fmt::print(stderr, "{}\n", yellow(fmt::format("{} is not counted: {}", printable(file), why)));
}

/// All files below a folder that are not hidden, in order.
std::vector<fs::path> files_below(const fs::path& folder) {
    if (!fs::is_directory(folder))
        throw Error(fmt::format("{} is no folder. Give the folder that holds the learners' reports.",
                                printable(folder.string())));
    std::vector<fs::path> files;
    const auto options = fs::directory_options::skip_permission_denied;
    for (auto at = fs::recursive_directory_iterator(folder, options);
         at != fs::recursive_directory_iterator(); ++at) {
        const bool hidden = at->path().filename().string().rfind('.', 0) == 0;
        if (hidden && at->is_directory()) at.disable_recursion_pending();
        if (!hidden && at->is_regular_file()) files.push_back(at->path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// The reports, each learner's newest; what cannot be used, and what is older, is named on stderr.
std::vector<LearnerReport> read_reports(const fs::path& folder) {
    std::vector<ReadFile> kept;
    std::size_t no_reports = 0;
    for (const fs::path& path : files_below(folder)) {
        const std::string file = path.lexically_relative(folder).string();
        try {
            if (fs::file_size(path) > kMostBytes) throw NoReport("it is too large for a report of a learner");
            ReadFile read{file, read_report(read_file(path))};
            const auto twin = std::find_if(kept.begin(), kept.end(), [&](const ReadFile& other) {
                return same_learner(other.report.learner, read.report.learner);
            });
            if (twin == kept.end()) {
                kept.push_back(std::move(read));
                continue;
            }
            if (twin->report.made < read.report.made) std::swap(*twin, read);
            warn(read.file,
                 fmt::format("{} is a newer report of {}", printable(twin->file), twin->report.learner));
        } catch (const NoReport& problem) {
            if (++no_reports <= kMostNamed) warn(file, problem.what());
        } catch (const Error& problem) {
            warn(file, problem.what());
        } catch (const fs::filesystem_error& problem) {
            warn(file, problem.code().message());
        }
    }
    if (no_reports > kMostNamed)
        fmt::print(
            stderr, "{}\n",
            yellow(fmt::format("{} more files are not counted: they are no reports of a learner either",
                               no_reports - kMostNamed)));
    if (kept.empty())
        throw Error(fmt::format("{} holds no report of a learner: ./lab report --json > NAME.json makes one.",
                                printable(folder.string())));
    std::vector<LearnerReport> reports;
    for (ReadFile& read : kept) reports.push_back(std::move(read.report));
    return reports;
}

void print(const std::vector<LearnerReport>& reports, const std::string& now) {
    using Align = Table::Align;
    Table learners({"learner", "passed", "at", "failed last by", "checks", "hints", "quiz", "last seen"},
                   {Align::left, Align::right, Align::left, Align::left, Align::right, Align::right,
                    Align::right, Align::right});
    for (const LearnerRow& r : learner_rows(reports)) {
        const bool at_hand = !r.at.empty();
        learners.add({r.learner, fmt::format("{} of {}", r.passed, r.exercises), r.at, join(r.failed, ", "),
                      at_hand ? std::to_string(r.checks) : "", at_hand ? std::to_string(r.hints) : "",
                      fmt::format("{} of {}", r.right, r.questions), time_since(r.last, now)});
    }
    fmt::print("{}", learners.text());
    Table exercises({"exercise", "passed", "at hand", "not begun", "fails most by"},
                    {Align::left, Align::right, Align::right, Align::right, Align::left});
    for (const ExerciseRow& r : exercise_rows(reports))
        exercises.add({r.exercise, std::to_string(r.passed), std::to_string(r.begun),
                       std::to_string(r.untouched),
                       r.fails_for > 0 ? fmt::format("{} ({})", r.fails_most, r.fails_for) : ""});
    if (!exercises.empty()) fmt::print("\n{}", exercises.text());
}

struct ClassOptions {
    std::string folder, html;
    bool csv = false;
};

int show_class(const ClassOptions& options) {
    demand_folder_of("--html", options.html);
    const std::vector<LearnerReport> reports = read_reports(options.folder);
    const std::string now = utc_now();
    if (options.csv) {
        fmt::print("{}", class_csv(learner_rows(reports), now));
    } else if (!options.html.empty()) {
        write_file(options.html, class_html(reports, now));
        fmt::print("{}\n", options.html);
    } else {
        print(reports, now);
    }
    return kFine;
}

}  // namespace

void add_class(Session& session) {
    const auto options = std::make_shared<ClassOptions>();
    Subcommand command(
        session,
        {.name = "class",
         .summary = "where a class stands, from its learners' reports",
         .does = "Reads every file below a folder that is a report of a learner (./lab report --json) and "
                 "shows who stands where: the exercise that is begun and not passed, the latest one if "
                 "there are several; by which findings its last check failed; checks and hints in it; "
                 "answers of all quizzes; and the time since anything was done. On top stand those with the "
                 "most checks. Below, how each exercise goes for the class, and by what it fails most.\n\n"
                 "Names that differ only in case and spaces are one learner: the newest report counts. A "
                 "file that is older, damaged, from a newer lab or no report is named on stderr, and the "
                 "others are still read; of those that are no report, the first ten are named and the rest "
                 "are counted. Hidden files are passed over.",
         .exits = {{"0", "the class is shown; files may have been left out, each with a line on stderr"},
                   {"2", "wrong usage, or no file in the folder is a report of a learner"}},
         .reads = {{"DIR", "the reports, also in folders in it"}},
         .writes = {{"what --html names", "the page, whole or not at all"}},
         .examples = {{"./lab class handed-in", "in the terminal"},
                      {"./lab class handed-in --html class.html",
                       "a page that needs no other file and no network"}},
         .see_also = {"report"}},
        [options] { return show_class(*options); });
    command.option({.name = "DIR",
                    .text = "the folder that holds the reports",
                    .takes = Takes::folder,
                    .required = true},
                   options->folder);
    command.flag("--csv", options->csv,
                 "prints the learners as CSV, for a spreadsheet; times since in hours");
    command.option({.name = "--html",
                    .text = "writes one page of HTML to this file",
                    .value = "FILE",
                    .otherwise = "none is written",
                    .takes = Takes::file},
                   options->html);
    command.exclude("--csv", "--html");
}

}  // namespace lab
