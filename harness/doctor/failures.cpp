#include "doctor/failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/text.h"
#include "course/toml_reader.h"

namespace lab {

namespace {

KnownFailure read_failure(const std::string& tool, const std::string& id, TomlReader& toml) {
    KnownFailure failure{tool, id, toml.texts_or_none("words"), toml.text("reason"), {}, "", ""};
    failure.fixes.fill(toml.text("fix"));
    for (std::size_t kind = 1; kind < failure.fixes.size(); ++kind)
        failure.fixes[kind] = toml.text_or(key_of(static_cast<PlatformKind>(kind)), failure.fixes[kind]);
    failure.still_works = toml.text_or("still_works", "");
    failure.section = toml.text_or("section", "");
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

std::vector<int> numbers(const std::string& version) {
    std::vector<int> parts;
    for (const std::string& part : split(version, '.'))
        std::from_chars(part.data(), part.data() + part.size(), parts.emplace_back());
    return parts;
}

}  // namespace

KnownFailures KnownFailures::read(const std::filesystem::path& path) {
    TomlReader toml = TomlReader::parse_file(path, path.string());
    KnownFailures known;
    for (const std::string& line : toml.texts_or_none("libraries"))
        known.packages_[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
    for (auto& [tool, entry] : toml.named_tables("tools")) {
        for (const char* key : {"package", "module", "still_works", "section"})
            known.tools_[tool][key] = entry.text(key);
        entry.expect_all_read();
    }
    for (const char* tool :
         {"gpu", "nvcc", "nsys", "ncu", "compute-sanitizer", "cpu-samples", "gpu-metrics", "any"})
        for (auto& [id, entry] : toml.named_tables(tool))
            known.failures_.push_back(read_failure(tool, id, entry));
    toml.expect_all_read();
    return known;
}

std::string KnownFailures::recognise(const std::string& tool, std::string_view output) const {
    for (const std::string& of : {tool, std::string("any")})
        for (const KnownFailure& failure : failures_)
            for (const std::string& word : failure.words)
                if (failure.tool == of && output.find(word) != std::string_view::npos) return failure.id;
    return "";
}

Diagnosis KnownFailures::diagnose(const std::string& tool, const std::string& id, PlatformKind platform,
                                  Details details) const {
    const auto found = [&](const std::string& of) {
        return std::find_if(failures_.begin(), failures_.end(),
                            [&](const KnownFailure& f) { return f.tool == of && f.id == id; });
    };
    const auto own = found(tool), at = own == failures_.end() ? found("any") : own;
    if (at == failures_.end() || !tools_.count(tool))
        throw Error(fmt::format("harness/doctor/failures.toml has no failure '{}' of {}", id, tool));
    const std::map<std::string, std::string>& of_tool = tools_.at(tool);
    for (const char* key : {"package", "module"}) details.insert({key, filled_in(of_tool.at(key), details)});
    const std::string& works = at->still_works.empty() ? of_tool.at("still_works") : at->still_works;
    const std::string& section = at->section.empty() ? of_tool.at("section") : at->section;
    return {id, filled_in(at->reason, details),
            filled_in(at->fixes[static_cast<std::size_t>(platform)], details), filled_in(works, details),
            "docs/setup.md#" + section};
}

std::string KnownFailures::package_of(const std::string& library) const {
    const auto known = packages_.find(library);
    return known == packages_.end() ? "the package that holds " + library : known->second;
}

std::string what_it_said(std::string_view output) {
    constexpr std::size_t kWidth = 200;
    std::string last = "it said nothing";
    for (const std::string& raw : split(output, '\n')) {
        const std::string line = printable(trim(raw));
        if (line.find_first_not_of("= ") == std::string::npos) continue;
        last = shorten(line, kWidth);
        for (const char* mark : {"==ERROR==", "rror: ", "fatal", "FATAL"})
            if (line.find(mark) != std::string::npos) return last;
    }
    return last;
}

std::string missing_library(std::string_view output) {
    constexpr std::string_view kComplaint = "error while loading shared libraries: ";
    const std::size_t at = output.find(kComplaint);
    if (at == std::string_view::npos) return "";
    const std::string_view rest = output.substr(at + kComplaint.size());
    return printable(rest.substr(0, rest.find_first_of(": \n")));
}

bool earlier(const std::string& version, const std::string& minimum) {
    return !version.empty() && numbers(version) < numbers(minimum);
}

}  // namespace lab
