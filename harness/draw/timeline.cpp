#include "draw/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"
#include "draw/host_ids.h"
#include "draw/lanes.h"
#include "draw/palette.h"
#include "evidence/call_key.h"
#include "evidence/projection.h"
#include "evidence/range_selection.h"

namespace lab {

namespace {

/// What the picture is about: the whole capture, or the part that belongs to one NVTX range.
struct View {
    const Trace& all;
    const Trace& shown;
    std::optional<Intervals> host;  ///< with a range: where the host was in it
    Interval window;
    int64_t origin_ns;  ///< where the whole picture begins
    bool several_processes;

    /// " of 4711" where the process has to be told, else "".
    [[nodiscard]] std::string of_process(int64_t process) const {
        return several_processes ? fmt::format(" of {}", process_number(process)) : "";
    }
};

bool has_several_processes(const Trace& shown) {
    std::optional<int64_t> first;
    const auto another = [&first](const auto& records) {
        if (!first && !records.empty()) first = records.front().process;
        return std::any_of(records.begin(), records.end(),
                           [&](const auto& r) { return r.process != *first; });
    };
    return another(shown.kernels) || another(shown.copies) || another(shown.api_calls) ||
           another(shown.ranges);
}

Interval window_of(const Trace& shown) {
    std::optional<Interval> window;
    const auto widen = [&window](const auto& records) {
        for (const auto& r : records) {
            if (!window) window = {r.start_ns, r.end_ns};
            window = {std::min(window->begin, r.start_ns), std::max(window->end, r.end_ns)};
        }
    };
    widen(shown.kernels);
    widen(shown.copies);
    widen(shown.ranges);
    if (!window) return {};
    // Work that took no time on a coarse clock is still there to be shown.
    return {window->begin, std::max(window->end, window->begin + 1)};
}

/// The part of the whole window that is asked for.
Interval part_of(const Interval& whole, const TimelineOptions& options) {
    if (!options.from_ns && !options.to_ns) return whole;
    const int64_t span_ns = whole.end - whole.begin;
    const int64_t from_ns = options.from_ns.value_or(0), to_ns = options.to_ns.value_or(span_ns);
    const auto in_words = [](int64_t ns) { return format_ns(static_cast<double>(ns)); };
    if (from_ns >= span_ns)
        throw Error(fmt::format("nothing is left from {} on: the whole picture is {} long", in_words(from_ns),
                                in_words(span_ns)));
    if (from_ns >= to_ns)
        throw Error(fmt::format("from {} to {} there is no time: the end has to be later than the beginning",
                                in_words(from_ns), in_words(to_ns)));
    return {whole.begin + from_ns, whole.begin + std::min(to_ns, span_ns)};
}

/// With a range, a range is shown if it begins while the host is in the chosen one.
bool shows(const View& view, const Range& range) {
    return !view.host || contains(*view.host, range.start_ns);
}

/// The picture's own clock: 0 is the left edge of the whole.
std::string when(const View& view, int64_t begin_ns, int64_t end_ns) {
    return fmt::format("{} at {}", format_ns(static_cast<double>(end_ns - begin_ns)),
                       format_ns(static_cast<double>(begin_ns - view.origin_ns)));
}

Box make_box(const View& view, Box::Kind kind, int64_t begin_ns, int64_t end_ns, std::string name) {
    Box box;
    box.begin_ns = begin_ns;
    box.end_ns = end_ns;
    box.kind = kind;
    box.name = std::move(name);
    box.hover = fmt::format("{} {}", box.name, when(view, begin_ns, end_ns));
    return box;
}

Box::Kind kind_of(Direction direction) {
    switch (direction) {
        case Direction::host_to_device:
            return Box::Kind::copy_h2d;
        case Direction::device_to_host:
            return Box::Kind::copy_d2h;
        case Direction::set:
            return Box::Kind::set;
        default:
            return Box::Kind::copy_other;
    }
}

Box copy_box(const View& view, const Copy& copy) {
    Box box = make_box(view, kind_of(copy.direction), copy.start_ns, copy.end_ns,
                       format_bytes(static_cast<double>(copy.bytes)));
    const std::string what =
        copy.direction == Direction::set ? "memory set" : fmt::format("copy {}", to_string(copy.direction));
    const std::string kinds = copy.from.empty() ? "" : fmt::format(" ({} to {})", copy.from, copy.to);
    const auto ns = static_cast<double>(copy.end_ns - copy.start_ns);
    const std::string rate =
        ns > 0 ? fmt::format(", {} GB/s", format_number(static_cast<double>(copy.bytes) / ns, 3)) : "";
    box.hover = one_line(fmt::format("{}{} {}, stream {}: {}{}", what, kinds, box.name, copy.stream,
                                     when(view, copy.start_ns, copy.end_ns), rate));
    return box;
}

/// For each index into Trace::names, the colour of the kernel with this name.
std::vector<int> kernel_colours(const Trace& shown) {
    std::map<std::string, int64_t> ns_of;
    for (const Kernel& k : shown.kernels) ns_of[shown.name_of(k.name)] += k.end_ns - k.start_ns;
    std::vector<KernelTime> kernels;
    for (const auto& [name, ns] : ns_of) kernels.push_back({name, ns});
    order_by_colour(kernels);
    std::map<std::string, int> colour_of;
    for (const KernelTime& kernel : kernels) colour_of.emplace(kernel.name, std::ssize(colour_of));
    std::vector<int> colours;
    for (const std::string& name : shown.names) {
        const auto at = colour_of.find(name);
        colours.push_back(at == colour_of.end() ? 0 : at->second);
    }
    return colours;
}

/// Cuts the boxes to the window, and drops those that are outside of it.
void cut_to_window(std::vector<Box>& boxes, const Timeline& timeline) {
    const int64_t begin_ns = timeline.begin_ns, end_ns = timeline.end_ns;
    std::erase_if(boxes, [&](const Box& box) {
        const bool takes_no_time = box.begin_ns == box.end_ns;
        return takes_no_time ? box.begin_ns < begin_ns || box.begin_ns > end_ns
                             : box.end_ns <= begin_ns || box.begin_ns >= end_ns;
    });
    for (Box& box : boxes) {
        box.begin_ns = std::max(box.begin_ns, begin_ns);
        box.end_ns = std::min(box.end_ns, end_ns);
    }
}

/// Sorts the boxes into lanes, and adds the row.
void add_row(Timeline& timeline, TimelineRow row) {
    cut_to_window(row.boxes, timeline);
    std::stable_sort(row.boxes.begin(), row.boxes.end(), [](const Box& a, const Box& b) {
        return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
    });
    std::vector<Interval> intervals;
    intervals.reserve(row.boxes.size());
    for (const Box& box : row.boxes) intervals.push_back({box.begin_ns, box.end_ns});
    const std::vector<int> lanes = lanes_apart(intervals);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        row.boxes[i].lane = lanes[i];
        row.lanes = std::max(row.lanes, lanes[i] + 1);
    }
    timeline.rows.push_back(std::move(row));
}

/// A row of the host, if there is something in it.
void add_host_row(Timeline& timeline, TimelineRow row) {
    add_row(timeline, std::move(row));
    if (timeline.rows.back().boxes.empty()) timeline.rows.pop_back();
}

using Thread = std::pair<int64_t, int64_t>;  // process, thread; thread -1 for what belongs to no thread

/// Which calls of the host are shown, and as what.
class Calls {
  public:
    Calls(const View& view, const std::set<std::string>& long_calls) : view_(view), long_calls_(long_calls) {
        for (const Copy& copy : view.all.copies)
            copy_of_.try_emplace({copy.process, copy.correlation}, &copy);  // the first, if it is in parts
        for (const ApiCall& call : view.shown.api_calls) ns_of_[call.name] += in_window_ns(call);
    }

    /// By name and by what the copies did: the export's table of synchronisations calls an event that a
    /// stream waits for, which holds up no one on the host, by the same type as a wait of the host.
    [[nodiscard]] bool waits(const ApiCall& call) const {
        const std::string& name = view_.shown.name_of(call.name);
        if (name.ends_with("Synchronize")) return true;
        const auto at = copy_of_.find({call.process, call.correlation});
        if (at == copy_of_.end() || at->second->start_ns >= call.end_ns) return false;
        const Copy& copy = *at->second;
        const bool blocks = name.find("Async") == std::string::npos;
        if (copy.direction == Direction::set) return blocks && copy.to == "pinned";
        if (copy.direction == Direction::device_to_device) return false;
        return blocks || copy.from == "pageable" || copy.to == "pageable";
    }

    /// Do all calls of this name together take a noticeable part of the picture, or are they asked for?
    [[nodiscard]] bool are_long(const ApiCall& call) const {
        constexpr int64_t kNoticeablePart = 50;
        return ns_of_.at(call.name) > (view_.window.end - view_.window.begin) / kNoticeablePart ||
               long_calls_.count(one_line(view_.shown.name_of(call.name))) > 0;
    }

  private:
    [[nodiscard]] int64_t in_window_ns(const ApiCall& call) const {
        return std::max<int64_t>(
            0, std::min(call.end_ns, view_.window.end) - std::max(call.start_ns, view_.window.begin));
    }

    const View& view_;
    const std::set<std::string>& long_calls_;
    std::unordered_map<CallKey, const Copy*, CallKeyHash> copy_of_;  ///< by process, correlation
    std::map<int64_t, int64_t> ns_of_;                               ///< in the window, by the name's number
};

/// The ranges of the host rows above, from the first start to the last end of their work on the GPU.
void add_projected_row(Timeline& timeline, const View& view) {
    const Projection projection(view.all);
    std::vector<Box> boxes;
    for (const Range& r : view.all.ranges) {
        const std::optional<Interval> work = shows(view, r) ? projection.of(r) : std::nullopt;
        if (!work) continue;
        boxes.push_back(make_box(view, Box::Kind::range, work->begin, work->end, one_line(r.name)));
        boxes.back().hover = one_line(r.name) + " on the GPU: " + when(view, work->begin, work->end);
    }
    add_host_row(timeline, {"NVTX on the GPU", "NVTX on GPU", 1, std::move(boxes)});
}

/// A row for each thread, named after it.
void add_thread_rows(Timeline& timeline, const View& view, std::map<Thread, std::vector<Box>> rows,
                     const char* before, const char* behind) {
    for (auto& [thread, boxes] : rows) {
        const std::string name =
            (thread.second < 0 ? "across threads" : thread_name(thread.first, thread.second)) +
            view.of_process(thread.first);
        const std::string whole = before + name + behind;
        add_host_row(timeline, {whole, rows.size() < 2 ? trim(std::string(before) + behind) : whole, 1,
                                std::move(boxes)});
    }
}

void add_host_rows(Timeline& timeline, const View& view) {
    std::map<Thread, std::vector<Box>> ranges, waits, others;
    for (const Range& r : view.all.ranges)
        if (shows(view, r))
            ranges[{r.process, r.crosses_threads ? -1 : r.thread}].push_back(
                make_box(view, Box::Kind::range, r.start_ns, r.end_ns, one_line(r.name)));
    const Calls calls(view, timeline.options.long_calls);
    for (const ApiCall& call : view.shown.api_calls) {
        const bool waits_for_gpu = calls.waits(call);
        if (call.end_ns <= view.window.begin || call.start_ns >= view.window.end ||
            !(waits_for_gpu || calls.are_long(call)))
            continue;
        (waits_for_gpu ? waits : others)[{call.process, call.thread}].push_back(
            make_box(view, waits_for_gpu ? Box::Kind::api_sync : Box::Kind::api_call, call.start_ns,
                     call.end_ns, one_line(view.shown.name_of(call.name))));
    }
    add_thread_rows(timeline, view, std::move(ranges), "NVTX ", "");
    if (timeline.options.projected) add_projected_row(timeline, view);
    add_thread_rows(timeline, view, std::move(waits), "", " waits");
    add_thread_rows(timeline, view, std::move(others), "", " calls");
}

void add_gpu_rows(Timeline& timeline, const View& view) {
    std::map<std::tuple<int64_t, int64_t, int64_t>, std::vector<Box>> streams;  // device, process, stream
    std::map<int64_t, std::vector<Box>> to_device, to_host;                     // by device
    std::set<int64_t> devices;
    const std::vector<int> colours = kernel_colours(view.shown);
    for (const Kernel& k : view.shown.kernels) {
        Box box =
            make_box(view, Box::Kind::kernel, k.start_ns, k.end_ns, one_line(view.shown.name_of(k.name)));
        box.colour_index = colours[static_cast<std::size_t>(k.name)];
        streams[{k.device, k.process, k.stream}].push_back(std::move(box));
    }
    for (const Copy& c : view.shown.copies) {
        const Box box = copy_box(view, c);
        streams[{c.device, c.process, c.stream}].push_back(box);
        if (box.kind == Box::Kind::copy_h2d) to_device[c.device].push_back(box);
        if (box.kind == Box::Kind::copy_d2h) to_host[c.device].push_back(box);
    }
    for (const auto& [key, boxes] : streams) devices.insert(std::get<0>(key));
    const auto gpu = [&](int64_t device) {
        return devices.size() < 2 ? std::string() : fmt::format("GPU {} ", device);
    };
    for (auto& [key, boxes] : streams) {
        const auto& [device, process, stream] = key;
        const std::string name = fmt::format("{}stream {}{}", gpu(device), stream, view.of_process(process));
        add_row(timeline, {name, name, 1, std::move(boxes)});
    }
    const auto add_engine = [&](int64_t device, const char* direction, std::vector<Box> boxes) {
        add_row(timeline, {fmt::format("{}copy engine {}", gpu(device), direction),
                           fmt::format("{}{}", gpu(device), direction), 1, std::move(boxes)});
    };
    for (const int64_t device : devices) {
        if (to_device[device].empty() && to_host[device].empty()) continue;
        add_engine(device, "host to device", std::move(to_device[device]));
        add_engine(device, "device to host", std::move(to_host[device]));
    }
}

Intervals idle_time(const View& view) {
    Intervals busy;
    busy.reserve(view.all.kernels.size() + view.all.copies.size());
    for (const Kernel& k : view.all.kernels) busy.push_back({k.start_ns, k.end_ns});
    for (const Copy& c : view.all.copies) busy.push_back({c.start_ns, c.end_ns});
    return subtract(merge({view.window}), merge(std::move(busy)));
}

std::set<std::string> names_of(const Timeline& timeline, Box::Kind kind) {
    std::set<std::string> names;
    for (const TimelineRow& row : timeline.rows)
        for (const Box& box : row.boxes)
            if (box.kind == kind) names.insert(box.name);
    return names;
}

}  // namespace

Timeline build_timeline(const Trace& trace, const TimelineOptions& options) {
    RangeSelection selection;
    if (options.range) selection = select_range(trace, *options.range);
    const Trace& shown = options.range ? selection.trace : trace;
    const Interval whole = window_of(shown);
    const View view{.all = trace,
                    .shown = shown,
                    .host = options.range ? std::optional(selection.host) : std::nullopt,
                    .window = part_of(whole, options),
                    .origin_ns = whole.begin,
                    .several_processes = has_several_processes(shown)};
    Timeline timeline{.begin_ns = view.window.begin,
                      .end_ns = view.window.end,
                      .origin_ns = view.origin_ns,
                      .rows = {},
                      .idle = idle_time(view),
                      .options = options};
    add_host_rows(timeline, view);
    add_gpu_rows(timeline, view);
    return timeline;
}

std::vector<Timeline> build_timelines(const std::vector<std::pair<const Trace*, TimelineOptions>>& programs) {
    std::vector<Timeline> timelines;
    std::vector<std::set<std::string>> calls;
    std::set<std::string> of_all;
    for (const auto& [trace, options] : programs) {
        timelines.push_back(build_timeline(*trace, options));
        calls.push_back(names_of(timelines.back(), Box::Kind::api_call));
        of_all.insert(calls.back().begin(), calls.back().end());
    }
    for (std::size_t i = 0; i < programs.size(); ++i) {
        if (calls[i] == of_all) continue;
        TimelineOptions options = programs[i].second;
        options.long_calls = of_all;
        timelines[i] = build_timeline(*programs[i].first, options);
    }
    return timelines;
}

std::string idle_words(const Timeline& timeline) {
    if (timeline.span_ns() <= 0) return "GPU idle";
    const auto idle_ns = static_cast<double>(total(timeline.idle)),
               span_ns = static_cast<double>(timeline.span_ns());
    std::string idle = format_ns(idle_ns), span = format_ns(span_ns);
    const std::size_t of_idle = idle.rfind(' '), of_span = span.rfind(' ');
    if (idle.substr(of_idle) == span.substr(of_span)) span.resize(of_span);
    return fmt::format("GPU idle {} of {} ({} %)", idle, span, format_number(100 * idle_ns / span_ns, 2));
}

}  // namespace lab
