// Every compute-sanitizer command line on the pages of the course is in today's spelling: the flags and
// values below, and no others.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "command_lines.h"
#include "core/files.h"
#include "core/text.h"

using namespace lab;

namespace {

/// What a flag takes: nothing, any value, or one of some.
struct Flag {
    bool takes_value = true;
    std::set<std::string> values = {};  ///< empty for any
};

const std::set<std::string> kYesNo = {"yes", "no"};
const std::set<std::string> kLevels = {"info", "warn", "error"};
const Flag kBare{false}, kAny, kSwitch{true, kYesNo};

/// What compute-sanitizer 2025.3 lists in its help, without what only OptiX and other platforms need.
const std::map<std::string, Flag>& flags_of_today() {
    static const std::map<std::string, Flag> flags = {
        {"--backtrace-short", kSwitch},
        {"--check-api-memory-access", kSwitch},
        {"--check-bulk-copy", kSwitch},
        {"--check-cache-control", kBare},
        {"--check-device-heap", kSwitch},
        {"--check-exit-code", kSwitch},
        {"--check-warpgroup-mma", kSwitch},
        {"--coredump-behavior", {true, {"full", "exit"}}},
        {"--coredump-name", kAny},
        {"--demangle", {true, {"full", "simple", "no"}}},
        {"--destroy-on-device-error", {true, {"context", "kernel"}}},
        {"--detect-missing-module-unload", kBare},
        {"--error-exitcode", kAny},
        {"--force-blocking-launches", kBare},
        {"--force-synchronization-limit", kAny},
        {"--generate-coredump", kBare},
        {"--help", kBare},
        {"--kernel-name", kAny},
        {"--kernel-name-exclude", kAny},
        {"--kill", kBare},
        {"--language", {true, {"c", "fortran"}}},
        {"--launch-count", kAny},
        {"-c", kAny},
        {"--launch-skip", kAny},
        {"-s", kAny},
        {"--launch-timeout", kAny},
        {"--leak-check", {true, {"full", "no"}}},
        {"--log-file", kAny},
        {"--max-connections", kAny},
        {"--missing-barrier-init-is-fatal", kSwitch},
        {"--num-callers-device", kAny},
        {"--num-callers-host", kAny},
        {"--num-cuda-barriers", kAny},
        {"--nvtx", kSwitch},
        {"--padding", kAny},
        {"--port", kAny},
        {"--prefix", kAny},
        {"--print-level", {true, {"info", "warn", "error", "fatal"}}},
        {"--print-limit", kAny},
        {"--print-session-details", kBare},
        {"--quiet", kBare},
        {"-q", kBare},
        {"--racecheck-continue-on-deadlock", kSwitch},
        {"--racecheck-deadlock-timeout", kAny},
        {"--racecheck-detect-level", {true, kLevels}},
        {"--racecheck-memcpy-async", kSwitch},
        {"--racecheck-num-workers", kAny},
        {"--racecheck-report", {true, {"all", "hazard", "analysis"}}},
        {"--racecheck-trace-sync", kSwitch},
        {"--read", kAny},
        {"--report-api-errors", {true, {"all", "explicit", "no"}}},
        {"--require-cuda-init", kSwitch},
        {"--save", kAny},
        {"--save-session-details", kBare},
        {"--show-backtrace", {true, {"yes", "no", "host", "device"}}},
        {"--strip-paths", kSwitch},
        {"--suppressions", kAny},
        {"--target-processes", {true, {"all", "application-only"}}},
        {"--target-processes-filter", kAny},
        {"--tool", {true, {"memcheck", "racecheck", "initcheck", "synccheck"}}},
        {"--track-stream-ordered-races", {true, {"all", "use-before-alloc", "use-after-free", "no"}}},
        {"--track-unused-memory", kBare},
        {"--unused-memory-threshold", kAny},
        {"--version", kBare},
        {"--xml", kBare},
    };
    return flags;
}

/// Flags that came later: the page may name them, no command line may use them.
const std::set<std::string> kLater = {"--check-tensor-ops",
                                      "--dump-kernel-launches",
                                      "--initcheck-address-space",
                                      "--racecheck-filter-cluster-id",
                                      "--report-device-side-allocation-failure",
                                      "--unused-shared-memory-report-limit"};

bool known_flag(const std::string& flag) {
    return flags_of_today().count(flag) > 0 || kLater.count(flag) > 0;
}

/// A filter is a list of key=value pairs; the tool refuses anything else.
bool is_filter(const std::string& value) {
    for (const char* key : {"kns=", "kne=", "kernel_substring=", "kernel_name=", "regex="})
        if (value.rfind(key, 0) == 0) return true;
    return false;
}

bool may_have(const std::string& name, const Flag& flag, const std::string& value) {
    if (value.empty()) return false;
    if (value.find('$') != std::string::npos) return true;  // a variable
    if (name.rfind("--kernel-name", 0) == 0) return is_filter(value);
    return flag.values.empty() || flag.values.count(value) > 0;
}

/// What of a command line, from the word behind the tool's name on, the tool would refuse. Empty if nothing.
std::vector<std::string> faults_of(const std::vector<std::string>& words) {
    std::vector<std::string> faults;
    for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
        if (words[i].rfind("\"$", 0) == 0) continue;  // more options, from a variable
        if (words[i][0] != '-') break;                // here the program begins
        const std::size_t equals = words[i].find('=');
        const std::string name = words[i].substr(0, equals);
        const auto flag = flags_of_today().find(name);
        if (flag == flags_of_today().end()) {
            faults.push_back(name);
            continue;
        }
        if (!flag->second.takes_value) {
            if (equals != std::string::npos) faults.push_back(words[i]);
            continue;
        }
        std::string value;
        if (equals != std::string::npos)
            value = words[i].substr(equals + 1);
        else if (i + 1 < words.size())
            value = words[++i];
        if (!may_have(name, flag->second, value)) faults.push_back(trim(name + " " + value));
    }
    return faults;
}

std::vector<std::string> faults_of_line(const std::string& line) {
    std::vector<std::string> faults;
    for (const auto& command : commands_in(line, "compute-sanitizer"))
        for (const std::string& fault : faults_of(command)) faults.push_back(fault);
    return faults;
}

std::string page_of_sanitizer() {
    return read_file(fs::path(LAB_SOURCE_FOLDER) / "docs/sanitizer.md");
}

}  // namespace

TEST_CASE("sanitizer commands: the check itself sees what is wrong") {
    using Faults = std::vector<std::string>;
    CHECK(faults_of_line("compute-sanitizer --tool memcheck --leak-check=full ./p --tool mine").empty());
    CHECK(faults_of_line("compute-sanitizer --tool memchek ./p") == Faults{"--tool memchek"});
    CHECK(faults_of_line("/usr/local/cuda/bin/compute-sanitizer --hmm-support ./p") ==
          Faults{"--hmm-support"});
    CHECK(faults_of_line("compute-sanitizer --kernel-regex kns=a ./p") == Faults{"--kernel-regex"});
    CHECK(faults_of_line("compute-sanitizer --kernel-name reduce ./p") == Faults{"--kernel-name reduce"});
    CHECK(faults_of_line("compute-sanitizer --kernel-name regex='a+' ./p").empty());
    CHECK(faults_of_line("compute-sanitizer --xml=yes ./p") == Faults{"--xml=yes"});
    CHECK(faults_of_line("compute-sanitizer --error-exitcode") == Faults{"--error-exitcode"});
    CHECK(faults_of_line("compute-sanitizer --tool \"$tool\" \"${more[@]}\" --gone ./p") == Faults{"--gone"});
    CHECK(faults_of_line("compute-sanitizer --xml -- --program").empty());
    CHECK(faults_of_line("if compute-sanitizer --leak-check yes ./p; then") == Faults{"--leak-check yes"});
    CHECK(faults_of_line("./lab sanitize p --whatever").empty());
}

TEST_CASE("sanitizer commands: every command line of every page is in today's spelling") {
    std::size_t commands = 0;
    for (const fs::path& path : pages()) {
        const PageCode code = code_of(part_of(read_file(path), false));
        for (const auto& pieces : {code.lines, code.spans})
            for (const std::string& piece : pieces) {
                commands += commands_in(piece, "compute-sanitizer").size();
                CHECK_MESSAGE(faults_of_line(piece).empty(),
                              path.string() << ": " << piece << ": " << join(faults_of_line(piece), ", "));
            }
    }
    CHECK(commands >= 15);
}

TEST_CASE("sanitizer commands: docs/sanitizer.md explains the flags that exist, and no others") {
    const std::string page = part_of(page_of_sanitizer(), false);
    for (const std::string& span : code_of(page).spans) {
        if (span.rfind("--", 0) != 0 || span == "--") continue;
        const std::string name = span.substr(0, span.find_first_of("= "));
        CHECK_MESSAGE(known_flag(name), span);
        const bool has_value =
            span.size() > name.size() && span != "--report-api-errors extended";  // from 2026.1
        if (has_value && !kLater.count(name))
            CHECK_MESSAGE(faults_of_line("compute-sanitizer " + span).empty(), span);
    }
    for (const auto& [name, flag] : flags_of_today())
        CHECK_MESSAGE((name == "--help" || says(page, name)), name);
    for (const std::string& name : kLater) CHECK_MESSAGE(says(page, name), name);
}

TEST_CASE("sanitizer commands: what is gone is gone from every page, and what replaces it exists") {
    const Renamed all = renamed_on(page_of_sanitizer());
    CHECK(all.gone.size() >= 6);
    for (const std::string& gone : all.gone) {
        CHECK_MESSAGE(!known_flag(gone), gone);
        for (const fs::path& path : pages()) {
            const PageCode code = code_of(part_of(read_file(path), false));
            for (const std::string& line : code.lines)
                for (const auto& command : commands_in(line, "compute-sanitizer"))
                    CHECK_MESSAGE(!says(join(command, " "), gone), path.string() << ": " << gone);
        }
    }
    for (const std::string& today : all.today)
        if (today[0] == '-') CHECK_MESSAGE(known_flag(today), today);
}
