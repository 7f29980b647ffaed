#include "evidence/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>

#include "core/error.h"
#include "core/text.h"

namespace lab {

namespace {

constexpr const char* kKernelTable = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr const char* kCopyTable = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr const char* kSetTable = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr const char* kGraphTable = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr const char* kApiTable = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr const char* kGlobalPid = "& ~0xFFFFFF";  ///< a globalTid without its thread is the globalPid

/// One column of a view: its name there, and the expression over the table. `needs` is the table's column
/// that the expression cannot do without; where an older schema lacks it, the view shows `otherwise`, or
/// fails if that is null.
struct Column {
    const char* name;
    std::string expression;
    const char* needs;
    const char* otherwise = nullptr;
};

std::string looked_up(const char* column) {
    return fmt::format("(SELECT value FROM main.StringIds s WHERE s.id = t.{})", column);
}

/// An enum's label for a number, without the prefix all its names share. The numbers differ between tools;
/// the names do not.
std::string enum_text(const Database& database, const std::string& table, const char* column,
                      const std::map<std::string, std::string>& word_of) {
    if (!database.has_table(table)) return "NULL";
    std::string expression = fmt::format("CASE t.{}", column);
    Statement rows = database.prepare(fmt::format("SELECT id, name FROM main.{}", table));
    bool any = false;
    while (rows.next()) {
        const auto word = word_of.find(rows.text(1));
        if (word == word_of.end()) continue;
        expression += fmt::format(" WHEN {} THEN '{}'", rows.integer(0), word->second);
        any = true;
    }
    return any ? expression + " ELSE 'other' END" : "NULL";
}

std::string memory_kind(const Database& database, const char* column) {
    return enum_text(database, "ENUM_CUDA_MEM_KIND", column,
                     {{"CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "pageable"},
                      {"CUDA_MEMOPR_MEMORY_KIND_PINNED", "pinned"},
                      {"CUDA_MEMOPR_MEMORY_KIND_DEVICE", "device"},
                      {"CUDA_MEMOPR_MEMORY_KIND_ARRAY", "array"},
                      {"CUDA_MEMOPR_MEMORY_KIND_MANAGED", "managed"},
                      {"CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC", "device"},
                      {"CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", "managed"}});
}

std::string copy_direction(const Database& database) {
    return enum_text(database, "ENUM_CUDA_MEMCPY_OPER", "copyKind",
                     {{"CUDA_MEMCPY_KIND_HTOD", "host to device"},
                      {"CUDA_MEMCPY_KIND_HTOA", "host to device"},
                      {"CUDA_MEMCPY_KIND_UVM_HTOD", "host to device"},
                      {"CUDA_MEMCPY_KIND_DTOH", "device to host"},
                      {"CUDA_MEMCPY_KIND_ATOH", "device to host"},
                      {"CUDA_MEMCPY_KIND_UVM_DTOH", "device to host"},
                      {"CUDA_MEMCPY_KIND_DTOD", "device to device"},
                      {"CUDA_MEMCPY_KIND_ATOA", "device to device"},
                      {"CUDA_MEMCPY_KIND_ATOD", "device to device"},
                      {"CUDA_MEMCPY_KIND_DTOA", "device to device"},
                      {"CUDA_MEMCPY_KIND_PTOP", "device to device"},
                      {"CUDA_MEMCPY_KIND_UVM_DTOD", "device to device"},
                      {"CUDA_MEMCPY_KIND_HTOH", "host to host"}});
}

/// The view over `table`, or one without rows where the export has no such table because nothing of it
/// happened.
void create_view(const Database& database, const char* view, const char* table,
                 const std::vector<Column>& columns, const char* where = "1") {
    const bool present = database.has_table(table);
    const std::vector<std::string> there = present ? database.columns_of(table) : std::vector<std::string>{};
    std::vector<std::string> select;
    for (const Column& column : columns) {
        const bool usable =
            !column.needs || std::find(there.begin(), there.end(), column.needs) != there.end();
        if (present && !usable && !column.otherwise)
            throw Error(
                fmt::format("{}: table {} has no column {}. This version of the export schema is not "
                            "known here; export the report again with a current nsys.",
                            database.path().string(), table, column.needs));
        const std::string expression = !present ? "NULL" : usable ? column.expression : column.otherwise;
        select.push_back(fmt::format("{} AS {}", expression, column.name));
    }
    database.execute(fmt::format("CREATE TEMP VIEW all_{} AS SELECT {} {}", view, join(select, ", "),
                                 present ? fmt::format("FROM main.{} t WHERE {}", table, where) : "WHERE 0"));
}

std::string event_ids(const Database& database, std::initializer_list<const char*> names) {
    std::vector<std::string> ids;
    Statement rows = database.prepare("SELECT id, name FROM main.ENUM_NSYS_EVENT_TYPE");
    while (rows.next())
        if (std::find(names.begin(), names.end(), rows.text(1)) != names.end())
            ids.push_back(std::to_string(rows.integer(0)));  // as a number: the file's text is no SQL
    return ids.empty() ? "-1" : join(ids, ", ");
}

void check_is_cuda_export(const Database& database) {
    const std::string path = database.path().string();
    if (!database.has_table("StringIds") || !database.has_table("META_DATA_EXPORT"))
        throw Error(
            fmt::format("{} is an SQLite file, but no export of nsys (it has no tables StringIds and "
                        "META_DATA_EXPORT). Make one with: nsys export --type sqlite REPORT.nsys-rep",
                        path));
    Statement version =
        database.prepare("SELECT value FROM main.META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'");
    const std::string schema = version.next() ? version.text(0) : "none";
    if (schema.rfind("3.", 0) != 0)
        throw Error(
            fmt::format("{}: export schema {} is not known here (3.x is). Export the report with a "
                        "current nsys.",
                        path, printable(schema)));
    if (!database.has_table(kKernelTable) && !database.has_table(kApiTable))
        throw Error(
            fmt::format("{} holds nothing of CUDA (no tables {} and {}). Record with --trace=cuda,nvtx, "
                        "and make sure that the program reaches the GPU.",
                        path, kKernelTable, kApiTable));
}

void create_base_views(const Database& database) {
    create_view(database, "kernels", kKernelTable,
                {{"start", "t.start", "start"},
                 {"end", "t.end", "end"},
                 {"duration", "t.end - t.start", "end"},
                 {"stream", "t.streamId", "streamId"},
                 {"device", "t.deviceId", "deviceId"},
                 {"context", "t.contextId", "contextId"},
                 {"correlation", "t.correlationId", "correlationId"},
                 {"process", "t.globalPid", "globalPid"},
                 {"name_id", "t.shortName", "shortName"},
                 {"name", looked_up("shortName"), "shortName"},
                 {"full_name", looked_up("demangledName"), "demangledName"},
                 {"grid_x", "t.gridX", "gridX", "NULL"},
                 {"grid_y", "t.gridY", "gridY", "NULL"},
                 {"grid_z", "t.gridZ", "gridZ", "NULL"},
                 {"block_x", "t.blockX", "blockX", "NULL"},
                 {"block_y", "t.blockY", "blockY", "NULL"},
                 {"block_z", "t.blockZ", "blockZ", "NULL"},
                 {"registers", "t.registersPerThread", "registersPerThread", "NULL"},
                 {"static_shared_bytes", "t.staticSharedMemory", "staticSharedMemory", "NULL"},
                 {"dynamic_shared_bytes", "t.dynamicSharedMemory", "dynamicSharedMemory", "NULL"},
                 {"graph_node", "t.graphNodeId", "graphNodeId", "NULL"}});
    create_view(database, "copies", kCopyTable,
                {{"start", "t.start", "start"},
                 {"end", "t.end", "end"},
                 {"duration", "t.end - t.start", "end"},
                 {"stream", "t.streamId", "streamId"},
                 {"device", "t.deviceId", "deviceId"},
                 {"correlation", "t.correlationId", "correlationId"},
                 {"process", "t.globalPid", "globalPid"},
                 {"bytes", "t.bytes", "bytes"},
                 {"direction", copy_direction(database), "copyKind"},
                 {"from_kind", memory_kind(database, "srcKind"), "srcKind"},
                 {"to_kind", memory_kind(database, "dstKind"), "dstKind"},
                 {"graph_node", "t.graphNodeId", "graphNodeId", "NULL"}});
    create_view(database, "sets", kSetTable,
                {{"start", "t.start", "start"},
                 {"end", "t.end", "end"},
                 {"duration", "t.end - t.start", "end"},
                 {"stream", "t.streamId", "streamId"},
                 {"device", "t.deviceId", "deviceId"},
                 {"correlation", "t.correlationId", "correlationId"},
                 {"process", "t.globalPid", "globalPid"},
                 {"bytes", "t.bytes", "bytes"},
                 {"value", "t.value", "value"},
                 {"to_kind", memory_kind(database, "memKind"), "memKind", "NULL"}});
    create_view(database, "graph_runs", kGraphTable,
                {{"start", "t.start", "start"},
                 {"end", "t.end", "end"},
                 {"duration", "t.end - t.start", "end"},
                 {"stream", "t.streamId", "streamId"},
                 {"device", "t.deviceId", "deviceId"},
                 {"correlation", "t.correlationId", "correlationId"},
                 {"process", "t.globalPid", "globalPid"},
                 {"graph", "t.graphId", "graphId", "NULL"}});
    // cudaLaunchKernel_v7000 -> cudaLaunchKernel: the suffix says which version of the entry point was
    // called. So does _ptsz or _ptds in front of it, where each thread has a default stream of its own. A
    // table: there are far fewer names than calls.
    database.execute(
        "CREATE TEMP TABLE call_names (id INTEGER PRIMARY KEY, name TEXT);"
        "INSERT INTO call_names SELECT id, "
        "CASE WHEN v GLOB '*_ptsz' OR v GLOB '*_ptds' THEN substr(v, 1, length(v) - 5) ELSE v END "
        "FROM (SELECT id, CASE WHEN value GLOB '*_v[0-9]*' AND rtrim(value, '0123456789') GLOB '*_v' "
        "THEN substr(value, 1, length(rtrim(value, '0123456789')) - 2) ELSE value END AS v "
        "FROM main.StringIds WHERE value GLOB 'cu*')");
    create_view(database, "api_calls", kApiTable,
                {{"start", "t.start", "start"},
                 {"end", "t.end", "end"},
                 {"duration", "t.end - t.start", "end"},
                 {"process", fmt::format("(t.globalTid {})", kGlobalPid), "globalTid"},
                 {"thread", "t.globalTid", "globalTid"},
                 {"correlation", "t.correlationId", "correlationId"},
                 {"name_id", "t.nameId", "nameId"},
                 {"name",
                  fmt::format("COALESCE((SELECT c.name FROM call_names c WHERE c.id = t.nameId), {})",
                              looked_up("nameId")),
                  "nameId"},
                 {"result", "t.returnValue", "returnValue"}});
}

/// Samples of the GPU's counters. The GPU's number is the low byte of a sample's type.
void create_sample_view(const Database& database) {
    const bool named = database.has_table("TARGET_INFO_GPU_METRICS");
    create_view(database, "gpu_metrics", named ? "GPU_METRICS" : "",
                {{"time", "t.timestamp", "timestamp"},
                 {"device", "(t.typeId & 0xFF)", "typeId"},
                 {"name",
                  "(SELECT m.metricName FROM main.TARGET_INFO_GPU_METRICS m WHERE m.typeId = t.typeId AND "
                  "m.metricId = t.metricId)",
                  "metricId"},
                 {"value", "t.value", "value"}});
}

/// The names of NVTX domains. A table: a look into all events for each range would take far too long.
void create_domain_table(const Database& database) {
    database.execute("CREATE TEMP TABLE domains (process, id, name, PRIMARY KEY (process, id))");
    if (!database.has_table("NVTX_EVENTS")) return;
    const std::vector<std::string> columns = database.columns_of("NVTX_EVENTS");
    if (std::find(columns.begin(), columns.end(), "domainId") == columns.end()) return;
    database.execute(
        fmt::format("INSERT OR IGNORE INTO domains SELECT t.globalTid {}, t.domainId, COALESCE(t.text, {}) "
                    "FROM main.NVTX_EVENTS t WHERE t.eventType IN ({})",
                    kGlobalPid, looked_up("textId"), event_ids(database, {"NvtxDomainCreate"})));
}

void create_range_view(const Database& database) {
    const bool has_nvtx = database.has_table("NVTX_EVENTS");
    if (has_nvtx && !database.has_table("ENUM_NSYS_EVENT_TYPE"))
        throw Error(
            fmt::format("{}: table ENUM_NSYS_EVENT_TYPE is missing, so NVTX ranges cannot be told from "
                        "marks. Export the report again with a current nsys.",
                        database.path().string()));
    const std::string push_pop = has_nvtx ? event_ids(database, {"NvtxPushPopRange"}) : "-1";
    const std::string start_end = has_nvtx ? event_ids(database, {"NvtxStartEndRange"}) : "-1";
    create_view(
        database, "bare_ranges", "NVTX_EVENTS",
        {{"id", "t.rowid", "start"},
         {"start", "t.start", "start"},
         {"end", "t.end", "end"},
         {"duration", "t.end - t.start", "end"},
         {"process", fmt::format("(t.globalTid {})", kGlobalPid), "globalTid"},
         {"thread", "t.globalTid", "globalTid"},
         {"name", fmt::format("COALESCE(t.text, {})", looked_up("textId")), "textId"},
         {"domain",
          fmt::format("COALESCE((SELECT d.name FROM domains d WHERE d.process = t.globalTid {} AND d.id = "
                      "t.domainId), '')",
                      kGlobalPid),
          "domainId", "''"},
         {"crosses_threads", fmt::format("t.eventType IN ({})", start_end), "eventType"}},
        fmt::format("t.eventType IN ({}, {}) AND t.end IS NOT NULL", push_pop, start_end).c_str());
    const char* const work =
        "(SELECT {}(l.{}) FROM temp.launched l WHERE l.process = r.process AND l.called >= r.start AND "
        "l.called < r.end AND (r.crosses_threads OR l.thread = r.thread))";
    database.execute(fmt::format(
        "CREATE TEMP VIEW ranges AS SELECT r.*, {} AS gpu_start, {} AS gpu_end FROM all_bare_ranges r",
        fmt::format(fmt::runtime(work), "MIN", "start"), fmt::format(fmt::runtime(work), "MAX", "end")));
}

/// `kernels` and the others, over everything or, while TEMP table `narrowing` has a row, over the launches
/// listed in TEMP table `narrowed`. Narrowing changes rows and no view, so that prepared queries stay
/// prepared.
void create_front_views(const Database& database) {
    database.execute(
        "CREATE TEMP TABLE narrowing (range TEXT);"
        "CREATE TEMP TABLE narrowed_for (range TEXT);"
        "CREATE TEMP TABLE narrowed (process, correlation, PRIMARY KEY (process, correlation))");
    constexpr const char* kWide = "NOT EXISTS (SELECT 1 FROM narrowing)";
    for (const char* view : {"kernels", "copies", "sets", "graph_runs", "api_calls"})
        database.execute(
            fmt::format("CREATE TEMP VIEW {0} AS SELECT * FROM all_{0} w WHERE {1} OR "
                        "(w.process, w.correlation) IN (SELECT process, correlation FROM narrowed)",
                        view, kWide));
    database.execute(
        fmt::format("CREATE TEMP VIEW gpu_metrics AS SELECT * FROM all_gpu_metrics WHERE {} OR "
                    "time BETWEEN "
                    "(SELECT MIN(start) FROM (SELECT start FROM kernels UNION ALL SELECT start FROM copies)) "
                    "AND (SELECT MAX(end) FROM (SELECT end FROM kernels UNION ALL SELECT end FROM copies))",
                    kWide));
    database.execute(
        "CREATE TEMP VIEW syncs AS SELECT start, end, duration, process, thread, name "
        "FROM api_calls WHERE name IN ('cudaDeviceSynchronize', 'cudaStreamSynchronize', "
        "'cudaEventSynchronize', "
        "'cuCtxSynchronize', 'cuStreamSynchronize', 'cuEventSynchronize', 'cudaThreadSynchronize');"
        "CREATE TEMP VIEW graph_launches AS SELECT start, end, duration, "
        "process, thread, correlation FROM api_calls WHERE name IN ('cudaGraphLaunch', 'cuGraphLaunch');");
}

[[noreturn]] void fail_unknown(const Database& database, const std::string& range) {
    std::vector<std::string> names;
    Statement rows = database.prepare("SELECT DISTINCT name FROM all_bare_ranges ORDER BY start LIMIT 12");
    while (rows.next()) names.push_back("'" + printable(rows.text(0)) + "'");
    throw Error(fmt::format("{} has no NVTX range '{}'; it has {}", database.path().string(),
                            printable(range), names.empty() ? "none at all" : join(names, ", ")));
}

}  // namespace

void create_views(const Database& database) {
    check_is_cuda_export(database);
    create_base_views(database);
    create_sample_view(database);
    create_range_view(database);
    create_domain_table(database);
    create_front_views(database);
}

void project_ranges(const Database& database) {
    database.execute(
        "CREATE TEMP TABLE IF NOT EXISTS calls AS SELECT process, correlation, thread, start FROM "
        "all_api_calls;"
        "CREATE INDEX IF NOT EXISTS temp.calls_by_key ON calls (process, correlation);"
        "CREATE TEMP TABLE IF NOT EXISTS launched AS SELECT c.process, c.thread, c.start AS called, w.start, "
        "w.end "
        "FROM (SELECT process, correlation, start, end FROM all_kernels UNION ALL "
        "SELECT process, correlation, start, end FROM all_copies UNION ALL "
        "SELECT process, correlation, start, end FROM all_sets UNION ALL "
        "SELECT process, correlation, start, end FROM all_graph_runs) w "
        "JOIN calls c ON c.process = w.process AND c.correlation = w.correlation;"
        "CREATE INDEX IF NOT EXISTS temp.launched_by_call ON launched (process, called);");
}

namespace {

/// Lists a range's launches in TEMP table `narrowed`, where they stay for the next question about this range.
void list_launches(const Database& database, const std::string& range) {
    Statement listed = database.prepare("SELECT 1 FROM narrowed_for WHERE range = ?1");
    if (listed.bind(1, range).next()) return;
    database.execute("DELETE FROM temp.narrowed_for; DELETE FROM temp.narrowed");
    Statement fill = database.prepare(
        "INSERT OR IGNORE INTO narrowed SELECT a.process, a.correlation FROM all_bare_ranges r JOIN "
        "all_api_calls a "
        "ON a.process = r.process AND (r.crosses_threads OR a.thread = r.thread) AND a.start >= r.start AND "
        "a.start < r.end WHERE r.name = ?1");
    fill.bind(1, range).next();
    Statement filled = database.prepare("INSERT INTO narrowed_for VALUES (?1)");
    filled.bind(1, range).next();
}

}  // namespace

void narrow_views(const Database& database, const std::string& range) {
    widen_views(database);
    Statement found = database.prepare("SELECT COUNT(*) FROM all_bare_ranges WHERE name = ?1");
    found.bind(1, range).next();
    if (found.integer(0) == 0) fail_unknown(database, range);
    list_launches(database, range);
    Statement narrowed = database.prepare("INSERT INTO narrowing VALUES (?1)");
    narrowed.bind(1, range).next();
}

void widen_views(const Database& database) {
    database.execute("DELETE FROM temp.narrowing");
}

NarrowedViews::NarrowedViews(const Database& database, const std::optional<std::string>& range)
    : database_(database), narrowed_(range.has_value()) {
    if (range) narrow_views(database_, *range);
}

NarrowedViews::~NarrowedViews() {
    try {
        if (narrowed_) widen_views(database_);
    } catch (const Error&) {  // no memory for a few views; the next query will say so
    }
}

std::vector<std::string> capture_problems(const Database& database) {
    std::vector<std::string> problems;
    if (!database.prepare("SELECT 1 FROM all_kernels UNION ALL SELECT 1 FROM all_api_calls LIMIT 1").next())
        problems.push_back("the capture saw no kernel and no CUDA call");
    if (!database.has_table("DIAGNOSTIC_EVENT")) return problems;
    Statement rows =
        database.prepare(fmt::format("SELECT text FROM main.DIAGNOSTIC_EVENT WHERE {}", kSaysLoss));
    while (rows.next()) problems.push_back("nsys says: " + printable(trim(rows.text(0))));
    return problems;
}

}  // namespace lab
