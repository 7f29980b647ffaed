// lab nsys|ncu|sanitize PROGRAM: one tool on one program, its command line shown and its output passed on.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "core/files.h"
#include "core/text.h"
#include "lab/command.h"
#include "lab/report_file.h"
#include "tools/gpu_lock.h"
#include "tools/machine.h"
#include "tools/recorder.h"

namespace lab {

namespace {

constexpr const char* kPrograms = "ch05/buggy, ch05/EXERCISE/starter, a .cu file or a program that is built";

/// A program of the course by "ch05/buggy" or "ch05/vector_add_pipeline/starter", or one of the learner's own
/// by the path of its .cu file, or of itself if it is built already.
Program program_by_name(const Course& course, const std::string& name) {
    const bool is_source = name.ends_with(".cu");
    if (!is_source && !fs::is_regular_file(name) && name.find_first_of("./~") != 0)
        return program_of_course(course, name);
    if (!fs::is_regular_file(name) || (!is_source && ::access(name.c_str(), X_OK) != 0))
        throw Error(fmt::format("there is no program {}: give {}", printable(name), kPrograms));
    Program program;
    program.file = course.shown(fs::absolute(name).lexically_normal());
    program.name = program.file.stem().string();
    return program;
}

struct ToolRequest {
    std::string program;
    std::string tool = "memcheck";
    std::vector<std::string> arguments;
};

/// A program that can be run under a tool.
struct ToolRun {
    Course course;
    Program program;
    fs::path binary;
    fs::path report;                     ///< "ch05/seismometers/starter" has ch05-seismometers-starter
    std::vector<std::string> arguments;  ///< the program's own, and behind them those that the user adds
};

/// Builds the program, where there is a GPU and the tool to run it under, and makes the folder of reports.
ToolRun prepare(const ToolRequest& request, const std::optional<fs::path>& tool, const char* tool_name,
                const char* extension) {
    const Course course = Course::find();
    const Program program = program_by_name(course, request.program);
    if (!gpu())
        throw Error("there is no NVIDIA GPU here, so nothing can be run. ./lab doctor says more." +
                        recorded_of(course, program),
                    kNothingCouldRun);
    if (!tool)
        throw Error(fmt::format("{} is not here. docs/setup.md says how to install it.", tool_name),
                    kNothingCouldRun);
    const bool is_built = program.file.extension() != ".cu" && program.base.empty();
    const fs::path binary =
        is_built ? course.root() / program.file : build_program(course, program, announce_to_terminal);
    std::string name = fs::path(request.program).replace_extension().lexically_normal().relative_path();
    std::replace(name.begin(), name.end(), '/', '-');
    const fs::path folder = course.build_folder() / "reports";
    fs::create_directories(folder);
    std::vector<std::string> arguments = program.run_arguments();
    append(arguments, request.arguments);
    return {course, program, binary, folder / (name + extension), arguments};
}

/// Runs a tool and shows what it says.
int show(std::vector<std::string> words, const ToolRun& program, const std::vector<std::string>& arguments) {
    append(words, words_to_run(program.program, program.binary));
    append(words, arguments);
    announce_to_terminal(shell_line(words));
    const Command command{.words = words, .limit = std::chrono::seconds(600)};
    const Outcome outcome = [&] {
        const GpuLock lock;
        return run(command);
    }();
    fmt::print("{}", outcome.out);
    fmt::print(stderr, "{}", outcome.err);
    if (outcome.timed_out || outcome.signal)
        throw Error(fmt::format("{} did not finish: {}", words[0], describe(outcome, command)),
                    kFindingFailed);
    return outcome.exit_code == 0 ? kFine : kFindingFailed;
}

/// Has a tool write the program's report. An old one must not pass for the new one.
int record(std::vector<std::string> words, const ToolRun& run) {
    fs::remove(run.report);
    const std::string tool = words[0];
    const int code = show(std::move(words), run, run.arguments);
    if (!fs::exists(run.report))
        throw Error(fmt::format("{} left no report: above is what it said", tool), kFindingFailed);
    return code;
}

int run_nsys(const ToolRequest& request) {
    const ToolRun run = prepare(request, nsys(), "nsys", ".nsys-rep");
    const int code = record(nsys_command(*nsys(), run.report, run.program, true), run);
    const std::string report = run.course.shown(run.report);
    fmt::print("report   {}\nnext     ./lab analyze {}\n", report, report);
    return code;
}

int run_ncu(const ToolRequest& request) {
    const ToolRun run = prepare(request, ncu(), "ncu", ".ncu-rep");
    const int code = record({ncu()->string(), "--set", "basic", "--clock-control", "none", "--launch-count",
                             "5", "-f", "-o", run.report.string()},
                            run);
    fmt::print("report   {}  (./lab ncu-details shows it, ncu-ui opens it)\n", run.course.shown(run.report));
    return code;
}

int run_sanitize(const ToolRequest& request) {
    const ToolRun run = prepare(request, compute_sanitizer(), "compute-sanitizer", "");
    return show(sanitizer_command(*compute_sanitizer(), request.tool), run,
                request.arguments.empty() ? run.program.check_arguments : request.arguments);
}

}  // namespace

void add_tools(Session& session) {
    const auto request = std::make_shared<ToolRequest>();  // of the one command that is run
    const auto add = [&](const char* name, const char* summary, const char* footer,
                         int (*work)(const ToolRequest&)) {
        Subcommand command(session, name, summary, footer, [request, work] { return work(*request); });
        command.argument("PROGRAM", request->program,
                         "a program of the course (ch05/buggy, ch05/EXERCISE/starter), a .cu file of your "
                         "own, or a program that is built already");
        command.rest("ARGUMENT", request->arguments, "for the program, behind --");
        return command;
    };
    add("nsys", "record a program with Nsight Systems",
        "Shows the command line of nsys and runs it. The report is in build/reports/, where nsys-ui opens it "
        "and ./lab analyze and ./lab timeline read it.\n"
        "Example: ./lab nsys ch05/fixed -- --count 1000000",
        run_nsys);
    add("ncu", "profile a program's kernels with Nsight Compute",
        "Shows the command line of ncu and runs it: the basic set of sections for the first five launches, "
        "with the clocks left as they are. The report is in build/reports/; ncu-ui opens it.\n"
        "Example: ./lab ncu ch05/vector_add_pipeline/solution",
        run_ncu);
    add("sanitize", "run a program under compute-sanitizer",
        "Shows the command line of compute-sanitizer and runs it. Kernels run many times slower under it, so "
        "programs of the course get smaller sizes unless you give arguments.\n"
        "Exit code 1: the program failed, or the tool found an error.\n"
        "Example: ./lab sanitize ch05/fixed --tool racecheck",
        run_sanitize)
        .option("--tool", "TOOL", request->tool, "what it looks for",
                {kSanitizerTools.begin(), kSanitizerTools.end()});
}

}  // namespace lab
