// The trial of nsys: record the probe, export the report, and read the trace back.
#include <fmt/format.h>

#include <algorithm>

#include "core/files.h"
#include "core/text.h"
#include "evidence/evidence.h"
#include "lab/doctor_trials.h"
#include "tools/recorder.h"

namespace lab {

namespace {

constexpr const char* kOldestNsys = "2023.4";                    // 2023.4.4 came with CUDA 12.4.0
constexpr const char *kKernel = "count_up", *kRange = "doctor";  // of harness/doctor/probe.cu

/// nsys recorded, and made no report of it: its second program, the importer, can say why.
void examine_importer(const Examination& x, Check& check, const Outcome& recording) {
    std::string library = missing_library(recording.err + recording.out);
    for (const fs::path& importer : importers_of(*nsys())) {
        if (!library.empty()) break;
        const Outcome importing = x.run_shown(check, {importer.string(), "--version"});
        library = missing_library(importing.err + importing.out);
    }
    if (library.empty()) return x.fail_by_words(check, recording, "nsys_hangs", "importer_absent");
    x.fail(check, "importer_lacks_library", {{"library", library}, {"package", package_of(library)}});
}

/// Reads a trace back: the kernel and the range around it, or the failure.
void examine_trace(const Examination& x, Check& check, const fs::path& exported) {
    const Evidence evidence = Evidence::open(exported);
    const Trace& trace = evidence.trace();
    const auto is_probe = [&](const Kernel& k) { return trace.name_of(k.name) == kKernel; };
    const auto is_range = [](const Range& r) { return r.name == kRange; };
    const auto kernels = std::count_if(trace.kernels.begin(), trace.kernels.end(), is_probe);
    if (kernels != 1)
        return x.fail(check, "nsys_blind", {{"said", fmt::format("{} runs of {}", kernels, kKernel)}});
    if (std::none_of(trace.ranges.begin(), trace.ranges.end(), is_range))
        return x.fail(check, "nsys_blind", {{"said", fmt::format("the NVTX range '{}' is missing", kRange)}});
    check.succeed(fmt::format("recorded the probe, exported it, and read kernel {} and NVTX range '{}' back",
                              kKernel, kRange));
}

/// Streams of events that no importer has made a report of.
std::vector<fs::path> unfinished_in(const fs::path& folder) {
    std::vector<fs::path> streams;
    for (const auto& entry : fs::directory_iterator(folder))
        if (entry.path().extension() == ".qdstrm") streams.push_back(entry.path());
    return streams;
}

/// Records the probe; true if there is a report.
bool record(const Examination& x, Check& check, const fs::path& binary, const fs::path& report) {
    const fs::path folder = report.parent_path();
    fs::create_directories(folder);
    fs::remove(report);
    for (const fs::path& old : unfinished_in(folder)) fs::remove(old);
    std::vector<std::string> words = nsys_command(*nsys(), x.word(report));
    words.push_back(x.word(binary));
    const Outcome outcome = x.run_shown(check, words);
    if (!outcome.timed_out && !outcome.signal && fs::exists(report)) return true;
    if (!outcome.timed_out && !unfinished_in(folder).empty())
        examine_importer(x, check, outcome);
    else
        x.fail_by_words(check, outcome, "nsys_hangs",
                        outcome.exit_code == 0 ? "nsys_no_report" : "nsys_unknown");
    return false;
}

}  // namespace

Check try_nsys(const Examination& x, const Binary& binary) {
    Check check{.name = "nsys"};
    if (!x.ready(check, nsys(), binary.has_value(), "nsys", kOldestNsys)) return check;
    const fs::path report = x.folder() / "probe.nsys-rep", exported = x.folder() / "probe.sqlite";
    if (!record(x, check, *binary, report)) return check;
    fs::remove(exported);
    const Outcome outcome = x.run_shown(check, export_command(*nsys(), x.word(report), x.word(exported)));
    if (outcome.exit_code != 0 || !fs::exists(exported)) {
        x.fail_by_words(check, outcome, "nsys_hangs", "nsys_unknown");
        return check;
    }
    try {
        examine_trace(x, check, exported);
    } catch (const Error& problem) {
        x.fail(check, "nsys_unknown", {{"said", what_it_said(problem.what())}});
    }
    if (check.state == State::works && comes_with_ncu(*nsys()))
        check.found += "; this nsys is the one inside Nsight Compute's package";
    return check;
}

}  // namespace lab
