// Room for labels in a picture: they cover neither each other nor what they are about.
#pragma once

#include <optional>
#include <vector>

namespace lab {

/// A point of the picture.
struct Spot {
    double x = 0, y = 0;  ///< px, y downwards
};

/// A convex shape by its corners, in order. Two corners are a line.
using Outline = std::vector<Spot>;

/// Do they have a point in common?
[[nodiscard]] bool touch(const Outline& a, const Outline& b);

/// The rectangle around `middle`, turned clockwise by so many degrees.
[[nodiscard]] Outline rectangle(const Spot& middle, double width, double height, double degrees = 0);

/// One of the places where a label could be.
struct LabelPlace {
    Spot middle;
    double degrees = 0;             ///< the text is turned clockwise by these
    const char* anchor = "middle";  ///< which part of the text stays put where a reader's font is narrower
    Outline outline;                ///< what has to be free
    std::optional<Outline> leader;  ///< the line from what the label is about, where it is not next to it
    double away = 0;                ///< px from what it is about: the less the better
};

/// The room that labels have, and what they have taken of it.
class LabelRoom {
  public:
    explicit LabelRoom(Outline bounds) : bounds_(std::move(bounds)) {}

    /// No label covers this.
    void keep_clear(Outline outline) { clear_.push_back(std::move(outline)); }

    /// A label covers this only where any other place is far away; its leader may cross it.
    void spare(Outline outline) { spared_.push_back(std::move(outline)); }

    /// For each label, from all of its places, the best of those that are inside the bounds and free, and the
    /// first of equals; nothing where there is no room. What is taken stays taken. Who chooses first matters,
    /// so several orders are tried, and the one that leaves fewest without a place is kept.
    [[nodiscard]] std::vector<std::optional<LabelPlace>> take(
        const std::vector<std::vector<LabelPlace>>& labels);

  private:
    [[nodiscard]] bool is_inside(const Outline& outline) const;
    [[nodiscard]] bool is_free(const LabelPlace& place) const;
    [[nodiscard]] double cost(const LabelPlace& place) const;

    /// The cheapest free place, which is taken then; its cost is added to `cost`.
    std::optional<LabelPlace> take_one(const std::vector<LabelPlace>& places, double& cost);

    Outline bounds_;  ///< a rectangle
    std::vector<Outline> clear_, spared_, labels_;
};

}  // namespace lab
