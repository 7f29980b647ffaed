#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/text.h"
#include "draw/palette.h"
#include "draw/rows.h"
#include "draw/timeline.h"
#include "evidence/launches.h"
#include "timeline_page.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

/// The texts of the page, each once.
class PageTexts {
  public:
    int64_t index_of(const std::string& text) {
        std::string shown = printable(text);
        if (shown.empty()) shown = "(no name)";
        const auto [known, is_new] = index_.try_emplace(shown, index_.size());
        if (is_new) texts_.push_back(shown);
        return known->second;
    }

    [[nodiscard]] const std::vector<std::string>& all() const { return texts_; }

  private:
    std::unordered_map<std::string, int64_t> index_;
    std::vector<std::string> texts_;
};

/// An event of the page. What it does not have is 0, or -1 for a text.
struct PageBox {
    int64_t begin_ns = 0, end_ns = 0;
    Paint paint{};
    int64_t name = 0;  ///< a text
    int64_t id = 0;  ///< of a call, and of the work that it launched; of a range, on the host and on the GPU
    int64_t bytes = 0;  ///< of a copy
    int64_t note = -1;  ///< a text, a word and its value: "memory pinned to device"
};

struct PageRow {
    std::string group, name;
    const char* kind = "";  ///< what the ids are of: "gpu", "api", "nvtx", "projected"; or "idle"
    int64_t process = 0;    ///< whose ids these are
    int64_t thread = 0;     ///< 0: every thread of the process
    std::vector<PageBox> events;
};

/// A column of a row, or one number if that is the same in all events.
template <class ValueOf>
Json column(const std::vector<PageBox>& events, const ValueOf& value_of) {
    const int64_t first = value_of(events.front());
    if (std::all_of(events.begin(), events.end(), [&](const PageBox& e) { return value_of(e) == first; }))
        return first;
    Json values = Json::array();
    for (const PageBox& event : events) values.push_back(value_of(event));
    return values;
}

/// Begins count from the one before, the first from `origin_ns`.
Json to_json(PageRow& row, int64_t origin_ns) {
    const std::vector<int> lanes = lanes_apart(in_order_of_time(row.events));
    Json begins = Json::array();
    for (const PageBox& event : row.events)
        begins.push_back(event.begin_ns - std::exchange(origin_ns, event.begin_ns));
    return {{"group", row.group},
            {"name", row.name},
            {"kind", row.kind},
            {"process", row.process},
            {"thread", row.thread},
            {"lanes", *std::max_element(lanes.begin(), lanes.end()) + 1},
            {"begin", std::move(begins)},
            {"ns", column(row.events, [](const PageBox& e) { return e.end_ns - e.begin_ns; })},
            {"lane", column(row.events, [&](const PageBox& e) { return lanes[&e - row.events.data()]; })},
            {"paint", column(row.events, [](const PageBox& e) { return static_cast<int64_t>(e.paint); })},
            {"text", column(row.events, [](const PageBox& e) { return e.name; })},
            {"id", column(row.events, [](const PageBox& e) { return e.id; })},
            {"bytes", column(row.events, [](const PageBox& e) { return e.bytes; })},
            {"note", column(row.events, [](const PageBox& e) { return e.note; })}};
}

/// The rows of a whole capture.
class PageRows {
  public:
    PageRows(const Timeline& timeline, PageTexts& texts)
        : trace_(*timeline.trace), texts_(texts), several_processes_(has_several_processes(trace_)) {
        for (const auto& [name, paint] : timeline.kernel_paints)
            paint_of_kernel_[texts.index_of(name)] = paint;
        for (const std::string& name : trace_.names) names_.push_back(texts.index_of(name));
        for (const auto& [grid, block] : trace_.launch_sizes)
            sizes_.push_back(texts.index_of(
                fmt::format("grid <<<{}>>>, block <<<{}>>>", fmt::join(grid, ", "), fmt::join(block, ", "))));
        add_gpu_rows(timeline.idle);
        add_thread_rows();
    }

    /// None is empty.
    std::vector<PageRow> take() {
        constexpr std::size_t kMostRows = 500;
        if (rows_.size() > kMostRows) {
            rows_.resize(kMostRows);
            rows_.back().name += " (further rows are left out)";
        }
        return std::move(rows_);
    }

  private:
    template <class Record>
    static PageBox event_of(const Record& record, Paint paint, int64_t name) {
        return {record.start_ns, record.end_ns, paint, name};
    }

    [[nodiscard]] int64_t process_index(int64_t process) {
        return processes_.try_emplace(process, processes_.size() + 1).first->second;
    }

    [[nodiscard]] std::string of_process(int64_t process) const {
        return several_processes_ ? fmt::format(" of {}", process_number(process)) : "";
    }

    void add(PageRow row) {
        if (!row.events.empty()) rows_.push_back(std::move(row));
    }

    PageBox event_of(const Kernel& kernel) {
        const int64_t name = names_[kernel.name];
        PageBox event = event_of(kernel, paint_of_kernel_.at(name), name);
        event.id = kernel.correlation;
        if (kernel.size >= 0) event.note = sizes_[kernel.size];
        return event;
    }

    PageBox event_of(const Copy& copy) {
        PageBox event = event_of(copy, paint_of(copy), texts_.index_of(name_of(copy)));
        event.id = copy.correlation;
        event.bytes = copy.bytes;
        const std::string from = copy.from.empty() ? "memory " : "memory " + copy.from + " to ";
        if (!copy.to.empty()) event.note = texts_.index_of(from + copy.to);
        return event;
    }

    void add_gpu_rows(const Intervals& idle_time) {
        struct Stream {
            std::vector<PageBox> kernels, copies;
        };
        std::map<int64_t, std::map<std::pair<int64_t, int64_t>, Stream>>
            devices;  // their streams by process and number
        for (const Kernel& k : trace_.kernels)
            devices[k.device][{k.process, k.stream}].kernels.push_back(event_of(k));
        for (const Copy& c : trace_.copies)
            devices[c.device][{c.process, c.stream}].copies.push_back(event_of(c));
        const bool is_only = devices.size() == 1;
        std::string group;
        for (auto& [device, streams] : devices) {
            group = hardware_name(trace_, device, is_only);
            for (auto& [key, stream] : streams) {
                const auto& [process, number] = key;
                const std::string name = fmt::format("Stream {}{}", number, of_process(process));
                add({group, name + " Kernels", "gpu", process_index(process), 0, std::move(stream.kernels)});
                add({group, name + " Memory", "gpu", process_index(process), 0, std::move(stream.copies)});
            }
        }
        if (devices.empty()) return;
        if (!is_only) group = "CUDA HW, all GPUs";
        add_projected_rows(group);
        const int64_t idle = texts_.index_of("GPU idle");
        std::vector<PageBox> gaps;
        for (const Interval& gap : idle_time) gaps.push_back({gap.begin, gap.end, Paint::idle, idle});
        add({group, "GPU idle", "idle", 0, 0, std::move(gaps)});
    }

    PageBox event_of(const Range& range) {
        PageBox event = event_of(range, Paint::range, texts_.index_of(range.name));
        event.id = 1 + (&range - trace_.ranges.data());
        if (!range.domain.empty()) event.note = texts_.index_of("domain " + range.domain);
        return event;
    }

    /// From the first start to the last end of a range's work on the GPU.
    void add_projected_rows(const std::string& group) {
        const Launches launches(trace_);
        std::map<int64_t, std::vector<PageBox>> rows;  // by process
        for (const Range& range : trace_.ranges) {
            const std::optional<Interval> work = launches.gpu_time_of(range);
            if (!work) continue;
            PageBox& event = rows[range.process].emplace_back(event_of(range));
            event.begin_ns = work->begin, event.end_ns = work->end;
        }
        for (auto& [process, events] : rows)
            add({group, "NVTX" + of_process(process), "projected", process_index(process), 0,
                 std::move(events)});
    }

    void add_thread_rows() {
        constexpr int64_t kAcross = -1;
        struct Thread {
            std::vector<PageBox> ranges, calls;
        };
        std::map<std::pair<int64_t, int64_t>, Thread> threads;  // by process, thread
        for (const Range& r : trace_.ranges)
            threads[{r.process, r.crosses_threads ? kAcross : r.thread}].ranges.push_back(event_of(r));
        const std::vector<bool> waits = host_waits(trace_);
        for (std::size_t i = 0; i < waits.size(); ++i) {
            const ApiCall& call = trace_.api_calls[i];
            PageBox event = event_of(call, waits[i] ? Paint::wait : Paint::call, names_[call.name]);
            event.id = call.correlation;
            if (call.result != 0) event.note = texts_.index_of(fmt::format("returned error {}", call.result));
            threads[{call.process, call.thread}].calls.push_back(event);
        }
        int64_t last = 0;
        for (auto& [key, thread] : threads) {
            const auto& [process, number] = key;
            const int64_t index = number == kAcross ? 0 : ++last;
            const std::string name = index == 0 ? "Across threads" : "CPU, " + thread_name(process, number);
            const std::string group = name + of_process(process);
            add({group, "NVTX", "nvtx", process_index(process), index, std::move(thread.ranges)});
            add({group, "CUDA API", "api", process_index(process), index, std::move(thread.calls)});
        }
    }

    const Trace& trace_;
    PageTexts& texts_;
    bool several_processes_;
    std::map<int64_t, Paint> paint_of_kernel_;  ///< by name
    std::vector<int64_t> names_, sizes_;        ///< texts, by the trace's own indices
    std::map<int64_t, int64_t> processes_;
    std::vector<PageRow> rows_;
};

Json to_json(const Curve& curve, int64_t origin_ns) {
    Json points = Json::array();
    for (const auto& [ns, value] : curve.points)
        if (std::isfinite(value)) points.insert(points.end(), {ns - origin_ns, value});
    return {{"name", printable(curve.name)}, {"unit", printable(curve.unit)}, {"points", std::move(points)}};
}

/// {"programs": [{"title", "label", "view": [from, to], "curves": [{"name", "unit", "points": [ns, value, ns,
/// ...]}], "rows": [...]}], "looks": [[fill, ink, height, meaning]], "texts": [...]}: times are ns from each
/// program's own zero. As ASCII and without "<", so that nothing in it can end the element of the page that
/// holds it.
std::string data_of(const std::vector<Timeline>& timelines) {
    Json data{{"programs", Json::array()}, {"looks", Json::array()}};
    PageTexts texts;
    for (const Timeline& timeline : timelines) {
        const int64_t origin_ns = timeline.origin_ns;
        Json& program = data["programs"].emplace_back();
        program["title"] = printable(timeline.options.title);
        program["label"] = printable(timeline.options.label);
        program["view"] = {timeline.begin_ns - origin_ns, timeline.end_ns - origin_ns};
        program["curves"] = program["rows"] = Json::array();
        for (const Curve& curve : timeline.curves) program["curves"].push_back(to_json(curve, origin_ns));
        for (PageRow& row : PageRows(timeline, texts).take())
            program["rows"].push_back(to_json(row, origin_ns));
    }
    for (int paint = 0; paint <= static_cast<int>(Paint::idle); ++paint) {
        const Look& look = look_of(Paint(paint));
        data["looks"].push_back({look.fill, look.ink, look.height, look.meaning});
    }
    data["texts"] = texts.all();
    std::string safe;
    for (const char c : data.dump(-1, ' ', true)) c == '<' ? safe += "\\u003c" : safe += c;
    return safe;
}

/// A source of a Content-Security-Policy: the SHA-256 of an element's text, of which `hex` has the digits.
std::string hash_source(std::string_view hex) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string base64;
    for (std::size_t at = 0; at < hex.size(); at += 3) {  // 3 hex digits are 2 of base 64
        const std::string three = (std::string(hex.substr(at, 3)) + "00").substr(0, 3);
        const unsigned long bits = std::stoul(three, nullptr, 16);
        base64 += kDigits[bits >> 6];
        base64 += kDigits[bits & 63];
    }
    base64.resize((hex.size() * 4 + 5) / 6);
    base64.resize((base64.size() + 3) / 4 * 4, '=');
    return "'sha256-" + base64 + "'";
}

}  // namespace

std::string timeline_html(const std::vector<Timeline>& above_each_other) {
    std::vector<std::string> titles;
    for (const Timeline& timeline : above_each_other) titles.push_back(timeline.options.title);
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; script-src "
        "{} {}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types "
        "'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>Timeline: {}</title>\n<style>{}</style>\n</head>\n<body>\n{}"
        "<script type=\"application/json\" id=\"data\">{}</script>\n"
        "<script>{}</script>\n<script>{}</script>\n</body>\n</html>\n",
        hash_source(kTimelineCssHash), hash_source(kD3Hash), hash_source(kTimelineJsHash),
        xml_text(join(titles, ", ")), kTimelineCss, kTimelineBody, data_of(above_each_other), kD3,
        kTimelineJs);
}

}  // namespace lab
