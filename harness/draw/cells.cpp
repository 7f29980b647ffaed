#include "draw/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/text.h"
#include "draw/palette.h"

namespace lab {

namespace {

constexpr std::array<const char*, 4> kShades = {"░", "▒", "▓", "█"};
constexpr std::array<const char*, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/// The step of a scale that a share of 0 to 1 is on; anything above 0 is at least the lowest.
template <std::size_t N>
const char* step(const std::array<const char*, N>& steps, double share) {
    const double n = N;
    return steps[(std::clamp(std::ceil(share * n - 0.01), 1.0, n)) - 1];
}

/// Calls `use(cell, ns)` for each cell that [begin, end) touches. What takes no time counts as a little.
template <class Use>
void for_each_cell(int64_t begin_ns, int64_t end_ns, const TimeScale& scale, Use use) {
    const double begin = (begin_ns - scale.begin_ns);
    const double end = std::max(static_cast<double>(end_ns - scale.begin_ns), begin + 1e-3);
    const std::size_t first = scale.cell_of(begin_ns);
    for (std::size_t cell = first; cell < scale.cells; ++cell) {
        const double from = cell * scale.ns_per_cell, to = from + scale.ns_per_cell;
        if (from >= end && cell > first) break;
        use(cell, std::max(std::min(end, to) - std::max(begin, from), 1e-3));
    }
}

}  // namespace

std::size_t TimeScale::cell_of(int64_t ns) const {
    const double cell = (ns - begin_ns) / ns_per_cell;
    return static_cast<std::size_t>(std::clamp(std::floor(cell), 0.0, static_cast<double>(cells - 1)));
}

Cells work_cells(const std::vector<Box>& boxes, const TimeScale& scale, int64_t end_ns) {
    std::vector<ByPaint<double>> ns_of(scale.cells);
    for (const Box& box : boxes)
        for_each_cell(box.begin_ns, box.end_ns, scale,
                      [&](std::size_t cell, double ns) { ns_of[cell][box.paint] += ns; });
    Cells cells(scale.cells);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto first = ns_of[i].begin(), most = std::max_element(first, ns_of[i].end());
        const double begin_ns = scale.begin_ns + i * scale.ns_per_cell;
        if (*most == 0 && begin_ns >= end_ns) continue;
        const Paint paint = *most > 0 ? Paint(most - first) : Paint::idle;
        const double kernel_ns = std::accumulate(first, &ns_of[i][Paint::other_kernels] + 1, 0.0);
        cells[i] = {is_kernel(paint) ? step(kShades, kernel_ns / scale.ns_per_cell) : look_of(paint).glyph,
                    look_of(paint).terminal};
    }
    return cells;
}

Cells range_cells(const std::vector<Box>& boxes, int lane, const TimeScale& scale) {
    Cells cells(scale.cells);
    for (const Box& box : boxes) {
        if (box.lane != lane) continue;
        const bool waits = box.paint == Paint::wait;
        const Look& look = look_of(box.paint);
        const std::size_t first = scale.cell_of(box.begin_ns);
        const std::size_t last = std::max(first, scale.cell_of(std::max(box.begin_ns, box.end_ns - 1)));
        std::fill(cells.begin() + static_cast<std::ptrdiff_t>(first),
                  cells.begin() + static_cast<std::ptrdiff_t>(last) + 1, Cell{look.glyph, look.terminal});
        cells[first].glyph = last == first ? "│" : waits ? "╞" : "├";
        if (last > first) cells[last].glyph = waits ? "╡" : "┤";
        if (last - first >= 5) write(cells, first + 1, shorten(box.name, last - first - 1), look.terminal);
    }
    return cells;
}

Cells idle_cells(const Intervals& idle, const TimeScale& scale) {
    std::vector<double> ns_of(scale.cells);
    for (const Interval& gap : idle)
        for_each_cell(gap.begin, gap.end, scale, [&](std::size_t cell, double ns) { ns_of[cell] += ns; });
    Cells cells(scale.cells);
    for (std::size_t i = 0; i < cells.size(); ++i)
        if (ns_of[i] >= scale.ns_per_cell / 16)
            cells[i] = {step(kBars, ns_of[i] / scale.ns_per_cell), look_of(Paint::idle).terminal};
    return cells;
}

void write(Cells& cells, std::size_t at, std::string_view words, int colour) {
    for (const char32_t character : decode_utf8(words)) {
        const std::string glyph = encode_utf8({&character, 1});
        const int columns = columns_of(character);
        if (columns == 0 && at > 0)
            cells[at - 1].glyph += glyph;
        else
            cells[at++] = {glyph, colour};
        if (columns == 2) cells[at++] = {"", colour};
    }
}

std::string to_text(const Cells& cells, bool colour) {
    std::size_t used = cells.size();
    while (used > 0 && cells[used - 1].glyph == " ") --used;
    std::string text;
    int now = -1;
    for (std::size_t i = 0; i < used; ++i) {
        if (colour && cells[i].colour != now) {
            now = cells[i].colour;
            text += now < 0 ? "\x1b[0m" : fmt::format("\x1b[38;5;{}m", now);
        }
        text += cells[i].glyph;
    }
    return now < 0 ? text : text + "\x1b[0m";
}

}  // namespace lab
