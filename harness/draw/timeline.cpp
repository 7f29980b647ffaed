#include "draw/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "draw/palette.h"
#include "draw/rows.h"
#include "evidence/communication.h"
#include "evidence/kernel_names.h"
#include "evidence/launches.h"

namespace lab {

namespace {

/// A thread that runs for less than this part of a picture is not worth a row of its own.
constexpr int64_t kNoticeablePart = 50;

Interval window_of(const Trace& trace) {
    Interval window{INT64_MAX, INT64_MIN};
    const auto widen = [&](const auto& records) {
        for (const auto& r : records)
            window = {std::min(window.begin, r.start_ns), std::max(window.end, r.end_ns)};
    };
    widen(trace.kernels), widen(trace.copies), widen(trace.ranges);
    if (window.begin == INT64_MAX) return {};
    // Work that took no time on a coarse clock is still there to be shown.
    return {window.begin, std::max(window.end, window.begin + 1)};
}

int64_t first_launch_of(const Trace& trace, const std::string& kernel) {
    int64_t first_ns = INT64_MAX;
    for (const Kernel& k : trace.kernels)
        if (k.call >= 0 && trace.names[k.name] == kernel)
            first_ns = std::min(first_ns, trace.api_calls[k.call].start_ns);
    if (first_ns == INT64_MAX) throw Error(fmt::format("no call launches a kernel '{}'", printable(kernel)));
    return first_ns;
}

/// The part of the whole window that is asked for.
Interval part_of(const Trace& trace, const Interval& whole, const TimelineOptions& options) {
    if (!options.from_ns && !options.to_ns) return whole;
    const int64_t span_ns = whole.end - whole.begin;
    const int64_t zero_ns = options.first.empty() ? 0 : first_launch_of(trace, options.first) - whole.begin;
    const int64_t from_ns = std::max<int64_t>(0, zero_ns + options.from_ns.value_or(-zero_ns)),
                  to_ns = options.to_ns ? zero_ns + *options.to_ns : span_ns;
    if (from_ns >= std::min(to_ns, span_ns))
        throw Error(fmt::format("nothing is left from {} to {}: the whole picture is {} long",
                                format_ns(from_ns), format_ns(to_ns), format_ns(span_ns)));
    return {whole.begin + from_ns, whole.begin + std::min(to_ns, span_ns)};
}

std::string shown_name(const std::string& name) {
    const std::string shown = printable(name);
    return shown.empty() ? "(no name)" : shown;
}

/// What the picture is about: the whole capture, or the part that belongs to one NVTX range.
class View {
  public:
    View(const Trace& trace, const TimelineOptions& of_picture) : all(trace), options(of_picture) {
        if (options.range) part_ = select_range(trace, *options.range);
        whole = window_of(shown());
        several_processes_ = has_several_processes(shown());
        for (const std::string& name : shown().names) names_.push_back(shown_name(name));
        constexpr std::size_t kWidest = 300;
        for (const auto& [index, full] : shown().full_names)
            if (short_kernel_name(full) != shown().name_of(index))
                full_names_[index] = shorten_middle(printable(full), kWidest);
        waits_ = host_waits(shown());
        communicates_ = communication_names(shown());
    }

    const Trace& all;
    const TimelineOptions& options;
    Interval whole, window;  ///< the whole picture, and the part of it that is asked for

    [[nodiscard]] const Trace& shown() const { return part_ ? part_->trace : all; }

    /// The name of a kernel or of a call.
    [[nodiscard]] const std::string& name_of(int64_t index) const { return names_[index]; }

    /// " of 4711" where the process has to be told, else "".
    [[nodiscard]] std::string of_process(int64_t process) const {
        return several_processes_ ? fmt::format(" of {}", process_number(process)) : "";
    }

    /// With a range, a range is shown if it begins while the host is in the chosen one.
    [[nodiscard]] bool shows(const Range& range) const {
        return !part_ || contains(part_->host, range.start_ns);
    }

    [[nodiscard]] bool shows(const ApiCall& call) const {
        return call.end_ns > window.begin && call.start_ns < window.end;
    }

    [[nodiscard]] bool waits(const ApiCall& call) const { return waits_[&call - shown().api_calls.data()]; }

    /// How long and when, on the picture's own clock: 0 is the left edge of the whole.
    [[nodiscard]] std::string when(int64_t begin_ns, int64_t end_ns) const {
        return fmt::format("{} at {}", format_ns(end_ns - begin_ns), format_ns(begin_ns - whole.begin));
    }

    /// A box for a record of the trace.
    [[nodiscard]] Box box(Paint paint, const auto& record, const std::string& name) const {
        return {record.start_ns,
                record.end_ns,
                paint,
                0,
                name,
                name + " " + when(record.start_ns, record.end_ns)};
    }

    /// With the kernel's full name to hover over, where the function's own name doesn't tell it from another.
    [[nodiscard]] Box kernel_box(const Kernel& kernel) const {
        const auto name = static_cast<std::size_t>(kernel.name);
        const Paint paint = communicates_[name] ? Paint::communication : Paint::kernel_1;
        Box kernel_box = box(paint, kernel, name_of(kernel.name));
        const auto full = full_names_.find(kernel.name);
        if (full != full_names_.end()) kernel_box.hover += ": " + full->second;
        return kernel_box;
    }

  private:
    std::optional<RangePart> part_;
    bool several_processes_ = false;
    std::vector<std::string> names_;
    std::map<int64_t, std::string> full_names_;  ///< of kernels, where they are to be shown
    std::vector<bool> waits_;                    ///< by call, of what is shown
    std::vector<bool> communicates_;             ///< by name of a kernel
};

Box copy_box(const View& view, const Copy& copy) {
    Box box = view.box(paint_of(copy), copy, format_bytes(copy.bytes));
    const std::string kinds = copy.from.empty() ? "" : fmt::format(" ({} to {})", copy.from, copy.to);
    const double ns = copy.end_ns - copy.start_ns;
    const std::string rate = ns > 0 ? fmt::format(", {} GB/s", format_number(copy.bytes / ns, 3)) : "";
    box.hover = printable(fmt::format("{}{} {}, stream {}: {}{}", name_of(copy), kinds, box.name, copy.stream,
                                      view.when(copy.start_ns, copy.end_ns), rate));
    return box;
}

/// Cuts the boxes to the window, sorts them into lanes, and adds the row. A row of the host is left out if
/// there is nothing in it.
void add_row(Timeline& timeline, TimelineRow row, bool is_host = false) {
    const int64_t begin_ns = timeline.begin_ns, end_ns = timeline.end_ns;
    std::erase_if(row.boxes, [&](const Box& box) {
        const bool takes_no_time = box.begin_ns == box.end_ns;
        return takes_no_time ? box.begin_ns < begin_ns || box.begin_ns > end_ns
                             : box.end_ns <= begin_ns || box.begin_ns >= end_ns;
    });
    if (is_host && row.boxes.empty()) return;
    for (Box& box : row.boxes) {
        box.begin_ns = std::max(box.begin_ns, begin_ns);
        box.end_ns = std::min(box.end_ns, end_ns);
    }
    const std::vector<int> lanes = lanes_apart(in_order_of_time(row.boxes));
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        row.boxes[i].lane = lanes[i];
        row.lanes = std::max(row.lanes, lanes[i] + 1);
    }
    timeline.rows.push_back(std::move(row));
}

using Thread = std::pair<int64_t, int64_t>;  // process, thread; thread -1 for what belongs to no thread

/// Threads with a CUDA call or an NVTX range, and those that ran for a noticeable part of the picture: the
/// driver and the profiler have threads, too.
std::set<Thread> threads_of_program(const View& view) {
    std::set<Thread> threads;
    for (const ApiCall& call : view.shown().api_calls) threads.insert({call.process, call.thread});
    for (const Range& range : view.all.ranges)
        if (view.shows(range)) threads.insert({range.process, range.thread});
    std::map<Thread, int64_t> ran_ns;
    for (const ThreadState& s : view.shown().thread_states)
        if (s.kind == ThreadState::running && s.end_ns > view.window.begin && s.start_ns < view.window.end)
            ran_ns[{s.process, s.thread}] +=
                std::min(s.end_ns, view.window.end) - std::max(s.start_ns, view.window.begin);
    for (const auto& [thread, ns] : ran_ns)
        if (ns > (view.window.end - view.window.begin) / kNoticeablePart) threads.insert(thread);
    return threads;
}

/// What each thread did.
void add_cpu_rows(Timeline& timeline, const View& view) {
    struct ThreadBoxes {
        std::vector<Box> states, os_calls, api_calls, ranges;
    };
    std::map<Thread, ThreadBoxes> rows;
    const std::set<Thread> threads = threads_of_program(view);
    for (const ThreadState& s : view.shown().thread_states) {
        const auto [paint, word] = s.kind == ThreadState::running ? std::pair{Paint::running, "running"}
                                   : s.kind == ThreadState::ready ? std::pair{Paint::ready, "ready"}
                                                                  : std::pair{Paint::blocked, "blocked"};
        if (threads.contains({s.process, s.thread}))
            rows[{s.process, s.thread}].states.push_back(view.box(paint, s, word));
    }
    for (const OsCall& call : view.shown().os_calls)
        if (threads.contains({call.process, call.thread}))
            rows[{call.process, call.thread}].os_calls.push_back(
                view.box(Paint::os_call, call, view.name_of(call.name)));
    for (const ApiCall& call : view.shown().api_calls)
        if (view.shows(call))
            rows[{call.process, call.thread}].api_calls.push_back(
                view.box(view.waits(call) ? Paint::wait : Paint::call, call, view.name_of(call.name)));
    for (const Range& r : view.all.ranges)
        if (view.shows(r))
            rows[{r.process, r.crosses_threads ? -1 : r.thread}].ranges.push_back(
                view.box(Paint::range, r, printable(r.name)));
    for (auto& [thread, boxes] : rows) {
        const auto& [process, number] = thread;
        const std::string group = (number < 0 ? "Across threads" : "CPU, " + thread_name(process, number)) +
                                  view.of_process(process);
        add_row(timeline, {group, "Thread state", 1, std::move(boxes.states)}, true);
        add_row(timeline, {group, "OS runtime libraries", 1, std::move(boxes.os_calls)}, true);
        add_row(timeline, {group, "NVTX", 1, std::move(boxes.ranges)}, true);
        add_row(timeline, {group, "CUDA API", 1, std::move(boxes.api_calls)}, true);
    }
}

void add_curves(Timeline& timeline, const View& view) {
    constexpr std::size_t kMostCurves = 40;
    std::set<int64_t> devices;
    for (const Metric& metric : view.shown().metrics) devices.insert(metric.device);
    for (const Metric& metric : view.shown().metrics) {
        const std::string gpu = devices.size() < 2 ? "" : fmt::format("GPU {} ", metric.device);
        Curve curve{gpu + printable(metric.name), printable(metric.unit), {}};
        for (const Metric::Sample& sample : metric.samples)
            if (sample.time_ns >= timeline.begin_ns && sample.time_ns <= timeline.end_ns)
                curve.points.push_back({sample.time_ns, sample.value});
        if (!curve.points.empty() && timeline.curves.size() < kMostCurves)
            timeline.curves.push_back(std::move(curve));
    }
}

/// The ranges of the rows above, from the first start to the last end of their work on the GPU.
void add_projected_row(Timeline& timeline, const View& view, const std::string& group) {
    const Launches launches(view.all);
    std::vector<Box> boxes;
    for (const Range& r : view.all.ranges) {
        const std::optional<Interval> work = view.shows(r) ? launches.gpu_time_of(r) : std::nullopt;
        if (!work) continue;
        const std::string name = printable(r.name);
        boxes.push_back({work->begin, work->end, Paint::range, 0, name,
                         name + " on the GPU: " + view.when(work->begin, work->end)});
    }
    add_row(timeline, {group, "NVTX (projected)", 1, std::move(boxes)}, true);
}

/// What each stream of each GPU did.
void add_gpu_rows(Timeline& timeline, const View& view) {
    struct Stream {
        std::vector<Box> kernels, copies;
    };
    std::map<int64_t, std::map<std::pair<int64_t, int64_t>, Stream>>
        devices;  // their streams by process and number
    for (const Kernel& k : view.shown().kernels)
        devices[k.device][{k.process, k.stream}].kernels.push_back(view.kernel_box(k));
    for (const Copy& c : view.shown().copies)
        devices[c.device][{c.process, c.stream}].copies.push_back(copy_box(view, c));
    const bool is_only = devices.size() == 1;
    std::string group;
    for (auto& [device, streams] : devices) {
        group = printable(hardware_name(view.all, device, is_only));
        for (auto& [key, stream] : streams) {
            const auto& [process, number] = key;
            const std::string name = fmt::format("Stream {}{}", number, view.of_process(process));
            if (!stream.kernels.empty())
                add_row(timeline, {group, name + " Kernels", 1, std::move(stream.kernels)});
            if (!stream.copies.empty())
                add_row(timeline, {group, name + " Memory", 1, std::move(stream.copies)});
        }
    }
    if (timeline.options.projected) add_projected_row(timeline, view, is_only ? group : "CUDA HW, all GPUs");
}

/// `ns` later by `by_ns`; the last or the first moment of all where a damaged file has a time beyond them.
int64_t later(int64_t ns, int64_t by_ns) {
    int64_t sum = 0;
    if (!__builtin_add_overflow(ns, by_ns, &sum)) return sum;
    return by_ns > 0 ? INT64_MAX : INT64_MIN;
}

/// Makes the wholes the same time for all, if each says when its clock began.
void put_on_one_clock(std::vector<View>& views) {
    Interval common{INT64_MAX, INT64_MIN};
    for (const View& view : views) {
        if (!view.options.epoch_ns) return;
        if (view.whole.begin == view.whole.end) continue;  // nothing to be shown
        common = {std::min(common.begin, later(view.whole.begin, *view.options.epoch_ns)),
                  std::max(common.end, later(view.whole.end, *view.options.epoch_ns))};
    }
    for (View& view : views)
        if (view.whole.begin != view.whole.end)
            view.whole = {later(common.begin, -*view.options.epoch_ns),
                          later(common.end, -*view.options.epoch_ns)};
}

Intervals idle_time(const View& view) {
    Intervals busy;
    for (const Kernel& k : view.all.kernels) busy.push_back({k.start_ns, k.end_ns});
    for (const Copy& c : view.all.copies) busy.push_back({c.start_ns, c.end_ns});
    return subtract(merge({view.window}), merge(std::move(busy)));
}

/// The same number for the same name on every machine, which std::hash is not (FNV-1a).
uint32_t hash_of(std::string_view name) {
    uint32_t hash = 2166136261;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
    return hash >> 16;
}

/// Gives each name of a kernel its paint, the same in all timelines.
void paint_kernels(std::vector<Timeline>& timelines, const std::vector<const Trace*>& traces) {
    constexpr auto kPaints = static_cast<std::size_t>(Paint::other_kernels);
    std::map<std::string, Paint> paints;
    std::map<std::string, std::pair<int64_t, int64_t>> ns_of;  // minus the times in the picture and in all
    for (const Trace* trace : traces) {
        const std::vector<bool> communicates = communication_names(*trace);
        for (const Kernel& k : trace->kernels) {
            const std::string name = shown_name(trace->name_of(k.name));
            if (communicates[static_cast<std::size_t>(k.name)])
                paints[name] = Paint::communication;
            else
                ns_of[name].second -= k.end_ns - k.start_ns;
        }
    }
    const auto for_each_kernel = [&](auto use) {
        for (Timeline& timeline : timelines)
            for (TimelineRow& row : timeline.rows)
                for (Box& box : row.boxes)
                    if (is_kernel(box.paint)) use(box);
    };
    for_each_kernel([&](const Box& box) { ns_of[box.name].first -= 1 + box.end_ns - box.begin_ns; });
    std::vector<std::string> names;
    for (const auto& [name, ns] : ns_of) names.push_back(name);
    if (names.size() > kPaints) {
        std::stable_sort(names.begin(), names.end(),
                         [&](const auto& a, const auto& b) { return ns_of[a] < ns_of[b]; });
        names.resize(kPaints);
        std::sort(names.begin(), names.end());
    }
    std::array<bool, kPaints> taken{};
    for (const std::string& name : names) {
        std::size_t at = hash_of(name) % kPaints;
        while (taken.at(at)) at = (at + 1) % kPaints;
        taken.at(at) = true;
        paints[name] = Paint(at);
    }
    for (const auto& [name, ns] : ns_of) paints.try_emplace(name, Paint::other_kernels);
    for_each_kernel([&](Box& box) { box.paint = paints.at(box.name); });
    for (Timeline& timeline : timelines) timeline.kernel_paints = paints;
}

}  // namespace

Timeline build_timeline(const Trace& trace, const TimelineOptions& options) {
    return std::move(build_timelines({{&trace, options}}).front());
}

std::vector<Timeline> build_timelines(const std::vector<std::pair<const Trace*, TimelineOptions>>& programs,
                                      const std::vector<const Trace*>& others) {
    std::vector<View> views;
    for (const auto& [trace, options] : programs) views.emplace_back(*trace, options);
    put_on_one_clock(views);
    for (View& view : views) view.window = part_of(view.shown(), view.whole, view.options);
    std::vector<Timeline> timelines;
    for (const View& view : views) {
        Timeline& timeline = timelines.emplace_back();
        timeline.begin_ns = view.window.begin;
        timeline.end_ns = view.window.end;
        timeline.origin_ns = view.whole.begin;
        timeline.idle = idle_time(view);
        timeline.trace = &view.all;
        timeline.options = view.options;
        add_gpu_rows(timeline, view);
        add_cpu_rows(timeline, view);
        add_curves(timeline, view);
        constexpr std::size_t kMostRows = 200;
        if (const std::size_t rows = timeline.rows.size(); rows > kMostRows) {
            timeline.rows.resize(kMostRows);
            const std::string more = fmt::format("and {} more rows", rows - kMostRows);
            timeline.rows.push_back({"", more, 1, {}});
        }
    }
    std::vector<const Trace*> traces = others;
    for (const auto& [trace, options] : programs) traces.push_back(trace);
    paint_kernels(timelines, traces);
    return timelines;
}

std::string idle_words(const Timeline& timeline) {
    if (timeline.span_ns() <= 0) return "GPU idle";
    const double idle_ns = total(timeline.idle), span_ns = timeline.span_ns();
    std::string idle = format_ns(idle_ns), span = format_ns(span_ns);
    const std::size_t of_idle = idle.rfind(' '), of_span = span.rfind(' ');
    if (idle.substr(of_idle) == span.substr(of_span)) span.resize(of_span);
    return fmt::format("GPU idle {} of {} ({} %)", idle, span, format_number(100 * idle_ns / span_ns, 2));
}

}  // namespace lab
