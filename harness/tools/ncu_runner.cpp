#include "tools/ncu_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/files.h"
#include "core/process.h"
#include "core/text.h"
#include "tools/machine.h"

namespace lab {

namespace {

constexpr std::chrono::seconds kLimit{300};

std::string output_of(const Command& command, const Announce& announce) {
    announce(shell_line(command.words));
    const Outcome outcome = run(command);
    if (outcome.timed_out) throw Error(fmt::format("ncu was stopped after {} s", kLimit.count()));
    return outcome.out + outcome.err;
}

/// A page of a report. In another locale ncu would write its numbers with other signs.
std::string page_of(const fs::path& report, const Announce& announce, const std::vector<std::string>& page) {
    Command command{
        .words = {"env", "LC_ALL=C", ncu()->string(), "--import", report.string(), "--csv", "--page"},
        .limit = kLimit};
    append(command.words, page);
    append(command.words, {"--print-units", "base", "--print-kernel-base", "function"});
    return output_of(command, announce);
}

}  // namespace

std::vector<std::string> ncu_command(const fs::path& ncu_path, const fs::path& report, const Program& program,
                                     const std::vector<std::string>& metrics) {
    std::vector<std::string> words{ncu_path.string(), "--clock-control", "none", "--metrics",
                                   join(metrics, ",")};
    append(words, program.ncu_options);
    append(words, {"-f", "-o", report.string()});
    return words;
}

std::vector<NcuMetric> run_ncu(const Program& program, const fs::path& binary, const fs::path& report,
                               bool for_publication, const Announce& announce) {
    std::vector<std::string> metrics = program.ncu_metrics;
    for (;;) {
        fs::remove(report);  // an old report must not pass for a new one
        const TemporaryFolder scratch;
        const std::string output =
            output_of(with_program({.words = ncu_command(*ncu(), report, program, metrics), .limit = kLimit},
                                   program, binary, for_publication, scratch),
                      announce);
        if (output.find("ERR_NVGPUCTRPERM") != std::string::npos) {
            const std::string why =
                "ncu may not read the GPU's counters here (ERR_NVGPUCTRPERM): see docs/setup.md";
            if (for_publication) throw Error(why);
            announce("# " + why);
            return {};
        }
        if (fs::exists(report)) break;
        const std::vector<std::string> unknown = unknown_metrics(output);
        if (unknown.empty()) {
            (void)parse_ncu_csv(output, program.ncu_metrics);  // says why there is no table
            throw Error("it left no report. It said: " + printable(shorten(trim(output), 300)));
        }
        const auto left_out = std::erase_if(metrics, [&](const std::string& name) {
            return std::find(unknown.begin(), unknown.end(), name) != unknown.end();
        });
        if (for_publication || left_out == 0 || metrics.empty())
            throw Error(
                fmt::format("it knows no metric '{}'. List them with: ncu --query-metrics", unknown[0]));
        announce(fmt::format("# this GPU has no metric {}; once more without", join(unknown, ", ")));
    }
    return parse_ncu_csv(page_of(report, announce, {"raw"}), program.ncu_metrics,
                         for_publication ? Absent::is_an_error : Absent::is_kept);
}

std::vector<std::string> ncu_details_command(const fs::path& ncu_path, const fs::path& report,
                                             const Program& program) {
    std::vector<std::string> words{ncu_path.string(), "--clock-control", "none"};
    for (const NcuSection& section : kNcuSections) append(words, {"--section", section.id});
    append(words, {"--import-source", "yes"});
    append(words, program.ncu_details);
    append(words, {"-f", "-o", report.string()});
    return words;
}

std::vector<ProfiledLaunch> run_ncu_details(const Program& program, const fs::path& binary,
                                            const fs::path& report, bool for_publication,
                                            const Announce& announce) {
    try {
        fs::remove(report);  // an old report must not pass for a new one
        const TemporaryFolder scratch;
        const std::string output =
            output_of(with_program({.words = ncu_details_command(*ncu(), report, program), .limit = kLimit},
                                   program, binary, for_publication, scratch),
                      announce);
        if (!fs::exists(report))
            throw Error("it left no report of its sections. It said: " +
                        printable(shorten(trim(output), 300)));
        std::vector<ProfiledLaunch> launches = without_repetitions(details_of_report(report, announce));
        add_bodies(report, launches, announce);
        add_source(report, launches, announce);
        return launches;
    } catch (const Error& problem) {
        if (for_publication) throw;
        announce(std::string("# ncu's sections are not recorded: ") + problem.what());
        return {};
    }
}

std::vector<ProfiledLaunch> details_of_report(const fs::path& report, const Announce& announce) {
    if (!ncu())
        throw Error(fmt::format("{} can be read only by ncu, which is not here. Install Nsight Compute "
                                "(docs/setup.md); no GPU is needed.",
                                report.string()),
                    kNothingCouldRun);
    return parse_details_page(page_of(report, announce, {"details"}));
}

void add_bodies(const fs::path& report, std::vector<ProfiledLaunch>& launches, const Announce& announce) {
    for (const ProfiledLaunch& body :
         parse_details_page(page_of(report, announce, {"details", "--print-details", "body"})))
        for (ProfiledLaunch& launch : launches)
            for (const SectionMetric& metric : body.metrics)
                if (launch.launch == body.launch && !metric.table.empty()) launch.metrics.push_back(metric);
}

void add_source(const fs::path& report, std::vector<ProfiledLaunch>& launches, const Announce& announce) {
    for (ProfiledLaunch& launch : launches) {
        // The page does not say which launch its tables are of.
        const std::string page = page_of(report, announce,
                                         {"source", "--print-source", "cuda,sass", "--launch-skip",
                                          std::to_string(launch.launch), "--launch-count", "1"});
        for (const std::string& problem : add_source_page(page, launch)) announce("# " + problem);
    }
}

}  // namespace lab
