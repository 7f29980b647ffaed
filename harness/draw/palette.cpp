#include "draw/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

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

void order_by_colour(std::vector<KernelTime>& kernels) {
    std::sort(kernels.begin(), kernels.end(), [](const KernelTime& a, const KernelTime& b) {
        return a.ns != b.ns ? a.ns > b.ns : a.name < b.name;
    });
}

int SharedColours::paint(std::size_t timeline, const Box& box) const {
    switch (box.kind) {
        case Box::Kind::kernel:
            return std::min<int>(index[timeline][static_cast<std::size_t>(box.colour_index)],
                                 kPaintOtherKernels);
        case Box::Kind::copy_h2d:
            return kPaintToDevice;
        case Box::Kind::copy_d2h:
            return kPaintToHost;
        case Box::Kind::copy_other:
            return kPaintOtherCopy;
        case Box::Kind::set:
            return kPaintSet;
        case Box::Kind::range:
            return kPaintRange;
        case Box::Kind::api_call:
            return kPaintCall;
        case Box::Kind::api_sync:
            break;
    }
    return kPaintWait;
}

namespace {

/// The kernels of a timeline by its colour index.
std::vector<KernelTime> kernels_of(const Timeline& timeline) {
    std::vector<KernelTime> kernels;
    for (const TimelineRow& row : timeline.rows)
        for (const Box& box : row.boxes) {
            if (box.kind != Box::Kind::kernel) continue;
            const auto colour = static_cast<std::size_t>(box.colour_index);
            if (colour >= kernels.size()) kernels.resize(colour + 1);
            if (kernels[colour].name.empty()) kernels[colour].name = box.name;
            kernels[colour].ns += box.end_ns - box.begin_ns;
        }
    return kernels;
}

}  // namespace

SharedColours share_colours(std::span<const Timeline> timelines) {
    std::vector<std::vector<KernelTime>> kernels;
    std::map<std::string, int64_t> ns_of;
    for (const Timeline& timeline : timelines) {
        kernels.push_back(kernels_of(timeline));
        for (const KernelTime& kernel : kernels.back())
            if (!kernel.name.empty() || kernel.ns > 0) ns_of[kernel.name] += kernel.ns;
    }
    std::vector<KernelTime> all;
    for (const auto& [name, ns] : ns_of) all.push_back({name, ns});
    order_by_colour(all);

    SharedColours shared;
    std::map<std::string, int> index_of;
    for (const KernelTime& kernel : all) {
        index_of[kernel.name] = static_cast<int>(shared.names.size());
        shared.names.push_back(kernel.name);
    }
    for (const auto& of_timeline : kernels) {
        shared.index.emplace_back();
        for (const KernelTime& kernel : of_timeline) shared.index.back().push_back(index_of[kernel.name]);
    }
    return shared;
}

SharedColours own_colours(const Timeline& timeline) {
    SharedColours own;
    own.index.emplace_back();
    for (const KernelTime& kernel : kernels_of(timeline)) {
        own.index.back().push_back(static_cast<int>(own.names.size()));
        own.names.push_back(kernel.name);
    }
    return own;
}

void align_colours(std::vector<Timeline>& timelines) {
    const SharedColours shared = share_colours(timelines);
    for (std::size_t i = 0; i < timelines.size(); ++i)
        for (TimelineRow& row : timelines[i].rows)
            for (Box& box : row.boxes)
                if (box.kind == Box::Kind::kernel)
                    box.colour_index = shared.index[i][static_cast<std::size_t>(box.colour_index)];
}

std::vector<LegendEntry> legend_of(std::span<const Timeline> timelines, const SharedColours& colours) {
    std::array<bool, kPaints> used{};
    for (std::size_t i = 0; i < timelines.size(); ++i) {
        for (const TimelineRow& row : timelines[i].rows)
            for (const Box& box : row.boxes) used[static_cast<std::size_t>(colours.paint(i, box))] = true;
        if (!timelines[i].idle.empty()) used[kPaintIdle] = true;
    }
    std::vector<std::string> others;
    for (std::size_t i = kOwnColours; i < colours.names.size(); ++i)
        if (!colours.names[i].empty()) others.push_back(colours.names[i]);
    std::vector<LegendEntry> legend;
    for (int paint = 0; paint < kPaints; ++paint) {
        if (!used[static_cast<std::size_t>(paint)]) continue;
        legend.push_back(
            {paint, paint < kOwnColours ? colours.names[static_cast<std::size_t>(paint)]
                    : paint == kPaintOtherKernels
                        ? others.size() == 1 ? others[0] : fmt::format("{} other kernels", others.size())
                        : look_of(paint).says});
    }
    return legend;
}

}  // namespace lab
