// The learner's own files: where an exercise's answer is, and what has been done so far.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "course/course.h"
#include "course/progress.h"

namespace lab {

/// An exercise and the learner's answer to it.
struct Exercise {
    Course course;
    Course::Chosen chosen;
    const Case& of;      ///< into `chosen`
    std::string name;    ///< as commands take it: "ch05/vector_add_pipeline", or "ch05/frames:2" of a draw
    std::string answer;  ///< "work/ch05_streams/1_vector_add_pipeline/answer.cu", as a person would type it
    std::filesystem::path answer_path;
    Progress progress;

    /// Is the answer still the starter, but for comments and layout?
    [[nodiscard]] bool is_still_the_starter() const;

    /// Copies the starter; the command lines of its head then name the answer.
    void copy_starter(const std::filesystem::path& to) const;

    /// Copies the starter to the answer's path, and notes that the exercise is begun.
    void start() const;

    /// Prints a hint by its number, from 1; the last one for every number above.
    void print_hint(int number) const;
};

/// What the help of a command says of its argument EXERCISE.
inline constexpr const char* kExerciseText = "an exercise: ch05/vector_add_pipeline, or ch05/1";

/// A case by name. An exercise whose fault is drawn is chosen as the learner's own draw, unless the name says
/// which.
[[nodiscard]] Course::Chosen choose_own(const Course& course, const std::string& name);

/// The draw that the learner began last; the exercise itself if there is none.
[[nodiscard]] const Case& begun_draw(const Progress& progress, const Case& exercise);

/// The learner's name: git's user.name; "" if it has none.
[[nodiscard]] std::string name_in_git(const Course& course);

/// An Error that names the chapter's exercises, if what was chosen by this name is none of them.
void require_exercise(const Course::Chosen& chosen, const std::string& name);

/// An exercise by name; an Error if the name is a chapter's.
[[nodiscard]] Exercise choose_exercise(const std::string& name);

/// The command to go on with behind an exercise: the next one, or the quiz, or what `next` says if that is
/// done.
[[nodiscard]] std::string next_exercise(const Progress& progress, const Chapter& chapter,
                                        const Case& exercise);

/// The command to go on with: start it, diagnose it, check it, or if it is passed, the next one. Without a
/// GPU the last step is a review that is all right.
[[nodiscard]] std::string next_step(const Progress& progress, const Chapter& chapter, const Case& exercise);

/// The command to go on with in the whole course: in the exercise that was begun, else in the chapter of the
/// latest progress, then in those behind it, then in what was passed over before it.
[[nodiscard]] std::string next_in_course(const std::vector<Chapter>& chapters, const Progress& progress);

using Answers = std::map<std::string, std::string>;  ///< by the question's id

/// Reads lines of "id = answer" from a file, or with "-" from standard input. Empty lines, # comments and
/// questions without an answer are passed over. What is no such line, or what `accept` throws an Error for,
/// is added to `faults` with its line.
[[nodiscard]] Answers read_answer_lines(
    const std::string& path,
    const std::function<void(const std::string& id, const std::string& answer)>& accept,
    std::vector<std::string>& faults);

/// work/progress.txt
[[nodiscard]] Progress progress_of(const Course& course);

/// The question that is asked instead of this one after two wrong answers; null if there is none.
[[nodiscard]] const Question* sibling_of(const std::vector<Question>& all, const Question& question);

/// The last answer to a question, or to its sibling if that was right; nothing if there is none.
[[nodiscard]] std::optional<Step> last_answer(const Progress& progress, const Chapter& chapter,
                                              const std::vector<Question>& all, const Question& question);

/// Is every question of the exercise's diagnosis answered right? So if there is none.
[[nodiscard]] bool is_diagnosed(const Progress& progress, const Chapter& chapter, const Case& exercise);

/// The command that asks about a program before its cause is told: look or diagnose. "" if nothing is open.
/// `program`: its file, as a recording names it.
[[nodiscard]] std::string asked_first(const Course& course, const std::filesystem::path& program);

/// What a review of the exercise's recorded answers is called in progress.txt: "ch05_streams/ferries:review".
[[nodiscard]] std::string review_subject(const Case& exercise);

/// Was its latest review all right?
[[nodiscard]] bool is_reviewed(const Progress& progress, const Case& exercise);

/// state_of(); where nothing has been repaired, "diagnosed" if the diagnosis is complete, "diagnosed,
/// reviewed" if the review was all right as well, or "reviewed" if there is no diagnosis.
[[nodiscard]] std::string learner_state(const Progress& progress, const Chapter& chapter,
                                        const Case& exercise);

/// What a question is called in progress.txt: "ch05_streams:slow_launches", one of the first look
/// "ch05_streams:look.streams", and one of a diagnosis "ch05_streams/priority:which_stream".
[[nodiscard]] std::string question_subject(const Chapter& chapter, const Question& question);

}  // namespace lab
