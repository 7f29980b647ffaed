// Every nsys command line on the pages of the course is in today's spelling: the flags and names below, and
// no others.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "command_lines.h"
#include "core/files.h"
#include "core/text.h"

using namespace lab;

namespace {

using Names = std::set<std::string>;

/// What nsys 2026.4 documents for Linux and CUDA, without what only other platforms have.
const std::map<std::string, Names>& flags_of_today() {
    static const std::map<std::string, Names> flags = {
        {"profile",
         {"--after-collection-start",
          "--after-report-ready",
          "--backtrace",
          "-b",
          "--capture-range",
          "-c",
          "--capture-range-end",
          "--command-file",
          "--cpu-metrics",
          "--cpuctxsw",
          "--cuda-event-trace",
          "--cuda-flush-interval",
          "--cuda-graph-trace",
          "--cuda-memory-usage",
          "--cuda-trace-all-apis",
          "--cuda-trace-scope",
          "--cuda-um-cpu-page-faults",
          "--cuda-um-gpu-page-faults",
          "--cudabacktrace",
          "--debug-symbols",
          "--delay",
          "-y",
          "--discard-environment",
          "--duration",
          "-d",
          "--enable",
          "--env-var",
          "-e",
          "--event-sample",
          "--event-sampling-interval",
          "--export",
          "--flush-on-cudaprofilerstop",
          "--force-overwrite",
          "-f",
          "--gpu-metrics-devices",
          "--gpu-metrics-frequency",
          "--gpu-metrics-set",
          "--gpu-video-devices",
          "--gpuctxsw",
          "--help",
          "--ib-switch-congestion-devices",
          "--ib-switch-metrics-devices",
          "--inherit-environment",
          "-n",
          "--kill",
          "--mpi-impl",
          "--nccl-trace",
          "--nic-metrics",
          "--nvtx-capture",
          "-p",
          "--nvtx-domain-exclude",
          "--nvtx-domain-include",
          "--os-events",
          "--osrt-backtrace-depth",
          "--osrt-backtrace-stack-size",
          "--osrt-backtrace-threshold",
          "--osrt-file-access",
          "--osrt-threshold",
          "--output",
          "-o",
          "--python-backtrace",
          "--python-functions-trace",
          "--python-sampling",
          "--python-sampling-frequency",
          "--pytorch",
          "--resolve-symbols",
          "--run-as",
          "--sample",
          "-s",
          "--samples-per-backtrace",
          "--sampling-period",
          "--session-new",
          "--show-output",
          "-w",
          "--show-source-info",
          "--start-later",
          "-Y",
          "--stats",
          "--stop-on-exit",
          "-x",
          "--syscall",
          "--trace",
          "-t",
          "--trace-fork-before-exec",
          "--wait"}},
        {"stats",
         {"--filter-nvtx", "--filter-time", "--force-export", "--force-overwrite", "--format", "-f", "--help",
          "--help-formats", "--help-reports", "--output", "-o", "--quiet", "-q", "--report", "-r",
          "--report-dir", "--sqlite", "--timeunit"}},
        {"analyze",
         {"--force-export", "--force-overwrite", "--format", "-f", "--help", "--help-formats", "--help-rules",
          "--output", "-o", "--quiet", "-q", "--rule", "-r", "--sqlite", "--timeunit"}},
        {"export",
         {"--append", "--dynamic-tables", "--force-overwrite", "-f", "--help", "--include-json", "--lazy",
          "-l", "--output", "-o", "--quiet", "-q", "--tables", "--times", "--ts-normalize", "--ts-shift",
          "--type", "-t", "--include-blobs"}},
        {"recipe", {"--help", "--input", "--output", "--quiet", "-q"}},
        {"status", {"--all", "--environment", "-e", "--help", "--network", "-n", "--session"}},
        {"start",
         {"--session", "--session-new", "--output", "-o", "--stop-on-exit", "--capture-range", "-c"}},
        {"launch", {"--session", "--session-new", "--trace", "-t", "--env-var", "-e", "--show-output", "-w"}},
        {"stop", {"--session", "--keep"}},
        {"shutdown", {"--session", "--kill"}},
        {"cancel", {"--session"}},
        {"sessions", {}},
    };
    return flags;
}

const Names kReports = {"cuda_api_gpu_sum",   "cuda_api_sum",
                        "cuda_api_trace",     "cuda_gpu_kern_gb_sum",
                        "cuda_gpu_kern_sum",  "cuda_gpu_mem_size_sum",
                        "cuda_gpu_sum",       "cuda_gpu_mem_time_sum",
                        "cuda_gpu_trace",     "cuda_kern_exec_sum",
                        "mpi_event_sum",      "cuda_kern_exec_trace",
                        "mpi_event_trace",    "mpi_msg_size_sum",
                        "nvtx_gpu_proj_sum",  "nvtx_gpu_proj_trace",
                        "nvtx_kern_sum",      "nvtx_pushpop_sum",
                        "nvtx_pushpop_trace", "nvtx_startend_sum",
                        "nvtx_sum",           "openacc_sum",
                        "openmp_sum",         "osrt_sum",
                        "syscall_sum",        "um_sum",
                        "um_total_sum",       "um_cpu_page_faults_sum"};
const Names kRules = {"cuda_api_sync", "cuda_memcpy_async", "cuda_memcpy_sync", "cuda_memset_sync",
                      "dx12_mem_ops",  "gpu_gaps",          "gpu_time_util",    "all"};
const Names kTraces = {"cuda",     "cuda-sw",
                       "nvtx",     "osrt",
                       "opengl",   "cublas",
                       "cudnn",    "cublas-verbose",
                       "cusparse", "cusparse-verbose",
                       "cusolver", "cusolver-verbose",
                       "mpi",      "ucx",
                       "oshmem",   "nccl",
                       "openacc",  "openmp",
                       "vulkan",   "python-gil",
                       "none"};
const Names kRangeEnds = {"none", "stop", "stop-shutdown", "repeat", "repeat-shutdown"};
const Names kExports = {"none", "sqlite", "hdf", "arrow", "arrowdir", "parquetdir", "jsonlines", "info"};
const Names kScopes = {"process-tree", "system-wide", "none"};

/// The values that an option may have, by subcommand and option; options that are not here take any.
const Names* values_of_today(const std::string& subcommand, const std::string& option) {
    static const std::map<std::pair<std::string, std::string>, const Names*> values = {
        {{"stats", "--report"}, &kReports},    {{"stats", "-r"}, &kReports},
        {{"analyze", "--rule"}, &kRules},      {{"analyze", "-r"}, &kRules},
        {{"profile", "--trace"}, &kTraces},    {{"profile", "-t"}, &kTraces},
        {{"profile", "--export"}, &kExports},  {{"profile", "--capture-range-end"}, &kRangeEnds},
        {{"export", "--type"}, &kExports},     {{"export", "-t"}, &kExports},
        {{"profile", "--sample"}, &kScopes},   {{"profile", "-s"}, &kScopes},
        {{"profile", "--cpuctxsw"}, &kScopes},
    };
    const auto at = values.find({subcommand, option});
    return at == values.end() ? nullptr : at->second;
}

bool known_flag(const std::string& flag) {
    const auto& all = flags_of_today();
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& entry) { return entry.second.count(flag) > 0; });
}

/// What of a command line, from the word behind `nsys` on, is not in today's spelling. Empty if all is.
std::vector<std::string> faults_of(std::vector<std::string> words) {
    std::vector<std::string> faults;
    std::string subcommand = "profile";  // `nsys --delay`, as running text abbreviates
    if (!words.empty() && words[0][0] != '-') subcommand = words[0], words.erase(words.begin());
    const auto flags = flags_of_today().find(subcommand);
    if (flags == flags_of_today().end()) return {"nsys " + subcommand};
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i][0] != '-') {
            if (subcommand == "profile" || subcommand == "launch") break;  // here the program begins
            continue;
        }
        const std::size_t equals = words[i].find('=');
        const std::string option = words[i].substr(0, equals);
        if (!flags->second.count(option)) faults.push_back(option);
        std::string value;
        if (equals != std::string::npos)
            value = words[i].substr(equals + 1);
        else if (i + 1 < words.size() && words[i + 1][0] != '-')
            value = words[++i];
        const Names* allowed = values_of_today(subcommand, option);
        if (!allowed || value.empty()) continue;
        for (const std::string& part : split(value, ','))
            if (!allowed->count(part.substr(0, part.find(':')))) faults.push_back(option + " " + part);
    }
    return faults;
}

std::string page_of_nsys() {
    return read_file(fs::path(LAB_SOURCE_FOLDER) / "docs/nsys.md");
}

Renamed renamed() {
    const Renamed all = renamed_on(page_of_nsys());
    REQUIRE(all.gone.size() > 30);
    return all;
}

std::vector<std::string> faults_of_line(const std::string& line) {
    std::vector<std::string> faults;
    for (const auto& command : commands_in(line, "nsys"))
        for (const std::string& fault : faults_of(command)) faults.push_back(fault);
    return faults;
}

}  // namespace

TEST_CASE("nsys commands: the check itself sees what is wrong") {
    using Faults = std::vector<std::string>;
    CHECK(faults_of_line("nsys profile --trace=cuda,nvtx -o report ./program --stats-of-mine").empty());
    CHECK(faults_of_line("sudo nsys profile --gpu-metrics-device=0 ./p") == Faults{"--gpu-metrics-device"});
    CHECK(faults_of_line("nsys profile -o r --stop-on-range-end true ./p") == Faults{"--stop-on-range-end"});
    CHECK(faults_of_line("nsys profile -t cuda,nvvtx ./p") == Faults{"-t nvvtx"});
    CHECK(faults_of_line("nsys profile --capture-range-end=repeat:3 ./p").empty());
    CHECK(faults_of_line("nsys profile --capture-range-end=again ./p") ==
          Faults{"--capture-range-end again"});
    CHECK(faults_of_line("nsys stats --report gpukernsum,cuda_gpu_trace:base r.nsys-rep") ==
          Faults{"--report gpukernsum"});
    CHECK(faults_of_line("nsys analyze r.nsys-rep --rule gpu-starv") == Faults{"--rule gpu-starv"});
    CHECK(faults_of_line("nsys export --type=json r.nsys-rep") == Faults{"--type json"});
    CHECK(faults_of_line("nsys nvprof ./p") == Faults{"nsys nvprof"});
    CHECK(faults_of_line("mpirun -n 2 nsys profile --gone ./p") == Faults{"--gone"});
    CHECK(faults_of_line("nsys status -e   # --not-a-flag").empty());
    CHECK(faults_of_line("./lab nsys PROGRAM --whatever").empty());
    CHECK(code_of("```sh\nnsys profile \\\n    --gone ./p\n```\nand `nsys\nstats`").lines.size() == 1);
    CHECK(code_of("and `nsys\n  stats --gone`").spans == std::vector<std::string>{"nsys   stats --gone"});
}

TEST_CASE("nsys commands: every command line of every page is in today's spelling") {
    std::size_t commands = 0;
    for (const fs::path& path : pages()) {
        const PageCode code = code_of(part_of(read_file(path), false));
        for (const auto& pieces : {code.lines, code.spans})
            for (const std::string& piece : pieces) {
                commands += commands_in(piece, "nsys").size();
                CHECK_MESSAGE(faults_of_line(piece).empty(),
                              path.string() << ": " << piece << ": " << join(faults_of_line(piece), ", "));
            }
    }
    CHECK(commands >= 20);
}

TEST_CASE("nsys commands: docs/nsys.md explains only flags that exist") {
    std::size_t flags = 0;
    for (const std::string& span : code_of(part_of(page_of_nsys(), false)).spans) {
        if (span[0] != '-' || span.size() < 2 || span.rfind("-l", 0) == 0) continue;  // -ldl is for a linker
        const std::string flag = span.substr(0, span.find_first_of("= "));
        CHECK_MESSAGE(known_flag(flag), span);
        ++flags;
    }
    CHECK(flags > 60);
}

TEST_CASE("nsys commands: what is gone is gone from every page, and what replaces it exists") {
    const Renamed all = renamed();
    for (const std::string& gone : all.gone) {
        CHECK_MESSAGE(!known_flag(gone), gone);
        CHECK_MESSAGE(kReports.count(gone) + kRules.count(gone) == 0, gone);
        for (const fs::path& path : pages())
            CHECK_MESSAGE(!says(part_of(read_file(path), false), gone), path.string() << ": " << gone);
    }
    for (const std::string& today : all.today) {
        const std::string name = today.substr(0, today.find('='));
        const bool exists = known_flag(name) || kReports.count(name) || kRules.count(name) ||
                            (today.rfind("nsys ", 0) == 0 && flags_of_today().count(today.substr(5)));
        CHECK_MESSAGE(exists, today);
    }
}

TEST_CASE("nsys commands: the page explains every report and rule that the course may use") {
    const std::string page = part_of(page_of_nsys(), false);
    for (const std::string& name : kReports) CHECK_MESSAGE(says(page, name), name);
    for (const std::string& name : kRules)
        if (name != "all") CHECK_MESSAGE(says(page, name), name);
}
