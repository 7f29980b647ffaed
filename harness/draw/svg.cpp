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

namespace lab {

namespace {

constexpr double kDurationFont = 13, kHeader = 42, kBetween = 22, kLegendLine = 20;

constexpr const char* kIdlePattern = R"svg(<defs><pattern id="idle" width="5" height="5" )svg"
                                     R"svg(patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="5" height="5" fill="#efd6d6"/><rect width="1.6" height="5" fill="#8b5a5a"/></pattern></defs>
)svg";

class Figure {
  public:
    explicit Figure(const std::vector<Timeline>& timelines) : timelines_(timelines) {
        for (const Timeline& timeline : timelines) longest_ns_ = std::max(longest_ns_, timeline.span_ns());
        px_per_ns_ = (kPageRight - kPlotLeft) / static_cast<double>(std::max<int64_t>(longest_ns_, 1));
        const Timeline* const first = timelines.empty() ? nullptr : &timelines.front();
        ticks_ = axis_ticks(longest_ns_, 8, first ? first->begin_ns - first->origin_ns : 0);
    }

    std::string draw() {
        double y = kPageMargin;
        for (const Timeline& timeline : timelines_) y = draw_timeline(timeline, y) + kBetween;
        y = draw_axis(y - kBetween);
        y = draw_legend(y);
        return svg_page(y, description(), kIdlePattern, body_);
    }

  private:
    [[nodiscard]] double x_of(int64_t ns) const { return kPlotLeft + static_cast<double>(ns) * px_per_ns_; }

    [[nodiscard]] std::string description() const {
        std::vector<std::string> parts;
        for (const Timeline& timeline : timelines_)
            parts.push_back(fmt::format("{} {}", timeline.options.title,
                                        format_ns(static_cast<double>(timeline.span_ns()))));
        return "Timeline: " + join(parts, "; ");
    }

    template <class... Args>
    void put(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(body_), format, std::forward<Args>(args)...);
    }

    void text(double x, double y, double font, std::string_view look, std::string_view words) {
        append_text(body_, x, y, font, look, words);
    }

    double draw_timeline(const Timeline& timeline, double top) {
        const double end = x_of(timeline.span_ns()), rows = top + kHeader;
        draw_header(timeline, top, end);
        if (timeline.span_ns() <= 0) {
            text(kPlotLeft, rows + 14, kNoteFont, kNote, "No GPU work and no NVTX range in this capture.");
            return rows + 24;
        }
        const double height = rows_height(timeline);
        put("<rect class=\"panel\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#f3f5f8\"/>\n",
            px(kPlotLeft), px(rows - 4), px(end - kPlotLeft), px(height + 8));
        draw_grid(rows - 4, rows + height + 4);
        const std::optional<int> pale = append_rows(body_, timeline, px_per_ns_, rows);
        if (pale) pale_ = std::min(*pale, pale_.value_or(*pale));
        put("<path class=\"end\" d=\"M{} {}V{}\" stroke=\"#1f2328\" stroke-width=\"1.5\"/>\n", px(end),
            px(rows - 4), px(rows + height + 4));
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
        for (const Tick& tick : ticks_) put("M{} {}V{}", px(x_of(tick.ns)), px(top), px(bottom));
        body_ += "\"/>\n";
    }

    double draw_axis(double top) {
        if (longest_ns_ <= 0) return top;
        put("<path class=\"end\" stroke=\"#1f2328\" fill=\"none\" d=\"M{} {}H{}", px(kPlotLeft), px(top),
            px(kPageRight));
        for (const Tick& tick : ticks_) put("M{} {}v5", px(x_of(tick.ns)), px(top));
        body_ += "\"/>\n";
        for (const Tick& tick : ticks_)
            text(x_of(tick.ns), top + 17, kNoteFont, fmt::format("{} text-anchor=\"middle\"", kNote),
                 tick.label);
        return top + 28;
    }

    double draw_legend(double top) {
        double x = kPlotLeft, y = top;
        const auto entry = [&](int paint, double opacity, const std::string& text_of_entry) {
            const std::string words = fit_px(text_of_entry, kNoteFont, (kPageRight - kPlotLeft) / 2);
            const double width = 20 + text_px(words, kNoteFont) + 18;
            if (x > kPlotLeft && x + width > kPageRight) x = kPlotLeft, y += kLegendLine;
            const Look& look = look_of(paint);
            const double height = 12 * look.height;
            put("<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"{}\" fill=\"{}\"{}/>\n", px(x),
                px(y + 8 - height / 2), px(height), look.fill, opacity_attribute(opacity));
            text(x + 20, y + 12, kNoteFont, kInk, words);
            x += width;
        };
        for (const LegendEntry& of_paint : legend_of(timelines_)) entry(of_paint.paint, 1, of_paint.text);
        if (pale_) entry(*pale_, opacity_of(0.5), "faint: many drawn as one, with gaps between them");
        return y + kLegendLine + kPageMargin / 2;
    }

    const std::vector<Timeline>& timelines_;
    double px_per_ns_ = 0;
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
