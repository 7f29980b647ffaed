// Every command line of nsys and of compute-sanitizer on the pages of the course is in today's spelling: the
// flags and values below, and no others.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "command_lines.h"
#include "core/files.h"
#include "core/text.h"

using namespace lab;

namespace {

using Names = std::set<std::string>;
using Flags = std::map<std::string, Names>;  ///< with the values that each may have; without any, all

/// "--quiet! --type=sqlite|hdf --output": a flag without a value, one with these values, one with any.
Flags flags_in(const std::string& text) {
    Flags flags;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        Names& values = flags[word.substr(0, std::min(equals, word.find('!')))];
        if (word.back() == '!') values = {"!"};
        if (equals == std::string::npos) continue;
        for (const std::string& value : split(word.substr(equals + 1), '|')) values.insert(value);
    }
    return flags;
}

Names names_in(const std::string& text) {
    std::istringstream words(text);
    return {std::istream_iterator<std::string>(words), {}};
}

const Names kReports = names_in(
    "cuda_api_gpu_sum cuda_api_sum cuda_api_trace cuda_gpu_kern_gb_sum cuda_gpu_kern_sum "
    "cuda_gpu_mem_size_sum cuda_gpu_mem_time_sum cuda_gpu_sum cuda_gpu_trace cuda_kern_exec_sum "
    "cuda_kern_exec_trace mpi_event_sum mpi_event_trace mpi_msg_size_sum nvtx_gpu_proj_sum "
    "nvtx_gpu_proj_trace nvtx_kern_sum nvtx_pushpop_sum nvtx_pushpop_trace nvtx_startend_sum nvtx_sum "
    "openacc_sum openmp_sum osrt_sum syscall_sum um_cpu_page_faults_sum um_sum um_total_sum");
const Names kRules = names_in(
    "cuda_api_sync cuda_memcpy_async cuda_memcpy_sync cuda_memset_sync dx12_mem_ops gpu_gaps gpu_time_util");

/// What nsys 2026.4 documents for Linux and CUDA, by subcommand.
std::map<std::string, Flags> nsys_flags() {
    std::map<std::string, Flags> all;
    all["profile"] = flags_in(
        "--after-collection-start --after-report-ready --backtrace -b --capture-range -c "
        "--capture-range-end=none|stop|stop-shutdown|repeat|repeat-shutdown --command-file --cpu-metrics "
        "--cpuctxsw=process-tree|system-wide|none --cuda-event-trace --cuda-flush-interval "
        "--cuda-graph-trace --cuda-memory-usage --cuda-trace-all-apis --cuda-trace-scope "
        "--cuda-um-cpu-page-faults --cuda-um-gpu-page-faults --cudabacktrace --debug-symbols --delay -y "
        "--discard-environment --duration -d --enable --env-var -e --event-sample --event-sampling-interval "
        "--export=none|sqlite|hdf|arrow|arrowdir|parquetdir|jsonlines|info --flush-on-cudaprofilerstop "
        "--force-overwrite -f --gpu-metrics-devices --gpu-metrics-frequency --gpu-metrics-set "
        "--gpu-video-devices --gpuctxsw --help --ib-switch-congestion-devices --ib-switch-metrics-devices "
        "--inherit-environment -n --kill --mpi-impl --nccl-trace --nic-metrics --nvtx-capture -p "
        "--nvtx-domain-exclude --nvtx-domain-include --os-events --osrt-backtrace-depth "
        "--osrt-backtrace-stack-size --osrt-backtrace-threshold --osrt-file-access --osrt-threshold --output "
        "-o --python-backtrace --python-functions-trace --python-sampling --python-sampling-frequency "
        "--pytorch --resolve-symbols --run-as --samples-per-backtrace --sampling-period --session-new "
        "--show-output -w --show-source-info --start-later -Y --stats --stop-on-exit -x --syscall "
        "--trace-fork-before-exec --wait");
    for (const char* flag : {"--trace", "-t"})
        all["profile"][flag] = names_in(
            "cuda cuda-sw nvtx osrt opengl cublas cudnn cublas-verbose cusparse cusparse-verbose cusolver "
            "cusolver-verbose mpi ucx oshmem nccl openacc openmp vulkan python-gil none");
    for (const char* flag : {"--sample", "-s"}) all["profile"][flag] = all["profile"]["--cpuctxsw"];
    all["stats"] = flags_in(
        "--filter-nvtx --filter-time --force-export --force-overwrite --format -f --help --help-formats "
        "--help-reports --output -o --quiet -q --report-dir --sqlite --timeunit");
    all["stats"]["--report"] = all["stats"]["-r"] = kReports;
    all["analyze"] = flags_in(
        "--force-export --force-overwrite --format -f --help --help-formats --help-rules --output -o --quiet "
        "-q --sqlite --timeunit");
    all["analyze"]["--rule"] = all["analyze"]["-r"] = kRules;
    all["analyze"]["--rule"].insert("all");
    all["export"] = flags_in(
        "--append --dynamic-tables --force-overwrite -f --help --include-blobs --include-json --lazy -l "
        "--output -o --quiet -q --tables --times --ts-normalize --ts-shift");
    all["export"]["--type"] = all["export"]["-t"] = all["profile"]["--export"];
    all["recipe"] = flags_in("--help --input --output --quiet -q");
    all["status"] = flags_in("--all --environment -e --help --network -n --session");
    all["start"] = flags_in("--session --session-new --output -o --stop-on-exit --capture-range -c");
    all["launch"] = flags_in("--session --session-new --trace -t --env-var -e --show-output -w");
    all["stop"] = flags_in("--session --keep");
    all["shutdown"] = flags_in("--session --kill");
    all["cancel"] = flags_in("--session");
    all["sessions"] = {};
    return all;
}

/// What compute-sanitizer 2025.3 lists in its help, without what only OptiX and other platforms need.
Flags sanitizer_flags() {
    return flags_in(
        "--backtrace-short=yes|no --check-api-memory-access=yes|no --check-bulk-copy=yes|no "
        "--check-cache-control! --check-device-heap=yes|no --check-exit-code=yes|no "
        "--check-warpgroup-mma=yes|no --coredump-behavior=full|exit --coredump-name "
        "--demangle=full|simple|no --destroy-on-device-error=context|kernel --detect-missing-module-unload! "
        "--error-exitcode --force-blocking-launches! --force-synchronization-limit --generate-coredump! "
        "--help! --kernel-name --kernel-name-exclude --kill! --language=c|fortran --launch-count -c "
        "--launch-skip -s --launch-timeout --leak-check=full|no --log-file --max-connections "
        "--missing-barrier-init-is-fatal=yes|no --num-callers-device --num-callers-host --num-cuda-barriers "
        "--nvtx=yes|no --padding --port --prefix --print-level=info|warn|error|fatal --print-limit "
        "--print-session-details! --quiet! -q! --racecheck-continue-on-deadlock=yes|no "
        "--racecheck-deadlock-timeout --racecheck-detect-level=info|warn|error "
        "--racecheck-memcpy-async=yes|no --racecheck-num-workers --racecheck-report=all|hazard|analysis "
        "--racecheck-trace-sync=yes|no --read --report-api-errors=all|explicit|no --require-cuda-init=yes|no "
        "--save --save-session-details! --show-backtrace=yes|no|host|device --strip-paths=yes|no "
        "--suppressions --target-processes=all|application-only --target-processes-filter "
        "--tool=memcheck|racecheck|initcheck|synccheck "
        "--track-stream-ordered-races=all|use-before-alloc|use-after-free|no --track-unused-memory! "
        "--unused-memory-threshold --version! --xml!");
}

/// Flags of compute-sanitizer that came later: its page may name them, no command line may use them.
const Names kLater = names_in(
    "--check-tensor-ops --dump-kernel-launches --initcheck-address-space --racecheck-filter-cluster-id "
    "--report-device-side-allocation-failure --unused-shared-memory-report-limit");

struct Tool {
    const char *name, *page;
    std::map<std::string, Flags> subcommands;  ///< compute-sanitizer's only one has no name
    Names also_explained = {};                 ///< names beside flags that the page has to explain

    [[nodiscard]] bool has(const std::string& flag) const {
        return std::any_of(subcommands.begin(), subcommands.end(),
                           [&](const auto& entry) { return entry.second.contains(flag); });
    }
    [[nodiscard]] std::string text() const { return read_file(fs::path(LAB_SOURCE_FOLDER) / "docs" / page); }
};

const std::vector<Tool>& tools() {
    static const std::vector<Tool> both = [] {
        Names reports_and_rules = kReports;
        reports_and_rules.insert(kRules.begin(), kRules.end());
        return std::vector<Tool>{{"nsys", "nsys.md", nsys_flags(), reports_and_rules},
                                 {"compute-sanitizer", "sanitizer.md", {{"", sanitizer_flags()}}, kLater}};
    }();
    return both;
}

/// May the flag have this value?
bool may_have(const std::string& flag, const Names& allowed, const std::string& value, bool is_sanitizer) {
    if (value.find('$') != std::string::npos) return true;  // a variable of the shell
    if (is_sanitizer && flag.starts_with("--kernel-name")) {
        const std::string key = value.substr(0, value.find('='));  // the tool refuses any other
        return Names{"kns", "kne", "kernel_substring", "kernel_name", "regex"}.contains(key);
    }
    if (value.empty()) return !is_sanitizer;
    const std::vector<std::string> parts = split(value, ',');
    return allowed.empty() || std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
               return allowed.contains(part.substr(0, part.find(':')));
           });
}

/// What the tool would refuse in a command line, whose words begin behind the tool's name.
std::vector<std::string> faults_of(const Tool& tool, std::vector<std::string> words) {
    const bool is_sanitizer = tool.subcommands.contains("");
    std::string subcommand = is_sanitizer ? "" : "profile";  // `nsys --delay`, as running text abbreviates
    if (!is_sanitizer && !words.empty() && words[0][0] != '-')
        subcommand = words[0], words.erase(words.begin());
    if (!tool.subcommands.contains(subcommand)) return {std::string(tool.name) + " " + subcommand};
    const bool runs_program = is_sanitizer || subcommand == "profile" || subcommand == "launch";
    const Flags& flags = tool.subcommands.at(subcommand);
    std::vector<std::string> faults;
    for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
        if (words[i].starts_with("\"$")) continue;  // more options, from a variable of the shell
        if (words[i][0] != '-' && runs_program) break;
        if (words[i][0] != '-') continue;
        const std::size_t equals = words[i].find('=');
        const std::string flag = words[i].substr(0, equals);
        const auto known = flags.find(flag);
        const bool is_bare = known != flags.end() && known->second == Names{"!"};
        std::string value;
        if (equals != std::string::npos)
            value = words[i].substr(equals + 1);
        else if (known != flags.end() && !is_bare && i + 1 < words.size() && words[i + 1][0] != '-')
            value = words[++i];
        if (known == flags.end())
            faults.push_back(flag);
        else if (is_bare ? equals != std::string::npos : !may_have(flag, known->second, value, is_sanitizer))
            faults.push_back(trim(flag + " " + value));
    }
    return faults;
}

/// The faults of all command lines of the tools in a piece of code.
std::string faults_in(const std::string& code) {
    std::vector<std::string> faults;
    for (const Tool& tool : tools())
        for (const auto& command : commands_in(code, tool.name))
            for (const std::string& fault : faults_of(tool, command)) faults.push_back(fault);
    return join(faults, ", ");
}

}  // namespace

TEST_CASE("page commands: the check itself sees what is wrong") {
    CHECK(faults_in("nsys profile --trace=cuda,nvtx -o report ./program --stats-of-mine") == "");
    CHECK(faults_in("sudo nsys profile --gpu-metrics-device=0 ./p") == "--gpu-metrics-device");
    CHECK(faults_in("nsys profile -t cuda,nvvtx ./p") == "-t cuda,nvvtx");
    CHECK(faults_in("nsys profile --capture-range-end=repeat:3 ./p") == "");
    CHECK(faults_in("nsys stats --report gpukernsum,cuda_gpu_trace:base r") ==
          "--report gpukernsum,cuda_gpu_trace:base");
    CHECK(faults_in("nsys analyze r.nsys-rep --rule gpu-starv") == "--rule gpu-starv");
    CHECK(faults_in("nsys nvprof ./p") == "nsys nvprof");
    CHECK(faults_in("nsys status -e   # --not-a-flag") == "");
    CHECK(faults_in("./lab nsys PROGRAM --whatever") == "");
    CHECK(code_of("```sh\nnsys profile \\\n    --gone ./p\n```\nand `nsys\nstats`").lines.size() == 1);
    CHECK(code_of("and `nsys\n  stats --gone`").spans == std::vector<std::string>{"nsys   stats --gone"});
    CHECK(faults_in("compute-sanitizer --tool memcheck --leak-check=full ./p --tool mine") == "");
    CHECK(faults_in("/usr/local/cuda/bin/compute-sanitizer --hmm-support ./p") == "--hmm-support");
    CHECK(faults_in("compute-sanitizer --kernel-name reduce ./p") == "--kernel-name reduce");
    CHECK(faults_in("compute-sanitizer --kernel-name regex='a+' ./p") == "");
    CHECK(faults_in("compute-sanitizer --xml=yes ./p") == "--xml yes");
    CHECK(faults_in("compute-sanitizer --error-exitcode") == "--error-exitcode");
    CHECK(faults_in("compute-sanitizer --tool \"$tool\" \"${more[@]}\" --gone ./p") == "--gone");
    CHECK(faults_in("compute-sanitizer --xml -- --program") == "");
    CHECK(faults_in("if compute-sanitizer --leak-check yes ./p; then") == "--leak-check yes");
}

TEST_CASE("page commands: every command line of every page is in today's spelling") {
    std::map<std::string, std::size_t> commands;
    for (const fs::path& path : pages()) {
        const PageCode code = code_of(part_of(read_file(path), false));
        for (const auto& pieces : {code.lines, code.spans})
            for (const std::string& piece : pieces) {
                for (const Tool& tool : tools()) commands[tool.name] += commands_in(piece, tool.name).size();
                CHECK_MESSAGE(faults_in(piece) == "", path.string() << ": " << piece);
            }
    }
    CHECK(commands["nsys"] >= 20);
    CHECK(commands["compute-sanitizer"] >= 15);
}

TEST_CASE("page commands: a tool's page explains what exists, and nothing else") {
    for (const Tool& tool : tools()) {
        const std::string page = part_of(tool.text(), false);
        std::size_t flags = 0;
        for (const std::string& span : code_of(page).spans) {
            if (span[0] != '-' || span.size() < 3 || span.starts_with("-l")) continue;  // -ldl is a linker's
            const std::string flag = span.substr(0, span.find_first_of("= "));
            CHECK_MESSAGE((tool.has(flag) || tool.also_explained.contains(flag)), tool.page << ": " << span);
            ++flags;
        }
        CHECK(flags > 60);
        for (const std::string& name : tool.also_explained) CHECK_MESSAGE(says(page, name), name);
    }
    for (const auto& [flag, values] : sanitizer_flags())
        CHECK_MESSAGE((flag == "--help" || says(tools()[1].text(), flag)), flag);
}

TEST_CASE("page commands: what is gone is gone from every page, and what replaces it exists") {
    for (const Tool& tool : tools()) {
        const Renamed all = renamed_on(tool.text());
        CHECK(all.gone.size() >= 6);
        for (const std::string& gone : all.gone) {
            CHECK_MESSAGE(!tool.has(gone), gone);
            CHECK_MESSAGE(!tool.also_explained.contains(gone), gone);
            for (const fs::path& path : pages())
                for (const std::string& line : code_of(part_of(read_file(path), false)).lines)
                    for (const auto& command : commands_in(line, tool.name))
                        CHECK_MESSAGE(!says(join(command, " "), gone), path.string() << ": " << gone);
        }
        for (const std::string& today : all.today) {
            const std::string name = today.substr(0, today.find('='));
            const bool is_subcommand =
                today.starts_with("nsys ") && tool.subcommands.contains(today.substr(5));
            const bool is_name = today[0] == '-' || tool.also_explained.contains(name) || is_subcommand;
            if (today[0] == '-') CHECK_MESSAGE((tool.has(name) || kLater.contains(name)), today);
            if (tool.name == std::string("nsys")) CHECK_MESSAGE(is_name, today);
        }
    }
}
