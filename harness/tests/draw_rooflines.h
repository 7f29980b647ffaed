// Rooflines for the tests of their pictures: plain ones, crowded ones, extreme ones and hostile ones.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "draw/roofline.h"

namespace lab::test {

/// Round numbers: the ridge is at 16 FLOP/byte.
inline Roofline simple() {
    return {"simple", "recorded · somewhere", {{"DRAM read", 4e12, true}}, {{"FP32 FMA", 64e12, true}}, {}};
}

/// Like a large GPU: 8 roofs, two of them almost the same, and 7 points.
inline Roofline many_roofs() {
    return {"many",
            "made up",
            {{"DRAM read", 4.52e12, true},
             {"DRAM", 4.8e12, false},
             {"L2 read", 9.1e12, true},
             {"host to device", 55e9, true}},
            {{"FP32 FMA", 64e12, true},
             {"FP64 FMA", 32.8e12, true},
             {"TF32 tensor", 420e12, true},
             {"BF16 tensor", 990e12, false}},
            {{"saxpy", 1 / 6., 0.7e12, {}, 0, 0},
             {"stencil", 0.6, 2.1e12, FlopRange{1.9e12, 2.3e12}, 0, 0},
             {"softmax", 0.75, 1.9e12, {}, 0, 0},
             {"gemv", 0.5, 2.2e12, {}, 0, 0},
             {"gemm, FP64", 700, 29e12, {}, 0, 1},
             {"gemm + bias + relu", 120, 148e12, {}, 0, 2},
             {"gemm, fused", 290, 377e12, {}, 0, 2}}};
}

/// 12 points all over the picture, or with a small spread close to each other, around one on the DRAM roof.
inline Roofline twelve_points(double spread, unsigned seed) {
    Roofline roofline = many_roofs();
    roofline.points.clear();
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> decades(-spread, spread);
    for (int i = 0; i < 12; ++i)
        roofline.points.push_back({"kernel " + std::to_string(i),
                                   2 * std::pow(10, decades(random)),
                                   9e12 * std::pow(10, decades(random)),
                                   {},
                                   0,
                                   0});
    return roofline;
}

inline Roofline strangers() {
    Roofline roofline = simple();
    roofline.title = "<title> & \x03";
    roofline.label = "\"label\" <&>";
    roofline.bandwidths.push_back({"]]><script>", 1e12, false});
    roofline.computes.push_back({std::string(500, 'r'), 1e12, false});
    for (const char* name :
         {"a<b>&\"c'", "\x01\x1b[31mred\x7f", "\xff\xfe\xc3", "two\nlines", "\xe2\x80\xaegnp", "日本語", ""})
        roofline.points.push_back(
            {name, 0.1 * std::pow(3, static_cast<double>(roofline.points.size())), 2e11, {}, 0, 0});
    roofline.points.push_back({std::string(500, 'p'), 5, 2e12, {}, 0, 0});
    return roofline;
}

inline Roofline extreme() {
    return {"extreme",
            "",
            {{"tape", 3, false}, {"light", 8e19, true}},
            {{"abacus", 0.2, true}, {"all computers of the world together", 6e24, false}},
            {{"tiny", 1e-9, 1e-3, {}, 0, 0},
             {"huge", 1e10, 5e23, FlopRange{1e20, 6e24}, 1, 1},
             {"same place", 1e10, 5e23, {}, 1, 1}}};
}

inline std::vector<Roofline> samples() {
    std::vector<Roofline> all = {simple(), many_roofs(), strangers(), extreme()};
    for (unsigned seed = 1; seed <= 10; ++seed) {
        all.push_back(twelve_points(1.5, seed));
        all.push_back(twelve_points(0.3, seed));
        all.push_back(twelve_points(0.01, seed));
    }
    all.push_back({"", "", {{"DRAM", 4e12, true}}, {}, {{"k", 1, 1e12, {}, 0, 0}}});
    all.push_back({"", "", {{"light", 8e19, true}, {"tape", 3, false}}, {}, {}});
    all.push_back({"", "", {}, {{"FMA", 4e12, true}}, {{"k", 1, 1e12, {}, 0, 0}}});
    return all;
}

inline Roofline with_point(double flop_per_byte, double flop_per_s) {
    Roofline roofline = simple();
    roofline.points.push_back({"k", flop_per_byte, flop_per_s, {}, 0, 0});
    return roofline;
}

}  // namespace lab::test
