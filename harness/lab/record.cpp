// lab record: on a GPU, records the evidence that the course is checked against everywhere else.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "core/parallel.h"
#include "core/terminal.h"
#include "course/case_evidence.h"
#include "lab/command.h"

namespace lab {

namespace {

struct Wanted {
    Program program;
    Case of;
};

/// The programs to be recorded: of a case, of a chapter's cases, or for "" of the whole course. Answers come
/// last: a recording that is cut short has the programs that pages speak of.
std::vector<Wanted> chosen_programs(const Course& course, const std::string& name, bool only_stale) {
    std::vector<Wanted> wanted;
    const auto add = [&](const Case& of) {
        for (const Program& program : of.all_programs())
            for (const Program& recorded : all_recordings(program))
                if (!only_stale || !fresh_recording(course, recorded)) wanted.push_back({recorded, of});
    };
    std::vector<Chapter> chapters;
    if (name.empty())
        chapters = course.chapters();
    else if (const Course::Chosen chosen = course.choose(name); !chosen.part)
        chapters.push_back(chosen.chapter);
    else
        for (const Case* draw : chosen.draws()) add(*draw);
    for (const Chapter& chapter : chapters)
        for (const Case* each : chapter.cases()) add(*each);
    std::stable_partition(wanted.begin(), wanted.end(),
                          [](const Wanted& each) { return each.program.base.empty(); });
    return wanted;
}

int record_all(const std::string& name, bool only_stale) {
    const Course course = Course::find();
    if (const std::string missing = missing_for_live(Needs{}); !missing.empty())
        throw Error(fmt::format("nothing can be recorded: {}. ./lab doctor says what to do.", missing),
                    kNothingCouldRun);
    std::vector<Wanted> wanted;
    int recorded = 0, failed = 0;
    for (Wanted& each : chosen_programs(course, name, only_stale)) {
        const std::string missing = missing_for_live(each.of);
        if (missing.empty()) {
            wanted.push_back(std::move(each));
            continue;
        }
        say(fmt::format("{} is not recorded: {}", each.program.file.string(), missing));
        ++failed;
    }
    if (wanted.empty() && failed == 0) {
        fmt::print("no evidence is stale: nothing to record\n");
        return kFine;
    }
    std::vector<Program> programs;
    for (const Wanted& each : wanted) programs.push_back(each.program);
    (void)build_programs(course, programs, announce_to_terminal);
    constexpr unsigned kAtOnce = 3;  // one has the GPU, and the reports of the others are read meanwhile
    std::mutex said;
    for_each_in_parallel(wanted.size(), kAtOnce, [&](std::size_t i) {
        std::string done, problem;
        try {
            const fs::path evidence =
                record_evidence(course, wanted[i].of, wanted[i].program, announce_to_terminal);
            done = fmt::format("recorded {} ({} bytes)\n", course.shown(evidence), fs::file_size(evidence));
        } catch (const Error& error) {
            problem = error.what();
        }
        const std::lock_guard lock(said);
        fmt::print("{}", done);
        std::fflush(stdout);
        if (!problem.empty()) say(problem, "31");
        ++(problem.empty() ? recorded : failed);
    });
    fmt::print("{} recorded, {} failed\n", recorded, failed);
    return failed ? kFindingFailed : kFine;
}

}  // namespace

void add_record(Session& session) {
    struct Options {
        std::string name;
        bool stale = false;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command(session, "record", "record evidence (on a GPU, for maintainers)",
                       "Records programs with their starters, solutions and answers. New evidence "
                       "replaces the old once it is whole. A program that fails is named (exit code 1), and "
                       "the others are still recorded.\nExample: ./lab record --stale",
                       [options] { return record_all(options->name, options->stale); });
    command.argument("NAME", options->name, "a chapter or an exercise; without it, everything", false);
    command.flag("--stale", options->stale,
                 "only what is missing, damaged or of another version of its program");
}

}  // namespace lab
