// What a picture of a capture shows, rows of boxes in time, and the picture as SVG or as text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/intervals.h"
#include "evidence/trace.h"

namespace lab {

/// What is to be shown, and its captions.
struct TimelineOptions {
    std::string title;
    std::string label;                 ///< where the numbers are from: "recorded · NVIDIA H200, driver ..."
    std::optional<std::string> range;  ///< NVTX range to zoom to: only GPU work launched in it is shown
    bool projected = false;            ///< a row of the NVTX ranges as the GPU saw them, too
    std::optional<int64_t> from_ns = {};  ///< only from here on, counted from the whole picture's left edge
    std::optional<int64_t> to_ns = {};    ///< and only up to here
    std::string first = {};               ///< a kernel; both are counted from the call that launches it first
    /// Time 0 of the capture's clock on one that all timelines of a picture share: they show the same time.
    std::optional<int64_t> epoch_ns = {};
};

/// What a box is painted as. Up to six kernels of a picture have a paint each; further ones share one.
/// Kernels that communicate between GPUs, and copies between these, share another: they do not compute.
enum class Paint {
    kernel_1,
    kernel_2,
    kernel_3,
    kernel_4,
    kernel_5,
    kernel_6,
    other_kernels,
    communication,
    to_device,
    to_host,
    other_copy,
    memory_set,
    range,
    wait,
    call,
    os_call,
    running,
    ready,
    blocked,
    idle
};

/// Of a kernel that computes.
[[nodiscard]] constexpr bool is_kernel(Paint paint) {
    return paint <= Paint::other_kernels;
}

/// Something for each paint.
template <class T>
struct ByPaint : std::array<T, static_cast<std::size_t>(Paint::idle) + 1> {
    T& operator[](Paint paint) { return this->at(static_cast<std::size_t>(paint)); }
};

/// Something that took time. Times are ns on the clock of the capture, cut to the window of the timeline.
struct Box {
    int64_t begin_ns = 0, end_ns = 0;
    Paint paint{};
    int lane = 0;       ///< boxes of one row that overlap are in different lanes
    std::string name;   ///< short, to write into the box
    std::string hover;  ///< one line with all there is to know
};

/// Boxes on one or more lines.
struct TimelineRow {
    std::string group;  ///< "CPU, main thread", "CUDA HW (NVIDIA H200)", ...: rows of a group stand together
    std::string name;   ///< "CUDA API", "Stream 13 Kernels", ...
    int lanes = 1;
    std::vector<Box> boxes;  ///< by begin
};

/// A metric of a GPU as a curve. A point's value is the mean since the point before.
struct Curve {
    struct Point {
        int64_t time_ns = 0;
        double value = 0;
    };
    std::string name, unit;     ///< "SMs Active" in "%"
    std::vector<Point> points;  ///< by time, inside the window
};

/// A picture of a capture.
struct Timeline {
    int64_t begin_ns = 0, end_ns = 0;  ///< the window
    int64_t origin_ns = 0;  ///< 0 of the axis: where the window begins, or the whole of which it is a part
    std::vector<TimelineRow> rows;
    std::vector<Curve> curves;  ///< GPU Metrics, below the rows, in nsys's order
    Intervals idle;             ///< time in the window in which no GPU of the capture did anything at all
    std::map<std::string, Paint> kernel_paints;  ///< by name, of the whole capture
    TimelineOptions options;
    const Trace* trace = nullptr;  ///< the whole capture, which must outlive the picture

    /// How long the window is.
    [[nodiscard]] int64_t span_ns() const { return end_ns - begin_ns; }
};

/// Rows from top to bottom, by the names of Nsight Systems: for each thread its state and its calls of the OS
/// runtime libraries, where these were recorded, its CUDA calls and its NVTX ranges; for each GPU the kernels
/// and the copies and memsets of each stream; with `projected`, the ranges on the GPU, from the first start
/// to the last end of the work launched in them; and curves of the GPU's metrics in percent. Threads without
/// a CUDA call or NVTX range are left out unless they ran for a noticeable part of the window. The window
/// spans the GPU work and the NVTX ranges; with a range, that range and the GPU work launched in it. An
/// unknown range, or an empty part of the window, is an Error.
///
/// A call waits for the GPU if it is a synchronisation, or a copy that began on the GPU before the call
/// returned and either blocks or has pageable memory, for which asynchronous calls wait too.
///
/// The paint of a kernel follows from its name, or is the next free one where two names agree, so that it is
/// the same in all pictures of the same programs. Where there are more names than paints, those that take
/// most of the picture's time come first.
[[nodiscard]] Timeline build_timeline(const Trace& trace, const TimelineOptions& options);

/// The timelines of several programs, for one picture: one name has one paint in all of them. `others` are
/// not drawn; their kernels have paints, too. Where all have an epoch, the whole of each is the time from the
/// first begin to the last end of all of them.
[[nodiscard]] std::vector<Timeline> build_timelines(
    const std::vector<std::pair<const Trace*, TimelineOptions>>& programs,
    const std::vector<const Trace*>& others = {});

/// "GPU idle 541 ms of 917 (59 %)": of the window, which is longer than from the first GPU work to the last.
[[nodiscard]] std::string idle_words(const Timeline& timeline);

/// The timelines above each other on one time scale, as one SVG figure: each starts at its window's begin,
/// and the shorter one ends earlier. 960 pixels wide; the same input gives the same bytes.
[[nodiscard]] std::string timeline_svg(const std::vector<Timeline>& above_each_other);

/// The whole captures above each other on one time scale, as one HTML page that needs nothing else: it begins
/// at the windows of the timelines and can be zoomed, searched and measured. Its rows are those of Nsight
/// Systems, with every CUDA call, in the paints of the timelines.
[[nodiscard]] std::string timeline_html(const std::vector<Timeline>& above_each_other);

/// The timelines above each other on one time scale: rows with one cell a time slice, an axis and a legend.
/// No line is wider than `columns`; what filled most of a cell gives its glyph. `colour` adds ANSI colours.
[[nodiscard]] std::string timeline_terminal(const std::vector<Timeline>& above_each_other, int columns,
                                            bool colour);

}  // namespace lab
