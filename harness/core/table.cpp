#include "core/table.h"

#include <algorithm>

#include "core/text.h"

namespace lab {

namespace {

/// A cell in lines of at most `width` columns, each with the spaces that the cell begins with. A longer word
/// is broken, unless it is our own colour.
std::vector<std::string> lines_of(const std::string& cell, std::size_t width, bool break_words) {
    if (display_width(cell) <= width) return {cell};
    const std::string spaces(std::min(cell.find_first_not_of(' '), width - 1), ' ');
    std::vector<std::string> lines = wrapped(trim(cell), width - spaces.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
        lines[i].insert(0, spaces);
        const std::u32string all = decode_utf8(lines[i]);
        std::size_t fits = 0, columns = 0;
        while (fits < all.size() && (columns += static_cast<std::size_t>(columns_of(all[fits]))) <= width)
            ++fits;
        if (!break_words || fits == 0 || fits == all.size() || all[0] == U'\x1b') continue;
        lines[i] = encode_utf8(all.substr(0, fits));
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(i) + 1, encode_utf8(all.substr(fits)));
    }
    return lines;
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

std::vector<std::size_t> Table::widths(int indent, int columns) const {
    constexpr std::size_t kNarrowest = 24, kNarrowestValue = 10;
    std::vector<std::size_t> width;
    std::size_t all = static_cast<std::size_t>(indent);
    for (std::size_t c = 0; c < header_.size(); ++c) {
        width.push_back(display_width(header_[c]));
        for (const auto& row : rows_) width[c] = std::max(width[c], display_width(row[c]));
        all += width[c] + (c > 0 ? 2 : 0);
    }
    const std::size_t most = columns > 0 ? static_cast<std::size_t>(columns) : all;
    if (all > most && width[0] > kNarrowest) {
        const std::size_t less = std::min(width[0] - kNarrowest, all - most);
        width[0] -= less, all -= less;
    }
    for (; all > most; --all) {
        const auto widest = std::max_element(width.begin() + 1, width.end());
        if (widest == width.end() || *widest <= kNarrowestValue) break;
        --*widest;
    }
    return width;
}

std::string Table::text(int indent, int columns) const {
    const std::vector<std::size_t> width = widths(indent, columns);
    std::string out;
    const auto line = [&](const std::vector<std::string>& cells) {
        std::string row(static_cast<std::size_t>(indent), ' ');
        for (std::size_t c = 0; c < cells.size(); ++c) {
            const std::string padding(width[c] - std::min(width[c], display_width(cells[c])), ' ');
            row += align(c) == Align::right ? padding + cells[c] : cells[c] + padding;
            row += "  ";
        }
        row.erase(row.find_last_not_of(' ') + 1);
        out += row + "\n";
    };
    const auto lines = [&](const std::vector<std::string>& row) {
        std::vector<std::vector<std::string>> cells;
        std::size_t most = 0;
        for (std::size_t c = 0; c < row.size(); ++c) {
            cells.push_back(lines_of(row[c], width[c], c > 0));
            if (c > 0 && display_width(cells[0][0]) > width[0])  // a long name: the others stand below it
                cells[c].insert(cells[c].begin(), "");
            most = std::max(most, cells[c].size());
        }
        for (std::size_t i = 0; i < most; ++i) {
            std::vector<std::string> parts;
            for (const auto& cell : cells) parts.push_back(i < cell.size() ? cell[i] : "");
            line(parts);
        }
    };
    lines(header_);
    std::vector<std::string> rule;
    for (const std::size_t w : width) {
        std::string dashes;
        for (std::size_t i = 0; i < w; ++i) dashes += "─";
        rule.push_back(dashes);
    }
    line(rule);
    for (const auto& row : rows_) lines(row);
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

}  // namespace lab
