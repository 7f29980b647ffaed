#include "doctor/examination.h"

#include "core/files.h"
#include "core/text.h"
#include "tools/gpu_lock.h"
#include "tools/machine.h"

namespace lab {

std::string Examination::word(const fs::path& path) const {
    if (find_program(path.filename().string()) == path) return path.filename().string();
    return course.shown(path);
}

Outcome Examination::run_shown(Check& check, std::vector<std::string> words) const {
    words[0] = word(words[0]);
    check.tried = shell_line(words);
    announce(check.tried);
    try {
        return run({.words = words, .limit = limit, .folder = course.root()});
    } catch (const Error& problem) {  // it cannot be started: let the check say so
        return {.exit_code = 127, .signal = 0, .timed_out = false, .out = "", .err = problem.what()};
    }
}

Outcome Examination::run_on_gpu(Check& check, std::vector<std::string> words) const {
    const GpuLock lock;
    return run_shown(check, std::move(words));
}

bool Examination::ready(Check& check, const std::optional<fs::path>& tool, bool has_program,
                        const std::string& oldest) const {
    if (!tool) {
        fail(check, "absent");
        check.state = State::absent;
        return false;
    }
    check.path = tool->string();
    if (!has_program) {
        check.found = "it is here, and can be tried only on a program that runs on a GPU";
        return false;
    }
    if (oldest.empty()) return true;
    announce(shell_line({word(*tool), "--version"}));
    try {
        check.version = version_of(*tool, limit);
    } catch (const Error& problem) {
        fail(check, "cannot_start", {{"said", problem.what()}});
        return false;
    }
    if (!earlier(check.version, oldest)) return true;
    fail(check, "too_old", {{"version", check.version}, {"minimum", oldest}});
    return false;
}

void Examination::fail(Check& check, const std::string& id, Details details) const {
    std::error_code ignored;
    details.insert(facts.begin(), facts.end());
    details.insert({{"tool", check.name},
                    {"path", check.path},
                    {"said", ""},
                    {"limit", std::to_string(limit.count())},
                    {"folder", fs::temp_directory_path(ignored).string()},
                    {"release", "13-0"}});
    check.state = State::broken;
    check.failure = failures.diagnose(check.name, id, platform.kind, details);
}

void Examination::fail_by_words(Check& check, const Outcome& outcome, const std::string& otherwise) const {
    const std::string output = outcome.err + "\n" + outcome.out, library = missing_library(output);
    const std::string known = failures.recognise(check.name, output);
    fail(check,
         !known.empty()      ? known
         : outcome.timed_out ? "hangs"
                             : otherwise,
         {{"said", what_it_said(output)}, {"library", library}, {"holder", failures.package_of(library)}});
}

}  // namespace lab
