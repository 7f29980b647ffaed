#include "tools/builder.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/parallel.h"
#include "core/text.h"
#include "tools/libraries.h"
#include "tools/machine.h"
#include "tools/python.h"

namespace lab {

namespace {

constexpr std::chrono::seconds kCompilerLimit{300};

/// The first lines of what the compiler says. The rest mostly follow from them.
std::string first_lines(const std::string& text) {
    std::vector<std::string> lines = split(trim(text), '\n');
    if (lines.size() > 20) lines.resize(20);
    for (std::string& line : lines) line = "  " + printable(line);
    return join(lines, "\n");
}

/// Did the compiler lack room, memory or a folder that it may write to? No program is to blame for that.
bool is_of_the_machine(const std::string& said) {
    for (const char* fault : {"No space left on device", "Disk quota exceeded", "Read-only file system",
                              "Could not open output file", "cannot open output file",
                              "File size limit exceeded", "File too large", "Cannot allocate memory",
                              "virtual memory exhausted", "Killed signal terminated program"})
        if (said.find(fault) != std::string::npos) return true;
    return false;
}

/// Without a GPU a virtual architecture is quick to build, and any later GPU compiles it at start; it holds
/// no machine code. Where that is looked at, it is for the GPU that the course is recorded on.
std::string architecture(const Program& program) {
    if (!gpu()) return program.code ? "sm_90" : "compute_75";
    std::string digits = gpu()->compute_capability;
    std::erase(digits, '.');
    return "sm_" + digits;
}

/// Compiles a program to `target`, or with `as_library` the same file to the library that the program opens.
void compile(const Workspace& workspace, const Program& program, const std::string& arch,
             const fs::path& target, bool as_library, const Announce& announce) {
    const fs::path part = scratch_beside(target);
    Command command{.words = {nvcc()->string()}, .limit = kCompilerLimit, .folder = workspace.root()};
    append(command.words, workspace.common_flags());
    // An unused variable is no reason not to look at what a learner's program does.
    if (*program.file.begin() == "work")
        std::erase_if(command.words, [](const std::string& word) { return word.starts_with("-Werror"); });
    command.words.push_back("-arch=" + arch);
    if (as_library) append(command.words, {"-shared", "-Xcompiler=-fPIC", "-DBUILD_LIBRARY"});
    append(command.words, {workspace.shown(workspace.source_of(program)), "-o", part.string()});
    append(command.words, located_flags(program.flags));
    std::vector<std::string> shown = command.words;
    for (std::string& word : shown)
        if (word == part.string()) word = workspace.shown(target);
    announce(shell_line(shown));
    const Outcome outcome = run(command);
    if (outcome.timed_out || outcome.signal)
        throw Error(
            fmt::format("nvcc did not finish {}: {}", program.file.string(), describe(outcome, command)),
            kFindingFailed);
    if (outcome.exit_code != 0 && is_of_the_machine(outcome.out + outcome.err))
        throw Error(fmt::format("nvcc could not work here, which is no fault of {}. It says:\n{}",
                                program.file.string(), first_lines(outcome.out + outcome.err)));
    if (outcome.exit_code != 0)
        throw ProgramError(fmt::format("{} does not compile. nvcc says:\n{}", program.file.string(),
                                       first_lines(outcome.out + outcome.err)));
    fs::rename(part, target);
}

/// Does the source also hold a library, which the program opens at run time?
bool has_library(const fs::path& source) {
    return read_file(source).find("BUILD_LIBRARY") != std::string::npos;
}

/// Python would say so only when it runs, and that takes a GPU.
void check_syntax(const Program& program, const fs::path& source) {
    if (!python()) return;
    const Outcome outcome = run(
        {.words = {python()->string(), "-c",
                   "import sys; compile(open(sys.argv[1]).read(), sys.argv[1], 'exec')", source.string()}});
    if (outcome.exit_code != 0)
        throw ProgramError(fmt::format("{} is no program. Python says:\n{}", program.file.string(),
                                       first_lines(outcome.err)));
}

/// The variables that a CUDA program needs, and no others. Python finds its libraries by two more.
std::vector<std::string> clean_environment(const Program& program) {
    std::vector<std::string> variables{"PATH=/usr/bin:/bin", "HOME=/tmp"},
        wanted{"LD_LIBRARY_PATH", "TMPDIR"};
    if (program.is_python()) append(wanted, {"PYTHONPATH", "CUDA_PATH"});
    for (const std::string& name : wanted)
        if (const char* value = std::getenv(name.c_str()); value && *value)
            variables.push_back(fmt::format("{}={}", name, value));
    return variables;
}

}  // namespace

fs::path library_of(const fs::path& binary) {
    return binary.string() + ".so";
}

fs::path build_program(const Workspace& workspace, const Program& program, const Announce& announce) {
    if (program.is_python()) {
        check_syntax(program, workspace.source_of(program));
        return workspace.source_of(program);
    }
    if (!nvcc())
        throw Error(
            fmt::format("{} cannot be built: nvcc is not here. Install the CUDA Toolkit (docs/setup.md); the "
                        "recorded evidence needs none.",
                        program.file.string()),
            kNothingCouldRun);
    if (!fs::exists(workspace.root() / program.file))
        throw Error(fmt::format("there is no file {}", program.file.string()));
    if (const auto missing = missing_libraries(program.flags); !missing.empty())
        throw Error(fmt::format("{} cannot be built: {} is not here (docs/setup.md)", program.file.string(),
                                join(missing, " and ")),
                    kNothingCouldRun);
    // A source elsewhere has an absolute path, and its folder is not ours to write into.
    const fs::path folder =
        workspace.build_folder() / "programs" / program.file.parent_path().relative_path();
    const fs::path binary = folder / program.file.stem();
    const std::string arch = architecture(program);
    const fs::path stamp = binary.string() + ".built";
    static const std::string version = version_of(*nvcc());
    const std::string built = fmt::format("{} {} {}", workspace.build_fingerprint_of(program), arch, version);
    fs::create_directories(folder);
    const Lock lock(stamp);  // another lab may be building it
    if (fs::exists(binary) && fs::exists(stamp) && read_file(stamp) == built) return binary;
    fs::remove(stamp);  // if the build breaks off, the old stamp must not vouch for it
    if (has_library(workspace.source_of(program)))
        compile(workspace, program, arch, library_of(binary), true, announce);
    compile(workspace, program, arch, binary, false, announce);
    write_file(stamp, built);
    return binary;
}

std::vector<fs::path> build_programs(const Workspace& workspace, const std::vector<Program>& programs,
                                     const Announce& announce) {
    if (!programs.empty()) (void)gpu(), (void)nvcc();  // looked for once, before the threads ask
    std::vector<fs::path> binaries(programs.size());
    for_each_in_parallel(programs.size(), [&](std::size_t i) {
        binaries[i] = build_program(workspace, programs[i], announce);
    });
    return binaries;
}

std::vector<std::string> words_to_run(const Program& program, const fs::path& binary) {
    if (!program.is_python()) return {binary.string()};
    return {python() ? python()->string() : "python3", binary.string()};
}

std::vector<std::string> words_to_run_copy(const Program& program, const fs::path& binary,
                                           const fs::path& folder) {
    const std::string name = program.name + (program.is_python() ? ".py" : "");
    fs::copy_file(binary, folder / name);
    if (fs::exists(library_of(binary))) fs::copy_file(library_of(binary), library_of(folder / name));
    return words_to_run(program, "./" + name);
}

std::string built_fingerprint(const fs::path& binary) {
    const std::string stamp = read_file(binary.string() + ".built");
    return stamp.substr(0, stamp.find(' '));
}

Command with_program(Command tool, const Program& program, const fs::path& binary, bool for_publication,
                     const TemporaryFolder& scratch) {
    if (for_publication) {
        tool.environment = clean_environment(program);
        tool.folder = scratch.path();
        append(tool.words, words_to_run_copy(program, binary, scratch.path()));
    } else {
        append(tool.words, words_to_run(program, binary));
    }
    append(tool.words, program.run_arguments());
    return tool;
}

}  // namespace lab
