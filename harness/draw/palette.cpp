#include "draw/palette.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <string_view>

namespace lab {

const Look& look_of(int paint) {
    static constexpr std::array<Look, kPaints> kLooks = {{
        {"#0072B2", "#fff", 25, 1, "█", ""},
        {"#56B4E9", "#000", 75, 1, "█", ""},
        {"#009E73", "#000", 36, 1, "█", ""},
        {"#CC79A7", "#000", 175, 1, "█", ""},
        {"#999999", "#000", 246, 1, "█", ""},
        {"#E69F00", "#000", 214, 0.62, "→", "copy host to device"},
        {"#D55E00", "#000", 166, 0.62, "←", "copy device to host"},
        {"#F0E442", "#000", 227, 0.62, "↔", "other copy"},
        {"#F0E442", "#000", 227, 0.34, "s", "memory set"},
        {"#C6CFDA", "#1f2328", 250, 1, "─", "NVTX range"},
        {"#98A4B2", "#1f2328", 109, 0.75, "═", "host waits for the GPU"},
        {"#6E7B8B", "#fff", 66, 0.5, "┄", "host in another CUDA call"},
        {"url(#idle)", "#1f2328", 244, 1, "·", "GPU idle"},
    }};
    return kLooks[static_cast<std::size_t>(paint)];
}

std::vector<LegendEntry> legend_of(std::span<const Timeline> timelines) {
    std::array<bool, kPaints> used{};
    std::array<std::set<std::string_view>, kPaintOtherKernels + 1> kernels;  // their names, by paint
    for (const Timeline& timeline : timelines) {
        for (const TimelineRow& row : timeline.rows)
            for (const Box& box : row.boxes) {
                used[static_cast<std::size_t>(box.paint)] = true;
                if (box.is_kernel()) kernels[static_cast<std::size_t>(box.paint)].insert(box.name);
            }
        if (!timeline.idle.empty()) used[kPaintIdle] = true;
    }
    std::vector<LegendEntry> legend;
    for (int paint = 0; paint < kPaints; ++paint) {
        if (!used[static_cast<std::size_t>(paint)]) continue;
        legend.push_back({paint, look_of(paint).says});
        if (paint > kPaintOtherKernels) continue;
        const auto& names = kernels[static_cast<std::size_t>(paint)];
        legend.back().text =
            names.size() == 1 ? std::string(*names.begin()) : fmt::format("{} other kernels", names.size());
    }
    return legend;
}

}  // namespace lab
