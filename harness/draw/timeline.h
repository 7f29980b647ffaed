// What a picture of a capture shows, before anything is drawn: rows of boxes in time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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
};

/// Something that took time. Times are ns on the clock of the capture, cut to the window of the timeline.
struct Box {
    enum class Kind { kernel, copy_h2d, copy_d2h, copy_other, set, range, api_sync };

    int64_t begin_ns = 0, end_ns = 0;
    Kind kind = Kind::kernel;
    int colour_index = 0;  ///< one per distinct kernel name, see build_timeline; 0 for all but kernels
    int lane = 0;          ///< boxes of one row that overlap are in different lanes
    std::string name;      ///< short, to write into the box
    std::string hover;     ///< one line with all there is to know
};

/// Boxes on one or more lines.
struct TimelineRow {
    std::string name;        ///< "stream 13", "copy engine host to device", ...
    std::string short_name;  ///< the same where space is short: "host to device"
    int lanes = 1;
    std::vector<Box> boxes;  ///< by begin
};

/// A picture of a capture.
struct Timeline {
    int64_t begin_ns = 0, end_ns = 0;  ///< the window
    std::vector<TimelineRow> rows;
    Intervals idle;  ///< time in the window in which no GPU of the capture did anything at all
    TimelineOptions options;

    /// How long the window is.
    [[nodiscard]] int64_t span_ns() const { return end_ns - begin_ns; }
};

/// So many kernel names can have a colour of their own.
constexpr int kOwnColours = 4;

/// Rows from top to bottom: NVTX ranges by host thread, if asked for their projection on the GPU (from the
/// first start to the last end of the work that was launched in them), host calls that wait for the GPU,
/// streams with work, and for copies between host and device one row a direction. The window is the GPU work
/// and the NVTX ranges, or with a range that range and the GPU work launched in it. An Error names the ranges
/// there are if there is none such.
///
/// Colour indices go to the kernels by their time, most first; the first kOwnColours have a colour each.
[[nodiscard]] Timeline build_timeline(const Trace& trace, const TimelineOptions& options);

}  // namespace lab
