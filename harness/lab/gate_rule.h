// The rule of `lab gate`: is program B slower than program A? Both run in pairs, so that what changes while
// they run (clocks, heat, other users) falls on both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lab {

/// The figures of a run of A and of the run of B beside it: times, or anything that is better when smaller.
struct RunPair {
    double a = 0, b = 0;
    bool b_first = false;  ///< B runs before A.
};

/// Pairs to be measured, each with its order by the toss of a coin. If A and B are the same program, chance
/// alone decides which of two figures is A's, so the ratios B / A lie above or below 1 like independent
/// tosses, whatever the noise. The same seed gives the same order with every library.
[[nodiscard]] std::vector<RunPair> pairs_in_random_order(std::size_t pairs, uint64_t seed);

constexpr const char *kSlower = "slower", *kFaster = "faster";
constexpr const char *kNoDifference = "no difference seen", *kInconclusive = "inconclusive";

/// The verdict on B, and what it rests on.
struct GateResult {
    std::string verdict;      ///< one of the four above
    double medians[2];        ///< A's and B's
    double ratio, low, high;  ///< the median of B / A, and an interval that holds the true one
    double coverage;          ///< with this probability or more
};

constexpr std::size_t kFewestPairs = 6;   ///< Fewer have no interval of 95 %.
constexpr std::size_t kMostPairs = 1000;  ///< 2 to the power of -1000 is still a double.

/// Judges the pairs. `threshold` is the slowdown to be caught, 0.05 for 5 %.
/// - slower: the whole interval lies above 1, and the median is at least 1 + threshold/2, so that it matters;
/// - faster: the same with A and B exchanged;
/// - no difference seen: neither, and the whole interval lies within 1/(1 + threshold) and 1 + threshold;
/// - inconclusive: anything else. The runs scatter too much to tell.
///
/// The interval goes from the rank-th smallest ratio to the rank-th largest, with the highest rank that
/// covers 95 %: coverage = 1 - 2 P(fewer than `rank` heads in n tosses), whatever the distribution (H. A.
/// David and H. N. Nagaraja, Order Statistics, 3rd edition, chapter 7). So a program is called slower than
/// itself in fewer than 2.5 % of all trials. Throws an Error for a number of pairs out of bounds and for a
/// figure that is not above 0.
[[nodiscard]] GateResult judge_pairs(const std::vector<RunPair>& pairs, double threshold);

}  // namespace lab
