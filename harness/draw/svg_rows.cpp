#include "draw/svg_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "core/text.h"
#include "draw/marks.h"
#include "draw/palette.h"
#include "draw/svg_page.h"

namespace lab {

namespace {

constexpr double kThinPx = 0.6;    ///< a box narrower than this is drawn together with its like
constexpr double kStripePx = 3;    ///< narrower ones are stripes: too fine to point at
constexpr double kSeenPalePx = 8;  ///< a narrower one is not seen to be pale
constexpr double kIdlePx = 12, kIdleGapPx = 4, kRowGapPx = 4, kBoxFontPx = 10.5;
constexpr int kMostLanes = 8;  ///< of one row; a figure that shows more is a wall

int lanes_drawn(const TimelineRow& row) {
    return std::min(row.lanes, kMostLanes);
}
double lane_px(const TimelineRow& row) {
    return row.lanes == 1 ? 20 : 14;
}
double row_px(const TimelineRow& row) {
    return lanes_drawn(row) * lane_px(row);
}

/// Narrow marks of one paint, close to each other: they keep their places, and share one element and one
/// hover text, since a pointer cannot tell them apart.
class Stripes {
  public:
    explicit Stripes(double height_px) : height_px_(height_px) {}

    /// Whether the mark, at `x` and `width` wide, is of these stripes; if so, it is added.
    bool add(const Mark& mark, double x, double width) {
        const bool alike = !sum_.first || (mark.paint == sum_.paint && x - end_px_ < kStripePx);
        if (mark.boxes > 1 || width >= kStripePx || !alike) return false;
        if (!sum_.first) {
            sum_ = mark;
        } else {
            sum_.end_ns = mark.end_ns;
            sum_.boxes += mark.boxes;
            sum_.boxes_ns += mark.boxes_ns;
            sum_.one_name = sum_.one_name && sum_.first->name == mark.first->name;
        }
        end_px_ = x + width;
        fmt::format_to(std::back_inserter(path_), "M{} 0v{}h{}V0", px(x), px(height_px_), px(width));
        return true;
    }

    void append_to(std::string& svg) {
        if (sum_.first)
            fmt::format_to(std::back_inserter(svg), "<path d=\"{}\"><title>{}</title></path>\n", path_,
                           xml_text(hover_of(sum_)));
        sum_ = {};
        path_.clear();
    }

  private:
    double height_px_, end_px_ = 0;
    Mark sum_;
    std::string path_;
};

class Rows {
  public:
    Rows(std::string& svg, const Timeline& timeline, double px_per_ns)
        : svg_(svg), timeline_(timeline), px_per_ns_(px_per_ns) {}

    /// Returns the first paint that is drawn pale.
    std::optional<int> append(double top_px) {
        for (const TimelineRow& row : timeline_.rows) {
            append_row(row, top_px);
            top_px += row_px(row) + kRowGapPx;
        }
        append_idle(top_px + kIdleGapPx);
        return pale_;
    }

  private:
    template <class... Args>
    void put(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(svg_), format, std::forward<Args>(args)...);
    }

    /// From the plot's left edge.
    [[nodiscard]] double x_of(const Mark& mark) const {
        return static_cast<double>(mark.begin_ns - timeline_.begin_ns) * px_per_ns_;
    }
    [[nodiscard]] double width_of(const Mark& mark) const {
        return static_cast<double>(mark.end_ns - mark.begin_ns) * px_per_ns_;
    }

    void append_label(double middle_px, const std::string& name, const std::string& short_name) {
        constexpr double kRoom = kPlotLeft - kPageMargin - 8;
        const std::string& text = text_px(name, kNoteFont) <= kRoom ? name : short_name;
        put("<text class=\"ink\" x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"#1f2328\">{}</text>\n",
            px(kPageMargin), px(middle_px + 4), kNoteFont, xml_text(fit_px(text, kNoteFont, kRoom)));
    }

    /// The names of boxes that are wide enough for them.
    void append_names(const std::vector<Mark>& marks, double middle_px) {
        for (const Mark& mark : marks) {
            const double width = width_of(mark);
            if (mark.paint == kPaintIdle || mark.boxes > 1 ||
                text_px(mark.first->name, kBoxFontPx) + 8 > width)
                continue;
            put("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"middle\" "
                "pointer-events=\"none\">{}</text>\n",
                px(kPlotLeft + (x_of(mark) + width / 2)), px(middle_px + 3.7), kBoxFontPx,
                look_of(mark.paint).ink, xml_text(mark.first->name));
        }
    }

    /// Marks of one paint, in order of time.
    void append_marks(const Mark* begin, const Mark* end, double top_px, double height_px) {
        const Look& look = look_of(begin->paint);
        const double box_px = std::round((height_px - 2) * look.height);
        put("<g fill=\"{}\" transform=\"translate({} {})\">\n", look.fill, px(kPlotLeft),
            px(top_px + (height_px - box_px) / 2));
        Stripes stripes(box_px);
        for (const Mark* mark = begin; mark != end; ++mark) {
            const double x = x_of(*mark), width = std::max(width_of(*mark), kThinPx);
            if (stripes.add(*mark, x, width)) continue;
            stripes.append_to(svg_);
            if (stripes.add(*mark, x, width)) continue;
            put("<rect x=\"{}\" width=\"{}\" height=\"{}\"{}><title>{}</title></rect>\n", px(x), px(width),
                px(box_px), opacity_attribute(opacity_of(mark->coverage)), xml_text(hover_of(*mark)));
        }
        stripes.append_to(svg_);
        svg_ += "</g>\n";
    }

    void append_lane(std::vector<Mark> marks, double top_px, double height_px) {
        // Several in one lie below the others; beside each other the order is free.
        const auto layer = [](const Mark& mark) { return std::pair(mark.boxes == 1, mark.paint); };
        std::stable_sort(marks.begin(), marks.end(), [&](const Mark& a, const Mark& b) {
            return layer(a) != layer(b) ? layer(a) < layer(b) : a.begin_ns < b.begin_ns;
        });
        const Mark* const end = marks.data() + marks.size();
        for (const Mark* mark = marks.data(); mark != end;) {
            const Mark* const next =
                std::find_if(mark, end, [&](const Mark& other) { return layer(other) != layer(*mark); });
            append_marks(mark, next, top_px, height_px);
            mark = next;
        }
        append_names(marks, top_px + height_px / 2);
    }

    void append_row(const TimelineRow& row, double top_px) {
        const std::string hidden =
            row.lanes > kMostLanes ? fmt::format(" ({} of {} lanes)", kMostLanes, row.lanes) : "";
        append_label(top_px + row_px(row) / 2, row.name + hidden, row.short_name + hidden);
        std::vector<std::vector<const Box*>> lanes(static_cast<std::size_t>(row.lanes));
        for (const Box& box : row.boxes) lanes[static_cast<std::size_t>(box.lane)].push_back(&box);
        lanes.resize(static_cast<std::size_t>(lanes_drawn(row)));
        for (const std::vector<const Box*>& lane : lanes) {
            std::vector<Mark> marks = marks_of(lane, kThinPx / px_per_ns_);
            for (const Mark& mark : marks)
                if (mark.coverage < 1 && width_of(mark) >= kSeenPalePx)
                    pale_ = std::min(mark.paint, pale_.value_or(mark.paint));
            append_lane(std::move(marks), top_px, lane_px(row));
            top_px += lane_px(row);
        }
    }

    /// Idle time as hatching. Gaps too thin to be seen are drawn together and the paler the smaller their
    /// share.
    void append_idle(double top_px) {
        const std::string words = idle_words(timeline_);
        append_label(top_px + kIdlePx / 2, words, words.substr(std::string_view("GPU ").size()));
        std::vector<Box> gaps;
        for (const Interval& gap : timeline_.idle)
            gaps.push_back({gap.begin, gap.end, kPaintIdle, 0, "GPU idle",
                            "GPU idle " + format_ns(static_cast<double>(gap.end - gap.begin))});
        std::vector<const Box*> lane;
        for (const Box& gap : gaps) lane.push_back(&gap);
        std::vector<Mark> marks = marks_of(lane, kThinPx / px_per_ns_);
        std::erase_if(marks, [&](const Mark& mark) {  // less than a picture can show
            return width_of(mark) < kThinPx || static_cast<double>(mark.boxes_ns) <
                                                   0.2 * static_cast<double>(mark.end_ns - mark.begin_ns);
        });
        append_lane(std::move(marks), top_px - 1, kIdlePx + 2);
    }

    std::string& svg_;
    const Timeline& timeline_;
    double px_per_ns_;
    std::optional<int> pale_;
};

}  // namespace

double rows_height(const Timeline& timeline) {
    double height = kIdleGapPx + kIdlePx;
    for (const TimelineRow& row : timeline.rows) height += row_px(row) + kRowGapPx;
    return height;
}

double opacity_of(double coverage) {
    return 0.25 + 0.75 * coverage;
}

std::string opacity_attribute(double opacity) {
    return opacity < 1 ? fmt::format(" opacity=\"{}\"", opacity) : "";
}

std::optional<int> append_rows(std::string& svg, const Timeline& timeline, double px_per_ns, double top_px) {
    return Rows(svg, timeline, px_per_ns).append(top_px);
}

}  // namespace lab
