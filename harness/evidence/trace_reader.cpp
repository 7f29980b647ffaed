#include "evidence/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/error.h"

namespace lab {

namespace {

/// Turns the ids of an export's strings into indices into Trace::names, looking each id up once. Several ids
/// may stand for one name: cudaMemcpy_v3020 and cudaMemcpy_ptds_v7000 do.
class Names {
  public:
    /// `text_of_id` asks for the text of the id ?1.
    Names(std::vector<std::string>& names, const Database& database, const char* text_of_id)
        : names_(names), text_(database.prepare(text_of_id)) {
        for (const std::string& name : names_) index_of_name_.try_emplace(name, index_of_name_.size());
    }

    int64_t index_of(int64_t id) {
        const auto [at, is_new] = index_of_id_.try_emplace(id, 0);
        if (is_new) {
            text_.reset();
            at->second = index_of(text_.bind(1, id).next() ? text_.text(0) : "");
        }
        return at->second;
    }

    int64_t index_of(const std::string& name) {
        const auto [known, is_new] = index_of_name_.try_emplace(name, names_.size());
        if (is_new) names_.push_back(name);
        return known->second;
    }

  private:
    std::vector<std::string>& names_;
    Statement text_;
    std::unordered_map<int64_t, int64_t> index_of_id_;
    std::unordered_map<std::string, int64_t> index_of_name_;
};

/// Turns launch sizes into indices into Trace::launch_sizes. Most kernels have the size of the one before.
class LaunchSizes {
  public:
    explicit LaunchSizes(std::vector<LaunchSize>& sizes) : sizes_(sizes) {}

    /// -1 for a size that no kernel can have: where an export has none, it is all zeros here.
    int64_t index_of(const LaunchSize& size) {
        if (latest_ >= 0 && sizes_[static_cast<std::size_t>(latest_)] == size) return latest_;
        if (!size.possible()) return -1;
        const auto [known, is_new] = index_.try_emplace(size, sizes_.size());
        if (is_new) sizes_.push_back(size);
        return latest_ = known->second;
    }

  private:
    std::vector<LaunchSize>& sizes_;
    std::map<LaunchSize, int64_t> index_;
    int64_t latest_ = -1;
};

Direction direction_from(const std::string& text) {
    for (const Direction d : {Direction::host_to_device, Direction::device_to_host,
                              Direction::device_to_device, Direction::host_to_host})
        if (text == to_string(d)) return d;
    return Direction::other;
}

[[noreturn]] void fail_as_damaged(const Database& database, const std::string& why) {
    throw Error(fmt::format("{} is damaged: {}. Export the report again.", database.path().string(), why));
}

/// Refuses times that no capture has: those that run backwards, and those so far apart that sums over them
/// could leave 64 bits.
template <class Record>
void check_and_sort(std::vector<Record>& records, const Database& database, const char* what) {
    constexpr int64_t kFarthest_ns = int64_t{1} << 61;  // 73 years
    double total_ns = 0;
    for (const Record& r : records) {
        if (r.end_ns < r.start_ns) fail_as_damaged(database, fmt::format("a {} ends before it starts", what));
        if (r.start_ns < -kFarthest_ns || r.end_ns > kFarthest_ns)
            fail_as_damaged(database,
                            fmt::format("a {} is more than 73 years from the capture's begin", what));
        total_ns += static_cast<double>(r.end_ns - r.start_ns);
    }
    if (total_ns > static_cast<double>(kFarthest_ns))
        fail_as_damaged(database, fmt::format("all its {} records together last more than 73 years", what));
    const auto by_start = [](const Record& a, const Record& b) { return a.start_ns < b.start_ns; };
    if (!std::is_sorted(records.begin(), records.end(), by_start))
        std::stable_sort(records.begin(), records.end(), by_start);
}

/// The graph launches of a process, to find the one that a kernel belongs to which names no call: those in
/// the body of a conditional node, and in graphs that the GPU launched itself, name none.
class GraphLaunches {
  public:
    GraphLaunches(const Trace& trace, int64_t process) {
        for (const ApiCall& call : trace.api_calls) {
            if (call.process != process) continue;
            const std::string& name = trace.name_of(call.name);
            const int64_t last = ends_.empty() ? INT64_MIN : ends_.back();
            if (name == "cudaGraphLaunch" || name == "cuGraphLaunch") {
                launches_.push_back(&call);
                ends_.push_back(std::max(last, call.end_ns));
            } else if (call.result == 0 && (name == "cudaDeviceSynchronize" || name == "cuCtxSynchronize")) {
                waits_.push_back(&call);
            }
        }
        std::sort(waits_.begin(), waits_.end(),
                  [](const ApiCall* a, const ApiCall* b) { return a->end_ns < b->end_ns; });
        int64_t latest_ns = INT64_MIN;
        for (const ApiCall* wait : waits_)
            done_ns_.push_back(latest_ns = std::max(latest_ns, wait->start_ns));
    }

    /// The only launch that may have been on its way: made before `at_ns`, and after it no wait for the whole
    /// GPU has ended before `at_ns`. Null if there is none, or more than one.
    [[nodiscard]] const ApiCall* only_one_at(int64_t at_ns) const {
        const auto wait = std::upper_bound(waits_.begin(), waits_.end(), at_ns,
                                           [](int64_t at, const ApiCall* w) { return at < w->end_ns; });
        const int64_t done_ns = wait == waits_.begin()
                                    ? INT64_MIN
                                    : done_ns_[static_cast<std::size_t>(wait - waits_.begin()) - 1];
        const auto after = std::lower_bound(launches_.begin(), launches_.end(), at_ns,
                                            [](const ApiCall* l, int64_t at) { return l->start_ns < at; });
        const ApiCall* found = nullptr;
        for (auto i = static_cast<std::size_t>(after - launches_.begin()); i-- > 0 && ends_[i] > done_ns;) {
            if (launches_[i]->end_ns <= done_ns) continue;
            if (found) return nullptr;
            found = launches_[i];
        }
        return found;
    }

  private:
    std::vector<const ApiCall*> launches_;  ///< by start
    std::vector<int64_t> ends_;             ///< for each launch, the latest end of it and those before
    std::vector<const ApiCall*> waits_;     ///< by end
    std::vector<int64_t> done_ns_;  ///< for each wait: when it returns, launches before this time are done
};

/// Gives the kernels at these places the launch they belong to, where that is certain, and counts the others.
void attribute_to_launches(Trace& trace, const std::vector<std::size_t>& places, bool one_context) {
    std::map<int64_t, GraphLaunches> launches_of;
    for (const std::size_t place : places) {
        Kernel& kernel = trace.kernels[place];
        auto at = launches_of.find(kernel.process);
        if (at == launches_of.end())
            at = launches_of.emplace(kernel.process, GraphLaunches(trace, kernel.process)).first;
        const ApiCall* const launch = one_context ? at->second.only_one_at(kernel.start_ns) : nullptr;
        if (launch)
            kernel.correlation = launch->correlation;
        else
            ++trace.kernels_of_unknown_launch;
    }
}

/// The calls are there already.
void read_kernels(const Database& database, Trace& trace) {
    Names names(trace.names, database, "SELECT value FROM main.StringIds WHERE id = ?1");
    Statement row = database.prepare(
        "SELECT start, end, stream, device, correlation, process, name_id, context, correlation = 0 "
        "AND graph_node IS NOT NULL, grid_x, grid_y, grid_z, block_x, block_y, block_z FROM all_kernels");
    LaunchSizes sizes(trace.launch_sizes);
    std::vector<std::size_t> without_call;
    std::optional<std::pair<int64_t, int64_t>> context;  // device, and context of it
    bool one_context = true;
    while (row.next()) {
        const std::pair<int64_t, int64_t> of_this{row.integer(3), row.integer(7)};
        if (!context) context = of_this;
        one_context = one_context && *context == of_this;
        if (row.integer(8) != 0) without_call.push_back(trace.kernels.size());
        trace.kernels.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3),
                                 row.integer(4), row.integer(5), names.index_of(row.integer(6)),
                                 sizes.index_of({{row.integer(9), row.integer(10), row.integer(11)},
                                                 {row.integer(12), row.integer(13), row.integer(14)}})});
    }
    if (!without_call.empty()) attribute_to_launches(trace, without_call, one_context);
    // A graph recorded as a whole keeps its kernels to itself. It counts as one, or the GPU would seem idle.
    Statement run =
        database.prepare("SELECT start, end, stream, device, correlation, process FROM all_graph_runs");
    while (run.next())
        trace.kernels.push_back({run.integer(0), run.integer(1), run.integer(2), run.integer(3),
                                 run.integer(4), run.integer(5), names.index_of("CUDA graph as a whole")});
    check_and_sort(trace.kernels, database, "kernel");
}

void read_copies(const Database& database, Trace& trace) {
    Statement row = database.prepare(R"(
SELECT start, end, stream, device, correlation, process, bytes, direction, from_kind, to_kind FROM all_copies
UNION ALL
SELECT start, end, stream, device, correlation, process, bytes, 'set', '', to_kind FROM all_sets)");
    while (row.next()) {
        const std::string direction = row.text(7);
        trace.copies.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3),
                                row.integer(4), row.integer(5), row.integer(6),
                                direction == "set" ? Direction::set : direction_from(direction), row.text(8),
                                row.text(9)});
    }
    check_and_sort(trace.copies, database, "copy");
    double bytes = 0;
    for (const Copy& copy : trace.copies) {
        if (copy.bytes < 0) fail_as_damaged(database, "a copy moves fewer than 0 bytes");
        bytes += static_cast<double>(copy.bytes);
    }
    if (bytes > 4e18) fail_as_damaged(database, "its copies move more than 4 exabytes");
}

void read_api_calls(const Database& database, Trace& trace) {
    Names names(trace.names, database, "SELECT name FROM call_names WHERE id = ?1");
    Statement row = database.prepare(
        "SELECT start, end, correlation, process, thread, name_id, result FROM all_api_calls");
    while (row.next())
        trace.api_calls.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3),
                                   row.integer(4), names.index_of(row.integer(5)), row.integer(6)});
    check_and_sort(trace.api_calls, database, "CUDA call");
}

void read_ranges(const Database& database, Trace& trace) {
    Statement row = database.prepare(
        "SELECT start, end, process, thread, crosses_threads, name, domain FROM all_bare_ranges");
    int64_t bytes_of_names = 0;  // a file stores a name once; here each range has its own
    const int64_t most_bytes = fair_memory_for(database.path());
    while (row.next()) {
        trace.ranges.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3),
                                row.integer(4) != 0, row.text(5), row.text(6)});
        bytes_of_names +=
            static_cast<int64_t>(trace.ranges.back().name.size() + trace.ranges.back().domain.size());
        if (bytes_of_names > most_bytes)
            fail_as_damaged(database, "the names of its NVTX ranges take far more room than the file");
    }
    check_and_sort(trace.ranges, database, "range");
}

}  // namespace

Trace read_trace(const Database& database) {
    Trace trace;
    read_api_calls(database, trace);
    read_kernels(database, trace);
    read_copies(database, trace);
    read_ranges(database, trace);
    if (database.has_table("TARGET_INFO_GPU")) {
        Statement row = database.prepare("SELECT id, name FROM main.TARGET_INFO_GPU");
        while (row.next()) trace.gpus.push_back({row.integer(0), row.text(1)});
    }
    return trace;
}

}  // namespace lab
