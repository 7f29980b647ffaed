// What a chapter's test.cpp asks of its recorded evidence: no GPU is needed.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "course/claims.h"
#include "evidence/analysis.h"

namespace lab {

/// A chapter with its evidence. Programs go by "buggy" and "fixed", "seismometers.starter", "ceilings".
class RecordedChapter {
  public:
    /// `id` is the chapter's folder.
    explicit RecordedChapter(const std::string& id);

    /// Every claim of the chapter passes, as in `lab verify --recorded`; a draft's claims may be not run, and
    /// the test then ends with 77.
    void check_claims() const;

    /// What a finding measures in a program: a number. A value that is missing fails the test.
    [[nodiscard]] double value(const std::string& program, const std::string& finding) const;

    /// The first number that SQL over the views answers, narrowed to an NVTX range if one is named.
    [[nodiscard]] double ask(const std::string& program, const std::string& sql,
                             const std::string& range = "") const;

    /// The whole analysis of a program, narrowed to an NVTX range.
    [[nodiscard]] Analysis analysis(const std::string& program, const std::string& range) const;

  private:
    struct Named {
        const Case* of;
        std::size_t side;
    };
    [[nodiscard]] Named named(const std::string& program) const;
    [[nodiscard]] const Evidence& evidence(const std::string& program) const;

    Course course_ = Course::find();
    Chapter chapter_;
    mutable std::map<std::string, Evidence> open_;
};

}  // namespace lab
