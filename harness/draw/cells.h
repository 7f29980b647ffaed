// A line of a terminal in which each cell is a slice of time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "draw/timeline.h"

namespace lab {

/// One character of a line.
struct Cell {
    std::string glyph = " ";
    int colour = -1;  ///< of the 256-colour palette; -1: the terminal's own
};
using Cells = std::vector<Cell>;

/// Which time each cell of a line stands for.
struct TimeScale {
    int64_t begin_ns = 0;
    double ns_per_cell = 1;
    std::size_t cells = 1;

    /// The cell of this time, within the line.
    [[nodiscard]] std::size_t cell_of(int64_t ns) const;
};

/// What filled most of each cell. Kernels grow from a light shade to a full block with their share of the
/// cell; where `end_ns` has not come yet and nothing runs there is a dot.
[[nodiscard]] Cells work_cells(const std::vector<Box>& boxes, const TimeScale& scale, int64_t end_ns);

/// Ranges and waits of one lane, as lines with their names where they fit.
[[nodiscard]] Cells range_cells(const std::vector<Box>& boxes, int lane, const TimeScale& scale);

/// How much of each cell was idle, from a low bar to a full block.
[[nodiscard]] Cells idle_cells(const Intervals& idle, const TimeScale& scale);

/// Writes `words` into the cells from `at` on, in which they fit.
void write(Cells& cells, std::size_t at, std::string_view words, int colour = -1);

/// The cells as text.
[[nodiscard]] std::string to_text(const Cells& cells, bool colour);

}  // namespace lab
