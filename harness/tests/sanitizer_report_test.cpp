#include "tools/sanitizer_report.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace lab::sanitizer_report_test {

namespace {

std::string sample(const std::string& name) {
    return read_file(fs::path(LAB_SAMPLES) / ("sanitizer_2025.3_" + name + ".txt"));
}

/// Lines as the tool prints them, with a summary of so many errors.
std::string output(const std::vector<std::string>& lines, int errors = 1) {
    std::string text = "========= COMPUTE-SANITIZER\n";
    for (const std::string& line : lines) text += "========= " + line + "\n";
    return text +
           fmt::format("========= \n========= ERROR SUMMARY: {} error{}\n", errors, errors == 1 ? "" : "s");
}

/// "2 x Invalid __global__ read, oob faults.cu:5, 4 bytes, allocation 400 +1, main@faults": a report without
/// what it does not know. Frames are named from the innermost on, those of the device with file and line.
std::string summary(const SanitizerReport& r) {
    std::string text = fmt::format("{} x {}", r.count, r.kind);
    if (r.severity != "error") text += ", " + r.severity;
    if (!r.function.empty() || r.line > 0) text += ", " + r.function;
    if (r.line > 0) text += fmt::format(" {}:{}", r.file, r.line);
    if (r.bytes > 0) text += fmt::format(", {} bytes", r.bytes);
    if (r.allocation_bytes > 0) text += fmt::format(", allocation {}", r.allocation_bytes);
    if (r.beyond_bytes > 0) text += fmt::format(" +{}", r.beyond_bytes);
    for (const SanitizerFrame& f : r.frames) {
        text += fmt::format(", {}", f.function);
        if (f.line > 0) text += fmt::format(" {}:{}", f.file, f.line);
        if (f.on_host) text += "@" + f.module;
    }
    return text;
}

/// The summaries of all reports, one a line.
std::string summaries(const std::string& text) {
    std::vector<std::string> lines;
    for (const SanitizerReport& report : parse_sanitizer_output(text).reports)
        lines.push_back(summary(report));
    return join(lines, "\n");
}

SanitizerReport only_report(const std::string& text) {
    const SanitizerOutput read = parse_sanitizer_output(text);
    REQUIRE(read.reports.size() == 1);
    return read.reports[0];
}

/// The place of a report whose second line is given.
SanitizerReport placed(const std::string& line) {
    return only_report(output({"Invalid __global__ read of size 4 bytes", "    " + line}));
}

struct Expected {
    std::string sample;
    int64_t errors;       ///< by the summary line
    std::string reports;  ///< their summaries, one a line
};

// The summaries of the four that were run with --print-limit 3 count what was not printed. In oob_memcheck,
// the first thread reads 1 byte past the end of the allocation, the second 5 bytes.
const std::vector<Expected> kExpected{
    {"async_memcheck", 42,
     "32 x Invalid __global__ read, addone faults.cu:10, 4 bytes, allocation 400, main@faults\n"
     "1 x API cudaErrorLaunchFailure, cudaStreamSynchronize, main@faults\n"
     "1 x API cudaErrorLaunchFailure, cudaDeviceSynchronize, main@faults\n"
     "4 x API cudaErrorLaunchFailure, cudaFree, main@faults\n"
     "2 x Leak, 400 bytes, cudaMalloc@faults, main@faults\n"
     "2 x Leak, 1024 bytes, cudaMalloc@faults, main@faults"},
    {"barrier_synccheck", 5568, "3 x Barrier error detected, add_squares starter.cu:35, main@barrier"},
    {"bins_initcheck", 192,
     "3 x Uninitialized __global__ memory read, add_chunk starter.cu:36, 4 bytes, main@uninit"},
    {"capture_memcheck", 3,
     "1 x API cudaErrorStreamCaptureUnsupported, cudaMalloc, queue_frame(Film const&)@capture, "
     "record_frame(Film const&)@capture, main@capture\n"
     "1 x API cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture, record_frame(Film const&)@capture, "
     "main@capture\n"
     "1 x API cudaErrorStreamCaptureInvalidated, cudaGetLastError, record_frame(Film const&)@capture, "
     "main@capture"},
    {"clean_memcheck", 0, ""},
    {"launch_memcheck", 1, "1 x API cudaErrorInvalidValue, cudaLaunchKernel, main@faults"},
    {"library_memcheck", 6,
     "1 x Invalid __global__ read, filter starter.cu:40, 4 bytes, allocation 4028 +1, smooth@shlib.so, "
     "main@shlib\n"
     "1 x API cudaErrorLaunchFailure, cudaDeviceSynchronize, main@shlib\n"
     "1 x Leak, 4028 bytes, cudaMallocHost@shlib, std::unique_ptr<int [], PinnedFree> "
     "pinned_array<int>(unsigned long)@shlib, main@shlib\n"
     "1 x Leak, 4012 bytes, cudaMallocHost@shlib, std::unique_ptr<int [], PinnedFree> "
     "pinned_array<int>(unsigned long)@shlib, main@shlib\n"
     "1 x Leak, 4028 bytes, cudaMalloc@shlib, std::unique_ptr<int [], DeviceFree> "
     "device_array<int>(unsigned long)@shlib, main@shlib\n"
     "1 x Leak, 4012 bytes, cudaMalloc@shlib, std::unique_ptr<int [], DeviceFree> "
     "device_array<int>(unsigned long)@shlib, main@shlib"},
    {"misaligned_memcheck", 150145,
     "3 x Invalid __global__ read, amplify starter.cu:31, 16 bytes, allocation 4000408, main@misaligned"},
    {"oob_memcheck", 11,
     "2 x Invalid __global__ read, oob faults.cu:5, 4 bytes, allocation 400 +1, main@faults\n"
     "1 x API cudaErrorLaunchFailure, cudaDeviceSynchronize, main@faults\n"
     "4 x API cudaErrorLaunchFailure, cudaFree, main@faults\n"
     "2 x Leak, 400 bytes, cudaMalloc@faults, main@faults\n"
     "2 x Leak, 1024 bytes, cudaMalloc@faults, main@faults"},
    {"pool_memcheck", 996,
     "3 x Invalid __global__ read, add_up starter.cu:32, 4 bytes, allocation 16000048, main@freed"},
    {"race_racecheck", 1, "1 x Race, race faults.cu:6"},
    {"requests_memcheck", 8,
     "8 x Leak, 1000028 bytes, cudaMalloc@leak, answer_request(Request const&)@leak, main@leak"},
    {"shared_race_racecheck", 1, "1 x Race, sum_triangles starter.cu:29"},
    {"uninit_initcheck", 64,
     "64 x Uninitialized __global__ memory read, uninit faults.cu:7, 4 bytes, main@faults"}};

}  // namespace

TEST_CASE("sanitizer: what compute-sanitizer printed of real programs") {
    std::set<std::string> samples;
    for (const Expected& expected : kExpected) {
        CAPTURE(expected.sample);
        const std::string text = sample(expected.sample);
        CHECK(parse_sanitizer_output(text).errors == expected.errors);
        CHECK(summaries(text) == expected.reports);
        samples.insert("sanitizer_2025.3_" + expected.sample + ".txt");
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(LAB_SAMPLES)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("sanitizer_")) CHECK_MESSAGE(samples.contains(name), name);
    }
}

TEST_CASE("sanitizer: headlines that no sample has, made by hand after the manual and public bug reports") {
    CHECK(summaries(
              output({"Host API memory access error at host access to 0x7fb7614c4e00 of size 16,000 bytes",
                      "    Uninitialized access at 0x7fb7614c4e00 on access by cudaMemcpy source", "",
                      "Malloc/Free error encountered : Double free", "    at 0x79d8", "",
                      "Use-after-free on allocation of size 4,012 bytes at 0x3366000000",
                      "    Address 0x3366000000 is potentially accessed after it is free'd", "    ",
                      "    Saved host backtrace up to driver entry point at kernel launch time",
                      "        Host Frame: main in bug.cxx:9 [0x3110] in bug", "    ",
                      "    Saved host backtrace up to driver entry point at cudaFreeAsync time",
                      "        Host Frame: cudaFreeAsync [0x779ff] in libcudart.so.13"},
                     3)) ==
          "1 x Host API memory access error, 16000 bytes\n"
          "1 x Malloc/Free error encountered\n"
          "1 x Use-after-free, allocation 4012, main bug.cxx:9@bug, cudaFreeAsync@libcudart.so.13");
    CHECK(summaries("========= Warning: Race reported between Write access at k(int *)+0x10 in a.cu:3\n"
                    "=========     and Read access at k(int *)+0x20 in a.cu:4 [1 hazard]\n"
                    "========= \n"
                    "========= Error: Potential WAW hazard detected at __shared__ 0x0 in block (0,0,0) :\n"
                    "=========     Write Thread (0,0,0) at k(int *)+0x30 in a.cu:5\n"
                    "=========     Write Thread (1,0,0) at k(int *)+0x30 in a.cu:6\n"
                    "========= \n"
                    "========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)\n") ==
          "1 x Race, warning, k a.cu:3\n"
          "1 x Race, k a.cu:5");
}

TEST_CASE("sanitizer: the place of a report, with and without line information") {
    CHECK(summary(placed("at oob(float *, const float *)+0xc0 in /home/me/src [a:1]/faults.cu:5")) ==
          "1 x Invalid __global__ read, oob faults.cu:5, 4 bytes");
    CHECK(summary(placed("at oob(float *)+0xc0")) == "1 x Invalid __global__ read, oob, 4 bytes");
    CHECK(
        summaries("========= Error: Race reported between Write access at sum(int *)+0x460 in a/b.cu:41\n"
                  "=========     and Read access at sum(int *)+0x7a0 in a/b.cu:51 [508 hazards]\n=========\n"
                  "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n") ==
        "1 x Race, sum b.cu:41");
}

TEST_CASE("sanitizer: a kernel has one name, however its signature reads") {
    for (const std::string signature :
         {"add(int *)", "void add<float>(T1 *, unsigned long)", "(anonymous namespace)::add(int *)",
          "void <unnamed>::add<(int)256>(const int *)", "void a::b::add<std::pair<int, int>>(T1)", "add"}) {
        CAPTURE(signature);
        CHECK(placed("at " + signature + "+0x50 in a.cu:1").function == "add");
    }
}

TEST_CASE("sanitizer: frames of device and host, with the module behind them or on the next line") {
    CHECK(
        summaries(output({"Invalid __global__ write of size 4 bytes", "    at inner(int *)+0x50 in a.cu:3",
                          "    Device Frame: void outer<float>(T1 *)+0x30 in dir/a.cu:16",
                          "    Saved host backtrace up to driver entry point at kernel launch time",
                          "        Host Frame: run(int, char**) in /src/run.cpp:26 [0x9057] in lib/librun.so",
                          "        Host Frame:__cudart803 [0xfccb]", "               in program",
                          "        Host Frame: [0x2774ec]", "               in /usr/lib/libcuda.so.1"})) ==
        "1 x Invalid __global__ write, inner a.cu:3, 4 bytes, outer a.cu:16, "
        "run(int, char**) run.cpp:26@librun.so, __cudart803@program, @libcuda.so.1");
}

TEST_CASE("sanitizer: a report keeps the tool's own words, those of its first occurrence") {
    const std::string words = parse_sanitizer_output(sample("oob_memcheck")).reports[0].text;
    CHECK(words.starts_with("========= Invalid __global__ read of size 4 bytes\n"));
    CHECK(words.find("by thread (2,0,0) in block (3,0,0)") != std::string::npos);
    CHECK(words.find("Host Frame: main") != std::string::npos);
    CHECK(words.find("by thread (3,0,0)") == std::string::npos);
}

TEST_CASE("sanitizer: leaks of one size from two calls are two, and threads are counted") {
    const auto leak = [](const std::string& from) {
        return std::vector<std::string>{
            "Leaked 400 bytes at 0x7f00", "    Saved host backtrace up to driver entry point",
            "        Host Frame: cudaMalloc [0x1] in p", "        Host Frame: " + from + " [0x2] in p", ""};
    };
    std::vector<std::string> lines = leak("first()");
    append(lines, leak("second()"));
    append(lines, leak("first()"));
    CHECK(summaries(output(lines, 3)) ==
          "2 x Leak, 400 bytes, cudaMalloc@p, first()@p\n1 x Leak, 400 bytes, cudaMalloc@p, second()@p");
    lines.clear();
    for (const char* thread : {"(0,0,0)", "(1,0,0)", "(1,0,0)"})
        append(lines, {"Invalid __global__ read of size 4 bytes", "    at k(int *)+0x50 in a.cu:3",
                       std::string("    by thread ") + thread + " in block (0,0,0)", ""});
    CHECK(only_report(output(lines, 3)).count == 3);
    CHECK(only_report(output(lines, 3)).text.ends_with("\n(reported for 2 threads; this is the first)"));
}

TEST_CASE("sanitizer: an error of a kind that is not known here is an error, and lends nobody its place") {
    CHECK(
        summaries(output({"Invalid __global__ read of size 4 bytes", "    by thread (0,0,0) in block (0,0,0)",
                          "", "Something new that went wrong", "    at other(int *)+0x50 in other.cu:9"},
                         4)) ==
        "1 x Invalid __global__ read, 4 bytes\n"
        "3 x Unknown");
}

TEST_CASE("sanitizer: output that is not whole is an error, wherever it breaks off") {
    const std::string text = sample("oob_memcheck");
    for (std::size_t length = 0; length < text.rfind("=========") + 30; length += 5)
        REQUIRE_THROWS_WITH_AS((void)parse_sanitizer_output(text.substr(0, length)),
                               doctest::Contains("no summary line"), Error);
    CHECK_THROWS_AS((void)parse_sanitizer_output("hello\n"), Error);
}

TEST_CASE("sanitizer: a tool that saw no CUDA call, or failed by itself, proves nothing") {
    const std::string text =
        "========= COMPUTE-SANITIZER\nusage: ...\n"
        "========= Error: Target application terminated before first instrumented API call\n";
    CHECK_THROWS_WITH_AS((void)parse_sanitizer_output(text), doctest::Contains("saw no CUDA call"), Error);
    CHECK_THROWS_AS((void)parse_sanitizer_output(text + "========= ERROR SUMMARY: 0 errors\n"), Error);
    CHECK_THROWS_WITH_AS((void)parse_sanitizer_output(
                             output({"Internal Sanitizer Error: The Sanitizer encountered an error"}, 0)),
                         doctest::Contains("failed by itself"), Error);
}

TEST_CASE("sanitizer: what the program prints is no report, even if it looks like one or ends no line") {
    CHECK(summaries("Invalid __global__ read of size 4 bytes\n"
                    "==========================\nERROR SUMMARY: 5 errors\n at k(int *)+0x50 in a.cu:3\n" +
                    output({}, 0))
              .empty());
    CHECK(summaries("50 %========= Invalid __global__ read of size 4 bytes\n"
                    "=========     at k(int *)+0x50 in a.cu:3\n========= \n"
                    "done========= ERROR SUMMARY: 1 error\n") ==
          "1 x Invalid __global__ read, k a.cu:3, 4 bytes");
}

TEST_CASE("sanitizer: lines without end and numbers that overflow do no harm") {
    const std::string name(300'000, 'k'), nines(400, '9');
    CHECK(placed("at " + name + "(int)+0x50 in a.cu:3").function == name);
    CHECK(placed("at k(int)+0x50 in a.cu:" + nines).function == "k");
    CHECK(only_report(output({"Leaked " + nines + " bytes at 0x0"})).bytes > 0);
    CHECK(parse_sanitizer_output("========= ERROR SUMMARY: " + nines + " errors\n").reports[0].count > 0);
    for (const char* line : {"at ", "at 0x", "at 0x5 in ", "at +0x", "at k+0x in :", "at 0x5 in :3", "Leaked",
                             "Error: ", "Program hit ", "Invalid  of size ", ": "})
        CHECK_NOTHROW((void)parse_sanitizer_output(output({line, "    " + std::string(line)}, 5)));
}

}  // namespace lab::sanitizer_report_test
