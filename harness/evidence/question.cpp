#include "evidence/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "core/text.h"
#include "evidence/analysis.h"
#include "evidence/launches.h"
#include "evidence/schema.h"

namespace lab {

namespace {

/// An evidence file without a row, in memory. Each view is a plain table here, with the view's columns: SQL
/// is prepared several times faster on these.
class EmptyEvidence {
  public:
    EmptyEvidence() : database_(Database::create(":memory:")) {
        const Database whole = Database::create(":memory:");
        std::string sql;
        for (const ExportTable& table : export_tables())
            sql += fmt::format("CREATE TABLE {} ({});", table.name, join(columns_of(table), ", "));
        for (const OwnTable& table : own_tables())
            sql += fmt::format("CREATE TABLE {} ({});", table.name, table.columns);
        sql +=
            "CREATE TABLE StringIds (id, value); CREATE TABLE ThreadNames (nameId, globalTid);"
            "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId, metricId, metricName);";
        database_.execute(sql);
        whole.execute(sql + "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.0')");
        const Capture capture(whole);
        create_output_views(whole);
        Statement view = whole.prepare("SELECT name FROM temp.sqlite_schema WHERE type = 'view'");
        while (view.next())
            // A view of the same name as a table, and with its columns, is there already.
            database_.execute(fmt::format("CREATE TABLE IF NOT EXISTS {} ({})", view.text(0),
                                          join(whole.columns_of(view.text(0), "temp"), ", ")));
        sqlite3_set_authorizer(database_.handle(), note_read, this);
    }

    /// The tables and views that a statement reads, in lower case: SQL takes either.
    const std::set<std::string>& read_by(const std::string& sql) {
        read_.clear();
        (void)database_.prepare(sql);
        return read_;
    }

  private:
    static int note_read(void* self, int action, const char* table, const char*, const char*, const char*) {
        if (action != SQLITE_READ || !table) return SQLITE_OK;
        std::string name = table;
        for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        static_cast<EmptyEvidence*>(self)->read_.insert(std::move(name));
        return SQLITE_OK;
    }

    Database database_;
    std::set<std::string> read_;
};

Measured nothing(std::string reason, bool was_run = true) {
    return {std::nullopt, std::move(reason), was_run};
}

/// Which tool that the question is about never looked at the program; "" if all did.
std::string tool_not_run(const Evidence& evidence, const Query& query) {
    if (query.needs.trace && !evidence.has_trace())
        return evidence.captured_nothing() ? "nsys captured nothing of" : "nsys did not run on";
    if (query.needs.counters && !evidence.was_run("ncu")) return "ncu did not run on";
    if (query.needs.details && !evidence.was_run("ncu_details")) return "ncu's sections were not recorded of";
    for (const std::string& view : query.needs.recorded)
        if (!evidence.was_run(view)) return fmt::format("nsys recorded no {} of", view);
    if (query.needs.reports)
        for (const std::string& tool : query.sanitizers)
            if (!evidence.was_run(tool)) return fmt::format("compute-sanitizer's {} did not run on", tool);
    if (query.needs.code && !evidence.was_run("cuobjdump")) return "cuobjdump did not look at";
    if (query.needs.dumps && !evidence.was_run("cuda-gdb")) return "cuda-gdb did not look at";
    if (query.needs.run && !evidence.exit_code()) return "no GPU has run";
    return "";
}

Measured measure_sql(const Evidence& evidence, const Query& query) {
    std::optional<Capture::Narrowed> narrowed;
    if (evidence.has_trace()) narrowed.emplace(evidence.capture(), query.range);
    Statement row = evidence.database().prepare(query.sql);
    if (!row.next() || row.is_null(0)) return nothing("the query has no answer: there was nothing to check");
    const Value value = row.value(0);
    if (const auto* text = std::get_if<std::string>(&value)) return {*text, "", true};
    return {row.number(0), "", true};
}

Measured measure_metric(const Evidence& evidence, const Query& query) {
    const auto value = metric(analyse(evidence.trace(), query.range), query.metric);
    if (!value)
        return nothing(fmt::format("{} is not defined here: there was nothing to check", query.metric));
    return {*value, "", true};
}

}  // namespace

Needs& Needs::operator|=(const Needs& other) {
    trace |= other.trace, nsys |= other.nsys, counters |= other.counters, details |= other.details;
    reports |= other.reports, narrows |= other.narrows, code |= other.code, run |= other.run;
    dumps |= other.dumps;
    recorded.insert(other.recorded.begin(), other.recorded.end());
    return *this;
}

Needs needs_of_sql(const std::string& sql) {
    thread_local EmptyEvidence empty;
    Needs needs;
    for (const std::string& name : empty.read_by(sql)) {
        const auto is_one_of = [&](std::initializer_list<const char*> names) {
            return std::find(names.begin(), names.end(), name) != names.end();
        };
        for (const auto& [view, table] : kFurtherViews)
            if (name == view) needs.recorded.insert(view);
        if (name == "cpu_frames") needs.recorded.insert("cpu_samples");
        needs.narrows |= is_one_of({"kernels", "copies", "sets", "graph_runs", "api_calls", "syncs",
                                    "graph_launches", "gpu_metrics", "os_calls", "cpu_samples", "marks",
                                    "migrations", "cpu_page_faults", "gpu_page_faults"});
        needs.trace |= needs.narrows || !needs.recorded.empty() || name.starts_with("cupti_") ||
                       name.starts_with("cuda_um_") || name.starts_with("target_info_") ||
                       name.starts_with("all_") ||
                       is_one_of({"ranges", "nvtx_events", "operators", "torch_operators"});
        needs.nsys |= needs.trace || name == "nsys_run";
        needs.counters |= name == "ncu_metrics";
        needs.details |= is_one_of({"ncu_launches", "ncu_sections", "ncu_rules", "ncu_source", "ncu_sass"});
        needs.reports |= name.starts_with("sanitizer_");
        needs.code |= name.starts_with("code_");
        needs.dumps |= name == "core_dumps";
        needs.run |= is_one_of({"program", "printed_json", "roofs"});
    }
    return needs;
}

std::string unit_behind_number(const std::string& unit) {
    return unit.empty() || unit == "share" ? "" : " " + unit;
}

std::string Measured::text() const {
    if (!value) return was_run ? "nothing" : "not run";
    if (const auto* number = std::get_if<double>(&*value)) return format_number(*number, 3);
    return printable(std::get<std::string>(*value));
}

namespace {

/// Of a unit that counts: "copy", "launch". "1 times" is a ratio.
std::string singular(const std::string& unit) {
    if (unit.size() < 4 || !unit.ends_with("s") || unit == "times") return unit;
    if (unit.ends_with("ies")) return unit.substr(0, unit.size() - 3) + "y";
    return unit.substr(0, unit.size() - (unit.ends_with("ches") || unit.ends_with("sses") ? 2 : 1));
}

}  // namespace

std::string Measured::text_in(const std::string& unit) const {
    const auto* const number = value ? std::get_if<double>(&*value) : nullptr;
    if (number && unit == "share") return percent(*number);
    const std::string number_text = text();
    return number_text + (value ? unit_behind_number(number_text == "1" ? singular(unit) : unit) : "");
}

Measured measure(const Evidence& evidence, const Query& query) {
    if (const std::string why = tool_not_run(evidence, query); !why.empty())
        return nothing(why + " this program", false);
    if (query.range && !has_range(evidence.trace(), *query.range))
        return nothing(no_such_range(evidence.trace(), *query.range));
    return query.metric.empty() ? measure_sql(evidence, query) : measure_metric(evidence, query);
}

}  // namespace lab
