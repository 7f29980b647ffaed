#include "tools/kineto_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "core/text.h"
#include "evidence/kernel_names.h"

namespace lab {

namespace {

/// Numbers of our own. The views go by the names, since the tools' numbers differ.
constexpr const char* kTables = R"(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_NAME', 'torch.profiler'), ('EXPORT_SCHEMA_VERSION', '3.20');
CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (0, 'NvtxPushPopRange'), (1, 'NvtxStartEndRange');
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,
    gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
    correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
    correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,
    nameId INTEGER, returnValue INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, globalTid INTEGER, textId INTEGER, text TEXT);
CREATE TABLE TORCH_OPERATORS (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);
)";

/// What the views call a direction or a kind of memory, and what an nsys export does.
constexpr std::array kDirections{std::pair{Direction::host_to_device, "CUDA_MEMCPY_KIND_HTOD"},
                                 std::pair{Direction::device_to_host, "CUDA_MEMCPY_KIND_DTOH"},
                                 std::pair{Direction::device_to_device, "CUDA_MEMCPY_KIND_DTOD"},
                                 std::pair{Direction::host_to_host, "CUDA_MEMCPY_KIND_HTOH"},
                                 std::pair{Direction::other, "CUDA_MEMCPY_KIND_UNKNOWN"}};
constexpr int64_t kBetweenGpus = std::ssize(kDirections);  ///< the id of a peer copy
constexpr std::array kMemoryKinds{"pageable", "pinned", "device", "array", "managed"};

int64_t direction_id(const Copy& copy) {
    if (copy.between_gpus) return kBetweenGpus;
    const auto at = std::find_if(kDirections.begin(), kDirections.end(),
                                 [&](const auto& each) { return each.first == copy.direction; });
    return at - kDirections.begin();
}

/// One past the last for a kind that the views call "other".
int64_t memory_kind_id(const std::string& kind) {
    return std::find(kMemoryKinds.begin(), kMemoryKinds.end(), kind) - kMemoryKinds.begin();
}

class Tables {
  public:
    Tables(const Database& database, const Trace& trace) : database_(database), trace_(trace) {
        first_ns_ = INT64_MAX;
        const auto look = [&](const auto& records) {
            for (const auto& record : records) first_ns_ = std::min(first_ns_, record.start_ns);
        };
        look(trace.kernels), look(trace.copies), look(trace.api_calls);
        look(trace.ranges), look(trace.operators);
        for (const ApiCall& call : trace.api_calls) process_ = call.process;
    }

    void write() {
        write_enums();
        for (const Gpu& gpu : trace_.gpus) insert("TARGET_INFO_GPU", gpu.device, gpu.name);
        for (const Kernel& k : trace_.kernels) {
            const std::string& full = trace_.full_name_of(k.name);
            static const LaunchSize kUnknown{{0, 0, 0}, {0, 0, 0}};
            const auto& [grid, block] =
                k.size < 0 ? kUnknown : trace_.launch_sizes[static_cast<std::size_t>(k.size)];
            insert("CUPTI_ACTIVITY_KIND_KERNEL", since_first(k.start_ns), since_first(k.end_ns), k.device,
                   int64_t{1}, k.stream, k.correlation, global_process(), text_id(full),
                   text_id(short_kernel_name(full)), grid[0], grid[1], grid[2], block[0], block[1], block[2]);
        }
        for (const Copy& c : trace_.copies) write_copy(c);
        for (const ApiCall& call : trace_.api_calls)
            insert("CUPTI_ACTIVITY_KIND_RUNTIME", since_first(call.start_ns), since_first(call.end_ns),
                   global_thread(call.thread), call.correlation, text_id(trace_.name_of(call.name)),
                   trace_.knows_results ? std::optional(call.result) : std::nullopt);
        for (const Range& range : trace_.ranges)
            insert("NVTX_EVENTS", since_first(range.start_ns), since_first(range.end_ns),
                   int64_t{range.crosses_threads}, global_thread(range.thread), std::optional<int64_t>(),
                   range.name);
        for (const Operator& each : trace_.operators)
            insert("TORCH_OPERATORS", since_first(each.start_ns), since_first(each.end_ns),
                   global_thread(each.thread), text_id(trace_.name_of(each.name)));
    }

  private:
    void write_enums() {
        int64_t id = 0;
        for (const auto& [direction, name] : kDirections) insert("ENUM_CUDA_MEMCPY_OPER", id++, name);
        insert("ENUM_CUDA_MEMCPY_OPER", kBetweenGpus, "CUDA_MEMCPY_KIND_PTOP");
        id = 0;
        for (std::string name : kMemoryKinds) {
            std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c - 'a' + 'A'; });
            insert("ENUM_CUDA_MEM_KIND", id++, "CUDA_MEMOPR_MEMORY_KIND_" + name);
        }
    }

    void write_copy(const Copy& c) {
        if (c.direction == Direction::set)
            insert("CUPTI_ACTIVITY_KIND_MEMSET", since_first(c.start_ns), since_first(c.end_ns), c.device,
                   c.stream, c.correlation, global_process(), std::optional<int64_t>(), c.bytes,
                   memory_kind_id(c.to));
        else
            insert("CUPTI_ACTIVITY_KIND_MEMCPY", since_first(c.start_ns), since_first(c.end_ns), c.device,
                   c.stream, c.correlation, global_process(), c.bytes, direction_id(c),
                   memory_kind_id(c.from), memory_kind_id(c.to));
    }

    [[nodiscard]] int64_t since_first(int64_t ns) const { return ns - first_ns_; }

    /// As nsys packs them: a thread in the low 24 bits, its process above.
    [[nodiscard]] int64_t global_process() const { return (process_ & 0xFFFFFF) << 24; }
    [[nodiscard]] int64_t global_thread(int64_t thread) const {
        return global_process() | (thread & 0xFFFFFF);
    }

    int64_t text_id(const std::string& text) {
        const auto [known, is_new] = id_of_text_.try_emplace(text, std::ssize(id_of_text_));
        if (is_new) insert("StringIds", known->second, text);
        return known->second;
    }

    template <class... Values>
    void insert(const char* table, const Values&... values) {
        auto known = statements_.find(table);
        if (known == statements_.end()) {
            const std::vector<std::string> places(sizeof...(values), "?");
            known = statements_
                        .emplace(table, database_.prepare(fmt::format("INSERT INTO {} VALUES ({})", table,
                                                                      join(places, ", "))))
                        .first;
        }
        known->second.reset();
        int number = 0;
        (known->second.bind(++number, values), ...);
        known->second.next();
    }

    const Database& database_;
    const Trace& trace_;
    int64_t first_ns_ = 0, process_ = 0;
    std::unordered_map<std::string, int64_t> id_of_text_;
    std::unordered_map<std::string, Statement> statements_;  ///< by table
};

}  // namespace

void write_kineto_tables(const Database& database, const Trace& trace) {
    database.execute("BEGIN");
    database.execute(kTables);
    Tables(database, trace).write();
    database.execute("COMMIT");
}

}  // namespace lab
