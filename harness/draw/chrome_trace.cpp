#include "draw/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <variant>

#include "draw/rows.h"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;

/// Where an event is shown; thread 0 stands for the process itself.
struct Track {
    int process = 0, thread = 0;
};

/// A record of the trace, with its times.
struct Event {
    int64_t begin_ns = 0, end_ns = 0;
    std::variant<const Kernel*, const Copy*, const ApiCall*, const Range*> record;
};

/// A kind of memory as Kineto has it: "Pinned". Ours are in lower case, and "other" is not known.
std::string kineto_kind(std::string kind) {
    if (kind == "other" || kind.empty()) return "Unknown";
    if (kind[0] >= 'a' && kind[0] <= 'z') kind[0] = static_cast<char>(kind[0] - 'a' + 'A');
    return kind;
}

/// "Memcpy HtoD (Pinned -> Device)", "Memset (Device)"
std::string kineto_name(const Copy& copy) {
    constexpr const char* kDirections[] = {"HtoD", "DtoH", "DtoD", "HtoH", "", "Unknown"};
    if (copy.direction == Direction::set) return fmt::format("Memset ({})", kineto_kind(copy.to));
    return fmt::format("Memcpy {} ({} -> {})", kDirections[static_cast<std::size_t>(copy.direction)],
                       kineto_kind(copy.from), kineto_kind(copy.to));
}

/// Writes one event after the other: a JSON value that held them all would take a kilobyte for each.
class Writer {
  public:
    Writer(const Trace& trace, std::ostream& out) : trace_(trace), out_(out) {
        // A stream without these swallows that memory or the disk is full, and half a file looks like a
        // whole.
        out_.exceptions(std::ios::badbit | std::ios::failbit);
    }

    void write() {
        constexpr int64_t kNoThread = -1;
        // Rows by: is it a GPU, device or host process, process, stream or thread.
        std::map<std::tuple<bool, int64_t, int64_t, int64_t>, std::vector<Event>> rows;
        std::set<int64_t> launching;
        const auto add = [&](bool is_gpu, int64_t owner, int64_t number, const auto& record) {
            rows[{is_gpu, owner, record.process, number}].push_back(
                {record.start_ns, record.end_ns, &record});
            origin_ns_ = std::min(origin_ns_, record.start_ns);
            if (is_gpu) launching.insert(record.process);
        };
        for (const ApiCall& c : trace_.api_calls) add(false, c.process, c.thread, c);
        for (const Range& r : trace_.ranges)
            add(false, r.process, r.crosses_threads ? kNoThread : r.thread, r);
        for (const Kernel& k : trace_.kernels) add(true, k.device, k.stream, k);
        for (const Copy& c : trace_.copies) add(true, c.device, c.stream, c);

        write_header();
        std::set<std::pair<bool, int64_t>> owners;
        for (auto& [row, events] : rows) {
            const auto& [is_gpu, owner, process, number] = row;
            const bool is_new = owners.insert({is_gpu, owner}).second;
            const int id = static_cast<int>(owners.size());
            const std::string host = std::to_string(process_number(process));
            if (is_new) put_name("process", {id, 0}, is_gpu ? gpu_name(owner) : "host process " + host);
            const std::string stream =
                fmt::format("stream {}{}", number, launching.size() < 2 ? "" : " of " + host);
            const std::string thread =
                number == kNoThread ? "NVTX ranges across threads" : thread_name(process, number);
            write_row(events, is_gpu ? stream : thread, id, is_gpu ? lanes_apart : lanes_nested);
        }
        out_ << "\n]}\n";
    }

  private:
    void write_header() {
        Json gpus = Json::array();
        for (const Gpu& gpu : trace_.gpus) gpus.push_back({{"id", gpu.device}, {"name", gpu.name}});
        out_ << R"({"schemaVersion":1,"displayTimeUnit":"ns","distributedInfo":{"rank":)"
             << trace_.rank.value_or(0) << R"(},"deviceProperties":)" << text_of(gpus)
             << R"(,"traceEvents":[)";
    }

    [[nodiscard]] static std::string text_of(const Json& json) {
        return json.dump(-1, ' ', true, Json::error_handler_t::replace);
    }

    void put(Json event, Track track) {
        event["pid"] = track.process;
        event["tid"] = track.thread;
        out_ << separator_ << text_of(event);
        separator_ = ",\n";
    }

    [[nodiscard]] std::string gpu_name(int64_t device) const {
        const std::string name = trace_.name_of_gpu(device);
        return fmt::format("GPU {}{}", device, name.empty() ? "" : ": " + name);
    }

    /// Names a track and gives it its place among the others.
    void put_name(const std::string& kind, Track track, const std::string& name) {
        const int place = track.thread == 0 ? track.process : track.thread;
        put({{"ph", "M"}, {"name", kind + "_name"}, {"args", {{"name", name}}}}, track);
        put({{"ph", "M"}, {"name", kind + "_sort_index"}, {"args", {{"sort_index", place}}}}, track);
    }

    /// The events of a row; those that do not fit beside each other on one thread are spread over several.
    void write_row(std::vector<Event>& events, const std::string& name, int process,
                   std::vector<int> (*lanes_of)(const Intervals&)) {
        const std::vector<int> lanes = lanes_of(in_order_of_time(events));
        const int first = threads_ + 1;
        threads_ += *std::max_element(lanes.begin(), lanes.end()) + 1;
        for (int thread = first; thread <= threads_; ++thread)
            put_name("thread", {process, thread},
                     thread == first ? name : fmt::format("{} ({})", name, thread - first + 1));
        for (std::size_t i = 0; i < events.size(); ++i)
            std::visit([&](const auto* r) { put_event(*r, {process, first + lanes[i]}); }, events[i].record);
    }

    /// In µs, the unit of the format.
    [[nodiscard]] static double us(int64_t ns) { return static_cast<double>(ns) / 1000; }

    void put_box(const char* category, const std::string& name, const auto& record, Json args, Track track) {
        Json box{{"ph", "X"}, {"cat", category}, {"name", name}, {"args", std::move(args)}};
        box["ts"] = us(record.start_ns - origin_ns_);
        box["dur"] = us(record.end_ns - record.start_ns);
        put(std::move(box), track);
    }

    /// An arrow from the call that launched this work.
    void put_arrow(const auto& work, Track track) {
        if (work.call < 0) return;
        const auto call = static_cast<std::size_t>(work.call);
        Json arrow{{"ph", "s"}, {"name", "launch"}, {"cat", "launch"}, {"id", ++arrows_}};
        arrow["ts"] = us(trace_.api_calls[call].start_ns - origin_ns_);
        put(arrow, track_of_call_[call]);
        arrow["ph"] = "f";
        arrow["bp"] = "e";
        arrow["ts"] = us(work.start_ns - origin_ns_);
        put(arrow, track);
    }

    /// What says where work ran and which call launched it.
    static Json args_of(const auto& work) {
        return {{"device", work.device}, {"stream", work.stream}, {"correlation", work.correlation}};
    }

    void put_event(const Kernel& k, Track track) {
        Json args = args_of(k);
        if (k.size >= 0) {
            const LaunchSize& size = trace_.launch_sizes[static_cast<std::size_t>(k.size)];
            args["grid"] = size.grid, args["block"] = size.block;
        }
        put_box("kernel", trace_.full_name_of(k.name), k, std::move(args), track);
        put_arrow(k, track);
    }
    void put_event(const Copy& c, Track track) {
        Json args = args_of(c);
        args["bytes"] = c.bytes;
        put_box(c.direction == Direction::set ? "gpu_memset" : "gpu_memcpy", kineto_name(c), c,
                std::move(args), track);
        put_arrow(c, track);
    }
    void put_event(const ApiCall& c, Track track) {
        const std::string& name = trace_.name_of(c.name);
        put_box(name.starts_with("cuda") ? "cuda_runtime" : "cuda_driver", name, c,
                {{"correlation", c.correlation}, {"result", c.result}}, track);
        track_of_call_[static_cast<std::size_t>(&c - trace_.api_calls.data())] = track;
    }
    void put_event(const Range& r, Track track) {
        Json args{{"domain", r.domain}};
        if (r.crosses_threads) args["crosses_threads"] = true;
        put_box("user_annotation", r.name, r, std::move(args), track);
    }

    const Trace& trace_;
    std::ostream& out_;
    int64_t origin_ns_ = std::numeric_limits<int64_t>::max();
    const char* separator_ = "\n";
    int threads_ = 0, arrows_ = 0;
    std::vector<Track> track_of_call_{trace_.api_calls.size()};
};

}  // namespace

void write_chrome_trace(const Trace& trace, std::ostream& out) {
    Writer(trace, out).write();
}

}  // namespace lab
