// lab doctor: which tools work here, each tried by using it, and what to do about those that do not.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/files.h"
#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "course/recorder.h"
#include "evidence/evidence.h"
#include "evidence/tools.h"
#include "lab/command.h"

namespace lab {

namespace {

enum class State { works, broken, absent, untried };

struct Check {
    std::string name;  ///< what chapters name in `needs`, or "gpu" and "nvcc", which every live run needs
    State state = State::untried;
    std::string found;   ///< version, or what went wrong
    std::string remedy;  ///< what to do; "" if it works
};

const char* to_string(State state) {
    switch (state) {
        case State::works:
            return "works";
        case State::broken:
            return "broken";
        case State::absent:
            return "not here";
        case State::untried:
            break;
    }
    return "not tried";
}

const Announce kQuietly = [](const std::string&) {};

Program probe() {
    Program program;
    program.name = "probe";
    program.source = "harness/doctor/probe.cu";
    return program;
}

/// Runs one trial; whatever it throws is what is broken.
Check attempt(const std::string& name, const std::string& remedy, const std::function<std::string()>& trial) {
    try {
        return {name, State::works, trial(), ""};
    } catch (const Error& problem) {
        return {name, State::broken, problem.what(), remedy};
    }
}

Check check_gpu() {
    const auto smi = find_program("nvidia-smi");
    if (!smi)
        return {"gpu", State::absent, "nvidia-smi, which comes with NVIDIA's driver, is not in PATH",
                "nothing, to follow the course on recorded evidence; for live runs install NVIDIA's driver"};
    if (!gpu()) {
        const Outcome outcome = run({.words = {smi->string()}, .limit = std::chrono::seconds(20)});
        return {"gpu", State::broken,
                "nvidia-smi reports no GPU: " + shorten(printable(trim(outcome.out + outcome.err)), 200),
                "nothing, to follow the course on recorded evidence; for live runs repair NVIDIA's driver"};
    }
    return {"gpu", State::works, fmt::format("{}, driver {}", gpu()->name, gpu()->driver), ""};
}

Check check_nvcc(const Course& course, std::optional<fs::path>& binary) {
    if (!nvcc())
        return {"nvcc", State::absent, "no nvcc in PATH or /usr/local/cuda",
                "install the CUDA Toolkit to build the programs (docs/setup.md)"};
    return attempt(
        "nvcc", "see docs/setup.md: a toolkit from 12.4 on, with a host compiler that it supports", [&] {
            binary = build_program(course, probe(), kQuietly);
            const std::string version = version_of(*nvcc());
            if (!gpu()) return fmt::format("{}, built a program", version);
            const Outcome outcome = run({.words = {binary->string()}, .limit = std::chrono::seconds(60)});
            if (outcome.exit_code != 0)
                throw Error("the program it built does not run: " + trim(outcome.err));
            return fmt::format("{}, built a program that ran", version);
        });
}

/// A tool can be tried only on a program that runs.
Check check_tool(const std::string& name, const std::optional<fs::path>& tool, const std::string& install,
                 bool probe_runs, const std::string& remedy, const std::function<std::string()>& trial) {
    if (!tool) return {name, State::absent, "not in PATH, nor where NVIDIA's packages put it", install};
    if (!probe_runs)
        return {name, State::untried, fmt::format("{}, but no GPU program runs here", version_of(*tool)), ""};
    return attempt(name, remedy, trial);
}

std::string try_nsys(const fs::path& binary) {
    const TemporaryFolder scratch;
    const fs::path report = scratch.path() / "probe.nsys-rep";
    std::vector<std::string> words = nsys_command(*nsys(), report);
    words.push_back(binary.string());
    const Outcome outcome = run({.words = words});
    if (!fs::exists(report)) throw Error("it made no report: " + printable(trim(outcome.err)));
    const Evidence evidence =
        Evidence::open(export_report(report, scratch.path() / "probe.sqlite", kQuietly));
    const std::size_t kernels = evidence.trace().kernels.size();
    if (kernels != 1) throw Error(fmt::format("it saw {} kernels of 1", kernels));
    return fmt::format("{}, saw the kernel", version_of(*nsys()));
}

std::string try_ncu(const fs::path& binary) {
    const Outcome outcome =
        run({.words = {ncu()->string(), "--clock-control", "none", "--csv", "--page", "raw", "--metrics",
                       "launch__registers_per_thread,sm__cycles_elapsed.max", binary.string()}});
    const std::string text = outcome.out + outcome.err;
    if (text.find("ERR_NVGPUCTRPERM") != std::string::npos)
        throw Error("it may not read the GPU's counters (ERR_NVGPUCTRPERM)");
    const auto metrics = parse_ncu_csv(text, {"sm__cycles_elapsed.max"});
    return fmt::format("{}, read a counter of kernel {}", version_of(*ncu()), metrics[0].kernel.substr(0, 8));
}

std::string try_sanitizer(const fs::path& binary) {
    const SanitizerOutput clean = run_sanitizer("memcheck", binary, {}, kQuietly);
    if (clean.errors != 0) throw Error("it reports errors in a program that has none");
    const SanitizerOutput faulty = run_sanitizer("memcheck", binary, {"--fault"}, kQuietly);
    const bool found = std::any_of(faulty.reports.begin(), faulty.reports.end(),
                                   [](const SanitizerReport& r) { return r.kind.rfind("Invalid", 0) == 0; });
    if (!found) throw Error("it missed a planted write behind an array");
    return fmt::format("{}, found the planted bug", version_of(*compute_sanitizer()));
}

std::vector<Check> check_all(const Course& course) {
    std::optional<fs::path> binary;
    std::vector<Check> checks{check_gpu(), check_nvcc(course, binary)};
    const bool runs = checks[0].state == State::works && checks[1].state == State::works;
    checks.push_back(check_tool("nsys", nsys(), "install Nsight Systems (docs/setup.md)", runs,
                                "docs/setup.md, 'nsys makes no report'", [&] { return try_nsys(*binary); }));
    checks.push_back(check_tool("ncu", ncu(), "install Nsight Compute (docs/setup.md)", runs,
                                "docs/setup.md, 'ERR_NVGPUCTRPERM'", [&] { return try_ncu(*binary); }));
    checks.push_back(check_tool("compute-sanitizer", compute_sanitizer(),
                                "it comes with the CUDA Toolkit (docs/setup.md)", runs, "docs/setup.md",
                                [&] { return try_sanitizer(*binary); }));
    return checks;
}

bool works(const std::vector<Check>& checks, const std::string& name) {
    return std::any_of(checks.begin(), checks.end(),
                       [&](const Check& c) { return c.name == name && c.state == State::works; });
}

/// What a chapter still lacks for live runs; none if it is open.
std::vector<std::string> lacks(const std::vector<Check>& checks, const Chapter& chapter) {
    std::vector<std::string> missing;
    std::set<std::string> needs(chapter.needs.begin(), chapter.needs.end());
    needs.insert({"gpu", "nvcc"});
    for (const std::string& need : needs)
        if (!works(checks, need)) missing.push_back(need);
    return missing;
}

int doctor(bool json) {
    const Course course = Course::find();
    const std::vector<Check> checks = check_all(course);
    const bool any_broken =
        std::any_of(checks.begin(), checks.end(), [](const Check& c) { return c.state == State::broken; });
    const int exit_code = any_broken ? kFindingFailed : kFine;
    if (json) {
        nlohmann::ordered_json all{{"checks", nlohmann::ordered_json::array()},
                                   {"chapters", nlohmann::ordered_json::array()}};
        for (const Check& c : checks)
            all["checks"].push_back(
                {{"name", c.name}, {"state", to_string(c.state)}, {"found", c.found}, {"remedy", c.remedy}});
        for (const Chapter& chapter : course.chapters())
            all["chapters"].push_back({{"chapter", chapter.id}, {"lacks", lacks(checks, chapter)}});
        print_json(all);
        return exit_code;
    }
    for (const Check& c : checks) {
        const std::string state = c.state == State::works ? green("✓ works    ")
                                  : c.state == State::broken
                                      ? red("✗ broken   ")
                                      : yellow(fmt::format("- {:9}", to_string(c.state)));
        fmt::print("  {}  {:17}  {}\n", state, c.name, c.found);
        if (!c.remedy.empty()) fmt::print("               {:17}  to do: {}\n", "", c.remedy);
    }
    fmt::print("\n");
    for (const Chapter& chapter : course.chapters()) {
        const auto missing = lacks(checks, chapter);
        if (missing.empty())
            fmt::print("  {}  open live\n", chapter.short_id);
        else
            fmt::print("  {}  on recorded evidence; for live runs it lacks {}\n", chapter.short_id,
                       join(missing, ", "));
    }
    return exit_code;
}

}  // namespace

void add_doctor(Session& session) {
    const auto json = std::make_shared<bool>(false);
    Subcommand command(session, "doctor", "which tools work here, and what to do about the rest",
                       [json] { return doctor(*json); });
    command.flag("--json", *json, "print the checks as JSON");
}

}  // namespace lab
