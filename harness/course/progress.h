// What a learner has done, as lines of text in work/progress.txt.
//
//   2026-11-20T05:24:41Z failed ch05_streams/vector_add_pipeline streams_used,answer
//   2026-11-20T05:31:02Z passed ch05_streams/vector_add_pipeline
//
// Behind a failed check stands what failed, if it is known: findings, or one of the two words below. A check
// is `ungraded` if the answer compiles, and then nothing could run it, or not all tools, or it was too close
// to call. Lines are only ever added, each in one write: a crash costs at most the last one, and two files
// merge by putting them together. What a line does not say in this form is passed over.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lab {

/// What happened to an exercise or a question. A hint's line is written each time a further hint is shown.
enum class Step { started, failed, passed, ungraded, hint, right, wrong };

/// As it stands in a line.
[[nodiscard]] const char* to_string(Step step);

/// What stands in place of findings where the answer could not be graded.
inline constexpr const char* kDoesNotCompile = "does-not-compile";
inline constexpr const char* kDoesNotEnd = "does-not-end";

/// What has been done of one exercise.
struct Done {
    bool started = false, passed = false;
    bool ungraded = false;            ///< the latest check could not be graded
    int checks = 0;                   ///< so far: passed, failed or ungraded
    int hints = 0;                    ///< hints shown so far
    std::vector<std::string> failed;  ///< by what the latest check failed; empty if it did not
    std::string last;                 ///< when something was last done here; "" if nothing was
};

/// "not started", "started", "ungraded", "tried" or "passed".
[[nodiscard]] const char* state_of(const Done& done);

/// The file and what its lines say. It is read when first asked, and again after a line was added here; one
/// that is not there says nothing.
class Progress {
  public:
    explicit Progress(std::filesystem::path file) : file_(std::move(file)) {}

    /// Adds a line, with the time of now. `subject` is "ch05_streams/EXERCISE" or "ch05_streams:QUESTION". An
    /// Error says why the file cannot be written.
    void add(Step step, const std::string& subject, const std::vector<std::string>& failed = {}) const;

    /// What has been done of the exercise with this subject.
    [[nodiscard]] Done exercise(const std::string& subject) const;

    /// The question's last answer, right or wrong; nothing if there is none.
    [[nodiscard]] std::optional<Step> last_answer(const std::string& subject) const;

    /// Was the question's last answer right?
    [[nodiscard]] bool answered_right(const std::string& subject) const;

    /// When anything was last done: the time of the latest line, "" if there is none.
    [[nodiscard]] std::string last_activity() const;

  private:
    struct Line {
        std::string time, subject;
        Step step;
        std::vector<std::string> failed;
    };
    /// In the order of time, whatever the order in the file.
    [[nodiscard]] const std::vector<Line>& lines() const;

    std::filesystem::path file_;
    mutable std::optional<std::vector<Line>> lines_;
};

}  // namespace lab
