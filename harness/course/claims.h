// Everything that a chapter claims, judged: the one list behind `lab verify`, `lab verify --recorded` and the
// chapters' tests. Where the evidence is from is the caller's business: recorded with the course, or made
// now.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "course/course.h"
#include "course/judge.h"

namespace lab {

/// One thing that was judged.
struct Claim {
    /// finding: a case's finding, asserted or shown; starter: an untouched starter fails what is stated, and
    /// nothing else; rejected: a wrong answer fails for its reason; answer: a question has an answer in the
    /// evidence; clean: compute-sanitizer finds nothing; structure: what holds of the files.
    enum class Kind { finding, starter, rejected, answer, clean, structure };
    Kind kind = Kind::finding;
    std::string subject;  ///< the case of a finding or an answer; else the file
    std::string what;  ///< the finding's or question's id, the tool's name, or the findings that must reject
    std::string measured;  ///< of the programs, for a finding; "" else
    Verdict verdict = Verdict::not_run;
    std::string why;      ///< for every verdict but pass
    bool shown = false;   ///< of a finding: only shown, so that it needs a value and nothing more
    std::string where{};  ///< "ch05_streams/case.toml:12", if it stands in a file
};

using Claims = std::vector<Claim>;
using AddClaim = std::function<void(Claim)>;

/// Hands over a program's evidence. An Error with kNothingCouldRun makes what is claimed of it not run, any
/// other makes it fail.
using EvidenceOf = std::function<Evidence(const Case&, const Program&)>;

/// The evidence that is recorded with the course. Stale evidence proves nothing about today's program: it is
/// not run, or fails where `stale_fails`. So does evidence that is missing, unless its case is a draft.
[[nodiscard]] EvidenceOf recorded_evidence(const Course& course, bool stale_fails);

/// Findings, the starter's failures and wrong answers of a case.
void judge_claims(const Case& of, const EvidenceOf& evidence_of, const AddClaim& add);

/// The answers of a chapter's quiz.
void judge_answers(const Chapter& chapter, const EvidenceOf& evidence_of, const AddClaim& add);

/// What holds of a chapter's files: programs of a case differ in few lines, evidence is small and belongs to
/// a program, a draft lacks something, points of a roofline can be drawn.
void check_structure(const Course& course, const Chapter& chapter, const AddClaim& add);

/// All of these, of the recorded evidence.
[[nodiscard]] Claims recorded_claims(const Course& course, const Chapter& chapter, bool stale_fails);

}  // namespace lab
