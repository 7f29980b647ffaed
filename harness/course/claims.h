// Everything that a chapter claims, judged: the one list behind `lab verify`, `lab verify --recorded` and the
// chapters' tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "course/course.h"
#include "course/judge.h"

namespace lab {

struct Claim {
    /// finding: a finding of a case, asserted or shown. starter: an untouched starter fails as stated, and
    /// for nothing else. rejected: a wrong answer fails for its reason. answer: a question has an answer in
    /// the evidence. clean: compute-sanitizer finds nothing. structure: files are as they should be.
    /// accepted: a right answer other than the solution passes.
    enum class Kind { finding, starter, rejected, answer, clean, structure, accepted };
    Kind kind = Kind::finding;
    std::string subject;   ///< the case or the chapter; else the file
    std::string what;      ///< the id of the finding or question, a tool, or the findings that must reject
    std::string measured;  ///< what the programs of a finding measured
    Verdict verdict = Verdict::not_run;
    std::string why;      ///< for every verdict but pass
    bool shown = false;   ///< a finding that asserts nothing: it needs a value
    std::string where{};  ///< "ch05_streams/case.toml:12", if it stands in a file
};

using Claims = std::vector<Claim>;
using AddClaim = std::function<void(Claim)>;

/// Opens or records a program's evidence. Its claims are not run after an Error with kNothingCouldRun, and
/// fail after any other.
using EvidenceOf = std::function<Evidence(const Case&, const Program&)>;

/// Findings, the starter's failures and wrong answers of a case, one after the other: of several nsys at
/// once, some see nothing of CUDA.
void judge_claims(const Case& of, const EvidenceOf& evidence_of, const AddClaim& add);

/// All claims of a chapter on recorded evidence: its cases, its quiz and its files. Stale evidence proves
/// nothing about today's program: it is not run, or fails if `stale_fails`. So does missing evidence. Of a
/// draft, either is not run.
[[nodiscard]] Claims recorded_claims(const Course& course, const Chapter& chapter, bool stale_fails);

}  // namespace lab
