// lab doctor: which tools work here, each tried by using it, and what to do about those that do not.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "core/terminal.h"
#include "core/text.h"
#include "lab/command.h"
#include "lab/doctor_trials.h"
#include "lab/learner.h"

namespace lab {

namespace {

bool works(const std::vector<Check>& checks, const std::string& name) {
    return std::any_of(checks.begin(), checks.end(),
                       [&](const Check& c) { return c.name == name && c.state == State::works; });
}

/// What a chapter still lacks for live runs; none if it is open.
std::vector<std::string> lacks(const std::vector<Check>& checks, const Chapter& chapter) {
    std::vector<std::string> missing;
    std::vector<std::string> needs = tools_for(chapter.pair.needs());
    append(needs, {"gpu", "nvcc"});
    std::sort(needs.begin(), needs.end());
    for (const std::string& need : needs)
        if (!works(checks, need)) missing.push_back(need);
    return missing;
}

/// What is no failure, and yet other than a book may say.
std::vector<std::string> remarks_on(const Platform& platform) {
    std::vector<std::string> remarks;
    const std::string paranoid =
        trim(here().file("/proc/sys/kernel/perf_event_paranoid").value_or("not there"));
    int level = 0;
    std::from_chars(paranoid.data(), paranoid.data() + paranoid.size(), level);
    if (level > 2)
        remarks.push_back(
            fmt::format("perf_event_paranoid is {}, so nsys samples no CPU here; this course samples none "
                        "(docs/setup.md#cpu-sampling-is-not-available)",
                        level));
    if (platform.kind == PlatformKind::wsl2)
        remarks.push_back(
            "under WSL2 nsys samples no GPU metrics, managed memory is not shared while a kernel runs, and "
            "pinned memory is scarce; to attach a debugger, ptrace must be allowed (docs/setup.md#wsl2)");
    return remarks;
}

void print_line(const char* name, const std::string& text) {
    if (!text.empty()) fmt::print("                 {:13}{}\n", name, paragraph(text, 30));
}

void print(const Check& check) {
    const std::string state = check.state == State::works    ? green("✓ works    ")
                              : check.state == State::broken ? red("✗ broken   ")
                              : check.state == State::absent ? yellow("- not here ")
                                                             : yellow("- not tried");
    std::string says =
        check.state == State::works || check.state == State::untried ? check.found : check.failure.reason;
    if (check.state == State::works && check.name != "gpu" && !check.version.empty())
        says = check.version + ", " + says;
    fmt::print("  {}  {:17}  {}\n", state, check.name, paragraph(says, 34));
    print_line("at", check.state == State::absent ? "" : check.path);
    print_line("to do:", check.failure.remedy);
    print_line("unaffected:", check.failure.still_works);
    print_line("more:", check.failure.section);
    std::fflush(stdout);  // in its place among the command lines, which go to stderr
}

/// Tries everything, in the order in which one thing needs another; `tell` hears of each check at its end.
std::vector<Check> examine(Examination& x, const std::function<void(const Check&)>& tell) {
    std::vector<Check> checks;
    const auto add = [&](Check check) {
        tell(check);
        checks.push_back(std::move(check));
    };
    std::optional<std::filesystem::path> binary;
    add(try_gpu(x));
    add(try_nvcc(x, works(checks, "gpu"), binary));
    add(try_nsys(x, binary));
    add(try_ncu(x, binary));
    add(try_sanitizer(x, binary));
    return checks;
}

nlohmann::ordered_json to_json(const Check& c) {
    return {{"name", c.name},
            {"state", to_string(c.state)},
            {"version", c.version},
            {"path", c.path},
            {"found", c.found},
            {"reason", c.failure.reason},
            {"remedy", c.failure.remedy},
            {"still_works", c.failure.still_works},
            {"section", c.failure.section},
            {"failure", c.failure.id},
            {"tried", c.tried}};
}

void print_as_json(const Platform& platform, const std::vector<Check>& checks,
                   const std::vector<Chapter>& chapters) {
    nlohmann::ordered_json all;
    all["platform"] = {{"kind", key_of(platform.kind)},
                       {"name", platform.name},
                       {"because", platform.because},
                       {"root", platform.root}};
    all["checks"] = nlohmann::ordered_json::array();
    for (const Check& check : checks) all["checks"].push_back(to_json(check));
    all["remarks"] = remarks_on(platform);
    all["chapters"] = nlohmann::ordered_json::array();
    for (const Chapter& chapter : chapters)
        all["chapters"].push_back({{"chapter", chapter.id}, {"lacks", lacks(checks, chapter)}});
    print_json(all);
}

/// Which chapters are open live, and the next command.
void print_end(const std::vector<Check>& checks, const std::vector<Chapter>& chapters, bool any_broken) {
    bool all_open = true;
    for (const Chapter& chapter : chapters) {
        const auto missing = lacks(checks, chapter);
        all_open = all_open && missing.empty();
        if (missing.empty())
            fmt::print("  {}  open live\n", chapter.short_id);
        else
            fmt::print("  {}  {}; for live runs it lacks {}\n", chapter.short_id,
                       chapter.pair.draft ? "a draft, not recorded yet" : "on recorded evidence",
                       join(missing, ", "));
    }
    if (chapters.empty()) return;
    const std::string first = "./lab run " + first_to_start(chapters).short_id;
    if (any_broken)
        fmt::print(
            "\nnext     do what the first 'to do' says, then ./lab doctor again\n         or {} now{}\n",
            first, all_open ? "" : ", on recorded evidence where it must be");
    else
        fmt::print("\nnext     {}\n", first);
}

int doctor(bool json) {
    const Course course = Course::find();
    const Platform platform = platform_of(here());
    Examination x(course, KnownFailures::read(course.root() / "harness/doctor/failures.toml"), platform);
    if (!json) {
        fmt::print("this is {}: {}\n\n", platform.name, platform.because);
        std::fflush(stdout);
    }
    const std::vector<Check> checks = examine(x, [&](const Check& check) {
        if (!json) print(check);
    });
    const std::vector<Chapter> chapters = course.chapters();
    const bool any_broken =
        std::any_of(checks.begin(), checks.end(), [](const Check& c) { return c.state == State::broken; });
    if (json) {
        print_as_json(platform, checks, chapters);
    } else {
        fmt::print("\n");
        for (const std::string& remark : remarks_on(platform))
            fmt::print("  remark  {}\n", paragraph(remark, 10));
        print_end(checks, chapters, any_broken);
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
        "Exit code 1: a tool is here and does not work. One that is missing is no failure.",
        [json] { return doctor(*json); });
    command.flag("--json", *json, "prints the checks as JSON");
}

}  // namespace lab
