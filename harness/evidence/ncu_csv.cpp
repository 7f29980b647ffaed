#include "evidence/ncu_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/text.h"

namespace lab {

namespace {

constexpr std::size_t kFirstMetricColumn =
    11;  ///< ID, process, host, kernel, context, stream, sizes, device, CC

/// The cells of one line of CSV; nothing if the line is no complete row of quoted cells.
std::vector<std::string> cells_of(std::string_view line) {
    std::vector<std::string> cells;
    std::size_t i = 0;
    while (i < line.size()) {
        if (line[i] != '"') return {};
        std::string cell;
        for (++i;; ++i) {
            if (i >= line.size()) return {};
            if (line[i] != '"') {
                cell += line[i];
            } else if (i + 1 < line.size() && line[i + 1] == '"') {
                cell += line[i++];
            } else {
                break;
            }
        }
        cells.push_back(std::move(cell));
        ++i;
        if (i < line.size() && line[i++] != ',') return {};
    }
    return cells;
}

std::size_t column(const std::vector<std::string>& header, const std::string& name) {
    const auto at = std::find(header.begin(), header.end(), name);
    if (at == header.end())
        throw Error(
            fmt::format("ncu's table has no column '{}'. List the metrics of this GPU with: ncu "
                        "--query-metrics",
                        name));
    return static_cast<std::size_t>(at - header.begin());
}

[[noreturn]] void fail_without_table(std::string_view text) {
    for (const std::string& line : split(text, '\n'))
        if (line.rfind("==ERROR==", 0) == 0)
            throw Error("ncu made no table. It says: " + printable(trim(line)));
    throw Error("ncu made no table: no line begins with \"ID\". Was it run with --csv --page raw?");
}

}  // namespace

double NcuMetric::number() const {
    std::string digits = value;
    std::erase(digits, ',');  // thousands separators, which ncu writes in some locales
    double result = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
    if (problem != std::errc() || end != digits.data() + digits.size())
        throw Error(fmt::format("metric {} of kernel {} is '{}', which is no number", metric,
                                printable(kernel), printable(value)));
    return result;
}

std::vector<NcuMetric> parse_ncu_csv(std::string_view text, const std::vector<std::string>& metrics) {
    std::vector<std::string> header, units;
    std::vector<std::size_t> wanted;
    std::size_t kernel_column = 0;
    std::vector<NcuMetric> result;
    for (const std::string& line : split(text, '\n')) {
        const std::vector<std::string> cells = cells_of(trim(line));
        if (header.empty()) {
            if (cells.size() <= kFirstMetricColumn || cells[0] != "ID") continue;
            header = cells;
            kernel_column = column(header, "Kernel Name");
            for (const std::string& name : metrics) wanted.push_back(column(header, name));
            for (std::size_t c = kFirstMetricColumn; metrics.empty() && c < header.size(); ++c)
                wanted.push_back(c);
            continue;
        }
        if (cells.size() != header.size()) continue;
        if (units.empty()) {
            if (!cells[0].empty())
                throw Error("ncu's table has no row of units. Was it run with --page raw?");
            units = cells;
            continue;
        }
        for (const std::size_t c : wanted) {
            if (!metrics.empty() && (cells[c].empty() || cells[c] == "n/a"))
                throw Error(fmt::format(
                    "ncu has no value for {} of kernel {}: it shows '{}'. The metric may not exist "
                    "on this GPU; see ncu --query-metrics",
                    header[c], printable(cells[kernel_column]), cells[c]));
            result.push_back({std::stoll(cells[0]), cells[kernel_column], header[c], units[c], cells[c]});
        }
    }
    if (header.empty()) fail_without_table(text);
    if (result.empty())
        throw Error("ncu's table has no row: no kernel was profiled. Check the kernel filter.");
    return result;
}

}  // namespace lab
