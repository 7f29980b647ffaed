#include "draw/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/text.h"
#include "draw/axis.h"
#include "draw/palette.h"
#include "draw/svg_page.h"
#include "draw/svg_rows.h"

namespace lab {

namespace {

constexpr double kDurationFont = 13, kHeader = 42, kBetween = 22, kLegendLine = 20;

constexpr const char* kIdlePattern = R"svg(<defs><pattern id="idle" width="5" height="5" )svg"
                                     R"svg(patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="5" height="5" fill="#efd6d6"/><rect width="1.6" height="5" fill="#8b5a5a"/></pattern></defs>
)svg";

std::string duration_of(const Timeline& timeline) {
    return format_ns(timeline.span_ns());
}

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
            parts.push_back(timeline.options.title + " " + duration_of(timeline));
        }
        y = draw_legend(draw_axis(y - kBetween));
        return page_.figure(y, "Timeline: " + join(parts, "; "), kIdlePattern);
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
        const double bottom = rows + rows_height(timeline) + 4;
        page_.put("<rect class=\"panel\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#f3f5f8\"/>\n",
                  px(kPlotLeft), px(rows - 4), px(end - kPlotLeft), px(bottom - rows + 4));
        page_.put("<path class=\"grid\" stroke=\"#d0d7de\" stroke-width=\"0.7\" d=\"");
        for (const Tick& tick : ticks_) page_.put("M{} {}V{}", px(x_of(tick.ns)), px(rows - 4), px(bottom));
        page_.put("\"/>\n");
        const std::optional<Paint> pale = draw_rows(page_, timeline, px_per_ns_, rows);
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
                   duration_of(timeline));
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
