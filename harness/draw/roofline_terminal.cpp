#include "draw/roofline_terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/text.h"
#include "core/utf8.h"
#include "draw/cells.h"
#include "draw/palette.h"

namespace lab {

namespace {

constexpr const char* kTheoretical = "·";

int colour_of(bool is_bandwidth) {
    return look_of(is_bandwidth ? kPaintToHost : 0).terminal;
}

/// a, b, c, ... and after z the same again: a picture with so many roofs is a wall in any case.
std::string letter_of(std::size_t roof) {
    return {static_cast<char>('a' + roof % 26)};
}

class Page {
  public:
    Page(const Roofline& roofline, int columns, int rows, bool colour)
        : roofline_(roofline),
          view_(view_of(roofline)),
          columns_(std::max(1, columns)),
          rows_(std::max(3, rows)),
          colour_(colour),
          up_(log_ticks(view_.flop_per_s, rows_, {2, 1})) {
        for (const LogTick& tick : up_)
            if (tick.labelled)
                label_columns_ = std::max(label_columns_, columns_of(std::string_view(tick_text(tick))));
        label_columns_ = std::min(label_columns_, columns_ / 3);
        width_ = std::max(1, columns_ - label_columns_ - 2);
        grid_.assign(static_cast<std::size_t>(rows_), Cells(static_cast<std::size_t>(width_)));
    }

    std::string print() {
        if (!roofline_.title.empty()) plain(one_line(roofline_.title));
        if (!roofline_.label.empty()) plain(one_line(roofline_.label));
        // Measured roofs come last: where they share a cell with theoretical ones, they are what is seen.
        for (const bool measured : {false, true}) draw_roofs(measured);
        draw_letters();
        draw_points();
        print_grid();
        print_axis();
        print_points();
        print_roofs();
        return text_;
    }

  private:
    static std::string tick_text(const LogTick& tick) { return format_rate(tick.value(), "FLOP/s"); }

    void plain(std::string_view words) { text_ += fit_columns(words, columns_) + "\n"; }

    /// An entry of a list: its sign, and its words in as many lines as they need.
    void entry(const std::string& sign, int colour, std::string_view words) {
        const int lead = std::max(2, static_cast<int>(std::to_string(roofline_.points.size()).size()));
        const int room = columns_ - lead - 2;
        if (room < 1) return plain(sign);
        std::string first = to_text({{fmt::format("{:<{}}", sign, lead), colour}}, colour_);
        for (const std::string& line : wrapped(words, static_cast<std::size_t>(room))) {
            text_ += first + "  " + fit_columns(line, room) + "\n";
            first = std::string(static_cast<std::size_t>(lead), ' ');
        }
    }

    [[nodiscard]] int column_of(double flop_per_byte) const {
        const double share = view_.flop_per_byte.share_of(flop_per_byte);
        return std::clamp(static_cast<int>(std::floor(share * width_)), 0, width_ - 1);
    }

    /// From the top.
    [[nodiscard]] int row_of(double flop_per_s) const {
        const double share = view_.flop_per_s.share_of(flop_per_s);
        return std::clamp(static_cast<int>(std::floor((1 - share) * rows_)), 0, rows_ - 1);
    }

    [[nodiscard]] double intensity_at(double column) const {
        const LogRange& range = view_.flop_per_byte;
        return range.low * std::pow(range.high / range.low, column / width_);
    }

    Cell& cell(int row, int column) {
        return grid_[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
    }

    void draw_roofs(bool measured) {
        for (const Roof& roof : roofline_.bandwidths)
            if (roof.measured == measured) draw_bandwidth(roof);
        for (const Roof& roof : roofline_.computes)
            if (roof.measured == measured) draw_compute(roof);
    }

    /// In each column, from where the line comes in to where it leaves: a steep one has no holes.
    void draw_bandwidth(const Roof& roof) {
        const RoofSegment line = bandwidth_line(roofline_, view_, roof);
        const int last = column_of(line.to_flop_per_byte);
        for (int column = column_of(line.from_flop_per_byte); column <= last; ++column) {
            const auto row_at = [&](double at) {
                const double intensity =
                    std::clamp(intensity_at(at), line.from_flop_per_byte, line.to_flop_per_byte);
                return row_of(intensity * roof.per_s);
            };
            const int bottom = row_at(column), top = row_at(column + 0.999);
            for (int row = top; row <= bottom; ++row)
                cell(row, column) = {roof.measured ? "/" : kTheoretical, colour_of(true)};
        }
    }

    void draw_compute(const Roof& roof) {
        const RoofSegment line = compute_line(roofline_, view_, roof);
        const int row = row_of(roof.per_s);
        for (int column = column_of(line.from_flop_per_byte); column < width_; ++column)
            cell(row, column) = {roof.measured ? "─" : kTheoretical, colour_of(false)};
    }

    /// Writes `word` at the cell or at the nearest free place in its row, then in the rows next to it.
    bool put(const std::string& word, int colour, int row, int column, int reach) {
        const int width = columns_of(std::string_view(word));
        for (int away = 0; away <= reach; ++away)
            for (const int down : {0, -1, 1})
                for (const int right : {away, -away}) {
                    const int to_row = row + down, to_column = column + right;
                    if (to_row < 0 || to_row >= rows_ || to_column < 0 || to_column + width > width_)
                        continue;
                    if (is_taken(to_row, to_column, width)) continue;
                    for (int i = 0; i < width; ++i) {
                        cell(to_row, to_column + i) = {std::string(1, word[static_cast<std::size_t>(i)]),
                                                       colour};
                        taken_.push_back(to_row * width_ + to_column + i);
                    }
                    return true;
                }
        return false;
    }

    /// One more cell on either side, so that 1 and 2 do not read as 12.
    [[nodiscard]] bool is_taken(int row, int column, int width) const {
        return std::any_of(taken_.begin(), taken_.end(), [&](int at) {
            return at / width_ == row && at % width_ >= column - 1 && at % width_ <= column + width;
        });
    }

    void draw_letters() {
        std::size_t letter = 0;
        for (const Roof& roof : roofline_.bandwidths) {
            const RoofSegment line = bandwidth_line(roofline_, view_, roof);
            put(letter_of(letter++), colour_of(true), row_of(line.from_flop_per_s),
                column_of(line.from_flop_per_byte), 3);
        }
        for (const Roof& roof : roofline_.computes)
            put(letter_of(letter++), colour_of(false), row_of(roof.per_s), width_ - 1, 3);
    }

    void draw_points() {
        for (std::size_t i = 0; i < roofline_.points.size(); ++i) {
            const RooflinePoint& point = roofline_.points[i];
            shown_.push_back(
                put(std::to_string(i + 1), -1, row_of(point.flop_per_s), column_of(point.flop_per_byte), 6));
        }
    }

    void print_grid() {
        for (int row = 0; row < rows_; ++row) {
            std::string label;
            for (const LogTick& tick : up_)
                if (tick.labelled && row_of(tick.value()) == row) label = tick_text(tick);
            label = fit_columns(label, label_columns_);
            const int blanks = label_columns_ - columns_of(std::string_view(label));
            std::string line = std::string(static_cast<std::size_t>(blanks), ' ') + label;
            if (columns_ > label_columns_ + 2)
                line +=
                    (label.empty() ? " │" : " ┤") + to_text(grid_[static_cast<std::size_t>(row)], colour_);
            text_ += line + "\n";
        }
    }

    void print_axis() {
        if (columns_ <= label_columns_ + 2) return;
        const auto cells = static_cast<std::size_t>(width_);
        Cells marks(cells, Cell{"─"}), labels(cells, Cell{" "});
        int free_from = 0;
        for (const LogTick& tick : log_ticks(view_.flop_per_byte, width_, {7, 7})) {
            const std::string label = short_number(tick.value());
            const int at = column_of(tick.value()), width = columns_of(std::string_view(label));
            if (!tick.labelled || at < free_from || at + width > width_) continue;
            marks[static_cast<std::size_t>(at)] = {"┴"};
            free_from = at;
            for (const char32_t c : decode_utf8(label))
                labels[static_cast<std::size_t>(free_from++)] = {encode_utf8({&c, 1})};
            ++free_from;
        }
        const std::string blanks(static_cast<std::size_t>(label_columns_ + 1), ' ');
        text_ += blanks + "└" + to_text(marks, false) + "\n" + blanks + " " + to_text(labels, false) + "\n";
        plain(blanks + " arithmetic intensity, FLOP/byte");
    }

    void print_points() {
        for (std::size_t i = 0; i < roofline_.points.size(); ++i)
            entry(std::to_string(i + 1), -1,
                  hover_of(roofline_, roofline_.points[i]) + (shown_[i] ? "" : " (no room in the plot)"));
    }

    void print_roofs() {
        std::size_t letter = 0;
        for (const Roof& roof : roofline_.bandwidths)
            entry(letter_of(letter++), colour_of(true), hover_of(roof, true) + sign_of(roof, "/"));
        for (const Roof& roof : roofline_.computes)
            entry(letter_of(letter++), colour_of(false), hover_of(roof, false) + sign_of(roof, "─"));
    }

    static std::string sign_of(const Roof& roof, const char* line) {
        const char* sign = roof.measured ? line : kTheoretical;
        return fmt::format(" {0}{0}{0}", sign);
    }

    const Roofline& roofline_;
    RooflineView view_;
    int columns_, rows_;
    bool colour_;
    std::vector<LogTick> up_;
    int label_columns_ = 0, width_ = 1;
    std::vector<Cells> grid_;
    std::vector<int> taken_;   ///< cells that hold a letter or a number
    std::vector<bool> shown_;  ///< for each point, is it in the plot?
    std::string text_;
};

}  // namespace

std::string roofline_terminal(const Roofline& roofline, int columns, int rows, bool colour) {
    check(roofline);
    return Page(roofline, columns, rows, colour).print();
}

}  // namespace lab
