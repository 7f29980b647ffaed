#include "course/case_evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "tools/machine.h"

namespace lab {

namespace {

/// The programs' evidence with its label, where it lies, and the reports that lie beside it.
CaseEvidence with_reports(std::vector<Evidence> sides, bool live, std::vector<fs::path> files) {
    CaseEvidence result{.sides = std::move(sides),
                        .live = live,
                        .label = "",
                        .note = "",
                        .files = std::move(files),
                        .reports = {}};
    const auto stale = std::find_if(result.sides.begin(), result.sides.end(),
                                    [](const Evidence& e) { return e.is_stale(); });
    const Evidence& labelled = stale == result.sides.end() ? result.sides[0] : *stale;
    result.label = source_label(labelled.provenance(), live);
    for (const char* extension : {".nsys-rep", ".ncu-rep"})
        for (const fs::path& file : result.files) {
            const fs::path report = fs::path(file).replace_extension(extension);
            if (fs::exists(report)) result.reports.push_back(report);
        }
    return result;
}

CaseEvidence obtain_live(const Course& course, const Case& of, const Announce& announce) {
    std::vector<Evidence> sides;
    std::vector<fs::path> files;
    for (const Program& program : of.programs) {
        LiveRun run = record_live(course, program, announce);
        sides.push_back(std::move(*run.evidence));
        files.push_back(run.path);
    }
    return with_reports(std::move(sides), true, std::move(files));
}

/// The programs as they ran here before, if all did.
std::optional<CaseEvidence> obtain_own(const Course& course, const Case& of) {
    std::vector<Evidence> sides;
    std::vector<fs::path> files;
    for (const Program& program : of.programs) {
        std::optional<Evidence> own = own_live_run(course, program);
        if (!own || (of.needs().trace && !own->has_trace())) return std::nullopt;
        sides.push_back(std::move(*own));
        files.push_back(live_evidence_path(course, program));
    }
    return with_reports(std::move(sides), true, std::move(files));
}

CaseEvidence obtain_recorded(const Course& course, const Case& of) {
    std::vector<Evidence> sides;
    std::vector<fs::path> files;
    for (const Program& program : of.programs) {
        sides.push_back(open_recorded(course, program));
        files.push_back(course.evidence_of(program));
    }
    return with_reports(std::move(sides), false, std::move(files));
}

}  // namespace

std::vector<const Evidence*> CaseEvidence::pointers() const {
    std::vector<const Evidence*> all;
    for (const Evidence& side : sides) all.push_back(&side);
    return all;
}

std::string missing_for_live(const Needs& needs) {
    if (!gpu()) return "there is no NVIDIA GPU here";
    if (!nvcc()) return "nvcc, the CUDA compiler, is not here";
    if (needs.nsys && !nsys()) return "nsys (Nsight Systems) is not here";
    if (needs.counters && !ncu()) return "ncu (Nsight Compute) is not here";
    if (needs.reports && !compute_sanitizer()) return "compute-sanitizer is not here";
    return "";
}

bool is_recorded(const Course& course, const std::vector<Program>& programs) {
    for (const Program& program : programs)
        for (const Program& recorded : all_recordings(program))
            if (!course.has_evidence_of(recorded)) return false;
    return true;
}

Evidence open_recorded(const Course& course, const Program& program) {
    Evidence evidence = Evidence::open(course.evidence_of(program));
    if (course.is_stale(program, evidence)) evidence.mark_stale();
    for (const Recording& recording : program.further) {
        Evidence further = open_recorded(course, program.recorded_as(recording));
        if (further.is_stale()) evidence.mark_stale();
        evidence.add_recording(recording.name, std::move(further));
    }
    return evidence;
}

fs::path live_evidence_path(const Course& course, const Program& program) {
    fs::path path = course.build_folder() / "live" / program.file;
    const std::string& recording = program.recording.name;
    return path.replace_extension(recording.empty() ? ".sqlite" : "." + recording + ".sqlite");
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

LiveRun record_live(const Course& course, const Program& program, const Announce& announce) {
    const fs::path binary = build_program(course, program, announce);
    LiveRun run;
    run.path = live_evidence_path(course, program);
    run.report = fs::path(run.path).replace_extension(".nsys-rep");
    fs::create_directories(run.path.parent_path());
    {
        const Lock lock(run.path);
        for (const char* extension : {".nsys-rep", ".ncu-rep"})  // an old report must not pass for a new one
            fs::remove(fs::path(run.path).replace_extension(extension));
        const RunRecord record = record_program(course, program, binary, {run.report}, announce);
        write_evidence(record, run.path);
    }
    run.evidence.emplace(Evidence::open(run.path));
    for (const Recording& further : program.further) {
        LiveRun more = record_live(course, program.recorded_as(further), announce);
        run.evidence->add_recording(further.name, std::move(*more.evidence));
    }
    return run;
}

CaseEvidence obtain(const Course& course, const Case& of, Source source, const Announce& announce) {
    if (source == Source::recorded) return obtain_recorded(course, of);
    const std::string missing = missing_for_live(of.needs());
    if (missing.empty()) return obtain_live(course, of, announce);
    if (source == Source::live)
        throw Error(
            fmt::format(
                "a live run is not possible: {}. ./lab doctor says what to do; without --live, recorded "
                "evidence is shown.",
                missing),
            kNothingCouldRun);
    if (std::optional<CaseEvidence> own = obtain_own(course, of)) {
        own->note = missing + ", so these are your own runs of before";
        return std::move(*own);
    }
    CaseEvidence recorded = obtain_recorded(course, of);
    recorded.note = missing + ", so this is recorded evidence";
    return recorded;
}

}  // namespace lab
