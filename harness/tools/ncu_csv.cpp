#include "tools/ncu_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace lab {

namespace {

constexpr const char* kKernelColumn = "Kernel Name";

/// The table as it stands in the text.
struct RawTable {
    std::vector<std::string> header, units;
    std::vector<std::vector<std::string>> rows;  ///< as long as the header

    /// The number of a column; that of its columns if it has none of this name.
    [[nodiscard]] std::size_t column(const std::string& name) const {
        return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
    }
};

RawTable read_table(std::string_view text) {
    RawTable table;
    for (const std::string& raw : split(text, '\n')) {
        const std::string line = trim(raw);
        const std::vector<std::string> cells = ncu_cells(line);
        if (table.header.empty()) {
            if (!cells.empty() && cells[0] == "ID") table.header = cells;
        } else if (cells.size() == table.header.size()) {
            if (table.units.empty())
                table.units = cells;
            else
                table.rows.push_back(cells);
        } else if (line.size() > 1 && line[0] == '"' && line.find_first_of("0123456789") == 1) {
            throw Error("ncu's table is cut short: " + printable(shorten(line, 60)));
        }
    }
    if (table.column(kKernelColumn) == table.header.size())
        fail_without_table(text, "no line begins with \"ID\". Was it run with --csv --page raw?");
    if (table.rows.empty())
        throw Error("ncu's table has no row: no kernel was profiled. Check the kernel filter.");
    return table;
}

bool is_absent(const std::string& value) {
    return value.empty() || value == "n/a";
}

}  // namespace

std::vector<std::string> ncu_cells(const std::string& line) {
    std::vector<std::string> cells;
    const std::size_t last = line.find_last_not_of(',');
    if (line.size() < 2 || line.front() != '"' || last == 0 || line[last] != '"') return cells;
    for (std::size_t at = 1, end; at < last + 1; at = end + 3) {
        end = std::min(line.find("\",\"", at), last);
        cells.push_back(line.substr(at, end - at));
    }
    return cells;
}

std::optional<double> number_in(std::string cell) {
    std::erase(cell, ',');  // between thousands: ncu is run in the locale C
    double result = 0;
    const auto [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), result);
    const bool whole = problem == std::errc() && end == cell.data() + cell.size();
    return whole && std::isfinite(result) ? std::optional(result) : std::nullopt;
}

void fail_without_table(std::string_view text, const std::string& why) {
    for (const std::string& line : split(text, '\n'))
        if (line.starts_with("==ERROR=="))
            throw Error("ncu made no table. It says: " + printable(trim(line)));
    throw Error("ncu made no table: " + why);
}

std::optional<double> NcuMetric::number() const {
    if (is_absent(value)) return std::nullopt;
    const std::optional<double> result = number_in(value);
    if (!result)
        throw Error(fmt::format("metric {} of kernel {} is '{}', which is no number", metric,
                                printable(kernel), printable(value)));
    return result;
}

std::vector<NcuMetric> parse_ncu_csv(std::string_view text, const std::vector<std::string>& metrics,
                                     Absent absent) {
    const RawTable table = read_table(text);
    std::vector<NcuMetric> result;
    for (const auto& row : table.rows)
        for (const std::string& name : metrics) {
            const int64_t launch = &row - table.rows.data();
            NcuMetric metric{launch, row[table.column(kKernelColumn)], name, "", "n/a"};
            if (const std::size_t at = table.column(name); at < row.size())
                metric.unit = table.units[at], metric.value = row[at];
            if (absent == Absent::is_an_error && is_absent(metric.value))
                throw Error(fmt::format(
                    "ncu has no value for {} of kernel {}. The metric may not exist on this GPU; see ncu "
                    "--query-metrics",
                    name, printable(metric.kernel)));
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
