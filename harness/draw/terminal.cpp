#include "draw/terminal.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "draw/axis.h"
#include "draw/cells.h"
#include "draw/palette.h"

namespace lab {

namespace {

constexpr const char* kIdleName = "GPU idle";
constexpr int kMostTerminalLanes = 4;  ///< of one row of ranges

class Page {
  public:
    Page(const Timeline& timeline, int columns, bool colour, int64_t scale_span_ns)
        : timeline_(timeline), columns_(static_cast<std::size_t>(std::max(1, columns))), colour_(colour) {
        label_columns_ = display_width(kIdleName);
        for (const TimelineRow& row : timeline.rows)
            label_columns_ = std::max(label_columns_, display_width(row.short_name));
        label_columns_ = std::min(label_columns_, columns_ / 3);
        span_ns_ = std::max<int64_t>({scale_span_ns, timeline.span_ns(), 1});
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
        for (const TimelineRow& row : timeline_.rows) print_row(row);
        line(kIdleName, idle_cells(timeline_.idle, scale_));
        print_axis();
        print_legend();
        return text_;
    }

  private:
    void plain(std::string_view words) { text_ += shorten(words, columns_) + "\n"; }

    void line(const std::string& label, const Cells& cells) {
        std::string drawn = shorten(label, label_columns_);
        drawn.append(label_columns_ - display_width(drawn), ' ');
        if (columns_ > label_columns_ + 1) drawn += " " + to_text(cells, colour_);
        text_ += drawn.erase(drawn.find_last_not_of(' ') + 1) + "\n";
    }

    void print_row(const TimelineRow& row) {
        if (row.boxes.empty() || row.boxes.front().paint < Paint::range)
            return line(row.short_name, work_cells(row.boxes, scale_, timeline_.end_ns));
        for (int lane = 0; lane < std::min(row.lanes, kMostTerminalLanes); ++lane)
            line(lane == 0 ? row.short_name : "", range_cells(row.boxes, lane, scale_));
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
            entries.insert(entries.begin(), {Paint::kernel_1, "kernels (░▒▓ for part of the time)"});
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
            const std::string meaning = shorten(entry.text, columns_ - 2);
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
    std::size_t label_columns_ = 0;
    int64_t span_ns_ = 1;
    TimeScale scale_;
    std::string text_;
};

}  // namespace

std::string timeline_terminal(const Timeline& timeline, int columns, bool colour, int64_t scale_span_ns) {
    return Page(timeline, columns, colour, scale_span_ns).print();
}

}  // namespace lab
