#include "tools/program_run.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/text.h"
#include "tools/builder.h"

namespace lab {

namespace {

/// Only what a CUDA program needs.
std::vector<std::string> clean_environment() {
    std::vector<std::string> variables{"PATH=/usr/bin:/bin", "HOME=/tmp"};
    for (const char* name : {"LD_LIBRARY_PATH", "TMPDIR"})
        if (const char* value = std::getenv(name); value && *value)
            variables.push_back(fmt::format("{}={}", name, value));
    return variables;
}

}  // namespace

Command with_program(Command tool, const Program& program, const fs::path& binary, bool for_publication,
                     const TemporaryFolder& scratch) {
    if (for_publication) {
        fs::copy_file(binary, scratch.path() / program.name);
        if (fs::exists(library_of(binary)))
            fs::copy_file(library_of(binary), library_of(scratch.path() / program.name));
        tool.environment = clean_environment();
        tool.folder = scratch.path();
        tool.words.push_back("./" + program.name);
    } else {
        tool.words.push_back(binary.string());
    }
    append(tool.words, program.run_arguments());
    return tool;
}

}  // namespace lab
