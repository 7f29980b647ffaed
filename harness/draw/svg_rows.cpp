#include "draw/svg_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "core/text.h"
#include "draw/marks.h"
#include "draw/svg_text.h"

namespace lab {

namespace {

constexpr double kThinPx = 0.6;    ///< a box narrower than this is drawn together with its like
constexpr double kStripePx = 3;    ///< narrower ones are stripes: too fine to point at
constexpr double kSeenPalePx = 8;  ///< a narrower one is not seen to be pale
constexpr double kIdlePx = 12, kIdleGapPx = 4, kRowGapPx = 4, kLabelFontPx = 11, kBoxFontPx = 10.5;
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

void append_label(std::string& svg, const PlotArea& plot, double middle_px, const std::string& name,
                  const std::string& short_name) {
    const double room = plot.left_px - plot.label_px - 8;
    const std::string& text = text_px(name, kLabelFontPx) <= room ? name : short_name;
    fmt::format_to(std::back_inserter(svg),
                   "<text class=\"ink\" x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"#1f2328\">{}</text>\n",
                   px(plot.label_px), px(middle_px + 4), kLabelFontPx,
                   xml_text(fit_px(text, kLabelFontPx, room)));
}

/// One rectangle from `begin_px` on, in a group that has moved to its line and knows its paint.
void append_rect(std::string& svg, double begin_px, double width_px, double height_px, double opacity,
                 const std::string& hover) {
    fmt::format_to(std::back_inserter(svg),
                   "<rect x=\"{}\" width=\"{}\" height=\"{}\"{}><title>{}</title></rect>\n", px(begin_px),
                   px(width_px), px(height_px), opacity_attribute(opacity), xml_text(hover));
}

/// The names of boxes that are wide enough for them.
void append_names(std::string& svg, const std::vector<Mark>& marks, const Timeline& timeline,
                  const PlotArea& plot, double middle_px) {
    for (const Mark& mark : marks) {
        if (mark.paint == kPaintIdle) continue;
        const double width = static_cast<double>(mark.end_ns - mark.begin_ns) * plot.px_per_ns;
        if (mark.boxes > 1 || text_px(mark.first->name, kBoxFontPx) + 8 > width) continue;
        const double x = static_cast<double>(mark.begin_ns - timeline.begin_ns) * plot.px_per_ns + width / 2;
        fmt::format_to(std::back_inserter(svg),
                       "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"middle\" "
                       "pointer-events=\"none\">{}</text>\n",
                       px(plot.left_px + x), px(middle_px + 3.7), kBoxFontPx, look_of(mark.paint).ink,
                       xml_text(mark.first->name));
    }
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

/// Marks of one paint, in order of time.
void append_marks(std::string& svg, const Mark* begin, const Mark* end, const Timeline& timeline,
                  const PlotArea& plot, double top_px, double height_px) {
    const Look& look = look_of(begin->paint);
    const double box_px = std::round((height_px - 2) * look.height);
    fmt::format_to(std::back_inserter(svg), "<g fill=\"{}\" transform=\"translate({} {})\">\n", look.fill,
                   px(plot.left_px), px(top_px + (height_px - box_px) / 2));
    Stripes stripes(box_px);
    for (const Mark* mark = begin; mark != end; ++mark) {
        const double x = static_cast<double>(mark->begin_ns - timeline.begin_ns) * plot.px_per_ns;
        const double width =
            std::max(static_cast<double>(mark->end_ns - mark->begin_ns) * plot.px_per_ns, kThinPx);
        if (stripes.add(*mark, x, width)) continue;
        stripes.append_to(svg);
        if (!stripes.add(*mark, x, width))
            append_rect(svg, x, width, box_px, opacity_of(mark->coverage), hover_of(*mark));
    }
    stripes.append_to(svg);
    svg += "</g>\n";
}

void append_lane(std::string& svg, std::vector<Mark> marks, const Timeline& timeline, const PlotArea& plot,
                 double top_px, double height_px) {
    // Several in one lie below the others; beside each other the order is free.
    const auto layer = [](const Mark& mark) { return std::pair(mark.boxes == 1, mark.paint); };
    std::stable_sort(marks.begin(), marks.end(), [&](const Mark& a, const Mark& b) {
        return layer(a) != layer(b) ? layer(a) < layer(b) : a.begin_ns < b.begin_ns;
    });
    const Mark* const end = marks.data() + marks.size();
    for (const Mark* mark = marks.data(); mark != end;) {
        const Mark* const next =
            std::find_if(mark, end, [&](const Mark& other) { return layer(other) != layer(*mark); });
        append_marks(svg, mark, next, timeline, plot, top_px, height_px);
        mark = next;
    }
    append_names(svg, marks, timeline, plot, top_px + height_px / 2);
}

std::optional<int> append_row(std::string& svg, const TimelineRow& row, const Timeline& timeline,
                              std::size_t which, const SharedColours& colours, const PlotArea& plot,
                              double top_px) {
    const std::string hidden =
        row.lanes > kMostLanes ? fmt::format(" ({} of {} lanes)", kMostLanes, row.lanes) : "";
    append_label(svg, plot, top_px + row_px(row) / 2, row.name + hidden, row.short_name + hidden);
    std::vector<std::vector<Painted>> lanes(static_cast<std::size_t>(lanes_drawn(row)));
    for (const Box& box : row.boxes)
        if (box.lane < lanes_drawn(row))
            lanes[static_cast<std::size_t>(box.lane)].push_back({&box, colours.paint(which, box)});
    std::optional<int> pale;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        std::vector<Mark> marks = marks_of(lanes[i], kThinPx / plot.px_per_ns);
        for (const Mark& mark : marks) {
            const double width = static_cast<double>(mark.end_ns - mark.begin_ns) * plot.px_per_ns;
            if (mark.coverage < 1 && width >= kSeenPalePx)
                pale = std::min(mark.paint, pale.value_or(mark.paint));
        }
        append_lane(svg, std::move(marks), timeline, plot, top_px + static_cast<double>(i) * lane_px(row),
                    lane_px(row));
    }
    return pale;
}

/// Idle time as hatching. Gaps too thin to be seen are drawn together and the paler the smaller their share.
void append_idle(std::string& svg, const Timeline& timeline, const PlotArea& plot, double top_px) {
    const std::string words = idle_words(timeline);
    append_label(svg, plot, top_px + kIdlePx / 2, words, words.substr(std::string_view("GPU ").size()));
    std::vector<Box> gaps(timeline.idle.size());
    std::vector<Painted> lane;
    for (std::size_t i = 0; i < gaps.size(); ++i) {
        const Interval& gap = timeline.idle[i];
        const auto ns = static_cast<double>(gap.end - gap.begin);
        gaps[i].begin_ns = gap.begin;
        gaps[i].end_ns = gap.end;
        gaps[i].name = "GPU idle";
        if (ns * plot.px_per_ns >= kThinPx) gaps[i].hover = "GPU idle " + format_ns(ns);
        lane.push_back({&gaps[i], kPaintIdle});
    }
    std::vector<Mark> marks = marks_of(lane, kThinPx / plot.px_per_ns);
    std::erase_if(marks, [&](const Mark& mark) {  // less than a picture can show
        const auto ns = static_cast<double>(mark.end_ns - mark.begin_ns);
        return ns * plot.px_per_ns < kThinPx || static_cast<double>(mark.boxes_ns) < 0.2 * ns;
    });
    append_lane(svg, std::move(marks), timeline, plot, top_px - 1, kIdlePx + 2);
}

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

std::optional<int> append_rows(std::string& svg, const Timeline& timeline, std::size_t which,
                               const SharedColours& colours, const PlotArea& plot, double top_px) {
    std::optional<int> pale;
    for (const TimelineRow& row : timeline.rows) {
        const std::optional<int> pale_here = append_row(svg, row, timeline, which, colours, plot, top_px);
        if (pale_here) pale = std::min(*pale_here, pale.value_or(*pale_here));
        top_px += row_px(row) + kRowGapPx;
    }
    append_idle(svg, timeline, plot, top_px + kIdleGapPx);
    return pale;
}

}  // namespace lab
