#include "tools/sanitizer_report.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "core/error.h"
#include "core/text.h"

namespace lab {

namespace {

constexpr std::string_view kPrefix = "=========";
constexpr std::size_t kNowhere = std::string_view::npos;

/// What follows `mark` in `text`, or nothing if it is not there.
std::optional<std::string_view> after(std::string_view text, std::string_view mark) {
    const std::size_t at = text.find(mark);
    if (at == kNowhere) return std::nullopt;
    return text.substr(at + mark.size());
}

/// The number that `text` begins with, with or without commas between thousands; 0 if there is none. Of a
/// number larger than any tool prints only the first digits are read, so that sums still fit in 64 bits.
int64_t leading_integer(std::string_view text) {
    constexpr int64_t kTooMany = INT64_MAX / 1000;
    int64_t value = 0;
    for (const char c : text) {
        if (c == ',') continue;
        if (c < '0' || c > '9' || value > kTooMany) break;
        value = value * 10 + (c - '0');
    }
    return value;
}

/// The number behind `mark`, if `word` follows it: a line that was cut within its number does not count.
std::optional<int64_t> count_in(std::string_view line, std::string_view mark, std::string_view word) {
    const auto count = after(line, mark);
    if (!count || count->find(word) == kNowhere) return std::nullopt;
    return leading_integer(*count);
}

std::string without_folders(std::string_view path) {
    return std::string(path.substr(path.find_last_of('/') + 1));
}

/// The first of `words` that `line` begins with, or "".
std::string_view beginning(std::string_view line, std::initializer_list<std::string_view> words) {
    const auto* word = std::find_if(words.begin(), words.end(), [&](auto w) { return line.starts_with(w); });
    return word == words.end() ? "" : *word;
}

/// The report that `line` begins, if it begins one.
std::optional<SanitizerReport> headline(std::string_view line) {
    SanitizerReport report;
    const std::string_view level = beginning(line, {"Error: ", "Warning: "});
    const std::string_view what = line.substr(level.size());
    const bool is_access =
        !beginning(line, {"Invalid ", "Misaligned ", "Uninitialized ", "Host API memory access error"})
             .empty();
    const auto size = after(line, " of size ");
    if (line.starts_with("Leaked ")) {  // "Leaked 4,028 bytes at 0x7f0678800000"
        report.kind = "Leak";
        report.bytes = leading_integer(line.substr(7));
    } else if (size && is_access) {  // "Invalid __global__ read of size 4 bytes"
        // An address before the size is left out of the kind: it differs from run to run.
        report.kind = line.substr(0, std::min(line.find(" of size "), line.find(" at host access")));
        report.bytes = leading_integer(*size);
    } else if (!level.empty()) {  // "Error: Race reported between ...", "Warning: Potential WAW hazard ..."
        const bool is_hazard = what.starts_with("Potential ") && what.find(" hazard") != kNowhere;
        if (is_hazard || what.starts_with("Race ")) report.kind = "Race";
        if (level != "Error: ") report.severity = "warning";
    } else if (line.starts_with("Program hit ")) {  // "... cudaErrorX (error 1) ... API call to cudaY."
        const std::string_view error = line.substr(12);
        report.kind = "API " + std::string(error.substr(0, error.find(' ')));
        if (const auto call = after(line, " on CUDA API call to "))
            report.function = call->substr(0, call->find_first_of(". "));
    } else {  // "Use-after-free on allocation of size 256 bytes at 0x336"
        const auto pool = beginning(line, {"Use-after-free", "Use-before-alloc", "Free-before-alloc"});
        if (size && !pool.empty()) report.kind = pool, report.allocation_bytes = leading_integer(*size);
        if (pool.empty())
            report.kind = beginning(line, {"Barrier error detected", "Malloc/Free error encountered"});
    }
    if (report.kind.empty()) return std::nullopt;
    return report;
}

/// Sets file and line from "folder/file.cu:10"; false if there is no line number.
bool add_source_line(std::string_view text, auto& place) {
    const std::size_t colon = text.rfind(':');
    if (colon == kNowhere || text.find_first_of("0123456789", colon) != colon + 1) return false;
    place.file = without_folders(text.substr(0, colon));
    place.line = leading_integer(text.substr(colon + 1));
    return true;
}

/// Sets the place, if the report has none yet, from "at kernel(int *)+0x50 in file.cu:10". Without -lineinfo
/// that names the kernel only.
void add_place(std::string_view line, SanitizerReport& report) {
    const auto place = line.starts_with("at ") ? line.substr(3) : after(line, " at ");
    const std::size_t offset = place ? place->find("+0x") : kNowhere;
    if (offset == kNowhere || !report.function.empty()) return;
    report.function = short_function(place->substr(0, offset));
    if (const auto where = after(place->substr(offset), " in ")) add_source_line(*where, report);
}

/// "and is 5 bytes after the nearest allocation at 0x7fafba800000 of size 400 bytes"
void add_allocation(std::string_view line, SanitizerReport& report) {
    const auto allocation = after(line, " the nearest allocation ");
    if (!allocation || report.allocation_bytes != 0) return;
    if (const auto size = after(*allocation, " of size ")) report.allocation_bytes = leading_integer(*size);
    const auto is = after(line, "is ");
    if (is && line.find(" bytes after ") != kNowhere) report.beyond_bytes = leading_integer(*is);
}

/// "Host Frame: main in main.cpp:12 [0x9057] in program", "Device Frame: inner(int)+0x50 in file.cu:3". Tools
/// of 2024 leave out the space behind the colon, and name the module on the next line: "in program".
void add_frame(std::string_view line, SanitizerReport& report) {
    const auto host = after(line, "Host Frame:"), device = after(line, "Device Frame:");
    if (!host && !device) {
        const bool names_module = line.starts_with("in ") && !report.frames.empty() &&
                                  report.frames.back().on_host && report.frames.back().module.empty();
        if (names_module) report.frames.back().module = without_folders(line.substr(3));
        return;
    }
    SanitizerFrame frame;
    frame.on_host = host.has_value();
    std::string text = trim(host ? *host : *device);
    if (const std::size_t address = text.find("[0x"); address != std::string::npos) {
        const auto in = after(std::string_view(text).substr(address), "] in ");
        if (in) frame.module = without_folders(*in);
        text = trim(text.substr(0, address));
    }
    const std::size_t in = text.rfind(" in ");
    if (in != std::string::npos && add_source_line(std::string_view(text).substr(in + 4), frame))
        text = text.substr(0, in);
    frame.function = frame.on_host ? text : short_function(text.substr(0, text.find("+0x")));
    report.frames.push_back(std::move(frame));
}

/// Throws if the tool says in this line that its output proves nothing.
void refuse(std::string_view line) {
    if (line.find("terminated before first instrumented API call") != kNowhere)
        throw Error(
            "compute-sanitizer saw no CUDA call: the program ended before it reached the GPU, so nothing was "
            "checked");
    if (line.starts_with("Internal Sanitizer Error"))
        throw Error("compute-sanitizer failed by itself: " + printable(line));
}

/// Where on the host a report came from, if it blames no place on the device: the calls of its backtrace.
std::string calls_of(const SanitizerReport& report) {
    std::string calls;
    if (!report.function.empty() && !report.kind.starts_with("API ")) return calls;
    for (const SanitizerFrame& f : report.frames)
        calls += f.function + " " + f.file + ":" + std::to_string(f.line) + "\n";
    return calls;
}

/// One report for all that are of the same kind, place and size. It says of how many threads they are.
std::vector<SanitizerReport> distinct(std::vector<SanitizerReport> reports) {
    const auto key = [](const SanitizerReport& r) {
        return std::tuple(r.kind, r.severity, r.function, r.file, r.line, r.bytes, calls_of(r));
    };
    std::map<decltype(key(reports[0])), std::size_t> place_of;
    std::vector<SanitizerReport> result;
    std::vector<std::set<std::string>> threads;
    for (SanitizerReport& r : reports) {
        const auto thread = after(r.text, "by thread ");
        const std::string one(thread ? thread->substr(0, thread->find('\n')) : "");
        const auto [at, is_new] = place_of.try_emplace(key(r), result.size());
        if (is_new)
            result.push_back(std::move(r)), threads.emplace_back();
        else
            ++result[at->second].count;
        threads[at->second].insert(one);
    }
    for (std::size_t i = 0; i < result.size(); ++i)
        if (threads[i].size() > 1)
            result[i].text +=
                "\n(reported for " + std::to_string(threads[i].size()) + " threads; this is the first)";
    return result;
}

}  // namespace

SanitizerOutput parse_sanitizer_output(std::string_view text) {
    SanitizerOutput output;
    std::vector<SanitizerReport> reports;  // each as printed, in order
    int64_t not_printed = 0;
    bool whole = false, within = false;  // within the lines of the last report
    for (const std::string& raw : split(text, '\n')) {
        const std::size_t at = raw.find(kPrefix);  // The program may have left its own line unended.
        if (at == std::string::npos) continue;
        const std::string rest = raw.substr(at + kPrefix.size()), line = trim(rest);
        refuse(line);
        auto errors = count_in(line, "RACECHECK SUMMARY: ", " hazard");
        if (!errors) errors = count_in(line, "ERROR SUMMARY: ", " error");
        if (const auto count = count_in(line, "ERROR SUMMARY: ", " not printed")) {
            not_printed = *count;
        } else if (errors) {
            output.errors = *errors;
            whole = true, within = false;
        } else if (auto report = headline(line)) {
            add_place(line, *report);
            report->text = raw.substr(at);
            reports.push_back(std::move(*report));
            within = true;
        } else if (line.empty()) {
            if (rest.size() < 3) within = false;  // An indented empty line stands between two backtraces.
        } else if (within) {
            reports.back().text += "\n" + raw.substr(at);
            add_place(line, reports.back());
            add_allocation(line, reports.back());
            add_frame(line, reports.back());
        }
    }
    if (!whole)
        throw Error(
            "compute-sanitizer's output has no summary line, so it is not whole; was the tool killed?");
    const int64_t unknown = output.errors - static_cast<int64_t>(reports.size()) - not_printed;
    output.reports = distinct(std::move(reports));
    if (unknown > 0) {  // their headlines are not known here
        SanitizerReport& report = output.reports.emplace_back();
        report.kind = "Unknown", report.count = unknown;
    }
    return output;
}

}  // namespace lab
