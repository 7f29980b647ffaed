#include "draw/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "draw/host_ids.h"
#include "draw/json_text.h"
#include "draw/lanes.h"
#include "evidence/call_key.h"

namespace lab {

namespace {

/// Where an event is shown.
struct Track {
    int process = 0, thread = 0;
};

/// An event of one row of the picture, before it has a track.
struct Event {
    Interval time;
    std::size_t index = 0;  ///< into the trace's vector of its kind
    enum class Kind { kernel, copy, api_call, range } kind = Kind::kernel;
};

using Events = std::vector<Event>;

class Writer {
  public:
    Writer(const Trace& trace, std::ostream& out) : trace_(trace), out_(out) {
        origin_ns_ = std::numeric_limits<int64_t>::max();
        const auto see = [this](const auto& records) {
            for (const auto& record : records) origin_ns_ = std::min(origin_ns_, record.start_ns);
        };
        see(trace.kernels), see(trace.copies), see(trace.api_calls), see(trace.ranges);
        for (const std::string& name : trace.names) names_.push_back(json_text(name));
    }

    void write() {
        out_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
        write_host();
        write_gpus();
        out_ << "\n]}\n";
    }

  private:
    void write_host();
    void write_gpus();
    void write_row(Events events, const std::string& name, int process, bool nested);
    void write_event(const Event& event, Track track);
    void write_arrow(int64_t process, int64_t correlation, Track to, int64_t start_ns);
    void write_name(const char* what, Track track, const std::string& name);

    /// One element of the array of events.
    void put(const std::string& event) {
        out_ << (is_first_ ? "\n" : ",\n") << event;
        is_first_ = false;
    }

    /// Microseconds since the first event, to the ns.
    [[nodiscard]] std::string us(int64_t ns) const { return duration_us(ns - origin_ns_); }
    [[nodiscard]] static std::string duration_us(int64_t ns) {
        return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
    }

    struct Launch {
        int64_t start_ns = 0;
        Track track;
    };

    const Trace& trace_;
    std::ostream& out_;
    int64_t origin_ns_ = 0;
    std::vector<std::string> names_;  ///< Trace::names as JSON
    bool is_first_ = true;
    int processes_ = 0, threads_ = 0, arrows_ = 0;
    std::unordered_map<CallKey, Launch, CallKeyHash> launches_;
};

void Writer::write_name(const char* what, Track track, const std::string& name) {
    put(fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, track.process,
                    track.thread, json_text(name)));
    const bool is_thread = std::string_view(what) == "thread_name";
    put(fmt::format(R"({{"ph":"M","name":"{}_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
                    is_thread ? "thread" : "process", track.process, track.thread,
                    is_thread ? track.thread : track.process));
}

void Writer::write_arrow(int64_t process, int64_t correlation, Track to, int64_t start_ns) {
    const auto launch = launches_.find({process, correlation});
    if (launch == launches_.end()) return;
    const int id = ++arrows_;
    const auto end = [&](const char* phase, Track track, int64_t ns) {
        put(fmt::format(R"({{"ph":{},"id":{},"name":"launch","cat":"launch","pid":{},"tid":{},"ts":{}}})",
                        phase, id, track.process, track.thread, us(ns)));
    };
    end("\"s\"", launch->second.track, launch->second.start_ns);
    end(R"("f","bp":"e")", to, start_ns);
}

void Writer::write_event(const Event& event, Track track) {
    const auto box = [&](const char* category, const std::string& name, const std::string& args) {
        put(fmt::format(
            R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})", category,
            name, track.process, track.thread, us(event.time.begin),
            duration_us(event.time.end - event.time.begin), args));
    };
    switch (event.kind) {
        case Event::Kind::kernel: {
            const Kernel& k = trace_.kernels[event.index];
            box("kernel", names_[static_cast<std::size_t>(k.name)],
                fmt::format(R"("stream":{},"correlation":{})", k.stream, k.correlation));
            return write_arrow(k.process, k.correlation, track, k.start_ns);
        }
        case Event::Kind::copy: {
            const Copy& c = trace_.copies[event.index];
            const bool is_set = c.direction == Direction::set;
            box(is_set ? "set" : "copy",
                json_text(is_set ? std::string("memory set")
                                 : fmt::format("copy {}", to_string(c.direction))),
                fmt::format(R"("bytes":{},"direction":"{}","from":{},"to":{},"stream":{},"correlation":{})",
                            c.bytes, to_string(c.direction), json_text(c.from), json_text(c.to), c.stream,
                            c.correlation));
            return write_arrow(c.process, c.correlation, track, c.start_ns);
        }
        case Event::Kind::api_call: {
            const ApiCall& call = trace_.api_calls[event.index];
            launches_.try_emplace({call.process, call.correlation}, Launch{call.start_ns, track});
            return box("api", names_[static_cast<std::size_t>(call.name)],
                       fmt::format(R"("correlation":{},"result":{})", call.correlation, call.result));
        }
        case Event::Kind::range: {
            const Range& range = trace_.ranges[event.index];
            return box("nvtx", json_text(range.name), fmt::format(R"("domain":{})", json_text(range.domain)));
        }
    }
}

/// Events that do not fit beside each other on one thread are spread over several.
void Writer::write_row(Events events, const std::string& name, int process, bool nested) {
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
        return a.time.begin != b.time.begin ? a.time.begin < b.time.begin : a.time.end > b.time.end;
    });
    std::vector<Interval> times;
    times.reserve(events.size());
    for (const Event& event : events) times.push_back(event.time);
    const std::vector<int> lanes = nested ? lanes_nested(times) : lanes_apart(times);
    const int count = lanes.empty() ? 0 : 1 + *std::max_element(lanes.begin(), lanes.end());
    for (int lane = 0; lane < count; ++lane)
        write_name("thread_name", {process, threads_ + 1 + lane},
                   lane == 0 ? name : fmt::format("{} ({})", name, lane + 1));
    for (std::size_t i = 0; i < events.size(); ++i)
        write_event(events[i], {process, threads_ + 1 + lanes[i]});
    threads_ += count;
}

void Writer::write_host() {
    constexpr int64_t kNoThread = -1;
    std::map<int64_t, std::map<int64_t, Events>> processes;  // process -> thread -> events
    for (std::size_t i = 0; i < trace_.api_calls.size(); ++i) {
        const ApiCall& call = trace_.api_calls[i];
        processes[call.process][call.thread].push_back(
            {{call.start_ns, call.end_ns}, i, Event::Kind::api_call});
    }
    for (std::size_t i = 0; i < trace_.ranges.size(); ++i) {
        const Range& range = trace_.ranges[i];
        processes[range.process][range.crosses_threads ? kNoThread : range.thread].push_back(
            {{range.start_ns, range.end_ns}, i, Event::Kind::range});
    }
    for (auto& [process, threads] : processes) {
        const int id = ++processes_;
        write_name("process_name", {id, 0}, fmt::format("host process {}", process_number(process)));
        for (auto& [thread, events] : threads)
            write_row(std::move(events),
                      thread == kNoThread ? "NVTX ranges across threads" : thread_name(process, thread), id,
                      true);
    }
}

void Writer::write_gpus() {
    std::map<int64_t, std::map<std::pair<int64_t, int64_t>, Events>> gpus;  // device -> process, stream
    std::set<int64_t> hosts;
    const auto add = [&](const auto& records, Event::Kind kind) {
        for (std::size_t i = 0; i < records.size(); ++i) {
            const auto& r = records[i];
            gpus[r.device][{r.process, r.stream}].push_back({{r.start_ns, r.end_ns}, i, kind});
            hosts.insert(r.process);
        }
    };
    add(trace_.kernels, Event::Kind::kernel);
    add(trace_.copies, Event::Kind::copy);
    for (auto& [gpu_device, streams] : gpus) {
        const int64_t device = gpu_device;  // clang 14 lets no lambda capture a structured binding
        const int id = ++processes_;
        const auto gpu = std::find_if(trace_.gpus.begin(), trace_.gpus.end(),
                                      [&](const Gpu& g) { return g.device == device; });
        write_name("process_name", {id, 0},
                   fmt::format("GPU {}{}", device, gpu == trace_.gpus.end() ? "" : ": " + gpu->name));
        for (auto& [key, events] : streams) {
            const std::string of = hosts.size() < 2 ? "" : fmt::format(" of {}", process_number(key.first));
            write_row(std::move(events), fmt::format("stream {}{}", key.second, of), id, false);
        }
    }
}

}  // namespace

void write_chrome_trace(const Trace& trace, std::ostream& out) {
    Writer(trace, out).write();
}

}  // namespace lab
