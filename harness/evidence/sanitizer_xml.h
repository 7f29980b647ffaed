// Reads the records that compute-sanitizer saves as XML.
#pragma once

#include <string_view>
#include <vector>

#include "evidence/sanitizer_report.h"

namespace lab {

/// A report for each record, in the order of the file, with what records have: kind, severity, kernel or API
/// call, file, line, size and one line of text. `kind` is empty where the record does not say it as the
/// printed report does, and `severity` where it names none. An Error if this is no such file. NVIDIA
/// publishes no schema; it was read off files of version 2025.3, of which the tests have samples.
[[nodiscard]] std::vector<SanitizerReport> parse_sanitizer_xml(std::string_view xml);

}  // namespace lab
