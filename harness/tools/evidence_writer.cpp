#include <fmt/format.h>

#include <algorithm>

#include "core/files.h"
#include "core/text.h"
#include "evidence/kineto_trace.h"
#include "evidence/schema.h"
#include "tools/evidence_writer.h"
#include "tools/kineto_tables.h"

namespace lab {

namespace {

/// Copies a table with its columns' names; their constraints and computed columns stay behind.
void copy_table(const Database& database, const ExportTable& table) {
    const std::vector<std::string> wanted = columns_of(table);
    std::vector<std::string> columns;
    for (const std::string& column : database.columns_of(table.name, "source"))
        if (std::find(wanted.begin(), wanted.end(), column) != wanted.end())
            columns.push_back("\"" + column + "\"");  // "end" is also a word of SQL
    database.execute(fmt::format("CREATE TABLE main.{0} AS SELECT {1} FROM source.{0} WHERE {2}", table.name,
                                 join(columns, ", "), table.where));
}

/// Keeps the strings that kept rows refer to.
void copy_strings(const Database& database) {
    database.execute("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)");
    if (!database.has_table("StringIds", "source")) return;
    for (const auto& [table, column] : {std::pair{"CUPTI_ACTIVITY_KIND_KERNEL", "shortName"},
                                        {"CUPTI_ACTIVITY_KIND_KERNEL", "demangledName"},
                                        {"CUPTI_ACTIVITY_KIND_RUNTIME", "nameId"},
                                        {"NVTX_EVENTS", "textId"},
                                        {"OSRT_API", "nameId"},
                                        {"ThreadNames", "nameId"},
                                        {"CUDA_UM_CPU_PAGE_FAULT_EVENTS", "CpuInstruction"},
                                        {"SAMPLING_CALLCHAINS", "symbol"},
                                        {"SAMPLING_CALLCHAINS", "module"}}) {
        const std::vector<std::string> columns =
            database.has_table(table) ? database.columns_of(table, "main") : std::vector<std::string>{};
        if (std::find(columns.begin(), columns.end(), column) == columns.end()) continue;
        database.execute(
            fmt::format("INSERT OR IGNORE INTO main.StringIds SELECT id, value FROM source.StringIds "
                        "WHERE id IN (SELECT {} FROM main.{})",
                        column, table));
    }
}

/// Keeps the names of the threads that kept rows are about.
void copy_thread_names(const Database& database) {
    std::vector<std::string> threads;
    for (const char* table : {"OSRT_API", "SCHED_EVENTS", "COMPOSITE_EVENTS"})
        if (database.has_table(table)) threads.push_back(fmt::format("SELECT globalTid FROM main.{}", table));
    if (threads.empty() || !database.has_table("ThreadNames", "source")) return;
    database.execute(
        "CREATE TABLE main.ThreadNames AS SELECT nameId, globalTid FROM source.ThreadNames WHERE "
        "globalTid IN (" +
        join(threads, " UNION ") + ")");
}

/// Cuts the modules of call stacks down to their names: their folders are those of this machine.
void drop_folders_of_modules(const Database& database) {
    if (!database.has_table("SAMPLING_CALLCHAINS")) return;
    database.execute(
        fmt::format("UPDATE main.StringIds SET value = {} WHERE id IN (SELECT module FROM "
                    "main.SAMPLING_CALLCHAINS) AND value LIKE '%/%'",
                    kFileName));
}

/// Keeps samples of the wanted GPU metrics, from the first piece of GPU work to the last, of the GPUs that
/// had work: idle ones beside them would be part of every mean. Sampling fills far more rows than a question
/// needs.
void copy_gpu_metrics(const Database& database, const std::vector<std::string>& wanted) {
    for (const char* table : {"GPU_METRICS", "TARGET_INFO_GPU_METRICS"})
        if (wanted.empty() || !database.has_table(table, "source")) return;
    std::vector<std::string> parts;
    for (const char* table : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                              "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"})
        if (database.has_table(table))
            parts.push_back(fmt::format("SELECT start, end, deviceId, globalPid FROM main.{}", table));
    if (parts.empty()) return;
    const std::string work = join(parts, " UNION ALL ");
    const std::string not_idle =
        !database.has_table("TARGET_INFO_CUDA_DEVICE")
            ? ""
            : fmt::format(
                  " AND typeId & 0xFF NOT IN (SELECT gpuId FROM main.TARGET_INFO_CUDA_DEVICE GROUP BY gpuId "
                  "HAVING gpuId IS NOT NULL AND NOT MAX((cudaId, pid) IN (SELECT deviceId, globalPid >> 24 & "
                  "0xFFFFFF FROM ({}))))",
                  work);
    database.execute(
        "CREATE TABLE main.TARGET_INFO_GPU_METRICS (typeId INTEGER, metricId INTEGER, metricName TEXT);"
        "CREATE TABLE main.GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER)");
    for (const std::string& name : wanted) {
        Statement row = database.prepare(
            "INSERT INTO main.TARGET_INFO_GPU_METRICS SELECT typeId, metricId, metricName FROM "
            "source.TARGET_INFO_GPU_METRICS WHERE substr(metricName, 1, length(?1)) = ?1" +
            not_idle);
        row.bind(1, name).next();
    }
    database.execute(fmt::format(
        "INSERT INTO main.GPU_METRICS SELECT timestamp, typeId, metricId, value FROM source.GPU_METRICS "
        "WHERE (typeId, metricId) IN (SELECT typeId, metricId FROM main.TARGET_INFO_GPU_METRICS) AND "
        "timestamp BETWEEN (SELECT MIN(start) FROM ({0})) AND (SELECT MAX(end) FROM ({0}))",
        work));
}

void copy_export(const Database& database, const fs::path& nsys_export,
                 const std::vector<std::string>& gpu_metrics) {
    database.attach_untrusted(nsys_export);
    database.execute("BEGIN");
    for (const ExportTable& table : export_tables())
        if (database.has_table(table.name, "source")) copy_table(database, table);
    copy_thread_names(database);
    copy_strings(database);
    drop_folders_of_modules(database);
    copy_gpu_metrics(database, gpu_metrics);
    database.execute("COMMIT");
    database.execute("DETACH source");
}

/// Rows of a table; 0 if it is not there.
int64_t count_of(const Database& database, const char* table) {
    if (!database.has_table(table)) return 0;
    Statement row = database.prepare(fmt::format("SELECT COUNT(*) FROM main.{}", table));
    return row.next() ? row.integer(0) : 0;
}

/// Adds a row of these values to one of our own tables.
template <class... Values>
void insert(const Database& database, const char* table, const Values&... values) {
    const std::vector<std::string> places(sizeof...(values), "?");
    Statement row = database.prepare(fmt::format("INSERT INTO {} VALUES ({})", table, join(places, ", ")));
    int number = 0;
    (row.bind(++number, values), ...);
    row.next();
}

/// The text of a line of one of the sources; "" if it is not there.
std::string line_of(const std::map<std::string, std::string>& sources, const std::string& name,
                    int64_t number) {
    const auto file = sources.find(name);
    const auto lines = file == sources.end() ? std::vector<std::string>{} : split(file->second, '\n');
    const auto line = static_cast<std::size_t>(number);
    return number > 0 && line <= lines.size() ? trim(lines[line - 1]) : "";
}

/// A report with its frames, and with the text of the line that it blames.
void write_report(const Database& database, const std::string& tool, const SanitizerReport& r, int64_t id,
                  const std::map<std::string, std::string>& sources) {
    insert(database, "SANITIZER_REPORTS", tool, r.kind, r.severity, r.function, r.file, r.line, r.bytes,
           r.count, r.allocation_bytes, r.beyond_bytes, line_of(sources, r.file, r.line),
           shorten(r.text, 4000), id);
    for (int64_t depth = 0; depth < std::ssize(r.frames); ++depth) {
        const SanitizerFrame& f = r.frames[static_cast<std::size_t>(depth)];
        const std::string side = f.on_host ? "host" : "device";
        insert(database, "SANITIZER_FRAMES", id, depth, side, f.function, f.file, f.line, f.module);
    }
}

void write_source_row(const Database& database, const ProfiledLaunch& launch, const SourceRow& row,
                      bool is_instruction) {
    const std::vector<std::string> counts(row.counts.size(), "?");
    Statement insert = database.prepare(fmt::format("INSERT INTO {} VALUES (?, ?, ?, {}?, {}, ?)",
                                                    is_instruction ? "NCU_SASS" : "NCU_SOURCE",
                                                    is_instruction ? "?, " : "", join(counts, ", ")));
    insert.bind(1, launch.launch).bind(2, row.file).bind(3, row.line);
    int number = 3;
    if (is_instruction) insert.bind(++number, row.address);
    insert.bind(++number, shorten(row.text, 400));
    for (const int64_t count : row.counts) insert.bind(++number, count);
    insert.bind(number + 1, row.stalls).next();
}

/// What ncu's pages show of a launch. Numbers are stored as such, so that questions can compare them.
void write_launch(const Database& database, const ProfiledLaunch& l) {
    insert(database, "NCU_LAUNCHES", l.launch, l.kernel, l.grid, l.block);
    for (const SectionMetric& m : l.metrics)
        if (const std::optional<double> number = number_in(m.value))
            insert(database, "NCU_SECTIONS", l.launch, m.section, m.table, m.metric, m.unit, *number);
        else
            insert(database, "NCU_SECTIONS", l.launch, m.section, m.table, m.metric, m.unit, m.value);
    for (const Rule& r : l.rules)
        insert(database, "NCU_RULES", l.launch, r.section, r.name, r.kind, shorten(r.text, 4000),
               r.speedup_kind, r.speedup);
    for (const SourceRow& row : l.lines) write_source_row(database, l, row, false);
    for (const SourceRow& row : l.instructions) write_source_row(database, l, row, true);
}

void write_own_tables(const Database& database, const RunRecord& run) {
    database.execute("BEGIN");
    for (const OwnTable& table : own_tables())
        database.execute(fmt::format("CREATE TABLE {} ({})", table.name, table.columns));
    for (const auto& [key, value] : run.provenance) insert(database, "PROVENANCE", key, value);
    if (run.exit_code) insert(database, "PROGRAM", int64_t{*run.exit_code}, run.out);
    const auto add_tool = [&](const std::string& tool) { insert(database, "TOOLS_RUN", tool); };
    if (run.nsys) {
        const bool is_there = run.nsys->exported.has_value();
        if (is_there) add_tool("nsys");
        for (const auto& [view, table] : kFurtherViews)
            if (count_of(database, table) > 0) add_tool(view);
        insert(database, "NSYS_RUN", run.nsys->options, int64_t{is_there},
               count_of(database, "CUPTI_ACTIVITY_KIND_KERNEL"), run.nsys->said);
    }
    if (run.kineto) add_tool(kTorchProfiler);
    if (!run.ncu.empty()) add_tool("ncu");
    for (const NcuMetric& m : run.ncu)
        insert(database, "NCU_METRICS", m.launch, m.kernel, m.metric, m.unit, m.number());
    if (!run.launches.empty()) add_tool("ncu_details");
    for (const ProfiledLaunch& launch : run.launches) write_launch(database, launch);
    int64_t reports = 0;
    for (const auto& [tool, found] : run.sanitizer) {
        add_tool(tool);
        for (const SanitizerReport& r : found) write_report(database, tool, r, ++reports, run.sources);
    }
    if (run.code) add_tool("cuobjdump");
    for (const KernelCode& k : run.code ? run.code->kernels : std::vector<KernelCode>{}) {
        insert(database, "CODE_RESOURCES", k.kernel, k.registers, k.stack_bytes, k.shared_bytes,
               k.local_bytes);
        for (const auto& [opcode, count] : k.instructions)
            insert(database, "CODE_INSTRUCTIONS", k.kernel, opcode, count);
    }
    if (run.dumps) add_tool("cuda-gdb");
    for (const CoreDump& d : run.dumps.value_or(std::vector<CoreDump>{}))
        insert(database, "CORE_DUMPS", d.exception, d.function, d.file, d.line,
               line_of(run.sources, d.file, d.line), d.grid, d.block[0], d.block[1], d.block[2], d.thread[0],
               d.thread[1], d.thread[2], shorten(d.text, 4000));
    for (const auto& [tool, command, text] : run.outputs)
        insert(database, "TOOL_OUTPUT", tool, command, text);
    for (const OwnTable& table : own_tables())
        if (table.if_used && count_of(database, table.name) == 0)
            database.execute(fmt::format("DROP TABLE {}", table.name));
    database.execute("COMMIT");
}

}  // namespace

void write_evidence(const RunRecord& run, const fs::path& path) {
    const TemporaryFolder scratch;
    const fs::path part = scratch.path() / "evidence.sqlite";
    {
        const Database database = Database::create(part);
        database.execute("PRAGMA page_size = 1024; PRAGMA journal_mode = MEMORY;");
        if (run.nsys && run.nsys->exported) copy_export(database, *run.nsys->exported, run.gpu_metrics);
        if (run.kineto) write_kineto_tables(database, read_kineto_trace(*run.kineto, true));
        write_own_tables(database, run);
        database.execute("VACUUM");
    }
    replace_file(part, path);
}

}  // namespace lab
