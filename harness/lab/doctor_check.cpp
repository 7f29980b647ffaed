#include "lab/doctor_check.h"

#include <sys/statvfs.h>

#include <cstdlib>

#include "core/files.h"
#include "core/text.h"
#include "lab/command.h"

namespace lab {

namespace {

/// Long enough for the slowest tool's start, short enough to wait for. Tests set a shorter one.
std::chrono::seconds command_limit() {
    const char* stated = std::getenv("LAB_DOCTOR_LIMIT_S");
    const int seconds = stated ? std::atoi(stated) : 0;
    return std::chrono::seconds(seconds > 0 ? seconds : 60);
}

fs::path temporary_folder() {
    std::error_code problem;
    const fs::path folder = fs::temp_directory_path(problem);
    return problem ? fs::path("/tmp") : folder;
}

bool is_noexec(const fs::path& folder) {
    struct statvfs info {};
    return ::statvfs(folder.c_str(), &info) == 0 && (info.f_flag & ST_NOEXEC) != 0;
}

}  // namespace

const char* to_string(State state) {
    switch (state) {
        case State::works:
            return "works";
        case State::broken:
            return "broken";
        case State::absent:
            return "absent";
        case State::untried:
            break;
    }
    return "untried";
}

Examination::Examination(const Course& course, KnownFailures failures, Platform platform)
    : course_(course),
      failures_(std::move(failures)),
      platform_(std::move(platform)),
      limit_(command_limit()),
      facts_{{"limit", std::to_string(limit_.count())},
             {"folder", temporary_folder().string()},
             {"release", "13-0"}} {}

std::string Examination::word(const fs::path& path) const {
    if (find_program(path.filename().string()) == path) return path.filename().string();
    return course_.shown(path);
}

Outcome Examination::run_shown(Check& check, std::vector<std::string> words) const {
    words[0] = word(words[0]);
    check.tried = shell_line(words);
    announce_to_terminal(check.tried);
    try {
        return run({.words = words, .limit = limit_, .folder = course_.root()});
    } catch (const Error& problem) {  // it cannot be started: let the check say so
        return {.exit_code = 127, .signal = 0, .timed_out = false, .out = "", .err = problem.what()};
    }
}

bool Examination::ask_version(Check& check, const std::string& minimum,
                              const std::string& failure_if_older) const {
    announce_to_terminal(shell_line({word(check.path), "--version"}));
    try {
        check.version = version_of(check.path, limit_);
    } catch (const Error& problem) {
        fail(check, "cannot_start", {{"said", problem.what()}});
        return false;
    }
    if (!earlier(check.version, minimum)) return true;
    fail(check, failure_if_older, {{"version", check.version}, {"minimum", minimum}});
    return false;
}

bool Examination::ready(Check& check, const std::optional<fs::path>& tool, bool has_program,
                        const std::string& id, const std::string& oldest) const {
    if (!tool) {
        fail_as_absent(check, id + "_absent");
        return false;
    }
    check.path = tool->string();
    if (!has_program) {
        check.found = "it is here, and can be tried only on a program that runs on a GPU";
        return false;
    }
    return ask_version(check, oldest, id + "_too_old");
}

void Examination::fail_as_absent(Check& check, const std::string& id) const {
    fail(check, id);
    check.state = State::absent;
}

void Examination::fail(Check& check, const std::string& id, Details details) const {
    details.insert(facts_.begin(), facts_.end());
    details.insert({{"tool", check.name}, {"path", check.path}, {"said", ""}});
    check.state = State::broken;
    check.failure = diagnose(failures_.by_id(id), platform_, details);
}

void Examination::fail_by_words(Check& check, const Outcome& outcome, const std::string& hangs,
                                const std::string& otherwise) const {
    const std::string output = outcome.err + "\n" + outcome.out;
    const std::string library = missing_library(output);
    const Details details{
        {"said", what_it_said(output)}, {"library", library}, {"package", package_of(library)}};
    if (const KnownFailure* known = failures_.recognise(check.name, output))
        fail(check, known->id, details);
    else if (outcome.timed_out)
        fail(check, hangs);
    else if (is_noexec(temporary_folder()))
        fail(check, "noexec_tmp", details);
    else
        fail(check, otherwise, details);
}

}  // namespace lab
