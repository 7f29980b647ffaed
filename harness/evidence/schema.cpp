#include "evidence/schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace lab {

const std::vector<ExportTable>& export_tables() {
    // cuKernelGetName and cuGetProcAddress are calls that the CUDA runtime makes on its own behalf, one for
    // each launch and one for each function it loads: in some recordings a third of all rows. The others are
    // what NVSHMEM sets its memory up with, some 25,000 times.
    static const std::vector<ExportTable> tables{
        {"CUPTI_ACTIVITY_KIND_KERNEL",
         "start end deviceId contextId streamId correlationId globalPid demangledName shortName",
         "registersPerThread gridX gridY gridZ blockX blockY blockZ staticSharedMemory dynamicSharedMemory "
         "localMemoryPerThread graphNodeId"},
        {"CUPTI_ACTIVITY_KIND_MEMCPY",
         "start end deviceId streamId correlationId globalPid bytes copyKind srcKind dstKind",
         "contextId srcDeviceId dstDeviceId graphNodeId virtualAddress"},
        {"CUPTI_ACTIVITY_KIND_MEMSET", "start end deviceId streamId correlationId globalPid value bytes",
         "contextId graphNodeId memKind"},
        {"CUPTI_ACTIVITY_KIND_RUNTIME", "start end globalTid correlationId nameId returnValue", "eventClass",
         "nameId NOT IN (SELECT id FROM source.StringIds WHERE value IN ('cuKernelGetName', "
         "'cuGetProcAddress_v2', 'cuMemRelease', 'cuMemMap', 'cuMemUnmap', 'cuMemCreate', 'cuMemSetAccess', "
         "'cuMemAddressReserve', 'cuMemAddressFree', 'cuMemGetAllocationGranularity', "
         "'cuMemRetainAllocationHandle', 'cuMemExportToShareableHandle', 'cuMemImportFromShareableHandle', "
         "'cudaThreadExchangeStreamCaptureMode_v10010'))"},
        {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "start end",
         "deviceId contextId streamId correlationId globalPid syncType eventId eventSyncId"},
        {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "start end deviceId streamId correlationId globalPid",
         "contextId graphId graphExecId"},
        {"NVTX_EVENTS", "start end eventType globalTid textId text",
         "rangeId category color endGlobalTid domainId int64Value uint64Value doubleValue int32Value "
         "uint32Value floatValue"},
        {"DIAGNOSTIC_EVENT", "text", "timestamp source severity globalPid",
         kSaysLoss},  // others name folders
        {"META_DATA_EXPORT", "name value", "",
         "name IN ('EXPORT_PRODUCT_NAME', 'EXPORT_PRODUCT_VERSION', 'EXPORT_SCHEMA_VERSION')"},
        {"ENUM_CUDA_MEM_KIND", "id name", "label"},
        {"ENUM_CUDA_MEMCPY_OPER", "id name", "label"},
        {"ENUM_CUPTI_SYNC_TYPE", "id name", "label"},
        {"ENUM_NSYS_EVENT_TYPE", "id name", "label", "name LIKE 'Nvtx%'"},
        {"ENUM_DIAGNOSTIC_SEVERITY_LEVEL", "id name", "label"},
        {"ENUM_SAMPLING_THREAD_STATE", "id name", "label", "1", false},
        {"OSRT_API", "start end globalTid nameId", "returnValue nestingLevel", "1", false},
        {"SCHED_EVENTS", "start cpu isSchedIn globalTid", "threadState", "1", false},
        {"COMPOSITE_EVENTS", "id start globalTid", "cpu cpuCycles", "1", false},
        {"SAMPLING_CALLCHAINS", "id symbol module stackDepth", "unresolved", "stackDepth < 16", false},
        {"CUDA_UM_CPU_PAGE_FAULT_EVENTS", "start globalPid address CpuInstruction", "", "1", false},
        {"CUDA_UM_GPU_PAGE_FAULT_EVENTS", "start end globalPid deviceId address numberOfPageFaults", "", "1",
         false},
        {"TORCH_OPERATORS", "start end globalTid nameId", "", "1", false},  // of torch.profiler, by lab
        {"TARGET_INFO_CUDA_STREAM", "streamId flag", "hwId vmId processId contextId priority"},
        {"TARGET_INFO_CUDA_DEVICE", "gpuId cudaId pid", "", "1", false},
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
        {"TOOL_OUTPUT", "tool TEXT PRIMARY KEY, command TEXT, text TEXT", true},
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
        {"CODE_RESOURCES",
         "kernel TEXT, registers INTEGER, stack_bytes INTEGER, shared_bytes INTEGER, local_bytes INTEGER",
         true},
        {"CODE_INSTRUCTIONS", "kernel TEXT, opcode TEXT, count INTEGER", true},
        {"CORE_DUMPS",
         "exception TEXT, function TEXT, file TEXT, line INTEGER, source TEXT, grid INTEGER, "
         "block_x INTEGER, block_y INTEGER, block_z INTEGER, thread_x INTEGER, thread_y INTEGER, "
         "thread_z INTEGER, text TEXT",
         true},
    };
    return tables;
}

namespace {

/// A globalTid without its thread is the globalPid. GPU metrics carry the GPU's number in the low byte of
/// their type. `all_X` are the rows of view X before it is narrowed. GPU_SAMPLES and FILE_NAME are filled in.
///
/// A sample has counted cycles; a call stack that was taken at a context switch has counted none.
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

CREATE TEMP TABLE copy_directions (id INTEGER PRIMARY KEY, name TEXT, is_peer INTEGER, is_unified INTEGER);
INSERT OR IGNORE INTO copy_directions
SELECT id, CASE WHEN name GLOB '*_HTO[DA]' THEN 'host to device'
                WHEN name GLOB '*_[DA]TOH' THEN 'device to host'
                WHEN name GLOB '*_[DA]TO[DA]' OR name GLOB '*_PTOP' THEN 'device to device'
                WHEN name GLOB '*_HTOH' THEN 'host to host' ELSE 'other' END,
       name GLOB '*_PTOP', name GLOB '*_UVM_*'
FROM ENUM_CUDA_MEMCPY_OPER;

CREATE TEMP VIEW all_kernels AS
SELECT start, end, end - start AS duration, streamId AS stream, deviceId AS device, contextId AS context,
       CASE WHEN correlationId = 0 AND graphNodeId IS NOT NULL THEN launched_by(globalPid, start)
            ELSE correlationId END AS correlation,
       globalPid AS process, COALESCE(demangledName, shortName) AS full_name_id,
       (SELECT CASE INSTR(value, '[abi:') WHEN 0 THEN value ELSE SUBSTR(value, 1, INSTR(value, '[abi:') - 1) END
        FROM StringIds s WHERE s.id = t.shortName) AS name,  -- Numba's names have the types of their arguments there
       (SELECT value FROM StringIds s WHERE s.id = t.demangledName) AS full_name,
       gridX AS grid_x, gridY AS grid_y, gridZ AS grid_z, blockX AS block_x, blockY AS block_y,
       blockZ AS block_z, registersPerThread AS registers, staticSharedMemory AS static_shared_bytes,
       dynamicSharedMemory AS dynamic_shared_bytes, graphNodeId AS graph_node,
       correlationId = 0 AND graphNodeId IS NOT NULL AS in_conditional_node
FROM CUPTI_ACTIVITY_KIND_KERNEL t;

CREATE TEMP VIEW all_copies AS
SELECT start, end, end - start AS duration, streamId AS stream, deviceId AS device,
       CASE WHEN correlationId = 0 AND graphNodeId IS NOT NULL THEN launched_by(globalPid, start)
            ELSE correlationId END AS correlation,
       globalPid AS process, bytes,
       COALESCE((SELECT name FROM copy_directions d WHERE d.id = t.copyKind), 'other') AS direction,
       COALESCE((SELECT name FROM memory_kinds k WHERE k.id = t.srcKind), 'other') AS from_kind,
       COALESCE((SELECT name FROM memory_kinds k WHERE k.id = t.dstKind), 'other') AS to_kind,
       graphNodeId AS graph_node,
       COALESCE((SELECT d.is_peer OR (d.name = 'device to device' AND t.srcDeviceId <> t.dstDeviceId)
                 FROM copy_directions d WHERE d.id = t.copyKind), 0) AS between_gpus
FROM CUPTI_ACTIVITY_KIND_MEMCPY t
WHERE t.copyKind NOT IN (SELECT id FROM copy_directions WHERE is_unified);

CREATE TEMP VIEW all_migrations AS
SELECT start, end, end - start AS duration, deviceId AS device, globalPid AS process, bytes, d.name AS direction,
       virtualAddress AS address
FROM CUPTI_ACTIVITY_KIND_MEMCPY t JOIN copy_directions d ON d.id = t.copyKind AND d.is_unified;

CREATE TEMP VIEW all_cpu_page_faults AS
SELECT start AS time, globalPid AS process, address,
       (SELECT value FROM StringIds s WHERE s.id = t.CpuInstruction) AS function
FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS t;

CREATE TEMP VIEW all_gpu_page_faults AS
SELECT start, end, end - start AS duration, globalPid AS process, deviceId AS device, address,
       numberOfPageFaults AS faults
FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS t;

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
SELECT t.rowid AS id, start, end, globalTid & ~0xFFFFFF AS process, globalTid AS thread, domainId, category,
       COALESCE(text, (SELECT value FROM StringIds s WHERE s.id = t.textId)) AS name,
       (SELECT name FROM event_types e WHERE e.id = t.eventType) AS type,
       COALESCE(int64Value, uint64Value, doubleValue, int32Value, uint32Value, floatValue) AS value
FROM NVTX_EVENTS t;

CREATE TEMP TABLE domains (process, id, name, PRIMARY KEY (process, id));
INSERT OR IGNORE INTO domains SELECT process, domainId, name FROM all_nvtx WHERE type = 'NvtxDomainCreate';

CREATE TEMP TABLE categories (process, domain, id, name, PRIMARY KEY (process, domain, id));
INSERT OR IGNORE INTO categories
SELECT process, domainId, category, name FROM all_nvtx WHERE type = 'NvtxCategory';

CREATE TEMP VIEW named_nvtx AS
SELECT n.*, COALESCE((SELECT name FROM domains d WHERE d.process = n.process AND d.id = n.domainId), '') AS domain,
       (SELECT name FROM categories c
        WHERE c.process = n.process AND c.domain IS n.domainId AND c.id = n.category) AS category_name
FROM all_nvtx n;

CREATE TEMP VIEW all_ranges AS
SELECT id, start, end, end - start AS duration, process, thread, name, domain,
       type = 'NvtxStartEndRange' AS crosses_threads, category_name AS category, value
FROM named_nvtx WHERE type IN ('NvtxPushPopRange', 'NvtxStartEndRange') AND end IS NOT NULL;

CREATE TEMP TABLE thread_names (thread PRIMARY KEY, name TEXT);
INSERT OR IGNORE INTO thread_names
SELECT globalTid, (SELECT value FROM StringIds s WHERE s.id = t.nameId) FROM ThreadNames t;

CREATE TEMP VIEW operators AS
SELECT start, end, end - start AS duration, globalTid & ~0xFFFFFF AS process, globalTid AS thread,
       (SELECT value FROM StringIds s WHERE s.id = t.nameId) AS name
FROM TORCH_OPERATORS t;

CREATE TEMP VIEW all_os_calls AS
SELECT start, end, end - start AS duration, globalTid & ~0xFFFFFF AS process, globalTid AS thread,
       (SELECT name FROM thread_names n WHERE n.thread = t.globalTid) AS thread_name, nameId AS name_id,
       (SELECT value FROM StringIds s WHERE s.id = t.nameId) AS name, returnValue AS result,
       COALESCE(nestingLevel, 0) AS nesting
FROM OSRT_API t WHERE end >= start;

CREATE TEMP VIEW cpu_frames AS
SELECT id AS sample, stackDepth AS depth,
       CASE WHEN unresolved THEN 'unresolved' ELSE (SELECT value FROM StringIds s WHERE s.id = t.symbol) END AS function,
       (SELECT FILE_NAME FROM StringIds s WHERE s.id = t.module) AS module
FROM SAMPLING_CALLCHAINS t;

CREATE TEMP VIEW all_cpu_samples AS
SELECT t.id AS sample, t.start AS time, globalTid & ~0xFFFFFF AS process, globalTid AS thread,
       (SELECT name FROM thread_names n WHERE n.thread = t.globalTid) AS thread_name, cpu,
       COALESCE(f.function, 'unresolved') AS function, COALESCE(f.module, '') AS module
FROM COMPOSITE_EVENTS t LEFT JOIN cpu_frames f ON f.sample = t.id AND f.depth = 0
WHERE cpuCycles <> 0 OR NOT EXISTS (SELECT 1 FROM COMPOSITE_EVENTS WHERE cpuCycles <> 0);

CREATE TEMP VIEW context_switches AS
SELECT start, end, end - start AS duration, process, thread,
       (SELECT name FROM thread_names n WHERE n.thread = i.thread) AS thread_name, cpu, state
FROM (SELECT start, LEAD(start) OVER (PARTITION BY globalTid ORDER BY start) AS end,
             globalTid & ~0xFFFFFF AS process, globalTid AS thread, cpu,
             CASE WHEN isSchedIn THEN 'running'
                  WHEN (SELECT name FROM ENUM_SAMPLING_THREAD_STATE e WHERE e.id = t.threadState) = 'Running'
                  THEN 'ready' ELSE 'blocked' END AS state
      FROM SCHED_EVENTS t) i
WHERE end IS NOT NULL;

CREATE TEMP TABLE metric_names (type, id, name, unit, PRIMARY KEY (type, id));
INSERT OR IGNORE INTO metric_names
SELECT typeId, metricId,
       CASE WHEN bracket THEN substr(metricName, 1, bracket - 1) ELSE metricName END,
       CASE WHEN bracket THEN replace(rtrim(substr(metricName, bracket + 2), ']'), 'Throughput ', '') ELSE '' END
FROM (SELECT *, instr(metricName, ' [') AS bracket FROM TARGET_INFO_GPU_METRICS);

CREATE TEMP TABLE cuda_numbers (gpu PRIMARY KEY, device); -- where all processes have the same number
INSERT INTO cuda_numbers
SELECT gpuId, MIN(cudaId) FROM TARGET_INFO_CUDA_DEVICE GROUP BY gpuId HAVING MIN(cudaId) = MAX(cudaId);

CREATE TEMP VIEW all_gpus AS -- threads: as many as fit on it at once, by the programming guide's compute capabilities
SELECT id, name, smCount AS sms,
       smCount * CASE WHEN computeMajor = 7 AND computeMinor = 5 THEN 1024
                      WHEN computeMajor > 10 OR (computeMajor = 8 AND computeMinor > 0) THEN 1536
                      ELSE 2048 END AS threads
FROM TARGET_INFO_GPU;

CREATE TEMP VIEW all_gpu_metrics AS
SELECT timestamp AS time, COALESCE(c.device, typeId & 0xFF) AS device, metricId AS metric, m.name, m.unit, value
FROM GPU_SAMPLES t LEFT JOIN metric_names m ON m.type = t.typeId AND m.id = t.metricId
LEFT JOIN cuda_numbers c ON c.gpu = typeId & 0xFF;

CREATE TEMP VIEW kernels AS SELECT * FROM all_kernels w WHERE in_range(w.process, w.correlation);
CREATE TEMP VIEW copies AS SELECT * FROM all_copies w WHERE in_range(w.process, w.correlation);
CREATE TEMP VIEW sets AS SELECT * FROM all_sets w WHERE in_range(w.process, w.correlation);
CREATE TEMP VIEW graph_runs AS SELECT * FROM all_graph_runs w WHERE in_range(w.process, w.correlation);
CREATE TEMP VIEW api_calls AS SELECT * FROM all_api_calls w WHERE in_range(w.process, w.correlation);

CREATE TEMP VIEW os_calls AS
SELECT start, end, duration, process, thread, thread_name, name, result, nesting FROM all_os_calls
WHERE in_host_range(start);
CREATE TEMP VIEW migrations AS SELECT * FROM all_migrations WHERE in_host_range(start);
CREATE TEMP VIEW cpu_page_faults AS SELECT * FROM all_cpu_page_faults WHERE in_host_range(time);
CREATE TEMP VIEW gpu_page_faults AS SELECT * FROM all_gpu_page_faults WHERE in_host_range(start);
CREATE TEMP VIEW cpu_samples AS SELECT * FROM all_cpu_samples WHERE in_host_range(time);
CREATE TEMP VIEW marks AS
SELECT start AS time, process, thread, name, domain, category_name AS category, value FROM named_nvtx
WHERE type = 'NvtxMark' AND in_host_range(start);
CREATE TEMP VIEW gpu_metrics AS
SELECT time, device, name, unit, value FROM all_gpu_metrics WHERE in_gpu_range(time);

CREATE TEMP VIEW syncs AS SELECT start, end, duration, process, thread, name FROM api_calls
WHERE name IN ('cudaDeviceSynchronize', 'cudaStreamSynchronize', 'cudaEventSynchronize', 'cuCtxSynchronize',
               'cuStreamSynchronize', 'cuEventSynchronize', 'cudaThreadSynchronize');

CREATE TEMP VIEW graph_launches AS SELECT start, end, duration, process, thread, correlation FROM api_calls
WHERE name IN ('cudaGraphLaunch', 'cuGraphLaunch');

CREATE TEMP VIEW ranges AS
SELECT r.*, range_gpu_start(r.id) AS gpu_start, range_gpu_end(r.id) AS gpu_end FROM all_ranges r;
)";

void check_is_cuda_export(const Database& database) {
    const std::string path = database.path().string();
    std::vector<std::string> missing;
    for (const char* table : {"StringIds", "META_DATA_EXPORT"})
        if (!database.has_table(table)) missing.emplace_back(table);
    if (!missing.empty())
        throw Error(
            fmt::format("{} is an SQLite file, but no export of nsys (it has no table {}). Make one with: "
                        "nsys export --type sqlite REPORT.nsys-rep",
                        path, join(missing, " and no table ")));
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
    const std::vector<std::string> there =
        database.has_table(table.name) ? database.columns_of(table.name) : std::vector<std::string>{};
    const auto is_there = [&](const std::string& column) {
        return std::find(there.begin(), there.end(), column) != there.end();
    };
    const std::vector<std::string> required = split(table.columns, ' ');
    const bool whole = std::all_of(required.begin(), required.end(), is_there);
    if (there.empty() || (!whole && !table.is_needed))
        return database.execute(fmt::format("CREATE TEMP TABLE {} ({})", table.name, join(all, ", ")));
    for (const std::string& column : required)
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

/// nsys's table of GPU metrics. The view has its name but for the case, so this names its schema.
const char* samples_of(const Database& database) {
    const std::vector<std::string> there =
        database.has_table("GPU_METRICS") ? database.columns_of("GPU_METRICS") : std::vector<std::string>{};
    for (const char* column : {"timestamp", "typeId", "metricId", "value"})
        if (std::find(there.begin(), there.end(), column) == there.end())
            return "(SELECT NULL AS timestamp, NULL AS typeId, NULL AS metricId, NULL AS value WHERE 0)";
    return "main.GPU_METRICS";
}

}  // namespace

void create_views(const Database& database) {
    check_is_cuda_export(database);
    for (const ExportTable& table : export_tables()) complete_table(database, table);
    complete_table(database, {"ThreadNames", "nameId globalTid", "", "1", false});
    complete_table(database, {"TARGET_INFO_GPU_METRICS", "typeId metricId metricName", "", "1", false});
    std::string views = kViews;
    for (const auto& [hole, text] :
         {std::pair{"GPU_SAMPLES", samples_of(database)}, {"FILE_NAME", kFileName}})
        views.replace(views.find(hole), std::string_view(hole).size(), text);
    database.execute(views);
}

void create_output_views(const Database& database) {
    for (const OwnTable& table : own_tables())
        if (!database.has_table(table.name))
            database.execute(fmt::format("CREATE TEMP TABLE {} ({})", table.name, table.columns));
    // Of a report with several kernels, ncu 2025.3 may list a line's instructions twice, and some evidence
    // has both.
    if (database.has_table("NCU_SASS"))
        database.execute(
            "CREATE TEMP VIEW NCU_SASS AS SELECT MIN(rowid) AS rowid, * FROM main.NCU_SASS "
            "GROUP BY launch, file, line, address");
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
