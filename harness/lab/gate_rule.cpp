#include "lab/gate_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/error.h"

namespace lab {

namespace {

double median_of_sorted(const std::vector<double>& values) {
    return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

}  // namespace

std::vector<RunPair> pairs_in_random_order(std::size_t pairs, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<RunPair> order(pairs);
    for (RunPair& pair : order)
        pair.b_first = random() >> 63;  // std::bernoulli_distribution differs between libraries
    return order;
}

GateResult judge_pairs(const std::vector<RunPair>& pairs, double threshold) {
    const std::size_t n = pairs.size();
    if (n < kFewestPairs || n > kMostPairs) throw Error(fmt::format("{} pairs cannot be judged", n));
    // Logarithms make the rule the same in both directions: 2 is as far from 1 as 1/2.
    std::vector<double> a, b, ratios;
    for (const RunPair& pair : pairs) {
        a.push_back(pair.a), b.push_back(pair.b), ratios.push_back(std::log(pair.b) - std::log(pair.a));
        if (!std::isfinite(ratios.back()))
            throw Error(fmt::format("{} and {} cannot be compared: both must be above 0", pair.a, pair.b));
    }
    for (auto* values : {&a, &b, &ratios}) std::sort(values->begin(), values->end());

    std::size_t rank = 0;
    double coverage = 1, heads = std::ldexp(1, -static_cast<int>(n));  // P(exactly `rank` heads in n tosses)
    for (; coverage - 2 * heads >= 0.95; ++rank) {
        coverage -= 2 * heads;
        heads *= static_cast<double>(n - rank) / static_cast<double>(rank + 1);
    }
    const double low = ratios[rank - 1], high = ratios[n - rank], middle = median_of_sorted(ratios);
    const double matters = std::log1p(threshold / 2), most = std::log1p(threshold);
    const char* verdict = kInconclusive;
    if (low > 0 && middle >= matters)
        verdict = kSlower;
    else if (high < 0 && middle <= -matters)
        verdict = kFaster;
    else if (low > -most && high < most)
        verdict = kNoDifference;
    return {verdict,          {median_of_sorted(a), median_of_sorted(b)},
            std::exp(middle), std::exp(low),
            std::exp(high),   coverage};
}

}  // namespace lab
