// The programs of a case with their evidence: live where this machine can, recorded everywhere else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "course/course.h"
#include "evidence/evidence.h"
#include "tools/recorder.h"

namespace lab {

/// Where evidence is to come from: `best` is live where that can be, else recorded.
enum class Source { best, live, recorded };

/// What is known of a case's programs.
struct CaseEvidence {
    std::vector<Evidence> sides;
    bool live = false;
    std::string label;                           ///< the honest label of what is shown
    std::string note;                            ///< why it is recorded and not live; "" if live or asked for
    std::vector<std::filesystem::path> files;    ///< the evidence files, of the plain recordings
    std::vector<std::filesystem::path> reports;  ///< beside them, what the GUIs open: .nsys-rep, .ncu-rep

    /// The sides as judge_case() takes them.
    [[nodiscard]] std::vector<const Evidence*> pointers() const;
};

/// What this machine lacks for a live run of a case with these needs, as a sentence; "" if nothing.
[[nodiscard]] std::string missing_for_live(const Needs& needs);

/// Opens a program's recorded run with its further recordings. What was recorded from another version of the
/// program is marked as stale. An Error if one is not there, or damaged.
[[nodiscard]] Evidence open_recorded(const Course& course, const Program& program);

/// Is there a recorded run of each of these programs, with its further recordings? Fresh or stale.
[[nodiscard]] bool is_recorded(const Course& course, const std::vector<Program>& programs);

/// Where the evidence of a live run of this program is kept.
[[nodiscard]] std::filesystem::path live_evidence_path(const Course& course, const Program& program);

/// The learner's own live run of today's program, made earlier: with its further recordings. Nothing if there
/// is none, or one that is damaged, stale or without one of the recordings.
[[nodiscard]] std::optional<Evidence> own_live_run(const Course& course, const Program& program);

/// A run that was made now.
struct LiveRun {
    std::filesystem::path path, report;  ///< of the plain recording
    std::optional<Evidence> evidence;    ///< with the further recordings
};

/// Builds and records one program now, in all its recordings; evidence and reports go below build/live/.
[[nodiscard]] LiveRun record_live(const Course& course, const Program& program, const Announce& announce);

/// Evidence for all sides: recorded now; where that is not possible, of the learner's own earlier runs, if
/// all are there; else as it was recorded with the course. Asking for a live run where there can be none is
/// an Error with exit code 77.
[[nodiscard]] CaseEvidence obtain(const Course& course, const Case& of, Source source,
                                  const Announce& announce);

}  // namespace lab
