// Programs of the course by the names that commands take, as "ch05/buggy".
#pragma once

#include <string>

#include "course/course.h"

namespace lab {

/// A program by "ch05/buggy", "ch05/vector_add_pipeline/starter" or "ch07/ceilings", a companion. An Error
/// names the programs that there are if the name is of no program.
[[nodiscard]] Program program_of_course(const Course& course, const std::string& name);

/// The command that shows what was recorded of a program: "./lab analyze ..."; "" if nothing was.
[[nodiscard]] std::string shows_recording(const Course& course, const Program& program);

}  // namespace lab
