#include "lab/doctor_trials.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/files.h"
#include "core/text.h"
#include "lab/command.h"
#include "tools/ncu_csv.h"
#include "tools/recorder.h"

namespace lab {

namespace {

// Of CUDA 12.4.0, the oldest toolkit that the course supports.
constexpr const char *kOldestCuda = "12.4", *kOldestNcu = "2024.1", *kOldestSanitizer = "2024.1";
constexpr const char* kProbeKernel = "count_up";  // of harness/doctor/probe.cu

Program probe() {
    Program program;
    program.name = "probe";
    program.file = "harness/doctor/probe.cu";
    return program;
}

Outcome failed_as(const std::string& words) {
    return {.exit_code = 1, .signal = 0, .timed_out = false, .out = "", .err = words};
}

/// One run of the sanitizer; nothing, with the failure said, if its output cannot be believed.
std::optional<SanitizerOutput> sanitize(const Examination& x, Check& check, const fs::path& binary,
                                        const std::vector<std::string>& arguments) {
    std::vector<std::string> words = sanitizer_command(*compute_sanitizer(), "memcheck");
    words.push_back(x.word(binary));
    append(words, arguments);
    const Outcome outcome = x.run_shown(check, words);
    const std::string output = outcome.out + outcome.err;
    try {
        if (!outcome.timed_out) return parse_sanitizer_output(output);
        x.fail_by_words(check, outcome, "sanitizer_hangs", "sanitizer_unknown");
    } catch (const Error&) {
        const bool has_summary = output.find("SUMMARY:") != std::string::npos;
        x.fail_by_words(check, outcome, "sanitizer_hangs",
                        has_summary ? "sanitizer_unknown" : "sanitizer_no_summary");
    }
    return std::nullopt;
}

}  // namespace

Check try_gpu(Examination& x) {
    Check check{.name = "gpu"};
    if (!nvidia_smi()) {
        x.fail_as_absent(check, "gpu_absent");
        return check;
    }
    check.path = nvidia_smi()->string();
    const Outcome outcome = x.run_shown(check, gpu_query(*nvidia_smi()));
    const auto found = outcome.timed_out ? std::nullopt : read_gpu(outcome);
    if (found) {
        check.version = found->driver;
        x.learn("driver", found->driver);
        check.succeed(fmt::format("{}, driver {}", found->name, found->driver));
    } else if (!x.platform().in_job) {
        x.fail(check, "login_node", {{"said", what_it_said(outcome.err + "\n" + outcome.out)}});
        check.state = State::absent;
    } else {
        x.fail_by_words(check, outcome, "gpu_hangs", "gpu_unknown");
    }
    return check;
}

Check try_nvcc(Examination& x, bool has_gpu, Binary& binary) {
    Check check{.name = "nvcc"};
    if (!nvcc()) {
        x.fail_as_absent(check, "nvcc_absent");
        return check;
    }
    check.path = nvcc()->string();
    if (!x.ask_version(check, kOldestCuda, "nvcc_too_old")) return check;
    if (!check.version.empty()) {
        std::string release = check.version;
        std::replace(release.begin(), release.end(), '.', '-');
        x.learn("release", release);
        x.learn("cuda", check.version);
        x.learn("needed", driver_needed_by(check.version));
    }
    fs::path built;
    bool compiled = false;
    try {
        built = build_program(x.course(), probe(), [&](const std::string& line) {
            compiled = true;
            check.tried = line;
            announce_to_terminal(line);
        });
    } catch (const Error& problem) {
        x.fail_by_words(check, failed_as(problem.what()), "nvcc_unknown", "nvcc_unknown");
        return check;
    }
    const std::string how = compiled ? "built the probe" : "found the probe built";
    if (!compiled) announce_to_terminal("# " + x.word(built) + " is up to date: nvcc does not run again");
    if (!has_gpu) {
        check.succeed(how + "; it was not run, as there is no GPU");
        return check;
    }
    const Outcome outcome = x.run_shown(check, {built.string()});
    if (outcome.exit_code != 0) {
        x.fail_by_words(check, outcome, "probe_hangs", "nvcc_unknown");
    } else {
        binary = built;
        check.succeed(how + ", and its kernel gave the right answer");
    }
    return check;
}

Check try_ncu(const Examination& x, const Binary& binary) {
    constexpr const char* kCounter = "sm__cycles_elapsed.max";
    Check check{.name = "ncu"};
    if (!x.ready(check, ncu(), binary.has_value(), "ncu", kOldestNcu)) return check;
    const Outcome outcome =
        x.run_shown(check, {ncu()->string(), "--clock-control", "none", "--csv", "--page", "raw",
                            "--print-units", "base", "--metrics", kCounter, x.word(*binary)});
    try {
        const std::string text = outcome.out + "\n" + outcome.err;
        const std::vector<NcuMetric> metrics = parse_ncu_csv(text, {kCounter});
        if (outcome.timed_out || metrics[0].number() <= 0) throw Error("no cycle was counted");
        check.succeed(
            fmt::format("read a counter of the GPU: {} took {} cycles", kProbeKernel, metrics[0].value));
    } catch (const Error&) {
        x.fail_by_words(check, outcome, "ncu_hangs", "ncu_unknown");
    }
    return check;
}

Check try_sanitizer(const Examination& x, const Binary& binary) {
    Check check{.name = "compute-sanitizer"};
    if (!x.ready(check, compute_sanitizer(), binary.has_value(), "sanitizer", kOldestSanitizer)) return check;
    const auto clean = sanitize(x, check, *binary, {});
    if (!clean) return check;
    if (clean->errors != 0) {
        const std::string first = clean->reports.empty() ? "errors without a report" : clean->reports[0].kind;
        x.fail(check, "sanitizer_false_alarm",
               {{"said", fmt::format("{}, the first: {}", clean->errors, first)}});
        return check;
    }
    const auto faulty = sanitize(x, check, *binary, {"--fault"});
    if (!faulty) return check;
    const bool caught =
        std::any_of(faulty->reports.begin(), faulty->reports.end(), [](const SanitizerReport& r) {
            return r.kind.rfind("Invalid", 0) == 0 && r.function == kProbeKernel;
        });
    if (caught)
        check.succeed("passed the probe, and found the bug planted in it with --fault");
    else
        x.fail(check, "sanitizer_blind");
    return check;
}

}  // namespace lab
