// What the learners of a class handed in: their reports, read without trust, and the class in one table.
#pragma once

#include <string>
#include <vector>

namespace lab {

inline constexpr const char* kReportFormat = "cuda-tools-course report";
inline constexpr int kReportVersion = 1;

/// A learner's report, its words safe to print. Times are as utc_now() writes them, "" for never.
struct Learner {
    std::string file, name, made, last;
    unsigned passed = 0, exercises = 0, right = 0, questions = 0;
    // Exercises of which only that is done; one that is diagnosed and reviewed counts as diagnosed.
    unsigned diagnosed = 0, reviewed = 0, repaired = 0;
    // The exercise that is begun and not passed, the latest if there are several; "" if there is none.
    std::string at, at_last;
    unsigned checks = 0, hints = 0;
    std::vector<std::string> failed;
};

/// An Error says why the text cannot be used as a report.
[[nodiscard]] Learner read_report(const std::string& file, const std::string& text);

/// Each learner's newest report: on top those who have begun an exercise, the most checks first; then the
/// others, by name. Names on stderr what is left out.
[[nodiscard]] std::vector<Learner> read_class(const std::string& folder);

[[nodiscard]] std::string class_table(const std::vector<Learner>& learners);
[[nodiscard]] std::string class_csv(const std::vector<Learner>& learners);

}  // namespace lab
