#include "course/known_failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/error.h"
#include "core/text.h"
#include "course/toml_reader.h"

namespace lab {

namespace {

/// Debian and Ubuntu packages of libraries that the tools load and slim images lack.
const std::map<std::string, std::string>& packages() {
    static const std::map<std::string, std::string> known{{"libdw.so.1", "libdw1"},
                                                          {"libelf.so.1", "libelf1"},
                                                          {"libGL.so.1", "libgl1"},
                                                          {"libglib-2.0.so.0", "libglib2.0-0"},
                                                          {"libdbus-1.so.3", "libdbus-1-3"},
                                                          {"libnss3.so", "libnss3"},
                                                          {"libz.so.1", "zlib1g"},
                                                          {"libxkbcommon.so.0", "libxkbcommon0"},
                                                          {"libopengl.so.0", "libopengl0"},
                                                          {"libEGL.so.1", "libegl1"},
                                                          {"libunwind.so.8", "libunwind8"},
                                                          {"libX11.so.6", "libx11-6"},
                                                          {"libxcb-cursor.so.0", "libxcb-cursor0"}};
    return known;
}

KnownFailure read_failure(TomlReader& toml) {
    KnownFailure failure;
    failure.id = toml.text("id");
    failure.tool = toml.text_or("tool", "");
    failure.words = toml.texts_or_none("words");
    failure.reason = toml.text("reason");
    failure.fixes.fill(toml.text("fix"));
    for (const PlatformKind kind :
         {PlatformKind::container, PlatformKind::wsl2, PlatformKind::notebook, PlatformKind::cluster}) {
        std::string& fix = failure.fixes[static_cast<std::size_t>(kind)];
        fix = toml.text_or(key_of(kind), fix);
    }
    failure.still_works = toml.text("still_works");
    failure.section = toml.text("section");
    toml.expect_all_read();
    return failure;
}

std::string filled_in(std::string sentence, const Details& details) {
    for (const auto& [name, value] : details) {
        const std::string hole = "{" + name + "}";
        for (std::size_t at = 0; (at = sentence.find(hole, at)) != std::string::npos; at += value.size())
            sentence.replace(at, hole.size(), value);
    }
    return sentence;
}

bool says_any(std::string_view output, const std::vector<std::string>& words) {
    return std::any_of(words.begin(), words.end(),
                       [&](const std::string& w) { return output.find(w) != std::string_view::npos; });
}

std::vector<int> numbers(const std::string& version) {
    std::vector<int> parts;
    for (const std::string& part : split(version, '.')) {
        int number = 0;
        std::from_chars(part.data(), part.data() + part.size(), number);
        parts.push_back(number);
    }
    return parts;
}

}  // namespace

KnownFailures KnownFailures::read(const std::filesystem::path& path) {
    TomlReader toml = TomlReader::parse_file(path, path.string());
    KnownFailures known;
    for (TomlReader& entry : toml.tables("failure")) {
        KnownFailure failure = read_failure(entry);
        for (const KnownFailure& other : known.failures_)
            if (other.id == failure.id) entry.fail(fmt::format("'{}' is in the table twice", failure.id));
        known.failures_.push_back(std::move(failure));
    }
    toml.expect_all_read();
    return known;
}

const KnownFailure* KnownFailures::recognise(const std::string& tool, std::string_view output) const {
    for (const std::string& of : {tool, std::string()})
        for (const KnownFailure& failure : failures_)
            if (failure.tool == of && says_any(output, failure.words)) return &failure;
    return nullptr;
}

const KnownFailure& KnownFailures::by_id(const std::string& id) const {
    const auto at =
        std::find_if(failures_.begin(), failures_.end(), [&](const KnownFailure& f) { return f.id == id; });
    if (at == failures_.end())
        throw Error(fmt::format("harness/doctor/failures.toml has no failure '{}'", id));
    return *at;
}

Diagnosis diagnose(const KnownFailure& failure, const Platform& platform, const Details& details) {
    const std::string& fix = failure.fixes[static_cast<std::size_t>(platform.kind)];
    return {failure.id, filled_in(failure.reason, details), filled_in(fix, details),
            filled_in(failure.still_works, details), "docs/setup.md#" + anchor_of(failure.section)};
}

std::string what_it_said(std::string_view output) {
    constexpr std::size_t kWidth = 200;
    std::string last;
    for (const std::string& raw : split(output, '\n')) {
        const std::string line = printable(trim(raw));
        if (line.find_first_not_of("= ") == std::string::npos) continue;
        for (const char* mark : {"==ERROR==", "rror: ", "fatal", "FATAL"})
            if (line.find(mark) != std::string::npos) return shorten(line, kWidth);
        last = line;
    }
    return last.empty() ? "it said nothing" : shorten(last, kWidth);
}

std::string missing_library(std::string_view output) {
    constexpr std::string_view kComplaint = "error while loading shared libraries: ";
    const std::size_t at = output.find(kComplaint);
    if (at == std::string_view::npos) return "";
    const std::string_view rest = output.substr(at + kComplaint.size());
    return printable(rest.substr(0, rest.find_first_of(": \n")));
}

std::string package_of(const std::string& library) {
    if (const auto known = packages().find(library); known != packages().end()) return known->second;
    return "the package that holds " + library;
}

bool earlier(const std::string& version, const std::string& minimum) {
    return !version.empty() && numbers(version) < numbers(minimum);
}

std::string driver_needed_by(const std::string& cuda) {
    return earlier(cuda, "13") ? "525" : "580";
}

std::string anchor_of(const std::string& heading) {
    std::string anchor;
    for (const char c : heading) {
        if (c == ' ')
            anchor += '-';
        else if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_')
            anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return anchor;
}

}  // namespace lab
