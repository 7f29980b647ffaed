#include "course/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/error.h"

namespace lab {

std::vector<bool> b_goes_first(std::size_t pairs, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<bool> order(pairs);
    for (std::size_t i = 0; i < pairs; ++i)
        order[i] = random() >> 63;  // no std::bernoulli_distribution, which differs between libraries
    return order;
}

const char* to_string(GateVerdict verdict) {
    switch (verdict) {
        case GateVerdict::no_difference:
            return "no difference seen";
        case GateVerdict::faster:
            return "faster";
        case GateVerdict::slower:
            return "slower";
        case GateVerdict::inconclusive:
            break;
    }
    return "inconclusive";
}

GateResult judge_pairs(const std::vector<RunPair>& pairs, double threshold) {
    // Logarithms make the rule the same in both directions: B / A of 2 is as far from 1 as 1/2.
    std::vector<double> log_ratios;
    for (const RunPair& pair : pairs) {
        const double log_ratio = std::log(pair.b) - std::log(pair.a);
        if (!std::isfinite(log_ratio) || pair.a <= 0)
            throw Error(
                fmt::format("{} and {} are no figures to compare: both must be above 0", pair.a, pair.b));
        log_ratios.push_back(log_ratio);
    }
    const std::optional<MedianInterval> interval = median_interval(log_ratios, kGateConfidence);
    if (!interval) throw Error(fmt::format("{} pairs are too few to judge by", pairs.size()));

    const double middle = median(log_ratios);
    const double matters = std::log1p(threshold / 2), most = std::log1p(threshold);
    GateResult result{GateVerdict::inconclusive, std::exp(middle), *interval};
    result.interval.low = std::exp(interval->low);
    result.interval.high = std::exp(interval->high);
    if (interval->low > 0 && middle >= matters)
        result.verdict = GateVerdict::slower;
    else if (interval->high < 0 && middle <= -matters)
        result.verdict = GateVerdict::faster;
    else if (interval->low > -most && interval->high < most)
        result.verdict = GateVerdict::no_difference;
    return result;
}

std::size_t pairs_that_might_do(const GateResult& open, std::size_t pairs, double threshold) {
    // Wanted: half the width at most half the threshold, so that either verdict is in reach.
    const double width = std::log(open.interval.high / open.interval.low) / std::log1p(threshold);
    const double wanted = static_cast<double>(pairs) * std::max(2.0, width * width);
    return static_cast<std::size_t>(std::ceil(std::min(wanted, 1e9) / 10)) * 10;
}

}  // namespace lab
