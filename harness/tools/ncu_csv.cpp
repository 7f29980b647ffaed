#include "tools/ncu_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace lab {

namespace {

/// Behind ID, process, host, kernel, context, stream, sizes, device and CC.
constexpr std::size_t kFirstMetricColumn = 11;
constexpr const char* kKernelColumn = "Kernel Name";

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

std::optional<int64_t> whole_number(std::string digits) {
    std::erase(digits, ',');
    int64_t value = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (problem != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
}

bool is_header(const std::vector<std::string>& cells) {
    return cells.size() > kFirstMetricColumn && cells[0] == "ID" &&
           std::find(cells.begin(), cells.end(), kKernelColumn) != cells.end();
}

/// Does the line begin as a row of the table does, with the number of a launch?
bool begins_as_row(const std::string& line) {
    const std::size_t end = line.find_first_not_of("0123456789,", 1);
    return line[0] == '"' && end != std::string::npos && end > 1 && line.compare(end, 3, "\",\"") == 0;
}

[[noreturn]] void fail_without_table(std::string_view text) {
    for (const std::string& line : split(text, '\n'))
        if (line.starts_with("==ERROR=="))
            throw Error("ncu made no table. It says: " + printable(trim(line)));
    throw Error("ncu made no table: no line begins with \"ID\". Was it run with --csv --page raw?");
}

/// The table as it stands in the text.
struct RawTable {
    std::vector<std::string> header, units;
    std::vector<std::vector<std::string>> rows;  ///< as long as the header, a launch's number in front
};

RawTable read_table(std::string_view text) {
    RawTable table;
    const std::vector<std::string> lines = split(text, '\n');
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string line = trim(lines[i]);
        const std::vector<std::string> cells = cells_of(line);
        if (table.header.empty()) {
            if (is_header(cells)) table.header = cells;
        } else if (cells.size() != table.header.size()) {
            if (begins_as_row(line) || (i + 1 == lines.size() && line.rfind('"', 0) == 0))
                throw Error("ncu's table is cut short: " + printable(shorten(line, 60)));
        } else if (table.units.empty()) {
            if (!cells[0].empty())
                throw Error("ncu's table has no row of units. Was it run with --page raw?");
            table.units = cells;
        } else if (whole_number(cells[0])) {
            table.rows.push_back(cells);
        }
    }
    if (table.header.empty()) fail_without_table(text);
    if (table.rows.empty())
        throw Error("ncu's table has no row: no kernel was profiled. Check the kernel filter.");
    return table;
}

bool is_absent(const std::string& value) {
    return value.empty() || value == "n/a";
}

}  // namespace

std::optional<double> NcuMetric::number() const {
    if (is_absent(value)) return std::nullopt;
    std::string digits = value;
    std::erase(digits, ',');  // between thousands: ncu is run in the locale C
    double result = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
    if (problem != std::errc() || end != digits.data() + digits.size() || !std::isfinite(result))
        throw Error(fmt::format("metric {} of kernel {} is '{}', which is no number", metric,
                                printable(kernel), printable(value)));
    return result;
}

std::vector<NcuMetric> parse_ncu_csv(std::string_view text, const std::vector<std::string>& metrics,
                                     Absent absent) {
    const RawTable table = read_table(text);
    const auto column = [&](const std::string& name) {
        return static_cast<std::size_t>(std::find(table.header.begin(), table.header.end(), name) -
                                        table.header.begin());
    };
    std::vector<std::string> wanted = metrics;
    if (wanted.empty()) wanted.assign(table.header.begin() + kFirstMetricColumn, table.header.end());
    std::vector<std::size_t> columns;
    for (const std::string& name : wanted) {
        columns.push_back(column(name));
        if (columns.back() == table.header.size() && absent == Absent::is_an_error)
            throw Error(
                fmt::format("ncu's table has no column '{}'. List the metrics of this GPU with: ncu "
                            "--query-metrics",
                            name));
    }
    const std::size_t kernel = column(kKernelColumn);
    std::vector<NcuMetric> result;
    for (const auto& row : table.rows)
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            NcuMetric metric{*whole_number(row[0]), row[kernel], wanted[i], "", "n/a"};
            if (columns[i] < row.size())
                metric.unit = table.units[columns[i]], metric.value = row[columns[i]];
            if (!metrics.empty() && absent == Absent::is_an_error && is_absent(metric.value))
                throw Error(fmt::format(
                    "ncu has no value for {} of kernel {}: it shows '{}'. The metric may not exist "
                    "on this GPU; see ncu --query-metrics",
                    metric.metric, printable(metric.kernel), metric.value));
            result.push_back(std::move(metric));
        }
    return result;
}

std::vector<std::string> unknown_metrics(std::string_view text) {
    constexpr std::string_view kSaid = "Failed to find metric ";
    std::vector<std::string> names;
    for (const std::string& line : split(text, '\n')) {
        const std::size_t at = line.find(kSaid);
        if (at == std::string::npos) continue;
        // "regex:^no_such_metric\.(sum|...)$" of a name without suffix, else the name itself
        std::string name = trim(line.substr(at + kSaid.size()));
        if (name.starts_with("regex:^")) name = name.substr(7, name.find("\\.(") - 7);
        names.push_back(name);
    }
    return names;
}

}  // namespace lab
