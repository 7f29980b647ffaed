// A table for the terminal: columns as wide as their widest cell.
#pragma once

#include <string>
#include <vector>

namespace lab {

/// Of a table's column.
enum class Align { left, right };

/// A header and rows of as many cells.
class Table {
  public:
    /// Columns for which no alignment is given are aligned left.
    explicit Table(std::vector<std::string> header, std::vector<Align> align = {});

    /// A row of cells, by column; missing ones are empty.
    void add(std::vector<std::string> row);
    [[nodiscard]] bool empty() const { return rows_.empty(); }

    /// Lines of text, each indented by `indent` spaces. Where they would be wider than `columns`, cells are
    /// broken into lines, those of the first column before others; 0 is as wide as it takes.
    [[nodiscard]] std::string text(int indent = 2, int columns = 0) const;

    /// The same table in Markdown.
    [[nodiscard]] std::string markdown() const;

  private:
    [[nodiscard]] std::vector<std::size_t> widths(int indent, int columns) const;
    [[nodiscard]] Align align(std::size_t column) const;

    std::vector<std::string> header_;
    std::vector<Align> align_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace lab
