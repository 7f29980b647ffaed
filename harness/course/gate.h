// A performance gate: is program B slower than program A? Judged by runs in pairs, so that what changes while
// they run (clocks, heat, other users) falls on both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/statistics.h"

namespace lab {

/// The order of the runs: for each pair whether B goes first, by a coin thrown anew for each. That is what
/// the gate's error rests on: if A and B are the same program, which of two figures is called A's was chance,
/// so the ratios B / A lie above or below 1 as independent throws of a coin do, whatever the machine's noise:
/// drifting, rhythmic, skewed or correlated. The same seed gives the same order everywhere.
[[nodiscard]] std::vector<bool> b_goes_first(std::size_t pairs, uint64_t seed);

/// The figures of a run of A and of the run of B beside it: times, or whatever is better when smaller.
struct RunPair {
    double a = 0, b = 0;
};

/// What is said of B.
enum class GateVerdict { no_difference, faster, slower, inconclusive };

/// In words: "no difference seen", "faster", ...
[[nodiscard]] const char* to_string(GateVerdict verdict);

/// A verdict and what it rests on.
struct GateResult {
    GateVerdict verdict = GateVerdict::inconclusive;
    double ratio = 1;         ///< the median of B / A
    MedianInterval interval;  ///< for it
};

constexpr std::size_t kFewestPairs = 6;   ///< fewer have no interval of 95 %
constexpr double kGateConfidence = 0.95;  ///< that the interval of a GateResult holds the median

/// The rule. `threshold` is the slowdown to be caught, 0.05 for 5 %; less than half of it, as measured, never
/// counts.
/// - slower: the whole interval lies above 1, so that B is slower, and the median ratio is at least
///   1 + threshold/2, so that it matters;
/// - faster: as slower, with A and B exchanged;
/// - no difference: neither, and the whole interval lies within 1/(1 + threshold) and 1 + threshold;
/// - inconclusive: anything else. The runs scatter too much to tell.
/// A and B of the same speed are called slower in at most (1 - coverage)/2 of all trials, below 2.5 %, and by
/// the second condition in fewer. Error for fewer than kFewestPairs and for a figure that is not positive.
[[nodiscard]] GateResult judge_pairs(const std::vector<RunPair>& pairs, double threshold);

/// How many pairs might settle what these left open, a billion at most: the interval narrows with the square
/// root of their number.
[[nodiscard]] std::size_t pairs_that_might_do(const GateResult& open, std::size_t pairs, double threshold);

}  // namespace lab
