#include "tools/program.h"

#include <algorithm>

#include "core/text.h"

namespace lab {

std::string Program::id() const {
    return file.string() + (draw > 0 ? ":" + std::to_string(draw) : "");
}

std::string Program::evidence_extension() const {
    return (draw > 0 ? ".draw" + std::to_string(draw) : "") +
           (recording.name.empty() ? "" : "." + recording.name) + ".sqlite";
}

Program Program::recorded_as(const Recording& other) const {
    Program program = *this;
    program.further.clear();
    program.traced = traced && other.traces();
    program.recording = other;
    program.recording.nsys_options = recording.nsys_options;
    append(program.recording.nsys_options, other.nsys_options);
    return program;
}

const Recording* Program::recording_called(const std::string& other) const {
    const auto at =
        std::find_if(further.begin(), further.end(), [&](const Recording& r) { return r.name == other; });
    return at == further.end() ? nullptr : &*at;
}

std::vector<std::string> Program::run_arguments() const {
    std::vector<std::string> all = arguments;
    append(all, recording.arguments);
    return all;
}

std::vector<Program> all_recordings(const Program& program) {
    std::vector<Program> all{program};
    for (const Recording& further : program.further) all.push_back(program.recorded_as(further));
    return all;
}

}  // namespace lab
