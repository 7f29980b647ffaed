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
        : timeline_(timeline), columns_(std::max(1, columns)), colour_(colour) {
        label_columns_ = static_cast<int>(display_width(kIdleName));
        for (const TimelineRow& row : timeline.rows)
            label_columns_ = std::max(label_columns_, static_cast<int>(display_width(row.short_name)));
        label_columns_ = std::min(label_columns_, columns_ / 3);
        scale_.begin_ns = timeline.begin_ns;
        scale_.cells = std::max(1, columns_ - label_columns_ - 1);
        span_ns_ = std::max<int64_t>({scale_span_ns, timeline.span_ns(), 1});
        scale_.ns_per_cell = static_cast<double>(span_ns_) / scale_.cells;
    }

    std::string print() {
        const std::string& title = timeline_.options.title;
        const std::string duration = format_ns(static_cast<double>(timeline_.span_ns()));
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
        const std::string fitted = shorten(label, label_columns_);
        const std::size_t blanks = static_cast<std::size_t>(label_columns_) - display_width(fitted);
        std::string drawn = fitted + std::string(blanks, ' ');
        if (columns_ > label_columns_ + 1) drawn += " " + to_text(cells, colour_);
        text_ += drawn.erase(drawn.find_last_not_of(' ') + 1) + "\n";
    }

    void print_row(const TimelineRow& row) {
        if (row.boxes.empty() || row.boxes.front().paint < kPaintRange)
            return line(row.short_name, work_cells(row.boxes, scale_, timeline_.end_ns));
        for (int lane = 0; lane < std::min(row.lanes, kMostTerminalLanes); ++lane)
            line(lane == 0 ? row.short_name : "", range_cells(row.boxes, lane, scale_));
        if (row.lanes > kMostTerminalLanes)
            plain(fmt::format("{} of {} lanes of {}", kMostTerminalLanes, row.lanes, row.name));
    }

    void print_axis() {
        Cells marks(static_cast<std::size_t>(scale_.cells), Cell{"─"}), labels(marks.size(), Cell{" "});
        int free_from = 0;
        for (const Tick& tick :
             axis_ticks(span_ns_, std::max(1, scale_.cells / 9), timeline_.begin_ns - timeline_.origin_ns)) {
            const int cell = scale_.cell_of(timeline_.begin_ns + tick.ns);
            const int width = static_cast<int>(display_width(tick.label));
            marks[static_cast<std::size_t>(cell)] = {"┴"};
            if (cell < free_from || cell + width > scale_.cells) continue;
            write(labels, static_cast<std::size_t>(cell), tick.label);
            free_from = cell + width + 1;
        }
        line("", marks);
        line("", labels);
    }

    /// What the glyphs stand for. Without colour all kernels look alike.
    std::vector<LegendEntry> legend() const {
        std::vector<LegendEntry> entries = legend_of({&timeline_, 1});
        for (LegendEntry& entry : entries)
            if (entry.paint == kPaintIdle) entry.text = idle_words(timeline_);
        const auto is_kernel = [](const LegendEntry& e) { return e.paint <= kPaintOtherKernels; };
        if (!colour_ && !entries.empty() && is_kernel(entries.front())) {
            std::erase_if(entries, is_kernel);
            entries.insert(entries.begin(), {0, "kernels (░▒▓ for part of the time)"});
        }
        return entries;
    }

    /// As many entries of the legend to a line as fit.
    void print_legend() {
        if (columns_ < 4) return;
        std::string words;
        int used = 0;
        for (const LegendEntry& entry : legend()) {
            const Look& look = look_of(entry.paint);
            const std::string what = shorten(entry.text, columns_ - 2);
            const int width = 2 + static_cast<int>(display_width(what));
            const bool fits = used == 0 || used + 3 + width <= columns_;
            words += used == 0 ? "" : fits ? "   " : "\n";
            used = (used == 0 || !fits ? 0 : used + 3) + width;
            words += to_text({{entry.paint == kPaintIdle ? "▄" : look.glyph, look.terminal}}, colour_) + " " +
                     what;
        }
        if (used > 0) text_ += words + "\n";
    }

    const Timeline& timeline_;
    int columns_;
    bool colour_;
    int label_columns_ = 0;
    int64_t span_ns_ = 1;
    TimeScale scale_;
    std::string text_;
};

}  // namespace

std::string timeline_terminal(const Timeline& timeline, int columns, bool colour, int64_t scale_span_ns) {
    return Page(timeline, columns, colour, scale_span_ns).print();
}

}  // namespace lab
