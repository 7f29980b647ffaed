#include "draw/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/text.h"
#include "draw/axis.h"
#include "draw/palette.h"
#include "draw/svg_page.h"
#include "draw/svg_rows.h"
#include "draw/svg_text.h"

namespace lab {

namespace {

constexpr double kLeft = 228, kDurationFont = 13, kHeader = 42, kBetween = 22, kLegendLine = 20;

constexpr const char* kIdlePattern = R"svg(<defs><pattern id="idle" width="5" height="5" )svg"
                                     R"svg(patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="5" height="5" fill="#efd6d6"/><rect width="1.6" height="5" fill="#8b5a5a"/></pattern></defs>
)svg";

class Figure {
  public:
    explicit Figure(const std::vector<Timeline>& timelines)
        : timelines_(timelines), colours_(share_colours(timelines)) {
        for (const Timeline& timeline : timelines) longest_ns_ = std::max(longest_ns_, timeline.span_ns());
        plot_ = {.left_px = kLeft,
                 .px_per_ns = (kPageRight - kLeft) / static_cast<double>(std::max<int64_t>(longest_ns_, 1)),
                 .label_px = kPageMargin};
        const Timeline* const first = timelines.empty() ? nullptr : &timelines.front();
        ticks_ = axis_ticks(longest_ns_, 8, first ? first->begin_ns - first->origin_ns : 0);
    }

    std::string draw() {
        double y = kPageMargin;
        for (std::size_t i = 0; i < timelines_.size(); ++i) y = draw_timeline(i, y) + kBetween;
        y = draw_axis(y - kBetween);
        y = draw_legend(y);
        return svg_page(y, description(), kIdlePattern, body_);
    }

  private:
    [[nodiscard]] double x_of(int64_t ns) const { return kLeft + static_cast<double>(ns) * plot_.px_per_ns; }

    [[nodiscard]] std::string description() const {
        std::vector<std::string> parts;
        for (const Timeline& timeline : timelines_)
            parts.push_back(fmt::format("{} {}", timeline.options.title,
                                        format_ns(static_cast<double>(timeline.span_ns()))));
        return "Timeline: " + join(parts, "; ");
    }

    void text(double x, double y, double font, std::string_view look, std::string_view words) {
        append_text(body_, x, y, font, look, words);
    }

    double draw_timeline(std::size_t which, double top) {
        const Timeline& timeline = timelines_[which];
        const double end = x_of(timeline.span_ns()), rows = top + kHeader;
        draw_header(timeline, top, end);
        if (timeline.span_ns() <= 0) {
            text(kLeft, rows + 14, kNoteFont, kNote, "No GPU work and no NVTX range in this capture.");
            return rows + 24;
        }
        const double height = rows_height(timeline);
        fmt::format_to(
            std::back_inserter(body_),
            "<rect class=\"panel\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#f3f5f8\"/>\n",
            px(kLeft), px(rows - 4), px(end - kLeft), px(height + 8));
        draw_grid(rows - 4, rows + height + 4);
        const std::optional<int> pale = append_rows(body_, timeline, which, colours_, plot_, rows);
        if (pale) pale_ = std::min(*pale, pale_.value_or(*pale));
        fmt::format_to(std::back_inserter(body_),
                       "<path class=\"end\" d=\"M{} {}V{}\" stroke=\"#1f2328\" stroke-width=\"1.5\"/>\n",
                       px(end), px(rows - 4), px(rows + height + 4));
        return rows + height + 4;
    }

    /// Title and source in one line; below it the duration, where the timeline ends.
    void draw_header(const Timeline& timeline, double top, double end) {
        append_title(body_, top, timeline.options.title, timeline.options.label);
        text(end, top + kHeader - 8, kDurationFont, fmt::format("{} text-anchor=\"end\"", kBold),
             format_ns(static_cast<double>(timeline.span_ns())));
    }

    void draw_grid(double top, double bottom) {
        body_ += "<path class=\"grid\" stroke=\"#d0d7de\" stroke-width=\"0.7\" d=\"";
        for (const Tick& tick : ticks_)
            fmt::format_to(std::back_inserter(body_), "M{} {}V{}", px(x_of(tick.ns)), px(top), px(bottom));
        body_ += "\"/>\n";
    }

    double draw_axis(double top) {
        if (longest_ns_ <= 0) return top;
        fmt::format_to(std::back_inserter(body_),
                       "<path class=\"end\" stroke=\"#1f2328\" fill=\"none\" d=\"M{} {}H{}", px(kLeft),
                       px(top), px(kPageRight));
        for (const Tick& tick : ticks_)
            fmt::format_to(std::back_inserter(body_), "M{} {}v5", px(x_of(tick.ns)), px(top));
        body_ += "\"/>\n";
        for (const Tick& tick : ticks_)
            text(x_of(tick.ns), top + 17, kNoteFont, fmt::format("{} text-anchor=\"middle\"", kNote),
                 tick.label);
        return top + 28;
    }

    double draw_legend(double top) {
        double x = kLeft, y = top;
        const auto entry = [&](int paint, double opacity, const std::string& text_of_entry) {
            const std::string words = fit_px(text_of_entry, kNoteFont, (kPageRight - kLeft) / 2);
            const double width = 20 + text_px(words, kNoteFont) + 18;
            if (x > kLeft && x + width > kPageRight) x = kLeft, y += kLegendLine;
            const Look& look = look_of(paint);
            const double height = 12 * look.height;
            fmt::format_to(std::back_inserter(body_),
                           "<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"{}\" fill=\"{}\"{}/>\n", px(x),
                           px(y + 8 - height / 2), px(height), look.fill, opacity_attribute(opacity));
            text(x + 20, y + 12, kNoteFont, kInk, words);
            x += width;
        };
        for (const LegendEntry& of_paint : legend_of(timelines_, colours_))
            entry(of_paint.paint, 1, of_paint.text);
        if (pale_) entry(*pale_, opacity_of(0.5), "faint: many drawn as one, with gaps between them");
        return y + kLegendLine + kPageMargin / 2;
    }

    const std::vector<Timeline>& timelines_;
    SharedColours colours_;
    PlotArea plot_;
    std::vector<Tick> ticks_;
    std::optional<int> pale_;  ///< the first of the paints that have been drawn pale
    int64_t longest_ns_ = 0;
    std::string body_;
};

}  // namespace

std::string timeline_svg(const std::vector<Timeline>& above_each_other) {
    return Figure(above_each_other).draw();
}

}  // namespace lab
