// A table for the terminal: columns as wide as their widest cell, where there is room.
#pragma once

#include <string>
#include <vector>

#include "core/terminal.h"

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

    /// Lines of text, each indented by `indent` spaces and none wider than `columns`. Cells that do not fit
    /// are broken between words, but for those aligned right. What still does not fit has a line of its own:
    /// a name above its row, another cell below it; and one that is too long for a line loses its middle.
    [[nodiscard]] std::string text(int indent = 2, int columns = terminal_columns()) const;

    /// The same table in Markdown.
    [[nodiscard]] std::string markdown() const;

  private:
    [[nodiscard]] std::vector<std::size_t> widths(std::size_t most) const;
    [[nodiscard]] Align align(std::size_t column) const;

    std::vector<std::string> header_;
    std::vector<Align> align_;
    std::vector<std::vector<std::string>> rows_;
};

/// Below a table that shows fewer rows than there are: "  ... and 5 more; --json shows all" as a line; or "".
[[nodiscard]] std::string more_rows(std::size_t rows, std::size_t most_shown);

}  // namespace lab
