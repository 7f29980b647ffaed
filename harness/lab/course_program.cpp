#include "lab/course_program.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace lab {

Program program_of_course(const Course& course, const std::string& name) {
    const std::size_t slash = name.rfind('/');
    const std::string owner = name.substr(0, slash);
    const std::string side = slash == std::string::npos ? "" : name.substr(slash + 1);
    Course::Chosen chosen = course.choose(owner);
    if (const Case* const single = chosen.part ? nullptr : chosen.chapter.single(side))
        return single->programs[0];
    for (const Program& program : chosen.subject().all_programs())
        if (program.name == side) return program;
    const std::vector<Program>& programs = chosen.subject().programs;
    throw Error(fmt::format("{} has the programs {} and {}, not '{}'", owner, programs.front().name,
                            programs.back().name, printable(side)));
}

std::string shows_recording(const Course& course, const Program& program) {
    if (program.evidence_folder.empty() || !course.has_evidence_of(program)) return "";
    return "./lab analyze " + course.shown(course.evidence_of(program));
}

}  // namespace lab
