#include "draw/roofline_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "core/text.h"
#include "core/utf8.h"
#include "draw/label_places.h"
#include "draw/label_room.h"
#include "draw/palette.h"
#include "draw/svg_page.h"
#include "draw/svg_text.h"

namespace lab {

namespace {

constexpr double kLeft = 104, kTop = 44, kBottom = 484, kLegendLine = 20;
constexpr double kHeadroom = 24;  ///< px above the highest value, for the label of a roof
constexpr double kMarkerPx = 4.5, kRidgePx = 2.5;
constexpr double kMostLabelPx = 240;  ///< a longer name is cut; its hover text is whole
constexpr const char* kSolid = "";
constexpr const char* kDashed = " stroke-dasharray=\"7 4\"";

/// Bytes are warm and FLOP are cool, as copies and kernels are in a timeline.
const char* colour_of(bool is_bandwidth) {
    return look_of(is_bandwidth ? kPaintToHost : 0).fill;
}

struct Label {
    std::string words;
    double width = 0;  ///< px
    std::vector<LabelPlace> places;
};

class Figure {
  public:
    explicit Figure(const Roofline& roofline)
        : roofline_(roofline),
          view_(view_of(roofline)),
          room_(rectangle({(kLeft + kPageRight) / 2, (kTop + kBottom) / 2}, kPageRight - kLeft,
                          kBottom - kTop)) {}

    std::string draw() {
        append_title(body_, kPageMargin, roofline_.title, roofline_.label);
        draw_axes();
        for (const Roof& roof : roofline_.bandwidths) draw_roof(roof, true);
        for (const Roof& roof : roofline_.computes) draw_roof(roof, false);
        for (const Ridge& ridge : ridges_of(roofline_)) draw_ridge(ridge);
        for (const RooflinePoint& point : roofline_.points) draw_point(point);
        // Labels come last: by now it is known what they must not cover.
        std::vector<Label> of_roofs, of_points;
        for (const Roof& roof : roofline_.bandwidths) of_roofs.push_back(label_of(roof, true));
        for (const Roof& roof : roofline_.computes) of_roofs.push_back(label_of(roof, false));
        for (const RooflinePoint& point : roofline_.points) of_points.push_back(label_of(point));
        draw_labels(of_roofs);
        draw_labels(of_points);
        const double bottom = draw_legend(kBottom + 50);
        return svg_page(bottom, description(), "", body_);
    }

  private:
    [[nodiscard]] Spot spot_of(double flop_per_byte, double flop_per_s) const {
        return {kLeft + (kPageRight - kLeft) * view_.flop_per_byte.share_of(flop_per_byte),
                kBottom - (kBottom - kTop - kHeadroom) * view_.flop_per_s.share_of(flop_per_s)};
    }

    [[nodiscard]] Outline line_of(const Roof& roof, bool is_bandwidth) const {
        const RoofSegment line =
            is_bandwidth ? bandwidth_line(roofline_, view_, roof) : compute_line(roofline_, view_, roof);
        return {spot_of(line.from_flop_per_byte, line.from_flop_per_s),
                spot_of(line.to_flop_per_byte, line.to_flop_per_s)};
    }

    [[nodiscard]] std::string description() const {
        std::vector<std::string> parts;
        for (const Roof& roof : roofline_.bandwidths) parts.push_back(hover_of(roof, true));
        for (const Roof& roof : roofline_.computes) parts.push_back(hover_of(roof, false));
        for (const RooflinePoint& point : roofline_.points) parts.push_back(hover_of(roofline_, point));
        return fmt::format("Roofline {}: {}", roofline_.title, join(parts, "; "));
    }

    template <class... Values>
    void add(fmt::format_string<Values...> format, Values&&... values) {
        fmt::format_to(std::back_inserter(body_), format, std::forward<Values>(values)...);
    }

    void draw_axes() {
        add("<rect class=\"panel\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#f3f5f8\"/>\n",
            px(kLeft), px(kTop), px(kPageRight - kLeft), px(kBottom - kTop));
        const auto across = log_ticks(view_.flop_per_byte, kPageRight - kLeft, {36, 5});
        const auto up = log_ticks(view_.flop_per_s, kBottom - kTop - kHeadroom, {28, 4});
        for (const bool labelled : {false, true}) {
            std::string grid;
            for (const LogTick& tick : across)
                if (tick.labelled == labelled)
                    grid += fmt::format("M{} {}V{}", px(spot_of(tick.value(), 1).x), px(kTop), px(kBottom));
            for (const LogTick& tick : up)
                if (tick.labelled == labelled)
                    grid +=
                        fmt::format("M{} {}H{}", px(kLeft), px(spot_of(1, tick.value()).y), px(kPageRight));
            add("<path class=\"grid\" stroke=\"#d0d7de\" stroke-width=\"{}\" d=\"{}\"/>\n",
                labelled ? "0.9" : "0.4", grid);
        }
        add("<path class=\"end\" stroke=\"#1f2328\" fill=\"none\" d=\"M{} {}V{}H{}\"/>\n", px(kLeft),
            px(kTop), px(kBottom), px(kPageRight));
        const std::string middle = fmt::format("{} text-anchor=\"middle\"", kNote);
        for (const LogTick& tick : across)
            if (tick.labelled)
                append_text(body_, spot_of(tick.value(), 1).x, kBottom + 19, kNoteFont, middle,
                            short_number(tick.value()));
        for (const LogTick& tick : up)
            if (tick.labelled)
                append_text(body_, kLeft - 8, spot_of(1, tick.value()).y + 4, kNoteFont,
                            fmt::format("{} text-anchor=\"end\"", kNote),
                            format_rate(tick.value(), "FLOP/s"));
        append_text(body_, (kLeft + kPageRight) / 2, kBottom + 37, kNoteFont,
                    fmt::format("{} text-anchor=\"middle\"", kInk), "arithmetic intensity, FLOP/byte");
    }

    void draw_roof(const Roof& roof, bool is_bandwidth) {
        const Outline line = line_of(roof, is_bandwidth);
        add("<path stroke=\"{}\" stroke-width=\"2\"{} fill=\"none\" d=\"M{} {}L{} {}\"><title>{}</title>"
            "</path>\n",
            colour_of(is_bandwidth), roof.measured ? kSolid : kDashed, px(line[0].x), px(line[0].y),
            px(line[1].x), px(line[1].y), xml_text(hover_of(roof, is_bandwidth)));
        room_.spare(line);
    }

    static std::string title_of(const std::string& hover) {
        return hover.empty() ? "" : fmt::format("<title>{}</title>", xml_text(hover));
    }

    void append_ridge(const Spot& at, const std::string& hover) {
        add("<circle class=\"paper end\" cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"#ffffff\" stroke=\"#1f2328\">"
            "{}</circle>\n",
            px(at.x), px(at.y), kRidgePx, title_of(hover));
    }

    void draw_ridge(const Ridge& ridge) {
        const Spot at = spot_of(ridge.flop_per_byte, ridge.flop_per_s);
        if (at.x > kPageRight || at.x < kLeft) return;
        append_ridge(at, hover_of(roofline_, ridge));
    }

    void append_marker(const Spot& at, bool by_bandwidth, const std::string& hover) {
        const std::string look =
            fmt::format("class=\"end\" fill=\"{}\" stroke=\"#1f2328\"", colour_of(by_bandwidth));
        if (by_bandwidth)
            add("<circle {} cx=\"{}\" cy=\"{}\" r=\"{}\">{}</circle>\n", look, px(at.x), px(at.y), kMarkerPx,
                title_of(hover));
        else
            add("<rect {} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">{}</rect>\n", look,
                px(at.x - kMarkerPx + 0.5), px(at.y - kMarkerPx + 0.5), 2 * kMarkerPx - 1, 2 * kMarkerPx - 1,
                title_of(hover));
    }

    void append_runs(double x, double low, double high) {
        add("<path class=\"end\" stroke=\"#1f2328\" fill=\"none\" d=\"M{} {}h8m-4 0V{}m-4 0h8\"/>\n",
            px(x - 4), px(low), px(high));
    }

    void draw_point(const RooflinePoint& point) {
        const Spot at = spot_of(point.flop_per_byte, point.flop_per_s);
        if (point.runs) {
            const double low = spot_of(1, point.runs->low).y, high = spot_of(1, point.runs->high).y;
            append_runs(at.x, low, high);
            room_.spare({{at.x, low}, {at.x, high}});
        }
        append_marker(at, limit_of(roofline_, point).by_bandwidth, hover_of(roofline_, point));
        room_.keep_clear(rectangle(at, 2 * kMarkerPx, 2 * kMarkerPx));
    }

    /// A name, cut so that it fits, and the number behind it, which is never cut.
    static Label label_of_words(std::string_view name, const std::string& number) {
        const double room = kMostLabelPx - text_px(" " + number, kNoteFont);
        const std::string words = fmt::format("{} {}", fit_px(one_line(name), kNoteFont, room), number);
        return {words, text_px(words, kNoteFont), {}};
    }

    [[nodiscard]] Label label_of(const Roof& roof, bool is_bandwidth) const {
        Label label = label_of_words(roof.name, format_rate(roof.per_s, is_bandwidth ? "B/s" : "FLOP/s"));
        // A bandwidth roof has its label at its foot, a compute roof at its far end: there they are apart.
        label.places = places_along(line_of(roof, is_bandwidth), label.width, is_bandwidth);
        return label;
    }

    [[nodiscard]] Label label_of(const RooflinePoint& point) const {
        Label label = label_of_words(point.name, share_text(limit_of(roofline_, point).share));
        label.places = places_around(spot_of(point.flop_per_byte, point.flop_per_s), kMarkerPx, label.width);
        return label;
    }

    void draw_labels(const std::vector<Label>& labels) {
        std::vector<std::vector<LabelPlace>> places;
        for (const Label& label : labels) places.push_back(label.places);
        const std::vector<std::optional<LabelPlace>> taken = room_.take(places);
        for (std::size_t i = 0; i < labels.size(); ++i)
            if (taken[i])
                append_label(labels[i], *taken[i]);
            else
                ++unlabelled_;
    }

    void append_label(const Label& label, const LabelPlace& place) {
        if (place.leader)
            add("<path class=\"end\" stroke=\"#1f2328\" stroke-width=\"0.6\" d=\"M{} {}L{} {}\"/>\n",
                px(place.leader->at(0).x), px(place.leader->at(0).y), px(place.leader->at(1).x),
                px(place.leader->at(1).y));
        const std::string_view anchor = place.anchor;
        const double side = anchor == "start" ? -label.width / 2 : anchor == "end" ? label.width / 2 : 0;
        std::string look = fmt::format("{} text-anchor=\"{}\" pointer-events=\"none\"", kInk, anchor);
        if (place.degrees != 0)
            look += fmt::format(" transform=\"rotate({} {} {})\"", px(place.degrees), px(place.middle.x),
                                px(place.middle.y));
        append_text(body_, place.middle.x + side, place.middle.y + 4, kNoteFont, look, label.words);
    }

    [[nodiscard]] bool has_roof(bool measured) const {
        const auto is = [&](const Roof& roof) { return roof.measured == measured; };
        return std::any_of(roofline_.bandwidths.begin(), roofline_.bandwidths.end(), is) ||
               std::any_of(roofline_.computes.begin(), roofline_.computes.end(), is);
    }

    [[nodiscard]] bool has_point(bool by_bandwidth) const {
        return std::any_of(roofline_.points.begin(), roofline_.points.end(), [&](const RooflinePoint& point) {
            return limit_of(roofline_, point).by_bandwidth == by_bandwidth;
        });
    }

    void append_sample(const Spot& at, const char* colour, const char* dashes, double rise) {
        add("<path {} stroke-width=\"2\"{} d=\"M{} {}l28 {}\"/>\n",
            colour ? fmt::format("stroke=\"{}\"", colour) : "class=\"end\" stroke=\"#1f2328\"", dashes,
            px(at.x - 14), px(at.y + rise / 2), px(-rise));
    }

    double draw_legend(double top) {
        double x = kLeft, y = top;
        const auto entry = [&](std::string_view words, auto append_sign) {
            const double width = 34 + text_px(words, kNoteFont) + 18;
            if (x > kLeft && x + width > kPageRight) x = kLeft, y += kLegendLine;
            append_sign(Spot{x + 14, y + 8});
            append_text(body_, x + 34, y + 12, kNoteFont, kInk, words);
            x += width;
        };
        const auto sample = [this](const char* colour, const char* dashes, double rise) {
            return [=, this](const Spot& at) { append_sample(at, colour, dashes, rise); };
        };
        const auto marker = [this](bool by_bandwidth) {
            return [=, this](const Spot& at) { append_marker(at, by_bandwidth, ""); };
        };
        if (!roofline_.bandwidths.empty()) entry("bandwidth roof", sample(colour_of(true), kSolid, 10));
        if (!roofline_.computes.empty()) entry("compute roof", sample(colour_of(false), kSolid, 0));
        if (has_roof(true)) entry("measured", sample(nullptr, kSolid, 0));
        if (has_roof(false)) entry("theoretical", sample(nullptr, kDashed, 0));
        if (!ridges_of(roofline_).empty())
            entry("ridge point", [this](const Spot& at) { append_ridge(at, ""); });
        if (has_point(true)) entry("under a bandwidth roof", marker(true));
        if (has_point(false)) entry("under a compute roof", marker(false));
        if (std::any_of(roofline_.points.begin(), roofline_.points.end(),
                        [](const auto& p) { return p.runs; }))
            entry("slowest to fastest run",
                  [this](const Spot& at) { append_runs(at.x, at.y + 6, at.y - 6); });
        return draw_notes(y + kLegendLine) + kPageMargin / 2;
    }

    /// The words and the points' names behind them, on as many lines as they need.
    static void append_note(std::vector<std::string>& notes, std::string line,
                            const std::vector<std::string>& points) {
        for (std::size_t i = 0; i < points.size(); ++i) {
            const std::string name = points[i] + (i + 1 < points.size() ? " · " : "");
            if (i > 0 && text_px(line + name, kNoteFont) > kPageRight - kLeft)
                notes.push_back(std::exchange(line, ""));
            line += name;
        }
        notes.push_back(line);
    }

    /// Of what the shares are shares, which a printed page cannot say in a hover text.
    double draw_notes(double top) {
        std::vector<std::pair<std::string, std::vector<std::string>>> points_of;
        for (const RooflinePoint& point : roofline_.points) {
            const Limit limit = limit_of(roofline_, point);
            const std::string roof =
                fmt::format("{} {}", limit.by_bandwidth ? "intensity ×" : "", limit.denominator);
            auto found = std::find_if(points_of.begin(), points_of.end(),
                                      [&](const auto& line) { return line.first == roof; });
            if (found == points_of.end()) found = points_of.insert(found, {roof, {}});
            found->second.push_back(one_line(point.name));
        }
        std::vector<std::string> notes;
        for (const auto& [roof, points] : points_of)
            append_note(notes, fmt::format("% of {}: ", trim(roof)), points);
        if (unlabelled_ > 0)
            notes.push_back(fmt::format("Without a label, for want of room: {}. The hover text names them.",
                                        unlabelled_));
        for (const std::string& note : notes) {
            append_text(body_, kLeft, top + 12, kNoteFont, kNote,
                        fit_px(note, kNoteFont, kPageRight - kLeft));
            top += 16;
        }
        return top;
    }

    const Roofline& roofline_;
    RooflineView view_;
    LabelRoom room_;
    int unlabelled_ = 0;
    std::string body_;
};

}  // namespace

std::string roofline_svg(const Roofline& roofline) {
    check(roofline);
    return Figure(roofline).draw();
}

}  // namespace lab
