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

/// What is wrong with `xml`, or "": tags that do not match, bare & or <, or characters XML does not allow. It
/// knows what the pictures use, elements and attributes in double quotes, and no more.
inline std::string xml_problem(std::string_view xml) {
    const auto entity_at = [&](std::size_t at) {
        for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"})
            if (xml.substr(at, entity.size()) == entity) return true;
        return false;
    };
    std::vector<std::string> open;
    for (std::size_t i = 0; i < xml.size(); ++i) {
        const auto byte = static_cast<unsigned char>(xml[i]);
        if (byte < 0x20 && byte != '\n') return "control character";
        if (byte == '&' && !entity_at(i)) return "bare & at " + std::string(xml.substr(i, 20));
        if (byte == '>') return "bare > before " + std::string(xml.substr(i, 20));
        if (byte != '<') continue;
        std::size_t end = i + 1;
        for (bool quoted = false; end < xml.size() && (quoted || xml[end] != '>'); ++end) {
            if (xml[end] == '<') return "< inside a tag: " + std::string(xml.substr(i, 40));
            if (xml[end] == '&' && !entity_at(end)) return "bare & in an attribute";
            if (xml[end] == '"') quoted = !quoted;
        }
        if (end == xml.size()) return "tag without end";
        const std::string_view tag = xml.substr(i + 1, end - i - 1);
        const std::string name(tag.substr(0, tag.find_first_of(" \n/", 1)));
        if (tag.front() == '/') {
            if (open.empty() || "/" + open.back() != tag) return "unexpected <" + std::string(tag) + ">";
            open.pop_back();
        } else if (tag.back() != '/') {
            open.push_back(name);
        }
        i = end;
    }
    return open.empty() ? "" : "<" + open.back() + "> is not closed";
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
