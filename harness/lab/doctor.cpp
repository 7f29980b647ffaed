// lab doctor: which tools work here, each tried by using it, and what to do about those that do not.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "core/terminal.h"
#include "core/text.h"
#include "doctor/examination.h"
#include "lab/command.h"
#include "lab/learner.h"
#include "tools/python.h"

namespace lab {

namespace {

/// A check as the terminal shows it: its state, what was found or why it failed, and what to do.
std::string text_of(const Check& check) {
    const std::array<std::string, 5> states{green("✓ works    "), red("✗ broken   "), yellow("- not here "),
                                            yellow("- not tried"), yellow("- denied   ")};
    std::string says = check.found.empty() ? check.failure.reason : check.found;
    if (check.state == State::works && check.name != "gpu" && !check.version.empty())
        says = check.version + ", " + says;
    std::string text = fmt::format("  {}  {:17}  {}\n", states[static_cast<std::size_t>(check.state)],
                                   check.name, paragraph(says, 34));
    for (const auto& [name, line] : {std::pair{"at", check.path},
                                     {"to do:", check.failure.remedy},
                                     {"unaffected:", check.failure.still_works},
                                     {"more:", check.failure.section}})
        if (!line.empty()) text += fmt::format("                 {:13}{}\n", name, paragraph(line, 30));
    return text;
}

/// What a chapter still lacks for live runs; nothing if it is open.
std::vector<std::string> lacks(const Chapter& chapter, const std::vector<Check>& checks) {
    std::vector<std::string> missing = tools_for(chapter.pair.needs());
    append(missing, {"gpu", "nvcc"});
    std::sort(missing.begin(), missing.end());
    for (const Check& check : checks)
        if (check.state == State::works) std::erase(missing, check.name);
    return missing;
}

nlohmann::ordered_json to_json(const Platform& platform, const std::vector<Check>& checks,
                               const std::vector<Chapter>& chapters) {
    constexpr std::array kStates{"works", "broken", "absent", "untried", "denied"};
    nlohmann::ordered_json all;
    all["platform"] = {{"kind", key_of(platform.kind)}, {"name", platform.name}};
    for (const Check& c : checks)
        all["checks"].push_back({{"name", c.name},
                                 {"state", kStates[static_cast<std::size_t>(c.state)]},
                                 {"version", c.version},
                                 {"path", c.path},
                                 {"found", c.found},
                                 {"reason", c.failure.reason},
                                 {"remedy", c.failure.remedy},
                                 {"still_works", c.failure.still_works},
                                 {"section", c.failure.section},
                                 {"failure", c.failure.id},
                                 {"tried", c.tried}});
    all["chapters"] = nlohmann::ordered_json::array();
    for (const Chapter& chapter : chapters)
        all["chapters"].push_back({{"chapter", chapter.id}, {"lacks", lacks(chapter, checks)}});
    return all;
}

/// Which pairs in Python lack a library for live runs, and which.
void print_python(const std::vector<Chapter>& chapters) {
    std::set<std::string> missing;
    std::vector<std::string> closed;
    for (const Chapter& chapter : chapters)
        for (const Case* of : chapter.cases()) {
            const auto lacking = missing_in_python(of->programs[0].libraries);
            missing.insert(lacking.begin(), lacking.end());
            if (!lacking.empty()) closed.push_back(chapter.short_id + "/" + of->argument());
        }
    if (missing.empty()) return;
    const std::string text =
        fmt::format("python3 cannot import {}, which live runs of {} need: docs/setup.md#python",
                    join({missing.begin(), missing.end()}, ", "), join(closed, ", "));
    fmt::print("\n  {}\n", paragraph(text, 2));
}

/// Which chapters are open live, and the next command.
void print_chapters(const std::vector<Chapter>& chapters, const std::vector<Check>& checks, bool any_broken,
                    const std::string& next) {
    for (const Chapter& chapter : chapters) {
        const auto missing = lacks(chapter, checks);
        const char* const here = chapter.pair.draft ? "a draft, not recorded yet" : "on recorded evidence";
        const std::string lacking = fmt::format("{}; for live runs it lacks {}", here, join(missing, ", "));
        fmt::print("  {}  {}\n", chapter.short_id, missing.empty() ? "open live" : paragraph(lacking, 8));
    }
    print_python(chapters);
    fmt::print("\nnext     {}{}\n",
               any_broken ? "do what the first 'to do' says, then ./lab doctor again\n         or " : "",
               next);
}

int doctor(bool json) {
    const Course course = Course::find();
    const Platform platform = platform_of();
    const KnownFailures failures = KnownFailures::read(course.root() / "harness/doctor/failures.toml");
    Examination examination{course, failures, platform, announce_to_terminal};
    const auto tell = [&](const std::string& text) {
        if (!json) fmt::print("{}", text);
        std::fflush(stdout);  // in its place among the command lines, which go to stderr
    };
    tell(fmt::format("this is {}\n\n", platform.name));
    const std::vector<Check> checks = examine(examination, [&](const Check& check) { tell(text_of(check)); });
    const std::vector<Chapter> chapters = course.chapters();
    const bool any_broken =
        std::any_of(checks.begin(), checks.end(), [](const Check& c) { return c.state == State::broken; });
    if (json) {
        print_json(to_json(platform, checks, chapters));
    } else {
        fmt::print("\n");
        if (!chapters.empty())
            print_chapters(chapters, checks, any_broken, next_in_course(chapters, progress_of(course)));
    }
    return any_broken ? kFindingFailed : kFine;
}

}  // namespace

void add_doctor(Session& session) {
    const auto json = std::make_shared<bool>(false);
    Subcommand command(
        session, "doctor", "which tools work here, and what to do about the rest",
        "Builds, runs, records and profiles a small program, and has compute-sanitizer find a planted bug. "
        "No tool runs for longer than a minute. The reports are in build/doctor/.\n"
        "Exit code 1: a tool is here and does not work. One that is missing is no failure, and neither is "
        "what nsys may not record.",
        [json] { return doctor(*json); });
    command.flag("--json", *json, "prints the checks as JSON");
}

}  // namespace lab
