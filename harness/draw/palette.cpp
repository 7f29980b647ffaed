#include "draw/palette.h"

#include <fmt/format.h>

#include <iterator>
#include <set>
#include <string_view>

namespace lab {

namespace {

struct PaintLook {
    Paint paint;
    Look look;
};

// In the order of the legend, which is that of Paint.
constexpr PaintLook kLooks[] = {
    {Paint::kernel_1, {"#0072B2", "#fff", 25, 1, "█", ""}},
    {Paint::kernel_2, {"#56B4E9", "#000", 75, 1, "█", ""}},
    {Paint::kernel_3, {"#009E73", "#000", 36, 1, "█", ""}},
    {Paint::kernel_4, {"#CC79A7", "#000", 175, 1, "█", ""}},
    {Paint::kernel_5, {"#5926BF", "#fff", 62, 1, "█", ""}},
    {Paint::kernel_6, {"#882255", "#fff", 125, 1, "█", ""}},
    {Paint::other_kernels, {"#999999", "#000", 246, 1, "█", ""}},
    {Paint::communication, {"#87692D", "#fff", 94, 0.8, "⇄", "communication between GPUs"}},
    {Paint::to_device, {"#E69F00", "#000", 214, 0.62, "→", "copy host to device"}},
    {Paint::to_host, {"#D55E00", "#000", 166, 0.62, "←", "copy device to host"}},
    {Paint::other_copy, {"#F0E442", "#000", 227, 0.62, "↔", "other copy"}},
    {Paint::memory_set, {"#C2AE00", "#000", 227, 0.34, "s", "memset"}},
    {Paint::range, {"#C6CFDA", "#1f2328", 250, 1, "─", "NVTX range"}},
    {Paint::wait, {"#98A4B2", "#1f2328", 109, 0.85, "═", "CUDA call that waits for the GPU"}},
    {Paint::call, {"#6E7B8B", "#fff", 66, 0.62, "┄", "other CUDA call"}},
    {Paint::os_call, {"#B4A7BF", "#1f2328", 139, 0.62, "╌", "call of the OS runtime libraries"}},
    {Paint::running, {"#57606A", "#fff", 240, 0.75, "▆", "thread runs"}},
    {Paint::ready, {"#C9A48A", "#1f2328", 180, 0.45, "▃", "thread is ready, and others run"}},
    {Paint::blocked, {"#C6CFDA", "#1f2328", 250, 0.2, "▁", "thread is blocked"}},
    {Paint::idle, {"url(#idle)", "#1f2328", 244, 1, "·", "GPU idle"}},
};

constexpr bool are_in_order() {
    for (std::size_t i = 0; i < std::size(kLooks); ++i)
        if (kLooks[i].paint != static_cast<Paint>(i)) return false;
    return kLooks[std::size(kLooks) - 1].paint == Paint::idle;
}
static_assert(are_in_order());

}  // namespace

const Look& look_of(Paint paint) {
    return kLooks[static_cast<std::size_t>(paint)].look;
}

Paint paint_of(const Copy& copy) {
    if (copy.between_gpus) return Paint::communication;
    if (copy.direction == Direction::host_to_device) return Paint::to_device;
    if (copy.direction == Direction::device_to_host) return Paint::to_host;
    return copy.direction == Direction::set ? Paint::memory_set : Paint::other_copy;
}

bool begins_group(const Timeline& timeline, const TimelineRow& row) {
    return !row.group.empty() && (&row == timeline.rows.data() || (&row)[-1].group != row.group);
}

std::vector<LegendEntry> legend_of(std::span<const Timeline> timelines) {
    ByPaint<std::set<std::string_view>> names{};  // of the kernels; "" for any other box
    for (const Timeline& timeline : timelines) {
        for (const TimelineRow& row : timeline.rows)
            for (const Box& box : row.boxes)
                names[box.paint].insert(is_kernel(box.paint) ? std::string_view(box.name) : "");
        if (!timeline.idle.empty()) names[Paint::idle].insert("");
    }
    std::vector<LegendEntry> legend;
    for (const auto& [paint, look] : kLooks) {
        if (names[paint].empty()) continue;
        legend.push_back({paint, look.meaning});
        if (!is_kernel(paint)) continue;
        const std::size_t count = names[paint].size();
        legend.back().text =
            count == 1 ? std::string(*names[paint].begin()) : fmt::format("{} other kernels", count);
    }
    return legend;
}

}  // namespace lab
