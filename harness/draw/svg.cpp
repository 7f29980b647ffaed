#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text.h"
#include "draw/curves.h"
#include "draw/marks.h"
#include "draw/palette.h"
#include "draw/rows.h"
#include "draw/timeline.h"

namespace lab {

namespace {

constexpr double kPageWidth = 960, kPageMargin = 16, kPageRight = 928;  ///< px; plots end at kPageRight
constexpr double kTitleFont = 15, kNoteFont = 11;                       ///< px

/// Attributes of text.
constexpr const char* kInk = "class=\"ink\" fill=\"#1f2328\"";
constexpr const char* kNote = "class=\"note\" fill=\"#57606a\"";
constexpr const char* kBold = "class=\"ink\" fill=\"#1f2328\" font-weight=\"bold\"";

constexpr double kPlotLeft = 228;  ///< px; where a timeline begins, with the names of its rows to the left
constexpr double kDurationFont = 13, kHeader = 42, kBetween = 22, kLegendLine = 20;

constexpr double kThinPx = 0.6;     ///< a box narrower than this is drawn together with its like
constexpr double kStripePx = 3;     ///< narrower ones are stripes: too fine to point at
constexpr double kStripeGapPx = 8;  ///< between stripes that share an element
constexpr double kSeenPalePx = 8;   ///< a narrower one is not seen to be pale
constexpr double kIdlePx = 12, kIdleGapPx = 4, kRowGapPx = 4, kBoxFontPx = 10.5;
constexpr double kCurvePx = 24, kCurveStepPx = 2;  ///< height of 100 %, and width of what is averaged
constexpr double kGroupPx = 18, kIndentPx = 8;  ///< a line with a group's name, and the rows' names below it
constexpr int kMostLanes = 8;                   ///< of one row; a figure that shows more is a wall

// A reader's dark mode changes paper and ink. Where the style is not honoured, such as in a converter, the
// attributes of each element give the light version, on its own background.
constexpr const char* kDefinitions = R"svg(<style>
@media (prefers-color-scheme: dark) {
.paper { fill: #0d1117 } .panel { fill: #1b222c } .ink { fill: #e6edf3 } .note { fill: #9da7b3 }
.grid { stroke: #3a4350 } .end { stroke: #e6edf3 }
}
</style>
<defs><pattern id="idle" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="5" height="5" fill="#efd6d6"/><rect width="1.6" height="5" fill="#8b5a5a"/></pattern></defs>
)svg";

/// Widths in DejaVu Sans and Verdana, the widest of the fonts a browser falls back to, in font sizes.
double ems_of(char32_t c) {
    constexpr std::u32string_view kThin = U"iljI|.,:;'! ·", kNarrow = U"frt()[]{}/\\\"-*";
    constexpr std::u32string_view kBroad = U"mwMW@%&…→←↔";
    if (columns_of(c) == 2) return 1.1;
    if (kThin.find(c) != kThin.npos) return 0.36;
    if (kNarrow.find(c) != kNarrow.npos) return 0.47;
    if (kBroad.find(c) != kBroad.npos) return 1.0;
    if (c >= 'A' && c <= 'Z') return 0.76;
    if (c < 0x80) return 0.65;
    return 0.85;
}

/// Width of `text` in pixels. The reader's font is not known, so this is the width in a wide sans-serif.
double text_px(std::string_view text, double font_px) {
    double ems = 0;
    for (const char32_t c : decode_utf8(text)) ems += ems_of(c);
    return ems * font_px;
}

/// `text` cut to at most `px` pixels, the cut marked with an ellipsis.
std::string fit_px(std::string_view text, double font_px, double px) {
    if (text_px(text, font_px) <= px) return std::string(text);
    double left = px - ems_of(U'…') * font_px;
    if (left < 0) return "";
    std::u32string kept;
    for (const char32_t c : decode_utf8(text)) {
        left -= ems_of(c) * font_px;
        if (left < 0) break;
        kept += c;
    }
    return encode_utf8(kept + U'…');
}

/// A coordinate: at most one decimal, and none where it is zero.
std::string px(double value) {
    std::string text = fmt::format("{:.1f}", value);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text == "-0" ? "0" : text;
}

/// The elements of a figure, in the order in which they are drawn.
class SvgPage {
  public:
    template <class... Args>
    void put(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(body_), format, std::forward<Args>(args)...);
    }

    /// One line of text that begins at `x`, or lies as a text-anchor in `look` says; `y` is its baseline.
    void text(double x, double y, double font, std::string_view look, std::string_view words) {
        put("<text x=\"{}\" y=\"{}\" font-size=\"{}\" {}>{}</text>\n", px(x), px(y), font, look,
            xml_text(words));
    }

    /// The whole figure. `description` is for those who hear it.
    [[nodiscard]] std::string figure(double height, std::string_view description) const {
        return fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
            "font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\" role=\"img\" "
            "aria-label=\"{2}\">\n{3}<rect class=\"paper\" width=\"{0}\" height=\"{1}\" "
            "fill=\"#ffffff\"/>\n{4}</svg>\n",
            px(kPageWidth), px(height), xml_text(description), kDefinitions, body_);
    }

  private:
    std::string body_;
};

int lanes_drawn(const TimelineRow& row) {
    return std::min(row.lanes, kMostLanes);
}
double lane_px(const TimelineRow& row) {
    return row.lanes == 1 ? 20 : 14;
}
double row_px(const TimelineRow& row) {
    return lanes_drawn(row) * lane_px(row);
}

/// The attribute of boxes that are drawn as one, by the share of its time in which one of them ran, 0 to 1.
std::string opacity_attribute(double coverage) {
    return coverage < 1 ? fmt::format(" opacity=\"{}\"", 0.25 + 0.75 * coverage) : "";
}

/// The rows of one timeline.
class Rows {
  public:
    Rows(SvgPage& page, const Timeline& timeline, double px_per_ns)
        : page_(page), timeline_(timeline), px_per_ns_(px_per_ns) {}

    /// Pixels that the rows take.
    [[nodiscard]] double height() const {
        double height = kIdleGapPx + kIdlePx;
        for (const TimelineRow& row : timeline_.rows)
            height += row_px(row) + kRowGapPx + (begins_group(timeline_, row) ? kGroupPx : 0);
        if (timeline_.curves.empty()) return height;
        return height + 2 * kRowGapPx + kGroupPx +
               static_cast<double>(timeline_.curves.size()) * (kCurvePx + kRowGapPx);
    }

    /// Draws the rows below `top_px`. Returns the first paint in which boxes were drawn as one, and pale for
    /// the gaps between them, if there is one: what a legend has to explain.
    std::optional<Paint> draw(double top_px) {
        for (const TimelineRow& row : timeline_.rows) {
            if (begins_group(timeline_, row)) draw_group(row.group, std::exchange(top_px, top_px + kGroupPx));
            draw_row(row, top_px);
            top_px += row_px(row) + kRowGapPx;
        }
        draw_idle(top_px + kIdleGapPx);
        top_px += kIdleGapPx + kIdlePx + 2 * kRowGapPx;
        if (!timeline_.curves.empty()) draw_group(kMetrics, std::exchange(top_px, top_px + kGroupPx));
        for (const Curve& curve : timeline_.curves) {
            draw_curve(curve, top_px);
            top_px += kCurvePx + kRowGapPx;
        }
        return pale_;
    }

  private:
    /// From the plot's left edge.
    [[nodiscard]] double x_of(const Mark& mark) const {
        return (mark.begin_ns - timeline_.begin_ns) * px_per_ns_;
    }
    [[nodiscard]] double width_of(const Mark& mark) const {
        return (mark.end_ns - mark.begin_ns) * px_per_ns_;
    }
    [[nodiscard]] double drawn_width_of(const Mark& mark) const { return std::max(width_of(mark), kThinPx); }

    static constexpr double kLabelPx = kPlotLeft - kPageMargin - kIndentPx - 4;

    void draw_group(const std::string& name, double top_px) {
        page_.text(kPageMargin, top_px + 12, kNoteFont, kNote, fit_px(name, kNoteFont, kLabelPx + kIndentPx));
    }

    void draw_label(double middle_px, const std::string& name, double indent_px = kIndentPx) {
        page_.text(kPageMargin + indent_px, middle_px + 4, kNoteFont, kInk,
                   fit_px(name, kNoteFont, kLabelPx + kIndentPx - indent_px));
    }

    /// The names of boxes that are wide enough for them.
    void draw_names(const std::vector<Mark>& marks, double middle_px) {
        for (const Mark& mark : marks) {
            const double width = width_of(mark);
            if (mark.paint == Paint::idle || mark.paint == Paint::blocked || mark.boxes > 1 ||
                text_px(mark.first->name, kBoxFontPx) + 8 > width)
                continue;
            page_.put(
                "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"middle\" "
                "pointer-events=\"none\">{}</text>\n",
                px(kPlotLeft + (x_of(mark) + width / 2)), px(middle_px + 3.7), kBoxFontPx,
                look_of(mark.paint).ink, xml_text(mark.first->name));
        }
    }

    /// A mark too narrow to point at.
    [[nodiscard]] bool is_stripe(const Mark& mark) const { return drawn_width_of(mark) < kStripePx; }

    /// Draws stripes close to each other from `begin` on, and returns the mark behind them. They keep their
    /// places, and share one element and one hover text.
    const Mark* draw_stripes(const Mark* begin, const Mark* end, double box_px) {
        Mark all;
        std::string path;
        double end_px = x_of(*begin);
        const Mark* mark = begin;
        for (; mark != end && is_stripe(*mark) && mark->coverage == begin->coverage &&
               x_of(*mark) - end_px < kStripeGapPx;
             ++mark) {
            all.add(*mark);
            end_px = x_of(*mark) + drawn_width_of(*mark);
            path += fmt::format("M{} 0v{}h{}V0", px(x_of(*mark)), px(box_px), px(drawn_width_of(*mark)));
        }
        page_.put("<path d=\"{}\"{}><title>{}</title></path>\n", path, opacity_attribute(begin->coverage),
                  xml_text(hover_of(all)));
        return mark;
    }

    /// Marks of one paint, in order of time.
    void draw_marks(const Mark* begin, const Mark* end, double top_px, double height_px) {
        const Look& look = look_of(begin->paint);
        const double box_px = std::round((height_px - 2) * look.height);
        page_.put("<g fill=\"{}\" transform=\"translate({} {})\">\n", look.fill, px(kPlotLeft),
                  px(top_px + (height_px - box_px) / 2));
        for (const Mark* mark = begin; mark != end;) {
            if (is_stripe(*mark)) {
                mark = draw_stripes(mark, end, box_px);
                continue;
            }
            page_.put("<rect x=\"{}\" width=\"{}\" height=\"{}\"{}><title>{}</title></rect>\n",
                      px(x_of(*mark)), px(drawn_width_of(*mark)), px(box_px),
                      opacity_attribute(mark->coverage), xml_text(hover_of(*mark)));
            ++mark;
        }
        page_.put("</g>\n");
    }

    void draw_lane(std::vector<Mark> marks, double top_px, double height_px) {
        // Several in one lie below the others; beside each other the order is free.
        const auto layer = [](const Mark& mark) { return std::pair(mark.boxes == 1, mark.paint); };
        std::stable_sort(marks.begin(), marks.end(), [&](const Mark& a, const Mark& b) {
            return layer(a) != layer(b) ? layer(a) < layer(b) : a.begin_ns < b.begin_ns;
        });
        const Mark* const end = marks.data() + marks.size();
        for (const Mark* mark = marks.data(); mark != end;) {
            const Mark* const next =
                std::find_if(mark, end, [&](const Mark& other) { return layer(other) != layer(*mark); });
            draw_marks(mark, next, top_px, height_px);
            mark = next;
        }
        draw_names(marks, top_px + height_px / 2);
    }

    void draw_row(const TimelineRow& row, double top_px) {
        const std::string hidden =
            row.lanes > kMostLanes ? fmt::format(" ({} of {} lanes)", kMostLanes, row.lanes) : "";
        draw_label(top_px + row_px(row) / 2, row.name + hidden);
        std::vector<std::vector<const Box*>> lanes(row.lanes);
        for (const Box& box : row.boxes) lanes[box.lane].push_back(&box);
        lanes.resize(lanes_drawn(row));
        for (const std::vector<const Box*>& lane : lanes) {
            std::vector<Mark> marks = marks_of(lane, kThinPx / px_per_ns_);
            for (const Mark& mark : marks)
                if (mark.coverage < 1 && width_of(mark) >= kSeenPalePx)
                    pale_ = std::min(mark.paint, pale_.value_or(mark.paint));
            draw_lane(std::move(marks), top_px, lane_px(row));
            top_px += lane_px(row);
        }
    }

    /// The area below a metric in percent; whatever leaves 0 to 100 is cut.
    void draw_curve(const Curve& curve, double top_px) {
        draw_label(top_px + kCurvePx / 2, label_of(curve));
        const auto columns = static_cast<std::size_t>(timeline_.span_ns() * px_per_ns_ / kCurveStepPx) + 1;
        double most = 0;
        std::string path, last;
        const auto means = columns_of(curve, timeline_.begin_ns, kCurveStepPx / px_per_ns_, columns);
        for (std::size_t i = 0; i < columns; ++i) {
            const double value = std::clamp(means[i].value_or(0), 0.0, 100.0);
            const std::string y = px(kCurvePx * (1 - value / 100));
            most = std::max(most, value);
            if (y != last) path += fmt::format("H{}V{}", px(i * kCurveStepPx), y);
            last = y;
        }
        const double bottom = top_px + kCurvePx;
        page_.put(
            "<path fill=\"{}\" transform=\"translate({} {})\" d=\"M0 "
            "{}{}H{}V{}Z\"><title>{}</title></path>\n",
            look_of(Paint::call).fill, px(kPlotLeft), px(top_px), px(kCurvePx), path,
            px(timeline_.span_ns() * px_per_ns_), px(kCurvePx),
            xml_text(fmt::format("{}: at most {} {}", curve.name, format_number(most, 3), curve.unit)));
        page_.put("<path class=\"grid\" d=\"M{} {}H{}\" stroke=\"#d0d7de\" stroke-width=\"0.7\"/>\n",
                  px(kPlotLeft), px(bottom), px(kPlotLeft + timeline_.span_ns() * px_per_ns_));
    }

    /// Idle time as hatching. Gaps too thin to be seen are drawn together and the paler the smaller their
    /// share.
    void draw_idle(double top_px) {
        const std::string words = idle_words(timeline_);
        const bool fits = text_px(words, kNoteFont) <= kLabelPx + kIndentPx;
        draw_label(top_px + kIdlePx / 2, fits ? words : words.substr(4), 0);
        std::vector<Box> gaps;
        for (const Interval& gap : timeline_.idle)
            gaps.push_back({gap.begin, gap.end, Paint::idle, 0, "GPU idle",
                            "GPU idle " + format_ns(gap.end - gap.begin)});
        std::vector<const Box*> lane;
        for (const Box& gap : gaps) lane.push_back(&gap);
        std::vector<Mark> marks = marks_of(lane, kThinPx / px_per_ns_);
        std::erase_if(marks, [&](const Mark& mark) {  // less than a picture can show
            return width_of(mark) < kThinPx || mark.boxes_ns < 0.2 * (mark.end_ns - mark.begin_ns);
        });
        draw_lane(std::move(marks), top_px - 1, kIdlePx + 2);
    }

    SvgPage& page_;
    const Timeline& timeline_;
    double px_per_ns_;
    std::optional<Paint> pale_;
};

class Figure {
  public:
    explicit Figure(const std::vector<Timeline>& timelines) : timelines_(timelines) {
        for (const Timeline& timeline : timelines) longest_ns_ = std::max(longest_ns_, timeline.span_ns());
        px_per_ns_ = (kPageRight - kPlotLeft) / std::max<int64_t>(longest_ns_, 1);
        const int64_t from_ns = timelines.empty() ? 0 : timelines[0].begin_ns - timelines[0].origin_ns;
        ticks_ = axis_ticks(longest_ns_, 8, from_ns);
    }

    std::string draw() {
        double y = kPageMargin;
        std::vector<std::string> parts;
        for (const Timeline& timeline : timelines_) {
            y = draw_timeline(timeline, y) + kBetween;
            parts.push_back(timeline.options.title + " " + format_ns(timeline.span_ns()));
        }
        y = draw_legend(draw_axis(y - kBetween));
        return page_.figure(y, "Timeline: " + join(parts, "; "));
    }

  private:
    [[nodiscard]] double x_of(int64_t ns) const { return kPlotLeft + ns * px_per_ns_; }

    /// Returns where the timeline ends.
    double draw_timeline(const Timeline& timeline, double top) {
        const double end = x_of(timeline.span_ns()), rows = top + kHeader;
        draw_header(timeline, top, end);
        if (timeline.span_ns() <= 0) {
            page_.text(kPlotLeft, rows + 14, kNoteFont, kNote,
                       "No GPU work and no NVTX range in this capture.");
            return rows + 24;
        }
        Rows drawn(page_, timeline, px_per_ns_);
        const double bottom = rows + drawn.height() + 4;
        page_.put("<rect class=\"panel\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#f3f5f8\"/>\n",
                  px(kPlotLeft), px(rows - 4), px(end - kPlotLeft), px(bottom - rows + 4));
        page_.put("<path class=\"grid\" stroke=\"#d0d7de\" stroke-width=\"0.7\" d=\"");
        for (const Tick& tick : ticks_) page_.put("M{} {}V{}", px(x_of(tick.ns)), px(rows - 4), px(bottom));
        page_.put("\"/>\n");
        const std::optional<Paint> pale = drawn.draw(rows);
        if (pale) pale_ = std::min(*pale, pale_.value_or(*pale));
        page_.put("<path class=\"end\" d=\"M{} {}V{}\" stroke=\"#1f2328\" stroke-width=\"1.5\"/>\n", px(end),
                  px(rows - 4), px(bottom));
        return bottom;
    }

    /// Title and source in one line, each cut to the room it has; below, the duration where the timeline
    /// ends.
    void draw_header(const Timeline& timeline, double top, double end) {
        const TimelineOptions& options = timeline.options;
        const std::string fitted = fit_px(options.title, kTitleFont, 0.5 * (kPageRight - kPageMargin));
        const double bold_px = 1.1 * text_px(fitted, kTitleFont);
        const double label_px = fitted.empty() ? kPageMargin : kPageMargin + bold_px + 14;
        page_.text(kPageMargin, top + 13, kTitleFont, kBold, fitted);
        page_.text(label_px, top + 13, kNoteFont, kNote,
                   fit_px(options.label, kNoteFont, kPageRight - label_px));
        page_.text(end, top + kHeader - 8, kDurationFont, fmt::format("{} text-anchor=\"end\"", kBold),
                   format_ns(timeline.span_ns()));
    }

    double draw_axis(double top) {
        if (longest_ns_ <= 0) return top;
        page_.put("<path class=\"end\" stroke=\"#1f2328\" fill=\"none\" d=\"M{} {}H{}", px(kPlotLeft),
                  px(top), px(kPageRight));
        for (const Tick& tick : ticks_) page_.put("M{} {}v5", px(x_of(tick.ns)), px(top));
        page_.put("\"/>\n");
        for (const Tick& tick : ticks_)
            page_.text(x_of(tick.ns), top + 17, kNoteFont, fmt::format("{} text-anchor=\"middle\"", kNote),
                       tick.label);
        return top + 28;
    }

    double draw_legend(double top) {
        double x = kPlotLeft, y = top;
        const auto draw_entry = [&](Paint paint, double coverage, const std::string& meaning) {
            const std::string words = fit_px(meaning, kNoteFont, (kPageRight - kPlotLeft) / 2);
            const double width = 20 + text_px(words, kNoteFont) + 18;
            if (x > kPlotLeft && x + width > kPageRight) x = kPlotLeft, y += kLegendLine;
            const Look& look = look_of(paint);
            const double height = 12 * look.height;
            page_.put("<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"{}\" fill=\"{}\"{}/>\n", px(x),
                      px(y + 8 - height / 2), px(height), look.fill, opacity_attribute(coverage));
            page_.text(x + 20, y + 12, kNoteFont, kInk, words);
            x += width;
        };
        for (const LegendEntry& entry : legend_of(timelines_)) draw_entry(entry.paint, 1, entry.text);
        if (pale_) draw_entry(*pale_, 0.5, "faint: many drawn as one, with gaps between them");
        return y + kLegendLine + kPageMargin / 2;
    }

    const std::vector<Timeline>& timelines_;
    int64_t longest_ns_ = 0;
    double px_per_ns_ = 0;
    std::vector<Tick> ticks_;
    std::optional<Paint> pale_;  ///< the first of the paints that have been drawn pale
    SvgPage page_;
};

}  // namespace

std::string timeline_svg(const std::vector<Timeline>& above_each_other) {
    return Figure(above_each_other).draw();
}

}  // namespace lab
