#include "core/table.h"

#include <algorithm>
#include <numeric>

#include "core/text.h"

namespace lab {

namespace {

/// A cell in lines of at most `width` columns, each with the spaces that the cell begins with. A longer word
/// has a line of its own.
std::vector<std::string> lines_of(const std::string& cell, std::size_t width) {
    if (display_width(cell) <= width) return wrapped(cell, width);
    const std::string spaces(std::min(cell.find_first_not_of(' '), width - 1), ' ');
    std::vector<std::string> lines = wrapped(trim(cell), width - spaces.size());
    for (std::string& line : lines) line = spaces + trim(line);
    return lines;
}

std::size_t widest(const std::vector<std::string>& lines) {
    std::size_t width = 0;
    for (const std::string& line : lines) width = std::max(width, display_width(line));
    return width;
}

/// Columns that a cell takes at least: those of its longest word, or all where it is not to be broken.
std::size_t least_width(const std::string& cell, Align align) {
    return align == Align::right ? display_width(cell) : widest(lines_of(cell, 1));
}

/// True if only the first cell says something: it may take the whole line.
bool is_heading(const std::vector<std::string>& row) {
    return std::all_of(row.begin() + 1, row.end(), [](const std::string& cell) { return cell.empty(); });
}

/// A bar in a cell of Markdown would end the cell.
std::string markdown_cell(std::string text) {
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
        text.insert(at, 1, '\\');
    return text;
}

}  // namespace

Table::Table(std::vector<std::string> header, std::vector<Align> align)
    : header_(std::move(header)), align_(std::move(align)) {}

void Table::add(std::vector<std::string> row) {
    row.resize(header_.size());
    rows_.push_back(std::move(row));
}

Align Table::align(std::size_t column) const {
    return column < align_.size() ? align_[column] : Align::left;
}

std::vector<std::size_t> Table::widths(std::size_t most) const {
    constexpr std::size_t kWidestValue = 20, kNarrowName = 24, kNarrowestName = 12;
    const std::size_t count = header_.size();
    std::vector<std::size_t> whole, snug, words;  // by column; snug: as wide as its longest word
    const auto measure = [&](std::size_t widest_value) {
        whole.clear(), snug.clear(), words.clear();
        for (std::size_t c = 0; c < count; ++c) {
            words.push_back(least_width(header_[c], Align::left));
            whole.push_back(display_width(header_[c]));
            snug.push_back(words[c]);
            for (const auto& row : rows_) {
                const std::size_t least = least_width(row[c], align(c));
                if (c == 0 ? is_heading(row) : least > widest_value) continue;
                whole[c] = std::max(whole[c], display_width(row[c]));
                snug[c] = std::max(snug[c], least);
            }
        }
        return std::accumulate(whole.begin(), whole.end(), 2 * (count - 1));
    };
    if (measure(most) <= most) return whole;
    std::size_t all = measure(kWidestValue);
    const auto narrow = [&](std::size_t name, std::vector<std::size_t> least) {
        for (least[0] = name; all > most; --all) {
            std::size_t widest = count;
            for (std::size_t c = 0; c < count; ++c)
                if (whole[c] > least[c] && (widest == count || whole[c] > whole[widest])) widest = c;
            if (widest == count) return;
            --whole[widest];
        }
    };
    narrow(kNarrowName, snug);
    narrow(kNarrowestName, snug);
    narrow(kNarrowestName, words);
    return whole;
}

std::string Table::text(int indent, int columns) const {
    const std::string margin(static_cast<std::size_t>(indent), ' ');
    const std::size_t most = static_cast<std::size_t>(columns) - margin.size();
    const std::vector<std::size_t> width = widths(most);
    std::string out;
    const auto line = [&](const std::vector<std::string>& cells) {
        std::string row = margin;
        for (std::size_t c = 0; c < cells.size(); ++c) {
            const std::string padding(width[c] - std::min(width[c], display_width(cells[c])), ' ');
            row += align(c) == Align::right ? padding + cells[c] : cells[c] + padding;
            row += "  ";
        }
        row.erase(row.find_last_not_of(' ') + 1);
        out += row + "\n";
    };
    const auto lines = [&](const std::vector<std::string>& row, bool is_header) {
        const bool long_name = widest(lines_of(row[0], width[0])) > width[0];
        std::vector<std::vector<std::string>> cells{
            lines_of(row[0], long_name || is_heading(row) ? most : width[0])};
        for (std::string& name : cells[0]) name = shorten_middle(name, most);
        const std::size_t skipped = long_name ? cells[0].size() : 0;  // the others stand below it
        std::size_t height = cells[0].size();
        std::vector<std::string> below;
        for (std::size_t c = 1; c < row.size(); ++c) {
            cells.emplace_back(skipped);
            if (is_header || least_width(row[c], align(c)) <= width[c])
                append(cells[c], lines_of(row[c], width[c]));
            else
                below.push_back(header_[c] + ": " + row[c]);
            if (!row[c].empty()) height = std::max(height, cells[c].size());
        }
        for (std::size_t i = 0; i < height; ++i) {
            std::vector<std::string> parts;
            for (const auto& cell : cells) parts.push_back(i < cell.size() ? cell[i] : "");
            line(parts);
        }
        for (const std::string& value : below) {
            std::string further = margin + "  ";
            for (const std::string& part : wrapped(value, most - 4)) {
                out += further + shorten_middle(part, most - 4) + "\n";
                further = margin + "    ";
            }
        }
    };
    lines(header_, true);
    std::vector<std::string> rule;
    for (const std::size_t w : width) {
        std::string dashes;
        for (std::size_t i = 0; i < w; ++i) dashes += "─";
        rule.push_back(dashes);
    }
    line(rule);
    for (const auto& row : rows_) lines(row, false);
    return out;
}

std::string Table::markdown() const {
    const auto line = [](const std::vector<std::string>& cells) {
        std::string row = "|";
        for (const std::string& cell : cells) row += " " + markdown_cell(cell) + " |";
        return row + "\n";
    };
    std::string out = line(header_);
    out += "|";
    for (std::size_t c = 0; c < header_.size(); ++c) out += align(c) == Align::right ? " ---: |" : " --- |";
    out += "\n";
    for (const auto& row : rows_) out += line(row);
    return out;
}

std::string more_rows(std::size_t rows, std::size_t most_shown) {
    if (rows <= most_shown) return "";
    return fmt::format("  ... and {} more; --json shows all\n", rows - most_shown);
}

}  // namespace lab
