// The learner's own files: where an exercise's answer is, and what has been done so far.
#pragma once

#include <string>

#include "course/course.h"
#include "course/progress.h"

namespace lab {

/// work/ch05_streams/1_vector_add_pipeline/answer.cu
[[nodiscard]] std::filesystem::path answer_path(const Course& course, const Case& exercise);

/// What the help of a command says of its argument EXERCISE.
inline constexpr const char* kExerciseText = "an exercise: ch05/vector_add_pipeline, or ch05/1";

/// work/progress.txt
[[nodiscard]] Progress progress_of(const Course& course);

/// An exercise by name; an Error if the name is a chapter's.
[[nodiscard]] Course::Chosen choose_exercise(const Course& course, const std::string& name);

/// The chapter to begin with: the first that there is something to see of here. There must be one.
[[nodiscard]] const Chapter& first_to_start(const std::vector<Chapter>& chapters);

/// "ch05/vector_add_pipeline", as commands take it.
[[nodiscard]] std::string short_name(const Course::Chosen& chosen);

/// What a question is called in progress.txt: "ch05_streams:kernels_at_once".
[[nodiscard]] std::string question_subject(const Chapter& chapter, const Question& question);

/// Is the answer still the starter, but for comments and layout?
[[nodiscard]] bool is_still_the_starter(const Course& course, const Case& exercise);

/// Copies the starter to the answer's path; the lines of its head that name the file name the copy.
void copy_starter(const Course& course, const Case& exercise);

/// Copies the starter, and notes that the exercise is begun.
void start_exercise(const Course& course, const Case& exercise);

/// Prints a hint by its number, from 1; the last one for every number above.
void print_hint(const Case& exercise, int number);

}  // namespace lab
