// Small captures for the tests of the pictures, and a check that XML is well formed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "draw/timeline.h"
#include "evidence/launches.h"

namespace lab::test {

constexpr int64_t kMs = 1'000'000;

constexpr int64_t kProcess = 4711, kThread = 4711;  ///< the one process, and its main thread

inline int64_t name_index(Trace& trace, const std::string& name) {
    for (std::size_t i = 0; i < trace.names.size(); ++i)
        if (trace.names[i] == name) return static_cast<int64_t>(i);
    trace.names.push_back(name);
    return static_cast<int64_t>(trace.names.size()) - 1;
}

inline Kernel& add_kernel(Trace& trace, const std::string& name, int64_t start_ns, int64_t end_ns,
                          int64_t stream) {
    const int64_t correlation = static_cast<int64_t>(trace.kernels.size()) + 1;
    return trace.kernels.emplace_back(Kernel{.start_ns = start_ns,
                                             .end_ns = end_ns,
                                             .stream = stream,
                                             .correlation = correlation,
                                             .process = kProcess,
                                             .name = name_index(trace, name)});
}

inline Copy& add_copy(Trace& trace, Direction direction, int64_t start_ns, int64_t end_ns, int64_t stream) {
    const int64_t correlation = 1000 + static_cast<int64_t>(trace.copies.size());
    return trace.copies.emplace_back(Copy{.start_ns = start_ns,
                                          .end_ns = end_ns,
                                          .stream = stream,
                                          .correlation = correlation,
                                          .process = kProcess,
                                          .bytes = 100'000'000,
                                          .direction = direction,
                                          .from = "pinned",
                                          .to = "device"});
}

inline ApiCall& add_call(Trace& trace, const std::string& name, int64_t start_ns, int64_t end_ns,
                         int64_t correlation) {
    return trace.api_calls.emplace_back(
        ApiCall{start_ns, end_ns, correlation, kProcess, kThread, name_index(trace, name)});
}

inline Range& add_range(Trace& trace, const std::string& name, int64_t start_ns, int64_t end_ns) {
    return trace.ranges.emplace_back(Range{start_ns, end_ns, kProcess, kThread, false, name, ""});
}

/// The timeline of a capture whose calls and GPU work know each other by their correlations.
inline Timeline timeline_of(Trace trace, const TimelineOptions& options = {}) {
    link_to_calls(trace);
    return build_timeline(trace, options);
}

/// What is wrong with `xml`, or "": tags that do not match, bare & or <, or characters that XML does not
/// allow. It knows elements and attributes in double quotes, which is all that the pictures use.
inline std::string xml_problem(std::string_view xml) {
    std::vector<std::string_view> open;
    for (std::size_t i = 0; i < xml.size(); ++i) {
        const std::string here(xml.substr(i, 40));
        const auto is_here = [&](const char* entity) { return here.starts_with(entity); };
        if (static_cast<unsigned char>(xml[i]) < 0x20 && xml[i] != '\n') return "control character";
        if (xml[i] == '&' && !is_here("&amp;") && !is_here("&lt;") && !is_here("&gt;") &&
            !is_here("&quot;") && !is_here("&#39;"))
            return "bare &: " + here;
        if (xml[i] == '>') return "bare >: " + here;
        if (xml[i] != '<') continue;
        const std::size_t end = xml.find('>', i);
        const std::string_view tag = xml.substr(i + 1, end - i - 1), name = tag.substr(0, tag.find(' '));
        if (end == xml.npos || tag.find('<') != tag.npos) return "tag without end: " + here;
        if (tag.starts_with('/')) {
            if (open.empty() || open.back() != tag.substr(1)) return "unexpected " + here;
            open.pop_back();
        } else if (!tag.ends_with('/')) {
            open.push_back(name);
        }
        i = end;
    }
    return open.empty() ? "" : std::string(open.back()) + " is not closed";
}

/// How often `word` occurs.
inline std::size_t count_of(std::string_view text, std::string_view word) {
    std::size_t count = 0;
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) ++count;
    return count;
}

/// The number that follows the first `key` from there on.
inline double number_after(std::string_view text, std::string_view key, std::size_t from = 0) {
    const std::size_t at = text.find(key, from);
    if (at == text.npos) return -1e9;
    return std::stod(std::string(text.substr(at + key.size(), 20)));
}

/// The x and the width of the rectangle whose hover text begins with `hover`.
struct Place {
    double x = -1e9, width = -1e9;
};
inline Place place_of(std::string_view svg, const std::string& hover, std::size_t from = 0) {
    const std::size_t title = svg.find("<title>" + hover, from);
    if (title == svg.npos) return {};
    const std::size_t rect = svg.rfind("<rect", title);
    return {number_after(svg, " x=\"", rect), number_after(svg, " width=\"", rect)};
}

}  // namespace lab::test
