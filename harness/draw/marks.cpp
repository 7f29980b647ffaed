#include "draw/marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text.h"
#include "draw/palette.h"

namespace lab {

namespace {

/// A piece of mixed thin boxes, in thin widths. Wide enough that a file stays small, narrow enough that
/// pieces which take turns blend.
constexpr double kPieceWidths = 4;

/// Collects thin boxes into pieces and pieces into marks.
class ThinBoxes {
  public:
    explicit ThinBoxes(double thin_ns) : thin_ns_(thin_ns) {}

    void add(const Box& box) {
        if (piece_.boxes == 0) between_ns_ = 0;
        piece_.add(Mark(box));
        const int64_t ns = box.end_ns - box.begin_ns;
        covered_ns_ += ns + std::exchange(between_ns_, 0);
        undrawn_ns_[box.paint] += std::max<int64_t>(ns, 1);
        if ((piece_.end_ns - piece_.begin_ns) >= kPieceWidths * thin_ns_) close_piece();
    }

    /// A wide box lies between: the lane is covered there.
    void pass(const Box& wide) { between_ns_ += wide.end_ns - wide.begin_ns; }

    /// A gap that can be seen: what comes after it is drawn apart.
    void gap() {
        close_piece();
        joins_ = false;
        undrawn_ns_ = {};
    }

    std::vector<Mark> take() {
        close_piece();
        return std::move(marks_);
    }

  private:
    void close_piece() {
        if (piece_.boxes == 0) return;
        const auto most = std::max_element(undrawn_ns_.begin(), undrawn_ns_.end());
        piece_.paint = Paint(most - undrawn_ns_.begin());
        *most -= std::max(piece_.boxes_ns, piece_.boxes);
        const double ns = piece_.end_ns - piece_.begin_ns;
        if (piece_.boxes > 1 && ns > 0)
            piece_.coverage = std::clamp(std::round(4.0 * covered_ns_ / ns), 1.0, 4.0) / 4;
        if (joins_ && marks_.back().paint == piece_.paint && marks_.back().coverage == piece_.coverage)
            marks_.back().add(piece_);
        else
            marks_.push_back(piece_);
        joins_ = true;
        piece_ = {};
        covered_ns_ = 0;
    }

    double thin_ns_;
    std::vector<Mark> marks_;
    bool joins_ = false;  ///< does the next piece follow the last mark without a gap?
    Mark piece_;
    int64_t covered_ns_ = 0;         ///< in the piece, by boxes of any width
    int64_t between_ns_ = 0;         ///< by wide boxes since the last thin one
    ByPaint<int64_t> undrawn_ns_{};  ///< time of each paint not drawn yet
};

}  // namespace

Mark::Mark(const Box& box)
    : begin_ns(box.begin_ns),
      end_ns(box.end_ns),
      paint(box.paint),
      boxes(1),
      boxes_ns(box.end_ns - box.begin_ns),
      first(&box) {}

void Mark::add(const Mark& next) {
    if (boxes == 0) {
        *this = next;
        return;
    }
    one_name = one_name && next.one_name && first->name == next.first->name;
    end_ns = next.end_ns;
    boxes += next.boxes;
    boxes_ns += next.boxes_ns;
}

std::vector<Mark> marks_of(const std::vector<const Box*>& lane, double thin_ns) {
    ThinBoxes thin(thin_ns);
    std::vector<Mark> wide;
    int64_t last_end_ns = 0;
    for (const Box* const box : lane) {
        const double ns = box->end_ns - box->begin_ns;
        if ((box->begin_ns - last_end_ns) >= thin_ns) thin.gap();
        last_end_ns = box->end_ns;
        if (ns < thin_ns) {
            thin.add(*box);
            continue;
        }
        // What is drawn below a wide box shows beside one that does not fill its lane.
        if (look_of(box->paint).height == 1 && ns < kPieceWidths * thin_ns)
            thin.pass(*box);
        else
            thin.gap();
        wide.emplace_back(*box);
    }
    std::vector<Mark> marks = thin.take();
    marks.insert(marks.end(), wide.begin(), wide.end());
    return marks;
}

std::string hover_of(const Mark& mark) {
    if (mark.boxes == 1) return mark.first->hover;
    const std::string what = mark.one_name ? mark.first->name : mark.first->name + " and others";
    return fmt::format("{} × {}, {} of {}", mark.boxes, what, format_ns(mark.boxes_ns),
                       format_ns(mark.end_ns - mark.begin_ns));
}

}  // namespace lab
