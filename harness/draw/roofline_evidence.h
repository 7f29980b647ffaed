// A roofline as evidence has it.
#pragma once

#include "course/roofline_evidence.h"
#include "draw/roofline.h"

namespace lab {

/// The companion's roofs, each one measured and, where it is known, theoretical; the points with them. Where
/// this GPU has no roof that a point is held against, the first one that it has stands in. An Error if the
/// companion measured no roof of a kind.
[[nodiscard]] Roofline roofline_of(const Companion& companion, const RooflineEvidence& evidence);

}  // namespace lab
