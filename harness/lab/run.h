// What a chapter's program looks like before anything is said about it.
#pragma once

#include "course/course.h"

namespace lab {

/// Prints what the tools show of the pair's first program alone: reports, its timeline, and commands that
/// look further. Live if the learner has run it here, else as recorded.
void print_first_program(const Course& course, const Chapter& chapter);

}  // namespace lab
