#include "evidence/sanitizer_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "core/error.h"
#include "core/text.h"

namespace lab {

namespace {

constexpr std::string_view kPrefix = "=========";

int64_t to_integer(std::string digits) {
    std::erase(digits, ',');
    return digits.empty() ? 0 : std::stoll(digits);
}

/// The first line of a report, if `line` is one.
std::optional<SanitizerReport> headline(const std::string& line) {
    static const std::regex access(
        R"(^(Invalid|Misaligned|Uninitialized|Unused) (.*?) of size ([\d,]+)( bytes)?.*)");
    static const std::regex race(R"(^(Error|Warning|Info): (Race|Potential .*? hazard).*)");
    static const std::regex leak(R"(^Leaked ([\d,]+) bytes.*)");
    static const std::regex api(R"(^Program hit (\w+) \(error \d+\).* on CUDA API call to (\w+).*)");
    static const std::regex barrier(R"(^(Barrier error detected|Invalid .*?arguments?|Unused memory).*)");
    std::smatch m;
    if (std::regex_match(line, m, access))
        return SanitizerReport{m[1].str() + " " + m[2].str(), "error", "", "", 0, to_integer(m[3]), 1};
    if (std::regex_match(line, m, race))
        return SanitizerReport{"Race", m[1] == "Error" ? "error" : "warning", "", "", 0, 0, 1};
    if (std::regex_match(line, m, leak))
        return SanitizerReport{"Leak", "error", "", "", 0, to_integer(m[1]), 1};
    if (std::regex_match(line, m, api))
        return SanitizerReport{"API " + m[1].str(), "error", m[2], "", 0, 0, 1};
    if (std::regex_match(line, m, barrier)) return SanitizerReport{m[1], "error", "", "", 0, 0, 1};
    return std::nullopt;
}

std::string plain_function(const std::string& name) {
    return trim(name.substr(0, name.find('(')));
}
std::string plain_file(const std::string& path) {
    return path.substr(path.find_last_of('/') + 1);
}

/// Fills in the place from a line such as "at kernel(int *)+0x50 in file.cu:10" (tools of 2024 on) or
/// "at 0x50 in file.cu:10:kernel(int *)" (earlier ones), if the report has none yet.
void add_place(const std::string& line, SanitizerReport& report) {
    if (!report.file.empty()) return;
    static const std::regex now(R"(.*?\bat (.+?)\+0x[0-9a-f]+ in (\S+?):(\d+).*)");
    static const std::regex before(R"(.*?\bat 0x[0-9a-f]+ in (\S+?):(\d+):(.+))");
    std::smatch m;
    if (std::regex_match(line, m, now)) {
        report.function = plain_function(m[1]), report.file = plain_file(m[2]),
        report.line = to_integer(m[3]);
    } else if (std::regex_match(line, m, before)) {
        report.function = plain_function(m[3]), report.file = plain_file(m[1]),
        report.line = to_integer(m[2]);
    }
}

void add_to(std::vector<SanitizerReport>& reports, const SanitizerReport& report) {
    const auto same = [&](const SanitizerReport& r) {
        return r.kind == report.kind && r.severity == report.severity && r.function == report.function &&
               r.file == report.file && r.line == report.line && r.bytes == report.bytes;
    };
    const auto at = std::find_if(reports.begin(), reports.end(), same);
    if (at == reports.end())
        reports.push_back(report);
    else
        at->count += report.count;
}

}  // namespace

SanitizerOutput parse_sanitizer_output(std::string_view text) {
    static const std::regex errors(R"(^ERROR SUMMARY: ([\d,]+) errors?.*)");
    static const std::regex hazards(R"(^RACECHECK SUMMARY: ([\d,]+) hazards? displayed.*)");
    SanitizerOutput output;
    std::optional<SanitizerReport> open;
    bool whole = false;
    const auto close = [&] {
        if (open) add_to(output.reports, *open);
        open.reset();
    };
    for (const std::string& raw : split(text, '\n')) {
        if (raw.rfind(kPrefix, 0) != 0) continue;  // the program's own line
        const std::string line = trim(raw.substr(kPrefix.size()));
        std::smatch m;
        if (std::regex_match(line, m, errors) || std::regex_match(line, m, hazards)) {
            close();
            output.errors = to_integer(m[1]);
            whole = true;
        } else if (line.find("terminated before first instrumented API call") != std::string::npos) {
            throw Error(
                "compute-sanitizer saw no CUDA call: the program ended before it reached the GPU, so nothing "
                "was "
                "checked");
        } else if (line.rfind("Internal Sanitizer Error", 0) == 0) {
            throw Error("compute-sanitizer failed by itself: " + printable(line));
        } else if (auto next = headline(line)) {
            close();
            open = std::move(next);
            add_place(line, *open);
        } else if (open) {
            add_place(line, *open);
        }
    }
    close();
    if (!whole)
        throw Error(
            "compute-sanitizer's output has no summary line, so it is not whole; was the tool killed?");
    return output;
}

}  // namespace lab
