#include "course/known_failures.h"

#include <doctest/doctest.h>

#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

using namespace lab;

namespace {

const fs::path kSource = LAB_SOURCE_FOLDER;

KnownFailures table() {
    return KnownFailures::read(kSource / "harness/doctor/failures.toml");
}

std::string recognised(const std::string& tool, const std::string& output) {
    const KnownFailures failures = table();
    const KnownFailure* failure = failures.recognise(tool, output);
    return failure ? failure->id : "";
}

Platform on(PlatformKind kind) {
    return {.kind = kind, .name = "", .because = "", .in_job = true, .root = false};
}

const std::vector<PlatformKind> kPlatforms{PlatformKind::bare_metal, PlatformKind::container,
                                           PlatformKind::wsl2, PlatformKind::notebook, PlatformKind::cluster};

/// What the doctor can fill in.
const Details kAllDetails{{"limit", "60"},      {"folder", "/tmp"},    {"release", "13-0"},
                          {"driver", "535.1"},  {"cuda", "13.0"},      {"needed", "580"},
                          {"tool", "nsys"},     {"path", "/bin/nsys"}, {"said", "x"},
                          {"version", "1"},     {"minimum", "2"},      {"library", "libdw.so.1"},
                          {"package", "libdw1"}};

}  // namespace

TEST_CASE("known failures: the tools' own words") {
    CHECK(recognised("ncu",
                     "==PROF== Connected to process 1045 (/home/learner/probe)\n"
                     "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
                     "Performance Counters on the target device 0. For instructions on enabling permissions "
                     "and to get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM\n") ==
          "counters_denied");
    CHECK(recognised("ncu",
                     "==ERROR== An error was reported by the driver:\n==ERROR== Profiling failed because a "
                     "driver resource was unavailable. Ensure that no other tool (like DCGM) is concurrently "
                     "collecting profiling data.\n") == "counters_taken");
    CHECK(recognised("ncu", "Failed to open/create lock file /tmp/nsight-compute-lock\n") ==
          "lock_of_another");
    CHECK(recognised("ncu", "==WARNING== No kernels were profiled.\n") == "ncu_no_kernel");
    CHECK(recognised("nsys",
                     "Importer error status: The importer binary and its dependencies were not found.\n"
                     "Unable to retrieve the importer version: skipping importation of the QDSTRM file.\n"
                     "Generating '/tmp/nsys-report-9702.qdstrm'\n") == "importer_absent");
    CHECK(recognised("nsys", "Generated:\n\tNo reports were generated\n") == "nsys_no_report");
    CHECK(recognised("compute-sanitizer",
                     "========= COMPUTE-SANITIZER\n========= Error: Target application terminated before "
                     "first instrumented API call\n") == "sanitizer_blocked");
    CHECK(recognised("compute-sanitizer",
                     "========= Error: No attachable process found. compute-sanitizer timed-out.\n") ==
          "sanitizer_blocked");
    CHECK(recognised("nvcc",
                     "no suitable GPU: CUDA driver version is insufficient for CUDA runtime version\n") ==
          "driver_too_old");
    CHECK(recognised("nvcc", "no suitable GPU: no CUDA-capable device is detected\n") == "cuda_sees_no_gpu");
    CHECK(recognised("nvcc", "nvcc fatal   : Unsupported gpu architecture 'compute_120'\n") == "gpu_too_new");
    CHECK(recognised("nvcc",
                     "#error -- unsupported GNU version! gcc versions later than 13 are not supported!\n") ==
          "host_compiler_refused");
    CHECK(recognised("gpu", "Failed to initialize NVML: Insufficient Permissions\n") ==
          "device_files_denied");
    CHECK(recognised("gpu", "Failed to initialize NVML: Driver/library version mismatch\n") ==
          "driver_mismatch");
    CHECK(recognised("gpu",
                     "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make "
                     "sure that the latest NVIDIA driver is installed and running.\n") == "driver_asleep");
    CHECK(recognised("gpu", "No devices were found\n") == "no_devices");
}

TEST_CASE("known failures: words of one tool say nothing about another, words of any tool do") {
    CHECK(recognised("nsys", "ERR_NVGPUCTRPERM").empty());
    CHECK(recognised("ncu", "").empty());
    CHECK(recognised("ncu", "count_up took 42 cycles").empty());
    for (const char* tool : {"nsys", "ncu", "compute-sanitizer"}) {
        CHECK(
            recognised(tool, "libx.so: failed to map segment from shared object: Operation not permitted") ==
            "noexec_tmp");
        CHECK(recognised(tool, "error while loading shared libraries: libdw.so.1: cannot open") ==
              "library_missing");
    }
    CHECK_THROWS_WITH_AS((void)table().by_id("none"), doctest::Contains("no failure 'none'"), Error);
}

TEST_CASE("known failures: every sentence is whole on every platform, and one line") {
    const KnownFailures failures = table();
    REQUIRE(failures.all().size() > 40);
    for (const KnownFailure& failure : failures.all())
        for (const PlatformKind kind : kPlatforms) {
            const Diagnosis said = diagnose(failure, on(kind), kAllDetails);
            for (const std::string& sentence : {said.reason, said.remedy, said.still_works}) {
                INFO(failure.id, " on ", key_of(kind), ": ", sentence);
                CHECK_FALSE(sentence.empty());
                CHECK(sentence.find_first_of("{}\n") == std::string::npos);
                CHECK(sentence.find("  ") == std::string::npos);
            }
        }
}

TEST_CASE("known failures: each tool has one for whatever can happen") {
    const KnownFailures failures = table();
    for (const char* tool : {"nvcc", "nsys", "ncu", "sanitizer"})
        for (const char* what : {"_absent", "_too_old", "_unknown"})
            CHECK_NOTHROW((void)failures.by_id(std::string(tool) + what));
    for (const char* tool : {"gpu", "probe", "nsys", "ncu", "sanitizer"})
        CHECK_NOTHROW((void)failures.by_id(std::string(tool) + "_hangs"));
    const std::set<std::string> tools{"", "gpu", "nvcc", "nsys", "ncu", "compute-sanitizer"};
    for (const KnownFailure& failure : failures.all()) CHECK(tools.count(failure.tool) == 1);
}

TEST_CASE("known failures: every remedy names a section of docs/setup.md that is there") {
    std::set<std::string> headings;
    for (const std::string& line : split(read_file(kSource / "docs/setup.md"), '\n'))
        if (line.rfind("##", 0) == 0) headings.insert(trim(line.substr(line.find_first_not_of('#'))));
    const KnownFailures failures = table();
    for (const KnownFailure& failure : failures.all()) {
        INFO(failure.id, ": ", failure.section);
        CHECK(headings.count(failure.section) == 1);
    }
    std::set<std::string> anchors;
    for (const std::string& heading : headings) anchors.insert(anchor_of(heading));
    const std::string doctor = read_file(kSource / "harness/lab/doctor.cpp");
    std::size_t named = 0;
    for (std::size_t at = 0; (at = doctor.find("docs/setup.md#", at)) != std::string::npos; ++named) {
        at += std::string("docs/setup.md#").size();
        const std::string anchor = doctor.substr(at, doctor.find_first_of(")\"", at) - at);
        INFO(anchor);
        CHECK(anchors.count(anchor) == 1);
    }
    CHECK(named == 2);
}

TEST_CASE("known failures: the fix is the platform's own, or else that of bare metal") {
    const KnownFailures failures = table();
    const auto fix = [&](const char* id, PlatformKind kind) {
        return diagnose(failures.by_id(id), on(kind), kAllDetails).remedy;
    };
    CHECK(fix("counters_denied", PlatformKind::bare_metal).find("NVreg_RestrictProfilingToAdminUsers=0") !=
          std::string::npos);
    CHECK(fix("counters_denied", PlatformKind::container).find("--cap-add=SYS_ADMIN") != std::string::npos);
    CHECK(fix("counters_denied", PlatformKind::wsl2).find("Control Panel") != std::string::npos);
    CHECK(fix("lock_of_another", PlatformKind::cluster) == fix("lock_of_another", PlatformKind::bare_metal));
    CHECK(diagnose(failures.by_id("counters_denied"), on(PlatformKind::container), {}).section ==
          "docs/setup.md#err_nvgpuctrperm");
}

TEST_CASE("known failures: a table that is not as it should be is refused, with its line") {
    const auto read = [](const std::string& text) {
        const TemporaryFolder folder;
        write_file(folder.path() / "failures.toml", text);
        return KnownFailures::read(folder.path() / "failures.toml");
    };
    const std::string entry =
        "[[failure]]\nid = \"a\"\nreason = \"r\"\nfix = \"f\"\nstill_works = \"s\"\nsection = \"S\"\n";
    CHECK(read(entry).all().size() == 1);
    CHECK_THROWS_WITH_AS(read(entry + entry), doctest::Contains("twice"), Error);
    CHECK_THROWS_WITH_AS(read(entry + "windows = \"w\"\n"), doctest::Contains("'windows'"), Error);
    CHECK_THROWS_WITH_AS(read("[[failure]]\nid = \"a\"\n"), doctest::Contains("'reason' is missing"), Error);
}

TEST_CASE("what a tool said: its first error, else its last line") {
    CHECK(what_it_said("==PROF== Connected\n==ERROR== first\n==ERROR== second\n") == "==ERROR== first");
    CHECK(what_it_said("one\n\ntwo\n=========\n") == "two");
    CHECK(what_it_said("nvcc fatal   : no\nmore") == "nvcc fatal   : no");
    CHECK(what_it_said("") == "it said nothing");
    CHECK(what_it_said("\x1b[31mred\n").find('\x1b') == std::string::npos);
}

TEST_CASE("a missing library: its name and its package") {
    const std::string complaint =
        "/opt/nvidia/nsight-compute/2025.3.1/host/linux-desktop-glibc_2_11_3-x64/QdstrmImporter: error while "
        "loading shared libraries: libdw.so.1: cannot open shared object file: No such file or directory\n";
    CHECK(missing_library(complaint) == "libdw.so.1");
    CHECK(missing_library("all is well").empty());
    CHECK(package_of("libdw.so.1") == "libdw1");
    CHECK(package_of("libnew.so.9") == "the package that holds libnew.so.9");
}

TEST_CASE("versions are compared as numbers") {
    CHECK(earlier("2023.3.3", "2023.4"));
    CHECK(earlier("9.2", "12.4"));
    CHECK(earlier("12", "12.4"));
    CHECK_FALSE(earlier("2023.4.4", "2023.4"));
    CHECK_FALSE(earlier("2024.10.1", "2024.2"));
    CHECK_FALSE(earlier("12.4", "12.4"));
    CHECK_FALSE(earlier("", "12.4"));
    CHECK(driver_needed_by("12.4") == "525");
    CHECK(driver_needed_by("13.1") == "580");
}

TEST_CASE("an anchor is the heading as GitHub links it") {
    CHECK(anchor_of("ERR_NVGPUCTRPERM") == "err_nvgpuctrperm");
    CHECK(anchor_of("nsys is not found") == "nsys-is-not-found");
    CHECK(anchor_of("A tool fails on a file below /tmp") == "a-tool-fails-on-a-file-below-tmp");
}
