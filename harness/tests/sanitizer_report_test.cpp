#include "evidence/sanitizer_report.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "evidence/sanitizer_xml.h"
#include "evidence/tools.h"

using namespace lab;

namespace {

std::string sample(const std::string& name) {
    return read_file(fs::path(LAB_SAMPLES) / ("sanitizer_2025.3_" + name + ".txt"));
}

/// Lines as the tool prints them, with a summary of so many errors.
std::string output(const std::vector<std::string>& lines, int errors = 1) {
    std::string text = "========= COMPUTE-SANITIZER\n";
    for (const std::string& line : lines) text += "========= " + line + "\n";
    return text + "========= \n========= ERROR SUMMARY: " + std::to_string(errors) +
           (errors == 1 ? " error\n" : " errors\n");
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

}  // namespace

TEST_CASE("memcheck: reads beyond an array, the calls that fail after it, and what leaks") {
    const SanitizerOutput read = parse_sanitizer_output(sample("oob_memcheck"));
    CHECK(read.errors == 11);
    REQUIRE(read.reports.size() == 5);
    const SanitizerReport& invalid = read.reports[0];
    CHECK(invalid.kind == "Invalid __global__ read");
    CHECK(invalid.severity == "error");
    CHECK(invalid.function == "oob");
    CHECK(invalid.file == "faults.cu");
    CHECK(invalid.line == 5);
    CHECK(invalid.bytes == 4);
    CHECK(invalid.count == 2);
    CHECK(read.reports[1].kind == "API cudaErrorLaunchFailure");
    CHECK(read.reports[1].function == "cudaDeviceSynchronize");
    CHECK(read.reports[1].file.empty());
    CHECK(read.reports[2].function == "cudaFree");
    CHECK(read.reports[2].count == 4);
    CHECK(read.reports[3].kind == "Leak");
    CHECK(read.reports[3].bytes == 400);
    CHECK(read.reports[4].bytes == 1024);
    CHECK(read.reports[4].count == 2);
}

TEST_CASE("memcheck: a leak has a size and no place") {
    const SanitizerOutput read = parse_sanitizer_output(sample("leak_memcheck"));
    CHECK(read.errors == 4);
    REQUIRE(read.reports.size() == 2);
    for (const SanitizerReport& leak : read.reports) {
        CHECK(leak.kind == "Leak");
        CHECK(leak.count == 2);
        CHECK(leak.function.empty());
        CHECK(leak.line == 0);
    }
}

TEST_CASE("memcheck: a launch that fails names the call") {
    const SanitizerReport report = only_report(sample("launch_memcheck"));
    CHECK(report.kind == "API cudaErrorInvalidValue");
    CHECK(report.function == "cudaLaunchKernel");
    CHECK(report.count == 1);
}

TEST_CASE("memcheck: a copy that runs too late shows in the kernel that reads") {
    const SanitizerOutput read = parse_sanitizer_output(sample("async_memcheck"));
    CHECK(read.errors == 42);
    CHECK(read.reports[0].function == "addone");
    CHECK(read.reports[0].count == 32);
    int64_t listed = 0;
    for (const SanitizerReport& report : read.reports) listed += report.count;
    CHECK(listed == read.errors);
}

TEST_CASE("memcheck: memory of a pool that is used outside its life has two backtraces") {
    // Made by hand after a report that a public bug report quotes.
    const SanitizerReport report = only_report(
        "========= COMPUTE-SANITIZER\n"
        "========= Use-after-free on allocation of size 4,012 bytes at 0x3366000000\n"
        "=========     Address 0x3366000000 is potentially accessed after it is free'd\n"
        "=========     \n"
        "=========     Saved host backtrace up to driver entry point at kernel launch time\n"
        "=========         Host Frame: main in bug.cxx:9 [0x3110] in bug\n"
        "=========     \n"
        "=========     Saved host backtrace up to driver entry point at cudaFreeAsync time\n"
        "=========         Host Frame: cudaFreeAsync [0x779ff] in libcudart.so.13\n"
        "=========         Host Frame: main in bug.cxx:8 [0x3102] in bug\n"
        "========= \n"
        "========= ERROR SUMMARY: 1 error\n");
    CHECK(report.kind == "Use-after-free");
    CHECK(report.allocation_bytes == 4012);
    REQUIRE(report.frames.size() == 3);
    CHECK(report.frames[0].line == 9);
    CHECK(report.frames[2].module == "bug");
}

TEST_CASE("initcheck: a copy of memory that nobody wrote, and other headlines of the manual") {
    const SanitizerOutput read = parse_sanitizer_output(
        output({"Host API memory access error at host access to 0x7fb7614c4e00 of size 16,000 bytes",
                "    Uninitialized access at 0x7fb7614c4e00 on access by cudaMemcpy source", "",
                "Malloc/Free error encountered : Double free", "    at 0x79d8", "",
                "Potential invalid __shared__ read of size 4 bytes",
                "    at RemoteAccess(int *, int)+0x170 in RaceCluster.cu:10"},
               3));
    REQUIRE(read.reports.size() == 3);
    CHECK(read.reports[0].kind == "Host API memory access error");
    CHECK(read.reports[0].bytes == 16'000);
    CHECK(read.reports[1].kind == "Malloc/Free error encountered");
    CHECK(read.reports[2].kind == "Potential invalid __shared__ read");
    CHECK(read.reports[2].line == 10);
}

TEST_CASE("racecheck: one race with many hazards is one report, under its own summary line") {
    const SanitizerOutput read = parse_sanitizer_output(sample("race_racecheck"));
    CHECK(read.errors == 1);
    REQUIRE(read.reports.size() == 1);
    CHECK(read.reports[0].kind == "Race");
    CHECK(read.reports[0].severity == "error");
    CHECK(read.reports[0].function == "race");
    CHECK(read.reports[0].line == 6);
}

TEST_CASE("racecheck: warnings and single hazards") {
    // Made by hand after the report of single hazards, and the one-line form, in the manual.
    const std::string text =
        "========= COMPUTE-SANITIZER\n"
        "========= Warning: Race reported between Write access at k(int *)+0x10 in a.cu:3\n"
        "=========     and Read access at k(int *)+0x20 in a.cu:4 [1 hazard]\n"
        "========= \n"
        "========= Error: Potential WAW hazard detected at __shared__ 0x0 in block (0,0,0) :\n"
        "=========     Write Thread (0,0,0) at k(int *)+0x30 in a.cu:5\n"
        "=========     Write Thread (1,0,0) at k(int *)+0x30 in a.cu:6\n"
        "========= \n"
        "========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)\n";
    const SanitizerOutput read = parse_sanitizer_output(text);
    CHECK(read.errors == 2);
    REQUIRE(read.reports.size() == 2);
    CHECK(read.reports[0].severity == "warning");
    CHECK(read.reports[0].line == 3);
    CHECK(read.reports[1].severity == "error");
    CHECK(read.reports[1].line == 5);
}

TEST_CASE("initcheck: one place that 64 threads read is one report") {
    const SanitizerReport report = only_report(sample("uninit_initcheck"));
    CHECK(report.kind == "Uninitialized __global__ memory read");
    CHECK(report.function == "uninit");
    CHECK(report.line == 7);
    CHECK(report.count == 64);
}

TEST_CASE("initcheck: memory that nobody uses is one kind, wherever it lies") {
    // Made by hand after the manual: --track-unused-memory.
    const SanitizerReport report =
        only_report(output({"Unused memory in allocation 0x7fe0a7200000 of size 16,777,216 bytes (16.0 MB)",
                            "    Not written any memory.", "",
                            "Unused memory in allocation 0x7fe0b7200000 of size 16,777,216 bytes (16.0 MB)"},
                           2));
    CHECK(report.kind == "Unused memory");
    CHECK(report.bytes == 16'777'216);
    CHECK(report.count == 2);
}

TEST_CASE("synccheck: a barrier that not all threads reach") {
    // Made by hand after the manual: the planted fault ends before synccheck sees it on this GPU.
    const SanitizerReport report = only_report(
        output({"Barrier error detected. Divergent thread(s) in block.",
                "    at diverge(int *)+0xa0 in faults.cu:8", "    by thread (32,0,0) in block (0,0,0)"}));
    CHECK(report.kind == "Barrier error detected");
    CHECK(report.function == "diverge");
    CHECK(report.line == 8);
}

TEST_CASE("a clean run has no report and no error") {
    const SanitizerOutput read = parse_sanitizer_output(sample("fixed_racecheck"));
    CHECK(read.errors == 0);
    CHECK(read.reports.empty());
    CHECK(parse_sanitizer_output("========= ERROR SUMMARY: 0 errors\n").reports.empty());
}

TEST_CASE("the place of a report, as tools write it from 2024 on") {
    const SanitizerReport report =
        placed("at oob(float *, const float *, int)+0xc0 in /home/me/src/faults.cu:5");
    CHECK(report.function == "oob");
    CHECK(report.file == "faults.cu");
    CHECK(report.line == 5);
    CHECK(placed("at oob(float *)+0xc0").function == "oob");
    CHECK(placed("at oob(float *)+0xc0").line == 0);
}

TEST_CASE("the place of a report, as earlier tools wrote it") {
    // Made by hand after the manuals of 2021 to 2023.
    const SanitizerReport report =
        placed("at 0xc0 in /home/me/src/faults.cu:5:oob(float *, const float *, int)");
    CHECK(report.function == "oob");
    CHECK(report.file == "faults.cu");
    CHECK(report.line == 5);
    CHECK(placed("at 0xc0 in oob(float *)").function == "oob");
    CHECK(placed("at 0xc0 in oob(float *)").file.empty());

    const SanitizerReport race = only_report(
        "========= Error: Race reported between Write access at 0x460 in a/b.cu:41:sum(int *)\n"
        "=========     and Read access at 0x7a0 in a/b.cu:51:sum(int *) [508 hazards]\n=========\n"
        "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n");
    CHECK(race.function == "sum");
    CHECK(race.file == "b.cu");
    CHECK(race.line == 41);
}

TEST_CASE("the nearest allocation, and how far past its end") {
    const SanitizerOutput read = parse_sanitizer_output(sample("oob_memcheck"));
    REQUIRE_FALSE(read.reports.empty());
    CHECK(read.reports[0].kind == "Invalid __global__ read");
    CHECK(read.reports[0].allocation_bytes == 400);
    CHECK(read.reports[0].beyond_bytes == 1);  // of the first thread; the second is 5 bytes past
    for (const SanitizerReport& report : read.reports)
        if (report.kind == "Leak") CHECK(report.allocation_bytes == 0);
}

TEST_CASE("a report keeps the tool's own words") {
    const SanitizerOutput read = parse_sanitizer_output(sample("oob_memcheck"));
    const std::string& text = read.reports[0].text;
    CHECK(text.rfind("========= Invalid __global__ read of size 4 bytes\n", 0) == 0);
    CHECK(text.find("by thread (2,0,0) in block (3,0,0)") != std::string::npos);
    CHECK(text.find("Host Frame: main") != std::string::npos);
    CHECK(text.find("by thread (3,0,0)") == std::string::npos);  // that is the second one, of the same place
}

TEST_CASE("frames of the host and of the device are kept, innermost first") {
    const SanitizerOutput real = parse_sanitizer_output(sample("oob_memcheck"));
    REQUIRE(real.reports[0].frames.size() == 1);
    CHECK(real.reports[0].frames[0].on_host);
    CHECK(real.reports[0].frames[0].function == "main");
    CHECK(real.reports[0].frames[0].module == "faults");
    const auto leak = std::find_if(real.reports.begin(), real.reports.end(),
                                   [](const SanitizerReport& r) { return r.kind == "Leak"; });
    REQUIRE(leak != real.reports.end());
    REQUIRE(leak->frames.size() == 2);
    CHECK(leak->frames[0].function == "cudaMalloc");

    const SanitizerOutput read = parse_sanitizer_output(
        output({"Invalid __global__ write of size 4 bytes", "    at inner(int *)+0x50 in a.cu:3",
                "    Device Frame: void outer<float>(T1 *)+0x30 in dir/a.cu:16",
                "    Saved host backtrace up to driver entry point at kernel launch time",
                "        Host Frame: run(int, char**) in /src/run.cpp:26 [0x9057] in lib/librun.so",
                "        Host Frame:__cudart803 [0xfccb]", "               in program",
                "        Host Frame: [0x2774ec]", "               in /usr/lib/libcuda.so.1"},
               1));
    const std::vector<SanitizerFrame>& frames = read.reports[0].frames;
    REQUIRE(frames.size() == 4);
    CHECK_FALSE(frames[0].on_host);
    CHECK(frames[0].function == "outer");
    CHECK(frames[0].file == "a.cu");
    CHECK(frames[0].line == 16);
    CHECK(frames[1].function == "run(int, char**)");
    CHECK(frames[1].file == "run.cpp");
    CHECK(frames[1].line == 26);
    CHECK(frames[1].module == "librun.so");
    CHECK(frames[2].function == "__cudart803");
    CHECK(frames[2].module == "program");
    CHECK(frames[3].function.empty());
    CHECK(frames[3].module == "libcuda.so.1");
    CHECK(read.reports[0].function == "inner");
    CHECK(read.reports[0].line == 3);
}

TEST_CASE("a kernel has one name, however its signature reads") {
    for (const std::string signature :
         {"add(int *)", "void add<float>(T1 *, unsigned long)", "(anonymous namespace)::add(int *)",
          "void <unnamed>::add<(int)256>(const int *)", "void a::b::add<std::pair<int, int>>(T1)", "add"}) {
        CAPTURE(signature);
        CHECK(placed("at " + signature + "+0x50 in a.cu:1").function == "add");
        CHECK(placed("at 0x50 in a.cu:1:" + signature).function == "add");
    }
}

TEST_CASE("one line of another kind never fills in another's place") {
    const SanitizerOutput read = parse_sanitizer_output(
        output({"Invalid __global__ read of size 4 bytes", "    by thread (0,0,0) in block (0,0,0)", "",
                "Something new that went wrong", "    at other(int *)+0x50 in other.cu:9"},
               2));
    CHECK(read.reports[0].function.empty());
    CHECK(read.reports[0].file.empty());
}

TEST_CASE("an error of a kind that is not known here is still an error") {
    const SanitizerOutput read = parse_sanitizer_output(
        output({"Fatal UVM GPU fault of type invalid pde due to read", "    during read access"}, 3));
    CHECK(read.errors == 3);
    REQUIRE(read.reports.size() == 1);
    CHECK(read.reports[0].kind == "Unknown");
    CHECK(read.reports[0].severity == "error");
    CHECK(read.reports[0].count == 3);
}

TEST_CASE("errors beyond the print limit count, and make no kind of their own") {
    const std::string text =
        output({"Invalid __global__ write of size 4 bytes", "    at k(int *)+0x50 in a.cu:3"}, 2'752) +
        "========= ERROR SUMMARY: 2751 errors were not printed. Use --print-limit option to adjust the "
        "number of "
        "printed errors\n";
    const SanitizerOutput read = parse_sanitizer_output(text);
    CHECK(read.errors == 2'752);
    REQUIRE(read.reports.size() == 1);
    CHECK(read.reports[0].count == 1);
}

TEST_CASE("output that is not whole is an error, wherever it breaks off") {
    const std::string text = sample("oob_memcheck");
    for (std::size_t length = 0; length < text.rfind("=========") + 30; length += 5)
        REQUIRE_THROWS_WITH_AS((void)parse_sanitizer_output(text.substr(0, length)),
                               doctest::Contains("no summary line"), Error);
    CHECK_THROWS_AS((void)parse_sanitizer_output(""), Error);
    CHECK_THROWS_AS((void)parse_sanitizer_output("hello\n"), Error);
}

TEST_CASE("a tool that saw no CUDA call proves nothing") {
    const std::string text =
        "========= COMPUTE-SANITIZER\nusage: ...\n"
        "========= Error: Target application terminated before first instrumented API call\n";
    CHECK_THROWS_WITH_AS((void)parse_sanitizer_output(text), doctest::Contains("saw no CUDA call"), Error);
    CHECK_THROWS_AS((void)parse_sanitizer_output(text + "========= ERROR SUMMARY: 0 errors\n"), Error);
}

TEST_CASE("a tool that fails by itself says so") {
    CHECK_THROWS_WITH_AS((void)parse_sanitizer_output(
                             output({"Internal Sanitizer Error: The Sanitizer encountered an error"}, 0)),
                         doctest::Contains("failed by itself"), Error);
}

TEST_CASE("what the program prints is no report, even if it looks like one") {
    const std::string text =
        "Invalid __global__ read of size 4 bytes\n"
        "==========================\nERROR SUMMARY: 5 errors\n at k(int *)+0x50 in a.cu:3\n" +
        output({}, 0);
    const SanitizerOutput read = parse_sanitizer_output(text);
    CHECK(read.errors == 0);
    CHECK(read.reports.empty());
}

TEST_CASE("a report behind a line that the program did not end is read") {
    const std::string text =
        "50 %========= Invalid __global__ read of size 4 bytes\n"
        "=========     at k(int *)+0x50 in a.cu:3\n========= \n"
        "done========= ERROR SUMMARY: 1 error\n";
    CHECK(only_report(text).line == 3);
}

TEST_CASE("lines without end and numbers without measure do no harm") {
    const std::string name(300'000, 'k');
    CHECK(placed("at " + name + "(int)+0x50 in a.cu:3").function == name);
    CHECK(placed("at 0x50 in a.cu:" + std::string(400, '9') + ":k(int)").function == "k");
    CHECK_NOTHROW(
        (void)parse_sanitizer_output(output({"Leaked " + std::string(100, '9') + " bytes at 0x0"})));
    for (const char* line : {"at ", "at 0x", "at 0x5 in ", "at +0x", "at k+0x in :", "at 0x5 in :3", "Leaked",
                             "Error: ", "Program hit ", "Invalid  of size ", ": "})
        CHECK_NOTHROW((void)parse_sanitizer_output(output({line, "    " + std::string(line)}, 5)));
}

TEST_CASE("a hundred thousand different reports are read in the time that it takes to read them") {
    std::string text;
    constexpr int kReports = 100'000;
    for (int i = 0; i < kReports; ++i)
        text +=
            "========= Invalid __global__ read of size 4 bytes\n=========     at kernel(int *)+0x50 in "
            "file.cu:" +
            std::to_string(i) + "\n=========\n";
    const auto began = std::chrono::steady_clock::now();
    const SanitizerOutput output = parse_sanitizer_output(text + "========= ERROR SUMMARY: 100000 errors\n");
    CHECK(output.reports.size() == kReports);
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));  // pairs of them: minutes
}

namespace {

/// The samples of one run each that are there as text and as XML, by name.
std::vector<std::string> samples_with_xml() {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(LAB_SAMPLES))
        if (entry.path().extension() == ".xml")
            names.push_back(entry.path().stem().string().substr(std::string("sanitizer_2025.3_").size()));
    return names;
}

std::string sample_xml(const std::string& name) {
    return read_file(fs::path(LAB_SAMPLES) / ("sanitizer_2025.3_" + name + ".xml"));
}

/// A file as the tool saves it, with these records.
std::string saved(const std::string& records) {
    return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<ComputeSanitizerOutput>" + records +
           "</ComputeSanitizerOutput>\n";
}

/// A record of a read that some word describes, on a line of a.cu.
std::string record_of(const std::string& word, int line) {
    return "<record><kind>Precise</kind><level>Error</level><what><text>" + word +
           " __global__ read of size 4 bytes is out of "
           "bounds</text><size>4</size></what><where><func>shift</func>"
           "<path>/src/a.cu</path><line>" +
           std::to_string(line) + "</line></where></record>";
}

}  // namespace

TEST_CASE("XML: its records and the printed reports of the same runs say the same") {
    const std::vector<std::string> names = samples_with_xml();
    REQUIRE(names.size() >= 10);
    for (const std::string& name : names) {
        CAPTURE(name);
        const std::string text = sample(name), xml = sample_xml(name);
        const std::vector<SanitizerReport> records = parse_sanitizer_xml(xml);
        const SanitizerOutput printed = parse_sanitizer_output(text),
                              both = parse_sanitizer_output(text, xml);
        CHECK(both.errors == printed.errors);
        REQUIRE(both.reports.size() == printed.reports.size());
        for (std::size_t i = 0; i < both.reports.size(); ++i) {
            const SanitizerReport &a = printed.reports[i], &b = both.reports[i];
            CAPTURE(a.text);
            CHECK(b.kind == a.kind);
            CHECK(b.severity == a.severity);
            CHECK(b.count == a.count);
            CHECK(b.text == a.text);  // the words of the same report, not of another
            const auto is_said = [&](const SanitizerReport& record) {
                return (record.kind.empty() || record.kind == a.kind) &&
                       (record.severity.empty() || record.severity == a.severity) &&
                       record.function == a.function && record.file == a.file && record.line == a.line &&
                       record.bytes == a.bytes;
            };
            CHECK(std::count_if(records.begin(), records.end(), is_said) ==
                  (a.kind == "Unknown" ? 0 : a.count));
        }
    }
}

TEST_CASE("XML: a record has kind, severity, place and size by itself") {
    const std::vector<SanitizerReport> records = parse_sanitizer_xml(sample_xml("pair_memcheck"));
    REQUIRE(records.size() == 5);
    CHECK(records[0].kind == "Invalid __global__ read");
    CHECK(records[0].severity == "error");
    CHECK(records[0].function == "shift");
    CHECK(records[0].file == "buggy.cu");
    CHECK(records[0].line == 22);
    CHECK(records[0].bytes == 4);
    CHECK(records[2].kind == "API cudaErrorLaunchFailure");
    CHECK(records[2].function == "cudaDeviceSynchronize");
    CHECK(records[4].kind == "Leak");
    CHECK(records[4].bytes == 400);
    const std::vector<SanitizerReport> races = parse_sanitizer_xml(sample_xml("shared_race_racecheck"));
    REQUIRE(races.size() == 1);
    CHECK(races[0].kind == "Race");
    CHECK(races[0].function == "sum_triangles");
    CHECK(races[0].line == 29);
    CHECK(parse_sanitizer_xml(sample_xml("clean_memcheck")).empty());
}

TEST_CASE("XML: a problem whose headline nobody has read yet has a kind and a place all the same") {
    const std::string text =
        output({"Something new of size 4 bytes", "    at shift(int *)+0x10 in a.cu:22"}, 1);
    CHECK(only_report(text).kind == "Unknown");
    const SanitizerOutput read = parse_sanitizer_output(text, saved(record_of("Invalid", 22)));
    REQUIRE(read.reports.size() == 1);
    CHECK(read.reports[0].kind == "Invalid __global__ read");
    CHECK(read.reports[0].line == 22);
    CHECK(read.reports[0].text.find("Invalid") == 0);
}

TEST_CASE("XML: words go to the record of the same kind and place") {
    const std::string text =
        output({"Invalid __global__ read of size 4 bytes", "    at shift(int *)+0x10 in a.cu:22"}, 2);
    for (const int line : {30, 22}) {
        const SanitizerOutput read =
            parse_sanitizer_output(text, saved(record_of("Novel", line) + record_of("Invalid", 22)));
        REQUIRE(read.reports.size() == 2);
        CHECK(read.reports[0].kind == "Novel __global__ read");
        CHECK(read.reports[0].text.find("Novel") == 0);  // the record's own line of text
        CHECK(read.reports[1].text.find("========= Invalid") == 0);
    }
}

TEST_CASE("XML: what a record leaves out is left to the printed report, and what is new is no warning") {
    const auto only = [](const std::string& record) {
        const std::vector<SanitizerReport> records =
            parse_sanitizer_xml(saved("<record>" + record + "</record>"));
        REQUIRE(records.size() == 1);
        return records[0];
    };
    const SanitizerReport call = only("<kind>Api</kind><what><api>cudaFree</api><result>1</result></what>");
    CHECK(call.kind.empty());
    CHECK(call.function == "cudaFree");
    CHECK(call.severity.empty());
    CHECK(only("<level>Fatal</level>").severity == "error");
    CHECK(only("<level>Warning</level>").severity == "warning");
    const SanitizerReport freed =
        only("<what><text>Use-after-free on allocation of size 256 bytes</text><size>256</size></what>");
    CHECK(freed.kind == "Use-after-free");
    CHECK(freed.bytes == 0);
}

TEST_CASE("XML: a file that is damaged, of something else or of another run is refused") {
    const std::string text =
        output({"Invalid __global__ read of size 4 bytes", "    at shift(int *)+0x10 in a.cu:22"}, 1);
    const auto refusal = [&](const std::string& xml) {
        try {
            (void)parse_sanitizer_output(text, xml);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    const std::string whole = saved(record_of("Invalid", 22));
    CHECK(refusal(whole) == "accepted");
    CHECK(refusal(whole.substr(0, whole.size() / 2)).find("cannot be read") != std::string::npos);
    CHECK(refusal("").find("cannot be read") != std::string::npos);
    CHECK(refusal("<html></html>").find("ComputeSanitizerOutput") != std::string::npos);
    for (const std::string& other : {std::string(), record_of("Invalid", 23), record_of("Misaligned", 22)})
        CHECK(refusal(saved(other)).find("does not have what it printed") != std::string::npos);
}

TEST_CASE("XML is asked for where the help lists it without a value") {
    CHECK(lists_xml(
        "  --version   x\n  --xml                                 Emit error output to file in XML\n"));
    CHECK_FALSE(lists_xml("  --xml arg (=no)                       Emit error output\n"));
    CHECK_FALSE(lists_xml("                                        If --xml is enabled, then the file\n"));
    CHECK_FALSE(lists_xml(""));
}
