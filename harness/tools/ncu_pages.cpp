#include "tools/ncu_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/error.h"
#include "core/text.h"
#include "tools/ncu_csv.h"

namespace lab {

namespace {

using TableRow = std::vector<std::string>;

/// Is this a row of a table whose last cell is not closed?
bool is_open(const std::string& line) {
    const std::size_t last = line.find_last_not_of(',');
    return line.starts_with('"') && (last == 0 || line[last] != '"') && line.size() < 100'000;
}

/// Lines, where one whose last cell is open goes on in the next: a rule may break its text.
std::vector<std::string> table_lines(std::string_view text) {
    std::vector<std::string> lines;
    for (const std::string& raw : split(text, '\n')) {
        const std::string line = trim(raw);
        if (!lines.empty() && is_open(lines.back()) && !line.starts_with('"'))
            lines.back() += " " + line;
        else
            lines.push_back(line);
    }
    return lines;
}

/// A table's header: which column has which name.
struct Header {
    TableRow names;

    [[nodiscard]] std::size_t column(std::string_view name, std::size_t from = 0) const {
        return static_cast<std::size_t>(
            std::find(names.begin() + static_cast<std::ptrdiff_t>(std::min(from, names.size())), names.end(),
                      name) -
            names.begin());
    }
    [[nodiscard]] bool has(std::string_view name) const { return column(name) < names.size(); }

    /// The cell of a row, "" if it has none.
    [[nodiscard]] std::string cell(const TableRow& row, std::string_view name) const {
        const std::size_t at = column(name);
        return at < row.size() && at < names.size() ? row[at] : "";
    }
};

/// A cell that holds what separates cells was taken for several. `column` is the one that may hold any text.
void mend(TableRow& row, std::size_t width, std::size_t column) {
    if (row.size() <= width || column >= width) return;
    const auto first = row.begin() + static_cast<std::ptrdiff_t>(column);
    const auto end = first + static_cast<std::ptrdiff_t>(row.size() - width) + 1;
    *first = join({first, end}, "\",\"");
    row.erase(first + 1, end);
}

std::string section_name(const std::string& id_or_name) {
    const NcuSection* const section = section_called(id_or_name);
    return section ? section->name : id_or_name;
}

/// What all instances together have: of "23592960 (5242880; 3145728)" the first.
std::string aggregate(const std::string& value) {
    const std::string first = value.substr(0, value.find(" ("));
    return number_in(first) ? first : value;
}

void add_details_row(const Header& header, const TableRow& row, ProfiledLaunch& launch) {
    const std::string section = section_name(header.cell(row, "Section Name"));
    if (const std::string rule = header.cell(row, "Rule Name"); !rule.empty())
        launch.rules.push_back(
            {section, rule, header.cell(row, "Rule Type"), header.cell(row, "Rule Description"),
             header.cell(row, "Estimated Speedup Type"), number_in(header.cell(row, "Estimated Speedup"))});
    const std::string name = header.cell(row, "Metric Name"), table = header.cell(row, "Body Item Label"),
                      value = aggregate(header.cell(row, "Metric Value"));
    if (!name.empty() && (table.empty() || number_in(value).value_or(0) > 0))
        launch.metrics.push_back({section, table, name, header.cell(row, "Metric Unit"), value});
}

int64_t count_in(const std::string& cell) {
    const double number = number_in(cell).value_or(0);
    return number > 0 && number < 1e18 ? static_cast<int64_t>(number) : 0;
}

/// The columns of a table of the page Source.
struct SourceColumns {
    std::size_t width, line, line_text, address, instruction;
    std::array<std::size_t, kSourceCounters.size()> counters{};
    std::vector<std::pair<std::size_t, std::string>> stalls = {};

    explicit SourceColumns(const Header& header)
        : width(header.names.size()),
          line(header.column("Line No")),
          line_text(header.column("Source", line)),
          address(header.column("Address")),
          instruction(header.column("Source", address)) {
        constexpr std::array kNames{"# Samples",
                                    "Warp Stall Sampling (Not-issued Samples)",
                                    "Instructions Executed",
                                    "Predicated-On Thread Instructions Executed",
                                    "L2 Theoretical Sectors Global",
                                    "L2 Theoretical Sectors Global Ideal",
                                    "L1 Wavefronts Shared",
                                    "L1 Wavefronts Shared Ideal"};
        static_assert(kNames.size() == kSourceCounters.size());
        for (std::size_t i = 0; i < kNames.size(); ++i) counters[i] = header.column(kNames[i]);
        if (counters[0] == width) counters[0] = header.column("Warp Stall Sampling (All Samples)");
        for (std::size_t i = 0; i < width; ++i)
            if (header.names[i].starts_with("stall_") && !header.names[i].ends_with("(Not Issued)"))
                stalls.emplace_back(i, header.names[i].substr(6));
    }
};

void add_counters(const SourceColumns& columns, const TableRow& row, SourceRow& to) {
    const auto count = [&](std::size_t column) { return column < row.size() ? count_in(row[column]) : 0; };
    for (std::size_t i = 0; i < columns.counters.size(); ++i) to.counts[i] = count(columns.counters[i]);
    std::vector<std::pair<int64_t, std::string>> stalls;
    for (const auto& [column, reason] : columns.stalls)
        if (count(column) > 0) stalls.emplace_back(-count(column), reason);
    std::sort(stalls.begin(), stalls.end());
    stalls.resize(std::min<std::size_t>(stalls.size(), 3));  // the others say little
    for (const auto& [samples, reason] : stalls)
        to.stalls += fmt::format("{}{} {}", to.stalls.empty() ? "" : ", ", reason, -samples);
}

bool all_zero(const SourceRow& row) {
    return std::all_of(row.counts.begin(), row.counts.end(), [](int64_t count) { return count == 0; });
}

/// Addresses of today's run become distances from the first instruction.
void count_from_first(std::vector<SourceRow>& instructions) {
    int64_t first = INT64_MAX;
    for (const SourceRow& each : instructions) first = std::min(first, each.address);
    for (SourceRow& each : instructions) each.address -= first;
}

}  // namespace

std::vector<ProfiledLaunch> parse_details_page(std::string_view text) {
    Header header;
    std::vector<ProfiledLaunch> launches;
    std::map<int64_t, std::size_t> places;
    for (const std::string& line : table_lines(text)) {
        TableRow row = ncu_cells(line);
        if (header.names.empty()) {
            if (Header found{row}; found.has("ID") && found.has("Process ID")) header = found;
            continue;
        }
        mend(row, header.names.size(), header.column("Rule Description"));
        const std::optional<double> id = number_in(header.cell(row, "ID"));
        const std::string section = header.cell(row, "Section Name");
        if (!id || *id < 0 || *id > 1e9 || section.empty()) continue;  // no row of this table
        const auto launch = static_cast<int64_t>(*id);
        const auto [place, is_new] = places.emplace(launch, launches.size());
        if (is_new)
            launches.push_back({launch, header.cell(row, "Kernel Name"), header.cell(row, "Grid Size"),
                                header.cell(row, "Block Size")});
        add_details_row(header, row, launches[place->second]);
    }
    if (header.names.empty())
        fail_without_table(text, "no line has a column \"ID\". Was it run with --csv --page details?");
    for (const char* needed : {"Kernel Name", "Section Name", "Metric Name", "Metric Value"})
        if (!header.has(needed))
            throw Error(fmt::format("ncu's page details has no column '{}', but {}", needed,
                                    printable(shorten(join(header.names, ", "), 300))));
    return launches;
}

std::vector<std::string> add_source_page(std::string_view text, ProfiledLaunch& launch) {
    std::optional<SourceColumns> columns;
    std::string file;
    int64_t line = 0;
    std::size_t unread = 0;
    std::set<std::tuple<std::string, int64_t, int64_t>> listed;
    for (const std::string& text_line : table_lines(text)) {
        TableRow row = ncu_cells(text_line);
        if (row.empty()) continue;
        const Header header{row};
        if (header.has("Line No") && header.has("Address")) {
            columns.emplace(header);
            line = 0;
        } else if (row[0] == "File Path" && row.size() > 1) {
            file = row[1].substr(row[1].find_last_of("/\\") + 1);
        } else if (columns && row.size() > 2) {
            const bool is_line = columns->line < row.size() && count_in(row[columns->line]) > 0;
            mend(row, columns->width, is_line ? columns->line_text : columns->instruction);
            const std::size_t needed = is_line ? columns->line_text : columns->instruction;
            if (row.size() < columns->width || needed >= row.size()) {
                ++unread;
                continue;
            }
            SourceRow made{file, line, 0, trim(row[needed])};
            if (is_line) {
                made.line = line = count_in(row[columns->line]);
            } else if (row[columns->address].starts_with("0x")) {
                made.address = static_cast<int64_t>(
                    std::strtoull(row[columns->address].c_str(), nullptr, 16) & INT64_MAX);
                if (!listed.emplace(file, line, made.address).second) continue;
            } else {
                continue;  // instructions of other lines, which stand there
            }
            add_counters(*columns, row, made);
            if (!all_zero(made)) (is_line ? launch.lines : launch.instructions).push_back(std::move(made));
        }
    }
    count_from_first(launch.instructions);
    std::vector<std::string> problems;
    if (!columns)
        problems.push_back(fmt::format("ncu shows no source lines of {}. Was it built with -lineinfo?",
                                       printable(shorten(launch.kernel, 60))));
    else if (columns->counters[0] == columns->width || columns->counters[2] == columns->width)
        problems.emplace_back("ncu's page source has no column of samples, or none of instructions executed");
    if (unread > 0)
        problems.push_back(fmt::format("{} rows of ncu's page source are not as long as its header", unread));
    return problems;
}

std::vector<ProfiledLaunch> without_repetitions(std::vector<ProfiledLaunch> launches) {
    std::vector<std::tuple<std::string, std::string, std::string>> seen;
    std::erase_if(launches, [&](const ProfiledLaunch& launch) {
        const std::tuple key{launch.kernel, launch.grid, launch.block};
        if (std::find(seen.begin(), seen.end(), key) != seen.end()) return true;
        seen.push_back(key);
        return false;
    });
    return launches;
}

}  // namespace lab
