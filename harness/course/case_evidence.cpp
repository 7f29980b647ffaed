#include "course/case_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

#include "core/compressed_file.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "tools/libraries.h"
#include "tools/machine.h"
#include "tools/python.h"

namespace lab {

namespace {

/// What lies beside the evidence of a run, for the GUIs.
constexpr std::array kReports{".nsys-rep", ".ncu-rep", ".details.ncu-rep", kTraceExtension};

using Open = std::function<std::optional<Evidence>(const Program&)>;

/// The evidence of all programs, with its label and the reports beside it; nothing if a program has none.
std::optional<CaseEvidence> gather(const Course& course, const Case& of, bool live, const Open& open) {
    CaseEvidence all;
    all.live = live;
    for (const Program& program : of.programs) {
        std::optional<Evidence> side = open(program);
        if (!side) return std::nullopt;
        all.sides.push_back(std::move(*side));
        all.files.push_back(live ? live_evidence_path(course, program) : course.evidence_of(program));
    }
    const auto stale =
        std::find_if(all.sides.begin(), all.sides.end(), [](const Evidence& e) { return e.is_stale(); });
    all.label = source_label((stale == all.sides.end() ? all.sides[0] : *stale).provenance(), live);
    for (const char* extension : kReports)
        for (const fs::path& file : all.files)
            if (const fs::path report = fs::path(file).replace_extension(extension); fs::exists(report))
                all.reports.push_back(report);
    return all;
}

/// ncu writes the program's folder into its report. A copy of the course here tells nothing of the machine.
const char* const kNamelessFolder = "/course";

/// The file's bytes; of a file that gzip packed, what it unpacks to.
std::string text_of(const fs::path& file) {
    CompressedFile text(file);
    return {std::istreambuf_iterator<char>(&text), {}};
}

/// Puts the reports of a run beside its evidence, but for those that would weigh down the repository, or that
/// name a folder of this machine.
void keep_reports(const Course& course, const fs::path& report, const fs::path& evidence,
                  const Announce& announce) {
    constexpr std::uintmax_t kMostBytes = 3'000'000;
    for (const char* extension : kReports) {
        const fs::path made = fs::path(report).replace_extension(extension);
        const fs::path kept = fs::path(evidence).replace_extension(extension);
        fs::remove(kept);  // it would be of another run
        if (!fs::exists(made)) continue;
        if (fs::file_size(made) >= kMostBytes)
            announce(fmt::format("# {} is not kept: it is too large", course.shown(kept)));
        else if (course.root() != kNamelessFolder &&
                 text_of(made).find(course.root().string()) != std::string::npos)
            announce(fmt::format(
                "# {} is not kept: it names the folder of the course on this machine; record in a copy at {}",
                course.shown(kept), kNamelessFolder));
        else
            replace_file(made, kept);
    }
}

}  // namespace

std::string missing_for_live(const Needs& needs, bool compiles) {
    if (!gpu()) return "there is no NVIDIA GPU here";
    if (compiles && !nvcc()) return "nvcc, the CUDA compiler, is not here";
    if (needs.nsys && !nsys()) return "nsys (Nsight Systems) is not here";
    if ((needs.counters || needs.details) && !ncu()) return "ncu (Nsight Compute) is not here";
    if (needs.reports && !compute_sanitizer()) return "compute-sanitizer is not here";
    if (needs.code && !cuobjdump()) return "cuobjdump is not here";
    if (needs.dumps && !cuda_gdb()) return "cuda-gdb is not here";
    return "";
}

std::string missing_for_programs(const Case& of) {
    constexpr std::array kWords{"no GPU", "one", "two", "three", "four", "five", "six", "seven", "eight"};
    if (const auto missing = missing_libraries(of.programs[0].flags); !missing.empty())
        return join(missing, " and ") + " is not here (docs/setup.md says how to install it)";
    if (const auto missing = missing_in_python(of.programs[0].libraries); !missing.empty())
        return fmt::format("python3 cannot import {} here (python/requirements.txt has {})",
                           join(missing, " and "), missing.size() == 1 ? "its version" : "their versions");
    const int here = static_cast<int>(gpu_uuids().size());
    if (here == 0 || here >= of.gpus) return "";
    return fmt::format("it needs {} GPUs, and {} {} here", kWords.at(static_cast<std::size_t>(of.gpus)),
                       kWords.at(static_cast<std::size_t>(here)), here == 1 ? "is" : "are");
}

std::string missing_for_live(const Case& of) {
    const std::string missing = missing_for_live(of.needs(), !of.programs[0].is_python());
    return missing.empty() ? missing_for_programs(of) : missing;
}

bool is_recorded(const Course& course, const std::vector<Program>& programs) {
    for (const Program& program : programs)
        for (const Program& recorded : all_recordings(program))
            if (!recorded.recording.draft && !course.has_evidence_of(recorded)) return false;
    return true;
}

Evidence open_recorded(const Course& course, const Program& program, const std::string& gpu) {
    Evidence evidence = Evidence::open(course.evidence_of(program, gpu));
    if (course.is_stale(program, evidence)) evidence.mark_stale();
    for (const Recording& recording : program.further) {
        if (recording.draft && !course.has_evidence_of(program.recorded_as(recording))) continue;
        Evidence further = open_recorded(course, program.recorded_as(recording), gpu);
        if (further.is_stale()) evidence.mark_stale();
        evidence.add_recording(recording.name, std::move(further));
    }
    return evidence;
}

std::optional<Evidence> fresh_recording(const Course& course, const Program& program) {
    try {
        Evidence evidence = open_recorded(course, program);
        const bool plain = program.recording.name.empty();  // the others look at less
        const bool lacks_details = plain && !program.ncu_details.empty() && !evidence.was_run("ncu_details");
        const bool lacks_outputs =
            plain && value_of(evidence.provenance(), "outputs") != join(program.outputs, ", ");
        if (evidence.is_stale() || lacks_details || lacks_outputs) return std::nullopt;
        return evidence;
    } catch (const Error&) {
        return std::nullopt;
    }
}

bool is_freshly_recorded(const Course& course, const std::vector<Program>& programs) {
    return std::all_of(programs.begin(), programs.end(),
                       [&](const Program& program) { return fresh_recording(course, program).has_value(); });
}

fs::path live_evidence_path(const Course& course, const Program& program) {
    fs::path path = course.build_folder() / "live" / program.file;
    return path.replace_extension(program.evidence_extension());
}

std::optional<Evidence> own_live_run(const Course& course, const Program& program) {
    const fs::path path = live_evidence_path(course, program);
    if (!fs::exists(path)) return std::nullopt;
    try {
        Evidence evidence = Evidence::open(path);
        if (course.is_stale(program, evidence)) return std::nullopt;
        for (const Recording& further : program.further) {
            std::optional<Evidence> more = own_live_run(course, program.recorded_as(further));
            if (!more) return std::nullopt;
            evidence.add_recording(further.name, std::move(*more));
        }
        return evidence;
    } catch (const Error&) {
        return std::nullopt;  // damaged: what the course has recorded will do
    }
}

Evidence record_live(const Course& course, const Program& program, const Announce& announce) {
    const fs::path binary = build_program(course, program, announce);
    const fs::path path = live_evidence_path(course, program);
    {
        const Lock lock(path);
        for (const char* extension : kReports)  // an old report must not pass for a new one
            fs::remove(fs::path(path).replace_extension(extension));
        const fs::path report = fs::path(path).replace_extension(".nsys-rep");
        write_evidence(record_program(course, program, binary, report, false, announce), path);
    }
    Evidence evidence = Evidence::open(path);
    for (const Recording& further : program.further)
        evidence.add_recording(further.name, record_live(course, program.recorded_as(further), announce));
    return evidence;
}

Evidence record_code_alone(const Course& course, const Program& program, const Announce& announce) {
    const fs::path binary = build_program(course, program, announce);
    const fs::path path = live_evidence_path(course, program).replace_extension(".code.sqlite");
    const Lock lock(path);
    write_evidence(record_code(course, program, binary, announce), path);
    return Evidence::open(path);
}

fs::path record_evidence(const Course& course, const Case& of, const Program& program,
                         const Announce& announce) {
    const TemporaryFolder scratch;
    const fs::path report = scratch.path() / "run.nsys-rep";
    const fs::path evidence =
        course.root() / program.evidence_folder / gpu_folder(gpu()->name) / program.evidence_name();
    write_evidence(
        record_program(course, program, build_program(course, program, announce), report, true, announce),
        evidence);
    const bool is_shown = of.kind == CaseKind::pair || (program.profiles_itself && program.base.empty());
    if (is_shown && program.recording.name.empty()) keep_reports(course, report, evidence, announce);
    return evidence;
}

CaseEvidence obtain(const Course& course, const Case& of, Source source, const Announce& announce) {
    const auto recorded = [&] {
        return *gather(course, of, false, [&](const Program& p) { return open_recorded(course, p); });
    };
    if (source == Source::recorded) return recorded();
    const std::string missing = missing_for_live(of);
    if (missing.empty())
        return *gather(course, of, true, [&](const Program& p) { return record_live(course, p, announce); });
    if (source == Source::live)
        throw Error(
            fmt::format(
                "a live run is not possible: {}. ./lab doctor says what to do; without --live, recorded "
                "evidence is shown.",
                missing),
            kNothingCouldRun);
    std::optional<CaseEvidence> own = gather(course, of, true, [&](const Program& p) {
        std::optional<Evidence> run = own_live_run(course, p);
        return run && of.needs().trace && !run->has_trace() ? std::nullopt : std::move(run);
    });
    CaseEvidence evidence = own ? std::move(*own) : recorded();
    evidence.note =
        missing + (own ? ", so these are your own runs of before" : ", so this is recorded evidence");
    return evidence;
}

}  // namespace lab
