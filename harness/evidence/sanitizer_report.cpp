#include "evidence/sanitizer_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>

#include "core/error.h"
#include "core/text.h"
#include "evidence/sanitizer_xml.h"

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

/// The number that `text` begins with, thousands separated by commas or not; 0 if there is none. Of a number
/// that no tool prints only the first digits are read, so that sums of such numbers fit as well.
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

/// The number behind `mark`, if `word` follows it: a line cut short within its number is not read as less.
std::optional<int64_t> count_in(std::string_view line, std::string_view mark, std::string_view word) {
    const auto count = after(line, mark);
    if (!count || count->find(word) == kNowhere) return std::nullopt;
    return leading_integer(*count);
}

std::optional<int64_t> errors_in_summary(std::string_view line) {
    if (const auto hazards = count_in(line, "RACECHECK SUMMARY: ", " hazard")) return hazards;
    return count_in(line, "ERROR SUMMARY: ", " error");
}

SanitizerReport report_of(std::string_view kind, std::string_view severity = "error") {
    SanitizerReport report;
    report.kind = kind, report.severity = severity, report.count = 1;
    return report;
}

std::optional<SanitizerReport> memory_headline(std::string_view line) {
    const auto size = after(line, " of size ");
    if (line.starts_with("Leaked ")) {
        SanitizerReport report = report_of("Leak");
        report.bytes = leading_integer(line.substr(7));
        return report;
    }
    for (const char* word : {"Invalid ", "Misaligned ", "Uninitialized ", "Unused ", "Potential invalid ",
                             "Host API memory access error"}) {
        if (!size || !line.starts_with(word)) continue;
        // What follows is an address, which differs from run to run.
        const std::size_t place = std::min(line.find(" in allocation"), line.find(" at host access"));
        SanitizerReport report = report_of(line.substr(0, std::min(line.find(" of size "), place)));
        report.bytes = leading_integer(*size);
        return report;
    }
    return std::nullopt;
}

/// "Use-after-free on allocation of size 256 bytes at 0x3366000000": of memory of cudaMallocAsync.
std::optional<SanitizerReport> stream_ordered_headline(std::string_view line) {
    const auto size = after(line, " on allocation of size ");
    for (const char* word : {"Use-after-free", "Use-before-alloc", "Free-before-alloc"}) {
        if (!size || !line.starts_with(word)) continue;
        SanitizerReport report = report_of(word);
        report.allocation_bytes = leading_integer(*size);
        return report;
    }
    return std::nullopt;
}

std::optional<SanitizerReport> race_headline(std::string_view line) {
    const std::size_t colon = line.find(": ");
    if (colon == kNowhere) return std::nullopt;
    const std::string_view severity = line.substr(0, colon), what = line.substr(colon + 2);
    if (severity != "Error" && severity != "Warning" && severity != "Info") return std::nullopt;
    const bool race = what.starts_with("Race ");
    const bool hazard = what.starts_with("Potential ") && what.find(" hazard") != kNowhere;
    if (!race && !hazard) return std::nullopt;
    return report_of("Race", severity == "Error" ? "error" : "warning");
}

std::optional<SanitizerReport> call_headline(std::string_view line) {
    if (!line.starts_with("Program hit ")) return std::nullopt;
    const std::string_view problem = line.substr(12);
    SanitizerReport report = report_of("API " + std::string(problem.substr(0, problem.find(' '))));
    if (const auto call = after(line, " on CUDA API call to "))
        report.function = call->substr(0, call->find_first_of(". "));
    return report;
}

std::optional<SanitizerReport> barrier_headline(std::string_view line) {
    for (const char* error : {"Barrier error detected", "Warpgroup MMA sequence error detected",
                              "Malloc/Free error encountered", "Deadlock detected"})
        if (line.starts_with(error)) return report_of(error);
    return std::nullopt;
}

/// The first line of a report, if `line` is one.
std::optional<SanitizerReport> headline(std::string_view line) {
    for (const auto& read :
         {memory_headline, stream_ordered_headline, race_headline, call_headline, barrier_headline})
        if (auto report = read(line)) return report;
    return std::nullopt;
}

std::string without(std::string_view text, std::string_view word) {
    std::string rest;
    for (std::size_t at; (at = text.find(word)) != kNowhere; text.remove_prefix(at + word.size()))
        rest += text.substr(0, at);
    return rest.append(text);
}

std::string without_folders(std::string_view path) {
    return std::string(path.substr(path.find_last_of('/') + 1));
}

/// Splits "folder/file.cu:10" and whatever follows, and fills in file and line; false if there is no line.
template <class Place>
bool add_file(std::string_view text, Place& report, std::string_view& rest) {
    for (std::size_t colon = text.find(':'); colon != kNowhere; colon = text.find(':', colon + 1)) {
        const std::size_t end = std::min(text.find_first_not_of("0123456789", colon + 1), text.size());
        if (end == colon + 1) continue;
        report.file = without_folders(text.substr(0, colon));
        report.line = leading_integer(text.substr(colon + 1));
        rest = text.substr(end);
        return true;
    }
    return false;
}

/// Fills in the place from a line such as "at kernel(int *)+0x50 in file.cu:10" (tools of 2024 on) or
/// "at 0x50 in file.cu:10:kernel(int *)" (earlier ones), if the report has none yet. Without -lineinfo both
/// name the kernel only.
void add_place(std::string_view line, SanitizerReport& report) {
    if (!report.function.empty()) return;
    const auto place = line.starts_with("at ") ? line.substr(3) : after(line, " at ");
    if (!place) return;
    const std::size_t offset = place->find("+0x");
    std::string_view rest;
    if (place->starts_with("0x")) {
        const auto where = after(*place, " in ");
        if (!where || place->find(' ') != place->find(" in ")) return;  // an address, not a place
        const bool has_line = add_file(*where, report, rest);
        report.function = plain_function(!has_line ? *where : rest.starts_with(":") ? rest.substr(1) : "");
    } else if (offset != kNowhere) {
        report.function = plain_function(place->substr(0, offset));
        if (const auto where = after(place->substr(offset), " in ")) add_file(*where, report, rest);
    }
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
    std::string_view rest;
    const std::size_t in = text.rfind(" in ");
    if (in != std::string::npos && add_file(std::string_view(text).substr(in + 4), frame, rest))
        text = text.substr(0, in);
    frame.function = frame.on_host ? text : plain_function(text.substr(0, text.find("+0x")));
    report.frames.push_back(std::move(frame));
}

/// Adds to a record of the XML what only the printed report has: the nearest allocation, the frames as the
/// tool shortens them, and its words.
void add_words(SanitizerReport& record, SanitizerReport said) {
    if (record.kind.empty()) record.kind = std::move(said.kind);
    if (record.severity.empty()) record.severity = std::move(said.severity);
    record.allocation_bytes = said.allocation_bytes, record.beyond_bytes = said.beyond_bytes;
    record.frames = std::move(said.frames), record.text = std::move(said.text);
    record.printed = true;
}

/// The reports without those that say the same of the same place again.
std::vector<SanitizerReport> distinct(std::vector<SanitizerReport> reports) {
    using Key = std::tuple<std::string, std::string, std::string, std::string, int64_t, int64_t>;
    std::map<Key, std::size_t> place_of;
    std::vector<SanitizerReport> result;
    for (SanitizerReport& report : reports) {
        Key key{report.kind, report.severity, report.function, report.file, report.line, report.bytes};
        const auto [at, is_new] = place_of.try_emplace(std::move(key), result.size());
        if (is_new) {
            result.push_back(std::move(report));
            continue;
        }
        SanitizerReport& first = result[at->second];
        first.count += report.count;
        if (report.printed && !first.printed) add_words(first, std::move(report));
    }
    return result;
}

/// Could both be about the same? What either of them does not know is no reason against it.
bool may_be_same(const SanitizerReport& a, const SanitizerReport& b) {
    const auto fits = [](const auto& one, const auto& other) {
        const std::remove_cvref_t<decltype(one)> unknown{};
        return one == unknown || other == unknown || one == other;
    };
    return fits(a.kind, b.kind) && fits(a.function, b.function) && fits(a.file, b.file) &&
           fits(a.line, b.line) && fits(a.bytes, b.bytes);
}

/// The records with the words of the printed reports, which stand in the same order. A record beyond these is
/// of a kind whose headline nobody here has read. An Error for words that are of none of the records.
std::vector<SanitizerReport> with_words(std::vector<SanitizerReport> records,
                                        std::vector<SanitizerReport> said) {
    auto next = said.begin();
    for (SanitizerReport& record : records)
        if (next != said.end() && may_be_same(record, *next)) add_words(record, std::move(*next++));
    if (next != said.end())
        throw Error(fmt::format("the XML of compute-sanitizer does not have what it printed: {}",
                                printable(next->text.substr(0, next->text.find('\n')))));
    for (SanitizerReport& record : records) {
        if (record.kind.empty()) record.kind = record.text.empty() ? "Unknown" : record.text;
        if (record.severity.empty()) record.severity = "error";
    }
    return records;
}

/// Takes the output line by line.
class OutputReader {
  public:
    void take(const std::string& raw) {
        const std::size_t at = raw.find(kPrefix);  // behind the program's own text if that ended no line
        if (at == std::string::npos) return;
        const std::string rest = raw.substr(at + kPrefix.size());
        const std::string line = trim(rest);
        refuse(line);
        if (const auto count = count_in(line, "ERROR SUMMARY: ", " not printed")) {
            not_printed_ = *count;
        } else if (const auto errors = errors_in_summary(line)) {
            close();
            output_.errors = *errors;
            whole_ = true;
        } else if (auto next = headline(line)) {
            close();
            open_ = std::move(next);
            open_->text = raw.substr(at), open_->printed = true;
            add_place(line, *open_);
        } else if (line.empty()) {
            // An indented empty line is within a report: between its backtraces.
            if (rest.size() < 3) close();
        } else if (open_) {
            open_->text += "\n" + raw.substr(at);
            add_place(line, *open_);
            add_allocation(line, *open_);
            add_frame(line, *open_);
        }
    }

    /// What was read, once all lines were taken, with the records of the XML if there are any.
    SanitizerOutput finish(std::optional<std::vector<SanitizerReport>> records) {
        close();
        if (!whole_)
            throw Error(
                "compute-sanitizer's output has no summary line, so it is not whole; was the tool killed?");
        if (records) said_ = with_words(std::move(*records), std::move(said_));
        const auto listed = static_cast<int64_t>(said_.size());
        output_.reports = distinct(std::move(said_));
        if (const int64_t unknown = output_.errors - listed - not_printed_; unknown > 0) {
            output_.reports.push_back(report_of("Unknown"));  // of a kind that nobody here has read
            output_.reports.back().count = unknown;
        }
        return std::move(output_);
    }

  private:
    /// Lines by which the tool says that its output is worth nothing.
    static void refuse(const std::string& line) {
        if (line.find("terminated before first instrumented API call") != std::string::npos)
            throw Error(
                "compute-sanitizer saw no CUDA call: the program ended before it reached the GPU, so nothing "
                "was checked");
        if (line.starts_with("Internal Sanitizer Error"))
            throw Error("compute-sanitizer failed by itself: " + printable(line));
    }

    void close() {
        if (!open_) return;
        said_.push_back(std::move(*open_));
        open_.reset();
    }

    SanitizerOutput output_;
    std::vector<SanitizerReport> said_;    ///< each report as printed, in order
    std::optional<SanitizerReport> open_;  ///< the report of which further lines may come
    int64_t not_printed_ = 0;
    bool whole_ = false;
};

}  // namespace

/// The kernel's name as nsys has it, without return type, namespaces, template arguments and parameters.
std::string plain_function(std::string_view signature) {
    std::string name = without(without(signature, "(anonymous namespace)::"), "<unnamed>::");
    name = trim(name.substr(0, name.find_first_of("<([")));
    return name.substr(name.find_last_of(": ") + 1);
}

SanitizerOutput parse_sanitizer_output(std::string_view text, std::optional<std::string_view> xml) {
    OutputReader reader;
    for (const std::string& line : split(text, '\n')) reader.take(line);
    return reader.finish(xml ? std::optional(parse_sanitizer_xml(*xml)) : std::nullopt);
}

}  // namespace lab
