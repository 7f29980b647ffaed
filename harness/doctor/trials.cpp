#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "core/files.h"
#include "core/text.h"
#include "doctor/examination.h"
#include "evidence/evidence.h"
#include "evidence/launches.h"
#include "tools/libraries.h"
#include "tools/machine.h"
#include "tools/ncu_csv.h"
#include "tools/recorder.h"

namespace lab {

namespace {

// Of CUDA 12.4.0, the oldest toolkit that the course supports.
constexpr const char *kOldestCuda = "12.4", *kOldestNsys = "2023.4", *kOldestNcu = "2024.1";
constexpr const char* kOldestSanitizer = "2024.1";
constexpr const char *kKernel = "count_up", *kRange = "doctor";  // of harness/doctor/probe.cu

/// The built probe, if it is fit to try the tools on.
using Binary = std::optional<fs::path>;

void try_gpu(Examination& x, Check& check) {
    if (!x.ready(check, nvidia_smi(), true, "")) return;
    const Outcome outcome = x.run_shown(check, gpu_query(*nvidia_smi()));
    const auto found = outcome.timed_out ? std::nullopt : read_gpu(outcome);
    if (found) {
        check.version = x.facts["driver"] = found->driver;
        check.succeed(fmt::format("{}, driver {}", found->name, found->driver));
    } else {
        x.fail_by_words(check, outcome);
    }
}

/// Builds the probe, and runs it where there is a GPU.
void try_nvcc(Examination& x, Check& check, bool has_gpu, Binary& binary) {
    if (!x.ready(check, nvcc(), true, kOldestCuda)) return;
    if (!check.version.empty()) {
        std::string release = check.version;
        std::replace(release.begin(), release.end(), '.', '-');
        x.facts.insert({{"release", release}, {"cuda", check.version}});
        x.facts["needed"] = earlier(check.version, "13") ? "525" : "580";  // the first driver of this CUDA
    }
    Program probe;
    probe.name = "probe";
    probe.file = "harness/doctor/probe.cu";
    fs::path built;
    std::string how = "found the probe built";
    try {
        built = build_program(x.course, probe, [&](const std::string& line) {
            how = "built the probe";
            x.announce(check.tried = line);
        });
    } catch (const Error& problem) {
        return x.fail_by_words(check, Outcome{.out = "", .err = problem.what()});
    }
    if (!has_gpu) return check.succeed(how + "; it was not run, as there is no GPU");
    const Outcome outcome = x.run_on_gpu(check, {built.string()});
    if (outcome.exit_code != 0) return x.fail_by_words(check, outcome);
    binary = built;
    check.succeed(how + ", and its kernel gave the right answer");
}

/// Reads a trace back: the kernel and the range around it, or the failure.
void examine_trace(const Examination& x, Check& check, const fs::path& exported) {
    const Evidence evidence = Evidence::open(exported);
    const Trace& trace = evidence.trace();
    const auto kernels = std::count_if(trace.kernels.begin(), trace.kernels.end(),
                                       [&](const Kernel& k) { return trace.name_of(k.name) == kKernel; });
    if (kernels != 1)
        return x.fail(check, "nsys_blind", {{"said", fmt::format("{} runs of {}", kernels, kKernel)}});
    if (!has_range(trace, kRange))
        return x.fail(check, "nsys_blind", {{"said", fmt::format("the NVTX range '{}' is missing", kRange)}});
    check.succeed(fmt::format("recorded the probe, exported it, and read kernel {} and NVTX range '{}' back",
                              kKernel, kRange));
}

/// Records the probe, exports the report, and reads the trace back. The report stays, so that it can be
/// opened.
void try_nsys(const Examination& x, Check& check, const Binary& binary) {
    if (!x.ready(check, nsys(), binary.has_value(), kOldestNsys)) return;
    const fs::path folder = x.course.build_folder() / "doctor";
    const fs::path report = folder / "probe.nsys-rep", exported = folder / "probe.sqlite";
    fs::remove_all(folder);
    fs::create_directories(folder);
    std::vector<std::string> words = nsys_command(*nsys(), x.word(report));
    words.push_back(x.word(*binary));
    const Outcome recording = x.run_on_gpu(check, words);
    if (recording.timed_out || recording.signal || !fs::exists(report)) {
        const bool unfinished = std::any_of(fs::directory_iterator(folder), {}, [](const auto& file) {
            return file.path().extension() == ".qdstrm";  // a stream of events, and no report of it
        });
        return x.fail_by_words(check, recording,
                               unfinished                 ? "importer_absent"
                               : recording.exit_code == 0 ? "nsys_no_report"
                                                          : "unknown");
    }
    const Outcome outcome = x.run_shown(check, export_command(*nsys(), x.word(report), x.word(exported)));
    if (outcome.exit_code != 0 || !fs::exists(exported)) return x.fail_by_words(check, outcome);
    try {
        examine_trace(x, check, exported);
    } catch (const Error& problem) {
        x.fail(check, "unknown", {{"said", what_it_said(problem.what())}});
    }
}

void try_ncu(const Examination& x, Check& check, const Binary& binary) {
    constexpr const char* kCounter = "sm__cycles_elapsed.max";
    if (!x.ready(check, ncu(), binary.has_value(), kOldestNcu)) return;
    const Outcome outcome =
        x.run_on_gpu(check, {ncu()->string(), "--clock-control", "none", "--csv", "--page", "raw",
                             "--print-units", "base", "--metrics", kCounter, x.word(*binary)});
    try {
        const auto metrics = parse_ncu_csv(outcome.out + "\n" + outcome.err, {kCounter});
        if (outcome.timed_out || metrics[0].number() <= 0) throw Error("no cycle was counted");
        check.succeed(fmt::format("read a counter of the GPU: {} took {} cycles", kKernel, metrics[0].value));
    } catch (const Error&) {
        x.fail_by_words(check, outcome);
    }
}

/// One run of the sanitizer; nothing, with the failure said, if its output cannot be believed.
std::optional<SanitizerOutput> sanitize(const Examination& x, Check& check, const fs::path& binary,
                                        const std::vector<std::string>& arguments) {
    std::vector<std::string> words = sanitizer_command(*compute_sanitizer(), "memcheck");
    words.push_back(x.word(binary));
    append(words, arguments);
    const Outcome outcome = x.run_on_gpu(check, words);
    const std::string output = outcome.out + outcome.err;
    try {
        if (!outcome.timed_out) return parse_sanitizer_output(output);
    } catch (const Error&) {  // the words say which failure it is
    }
    x.fail_by_words(check, outcome,
                    output.find("SUMMARY:") == std::string::npos ? "sanitizer_no_summary" : "unknown");
    return std::nullopt;
}

/// Runs the probe under memcheck twice: as it is, and with the bug that is planted in it.
void try_sanitizer(const Examination& x, Check& check, const Binary& binary) {
    if (!x.ready(check, compute_sanitizer(), binary.has_value(), kOldestSanitizer)) return;
    const auto clean = sanitize(x, check, *binary, {});
    if (!clean) return;
    if (clean->errors != 0) {
        const std::string first = clean->reports.empty() ? "errors without a report" : clean->reports[0].kind;
        return x.fail(check, "sanitizer_false_alarm",
                      {{"said", fmt::format("{}, the first: {}", clean->errors, first)}});
    }
    const auto faulty = sanitize(x, check, *binary, {"--fault"});
    if (!faulty) return;
    const bool caught = std::any_of(
        faulty->reports.begin(), faulty->reports.end(),
        [](const SanitizerReport& r) { return r.kind.starts_with("Invalid") && r.function == kKernel; });
    if (!caught) return x.fail(check, "sanitizer_blind");
    check.succeed("passed the probe, and found the bug planted in it with --fault");
}

/// Records the probe once more with options that a machine may forbid. nsys then ends without a report, or
/// says in a warning that it records the rest.
void try_options(const Examination& x, Check& check, const fs::path& binary, const Recording& options) {
    check.path = nsys()->string();
    Program probe;
    probe.recording = options;
    const fs::path report = x.course.build_folder() / "doctor" / (check.name + ".nsys-rep");
    std::vector<std::string> words = nsys_command(*nsys(), x.word(report), probe, true);
    words.push_back(x.word(binary));
    const Outcome recording = x.run_on_gpu(check, words);
    if (fs::exists(report) && x.failures.recognise(check.name, recording.out + recording.err).empty())
        return check.succeed("nsys recorded the probe with " + options.says);
    x.fail_by_words(check, recording);
    check.state = State::denied;  // the chapters are open all the same
}

/// Links a program with a library, and has it say the library's version, which needs no GPU. One that is not
/// here is no failure: what needs it is left out.
void try_library(const Examination& x, Check& check, const Library& library, const std::string& text,
                 const std::string& oldest) {
    if (library.headers.empty()) {
        check.state = State::absent;
        check.found = "what links it is not built, and shown from evidence (docs/setup.md#nccl-and-nvshmem)";
        return;
    }
    check.path = library.files[0].second.string();
    Program probe;
    probe.name = check.name;
    probe.file = x.course.shown(x.course.build_folder() / "doctor" / (check.name + ".cu"));
    probe.flags = {library.option};
    write_file(x.course.root() / probe.file, text);
    try {
        const fs::path built =
            build_program(x.course, probe, [&](const std::string& line) { x.announce(check.tried = line); });
        const Outcome outcome = x.run_shown(check, {built.string()});
        if (outcome.exit_code != 0) return x.fail_by_words(check, outcome);
        if (const std::string said = trim(outcome.out); !said.empty() && std::isdigit(said[0]))
            check.version = said;
    } catch (const Error& problem) {
        return x.fail_by_words(check, Outcome{.out = "", .err = problem.what()});
    }
    if (earlier(check.version, oldest))
        return x.fail(check, "too_old", {{"version", check.version}, {"minimum", oldest}});
    check.succeed("a program that links it was built, and said its version");
}

void try_libraries(const Examination& x, std::vector<Check>& checks,
                   const std::function<void(const Check&)>& tell) {
    constexpr std::array kTexts{
        R"(#include <nccl.h>

#include <cstdio>

int main() {
    int n = 0;
    if (ncclGetVersion(&n) != ncclSuccess) return 1;
    std::printf("%d.%d.%d\n", n / 10000, n / 100 % 100, n % 100);
}
)",
        R"(#include <nvshmem_host.h>

#include <cstdio>

int main() {
    int major = 0, minor = 0, patch = 0;
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    std::printf("%d.%d.%d\n", major, minor, patch);
}
)"};
    constexpr std::array kOldest{"2.20", "3.0"};  // of CUDA 12.4; that processes meet by a unique ID
    for (std::size_t i = 0; i < kTexts.size(); ++i) {
        const Library& library = libraries()[i];
        checks.push_back(Check{.name = i == 0 ? "nccl" : "nvshmem"});
        try_library(x, checks.back(), library, kTexts[i], kOldest[i]);
        tell(checks.back());
    }
}

}  // namespace

std::vector<Check> examine(Examination& x, const std::function<void(const Check&)>& tell) {
    std::vector<Check> checks;
    Binary binary;
    for (const char* name : {"gpu", "nvcc", "nsys", "ncu", "compute-sanitizer"})
        checks.push_back(Check{.name = name});
    try_gpu(x, checks[0]), tell(checks[0]);
    try_nvcc(x, checks[1], checks[0].state == State::works, binary), tell(checks[1]);
    try_nsys(x, checks[2], binary), tell(checks[2]);
    try_ncu(x, checks[3], binary), tell(checks[3]);
    try_sanitizer(x, checks[4], binary), tell(checks[4]);
    if (checks[1].state == State::works) try_libraries(x, checks, tell);
    if (checks[2].state != State::works) return checks;
    checks.push_back(Check{.name = "cpu-samples"});
    try_options(x, checks.back(), *binary,
                {.name = "",
                 .says = "samples and context switches of the CPU",
                 .nsys_options = {"--sample=process-tree", "--cpuctxsw=process-tree"}});
    tell(checks.back());
    checks.push_back(Check{.name = "gpu-metrics"});
    try_options(x, checks.back(), *binary,
                {.name = "", .says = "counters of the GPU over time", .gpu_metrics = {"SMs Active"}});
    tell(checks.back());
    return checks;
}

}  // namespace lab
