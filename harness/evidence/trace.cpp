#include "evidence/trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "evidence/database.h"
#include "evidence/kernel_names.h"
#include "evidence/launches.h"
#include "evidence/trace_checks.h"

namespace lab {

namespace {

/// Turns the ids of an export's strings into indices into Trace::names, looking each id up once. Several ids
/// may stand for one name: cudaMemcpy_v3020 and cudaMemcpy_ptds_v7000 do.
class Names {
  public:
    /// `text_of_id` asks for the text of the id ?1. `is_whole`: also of one that is long.
    Names(std::vector<std::string>& names, const Database& database, const char* text_of_id,
          bool is_whole = false)
        : names_(names), text_(database.prepare(text_of_id)), is_whole_(is_whole) {
        for (const std::string& name : names_) index_of_name_.try_emplace(name, index_of_name_.size());
    }

    int64_t index_of(int64_t id) {
        const auto [at, is_new] = index_of_id_.try_emplace(id, 0);
        if (is_new) {
            text_.reset();
            at->second = index_of(!text_.bind(1, id).next() ? "" : is_whole_ ? text_.text(0) : text_.name(0));
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
    bool is_whole_;
    std::unordered_map<int64_t, int64_t> index_of_id_;
    std::unordered_map<std::string, int64_t> index_of_name_;
};

Direction direction_from(const std::string& text) {
    for (const Direction d : {Direction::host_to_device, Direction::device_to_host,
                              Direction::device_to_device, Direction::host_to_host})
        if (text == to_string(d)) return d;
    return Direction::other;
}

void read_kernels(const Database& database, Trace& trace) {
    Names names(trace.names, database, "SELECT value FROM main.StringIds WHERE id = ?1", true);
    Statement row = database.prepare(
        "SELECT start, end, stream, device, correlation, process, full_name_id, graph_node IS NOT NULL, "
        "grid_x, grid_y, grid_z, block_x, block_y, block_z, in_conditional_node FROM all_kernels");
    std::map<LaunchSize, int64_t> sizes;
    const auto index_of = [&](const LaunchSize& size) -> int64_t {
        if (!size.possible()) return -1;  // where an export has none, it is all zeros here
        const auto [known, is_new] = sizes.try_emplace(size, std::ssize(trace.launch_sizes));
        if (is_new) trace.launch_sizes.push_back(size);
        return known->second;
    };
    while (row.next()) {
        const int64_t correlation = row.integer(4);
        trace.kernels_of_unknown_launch += correlation == 0 && row.integer(7) != 0;
        trace.kernels_in_conditional_nodes += row.integer(14);
        trace.kernels.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3), correlation,
                                 row.integer(5), -1, names.index_of(row.integer(6)),
                                 index_of({{row.integer(8), row.integer(9), row.integer(10)},
                                           {row.integer(11), row.integer(12), row.integer(13)}})});
    }
    // A graph recorded as a whole keeps its kernels to itself. It counts as one, or the GPU would seem idle.
    Statement run =
        database.prepare("SELECT start, end, stream, device, correlation, process FROM all_graph_runs");
    while (run.next())
        trace.kernels.push_back({run.integer(0), run.integer(1), run.integer(2), run.integer(3),
                                 run.integer(4), run.integer(5), -1, names.index_of(kGraphAsAWhole)});
}

void read_copies(const Database& database, Trace& trace) {
    Statement row = database.prepare(R"(
SELECT start, end, stream, device, correlation, process, bytes, direction, from_kind, to_kind, between_gpus
FROM all_copies
UNION ALL
SELECT start, end, stream, device, correlation, process, bytes, 'set', '', to_kind, 0 FROM all_sets)");
    while (row.next()) {
        const std::string direction = row.text(7);
        trace.copies.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3),
                                row.integer(4), row.integer(5), -1, row.integer(6),
                                direction == "set" ? Direction::set : direction_from(direction), row.text(8),
                                row.text(9), row.integer(10) != 0});
    }
}

void read_api_calls(const Database& database, Trace& trace) {
    Names names(trace.names, database, "SELECT name FROM call_names WHERE id = ?1");
    Statement row = database.prepare(
        "SELECT start, end, correlation, process, thread, name_id, result FROM all_api_calls");
    while (row.next()) {
        if (row.is_null(6)) trace.knows_results = false;  // torch.profiler recorded it
        trace.api_calls.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3),
                                   row.integer(4), names.index_of(row.integer(5)), row.integer(6)});
    }
}

void read_ranges(const Database& database, Trace& trace) {
    Statement row = database.prepare(
        "SELECT start, end, process, thread, crosses_threads, name, domain, id FROM all_ranges");
    while (row.next())
        trace.ranges.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3),
                                row.integer(4) != 0, row.name(5), row.name(6), row.integer(7)});
}

void read_os_calls(const Database& database, Trace& trace) {
    Names names(trace.names, database, "SELECT value FROM main.StringIds WHERE id = ?1");
    Statement row =
        database.prepare("SELECT start, end, process, thread, name_id FROM all_os_calls WHERE nesting = 0");
    while (row.next())
        trace.os_calls.push_back(
            {row.integer(0), row.integer(1), row.integer(2), row.integer(3), names.index_of(row.integer(4))});
}

/// The farthest time that a capture has, of records that are not added up.
bool is_time(int64_t ns) {
    return std::abs(static_cast<double>(ns)) < 2e18;
}

void read_cpu_samples(const Database& database, Trace& trace) {
    Names names(trace.names, database, "SELECT ''");
    Statement row = database.prepare("SELECT time, process, thread, function, module FROM all_cpu_samples");
    while (row.next())
        if (is_time(row.integer(0)))
            trace.cpu_samples.push_back({row.integer(0), row.integer(1), row.integer(2),
                                         names.index_of(row.name(3)), names.index_of(row.name(4))});
    std::stable_sort(trace.cpu_samples.begin(), trace.cpu_samples.end(),
                     [](const CpuSample& a, const CpuSample& b) { return a.time_ns < b.time_ns; });
}

void read_thread_states(const Database& database, Trace& trace) {
    Statement row = database.prepare("SELECT start, end, process, thread, state FROM context_switches");
    while (row.next()) {
        const std::string state = row.text(4);
        trace.thread_states.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3),
                                       state == "running" ? ThreadState::running
                                       : state == "ready" ? ThreadState::ready
                                                          : ThreadState::blocked});
    }
    Statement name = database.prepare("SELECT thread, name FROM thread_names WHERE thread IS NOT NULL");
    while (name.next()) trace.thread_names[name.integer(0)] = name.name(1);
}

/// Metrics in percent alone: beside those nsys has the same ones in other units, clocks, and counts.
void read_metrics(const Database& database, Trace& trace) {
    std::map<std::pair<int64_t, int64_t>, Metric> by_id;
    Statement row = database.prepare(
        "SELECT device, metric, name, unit, time, value FROM all_gpu_metrics WHERE unit = '%'");
    while (row.next()) {
        Metric& metric = by_id[{row.integer(0), row.integer(1)}];
        if (metric.name.empty()) metric = {row.integer(0), row.name(2), row.name(3), {}};
        if (is_time(row.integer(4))) metric.samples.push_back({row.integer(4), row.number(5)});
    }
    for (auto& [id, metric] : by_id) {
        if (std::all_of(metric.samples.begin(), metric.samples.end(), [](auto& s) { return s.value == 0; }))
            continue;
        std::stable_sort(metric.samples.begin(), metric.samples.end(),
                         [](auto& a, auto& b) { return a.time_ns < b.time_ns; });
        trace.metrics.push_back(std::move(metric));
    }
}

}  // namespace

bool LaunchSize::possible() const {
    constexpr int64_t kMostInX = (int64_t{1} << 31) - 1, kMostInYAndZ = 65'535, kMostThreads = 1024;
    const auto within = [](int64_t number, int64_t most) { return number >= 1 && number <= most; };
    return within(grid[0], kMostInX) && within(grid[1], kMostInYAndZ) && within(grid[2], kMostInYAndZ) &&
           within(block[0], kMostThreads) && within(block[1], kMostThreads) && within(block[2], kMostThreads);
}

std::string Trace::name_of_gpu(int64_t device) const {
    for (const Gpu& gpu : gpus)
        if (gpu.device == device) return gpu.name;
    return "";
}

const char* to_string(Direction direction) {
    constexpr const char* kNames[]{"host to device", "device to host", "device to device",
                                   "host to host",   "memset",         "other"};
    return kNames[static_cast<std::size_t>(direction)];
}

Trace read_trace(const Database& database) {
    Trace trace;
    read_api_calls(database, trace);
    read_kernels(database, trace);
    read_copies(database, trace);
    read_ranges(database, trace);
    read_os_calls(database, trace);
    read_cpu_samples(database, trace);
    read_thread_states(database, trace);
    read_metrics(database, trace);
    check_and_sort(trace, database.path(), "Export the report again.");
    link_to_calls(trace);
    shorten_kernel_names(trace);
    if (database.has_table("TARGET_INFO_GPU")) {
        Statement row = database.prepare(
            "SELECT COALESCE(device, id), name, COALESCE(sms, 0) FROM all_gpus "
            "LEFT JOIN cuda_numbers ON gpu = id");
        while (row.next()) trace.gpus.push_back({row.integer(0), row.name(1), row.integer(2)});
    }
    constexpr const char* kStart = "TARGET_INFO_SESSION_START_TIME";
    const std::vector<std::string> columns =
        database.has_table(kStart) ? database.columns_of(kStart) : std::vector<std::string>{};
    if (std::find(columns.begin(), columns.end(), "utcEpochNs") != columns.end()) {
        Statement row = database.prepare("SELECT utcEpochNs FROM main.TARGET_INFO_SESSION_START_TIME");
        if (row.next() && row.integer(0) > 0) trace.epoch_ns = row.integer(0);
    }
    return trace;
}

}  // namespace lab
