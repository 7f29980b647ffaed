#include "evidence/sanitizer_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <pugixml.hpp>
#include <string>

#include "core/error.h"
#include "core/text.h"

namespace lab {

namespace {

constexpr const char* kOfAllocation = " on allocation";

std::string text_of(const pugi::xml_node& parent, const char* child) {
    return trim(parent.child(child).text().get());
}

/// The record's kind as the printed report has it: "Leak", "API cudaErrorInvalidValue", "Invalid __global__
/// read"; "" if the record does not say. (Of a barrier error it says less than the printed headline.)
std::string kind_of(const pugi::xml_node& record) {
    const std::string kind = text_of(record, "kind");
    const pugi::xml_node what = record.child("what");
    if (kind == "Leak") return "Leak";
    if (kind == "Api") return what.child("error") ? "API " + text_of(what, "error") : "";
    if (kind == "Analysis") return "Race";
    const std::string text = text_of(what, "text");
    const std::size_t size = text.find(" of size ");
    return size == std::string::npos ? "" : text.substr(0, std::min(size, text.find(kOfAllocation)));
}

std::string severity_of(const pugi::xml_node& record) {
    const std::string level = text_of(record, "level");
    if (level.empty()) return "";
    return level == "Warning" || level == "Warn" || level == "Info" ? "warning" : "error";
}

/// Where in the kernel: of a race, the first of the two accesses.
pugi::xml_node where_of(const pugi::xml_node& record) {
    const pugi::xml_node where = record.child("where");
    return where ? where : record.child("what").child("source").child("where");
}

SanitizerReport report_of(const pugi::xml_node& record) {
    const pugi::xml_node what = record.child("what"), where = where_of(record);
    SanitizerReport report;
    report.kind = kind_of(record);
    report.severity = severity_of(record);
    report.function =
        what.child("api") ? text_of(what, "api") : plain_function(where.child("func").text().get());
    report.file = std::filesystem::path(text_of(where, "path")).filename().string();
    report.line = where.child("line").text().as_llong();
    report.text = text_of(what, "text");
    // The size of an allocation is not that of an access.
    if (report.text.find(kOfAllocation) == std::string::npos)
        report.bytes = what.child("size").text().as_llong();
    report.count = 1;
    return report;
}

}  // namespace

std::vector<SanitizerReport> parse_sanitizer_xml(std::string_view xml) {
    pugi::xml_document document;
    const pugi::xml_parse_result read = document.load_buffer(xml.data(), xml.size());
    if (!read)
        throw Error(fmt::format("the XML that compute-sanitizer saved cannot be read: {} at byte {} of {}",
                                read.description(), read.offset, xml.size()));
    const pugi::xml_node root = document.child("ComputeSanitizerOutput");
    if (!root) throw Error("the XML is not what compute-sanitizer saves: it has no <ComputeSanitizerOutput>");
    std::vector<SanitizerReport> reports;
    for (const pugi::xml_node& record : root.children("record")) reports.push_back(report_of(record));
    return reports;
}

}  // namespace lab
