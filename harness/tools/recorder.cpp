#include "tools/recorder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "core/files.h"
#include "core/parallel.h"
#include "core/process.h"
#include "core/text.h"
#include "evidence/kineto_trace.h"
#include "tools/gpu_lock.h"
#include "tools/machine.h"
#include "tools/ncu_runner.h"
#include "tools/python.h"

namespace lab {

namespace {

constexpr std::chrono::seconds kProgramLimit{60}, kToolLimit{300};
constexpr int kSanitizerFoundErrors = 86;
constexpr std::size_t kMostKept = std::size_t{16} << 20;  ///< bytes of the program's output

/// One step at a time has the GPU: times mean nothing otherwise. What a report is made into goes on
/// meanwhile.
template <class Step>
auto on_gpu(const Step& step) {
    const GpuLock lock;
    return step();
}

std::string last_lines(const std::string& text) {
    constexpr std::ptrdiff_t kMost = 12;
    std::vector<std::string> lines = split(trim(text), '\n');
    if (std::ssize(lines) > kMost) lines.erase(lines.begin(), lines.end() - kMost);
    for (std::string& line : lines) line = "  " + printable(line);
    return join(lines, "\n");
}

Outcome announced(const Command& command, const Announce& announce) {
    announce(shell_line(command.words));
    return run(command);
}

/// nsys also lists every process it can see. In a process namespace of its own, which root may make outside
/// of most containers, it sees only the program.
std::vector<std::string> alone_on_the_machine() {
    if (::geteuid() != 0 || !find_program("unshare")) return {};
    const std::vector<std::string> words{"unshare", "--pid", "--fork", "--mount-proc"};
    std::vector<std::string> trial = words;
    trial.push_back("true");
    return run({.words = trial}).exit_code == 0 ? words : std::vector<std::string>{};
}

/// The program alone, for its exit code and what it prints.
void run_alone(const Program& program, const fs::path& binary, const Announce& announce, RunRecord& record) {
    Command command{.words = words_to_run(program, binary), .limit = kProgramLimit};
    append(command.words, program.run_arguments());
    const Outcome outcome = on_gpu([&] { return announced(command, announce); });
    if (outcome.timed_out)
        throw ProgramError(
            fmt::format("{} did not end within {} s. Does a loop never end, or does it wait for itself?",
                        program.file.string(), kProgramLimit.count()));
    if (outcome.exit_code == kNothingCouldRun)
        throw Error(fmt::format("{}: {}", program.file.string(), printable(trim(outcome.err))),
                    kNothingCouldRun);
    record.exit_code = outcome.exit_code;
    record.out = outcome.out + outcome.err;
    if (record.out.size() > kMostKept) record.out.resize(kMostKept);
}

/// Output of a tool that cannot be read is a failure of the tool, not bad input from the user.
void tool_step(const char* tool, const Program& program, const std::function<void()>& step) {
    try {
        step();
    } catch (const Error& problem) {
        throw Error(fmt::format("{} could not look at {}: {}", tool, program.file.string(), problem.what()),
                    kFindingFailed);
    }
}

Outcome profile(const Program& program, const fs::path& binary, const fs::path& report, bool for_publication,
                bool sample_gpu, const Announce& announce) {
    // Only the plain recording's report is published, and none with samples of the GPU: the others may list
    // the machine's processes.
    const bool alone = for_publication && !sample_gpu && program.recording.name.empty();
    Command command{.words = alone ? alone_on_the_machine() : std::vector<std::string>{},
                    .limit = kToolLimit};
    append(command.words, nsys_command(*nsys(), report, program, sample_gpu));
    const TemporaryFolder scratch;
    command = with_program(command, program, binary, for_publication, scratch);
    return on_gpu([&] { return announced(command, announce); });
}

/// The line in which nsys says that its capture never began.
std::string no_reports_line(const Outcome& outcome) {
    for (const std::string& line : split(outcome.out + outcome.err, '\n'))
        if (line.find("No reports were generated") != std::string::npos) return printable(trim(line));
    return "";
}

/// The views that a recording was to fill beside those of CUDA and NVTX, and did not.
std::vector<std::string> not_captured(const Program& program, const Evidence& evidence) {
    const auto asks = [&](const char* option, const char* word, bool wanted) {
        return std::any_of(program.recording.nsys_options.begin(), program.recording.nsys_options.end(),
                           [&](const std::string& o) {
                               return o.starts_with(option) && (o.find(word) != std::string::npos) == wanted;
                           });
    };
    std::vector<std::string> views;
    if (asks("--trace=", "osrt", true)) views.emplace_back("os_calls");
    if (asks("--sample=", "none", false)) views.emplace_back("cpu_samples");
    if (asks("--cpuctxsw=", "none", false)) views.emplace_back("context_switches");
    if (!program.recording.gpu_metrics.empty()) views.emplace_back("gpu_metrics");
    std::erase_if(views, [&](const std::string& view) {
        return evidence.database().prepare(fmt::format("SELECT 1 FROM {} LIMIT 1", view)).next();
    });
    return views;
}

void run_nsys(const Program& program, const fs::path& binary, const fs::path& report, bool for_publication,
              const Announce& announce, RunRecord& record) {
    fs::create_directories(report.parent_path());
    const bool sample_gpu = !program.recording.gpu_metrics.empty();
    Outcome outcome = profile(program, binary, report, for_publication, sample_gpu, announce);
    if (!fs::exists(report) && sample_gpu && !for_publication) {
        announce(
            "# nsys could not sample the GPU's metrics here (docs/setup.md says why); once more without");
        outcome = profile(program, binary, report, for_publication, false, announce);
    }
    const bool is_there = fs::exists(report);
    record.nsys = NsysRun{join(program.recording.nsys_options, " "), std::nullopt, ""};
    if (!is_there && !program.recording.name.empty()) record.nsys->said = no_reports_line(outcome);
    if (!record.nsys->said.empty()) return;
    if (!is_there || outcome.timed_out || outcome.signal)
        throw Error(fmt::format("nsys could not look at {} ({}). It said:\n{}", program.file.string(),
                                describe(outcome, {.words = {nsys()->string()}, .limit = kToolLimit}),
                                last_lines(outcome.out + outcome.err)),
                    kFindingFailed);
    tool_step("nsys", program, [&] {
        const fs::path to = fs::path(report).replace_extension(".export.sqlite");
        const Evidence evidence = Evidence::open(export_report(report, to, announce));
        for (const std::string& view : not_captured(program, evidence)) {
            const std::string why =
                fmt::format("nsys recorded nothing for {} (./lab doctor says what it may record here)", view);
            if (for_publication) throw Error(why);
            announce("# " + why);
        }
        record.nsys->exported = to;
    });
}

/// Runs the program once more, with torch.profiler on. Its answer was judged without.
void run_torch_profiler(const Program& program, const fs::path& binary, const fs::path& trace,
                        bool for_publication, const Announce& announce, RunRecord& record) {
    fs::create_directories(trace.parent_path());
    const TemporaryFolder scratch;
    Command command =
        with_program({.words = {}, .limit = kToolLimit}, program, binary, for_publication, scratch);
    append(command.words, {"--trace", fs::absolute(trace).string()});
    const Outcome outcome = on_gpu([&] { return announced(command, announce); });
    if (!fs::exists(trace))
        throw Error(fmt::format("{} wrote no trace ({}). It said:\n{}", program.file.string(),
                                describe(outcome, command), last_lines(outcome.out + outcome.err)),
                    kFindingFailed);
    tool_step(kTorchProfiler, program, [&] { (void)read_kineto_trace(trace); });
    record.kineto = trace;
}

/// The GPU that ran the kernels, if the report names several. It need not be the driver's first.
std::string gpu_of_kernels(const Trace& trace) {
    if (trace.gpus.size() < 2 || trace.kernels.empty()) return "";
    return trace.name_of_gpu(trace.kernels.front().device);
}

/// Runs all tools that findings need at once, since times mean nothing under the sanitizer. One that found
/// nothing in a program that broke off is run once more, since a race may give a wrong answer under one tool
/// by chance; after that it's not noted as run, unless the program ends so by itself.
void run_sanitizers(const Program& program, const fs::path& binary, const Announce& announce,
                    RunRecord& record) {
    const std::vector<std::string>& tools = program.sanitizers;
    std::vector<SanitizerOutput> outputs(tools.size());
    const auto proves_nothing = [&record](const SanitizerOutput& output) {
        return output.reports.empty() && output.exit_code != 0 &&
               (output.exit_code != record.exit_code || output.exit_code > 128);
    };
    on_gpu([&] {
        for_each_in_parallel(tools.size(), static_cast<unsigned>(tools.size()), [&](std::size_t i) {
            outputs[i] = run_sanitizer(tools[i], program, binary, announce);
            if (proves_nothing(outputs[i])) outputs[i] = run_sanitizer(tools[i], program, binary, announce);
        });
    });
    for (std::size_t i = 0; i < tools.size(); ++i)
        if (proves_nothing(outputs[i]))
            announce(
                fmt::format("# {} found nothing in a program that broke off (exit code {}), twice: that "
                            "proves nothing",
                            tools[i], outputs[i].exit_code));
        else
            record.sanitizer[tools[i]] = std::move(outputs[i].reports);
}

/// What a tool prints where the program or its report lies, for a page to show.
RunRecord::ToolOutput output_of(const std::string& tool, const Program& program, const fs::path& binary,
                                const fs::path& report, const Announce& announce) {
    const TemporaryFolder scratch;
    Command command{.words = {}, .limit = kToolLimit, .folder = scratch.path()};
    std::vector<std::string> shown;  // without the folder of the tool
    std::string name = tool;
    if (tool.starts_with("nsys ")) {
        const std::string file = program.name + ".nsys-rep";
        fs::copy_file(report, scratch.path() / file);
        shown = split(tool, ' ');
        name = shown[0] + " " + shown[1];
        shown.push_back(file);
        command.words = shown;
        command.words[0] = nsys()->string();
    } else {
        command.words = sanitizer_command(*compute_sanitizer(), tool);
        append(command.words, words_to_run_copy(program, binary, scratch.path()));
        append(command.words, program.check_arguments);
        shown = command.words;
        shown[0] = "compute-sanitizer";
    }
    const Outcome outcome = on_gpu([&] { return announced(command, announce); });
    const std::string text = trim(outcome.out + outcome.err);
    if (text.empty() || outcome.timed_out)
        throw Error(fmt::format("{} printed {} about {} ({})", tool, text.empty() ? "nothing" : "too little",
                                program.file.string(), describe(outcome, command)),
                    kFindingFailed);
    return {name, shell_line(shown), text};
}

void run_cuobjdump(const Program& program, const fs::path& binary, const Announce& announce,
                   RunRecord& record) {
    tool_step("cuobjdump", program, [&] {
        const Command command{.words = {cuobjdump()->string(), "-res-usage", "-sass", binary.string()},
                              .limit = kToolLimit};
        const Outcome outcome = announced(command, announce);
        if (outcome.exit_code != 0)
            throw Error(fmt::format("{}. It said:\n{}", describe(outcome, command),
                                    last_lines(outcome.out + outcome.err)));
        record.code = parse_machine_code(outcome.out);
    });
}

/// Did a kernel fault, by the names of CUDA's errors that say so?
bool tells_of_fault(const std::string& printed) {
    for (const char* error : {"cudaErrorIllegalAddress", "cudaErrorMisalignedAddress",
                              "cudaErrorLaunchFailure", "cudaErrorIllegalInstruction", "cudaErrorAssert"})
        if (printed.find(error) != std::string::npos) return true;
    return false;
}

/// Runs the program with a GPU core dump to be written if a kernel faults, beside `report`, and has cuda-gdb
/// read it. A fault without a dump is not noted as looked at.
void run_cuda_gdb(const Workspace& workspace, const Program& program, const fs::path& binary,
                  const fs::path& report, bool for_publication, const Announce& announce, RunRecord& record) {
    const fs::path dump = fs::path(report).replace_extension(".nvcudmp");
    fs::create_directories(dump.parent_path());
    fs::remove(dump);  // an old one must not pass for a new one
    const TemporaryFolder scratch;
    Command command{.words = core_dump_command(dump), .limit = kProgramLimit};
    command = with_program(command, program, binary, for_publication, scratch);
    command.folder = scratch.path();  // the driver aborts the program, and that may leave a core file
    const Outcome outcome = on_gpu([&] { return announced(command, announce); });
    if (!fs::exists(dump)) {
        const bool broke_off =
            outcome.timed_out || outcome.exit_code > 128 || tells_of_fault(outcome.out + outcome.err);
        const std::string why = "the driver wrote no GPU core dump of a program that broke off";
        if (broke_off && for_publication) throw Error(why);
        if (broke_off)
            announce("# " + why);
        else
            record.dumps.emplace();
        return;
    }
    const Command read{.words = cuda_gdb_command(*cuda_gdb(), dump), .limit = kToolLimit};
    const Outcome said = announced(read, announce);
    std::string text = said.out;
    if (text.find("CUDA Exception") == std::string::npos)
        text += said.err;  // which otherwise only has warnings
    for (const std::string& folder : {dump.parent_path().string() + "/", workspace.root().string() + "/"})
        for (std::size_t at = 0; (at = text.find(folder, at)) != std::string::npos;)
            text.erase(at, folder.size());
    record.dumps = {parse_core_dump(text)};
}

/// Everything that the tools and the program wrote, with the names of kernels and NVTX ranges in the trace.
std::string seen_in(const RunRecord& record, const std::optional<Evidence>& trace) {
    std::string seen = record.out;
    for (const auto& [tool, reports] : record.sanitizer)
        for (const SanitizerReport& report : reports) seen += "\n" + report.text;
    for (const CoreDump& dump : record.dumps.value_or(std::vector<CoreDump>{})) seen += "\n" + dump.text;
    for (const auto& [table, column] : {std::pair{"StringIds", "value"}, {"NVTX_EVENTS", "text"}}) {
        if (!trace || !trace->database().has_table(table)) continue;
        Statement row = trace->database().prepare(fmt::format("SELECT {} FROM main.{}", column, table));
        while (row.next()) seen += "\n" + row.text(0);
    }
    return seen;
}

Provenance provenance_of(const Workspace& workspace, const Program& program, const RunRecord& record,
                         const fs::path& binary) {
    std::optional<Evidence> trace;
    if (record.nsys && record.nsys->exported) trace = Evidence::open(*record.nsys->exported);
    std::vector<std::string> command{binary.filename().string()};
    if (program.is_python()) command.insert(command.begin(), "python3");
    append(command, program.run_arguments());
    const std::string built =
        program.is_python() ? workspace.build_fingerprint_of(program) : built_fingerprint(binary);
    Provenance p{{"date", utc_now()},
                 {"program", program.file.string()},
                 {"fingerprint", built},
                 {"command", shell_line(command)},
                 {"recording", recording_text(program)}};
    // A learner may have saved the file while its program ran: the evidence is of the program that was built.
    if (p["fingerprint"] == workspace.build_fingerprint_of(program))
        add_fingerprint(workspace, program, seen_in(record, trace), p);
    if (gpu()) p["gpu"] = gpu()->name, p["driver"] = gpu()->driver;
    if (gpu()) p["compute_capability"] = gpu()->compute_capability;
    const std::string used = trace ? gpu_of_kernels(trace->trace()) : "";
    if (!used.empty() && used != p["gpu"]) {
        p["gpu"] = used;
        p.erase("compute_capability");  // it was of the first
    }
    if (program.is_python()) {  // its CUDA is the library's own
        for (const std::string& library : program.libraries)
            if (const auto versions = python_with(library)) {
                p["python"] = versions->python;
                p["library"] += (p["library"].empty() ? "" : ", ") + versions->library;
            }
    } else if (nvcc()) {
        p["cuda"] = version_of(*nvcc());
    }
    if (record.nsys) p["nsys"] = version_of(*nsys());
    if (!record.ncu.empty()) p["ncu"] = version_of(*ncu());
    if (!record.launches.empty()) p["ncu_details"] = join(program.ncu_details, " ");
    if (record.code) p["code_arch"] = record.code->arch;
    if (!record.outputs.empty()) p["outputs"] = join(program.outputs, ", ");
    if (!record.sanitizer.empty()) p["compute-sanitizer"] = version_of(*compute_sanitizer());
    return p;
}

}  // namespace

std::vector<std::string> nsys_command(const fs::path& nsys_path, const fs::path& report,
                                      const Program& program, bool sample_gpu) {
    std::vector<std::string> words{nsys_path.string(),      "profile",         "--trace=cuda,nvtx",
                                   "--sample=none",         "--cpuctxsw=none", "--cuda-graph-trace=node",
                                   "--force-overwrite=true"};
    // nsys takes an option once: a recording's own value stands in place of the course's.
    for (const std::string& own : program.recording.nsys_options)
        std::erase_if(words, [&](const std::string& word) {
            return word.starts_with("--") && word.substr(0, word.find('=')) == own.substr(0, own.find('='));
        });
    if (sample_gpu && !program.recording.gpu_metrics.empty())
        words.emplace_back("--gpu-metrics-devices=cuda-visible");
    append(words, program.recording.nsys_options);
    append(words, {"-o", report.string()});
    return words;
}

std::vector<std::string> core_dump_command(const fs::path& dump) {
    return {
        "env", "CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1",
        "CUDA_COREDUMP_GENERATION_FLAGS=skip_nonrelocated_elf_images,skip_global_memory,skip_shared_memory,"
        "skip_local_memory",
        "CUDA_COREDUMP_FILE=" + dump.string()};
}

std::vector<std::string> cuda_gdb_command(const fs::path& cuda_gdb_path, const fs::path& dump) {
    return {cuda_gdb_path.string(), "-batch", "-nx", "-ex", "target cudacore " + dump.string(), "-ex",
            "info cuda kernels",    "-ex",    "bt"};
}

std::vector<std::string> export_command(const fs::path& nsys_path, const fs::path& report,
                                        const fs::path& to) {
    return {nsys_path.string(),       "export", "--type",    "sqlite",
            "--force-overwrite=true", "-o",     to.string(), report.string()};
}

fs::path export_report(const fs::path& report, const fs::path& to, const Announce& announce) {
    if (!nsys())
        throw Error(
            fmt::format(
                "{} can be read only by nsys, which is not here. Install Nsight Systems (docs/setup.md), "
                "or give the .sqlite that `nsys export --type sqlite` makes of it.",
                report.string()),
            kNothingCouldRun);
    const Command command{.words = export_command(*nsys(), report, to), .limit = kToolLimit};
    const Outcome outcome = announced(command, announce);
    if (outcome.exit_code != 0 || !fs::exists(to))
        throw Error(fmt::format("nsys could not export {} ({}). It said:\n{}", report.string(),
                                describe(outcome, command), last_lines(outcome.out + outcome.err)));
    return to;
}

std::vector<std::string> sanitizer_command(const fs::path& sanitizer_path, const std::string& tool) {
    std::vector<std::string> words{sanitizer_path.string(), "--tool", tool};
    if (tool == "memcheck") append(words, {"--leak-check", "full", "--track-stream-ordered-races", "all"});
    append(words, {"--error-exitcode", std::to_string(kSanitizerFoundErrors)});
    return words;
}

SanitizerOutput run_sanitizer(const std::string& tool, const Program& program, const fs::path& binary,
                              const Announce& announce) {
    Command command{.words = sanitizer_command(*compute_sanitizer(), tool), .limit = kToolLimit};
    append(command.words, words_to_run(program, binary));
    append(command.words, program.check_arguments);
    const Outcome outcome = announced(command, announce);
    if (outcome.timed_out)
        throw Error(fmt::format("compute-sanitizer {}", describe(outcome, command)), kFindingFailed);
    if (outcome.exit_code == kNothingCouldRun)
        throw Error("the program found no GPU that suits it, or too little free memory", kNothingCouldRun);
    SanitizerOutput output = parse_sanitizer_output(outcome.out + outcome.err);
    if (outcome.exit_code != kSanitizerFoundErrors) output.exit_code = outcome.exit_code;
    return output;
}

RunRecord record_program(const Workspace& workspace, const Program& program, const fs::path& binary,
                         const fs::path& report, bool for_publication, const Announce& announce) {
    RunRecord record;
    record.gpu_metrics = program.recording.gpu_metrics;
    const bool further = !program.recording.name.empty();  // the plain recording has seen the rest
    if (!further || !program.recording.arguments.empty()) run_alone(program, binary, announce, record);
    if (program.traced && program.profiles_itself)
        run_torch_profiler(program, binary, fs::path(report).replace_extension(kTraceExtension),
                           for_publication, announce, record);
    else if (nsys() && program.traced)
        run_nsys(program, binary, report, for_publication, announce, record);
    if (!further && ncu() && !program.ncu_metrics.empty())
        tool_step("ncu", program, [&] {
            const fs::path beside = fs::path(report).replace_extension(".ncu-rep");
            record.ncu = on_gpu([&] { return run_ncu(program, binary, beside, for_publication, announce); });
        });
    if (!record.ncu.empty() && !program.ncu_details.empty())
        tool_step("ncu", program, [&] {
            const fs::path beside = fs::path(report).replace_extension(".details.ncu-rep");
            record.launches =
                on_gpu([&] { return run_ncu_details(program, binary, beside, for_publication, announce); });
        });
    if (!further && compute_sanitizer())
        tool_step("compute-sanitizer", program, [&] { run_sanitizers(program, binary, announce, record); });
    if (!further && program.code && cuobjdump()) run_cuobjdump(program, binary, announce, record);
    if (!further && program.dump && cuda_gdb())
        tool_step("cuda-gdb", program, [&] {
            run_cuda_gdb(workspace, program, binary, report, for_publication, announce, record);
        });
    if (!further && for_publication)
        for (const std::string& tool : program.outputs)
            record.outputs.push_back(output_of(tool, program, binary, report, announce));
    record.sources = workspace.sources_of(program);
    record.provenance = provenance_of(workspace, program, record, binary);
    return record;
}

RunRecord record_code(const Workspace& workspace, const Program& program, const fs::path& binary,
                      const Announce& announce) {
    RunRecord record;
    run_cuobjdump(program, binary, announce, record);
    record.provenance = provenance_of(workspace, program, record, binary);
    return record;
}

}  // namespace lab
