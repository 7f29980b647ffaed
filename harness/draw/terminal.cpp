#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/text.h"
#include "draw/curves.h"
#include "draw/palette.h"
#include "draw/rows.h"
#include "draw/timeline.h"

namespace lab {

namespace {

constexpr const char* kIdleName = "GPU idle";
constexpr int kMostTerminalLanes = 4;  ///< of one row of ranges

constexpr std::array<const char*, 4> kShades = {"░", "▒", "▓", "█"};
constexpr std::array<const char*, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

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
    [[nodiscard]] std::size_t cell_of(int64_t ns) const {
        const double cell = (ns - begin_ns) / ns_per_cell;
        return static_cast<std::size_t>(std::clamp(std::floor(cell), 0.0, static_cast<double>(cells - 1)));
    }
};

/// The step of a scale that a share of 0 to 1 is on; anything above 0 is at least the lowest.
template <std::size_t N>
const char* step(const std::array<const char*, N>& steps, double share) {
    const double n = N, number = std::clamp(std::ceil(share * n - 0.01), 1.0, n);
    return steps[static_cast<std::size_t>(number) - 1];
}

/// Calls `use(cell, ns)` for each cell that [begin, end) touches. What takes no time counts as a little.
template <class Use>
void for_each_cell(int64_t begin_ns, int64_t end_ns, const TimeScale& scale, Use use) {
    const double begin = begin_ns - scale.begin_ns;
    const double end = std::max<double>(end_ns - scale.begin_ns, begin + 1e-3);
    const std::size_t first = scale.cell_of(begin_ns);
    for (std::size_t cell = first; cell < scale.cells; ++cell) {
        const double from = cell * scale.ns_per_cell, to = from + scale.ns_per_cell;
        if (from >= end && cell > first) break;
        use(cell, std::max(std::min(end, to) - std::max(begin, from), 1e-3));
    }
}

/// Do these boxes say what a thread did on its CPU?
bool is_state(const std::vector<Box>& boxes) {
    return !boxes.empty() && boxes.front().paint >= Paint::running;
}

/// What filled most of each cell. Kernels grow from a light shade to a full block with their share of the
/// cell; where `end_ns` has not come yet and nothing runs on a GPU there is a dot.
Cells work_cells(const std::vector<Box>& boxes, const TimeScale& scale, int64_t end_ns) {
    const bool is_thread = is_state(boxes);
    std::vector<ByPaint<double>> ns_of(scale.cells);
    for (const Box& box : boxes)
        for_each_cell(box.begin_ns, box.end_ns, scale,
                      [&](std::size_t cell, double ns) { ns_of[cell][box.paint] += ns; });
    Cells cells(scale.cells);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto first = ns_of[i].begin(), most = std::max_element(first, ns_of[i].end());
        const double begin_ns = scale.begin_ns + i * scale.ns_per_cell;
        if (*most == 0 && (is_thread || begin_ns >= end_ns)) continue;
        const Paint paint = *most > 0 ? Paint(most - first) : Paint::idle;
        const double kernel_ns = std::accumulate(first, &ns_of[i][Paint::other_kernels] + 1, 0.0);
        cells[i] = {is_kernel(paint) ? step(kShades, kernel_ns / scale.ns_per_cell) : look_of(paint).glyph,
                    look_of(paint).terminal};
    }
    return cells;
}

/// Writes `words` into the cells from `at` on, in which they fit.
void write(Cells& cells, std::size_t at, std::string_view words, int colour = -1) {
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

/// Ranges and waits of one lane, as lines with their names where they fit.
Cells range_cells(const std::vector<Box>& boxes, int lane, const TimeScale& scale) {
    Cells cells(scale.cells);
    const auto draw = [&](const Box& box) {
        const bool waits = box.paint == Paint::wait;
        const Look& look = look_of(box.paint);
        const std::size_t first = scale.cell_of(box.begin_ns);
        const std::size_t last = std::max(first, scale.cell_of(std::max(box.begin_ns, box.end_ns - 1)));
        std::fill(cells.begin() + static_cast<std::ptrdiff_t>(first),
                  cells.begin() + static_cast<std::ptrdiff_t>(last) + 1, Cell{look.glyph, look.terminal});
        cells[first].glyph = last == first ? "│" : waits ? "╞" : "├";
        if (last > first) cells[last].glyph = waits ? "╡" : "┤";
        if (last - first >= 5) write(cells, first + 1, shorten(box.name, last - first - 1), look.terminal);
    };
    for (const bool waits : {false, true})  // over short calls in the same cell
        for (const Box& box : boxes)
            if (box.lane == lane && (box.paint == Paint::wait) == waits) draw(box);
    return cells;
}

/// How much of each cell was idle, from a low bar to a full block.
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

/// A metric in percent, as bars.
Cells curve_cells(const Curve& curve, const TimeScale& scale) {
    Cells cells(scale.cells);
    const auto means = columns_of(curve, scale.begin_ns, scale.ns_per_cell, scale.cells);
    for (std::size_t i = 0; i < cells.size(); ++i)
        if (means[i] && *means[i] > 0)
            cells[i] = {step(kBars, *means[i] / 100), look_of(Paint::call).terminal};
    return cells;
}

/// The cells as text.
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

std::size_t columns_of_labels(const Timeline& timeline) {
    std::size_t columns = display_width(kIdleName);
    for (const TimelineRow& row : timeline.rows) columns = std::max(columns, display_width(row.name));
    for (const Curve& curve : timeline.curves) columns = std::max(columns, display_width(label_of(curve)));
    return 1 + columns;
}

class Page {
  public:
    /// `label_columns`, `span_ns`: the most of all timelines that are printed above each other.
    Page(const Timeline& timeline, int columns, bool colour, std::size_t label_columns, int64_t span_ns)
        : timeline_(timeline),
          columns_(static_cast<std::size_t>(std::max(1, columns))),
          colour_(colour),
          label_columns_(std::min(label_columns, columns_ / 3)),
          span_ns_(std::max<int64_t>(span_ns, 1)) {
        scale_.begin_ns = timeline.begin_ns;
        scale_.cells = columns_ > label_columns_ + 1 ? columns_ - label_columns_ - 1 : 1;
        scale_.ns_per_cell = static_cast<double>(span_ns_) / scale_.cells;
    }

    std::string print() {
        const std::string& title = timeline_.options.title;
        const std::string duration = format_ns(timeline_.span_ns());
        plain(printable(title.empty() ? duration : fmt::format("{}: {}", title, duration)));
        if (!timeline_.options.label.empty()) plain(printable(timeline_.options.label));
        if (timeline_.span_ns() <= 0) {
            plain("No GPU work and no NVTX range in this capture.");
            return text_;
        }
        for (const TimelineRow& row : timeline_.rows) {
            if (begins_group(timeline_, row)) plain(row.group);
            print_row(row);
        }
        line(kIdleName, idle_cells(timeline_.idle, scale_), "");
        if (!timeline_.curves.empty()) plain(kMetrics);
        for (const Curve& curve : timeline_.curves) line(label_of(curve), curve_cells(curve, scale_));
        print_axis();
        print_legend();
        return text_;
    }

  private:
    void plain(std::string_view words) {
        for (const std::string& line : wrapped(words, columns_))
            text_ += shorten_middle(line, columns_) + "\n";
    }

    void line(const std::string& label, const Cells& cells, const char* indent = " ") {
        std::string drawn = shorten(indent + label, label_columns_);
        drawn.append(label_columns_ - display_width(drawn), ' ');
        if (columns_ > label_columns_ + 1) drawn += " " + to_text(cells, colour_);
        text_ += drawn.erase(drawn.find_last_not_of(' ') + 1) + "\n";
    }

    void print_row(const TimelineRow& row) {
        if (row.boxes.empty() || row.boxes.front().paint < Paint::range || is_state(row.boxes))
            return line(row.name, work_cells(row.boxes, scale_, timeline_.end_ns));
        for (int lane = 0; lane < std::min(row.lanes, kMostTerminalLanes); ++lane)
            line(lane == 0 ? row.name : "", range_cells(row.boxes, lane, scale_));
        if (row.lanes > kMostTerminalLanes)
            plain(fmt::format("{} of {} lanes of {}", kMostTerminalLanes, row.lanes, row.name));
    }

    void print_axis() {
        Cells marks(scale_.cells, Cell{"─"}), labels(scale_.cells);
        std::size_t free_from = 0;
        const int most_ticks = std::max(1, static_cast<int>(scale_.cells / 9));
        for (const Tick& tick : axis_ticks(span_ns_, most_ticks, timeline_.begin_ns - timeline_.origin_ns)) {
            const std::size_t cell = scale_.cell_of(timeline_.begin_ns + tick.ns);
            const std::size_t end = cell + display_width(tick.label);
            marks[cell] = {"┴"};
            if (cell < free_from || end > scale_.cells) continue;
            write(labels, cell, tick.label);
            free_from = end + 1;
        }
        line("", marks);
        line("", labels);
    }

    /// What the glyphs stand for. Without colour all kernels look alike.
    [[nodiscard]] std::vector<LegendEntry> legend() const {
        std::vector<LegendEntry> entries = legend_of({&timeline_, 1});
        if (!colour_ && std::erase_if(entries, [](const LegendEntry& e) { return is_kernel(e.paint); }) > 0)
            entries.insert(entries.begin(), {Paint::kernel_1, "kernels"});
        const auto kernel =
            std::find_if(entries.begin(), entries.end(), [](auto& e) { return is_kernel(e.paint); });
        if (kernel != entries.end()) kernel->text += " (░▒▓ for part of the time)";
        for (LegendEntry& entry : entries)
            if (entry.paint == Paint::idle) entry.text = idle_words(timeline_);
        return entries;
    }

    /// As many entries of the legend to a line as fit.
    void print_legend() {
        if (columns_ < 4) return;
        std::size_t used = 0;  // of the line
        for (const LegendEntry& entry : legend()) {
            const Look& look = look_of(entry.paint);
            const std::string meaning = shorten_middle(entry.text, columns_ - 2);
            const std::size_t width = 2 + display_width(meaning);
            const bool fits = used + 3 + width <= columns_;
            text_ += used == 0 ? "" : fits ? "   " : "\n";
            used = (used == 0 || !fits ? 0 : used + 3) + width;
            const char* const glyph = entry.paint == Paint::idle ? "▄" : look.glyph;
            text_ += to_text({{glyph, look.terminal}}, colour_) + " " + meaning;
        }
        if (used > 0) text_ += "\n";
    }

    const Timeline& timeline_;
    std::size_t columns_;
    bool colour_;
    std::size_t label_columns_;
    int64_t span_ns_;
    TimeScale scale_;
    std::string text_;
};

}  // namespace

std::string timeline_terminal(const std::vector<Timeline>& above_each_other, int columns, bool colour) {
    std::size_t label_columns = 0;
    int64_t span_ns = 0;
    for (const Timeline& timeline : above_each_other) {
        label_columns = std::max(label_columns, columns_of_labels(timeline));
        span_ns = std::max(span_ns, timeline.span_ns());
    }
    std::string text;
    for (const Timeline& timeline : above_each_other)
        text += (text.empty() ? "" : "\n") + Page(timeline, columns, colour, label_columns, span_ns).print();
    return text;
}

}  // namespace lab
