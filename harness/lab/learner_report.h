// One learner's report: made from progress.txt, and as the JSON that is handed in and read again. It holds a
// name, states, counts and times; no path and nothing of the machine.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/error.h"
#include "course/class_summary.h"
#include "course/course.h"

namespace lab {

/// What has been done in this copy of the course, under this name.
[[nodiscard]] LearnerReport report_of(const Course& course, const std::string& learner);

/// The name to report under if none is given: git's user.name, else that of the login.
[[nodiscard]] std::string name_of_learner(const Course& course);

/// A name as it is shown: one line, and not endless. An Error if nothing is left of it.
[[nodiscard]] std::string usable_name(const std::string& name);

/// The report as it is handed in.
[[nodiscard]] nlohmann::ordered_json to_json(const LearnerReport& report);

/// The text is something else than a report, which is no reason to worry about it.
class NoReport : public Error {
  public:
    using Error::Error;
};

/// A report read again. An Error says why it cannot be: damaged, of a newer lab, or no report.
[[nodiscard]] LearnerReport read_report(const std::string& text);

}  // namespace lab
