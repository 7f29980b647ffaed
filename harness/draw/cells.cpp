#include "draw/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"
#include "draw/palette.h"

namespace lab {

namespace {

constexpr std::array<const char*, 4> kShades = {"░", "▒", "▓", "█"};
constexpr std::array<const char*, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/// The step of a scale that a share of 0 to 1 is on; anything above 0 is at least the lowest.
template <std::size_t N>
const char* step(const std::array<const char*, N>& steps, double share) {
    const auto n = static_cast<double>(N);
    return steps[static_cast<std::size_t>(std::clamp(std::ceil(share * n - 0.01), 1.0, n)) - 1];
}

/// Calls `use(cell, ns)` for each cell that [begin, end) touches. What takes no time counts as a little.
template <class Use>
void for_each_cell(int64_t begin_ns, int64_t end_ns, const TimeScale& scale, Use use) {
    const double begin = static_cast<double>(begin_ns - scale.begin_ns);
    const double end = std::max(static_cast<double>(end_ns - scale.begin_ns), begin + 1e-3);
    for (int cell = scale.cell_of(begin_ns); cell < scale.cells; ++cell) {
        const double from = cell * scale.ns_per_cell, to = from + scale.ns_per_cell;
        if (from >= end && cell > scale.cell_of(begin_ns)) break;
        use(cell, std::max(std::min(end, to) - std::max(begin, from), 1e-3));
    }
}

}  // namespace

int TimeScale::cell_of(int64_t ns) const {
    const double cell = static_cast<double>(ns - begin_ns) / ns_per_cell;
    return static_cast<int>(std::clamp(std::floor(cell), 0.0, static_cast<double>(cells - 1)));
}

Cells work_cells(const std::vector<Box>& boxes, const TimeScale& scale, int64_t end_ns) {
    std::vector<std::array<double, kPaints>> ns_of(static_cast<std::size_t>(scale.cells));
    for (const Box& box : boxes)
        for_each_cell(box.begin_ns, box.end_ns, scale, [&](int cell, double ns) {
            ns_of[static_cast<std::size_t>(cell)][static_cast<std::size_t>(box.paint)] += ns;
        });
    Cells cells(ns_of.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto most = std::max_element(ns_of[i].begin(), ns_of[i].end());
        const int paint = static_cast<int>(most - ns_of[i].begin());
        const double begin_ns =
            static_cast<double>(scale.begin_ns) + static_cast<double>(i) * scale.ns_per_cell;
        if (*most > 0) {
            double kernel_ns = 0;
            for (int kernel = 0; kernel <= kPaintOtherKernels; ++kernel)
                kernel_ns += ns_of[i][static_cast<std::size_t>(kernel)];
            cells[i] = {paint <= kPaintOtherKernels ? step(kShades, kernel_ns / scale.ns_per_cell)
                                                    : look_of(paint).glyph,
                        look_of(paint).terminal};
        } else if (begin_ns < static_cast<double>(end_ns)) {
            cells[i] = {look_of(kPaintIdle).glyph, look_of(kPaintIdle).terminal};
        }
    }
    return cells;
}

Cells range_cells(const std::vector<Box>& boxes, int lane, const TimeScale& scale) {
    Cells cells(static_cast<std::size_t>(scale.cells));
    for (const Box& box : boxes) {
        if (box.lane != lane) continue;
        const bool waits = box.paint == kPaintWait;
        const Look& look = look_of(box.paint);
        const int first = scale.cell_of(box.begin_ns);
        const int last = std::max(first, scale.cell_of(std::max(box.begin_ns, box.end_ns - 1)));
        const auto put = [&](int cell, const std::string& glyph) {
            cells[static_cast<std::size_t>(cell)] = {glyph, look.terminal};
        };
        for (int cell = first; cell <= last; ++cell) put(cell, look.glyph);
        put(first, last == first ? "│" : waits ? "╞" : "├");
        if (last > first) put(last, waits ? "╡" : "┤");
        if (last - first < 5) continue;
        const auto begin = static_cast<std::size_t>(first) + 1, end = static_cast<std::size_t>(last);
        write(cells, begin, shorten(box.name, end - begin), look.terminal);
    }
    return cells;
}

Cells idle_cells(const Intervals& idle, const TimeScale& scale) {
    std::vector<double> ns_of(static_cast<std::size_t>(scale.cells));
    for (const Interval& gap : idle)
        for_each_cell(gap.begin, gap.end, scale,
                      [&](int cell, double ns) { ns_of[static_cast<std::size_t>(cell)] += ns; });
    Cells cells(ns_of.size());
    for (std::size_t i = 0; i < cells.size(); ++i)
        if (ns_of[i] >= scale.ns_per_cell / 16)
            cells[i] = {step(kBars, ns_of[i] / scale.ns_per_cell), look_of(kPaintIdle).terminal};
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
