// Where in a picture a label could be, the best place first.
#pragma once

#include <vector>

#include "draw/label_room.h"

namespace lab {

constexpr double kLabelHeight = 14;  ///< px, of a label in kNoteFont with its descenders

/// Places for a label of this width along a line, next to it on either side or further away. The first are at
/// its first end, or at its last.
[[nodiscard]] std::vector<LabelPlace> places_along(const Outline& line, double width, bool from_first_end);

/// Places around a marker that reaches `radius` from its middle, beside it or further away.
[[nodiscard]] std::vector<LabelPlace> places_around(const Spot& marker, double radius, double width);

}  // namespace lab
