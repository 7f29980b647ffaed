#include "evidence/schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace lab {

const std::vector<ExportTable>& export_tables() {
    // cuKernelGetName and cuGetProcAddress are calls that the CUDA runtime makes on its own behalf, one for
    // each launch and one for each function it loads: in some recordings a third of all rows.
    static const std::vector<ExportTable> tables{
        {"CUPTI_ACTIVITY_KIND_KERNEL",
         "start end deviceId contextId streamId correlationId globalPid demangledName shortName",
         "registersPerThread gridX gridY gridZ blockX blockY blockZ staticSharedMemory dynamicSharedMemory "
         "localMemoryPerThread graphNodeId"},
        {"CUPTI_ACTIVITY_KIND_MEMCPY",
         "start end deviceId streamId correlationId globalPid bytes copyKind srcKind dstKind",
         "contextId srcDeviceId dstDeviceId graphNodeId"},
        {"CUPTI_ACTIVITY_KIND_MEMSET", "start end deviceId streamId correlationId globalPid value bytes",
         "contextId graphNodeId memKind"},
        {"CUPTI_ACTIVITY_KIND_RUNTIME", "start end globalTid correlationId nameId returnValue", "eventClass",
         "nameId NOT IN (SELECT id FROM source.StringIds WHERE value IN ('cuKernelGetName', "
         "'cuGetProcAddress_v2'))"},
        {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "start end",
         "deviceId contextId streamId correlationId globalPid syncType eventId eventSyncId"},
        {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "start end deviceId streamId correlationId globalPid",
         "contextId graphId graphExecId"},
        {"NVTX_EVENTS", "start end eventType globalTid textId text",
         "rangeId category color endGlobalTid domainId"},
        {"DIAGNOSTIC_EVENT", "text", "timestamp source severity globalPid",
         kSaysLoss},  // others name folders
        {"META_DATA_EXPORT", "name value", "",
         "name IN ('EXPORT_PRODUCT_NAME', 'EXPORT_PRODUCT_VERSION', 'EXPORT_SCHEMA_VERSION')"},
        {"ENUM_CUDA_MEM_KIND", "id name", "label"},
        {"ENUM_CUDA_MEMCPY_OPER", "id name", "label"},
        {"ENUM_CUPTI_SYNC_TYPE", "id name", "label"},
        {"ENUM_NSYS_EVENT_TYPE", "id name", "label", "name LIKE 'Nvtx%'"},
        {"ENUM_DIAGNOSTIC_SEVERITY_LEVEL", "id name", "label"},
        {"TARGET_INFO_CUDA_STREAM", "streamId flag", "hwId vmId processId contextId priority"},
        {"TARGET_INFO_GPU", "id name",
         "chipName totalMemory memoryBandwidth clockRate smCount l2CacheSize computeMajor computeMinor"},
    };
    return tables;
}

std::vector<std::string> columns_of(const ExportTable& table) {
    std::vector<std::string> columns = split(table.columns, ' ');
    if (*table.optional) append(columns, split(table.optional, ' '));
    return columns;
}

const std::vector<OwnTable>& own_tables() {
    static const std::vector<OwnTable> tables{
        {"PROVENANCE", "key TEXT PRIMARY KEY, value TEXT NOT NULL"},
        {"PROGRAM", "exit_code INTEGER NOT NULL, stdout TEXT NOT NULL"},
        {"NCU_METRICS", "launch INTEGER, kernel TEXT, metric TEXT, unit TEXT, value REAL"},
        {"SANITIZER_REPORTS",
         "tool TEXT, kind TEXT, severity TEXT, function TEXT, file TEXT, line INTEGER, bytes INTEGER, "
         "count INTEGER, allocation_bytes INTEGER, beyond_bytes INTEGER, source TEXT, text TEXT, "
         "id INTEGER PRIMARY KEY"},
        {"SANITIZER_FRAMES",
         "report INTEGER, depth INTEGER, side TEXT, function TEXT, file TEXT, line INTEGER, module TEXT"},
        {"NSYS_RUN",
         "options TEXT NOT NULL, reports INTEGER NOT NULL, kernels INTEGER NOT NULL, said TEXT NOT NULL"},
        {"TOOLS_RUN", "tool TEXT PRIMARY KEY"},
        {"NCU_LAUNCHES", "launch INTEGER PRIMARY KEY, kernel TEXT, grid TEXT, block TEXT", true},
        {"NCU_SECTIONS", "launch INTEGER, section TEXT, body TEXT, metric TEXT, unit TEXT, value", true},
        {"NCU_RULES",
         "launch INTEGER, section TEXT, rule TEXT, kind TEXT, text TEXT, speedup_kind TEXT, speedup REAL",
         true},
        {"NCU_SOURCE",
         "launch INTEGER, file TEXT, line INTEGER, text TEXT, samples INTEGER, not_issued_samples INTEGER, "
         "instructions INTEGER, thread_instructions INTEGER, sectors INTEGER, ideal_sectors INTEGER, "
         "wavefronts INTEGER, ideal_wavefronts INTEGER, stalls TEXT",
         true},
        {"NCU_SASS",
         "launch INTEGER, file TEXT, line INTEGER, address INTEGER, text TEXT, samples INTEGER, "
         "not_issued_samples INTEGER, instructions INTEGER, thread_instructions INTEGER, sectors INTEGER, "
         "ideal_sectors INTEGER, wavefronts INTEGER, ideal_wavefronts INTEGER, stalls TEXT",
         true},
    };
    return tables;
}

namespace {

/// A globalTid without its thread is the globalPid. GPU metrics carry the GPU's number in the low byte of
/// their type. `all_X` are the rows of view X before it is narrowed.
///
/// cudaLaunchKernel_v7000 becomes cudaLaunchKernel: the suffix says which version of the entry point was
/// called. So does _ptsz or _ptds in front of it, where each thread has a default stream of its own.
///
/// What is looked up for many rows is a table: there are far fewer names and domains than calls and ranges.
constexpr const char* kViews = R"(
CREATE TEMP TABLE call_names (id INTEGER PRIMARY KEY, name TEXT);
INSERT OR IGNORE INTO call_names
SELECT id, CASE WHEN v GLOB '*_ptsz' OR v GLOB '*_ptds' THEN substr(v, 1, length(v) - 5) ELSE v END
FROM (SELECT id, CASE WHEN value GLOB '*_v[0-9]*' AND rtrim(value, '0123456789') GLOB '*_v'
                      THEN substr(value, 1, length(rtrim(value, '0123456789')) - 2) ELSE value END AS v
      FROM StringIds WHERE value GLOB 'cu*');

CREATE TEMP TABLE memory_kinds (id INTEGER PRIMARY KEY, name TEXT);
INSERT OR IGNORE INTO memory_kinds
SELECT id, CASE replace(name, 'CUDA_MEMOPR_MEMORY_KIND_', '')
           WHEN 'PAGEABLE' THEN 'pageable' WHEN 'PINNED' THEN 'pinned' WHEN 'DEVICE' THEN 'device'
           WHEN 'ARRAY' THEN 'array' WHEN 'MANAGED' THEN 'managed' WHEN 'DEVICE_STATIC' THEN 'device'
           WHEN 'MANAGED_STATIC' THEN 'managed' ELSE 'other' END
FROM ENUM_CUDA_MEM_KIND;

CREATE TEMP TABLE copy_directions (id INTEGER PRIMARY KEY, name TEXT);
INSERT OR IGNORE INTO copy_directions
SELECT id, CASE WHEN name GLOB '*_HTO[DA]' THEN 'host to device'
                WHEN name GLOB '*_[DA]TOH' THEN 'device to host'
                WHEN name GLOB '*_[DA]TO[DA]' OR name GLOB '*_PTOP' THEN 'device to device'
                WHEN name GLOB '*_HTOH' THEN 'host to host' ELSE 'other' END
FROM ENUM_CUDA_MEMCPY_OPER;

CREATE TEMP VIEW all_kernels AS
SELECT start, end, end - start AS duration, streamId AS stream, deviceId AS device, contextId AS context,
       CASE WHEN correlationId = 0 AND graphNodeId IS NOT NULL THEN launched_by(globalPid, start)
            ELSE correlationId END AS correlation,
       globalPid AS process, shortName AS name_id,
       (SELECT value FROM StringIds s WHERE s.id = t.shortName) AS name,
       (SELECT value FROM StringIds s WHERE s.id = t.demangledName) AS full_name,
       gridX AS grid_x, gridY AS grid_y, gridZ AS grid_z, blockX AS block_x, blockY AS block_y,
       blockZ AS block_z, registersPerThread AS registers, staticSharedMemory AS static_shared_bytes,
       dynamicSharedMemory AS dynamic_shared_bytes, graphNodeId AS graph_node
FROM CUPTI_ACTIVITY_KIND_KERNEL t;

CREATE TEMP VIEW all_copies AS
SELECT start, end, end - start AS duration, streamId AS stream, deviceId AS device,
       CASE WHEN correlationId = 0 AND graphNodeId IS NOT NULL THEN launched_by(globalPid, start)
            ELSE correlationId END AS correlation,
       globalPid AS process, bytes,
       COALESCE((SELECT name FROM copy_directions d WHERE d.id = t.copyKind), 'other') AS direction,
       COALESCE((SELECT name FROM memory_kinds k WHERE k.id = t.srcKind), 'other') AS from_kind,
       COALESCE((SELECT name FROM memory_kinds k WHERE k.id = t.dstKind), 'other') AS to_kind,
       graphNodeId AS graph_node
FROM CUPTI_ACTIVITY_KIND_MEMCPY t;

CREATE TEMP VIEW all_sets AS
SELECT start, end, end - start AS duration, streamId AS stream, deviceId AS device,
       CASE WHEN correlationId = 0 AND graphNodeId IS NOT NULL THEN launched_by(globalPid, start)
            ELSE correlationId END AS correlation,
       globalPid AS process, bytes, value,
       COALESCE((SELECT name FROM memory_kinds k WHERE k.id = t.memKind), 'other') AS to_kind
FROM CUPTI_ACTIVITY_KIND_MEMSET t;

CREATE TEMP VIEW all_graph_runs AS
SELECT start, end, end - start AS duration, streamId AS stream, deviceId AS device,
       correlationId AS correlation, globalPid AS process, graphId AS graph
FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE;

CREATE TEMP VIEW all_api_calls AS
SELECT start, end, end - start AS duration, globalTid & ~0xFFFFFF AS process, globalTid AS thread,
       correlationId AS correlation, nameId AS name_id,
       COALESCE((SELECT name FROM call_names c WHERE c.id = t.nameId),
                (SELECT value FROM StringIds s WHERE s.id = t.nameId)) AS name,
       returnValue AS result
FROM CUPTI_ACTIVITY_KIND_RUNTIME t;

CREATE TEMP TABLE event_types (id PRIMARY KEY, name TEXT);
INSERT OR IGNORE INTO event_types SELECT id, name FROM ENUM_NSYS_EVENT_TYPE WHERE name LIKE 'Nvtx%';

CREATE TEMP VIEW all_nvtx AS
SELECT t.rowid AS id, start, end, globalTid & ~0xFFFFFF AS process, globalTid AS thread, domainId,
       COALESCE(text, (SELECT value FROM StringIds s WHERE s.id = t.textId)) AS name,
       (SELECT name FROM event_types e WHERE e.id = t.eventType) AS type
FROM NVTX_EVENTS t;

CREATE TEMP TABLE domains (process, id, name, PRIMARY KEY (process, id));
INSERT OR IGNORE INTO domains SELECT process, domainId, name FROM all_nvtx WHERE type = 'NvtxDomainCreate';

CREATE TEMP VIEW all_ranges AS
SELECT id, start, end, end - start AS duration, process, thread, name,
       COALESCE((SELECT name FROM domains d WHERE d.process = n.process AND d.id = n.domainId), '') AS domain,
       type = 'NvtxStartEndRange' AS crosses_threads
FROM all_nvtx n WHERE type IN ('NvtxPushPopRange', 'NvtxStartEndRange') AND end IS NOT NULL;

CREATE TEMP VIEW kernels AS SELECT * FROM all_kernels w WHERE in_range(w.process, w.correlation);
CREATE TEMP VIEW copies AS SELECT * FROM all_copies w WHERE in_range(w.process, w.correlation);
CREATE TEMP VIEW sets AS SELECT * FROM all_sets w WHERE in_range(w.process, w.correlation);
CREATE TEMP VIEW graph_runs AS SELECT * FROM all_graph_runs w WHERE in_range(w.process, w.correlation);
CREATE TEMP VIEW api_calls AS SELECT * FROM all_api_calls w WHERE in_range(w.process, w.correlation);

CREATE TEMP VIEW syncs AS SELECT start, end, duration, process, thread, name FROM api_calls
WHERE name IN ('cudaDeviceSynchronize', 'cudaStreamSynchronize', 'cudaEventSynchronize', 'cuCtxSynchronize',
               'cuStreamSynchronize', 'cuEventSynchronize', 'cudaThreadSynchronize');

CREATE TEMP VIEW graph_launches AS SELECT start, end, duration, process, thread, correlation FROM api_calls
WHERE name IN ('cudaGraphLaunch', 'cuGraphLaunch');

CREATE TEMP VIEW ranges AS
SELECT r.*, range_gpu_start(r.id) AS gpu_start, range_gpu_end(r.id) AS gpu_end FROM all_ranges r;
)";

/// The view has the name of nsys's table but for its case, so it names the table's schema.
constexpr const char* kSampleView = R"(
CREATE TEMP VIEW gpu_metrics AS
SELECT timestamp AS time, typeId & 0xFF AS device,
       (SELECT metricName FROM TARGET_INFO_GPU_METRICS m
        WHERE m.typeId = t.typeId AND m.metricId = t.metricId) AS name, value
FROM main.GPU_METRICS t
WHERE NOT is_narrowed() OR timestamp BETWEEN
    (SELECT MIN(start) FROM (SELECT start FROM kernels UNION ALL SELECT start FROM copies))
    AND (SELECT MAX(end) FROM (SELECT end FROM kernels UNION ALL SELECT end FROM copies))
)";
constexpr const char* kNoSamples =
    "CREATE TEMP VIEW gpu_metrics AS SELECT NULL AS time, NULL AS device, NULL AS name, NULL AS value WHERE "
    "0";

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
    if (!schema.starts_with("3."))
        throw Error(
            fmt::format("{}: export schema {} is not known here (3.x is). Export the report with a "
                        "current nsys.",
                        path, schema));
    const char *const kernels = export_tables()[0].name, *const calls = export_tables()[3].name;
    if (!database.has_table(kernels) && !database.has_table(calls))
        throw Error(
            fmt::format("{} holds nothing of CUDA (no tables {} and {}). Record with --trace=cuda,nvtx, "
                        "and make sure that the program reaches the GPU.",
                        path, kernels, calls));
    if (database.has_table("NVTX_EVENTS") && !database.has_table("ENUM_NSYS_EVENT_TYPE"))
        throw Error(
            fmt::format("{}: table ENUM_NSYS_EVENT_TYPE is missing, so NVTX ranges cannot be told from "
                        "marks. Export the report again with a current nsys.",
                        path));
}

/// The table as it is, or under its name in TEMP: without a row where the file does not have it, and with
/// NULL for columns that only newer schemas have.
void complete_table(const Database& database, const ExportTable& table) {
    std::vector<std::string> all = columns_of(table);
    if (!database.has_table(table.name))
        return database.execute(fmt::format("CREATE TEMP TABLE {} ({})", table.name, join(all, ", ")));
    const std::vector<std::string> there = database.columns_of(table.name);
    const auto is_there = [&](const std::string& column) {
        return std::find(there.begin(), there.end(), column) != there.end();
    };
    for (const std::string& column : split(table.columns, ' '))
        if (!is_there(column))
            throw Error(
                fmt::format("{}: table {} has no column {}. This version of the export schema is not "
                            "known here; export the report again with a current nsys.",
                            database.path().string(), table.name, column));
    if (std::all_of(all.begin(), all.end(), is_there)) return;
    for (std::string& column : all)
        if (!is_there(column)) column = "NULL AS " + column;
    database.execute(
        fmt::format("CREATE TEMP VIEW {0} AS SELECT rowid, {1} FROM main.{0}", table.name, join(all, ", ")));
}

}  // namespace

void create_views(const Database& database) {
    check_is_cuda_export(database);
    for (const ExportTable& table : export_tables()) complete_table(database, table);
    complete_table(database, {"TARGET_INFO_GPU_METRICS", "typeId metricId metricName", ""});
    database.execute(kViews);
    database.execute(database.has_table("GPU_METRICS") ? kSampleView : kNoSamples);
}

void create_output_views(const Database& database) {
    for (const OwnTable& table : own_tables())
        if (!database.has_table(table.name))
            database.execute(fmt::format("CREATE TEMP TABLE {} ({})", table.name, table.columns));
    database.execute(R"(
CREATE TEMP VIEW printed_json AS
SELECT substr(line, 1, instr(line, char(10)) - 1) AS json
FROM (SELECT substr(text, instr(text, char(10) || '{"') + 1) AS line
      FROM (SELECT char(10) || stdout || char(10) AS text FROM PROGRAM)
      WHERE instr(text, char(10) || '{"') > 0);

CREATE TEMP VIEW roofs AS
SELECT *, COALESCE(measured / 1e12, 'not on this GPU') AS tera,
       COALESCE(measured / 1e9, 'not on this GPU') AS giga,
       COALESCE(measured / 1e-6, 'not on this GPU') AS micro
FROM (SELECT json_extract(roof.value, '$.name') AS name, json_extract(roof.value, '$.unit') AS unit,
             json_extract(roof.value, '$.measured') AS measured,
             json_extract(roof.value, '$.theoretical') AS theoretical,
             json_extract(roof.value, '$.work') AS work, json_extract(roof.value, '$.how') AS how,
             json_extract(roof.value, '$.clock_Hz') AS clock
      FROM printed_json, json_each(printed_json.json, '$.roofs') AS roof);
)");
}

std::vector<std::string> capture_problems(const Database& database) {
    std::vector<std::string> problems;
    if (!database.prepare("SELECT 1 FROM all_kernels UNION ALL SELECT 1 FROM all_api_calls LIMIT 1").next())
        problems.push_back("the capture saw no kernel and no CUDA call");
    if (!database.has_table("DIAGNOSTIC_EVENT")) return problems;
    Statement rows = database.prepare(
        fmt::format("SELECT DISTINCT text FROM main.DIAGNOSTIC_EVENT WHERE {} LIMIT 10", kSaysLoss));
    while (rows.next()) problems.push_back("nsys says: " + printable(trim(rows.name(0))));
    return problems;
}

}  // namespace lab
