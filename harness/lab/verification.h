// What `lab verify --save` found on a GPU, kept in docs/verification.json, and the page made of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/files.h"
#include "course/claims.h"
#include "course/course.h"

namespace lab {

/// One chapter, verified in one go.
struct Verified {
    Provenance provenance;                          ///< GPU, driver, tools, date
    std::map<std::string, std::string> sources;     ///< by a program's file, what fingerprint_in() says
    std::map<std::string, std::string> judgements;  ///< by a case's id, what fingerprint_of_judgement() says
    Claims claims;
};

/// By the chapter's folder.
using Verification = std::map<std::string, Verified>;

/// Nothing verified yet, with this machine's GPU, tools and date.
[[nodiscard]] Verified verified_here();

/// The fingerprint of a recorded program, and behind it the numbers of its silent messages.
[[nodiscard]] std::string fingerprint_in(const Provenance& provenance);

/// A fingerprint of what is asked about a case's runs, and what the answers must be.
[[nodiscard]] std::string fingerprint_of_judgement(const Case& of);

/// docs/verification.json
[[nodiscard]] fs::path verification_file(const Course& course);

/// Reads that file; nothing if it is not there. An Error says why it cannot be read.
[[nodiscard]] Verification read_verification(const Course& course);

/// Writes it whole or not at all.
void write_verification(const Verification& verification, const Course& course);

/// Puts a chapter's result in place of the one before, unless less of it was run; then it returns false.
bool keep_verified(Verification& verification, const std::string& chapter, Verified now);

/// A program under a tool of compute-sanitizer, and what that is to show.
struct SanitizerRun {
    Program program;
    std::string tool;
    bool must_report;  ///< if not, it must find nothing
    bool may_fail;     ///< the program may end with exit code 1
    Claim claim;       ///< not run yet
};

/// The last program of a case is right, so all tools find it clean. The fault of the first one is the lesson:
/// findings judge it if they ask the sanitizer about it; if not, it reports what the case states and no more.
[[nodiscard]] std::vector<SanitizerRun> sanitizer_runs(const Chapter& chapter);

/// The claims of a chapter's sanitizer runs as they were last verified; not run for a program that has
/// changed since.
[[nodiscard]] Claims claims_kept(const Course& course, const Chapter& chapter, const Verification& before);

/// What was found of a case, but for compute-sanitizer, if all of it passed and neither its programs nor what
/// is asked of them has changed since. If not, nothing.
[[nodiscard]] Claims claims_kept(const Course& course, const Case& of, const Verified& before);

/// A row for each chapter: where and when it was verified, and how many claims of each kind hold; below it
/// what does not hold, and what has changed since.
[[nodiscard]] std::string verification_markdown(const Course& course, const Verification& verification);

}  // namespace lab
