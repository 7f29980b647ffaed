#include <fmt/format.h>

#include <algorithm>

#include "core/files.h"
#include "core/text.h"
#include "evidence/schema.h"
#include "tools/evidence_writer.h"

namespace lab {

namespace {

/// A name as an SQL identifier, whatever it holds.
std::string quoted(const std::string& name) {
    std::string identifier = "\"";
    for (const char c : name) identifier += c == '"' ? std::string("\"\"") : std::string(1, c);
    return identifier + "\"";
}

bool source_has(const Database& database, const std::string& table, const std::string& column) {
    if (!database.has_table(table, "source")) return false;
    const std::vector<std::string> columns = database.columns_of(table, "source");
    return std::find(columns.begin(), columns.end(), column) != columns.end();
}

/// Copies a table with its columns' names and plain types; their constraints and computed columns stay
/// behind.
void copy_table(const Database& database, const ExportTable& table) {
    const std::vector<std::string> wanted = columns_of(table);
    std::vector<std::string> columns, definitions;
    Statement row = database.prepare("SELECT name, type FROM pragma_table_info(?1, 'source')");
    row.bind(1, table.name);
    while (row.next()) {
        if (std::find(wanted.begin(), wanted.end(), row.text(0)) == wanted.end()) continue;
        const std::string type = row.text(1);
        const bool plain = type == "INTEGER" || type == "REAL" || type == "TEXT";
        columns.push_back(quoted(row.text(0)));
        definitions.push_back(columns.back() + (plain ? " " + type : ""));
    }
    database.execute(
        fmt::format("CREATE TABLE main.{0} ({1}); INSERT INTO main.{0} SELECT {2} FROM source.{0} WHERE {3}",
                    table.name, join(definitions, ", "), join(columns, ", "), table.where));
}

/// Keeps the strings that kept rows refer to.
void copy_strings(const Database& database) {
    constexpr std::pair<const char*, const char*> kReferences[] = {
        {"CUPTI_ACTIVITY_KIND_KERNEL", "shortName"},
        {"CUPTI_ACTIVITY_KIND_KERNEL", "demangledName"},
        {"CUPTI_ACTIVITY_KIND_RUNTIME", "nameId"},
        {"NVTX_EVENTS", "textId"},
    };
    std::vector<std::string> used{"SELECT NULL"};
    for (const auto& [table, column] : kReferences)
        if (source_has(database, table, column))
            used.push_back(fmt::format("SELECT {} FROM main.{}", column, table));
    database.execute("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)");
    if (database.has_table("StringIds", "source"))
        database.execute(
            fmt::format("INSERT INTO main.StringIds SELECT id, value FROM source.StringIds WHERE id IN ({})",
                        join(used, " UNION ")));
}

/// Keeps samples of the wanted GPU metrics, from the first kernel to the last. Sampling fills far more rows
/// than a question needs.
void copy_gpu_metrics(const Database& database, const std::vector<std::string>& wanted) {
    if (wanted.empty() || !database.has_table("GPU_METRICS", "source") ||
        !database.has_table("TARGET_INFO_GPU_METRICS", "source") ||
        !database.has_table("CUPTI_ACTIVITY_KIND_KERNEL", "source"))
        return;
    database.execute(
        "CREATE TABLE main.TARGET_INFO_GPU_METRICS (typeId INTEGER, metricId INTEGER, metricName TEXT);"
        "CREATE TABLE main.GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER)");
    for (const std::string& name : wanted) {
        Statement row = database.prepare(
            "INSERT INTO main.TARGET_INFO_GPU_METRICS SELECT typeId, metricId, metricName FROM "
            "source.TARGET_INFO_GPU_METRICS WHERE substr(metricName, 1, length(?1)) = ?1");
        row.bind(1, name).next();
    }
    database.execute(
        "INSERT INTO main.GPU_METRICS SELECT timestamp, typeId, metricId, value FROM source.GPU_METRICS "
        "WHERE (typeId, metricId) IN (SELECT typeId, metricId FROM main.TARGET_INFO_GPU_METRICS) "
        "AND timestamp BETWEEN (SELECT MIN(start) FROM source.CUPTI_ACTIVITY_KIND_KERNEL) "
        "AND (SELECT MAX(end) FROM source.CUPTI_ACTIVITY_KIND_KERNEL)");
}

void copy_export(const Database& database, const fs::path& nsys_export,
                 const std::vector<std::string>& gpu_metrics) {
    database.attach_untrusted(nsys_export);
    database.execute("BEGIN");
    for (const ExportTable& table : export_tables())
        if (database.has_table(table.name, "source")) copy_table(database, table);
    copy_strings(database);
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

/// A report with its frames, and with the text of the line that it blames.
void write_report(const Database& database, const std::string& tool, const SanitizerReport& r, int64_t id,
                  const std::map<std::string, std::string>& sources) {
    const auto file = sources.find(r.file);
    const auto lines = file == sources.end() ? std::vector<std::string>{} : split(file->second, '\n');
    const auto line = static_cast<std::size_t>(r.line);
    const std::string source = line > 0 && line <= lines.size() ? trim(lines[line - 1]) : "";
    Statement row = database.prepare(
        "INSERT INTO SANITIZER_REPORTS VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)");
    row.bind(1, tool).bind(2, r.kind).bind(3, r.severity).bind(4, r.function).bind(5, r.file);
    row.bind(6, r.line).bind(7, r.bytes).bind(8, r.count).bind(9, r.allocation_bytes);
    row.bind(10, r.beyond_bytes).bind(11, source).bind(12, shorten(r.text, 4000)).bind(13, id).next();
    for (std::size_t depth = 0; depth < r.frames.size(); ++depth) {
        const SanitizerFrame& f = r.frames[depth];
        Statement frame =
            database.prepare("INSERT INTO SANITIZER_FRAMES VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
        frame.bind(1, id).bind(2, static_cast<int64_t>(depth)).bind(3, f.on_host ? "host" : "device");
        frame.bind(4, f.function).bind(5, f.file).bind(6, f.line).bind(7, f.module).next();
    }
}

void write_own_tables(const Database& database, const RunRecord& run) {
    database.execute("BEGIN");
    for (const OwnTable& table : own_tables())
        database.execute(fmt::format("CREATE TABLE {} ({})", table.name, table.columns));
    for (const auto& [key, value] : run.provenance) {
        Statement row = database.prepare("INSERT INTO PROVENANCE VALUES (?1, ?2)");
        row.bind(1, key).bind(2, value).next();
    }
    if (run.exit_code) {
        Statement program = database.prepare("INSERT INTO PROGRAM VALUES (?1, ?2)");
        program.bind(1, int64_t{*run.exit_code}).bind(2, run.out).next();
    }
    const auto ran = [&](const std::string& tool) {
        Statement row = database.prepare("INSERT INTO TOOLS_RUN VALUES (?1)");
        row.bind(1, tool).next();
    };
    if (run.nsys) {
        if (run.nsys->exported) ran("nsys");
        if (count_of(database, "GPU_METRICS") > 0) ran("gpu_metrics");
        Statement row = database.prepare("INSERT INTO NSYS_RUN VALUES (?1, ?2, ?3, ?4)");
        row.bind(1, run.nsys->options).bind(2, int64_t{run.nsys->exported.has_value()});
        row.bind(3, count_of(database, "CUPTI_ACTIVITY_KIND_KERNEL")).bind(4, run.nsys->said).next();
    }
    if (!run.ncu.empty()) ran("ncu");
    for (const NcuMetric& m : run.ncu) {
        Statement row = database.prepare("INSERT INTO NCU_METRICS VALUES (?1, ?2, ?3, ?4, ?5)");
        row.bind(1, m.launch).bind(2, m.kernel).bind(3, m.metric).bind(4, m.unit);
        if (const auto number = m.number()) row.bind(5, *number);  // NULL else
        row.next();
    }
    int64_t reports = 0;
    for (const auto& [tool, found] : run.sanitizer) {
        ran(tool);
        for (const SanitizerReport& r : found) {
            write_report(database, tool, r, ++reports, run.sources);
        }
    }
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
        write_own_tables(database, run);
        database.execute("VACUUM");
    }
    replace_file(part, path);
}

}  // namespace lab
