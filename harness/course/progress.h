// What a learner has done, as lines of text in work/progress.txt.
//
//   2026-11-20T05:24:41Z failed ch05_streams/vector_add_pipeline streams_used,answer
//   2026-11-20T05:31:02Z passed ch05_streams/vector_add_pipeline
//
// A failed check names the findings that failed, or one of the two words below. A check is `ungraded` if the
// answer compiles, but could not be run, lacked a tool or was inconclusive. Lines are only added, each in one
// write: a crash costs at most the last one. Their order is their place in the file, since clocks are set
// back; to merge two files, put the older one first. A line of another form is skipped.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lab {

/// What happened to an exercise or a question. A hint's line is written each time a further hint is shown. An
/// answer is `repaired` if it passes and the diagnosis is still open.
enum class Step { started, failed, passed, ungraded, hint, right, wrong, repaired };

/// These words take the place of findings where the answer could not be graded.
inline constexpr const char* kDoesNotCompile = "does-not-compile";
inline constexpr const char* kDoesNotEnd = "does-not-end";

/// What has been done of one exercise.
struct Done {
    bool started = false, passed = false;
    bool ungraded = false;            ///< the latest check could not be graded
    bool repaired = false;            ///< the latest check passed, without the diagnosis
    int checks = 0;                   ///< passed, repaired, failed or ungraded
    int hints = 0;                    ///< hints shown
    std::vector<std::string> failed;  ///< findings that the latest check failed
    std::string last;                 ///< the time of the latest line; "" if there is no line
    int line = 0;                     ///< the number of the latest line, among those that count
};

/// "not started", "started", "ungraded", "tried", "repaired" or "passed".
[[nodiscard]] const char* state_of(const Done& done);

/// The file and its lines. It is read at every question. A missing file has no lines.
class Progress {
  public:
    explicit Progress(std::filesystem::path file) : file_(std::move(file)) {}

    /// Adds a line with today's time. `subject` is "ch05_streams/EXERCISE" or "ch05_streams:QUESTION". An
    /// Error says why the file cannot be written.
    void add(Step step, const std::string& subject, const std::vector<std::string>& failed = {}) const;

    /// Adds a question's answer. What was right stays right, however it is answered in a repetition.
    void add_answer(bool is_right, const std::string& subject) const;

    /// `subjects`: the exercise's id, and those under which it was known before.
    [[nodiscard]] Done exercise(const std::vector<std::string>& subjects) const;

    /// The question's last answer, right or wrong; nothing if it was never answered.
    [[nodiscard]] std::optional<Step> last_answer(const std::string& subject) const;

    [[nodiscard]] int wrong_answers(const std::string& subject) const;

    /// The time of the latest line, "" if there is no line.
    [[nodiscard]] std::string last_activity() const;

    /// What the latest line is about, "" if there is no line.
    [[nodiscard]] std::string last_subject() const;

  private:
    struct Line {
        std::string time, subject;
        Step step;
        std::vector<std::string> failed;
    };
    /// Says on stderr which line has no time, since a report with it would be refused.
    [[nodiscard]] std::vector<Line> lines() const;

    std::filesystem::path file_;
};

}  // namespace lab
