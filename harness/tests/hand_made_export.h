// nsys exports made by hand, with the table and column names of schema 3.20: for what no real sample shows.
#pragma once

#include <fmt/format.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/text.h"
#include "evidence/capture.h"

namespace lab {

/// Rows are added to tables that come into being with their first row, as in a real export. Processes and
/// threads are small numbers here; the file holds what nsys makes of them.
class HandMadeExport {
  public:
    struct KernelRow {
        int64_t start, end, correlation;
        int64_t stream = 7, device = 0, process = 1;
        std::string name = "add";
        int64_t grid_x = 2;
        std::string full_name = {};  ///< "": a function of that name
    };
    struct CopyRow {
        int64_t start, end, correlation;
        std::string direction = "HTOD", from = "PINNED", to = "DEVICE";
        int64_t stream = 7, device = 0, process = 1, bytes = 1000;
    };
    struct SetRow {
        int64_t start, end, correlation;
        int64_t stream = 7, device = 0, process = 1, bytes = 1000, value = 0;
    };
    struct GraphRow {
        int64_t start, end, correlation;
        int64_t stream = 7, device = 0, process = 1, graph = 1;
    };
    struct CallRow {
        int64_t start, end, correlation;
        std::string name = "cudaLaunchKernel_v7000";
        int64_t process = 1, thread = 1, result = 0;
    };
    struct RangeRow {
        int64_t start, end;
        std::string name;
        int64_t process = 1, thread = 1, domain = 0;
        bool crosses_threads = false, registered = false;
    };

    struct OsRow {
        int64_t start, end;
        std::string name;
        int64_t process = 1, thread = 1, nesting = 0;
    };
    struct SwitchRow {
        int64_t at;
        bool in;
        std::string state = "Interruptible";
        int64_t process = 1, thread = 1;
    };
    struct SampleRow {
        int64_t at;
        std::vector<std::string> stack;  ///< innermost first; "" is unresolved
        int64_t process = 1, thread = 1, cycles = 1;
        std::string module = "/home/me/program";
    };

    static int64_t global_process(int64_t process) { return (int64_t{1} << 48) + (process << 24); }
    static int64_t global_thread(int64_t process, int64_t thread) { return global_process(process) + thread; }

    /// `shift` moves the numbers of all enums, which differ between tools; their names do not.
    explicit HandMadeExport(fs::path path, int64_t shift = 0)
        : path_(std::move(path)), shift_(shift), database_(Database::create(path_)) {
        execute("PRAGMA synchronous = OFF; BEGIN");
        execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)");
        execute("CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT)");
        execute("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.20.3')");
        make_enum("ENUM_CUDA_MEM_KIND", "CUDA_MEMOPR_MEMORY_KIND_", kKinds);
        make_enum("ENUM_CUDA_MEMCPY_OPER", "CUDA_MEMCPY_KIND_", kDirections);
        make_enum("ENUM_NSYS_EVENT_TYPE", "Nvtx", kEvents);
    }
    ~HandMadeExport() { sqlite3_exec(database_.handle(), "COMMIT", nullptr, nullptr, nullptr); }
    HandMadeExport(const HandMadeExport&) = delete;
    HandMadeExport& operator=(const HandMadeExport&) = delete;

    void execute(const std::string& sql) const { database_.execute(sql); }

    void add(const KernelRow& k) {
        need("CUPTI_ACTIVITY_KIND_KERNEL",
             "start, end, deviceId, contextId, greenContextId, streamId, correlationId, globalPid, "
             "demangledName, "
             "shortName, mangledName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, "
             "staticSharedMemory, dynamicSharedMemory, graphNodeId");
        insert("CUPTI_ACTIVITY_KIND_KERNEL", k.start, k.end, k.device, 1, "NULL", k.stream, k.correlation,
               global_process(k.process),
               text(k.full_name.empty() ? "void " + k.name + "(int *)" : k.full_name), text(k.name),
               text("_Z" + k.name), 16, k.grid_x, 1, 1, 256, 1, 1, 0, 0, "NULL");
    }
    void add(const CopyRow& c) {
        need("CUPTI_ACTIVITY_KIND_MEMCPY",
             "start, end, deviceId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind, "
             "graphNodeId");
        insert("CUPTI_ACTIVITY_KIND_MEMCPY", c.start, c.end, c.device, c.stream, c.correlation,
               global_process(c.process), c.bytes, number_in(kDirections, c.direction),
               number_in(kKinds, c.from), number_in(kKinds, c.to), "NULL");
    }
    void add(const SetRow& s) {
        need("CUPTI_ACTIVITY_KIND_MEMSET",
             "start, end, deviceId, streamId, correlationId, globalPid, value, bytes, memKind");
        insert("CUPTI_ACTIVITY_KIND_MEMSET", s.start, s.end, s.device, s.stream, s.correlation,
               global_process(s.process), s.value, s.bytes, number_in(kKinds, "DEVICE"));
    }
    void add(const GraphRow& g) {
        need("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
             "start, end, deviceId, contextId, streamId, correlationId, globalPid, graphId");
        insert("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", g.start, g.end, g.device, 1, g.stream, g.correlation,
               global_process(g.process), g.graph);
    }
    void add(const CallRow& c) {
        need("CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, globalTid, correlationId, nameId, returnValue");
        insert("CUPTI_ACTIVITY_KIND_RUNTIME", c.start, c.end, global_thread(c.process, c.thread),
               c.correlation, text(c.name), c.result);
    }
    void add(const RangeRow& r) {
        need_nvtx();
        insert("NVTX_EVENTS", r.start, r.end,
               number_in(kEvents, r.crosses_threads ? "StartEndRange" : "PushPopRange"),
               r.registered ? "NULL" : quoted(r.name), global_thread(r.process, r.thread),
               r.registered ? std::to_string(text(r.name)) : "NULL", r.domain);
    }
    void add_domain(int64_t domain, const std::string& name, int64_t process = 1) {
        need_nvtx();
        insert("NVTX_EVENTS", 0, "NULL", number_in(kEvents, "DomainCreate"), quoted(name),
               global_thread(process, 1), "NULL", domain);
    }
    void add_mark(int64_t at, const std::string& name) {
        need_nvtx();
        insert("NVTX_EVENTS", at, "NULL", number_in(kEvents, "Mark"), quoted(name), global_thread(1, 1),
               "NULL", 0);
    }
    /// The name of a category, and a mark in it with a payload. It adds the columns that only such exports
    /// have.
    void add_mark_with_payload(int64_t at, const std::string& name, const std::string& category,
                               double value) {
        need_nvtx();
        for (const char* column : {"category", "doubleValue"})
            execute(fmt::format("ALTER TABLE NVTX_EVENTS ADD COLUMN {}", column));
        insert("NVTX_EVENTS", 0, "NULL", number_in(kEvents, "Category"), quoted(category),
               global_thread(1, 1), "NULL", 0, 5, "NULL");
        insert("NVTX_EVENTS", at, "NULL", number_in(kEvents, "Mark"), quoted(name), global_thread(1, 1),
               "NULL", 0, 5, value);
    }
    void add(const OsRow& c) {
        need("OSRT_API",
             "start, end, eventClass, globalTid, correlationId, nameId, returnValue, nestingLevel, "
             "callchainId");
        insert("OSRT_API", c.start, c.end, 27, global_thread(c.process, c.thread), "NULL", text(c.name), 0,
               c.nesting, 0);
    }
    void add(const SwitchRow& s) {
        if (!made_.contains("SCHED_EVENTS")) make_enum("ENUM_SAMPLING_THREAD_STATE", "", kStates);
        need("SCHED_EVENTS", "start, cpu, isSchedIn, globalTid, threadState, threadBlock");
        insert("SCHED_EVENTS", s.at, 3, s.in ? 1 : 0, global_thread(s.process, s.thread),
               number_in(kStates, s.state), "NULL");
    }
    void add(const SampleRow& s) {
        need("COMPOSITE_EVENTS", "id, start, cpu, threadState, globalTid, cpuCycles");
        need("SAMPLING_CALLCHAINS",
             "id, symbol, module, kernelMode, thumbCode, unresolved, specialEntry, originalIP, unwindMethod, "
             "stackDepth");
        insert("COMPOSITE_EVENTS", ++samples_, s.at, 3, 1, global_thread(s.process, s.thread), s.cycles);
        for (std::size_t depth = 0; depth < s.stack.size(); ++depth)
            insert("SAMPLING_CALLCHAINS", samples_, text(s.stack[depth].empty() ? "0x7f00" : s.stack[depth]),
                   text(s.module), 0, 0, s.stack[depth].empty() ? 1 : 0, 0, 0, 0, depth);
    }
    void add_thread_name(int64_t thread, const std::string& name, int64_t process = 1) {
        need("ThreadNames", "nameId, priority, globalTid");
        insert("ThreadNames", text(name), 0, global_thread(process, thread));
    }
    void add_metric(int64_t at, const std::string& name, int64_t value, int64_t device = 0) {
        need("GPU_METRICS", "rawTimestamp, timestamp, typeId, metricId, value");
        need("TARGET_INFO_GPU_METRICS", "typeId, sourceId, typeName, metricId, metricName");
        const int64_t type = (int64_t{1} << 48) + device, id = text(name);
        insert("GPU_METRICS", at, at, type, id, value);
        if (made_.insert(fmt::format("{} of {}", name, device)).second)
            insert("TARGET_INFO_GPU_METRICS", type, 0, "'GPU'", id, quoted(name));
    }
    void add_diagnostic(const std::string& sentence) {
        need("DIAGNOSTIC_EVENT", "timestamp, source, severity, text");
        insert("DIAGNOSTIC_EVENT", 0, 1, 2, quoted(sentence));
    }

    /// A call and the kernel that it launches, far from each other in time.
    void launch(int64_t call_at, const KernelRow& kernel, int64_t thread = 1) {
        add(CallRow{.start = call_at,
                    .end = call_at + 1,
                    .correlation = kernel.correlation,
                    .process = kernel.process,
                    .thread = thread});
        add(kernel);
    }

  private:
    static constexpr std::array<const char*, 8> kKinds{
        "PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED", "DEVICE_STATIC", "MANAGED_STATIC", "UNKNOWN"};
    static constexpr std::array<const char*, 8> kDirections{"UNKNOWN", "HTOD", "DTOH",     "DTOD",
                                                            "HTOH",    "PTOP", "UVM_HTOD", "UVM_DTOH"};
    static constexpr std::array<const char*, 5> kEvents{"Mark", "PushPopRange", "StartEndRange",
                                                        "DomainCreate", "Category"};
    static constexpr std::array<const char*, 3> kStates{"Unknown", "Running", "Interruptible"};

    static std::string quoted(const std::string& value) {
        std::string sql = "'";
        for (const char c : value) sql += c == '\'' ? std::string("''") : std::string(1, c);
        return sql + "'";
    }

    template <class Names>
    [[nodiscard]] int64_t number_in(const Names& names, const std::string& name) const {
        for (std::size_t i = 0; i < names.size(); ++i)
            if (name == names[i])
                return static_cast<int64_t>((i * 3 + static_cast<std::size_t>(shift_)) % 41);
        throw std::logic_error("no such enum name: " + name);
    }
    template <class Names>
    void make_enum(const std::string& table, const std::string& prefix, const Names& names) {
        execute("CREATE TABLE " + table + " (id INTEGER PRIMARY KEY, name TEXT, label TEXT)");
        for (const char* name : names)
            insert(table, number_in(names, name), quoted(prefix + name), quoted(name));
    }
    void need(const std::string& table, const std::string& columns) {
        if (made_.insert(table).second) execute("CREATE TABLE " + table + " (" + columns + ")");
    }
    void need_nvtx() { need("NVTX_EVENTS", "start, end, eventType, text, globalTid, textId, domainId"); }

    template <class... Cell>
    void insert(const std::string& table, const Cell&... cell) const {
        std::string cells;
        ((cells += fmt::format("{}, ", cell)), ...);
        cells.resize(cells.size() - 2);
        execute("INSERT INTO " + table + " VALUES (" + cells + ")");
    }
    /// The id of a string, which is stored once.
    int64_t text(const std::string& value) const {
        Statement known = database_.prepare("SELECT id FROM StringIds WHERE value = ?1");
        if (known.bind(1, value).next()) return known.integer(0);
        Statement row = database_.prepare("INSERT INTO StringIds (value) VALUES (?1) RETURNING id");
        row.bind(1, value).next();
        return row.integer(0);
    }

    fs::path path_;
    int64_t shift_;
    Database database_;
    std::set<std::string> made_;
    int64_t samples_ = 0;
};

/// The first column of all rows, as text.
inline std::string answer(const Database& database, const std::string& sql) {
    std::vector<std::string> values;
    for (Statement rows = database.prepare(sql); rows.next();) values.push_back(to_text(rows.value(0)));
    return join(values, " ");
}

/// An export that `fill` makes, opened.
struct MadeCapture {
    TemporaryFolder folder;
    Database database;
    Capture capture{database};

    template <class Fill>
    explicit MadeCapture(const Fill& fill, int64_t shift = 0) : database(open(fill, shift)) {}
    [[nodiscard]] std::string answer(const std::string& sql) const { return lab::answer(database, sql); }

  private:
    template <class Fill>
    [[nodiscard]] Database open(const Fill& fill, int64_t shift) const {
        const fs::path path = folder.path() / "export.sqlite";
        {
            HandMadeExport made(path, shift);
            fill(made);
        }
        return Database::open_untrusted(path);
    }
};

/// The export of a trace, but for what nsys numbers by itself.
inline void fill_from(const Trace& trace, HandMadeExport& made) {
    constexpr const char* kWord[] = {"HTOD", "DTOH", "DTOD", "HTOH", "", "UNKNOWN"};
    for (const Kernel& k : trace.kernels)
        made.add(HandMadeExport::KernelRow{k.start_ns, k.end_ns, k.correlation, k.stream, k.device, k.process,
                                           trace.name_of(k.name)});
    for (const Copy& c : trace.copies) {
        if (c.direction == Direction::set)
            made.add(HandMadeExport::SetRow{c.start_ns, c.end_ns, c.correlation, c.stream, c.device,
                                            c.process, c.bytes});
        else
            made.add(HandMadeExport::CopyRow{
                c.start_ns, c.end_ns, c.correlation, kWord[static_cast<int>(c.direction)],
                c.from == "pinned" ? "PINNED" : "DEVICE", "DEVICE", c.stream, c.device, c.process, c.bytes});
    }
    for (const ApiCall& a : trace.api_calls)
        made.add(HandMadeExport::CallRow{a.start_ns, a.end_ns, a.correlation,
                                         trace.name_of(a.name) + "_v7000", a.process, a.thread, a.result});
    for (const Range& r : trace.ranges)
        made.add(HandMadeExport::RangeRow{r.start_ns, r.end_ns, r.name, r.process, r.thread, 0,
                                          r.crosses_threads});
}

}  // namespace lab
