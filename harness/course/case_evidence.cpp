#include "course/case_evidence.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "evidence/tools.h"

namespace lab {

namespace {

/// The evidence of both programs with its label, where it lies, and the reports that lie beside it.
CaseEvidence with_reports(std::array<Evidence, 2> sides, bool live, const std::array<fs::path, 2>& files) {
    CaseEvidence result{
        .sides = std::move(sides), .live = live, .label = "", .note = "", .files = files, .reports = {}};
    result.label = source_label(result.sides[0].provenance(), live);
    for (const char* extension : {".nsys-rep", ".ncu-rep"})
        for (const fs::path& file : files) {
            const fs::path report = fs::path(file).replace_extension(extension);
            if (fs::exists(report)) result.reports.push_back(report);
        }
    return result;
}

CaseEvidence obtain_live(const Course& course, const Case& both, const Announce& announce) {
    LiveRun first = record_live(course, both.programs[0], announce);
    LiveRun second = record_live(course, both.programs[1], announce);
    return with_reports({std::move(*first.evidence), std::move(*second.evidence)}, true,
                        {first.path, second.path});
}

/// Both programs as they ran here before, if both did.
std::optional<CaseEvidence> obtain_own(const Course& course, const Case& both) {
    std::optional<Evidence> first = own_live_run(course, both.programs[0]);
    std::optional<Evidence> second = first ? own_live_run(course, both.programs[1]) : std::nullopt;
    if (!second) return std::nullopt;
    if (asked_by(both).trace && (!first->has_trace() || !second->has_trace()))
        return std::nullopt;  // there are pictures to draw
    return with_reports(
        {std::move(*first), std::move(*second)}, true,
        {live_evidence_path(course, both.programs[0]), live_evidence_path(course, both.programs[1])});
}

CaseEvidence obtain_recorded(const Course& course, const Case& both) {
    return with_reports({open_recorded(course, both.programs[0]), open_recorded(course, both.programs[1])},
                        false, {course.evidence_of(both.programs[0]), course.evidence_of(both.programs[1])});
}

}  // namespace

std::string missing_for_live(const std::vector<std::string>& needs) {
    if (!gpu()) return "there is no NVIDIA GPU here";
    if (!nvcc()) return "nvcc, the CUDA compiler, is not here";
    for (const std::string& need : needs) {
        if (need == "nsys" && !nsys()) return "nsys (Nsight Systems) is not here";
        if (need == "ncu" && !ncu()) return "ncu (Nsight Compute) is not here";
        if (need == "compute-sanitizer" && !compute_sanitizer()) return "compute-sanitizer is not here";
    }
    return "";
}

bool is_recorded(const Course& course, const std::vector<Program>& programs) {
    for (const Program& program : programs)
        for (const Program& recorded : all_recordings(program))
            if (!course.has_evidence_of(recorded)) return false;
    return true;
}

bool is_stale(const Course& course, const Program& program, const Evidence& evidence) {
    return value_of(evidence.provenance(), "fingerprint") != course.fingerprint_of(program) ||
           value_of(evidence.provenance(), "recording") != recording_text(program);
}

Evidence open_recorded(const Course& course, const Program& program) {
    const fs::path path = course.evidence_of(program);
    Evidence evidence = Evidence::open(path);
    if (is_stale(course, program, evidence))
        throw Error(
            fmt::format(
                "{} is stale: {} or its flags have changed since it was recorded. On a machine with a GPU: "
                "./lab record --stale",
                course.shown(path), program.source.string()),
            kFindingFailed);
    for (const Recording& further : program.further)
        evidence.add_recording(further.name, open_recorded(course, program.recorded_as(further)));
    return evidence;
}

fs::path live_evidence_path(const Course& course, const Program& program) {
    fs::path path = course.build_folder() / "live" / program.source;
    const std::string& recording = program.recording.name;
    return path.replace_extension(recording.empty() ? ".sqlite" : "." + recording + ".sqlite");
}

std::optional<Evidence> own_live_run(const Course& course, const Program& program) {
    const fs::path path = live_evidence_path(course, program);
    if (!fs::exists(path)) return std::nullopt;
    try {
        Evidence evidence = Evidence::open(path);
        if (is_stale(course, program, evidence)) return std::nullopt;
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
        RunRecord record = record_program(program, binary, {run.report}, announce);
        record.sources = course.sources_of(program);
        write_evidence(record, run.path);
    }
    run.evidence.emplace(Evidence::open(run.path));
    for (const Recording& further : program.further) {
        LiveRun more = record_live(course, program.recorded_as(further), announce);
        run.evidence->add_recording(further.name, std::move(*more.evidence));
    }
    return run;
}

CaseEvidence obtain(const Course& course, const Case& both, Source source, const Announce& announce) {
    if (source == Source::recorded) return obtain_recorded(course, both);
    const std::string missing = missing_for_live(both.needs);
    if (missing.empty()) return obtain_live(course, both, announce);
    if (source == Source::live)
        throw Error(
            fmt::format(
                "a live run is not possible: {}. ./lab doctor says what to do; without --live, recorded "
                "evidence is shown.",
                missing),
            kNothingCouldRun);
    if (std::optional<CaseEvidence> own = obtain_own(course, both)) {
        own->note = missing + ", so these are your own runs of before";
        return std::move(*own);
    }
    CaseEvidence recorded = obtain_recorded(course, both);
    recorded.note = missing + ", so this is recorded evidence";
    return recorded;
}

}  // namespace lab
