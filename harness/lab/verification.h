// What `lab verify --save` found on a GPU, kept in docs/verification.json, and the page made of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/files.h"
#include "course/course.h"
#include "course/expectation.h"
#include "evidence/evidence.h"

namespace lab {

/// One thing that was verified.
struct Claim {
    enum class Kind { finding, clean, rejected };
    Kind kind = Kind::finding;
    std::string subject;   ///< the case of a finding; else the program's file
    std::string what;      ///< the finding's id, the tool's name, or the findings that must reject
    std::string measured;  ///< of both programs, for a finding; "" else
    Verdict verdict = Verdict::not_run;
    std::string why;  ///< for every verdict but pass
};

/// One chapter, verified in one go.
struct Verified {
    Provenance provenance;                       ///< GPU, driver, tools, date
    std::map<std::string, std::string> sources;  ///< fingerprint of each program, by its file
    std::vector<Claim> claims;
};

/// By the chapter's folder.
using Verification = std::map<std::string, Verified>;

/// docs/verification.json
[[nodiscard]] fs::path verification_file(const Course& course);

/// Empty if the file is not there. An Error names a file that cannot be read, and the place in it.
[[nodiscard]] Verification read_verification(const fs::path& file);

/// Writes the file whole or not at all.
void write_verification(const Verification& verification, const fs::path& file);

/// The programs of a chapter that are not what was verified: changed, new or gone.
[[nodiscard]] std::vector<std::string> changed_since(const Course& course, const Chapter& chapter,
                                                     const Verified& verified);

/// The page's generated part. A chapter that was not verified, or has changed since, says so.
[[nodiscard]] std::string verification_markdown(const Course& course, const Verification& verification);

}  // namespace lab
