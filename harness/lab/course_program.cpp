#include "lab/course_program.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace lab {

Program program_of_course(const Course& course, const std::string& name) {
    const std::size_t slash = name.rfind('/');
    const std::string owner = name.substr(0, slash);
    const std::string side = slash == std::string::npos ? "" : name.substr(slash + 1);
    const Course::Chosen chosen = course.choose(owner);
    const auto& programs = chosen.programs().programs;
    for (const Program& program : programs)
        if (program.name == side) return program;
    if (const Companion* companion = chosen.exercise ? nullptr : chosen.chapter.companion(side))
        return companion->program;
    throw Error(fmt::format("{} has the programs {} and {}, not '{}'", owner, programs[0].name,
                            programs[1].name, printable(side)));
}

std::optional<Program> find_program_of_course(const Course& course, const std::string& name) {
    try {
        return program_of_course(course, name);
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::string shows_recording(const Course& course, const Program& program) {
    if (program.evidence_name.empty() || !course.has_evidence_of(program)) return "";
    return "./lab analyze " + course.shown(course.evidence_of(program));
}

}  // namespace lab
