// How long `lab analyze` takes, and how long nsys takes for the same answers, on the same file in the same
// run; and whether the answers agree. No GPU is needed: both read a synthetic export.
//
//   cmake --build build --target against_nsys && build/bin/against_nsys [NSYS [KERNELS]]
//
// The reports of nsys that answer what `lab analyze` does: cuda_gpu_kern_sum, cuda_api_sum,
// cuda_gpu_mem_time_sum and cuda_gpu_mem_size_sum of `nsys stats`, gpu_gaps and gpu_time_util of `nsys
// analyze`. Exit code 1: they disagree.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/synthetic_export.h"
#include "core/error.h"
#include "core/files.h"
#include "core/intervals.h"
#include "core/process.h"
#include "core/statistics.h"
#include "core/text.h"
#include "evidence/evidence.h"

namespace {

using namespace lab;
using Words = std::vector<std::string>;

constexpr int kRounds = 5;

struct Timed {
    std::string out;
    double seconds = 0, cpu_seconds = 0;
};

/// What finished children used of the processor so far. On a busy machine this says more than the clock.
double cpu_seconds_of_children() {
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

Timed timed(const Words& words) {
    const Command command{words, std::chrono::seconds(600)};
    const double cpu_before = cpu_seconds_of_children();
    const auto began = std::chrono::steady_clock::now();
    Outcome outcome = run(command);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (outcome.exit_code != 0)
        throw Error(fmt::format("{}: {}\n{}{}", shell_line(words), describe(outcome, command), outcome.out,
                                outcome.err),
                    kFindingFailed);
    return {std::move(outcome.out), took.count(), cpu_seconds_of_children() - cpu_before};
}

/// A table in CSV as nsys prints it: the sums of its columns, by the columns' names, and the number of its
/// rows as "rows". No cell here holds a comma.
std::map<std::string, double> sums_of(const std::string& text, const std::string& first_column) {
    std::map<std::string, double> sums;
    Words header;
    for (const std::string& line : split(text, '\n')) {
        const Words cells = split(trim(line), ',');
        if (header.empty()) {
            if (cells.size() > 1 && cells[0] == first_column) header = cells;
        } else if (cells.size() == header.size()) {
            ++sums["rows"];
            for (std::size_t i = 0; i < cells.size(); ++i)
                sums[header[i]] += std::strtod(cells[i].c_str(), nullptr);
        } else {
            break;  // the next table
        }
    }
    if (header.empty())
        throw Error(fmt::format("nsys printed no table that begins with '{}':\n{}", first_column, text),
                    kFindingFailed);
    return sums;
}

double sum(const nlohmann::json& rows, const char* key) {
    double total = 0;
    for (const auto& row : rows) total += row.at(key).get<double>();
    return total;
}

/// Gaps between all that the GPU did.
double count_gaps(const fs::path& file) {
    const Evidence evidence = Evidence::open(file);
    Intervals work;
    for (const Kernel& k : evidence.trace().kernels) work.push_back({k.start_ns, k.end_ns});
    for (const Copy& c : evidence.trace().copies) work.push_back({c.start_ns, c.end_ns});
    return static_cast<double>(merge(std::move(work)).size()) - 1;
}

/// Compares each answer; false if one differs by more than the last digit that nsys prints.
bool agree(const std::string& nsys, const fs::path& file) {
    const auto report = [&](const char* verb, const char* name, const char* first_column) {
        return sums_of(timed({nsys, verb, "--quiet", "--format", "csv",
                              verb == std::string("stats") ? "--report" : "--rule", name, file.string()})
                           .out,
                       first_column);
    };
    const auto lab = nlohmann::json::parse(timed({LAB_COMMAND, "analyze", file.string(), "--json"}).out);
    auto kernels = report("stats", "cuda_gpu_kern_sum", "Time (%)");
    auto calls = report("stats", "cuda_api_sum", "Time (%)");
    auto copy_times = report("stats", "cuda_gpu_mem_time_sum", "Time (%)");
    auto copy_sizes = report("stats", "cuda_gpu_mem_size_sum", "Total (MB)");
    auto gaps = report("analyze", "gpu_gaps:gap=0:rows=-1", "Row#");
    // One chunk, whatever its use; nsys adds up what runs at once, so this is no share but a sum over the
    // span.
    auto use = report("analyze", "gpu_time_util:chunks=1:threshold=1000000", "Row#");
    bool all = true;
    const auto same = [&](const char* what, double ours, double theirs, double last_digit = 0) {
        const bool fine = std::fabs(ours - theirs) <= last_digit;
        fmt::print("  {:<28} {:>16.6g} {:>16.6g}  {}\n", what, ours, theirs, fine ? "same" : "DIFFERENT");
        all = all && fine;
    };
    fmt::print("\n  {:<28} {:>16} {:>16}\n", "answer", "lab", "nsys");
    same("kernels", sum(lab["kernels"], "count"), kernels["Instances"]);
    same("kernel names", static_cast<double>(lab["kernels"].size()), kernels["rows"]);
    same("kernel time, ns", sum(lab["kernels"], "total_ns"), kernels["Total Time (ns)"]);
    same("medians of kernels, ns", sum(lab["kernels"], "median_ns"), kernels["Med (ns)"], kernels["rows"]);
    same("CUDA calls", sum(lab["api"], "count"), calls["Num Calls"]);
    same("time in CUDA calls, ns", sum(lab["api"], "total_ns"), calls["Total Time (ns)"]);
    same("copies", sum(lab["copies"], "count"), copy_times["Count"]);
    same("time of copies, ns", sum(lab["copies"], "ns"), copy_times["Total Time (ns)"]);
    same("bytes copied", sum(lab["copies"], "bytes"), copy_sizes["Total (MB)"] * 1e6, 1e3);
    same("gaps", count_gaps(file), gaps["rows"]);
    same("idle time, ns", lab["gpu_idle_ns"].get<double>(), gaps["Duration (ns)"]);
    same("time used, % of the span",
         100 * (sum(lab["kernels"], "total_ns") + sum(lab["copies"], "ns")) / lab["span_ns"].get<double>(),
         use["In-Use (%)"], 0.051);
    same("span, ns", lab["span_ns"].get<double>(), use["Duration (ns)"]);
    return all;
}

int compare(const std::string& nsys, int64_t kernels) {
    fmt::print("nsys: {}", timed({nsys, "--version"}).out);
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "export.sqlite";
    write_synthetic_export(file, kernels);
    fmt::print("{} kernels and {} CUDA calls, {:.1f} MB\n\n", kernels, kernels,
               static_cast<double>(fs::file_size(file)) / 1e6);
    const Words stats{nsys,
                      "stats",
                      "--quiet",
                      "--format",
                      "csv",
                      "--report",
                      "cuda_gpu_kern_sum,cuda_api_sum,cuda_gpu_mem_time_sum,cuda_gpu_mem_size_sum",
                      file.string()};
    const Words analyze{
        nsys, "analyze", "--quiet", "--format", "csv", "--rule", "gpu_gaps,gpu_time_util", file.string()};
    std::vector<double> ours, theirs, ratios, cpu_ratios;
    fmt::print("  {:>5} {:>12} {:>12} {:>14} {:>8} {:>14}\n", "round", "lab analyze", "nsys stats",
               "nsys analyze", "ratio", "ratio, CPU time");
    for (int round = 1; round <= kRounds; ++round) {
        const Timed lab_run = timed({LAB_COMMAND, "analyze", file.string(), "--json"});
        const Timed stats_run = timed(stats), analyze_run = timed(analyze);
        ours.push_back(lab_run.seconds);
        theirs.push_back(stats_run.seconds + analyze_run.seconds);
        ratios.push_back(theirs.back() / ours.back());
        cpu_ratios.push_back((stats_run.cpu_seconds + analyze_run.cpu_seconds) / lab_run.cpu_seconds);
        fmt::print("  {:>5} {:>10.2f} s {:>10.2f} s {:>12.2f} s {:>8.1f} {:>14.1f}\n", round, lab_run.seconds,
                   stats_run.seconds, analyze_run.seconds, ratios.back(), cpu_ratios.back());
    }
    fmt::print("\n  medians: lab {:.2f} s, nsys {:.2f} s, ratio {:.1f}, of CPU time {:.1f}\n", median(ours),
               median(theirs), median(ratios), median(cpu_ratios));
    return agree(nsys, file) ? kFine : kFindingFailed;
}

}  // namespace

int main(int argc, char** argv) {
    const int64_t kernels = argc > 2 ? std::atoll(argv[2]) : 440'000;
    if (argc > 3 || kernels < 1000) {
        fmt::print(stderr, "usage: against_nsys [NSYS [KERNELS]]   (at least 1000; 440000 if not given)\n");
        return kBadInput;
    }
    try {
        return compare(argc > 1 ? argv[1] : "nsys", kernels);
    } catch (const Error& problem) {
        fmt::print(stderr, "{}\n", problem.what());
        return problem.exit_code;
    }
}
