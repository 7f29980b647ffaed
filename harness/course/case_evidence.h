// The programs of a case with their evidence: live where this machine can, recorded everywhere else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "course/course.h"
#include "evidence/evidence.h"
#include "tools/recorder.h"

namespace lab {

/// Where evidence is to come from. `best` is a live run where this machine can, else recorded evidence.
enum class Source { best, live, recorded };

struct CaseEvidence {
    std::vector<Evidence> sides;  ///< of the case's programs
    bool live = false;
    std::string label;                           ///< where it is from, for people
    std::string note;                            ///< why it is not live, if `best` was asked for
    std::vector<std::filesystem::path> files;    ///< the evidence files of the plain recordings
    std::vector<std::filesystem::path> reports;  ///< .nsys-rep and .ncu-rep beside them, for the GUIs
};

/// What this machine lacks for a live run of a case with these needs, as a sentence; "" if nothing. Programs
/// in Python need no compiler.
[[nodiscard]] std::string missing_for_live(const Needs& needs, bool compiles = true);

/// What it lacks for the programs of a case, beside tools: a library, also of Python, or a further GPU where
/// there is one. "" if nothing.
[[nodiscard]] std::string missing_for_programs(const Case& of);

/// Either, for a live run of a case.
[[nodiscard]] std::string missing_for_live(const Case& of);

/// Opens a program's recorded run with its further recordings. It is marked as stale if the program has
/// changed since. An Error if a recording is missing or damaged; a draft may be missing. If several GPUs have
/// one, that in the folder `gpu` counts.
[[nodiscard]] Evidence open_recorded(const Course& course, const Program& program,
                                     const std::string& gpu = "");

/// The same of today's program; nothing if a recording is missing, damaged or stale, or lacks ncu's pages
/// that its case asks for.
[[nodiscard]] std::optional<Evidence> fresh_recording(const Course& course, const Program& program);

/// Are all recordings of these programs there, fresh or stale, but for drafts?
[[nodiscard]] bool is_recorded(const Course& course, const std::vector<Program>& programs);

/// And are they all of today's programs?
[[nodiscard]] bool is_freshly_recorded(const Course& course, const std::vector<Program>& programs);

/// Where the evidence of a live run of this program is kept, below build/live/. Its reports lie beside it.
[[nodiscard]] std::filesystem::path live_evidence_path(const Course& course, const Program& program);

/// The learner's earlier live run of today's program, with its further recordings. Nothing if a recording is
/// missing, damaged or stale.
[[nodiscard]] std::optional<Evidence> own_live_run(const Course& course, const Program& program);

/// Builds and records one program now, in all its recordings.
[[nodiscard]] Evidence record_live(const Course& course, const Program& program, const Announce& announce);

/// Builds one program now and records what its machine code alone says, which needs no GPU.
[[nodiscard]] Evidence record_code_alone(const Course& course, const Program& program,
                                         const Announce& announce);

/// Builds and records a program of this case for everybody, in this one recording: its evidence replaces the
/// course's own of this GPU once it is whole, and the path is returned. A pair's reports are put beside it,
/// and the traces that starter and solution write themselves.
[[nodiscard]] std::filesystem::path record_evidence(const Course& course, const Case& of,
                                                    const Program& program, const Announce& announce);

/// Evidence of all programs: recorded now; if this machine cannot, the learner's own earlier runs, if all are
/// there; else what was recorded with the course. Error 77 if a live run is asked for and cannot be made.
[[nodiscard]] CaseEvidence obtain(const Course& course, const Case& of, Source source,
                                  const Announce& announce);

}  // namespace lab
