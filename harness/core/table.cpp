#include "core/table.h"

#include <algorithm>

#include "core/text.h"

namespace lab {

Table::Table(std::vector<std::string> header, std::vector<Align> align)
    : header_(std::move(header)), align_(std::move(align)) {}

void Table::add(std::vector<std::string> row) {
    row.resize(header_.size());
    rows_.push_back(std::move(row));
}

Table::Align Table::align(std::size_t column) const {
    return column < align_.size() ? align_[column] : Align::left;
}

std::string Table::text(int indent) const {
    std::vector<std::size_t> width;
    for (std::size_t c = 0; c < header_.size(); ++c) {
        width.push_back(display_width(header_[c]));
        for (const auto& row : rows_) width[c] = std::max(width[c], display_width(row[c]));
    }
    std::string out;
    const auto line = [&](const std::vector<std::string>& cells) {
        std::string row(static_cast<std::size_t>(indent), ' ');
        for (std::size_t c = 0; c < cells.size(); ++c) {
            const std::string padding(width[c] - display_width(cells[c]), ' ');
            row += align(c) == Align::right ? padding + cells[c] : cells[c] + padding;
            row += "  ";
        }
        row.erase(row.find_last_not_of(' ') + 1);
        out += row + "\n";
    };
    line(header_);
    std::vector<std::string> rule;
    for (const std::size_t w : width) {
        std::string dashes;
        for (std::size_t i = 0; i < w; ++i) dashes += "─";
        rule.push_back(dashes);
    }
    line(rule);
    for (const auto& row : rows_) line(row);
    return out;
}

std::string Table::markdown() const {
    const auto line = [](const std::vector<std::string>& cells) {
        std::string row = "|";
        for (std::string cell : cells) {
            for (std::size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2)
                cell.insert(at, 1, '\\');
            row += " " + cell + " |";
        }
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
