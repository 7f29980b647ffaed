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
    if (outcome.timed_out) throw Error(fmt::format("it was stopped after {} s", kLimit.count()));
    return outcome.out + outcome.err;
}

/// The table of a report. In another locale ncu would write its numbers with other signs.
std::string table_of(const fs::path& report, const Announce& announce) {
    return output_of({.words = {"env", "LC_ALL=C", ncu()->string(), "--import", report.string(), "--csv",
                                "--page", "raw", "--print-units", "base", "--print-kernel-base", "function"},
                      .limit = kLimit},
                     announce);
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
    return parse_ncu_csv(table_of(report, announce), program.ncu_metrics,
                         for_publication ? Absent::is_an_error : Absent::is_kept);
}

}  // namespace lab
