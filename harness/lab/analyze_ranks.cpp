#include "lab/analyze_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/files.h"
#include "core/parallel.h"
#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "evidence/kernel_names.h"
#include "evidence/processes.h"
#include "evidence/schema.h"
#include "lab/analysis_json.h"
#include "lab/command.h"
#include "lab/report_file.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

/// Of each trace only the numbers are kept. Several files are read at once, unless nsys has to export them.
Processes read_all(const std::vector<std::string>& files, const std::optional<std::string>& range,
                   const std::optional<int64_t>& device) {
    constexpr unsigned kMostAtOnce = 8;
    unsigned at_once = std::min(std::thread::hardware_concurrency(), kMostAtOnce);
    for (const std::string& file : files)
        if (fs::path(file).extension() == ".nsys-rep") at_once = 1;
    check_each_once(files);
    std::vector<ProcessUse> processes(files.size());
    for_each_in_parallel(files.size(), at_once, [&](std::size_t i) {
        processes[i] = process_of(files[i], open_report(files[i], true), range, device);
    });
    return side_by_side(std::move(processes));
}

void print_ranks(const Processes& all) {
    Table table({"rank", "GPU", "span", "compute", "communication", "hidden", "exposed", "memory only",
                 "idle", "waits for others"},
                std::vector<Align>(10, Align::right));
    for (const ProcessUse& p : all.processes) {
        std::string rank = std::to_string(p.rank);
        std::string waits = p.wait_in_collectives_ns ? format_ns(*p.wait_in_collectives_ns) : "n/a";
        if (p.devices.empty()) table.add({rank, "no work"});
        for (const DeviceUse& d : p.devices) {
            table.add({rank, std::to_string(d.device), format_ns(d.span_ns), format_ns(d.compute_ns),
                       format_ns(d.communication_ns), format_ns(d.communication_hidden_ns),
                       format_ns(d.exposed_ns()), format_ns(d.copy_only_ns), format_ns(d.gpu_idle_ns),
                       waits});
            rank.clear(), waits.clear();  // which are of the process
        }
    }
    fmt::print("{}\n", table.text());
}

void say_paragraph(const std::string& text) {
    fmt::print("{}\n\n", paragraph(text));
}

void print_balance(const Processes& all) {
    if (!all.compute_max_over_mean) return;
    const ProcessUse& slowest = all.processes[all.slowest];
    const int64_t most_ns = slowest.sum_of(&GpuTime::compute_ns);
    say_paragraph(fmt::format("Rank {} computes longest: {}; the mean of all ranks is {}.", slowest.rank,
                              format_ns(most_ns),
                              format_ns(static_cast<double>(most_ns) / *all.compute_max_over_mean)));
}

void print_skew(const Processes& all) {
    if (all.not_aligned)
        return say_paragraph(yellow(not_aligned_sentence(all) + " So who waits for whom is left out."));
    if (!all.skew) return;
    const Skew& skew = *all.skew;
    say_paragraph(
        fmt::format("In {} collectives the last rank starts {} after the first (median), {} in the "
                    "longest, {}. Until then a rank that came before waits inside its kernel. That "
                    "is as exact as the hosts' clocks agree.",
                    skew.collectives, format_ns(skew.median_ns), format_ns(skew.longest_ns),
                    shorten(printable(short_kernel_name(skew.longest_name)), 60)));
    Table table({"rank", "comes last in", "of the collectives"}, {Align::right, Align::right, Align::right});
    for (const ProcessUse& p : all.processes) {
        const auto last = skew.last_to_come.find(p.rank);
        const int64_t count = last == skew.last_to_come.end() ? 0 : last->second;
        table.add({std::to_string(p.rank), std::to_string(count), percent_of(count, skew.collectives)});
    }
    fmt::print("{}\n", table.text());
    if (skew.apart > 0)
        say_paragraph(
            fmt::format("{} more are left out: by their order they would be one, and their kernels "
                        "never ran at one time.",
                        skew.apart));
    std::vector<std::string> uneven;
    constexpr std::size_t kShown = 4;
    for (const std::string& name : skew.uneven)
        if (uneven.size() < kShown) uneven.push_back(shorten(printable(short_kernel_name(name)), 60));
    if (!uneven.empty())
        say_paragraph(fmt::format("Left out, since ranks ran different numbers of them: {}{}.",
                                  join(uneven, ", "), skew.uneven.size() > kShown ? ", ..." : ""));
}

Json skew_json(const Skew& skew) {
    Json last = Json::array();
    for (const auto& [rank, count] : skew.last_to_come) last.push_back({{"rank", rank}, {"count", count}});
    return {{"count", skew.collectives},
            {"start_skew_median_ns", skew.median_ns},
            {"start_skew_longest_ns", skew.longest_ns},
            {"longest", skew.longest_name},
            {"last_to_come", last},
            {"apart", skew.apart},
            {"uneven", skew.uneven}};
}

Json ranks_json(const Processes& all, const std::optional<std::string>& range) {
    Json processes = Json::array();
    for (const ProcessUse& p : all.processes) {
        Json devices = Json::array();
        for (const DeviceUse& d : p.devices) devices.push_back(Json(device_json(d)));
        processes.push_back({{"file", p.file},
                             {"rank", p.rank},
                             {"source_format", p.format == SourceFormat::kineto ? "kineto" : "nsys"},
                             {"devices", devices},
                             {"wait_in_collectives_ns", or_null(p.wait_in_collectives_ns)}});
    }
    return {
        {"range", or_null(range)},
        {"processes", processes},
        {"missing_ranks", all.missing},
        {"remarks", all.remarks},
        {"not_aligned", or_null(all.not_aligned)},
        {"slowest_rank", all.compute_max_over_mean ? Json(all.processes[all.slowest].rank) : Json(nullptr)},
        {"compute_max_over_mean", or_null(all.compute_max_over_mean)},
        {"collectives", all.skew ? skew_json(*all.skew) : Json(nullptr)}};
}

}  // namespace

void check_each_once(const std::vector<std::string>& files) {
    for (std::size_t i = 0; i < files.size(); ++i)
        for (std::size_t other = 0; other < i; ++other)
            if (is_same_file(files[i], files[other]))
                throw Error(fmt::format("{} and {} are one file: give one recording of each rank",
                                        printable(files[other]), printable(files[i])));
}

ProcessUse process_of(const std::string& file, const ReportFile& report,
                      const std::optional<std::string>& range, const std::optional<int64_t>& device) {
    ProcessUse process = process_use(file, report.trace(), range, device);
    if (report.evidence) process.problems = capture_problems(report.evidence->database());
    return process;
}

std::string not_aligned_sentence(const Processes& all) {
    if (!all.not_aligned) return "";
    return fmt::format("not aligned: {}{}", *all.not_aligned, all.not_aligned->ends_with('?') ? "" : ".");
}

int analyze_ranks(const std::vector<std::string>& files, const std::string& range_name,
                  const std::string& device_number, bool json) {
    const auto range = range_name.empty() ? std::nullopt : std::optional(range_name);
    const Processes all = read_all(files, range, gpu_number(device_number));
    if (json) {
        print_json(ranks_json(all, range));
        return kFine;
    }
    for (const ProcessUse& p : all.processes) fmt::print("rank {}  {}\n", p.rank, bold(printable(p.file)));
    if (range) fmt::print("range '{}'\n", printable(*range));
    for (const std::string& remark : all.remarks) fmt::print("{}\n", paragraph(yellow(remark)));
    fmt::print("\n");
    print_ranks(all);
    print_balance(all);
    print_skew(all);
    return kFine;
}

}  // namespace lab
