#include "evidence/work_order.h"

#include <algorithm>
#include <unordered_map>

#include "core/text.h"
#include "evidence/database.h"
#include "evidence/launches.h"

namespace lab {

namespace {

using Pairs = std::vector<std::pair<int32_t, int32_t>>;
constexpr int32_t kNoWork = -1;
constexpr std::size_t kMostBranches = 8;  ///< of a graph that are waited for: those that end last

/// Goes through all calls in the order in which they were made.
class Streams {
  public:
    Streams(const Trace& trace, const StreamTables& tables, const WorkOrder& order)
        : trace_(trace), tables_(tables), order_(order) {}

    /// `launched`: the work of each call. `waits`: does the host wait in it?
    void follow(const IndexLists& launched, const std::vector<bool>& waits) {
        for (std::size_t c = 0; c < order_.calls.size(); ++c) {
            const ApiCall& call = trace_.api_calls[static_cast<std::size_t>(order_.calls[c].index)];
            const Works works{launched.begin_of(c), launched.end_of(c)};
            if (works.empty()) {
                see(call, static_cast<int32_t>(c), waits[c]);
                continue;
            }
            if (waits[c])
                for (const int32_t w : works) awaits.emplace_back(c, w);
            launch(call, static_cast<int32_t>(c), works);
        }
    }

    Pairs needs, awaits;  ///< of work, and of calls: what it comes after

  private:
    using Works = std::vector<int32_t>;
    struct Stream {
        StreamTables::Kind kind = StreamTables::blocking;
        int64_t device = -1;
        Works last;  ///< of a graph, the last of each branch
        int32_t last_call = -1;
        Works events;              ///< that its next work waits for
        bool is_programs = false;  ///< did a call name it that launches no graph?
    };
    struct Graph {
        Works roots, ends;  ///< the first and the last of each branch
        int32_t call = -1;
    };
    struct Thread {
        int64_t stream = -1;  ///< that it used last
        Graph graph;          ///< that it launched, while no stream is known for it
        bool captures = false;
        int64_t waited_ns = INT64_MIN;  ///< when its last wait for everything began
    };
    struct Process {
        std::map<int64_t, Stream> streams;
        std::vector<Works> records;  ///< for each cudaEventRecord, the work before it
        bool is_whole = true;        ///< were all of these captured?
    };

    Stream& stream_of(int64_t process, int64_t number) {
        const auto [found, is_new] = processes_[process].streams.try_emplace(number);
        if (const auto kind = tables_.kinds.find({process, number}); is_new && kind != tables_.kinds.end())
            found->second.kind = kind->second;
        return found->second;
    }

    /// The work that the event of a wait stands for.
    static Works event_of(Process& process, const StreamTables::Wait& wait) {
        const auto& records = process.records;
        process.is_whole &= wait.record <= std::ssize(records) || wait.record >= UINT32_MAX;
        const bool is_known = process.is_whole && wait.record > 0 && wait.record <= std::ssize(records);
        return is_known ? records[static_cast<std::size_t>(wait.record - 1)] : Works{};
    }

    /// A call that launches nothing.
    void see(const ApiCall& call, int32_t number, bool waits) {
        const std::string& name = trace_.name_of(call.name);
        Thread& thread = threads_[call.thread];
        Process& process = processes_[call.process];
        const auto found = tables_.waits.find({call.process, call.correlation});
        const StreamTables::Wait wait = found == tables_.waits.end() ? StreamTables::Wait{} : found->second;
        const auto is = [&](const char* part) { return name.find(part) != std::string::npos; };
        const auto wait_for = [&](const Works& works) {
            for (const int32_t work : works) awaits.emplace_back(number, work);
        };
        if (is("BeginCapture") || is("EndCapture")) {
            thread.captures = is("BeginCapture");
        } else if (is("EventRecord")) {
            if (!thread.captures) process.records.push_back(stream_of(call.process, thread.stream).last);
        } else if (is("StreamWaitEvent")) {
            if (wait.stream < 0) return;  // torch.profiler doesn't say which
            thread.stream = wait.stream;
            Stream& stream = stream_of(call.process, wait.stream);
            stream.is_programs = true;
            append(stream.events, event_of(process, wait));
        } else if (const Works event = event_of(process, wait); is("EventSynchronize") && !event.empty()) {
            wait_for(event);
        } else if (is("StreamSynchronize") && wait.stream >= 0 &&
                   (process.streams.count(wait.stream) > 0 || !thread.graph.roots.empty())) {
            wait_for(name_stream(call, wait.stream).last);
        } else if (waits) {
            for (const auto& [_, stream] : process.streams)
                for (const int32_t last : stream.last)
                    if (work_of(last).end_ns > thread.waited_ns && work_of(last).end_ns <= call.end_ns)
                        wait_for({last});
            thread.waited_ns = call.start_ns;
        }
    }

    /// A call that launches no graph names a stream. A graph of which no node runs on a stream of the program
    /// was launched on the stream that its thread names next.
    Stream& name_stream(const ApiCall& call, int64_t number) {
        Stream& stream = stream_of(call.process, number);
        stream.is_programs = true;
        Graph& graph = threads_[call.thread].graph;
        if (stream.last_call == graph.call) graph = {};
        if (graph.roots.empty()) return stream;
        // Not on this one, if it has been given other work since, or was at work meanwhile.
        const bool is_another = stream.last_call > graph.call ||
                                std::any_of(stream.last.begin(), stream.last.end(), [&](int32_t last) {
                                    return work_of(last).end_ns > work_of(graph.roots[0]).start_ns;
                                });
        if (is_another) return stream;
        for (const int32_t root : graph.roots)
            for (const int32_t before : stream.last) needs.emplace_back(root, before);
        stream.last = std::move(graph.ends);
        stream.last_call = graph.call;
        graph = {};
        return stream;
    }

    /// What work on this stream has to come after; events are waited for once.
    void add_before(const Process& process, Stream& stream, int64_t device, Works& before) const {
        append(before, stream.last);
        append(before, stream.events);
        stream.events.clear();
        // What the default stream has waited for already, other work on it need not wait for again.
        for (const auto& [_, other] : process.streams)
            if (other.last_call > stream.last_call && other.device == device && other.kind != stream.kind &&
                other.kind + stream.kind == StreamTables::blocking + StreamTables::legacy_default)
                append(before, other.last);
    }

    /// All work of a call comes after what was on its streams before, and is what comes next there waits for.
    void launch(const ApiCall& call, int32_t number, const Works& works) {
        const bool is_graph = launches_graph(trace_, call);
        const int64_t device = work_of(works[0]).device;
        std::map<int64_t, Works> on;  // each stream
        for (const int32_t w : works) on[work_of(w).stream].push_back(w);
        const auto ends_later = [&](int32_t x, int32_t y) { return work_of(x).end_ns > work_of(y).end_ns; };
        Graph graph{{}, {}, number};
        Works before, latest;
        for (const auto& [number_of_stream, branch] : on) {
            if (!is_graph) name_stream(call, number_of_stream);
            Stream& stream = stream_of(call.process, number_of_stream);
            graph.roots.push_back(branch[0]);
            graph.ends.push_back(*std::min_element(branch.begin(), branch.end(), ends_later));
            for (const int32_t last : stream.last)  // this one began early, and ends first
                if (ends_later(last, graph.ends.back())) latest.push_back(last);
            add_before(processes_[call.process], stream, device, before);
        }
        std::sort(before.begin(), before.end());
        before.erase(std::unique(before.begin(), before.end()), before.end());
        if (on.size() > kMostBranches && before.size() > kMostBranches) {
            std::partial_sort(before.begin(), before.begin() + kMostBranches, before.end(), ends_later);
            before.resize(kMostBranches);
        }
        bool is_programs = false;  // is any of the streams?
        for (const auto& [stream, branch] : on) {
            for (const int32_t b : before) needs.emplace_back(branch[0], b);
            for (std::size_t i = 1; i < branch.size(); ++i) needs.emplace_back(branch[i], branch[i - 1]);
            is_programs |= stream_of(call.process, stream).is_programs;
        }
        append(graph.ends, latest);
        std::sort(graph.ends.begin(), graph.ends.end(), ends_later);
        graph.ends.resize(std::min(graph.ends.size(), kMostBranches));
        std::sort(graph.roots.begin(), graph.roots.end());  // by start
        for (const auto& [number_of_stream, _] : on) {
            Stream& stream = stream_of(call.process, number_of_stream);
            stream.last = graph.ends;
            stream.last_call = number;
            stream.device = device;
        }
        Thread& thread = threads_[call.thread];
        thread.stream = work_of(works.back()).stream;
        thread.graph = is_programs ? Graph{} : std::move(graph);
    }

    [[nodiscard]] const WorkOrder::Work& work_of(int32_t number) const {
        return order_.work[static_cast<std::size_t>(number)];
    }

    const Trace& trace_;
    const StreamTables& tables_;
    const WorkOrder& order_;
    std::unordered_map<int64_t, Thread> threads_;
    std::unordered_map<int64_t, Process> processes_;
};

/// The calls that no other one made; returns for each call of the trace which of them it belongs to.
std::vector<int32_t> add_calls(const Trace& trace, WorkOrder& order) {
    std::vector<int32_t> outermost;
    for (const ApiCall& call : trace.api_calls) {
        std::vector<int32_t>& thread = order.threads[call.thread];
        if (thread.empty() || call.start_ns >= order.calls[static_cast<std::size_t>(thread.back())].end_ns) {
            order.calls.push_back({call.start_ns, call.end_ns, static_cast<int32_t>(outermost.size()),
                                   thread.empty() ? -1 : thread.back()});
            thread.push_back(static_cast<int32_t>(order.calls.size()) - 1);
        }
        outermost.push_back(thread.back());
    }
    return outermost;
}

void add_work(const Trace& trace, const std::vector<int32_t>& outermost, std::vector<WorkOrder::Work>& work) {
    work.reserve(trace.kernels.size() + trace.copies.size());
    const auto add = [&](const auto& all, bool are_copies) {
        for (const auto& one : all) {
            const auto index = static_cast<int32_t>(&one - all.data());
            work.push_back({one.start_ns, one.end_ns, one.stream, one.device, are_copies ? -1 - index : index,
                            one.call < 0 ? -1 : outermost[static_cast<std::size_t>(one.call)]});
        }
    };
    add(trace.kernels, false);
    const auto middle = static_cast<std::ptrdiff_t>(work.size());
    add(trace.copies, true);
    std::inplace_merge(work.begin(), work.begin() + middle, work.end(),
                       [](const auto& x, const auto& y) { return x.start_ns < y.start_ns; });
}

}  // namespace

StreamTables StreamTables::of(const Database& database) {
    StreamTables tables;
    Statement waits = database.prepare(
        "SELECT globalPid, correlationId, streamId, eventSyncId FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION");
    while (waits.next())
        tables.waits[{waits.integer(0), waits.integer(1)}] = {waits.integer(2), waits.integer(3)};
    constexpr int64_t kNonBlocking = 2, kLegacyDefault = 3;  // CUpti_ActivityStreamFlag; exports have no ENUM
    Statement streams = database.prepare(
        "SELECT p.process, t.streamId, t.flag FROM TARGET_INFO_CUDA_STREAM t JOIN (SELECT DISTINCT process "
        "FROM all_api_calls) p ON (p.process >> 24) & 0xFFFFFF = t.processId");
    while (streams.next())
        if (const int64_t flag = streams.integer(2); flag == kNonBlocking || flag == kLegacyDefault)
            tables.kinds[{streams.integer(0), streams.integer(1)}] =
                flag == kNonBlocking ? non_blocking : legacy_default;
    return tables;
}

IndexLists::IndexLists(std::vector<std::pair<int32_t, int32_t>> pairs, std::size_t elements) {
    std::sort(pairs.begin(), pairs.end());
    first.assign(elements + 1, 0);
    all.reserve(pairs.size());
    for (const auto& [element, index] : pairs) {
        ++first[static_cast<std::size_t>(element) + 1];
        all.push_back(index);
    }
    for (std::size_t i = 0; i < elements; ++i) first[i + 1] += first[i];
}

WorkOrder work_order(const Trace& trace, const StreamTables& tables) {
    WorkOrder order;
    const std::vector<int32_t> outermost = add_calls(trace, order);
    add_work(trace, outermost, order.work);
    const auto work_of = [&](int32_t i) -> const WorkOrder::Work& {
        return order.work[static_cast<std::size_t>(i)];
    };
    const auto end_of = [&](int32_t call) { return order.calls[static_cast<std::size_t>(call)].end_ns; };

    Pairs launches;
    for (const WorkOrder::Work& work : order.work)
        if (work.call >= 0) launches.emplace_back(work.call, &work - order.work.data());
    std::vector<bool> waits(order.calls.size());
    const std::vector<bool> all_waits = host_waits(trace);
    for (std::size_t i = 0; i < all_waits.size(); ++i)
        if (all_waits[i]) waits[static_cast<std::size_t>(outermost[i])] = true;
    Streams streams(trace, tables, order);
    streams.follow(IndexLists(std::move(launches), order.calls.size()), waits);

    std::map<std::pair<int64_t, Direction>, int32_t> engines;
    for (std::size_t i = 0; i < order.work.size(); ++i) {
        if (order.work[i].index >= 0) continue;
        const auto direction = trace.copies[static_cast<std::size_t>(-1 - order.work[i].index)].direction;
        if (direction != Direction::host_to_device && direction != Direction::device_to_host) continue;
        const auto [last, is_first] =
            engines.try_emplace({order.work[i].device, direction}, static_cast<int32_t>(i));
        if (!is_first) streams.needs.emplace_back(i, std::exchange(last->second, static_cast<int32_t>(i)));
    }
    // What the times contradict was no wait. Two kernels of one stream overlap if they were launched so: then
    // the second began early, and waited for the first inside.
    order.joins.assign(order.work.size(), kNoWork);
    std::erase_if(streams.needs, [&](const auto& pair) {
        const WorkOrder::Work &work = work_of(pair.first), &before = work_of(pair.second);
        if (pair.second < pair.first && before.end_ns <= work.start_ns) return false;
        int32_t& join = order.joins[static_cast<std::size_t>(pair.first)];
        if (pair.second < pair.first && before.index >= 0 && work.index >= 0 &&
            before.stream == work.stream && before.end_ns <= work.end_ns &&
            (join == kNoWork || work_of(join).end_ns < before.end_ns))
            join = pair.second;
        return true;
    });
    std::erase_if(streams.awaits, [&](const auto& pair) {
        return std::max(work_of(pair.second).end_ns, work_of(pair.second).start_ns + 1) > end_of(pair.first);
    });
    order.needs = IndexLists(std::move(streams.needs), order.work.size());
    order.awaits = IndexLists(std::move(streams.awaits), order.calls.size());
    return order;
}

}  // namespace lab
