// What `lab doctor` knows: the kind of machine by its signs, a failure by the tool's own words, and what to
// do about it there. lab_doctor.sh tries the tools themselves.
#include <doctest/doctest.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "doctor/examination.h"

namespace lab::doctor_test {

namespace {

const fs::path kSource = LAB_SOURCE_FOLDER;
const char* const kTools[] = {"gpu",         "nvcc",        "nsys", "ncu",    "compute-sanitizer",
                              "cpu-samples", "gpu-metrics", "nccl", "nvshmem"};

const KnownFailures& table() {
    static const KnownFailures failures = KnownFailures::read(kSource / "harness/doctor/failures.toml");
    return failures;
}

std::string remedy(const char* tool, const char* id, PlatformKind platform) {
    return table().diagnose(tool, id, platform, {{"release", "13-0"}, {"holder", "libdw1"}}).remedy;
}

/// What GitHub makes of a heading: "### A tool hangs" -> "a-tool-hangs".
std::string anchor_of(const std::string& heading) {
    std::string anchor;
    for (const char c : trim(heading.substr(heading.find_first_not_of('#'))))
        if (c == ' ' || c == '-' || c == '_' || std::isalnum(static_cast<unsigned char>(c)))
            anchor += c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return anchor;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// A machine with these files, and one variable that is set.
Platform machine(const std::vector<std::pair<std::string, std::string>>& files,
                 const char* variable = nullptr) {
    const std::string others =
        "COLAB_RELEASE_TAG COLAB_GPU KAGGLE_KERNEL_RUN_TYPE SLURM_JOB_ID PBS_JOBID LSB_JOBID "
        "KUBERNETES_SERVICE_HOST APPTAINER_CONTAINER SINGULARITY_CONTAINER container";
    for (const std::string& name : split(others, ' ')) ::unsetenv(name.c_str());
    const TemporaryFolder root;
    for (const auto& [name, text] : files) write_file(root.path() / name, text);
    if (variable) ::setenv(variable, "yes", 1);
    const std::string path = std::getenv("PATH");
    ::setenv("PATH", root.path().c_str(), 1);  // without this machine's own scheduler
    const Platform platform = platform_of(root.path());
    ::setenv("PATH", path.c_str(), 1);
    if (variable) ::unsetenv(variable);
    return platform;
}

}  // namespace

TEST_CASE("doctor: the closest kind of machine wins") {
    CHECK(machine({}).kind == PlatformKind::bare_metal);
    CHECK(machine({{".dockerenv", ""}}).kind == PlatformKind::container);
    CHECK(machine({{"run/.containerenv", ""}}).name == "a container");
    CHECK(machine({}, "KUBERNETES_SERVICE_HOST").kind == PlatformKind::container);
    CHECK(machine({{".dockerenv", ""}, {"usr/lib/wsl/lib/libcuda.so", ""}}).kind == PlatformKind::wsl2);
    CHECK(machine({{".dockerenv", ""}}, "COLAB_GPU").name == "a cloud notebook (Google Colab)");
    CHECK(machine({{".dockerenv", ""}}, "SLURM_JOB_ID").kind == PlatformKind::cluster);
}

TEST_CASE("doctor: failures by the tools' own words") {
    for (const auto& [tool, words, id] : std::vector<std::array<const char*, 3>>{
             {"gpu", "Failed to initialize NVML: Insufficient Permissions", "device_files_denied"},
             {"gpu", "it couldn't communicate with the NVIDIA driver. Make sure", "driver_asleep"},
             {"nvcc", "no suitable GPU: CUDA driver version is insufficient for CUDA runtime version",
              "driver_too_old"},
             {"nvcc", "no suitable GPU: no CUDA-capable device is detected", "cuda_sees_no_gpu"},
             {"nvcc", "#error -- unsupported GNU version! gcc versions later than 13",
              "host_compiler_refused"},
             {"nsys", "ERR_NVGPUCTRPERM", ""},
             {"gpu-metrics", "Illegal argument: all. See https://developer.nvidia.com/ERR_NVGPUCTRPERM.",
              "metrics_denied"},
             {"cpu-samples", "WARNING: CPU IP/backtrace sampling not supported, disabling.", "perf_denied"},
             {"cpu-samples", "WARNING: CPU context switch tracing not supported, disabling.", "perf_denied"},
             {"ncu", "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "counters_denied"},
             {"ncu", "==ERROR== Profiling failed because a driver resource was unavailable.",
              "counters_taken"},
             {"ncu", "Failed to open/create lock file /tmp/nsight-compute-lock", "lock_of_another"},
             {"ncu", "==WARNING== No kernels were profiled.", "ncu_no_kernel"},
             {"ncu", "libx.so: failed to map segment from shared object: not permitted", "noexec_tmp"},
             {"ncu", "error while loading shared libraries: libdw.so.1: cannot open", "library_missing"},
             {"ncu", "count_up took 42 cycles", ""},
             {"compute-sanitizer", "Error: Target application terminated before first instrumented API call",
              "sanitizer_blocked"}}) {
        INFO(words);
        CHECK(table().recognise(tool, words) == id);
    }
}

TEST_CASE("doctor: every sentence is whole on every platform, and its section is in docs/setup.md") {
    Details details;  // what the trials fill in
    for (const char* name : {"limit", "folder", "release", "driver", "cuda", "needed", "tool", "path", "said",
                             "version", "minimum", "library", "holder"})
        details[name] = "x";
    std::set<std::string> sections;
    for (const std::string& line : split(read_file(kSource / "docs/setup.md"), '\n'))
        if (line.starts_with("##")) sections.insert("docs/setup.md#" + anchor_of(line));
    REQUIRE(table().all().size() > 40);
    for (const KnownFailure& failure : table().all())
        for (const char* tool : kTools) {
            if (failure.tool != "any" && failure.tool != tool) continue;
            for (int kind = 0; kind < kPlatformKinds; ++kind) {
                const Diagnosis said =
                    table().diagnose(tool, failure.id, static_cast<PlatformKind>(kind), details);
                INFO(failure.id, " of ", std::string(tool), ": ", said.section);
                CHECK(sections.count(said.section) == 1);
                for (const std::string& sentence : {said.reason, said.remedy, said.still_works}) {
                    INFO(sentence);
                    CHECK_FALSE(sentence.empty());
                    CHECK(sentence.find_first_of("{}\n") == std::string::npos);
                    CHECK(sentence.find("  ") == std::string::npos);
                }
            }
        }
    for (const char* tool : kTools)
        for (const char* id : {"absent", "too_old", "unknown", "hangs", "cannot_start", "noexec_tmp"})
            CHECK_NOTHROW((void)table().diagnose(tool, id, PlatformKind::wsl2, details));
    CHECK_THROWS_WITH_AS((void)table().diagnose("ncu", "none", PlatformKind::wsl2, {}),
                         doctest::Contains("no failure 'none'"), Error);
}

TEST_CASE("doctor: the fix is the platform's own, or else that of bare metal") {
    CHECK(contains(remedy("ncu", "counters_denied", PlatformKind::bare_metal),
                   "NVreg_RestrictProfilingToAdminUsers=0"));
    CHECK(contains(remedy("ncu", "counters_denied", PlatformKind::wsl2), "NVIDIA Control Panel"));
    CHECK(contains(remedy("compute-sanitizer", "sanitizer_blocked", PlatformKind::wsl2), "EnableInterface"));
    CHECK(
        contains(remedy("nsys", "library_missing", PlatformKind::bare_metal), "sudo apt-get install libdw1"));
    CHECK(contains(remedy("ncu", "absent", PlatformKind::bare_metal), "install cuda-nsight-compute-13-0"));
    CHECK(contains(remedy("nvcc", "absent", PlatformKind::container), "an image that has the toolkit"));
    CHECK(contains(remedy("ncu", "lock_of_another", PlatformKind::cluster), "TMPDIR=~/tmp"));
    CHECK(table().package_of("libdw.so.1") == "libdw1");
    CHECK(table().package_of("libnew.so.9") == "the package that holds libnew.so.9");
}

TEST_CASE("doctor: what a tool said is its first error, else its last line; versions are numbers") {
    CHECK(what_it_said("==PROF== Connected\n==ERROR== first\n==ERROR== second\n") == "==ERROR== first");
    CHECK(what_it_said("one\n\ntwo\n=========\n") == "two");
    CHECK(what_it_said("\x1b[31mred\n").find('\x1b') == std::string::npos);
    CHECK(missing_library("x: error while loading shared libraries: libdw.so.1: cannot") == "libdw.so.1");
    CHECK(earlier("2023.3.3", "2023.4"));
    CHECK_FALSE(earlier("2024.10.1", "2024.2"));
    CHECK_FALSE(earlier("", "12.4"));
}

TEST_CASE("doctor: a tool that does not end, or does not start, is told so") {
    const Course course(kSource);
    const Platform platform;
    Examination x{course, table(), platform, [](const std::string&) {}, std::chrono::seconds(1)};
    Check check{.name = "ncu"};
    x.fail_by_words(check, x.run_shown(check, {"sleep", "60"}));
    CHECK(check.failure.id == "hangs");
    CHECK(check.failure.reason == "ncu did not end within 1 s");
    CHECK(check.tried == "sleep 60");
    CHECK(x.run_shown(check, {"/no/such/tool"}).exit_code == 127);
    CHECK_FALSE(x.ready(check, std::nullopt, true, "1"));
    CHECK(check.state == State::absent);
}

}  // namespace lab::doctor_test
