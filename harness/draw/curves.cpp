#include "draw/curves.h"

#include <algorithm>

namespace lab {

std::vector<std::optional<double>> columns_of(const Curve& curve, int64_t begin_ns, double column_ns,
                                              std::size_t columns) {
    std::vector<double> sums(columns), weights(columns);
    const auto column_at = [&](double ns) {
        return std::clamp(ns / column_ns, 0.0, static_cast<double>(columns));
    };
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
        // A sample stands for the time up to the next one, and the last for a moment.
        const double begin = column_at(static_cast<double>(curve.points[i].time_ns - begin_ns));
        const double end = i + 1 == curve.points.size()
                               ? begin
                               : column_at(static_cast<double>(curve.points[i + 1].time_ns - begin_ns));
        for (auto column = static_cast<std::size_t>(begin); column < columns; ++column) {
            const double from = std::max(begin, static_cast<double>(column));
            const double to = std::min(end, static_cast<double>(column) + 1);
            if (to < from) break;
            const double weight = std::max(to - from, 1e-9);
            sums[column] += weight * curve.points[i].value, weights[column] += weight;
        }
    }
    std::vector<std::optional<double>> means(columns);
    for (std::size_t i = 0; i < columns; ++i)
        if (weights[i] > 0) means[i] = sums[i] / weights[i];
    return means;
}

std::string label_of(const Curve& curve) {
    return curve.unit.empty() ? curve.name : curve.name + " " + curve.unit;
}

}  // namespace lab
