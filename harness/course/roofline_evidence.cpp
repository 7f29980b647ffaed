#include "course/roofline_evidence.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "course/case_evidence.h"

namespace lab {

namespace {

std::string gpu_of(const Evidence& evidence) {
    const std::string gpu = value_of(evidence.provenance(), "gpu");
    return gpu.empty() ? "an unknown GPU" : gpu;
}

/// The last run that was made here. An Error if there is none of today's program.
Evidence open_live(const Course& course, const Program& program) {
    const fs::path path = live_evidence_path(course, program);
    if (!fs::exists(path))
        throw Error(fmt::format("{} has not been run here yet", program.source.string()), kNothingCouldRun);
    Evidence evidence = Evidence::open(path);
    if (is_stale(course, program, evidence))
        throw Error(fmt::format("{} has changed since it was run here", program.source.string()),
                    kNothingCouldRun);
    return evidence;
}

}  // namespace

RooflineEvidence collect_points(const Course& course, const Chapter& chapter, const std::string& exercise,
                                Evidence companion, bool live) {
    RooflineEvidence result{std::move(companion), "", {}, {}};
    result.label = source_label(result.companion.provenance(), live);
    for (const PointQuery& query : chapter.points) {
        if (!exercise.empty() && query.exercise != exercise) continue;
        const Program& program = chapter.program_of(query);
        try {
            const Evidence evidence = live ? open_live(course, program) : open_recorded(course, program);
            if (gpu_of(evidence) != gpu_of(result.companion))
                throw Error(fmt::format("{} ran on {}, and the roofs are of {}", program.source.string(),
                                        gpu_of(evidence), gpu_of(result.companion)));
            result.points.push_back({&query, read_points(evidence, query)});
        } catch (const Error& problem) {
            result.left_out.push_back(problem.what());
        }
    }
    return result;
}

}  // namespace lab
