// What an instructor wants to know of a class: who stands where, by what the last check failed, and since
// when nothing has happened. Made from the reports that learners hand in (lab report --json).
#pragma once

#include <string>
#include <vector>

namespace lab {

/// What a learner has done of one exercise.
struct ExerciseReport {
    std::string name,
        state;  ///< "vector_add_pipeline"; "not started", "started", "ungraded", "tried" or "passed"
    int checks = 0, hints = 0;
    std::vector<std::string> failed;  ///< by what the latest check failed
    std::string last;                 ///< when something was last done here; "" if nothing was
};

/// What a learner has done of one chapter.
struct ChapterReport {
    std::string id;  ///< "ch05_streams"
    std::vector<ExerciseReport> exercises;
    int right = 0, questions = 0;  ///< of the quiz
};

/// One learner's report. Times are in UTC, as utc_now() writes them.
struct LearnerReport {
    std::string learner, made;
    std::string last;  ///< when anything was last done; "" if nothing was
    std::vector<ChapterReport> chapters;
};

/// Two reports are of the same learner if their names differ in no more than case and spaces.
[[nodiscard]] bool same_learner(const std::string& a, const std::string& b);

/// Where a learner stands: the exercise that is begun and not passed, the latest one if there are several.
struct LearnerRow {
    std::string learner;
    int passed = 0, exercises = 0, right = 0, questions = 0;
    std::string at = {};                   ///< "ch05/vector_add_pipeline"; "" if none is begun and not passed
    int checks = 0, hints = 0;             ///< in that exercise
    std::vector<std::string> failed = {};  ///< by what its latest check failed
    std::string last;
};

/// A row a learner: first those with an exercise at hand, the most checks on top; then the others, by name.
[[nodiscard]] std::vector<LearnerRow> learner_rows(const std::vector<LearnerReport>& reports);

/// How an exercise goes for the class.
struct ExerciseRow {
    std::string exercise;  ///< "ch05/vector_add_pipeline"
    int passed = 0, begun = 0, untouched = 0;
    std::string fails_most;  ///< what stands between most of the learners and passing; "" if nothing is known
    int fails_for = 0;       ///< how many that are
};

/// The exercises that somebody has begun, in the order of the course.
[[nodiscard]] std::vector<ExerciseRow> exercise_rows(const std::vector<LearnerReport>& reports);

/// Is it a time as utc_now() writes it?
[[nodiscard]] bool is_time(const std::string& text);

/// The time between two times in whole hours; nothing less than 0. Both must be times.
[[nodiscard]] int hours_between(const std::string& then, const std::string& now);

/// "5 h", "3 days"; "never" for "".
[[nodiscard]] std::string time_since(const std::string& then, const std::string& now);

/// A line a learner behind a line of names, as spreadsheets read it. A name that would be taken for a formula
/// is put behind an apostrophe.
[[nodiscard]] std::string class_csv(const std::vector<LearnerRow>& rows, const std::string& now);

/// One page that needs no other file and no network, dark or light as the reader has it.
[[nodiscard]] std::string class_html(const std::vector<LearnerReport>& reports, const std::string& now);

}  // namespace lab
