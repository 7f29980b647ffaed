#include "tools/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/process.h"
#include "core/text.h"
#include "tools/fingerprint.h"

namespace lab {

namespace {

/// The recorded run to show of a program; nothing if there is none.
std::optional<fs::path> recorded_run(const fs::path& root, const Program& program, const std::string& gpu) {
    std::set<fs::path> runs;  // by GPU
    std::error_code ignored;
    for (const auto& folder : fs::directory_iterator(root / program.evidence_folder, ignored)) {
        const fs::path run = folder.path() / program.evidence_name();
        if (!fs::exists(run)) continue;
        if (folder.path().filename() == gpu) return run;
        runs.insert(run);
    }
    return runs.empty() ? std::nullopt : std::optional(*runs.rbegin());
}

void apply_patch(const fs::path& patch, const fs::path& base, const fs::path& to) {
    if (!find_program("patch"))
        throw Error(
            fmt::format("{} cannot be applied: there is no program `patch` here. Install the package patch.",
                        patch.string()),
            kNothingCouldRun);
    fs::create_directories(to.parent_path());
    const fs::path part = scratch_beside(to);
    const Outcome outcome = run({.words = {"patch", "--quiet", "--fuzz=0", "--no-backup-if-mismatch", "-r",
                                           "-", "-o", part.string(), base.string(), patch.string()}});
    if (outcome.exit_code != 0)
        throw Error(fmt::format("{} does not apply to {}: {}", patch.string(), base.string(),
                                printable(trim(outcome.out + outcome.err))),
                    kFindingFailed);
    fs::rename(part, to);
}

std::string flags_text(const Workspace& workspace, const Program& program) {
    if (program.is_python()) return "python3 with " + join(program.libraries, " and ");
    return join(workspace.common_flags(), " ") + " " + join(program.flags, " ");
}

/// Everything beside the source that decides what the tools see.
std::string run_text(const Workspace& workspace, const Program& program) {
    std::string text = flags_text(workspace, program) + " -- " + join(program.arguments, " ");
    if (!program.sanitizers.empty())
        text += " -- " + join(program.sanitizers, " ") + " " + join(program.check_arguments, " ");
    if (!program.ncu_metrics.empty())
        text += " -- " + join(program.ncu_metrics, " ") + " -- " + join(program.ncu_options, " ");
    if (program.code) text += " -- cuobjdump";
    if (program.dump) text += " -- cuda-gdb";
    return text;
}

}  // namespace

fs::path Workspace::build_folder() const {
    const char* chosen = std::getenv("LAB_BUILD");
    return root_ / (chosen && *chosen ? chosen : "build");
}

std::string Workspace::shown(const fs::path& path) const {
    const fs::path relative = path.lexically_relative(root_);
    return relative.empty() || *relative.begin() == ".." ? path.string() : relative.string();
}

std::vector<std::string> Workspace::common_flags() const {
    return lines_of_flags(root_ / "common/nvcc.flags");
}

fs::path Workspace::source_of(const Program& program) const {
    if (program.base.empty()) return root_ / program.file;
    const fs::path patch = root_ / program.file, base = root_ / program.base;
    fs::path made = build_folder() / "wrong" / program.file;
    made.replace_extension(base.extension());
    std::error_code missing;
    const auto time_of = [&](const fs::path& file) { return fs::last_write_time(file, missing); };
    if (!fs::exists(made) || time_of(made) <= time_of(patch) || time_of(made) <= time_of(base))
        apply_patch(patch, base, made);
    return made;
}

std::string Workspace::fingerprint_of(const Program& program, const std::string& silent) const {
    return fingerprint(tokens_of_program(source_of(program), root_), run_text(*this, program), silent);
}

std::string Workspace::build_fingerprint_of(const Program& program) const {
    return fingerprint(tokens_of_program(source_of(program), root_), flags_text(*this, program), "");
}

bool Workspace::is_stale(const Program& program, const Evidence& evidence) const {
    const Provenance& recorded = evidence.provenance();
    const std::string details = value_of(recorded, "ncu_details");
    if (!details.empty() && details != join(program.ncu_details, " ")) return true;
    return value_of(recorded, "fingerprint") != fingerprint_of(program, value_of(recorded, "silent")) ||
           value_of(recorded, "recording") != recording_text(program);
}

std::map<std::string, std::string> Workspace::sources_of(const Program& program) const {
    std::map<std::string, std::string> texts;
    for (const auto& entry : fs::directory_iterator(root_ / "common"))
        if (entry.is_regular_file()) texts[entry.path().filename().string()] = read_file(entry.path());
    const fs::path source = source_of(program);
    texts[source.filename().string()] = read_file(source);
    return texts;
}

fs::path Workspace::evidence_of(const Program& program, const std::string& gpu) const {
    if (const auto run = recorded_run(root_, program, gpu)) return *run;
    throw Error(
        fmt::format("no run of {} is recorded below {}. On a machine with a GPU and nsys: ./lab record",
                    program.file.string(), program.evidence_folder.string()),
        kNothingCouldRun);
}

bool Workspace::has_evidence_of(const Program& program) const {
    return recorded_run(root_, program, "").has_value();
}

void add_fingerprint(const Workspace& workspace, const Program& program, const std::string& seen,
                     Provenance& provenance) {
    const fs::path source = workspace.source_of(program);
    provenance["silent"] = silent_messages(tokens_of_program(source, workspace.root()), seen);
    provenance["fingerprint"] = workspace.fingerprint_of(program, provenance["silent"]);
}

std::string recording_text(const Program& program) {
    std::vector<std::string> words = program.recording.nsys_options;
    append(words, program.recording.gpu_metrics);
    if (!program.recording.arguments.empty()) words.push_back("--");
    append(words, program.recording.arguments);
    return join(words, " ");
}

std::string gpu_folder(const std::string& gpu_name) {
    std::vector<std::string> words;
    for (std::string word : split(gpu_name, ' ')) {
        std::transform(word.begin(), word.end(), word.begin(),
                       [](unsigned char c) { return std::tolower(c); });
        std::erase_if(word, [](unsigned char c) { return !std::isalnum(c); });
        if (!word.empty() && word != "nvidia" && word != "geforce" && word != "tesla") words.push_back(word);
    }
    return words.empty() ? "gpu" : join(words, "-");
}

std::vector<std::string> lines_of_flags(const fs::path& file) {
    std::vector<std::string> flags;
    if (!fs::exists(file)) return flags;
    for (const std::string& line : split(read_file(file), '\n'))
        if (!trim(line).empty()) flags.push_back(trim(line));
    return flags;
}

}  // namespace lab
