#include "fuzz/made_database.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/text.h"
#include "evidence/database.h"

namespace lab::fuzz {

namespace {

/// What a column holds in a real export.
enum class Holds { time, small, process, thread, string_id, text, kind, schema_version };

struct ColumnOf {
    const char* name;
    Holds holds;
};
struct TableOf {
    const char* name;
    std::vector<ColumnOf> columns;
};

const std::vector<TableOf>& tables() {
    using enum Holds;
    static const std::vector<TableOf> all = {
        {"CUPTI_ACTIVITY_KIND_KERNEL",
         {{"start", time},
          {"end", time},
          {"deviceId", small},
          {"contextId", small},
          {"streamId", small},
          {"correlationId", small},
          {"globalPid", process},
          {"demangledName", string_id},
          {"shortName", string_id},
          {"gridX", small},
          {"gridY", small},
          {"gridZ", small},
          {"blockX", small},
          {"blockY", small},
          {"blockZ", small},
          {"graphNodeId", small},
          {"mangledName", string_id}}},
        {"CUPTI_ACTIVITY_KIND_RUNTIME",
         {{"start", time},
          {"end", time},
          {"globalTid", thread},
          {"correlationId", small},
          {"nameId", string_id},
          {"returnValue", small}}},
        {"NVTX_EVENTS",
         {{"start", time},
          {"end", time},
          {"eventType", kind},
          {"text", text},
          {"globalTid", thread},
          {"textId", string_id},
          {"domainId", small}}},
        {"CUPTI_ACTIVITY_KIND_MEMCPY",
         {{"start", time},
          {"end", time},
          {"deviceId", small},
          {"streamId", small},
          {"correlationId", small},
          {"globalPid", process},
          {"bytes", time},
          {"copyKind", kind},
          {"srcKind", kind},
          {"dstKind", kind}}},
        {"CUPTI_ACTIVITY_KIND_MEMSET",
         {{"start", time},
          {"end", time},
          {"deviceId", small},
          {"streamId", small},
          {"correlationId", small},
          {"globalPid", process},
          {"bytes", time},
          {"value", small},
          {"memKind", kind}}},
        {"GPU_METRICS", {{"timestamp", time}, {"typeId", small}, {"metricId", small}, {"value", small}}},
        {"TARGET_INFO_GPU_METRICS", {{"typeId", small}, {"metricId", small}, {"metricName", text}}},
        {"DIAGNOSTIC_EVENT", {{"timestamp", time}, {"severity", small}, {"text", text}}},
        {"TARGET_INFO_GPU", {{"id", small}, {"name", text}, {"uuid", text}, {"busLocation", text}}},
        {"CUDA_GRAPH_NODE_EVENTS",
         {{"start", time}, {"end", time}, {"nameId", string_id}, {"graphNodeId", small}}},
        {"ENUM_NSYS_EVENT_TYPE", {{"id", kind}, {"name", text}}},
        {"ENUM_CUDA_MEM_KIND", {{"id", kind}, {"name", text}}},
        {"ENUM_CUDA_MEMCPY_OPER", {{"id", kind}, {"name", text}}},
        {"StringIds", {{"id", string_id}, {"value", text}}},
        {"META_DATA_EXPORT", {{"name", text}, {"value", schema_version}}},
        {"PROVENANCE", {{"key", text}, {"value", text}}},
        {"TOOLS_RUN", {{"tool", text}}},
        {"NSYS_RUN", {{"options", text}, {"reports", small}, {"kernels", small}, {"said", text}}},
        {"PROGRAM", {{"exit_code", small}, {"stdout", text}}},
    };
    return all;
}

/// Words by which the reader decides something, and words that are hard to print.
constexpr std::array<std::string_view, 32> kWords{"cudaLaunchKernel_v7000",
                                                  "cudaMemcpyAsync_ptsz_v3020",
                                                  "cudaStreamSynchronize",
                                                  "cudaGraphLaunch_v10000",
                                                  "add",
                                                  "work",
                                                  "NvtxPushPopRange",
                                                  "NvtxStartEndRange",
                                                  "NvtxDomainCreate",
                                                  "NvtxMark",
                                                  "CUDA_MEMOPR_MEMORY_KIND_PINNED",
                                                  "CUDA_MEMOPR_MEMORY_KIND_DEVICE",
                                                  "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE",
                                                  "CUDA_MEMCPY_KIND_HTOD",
                                                  "CUDA_MEMCPY_KIND_DTOH",
                                                  "CUDA_MEMCPY_KIND_DTOD",
                                                  "EXPORT_SCHEMA_VERSION",
                                                  "3.20.3",
                                                  "nsys",
                                                  "gpu_metrics",
                                                  "Tensor Active [Throughput %]",
                                                  "10 events were dropped",
                                                  "a\nb\x1b[31m",
                                                  "\xff\xfe\x80",
                                                  "",
                                                  "_v",
                                                  "_v1",
                                                  "_ptsz",
                                                  "'; DROP TABLE StringIds; --",
                                                  "gpu",
                                                  "memcheck",
                                                  "%s%n"};

class Maker {
  public:
    Maker(std::string_view bytes, const std::filesystem::path& path)
        : bytes_(bytes), database_(Database::create(path)) {}

    void make() {
        database_.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
        make_tables();
        fill_what_every_export_has();
        for (int rows = 0; rows < 200 && !bytes_.empty(); ++rows) add_row();
        database_.execute("COMMIT");
    }

  private:
    struct Made {
        const TableOf* table;
        std::vector<ColumnOf> columns;
        Statement insert;
    };

    uint8_t byte() {
        if (bytes_.empty()) return 0;
        const auto first = static_cast<uint8_t>(bytes_.front());
        bytes_.remove_prefix(1);
        return first;
    }

    /// Leaves out the tables and columns that the bytes name; most bytes name none.
    void make_tables() {
        const uint8_t without_table = byte(), without_column = byte(), oddity = byte();
        for (std::size_t i = 0; i < tables().size(); ++i) {
            const TableOf& table = tables()[i];
            const bool own = i >= 15;  // an export has none of ours; evidence has
            if (without_table == i + 200 || (own && without_table < 128)) continue;
            std::vector<ColumnOf> columns;
            std::vector<std::string> names, places;
            for (std::size_t c = 0; c < table.columns.size(); ++c) {
                if (without_column == 100 + (i * 7 + c) % 150) continue;
                columns.push_back(table.columns[c]);
                names.emplace_back(std::string("\"") + table.columns[c].name + '"');
                places.push_back("?" + std::to_string(places.size() + 1));
            }
            if (columns.empty()) continue;
            const bool posing = oddity == 200 + i;
            const std::string list = join(names, ", ");
            database_.execute("CREATE TABLE " + std::string(table.name) + (posing ? "_" : "") + " (" + list +
                              (oddity == 100 + i ? ", PRIMARY KEY (" + names[0] + ")) WITHOUT ROWID" : ")"));
            if (posing)
                database_.execute("CREATE VIEW " + std::string(table.name) + " AS SELECT * FROM " +
                                  table.name + "_");
            made_.push_back(
                {&table, columns,
                 database_.prepare("INSERT OR IGNORE INTO " + std::string(table.name) + (posing ? "_" : "") +
                                   " VALUES (" + join(places, ", ") + ")")});
        }
    }

    /// Strings and enums, without which a reader refuses everything; the bytes may add to them.
    void fill_what_every_export_has() {
        for (std::size_t i = 0; i < kWords.size(); ++i) {
            insert_if_made("StringIds", static_cast<int64_t>(i), kWords[i]);
            if (i >= 6 && i < 10) insert_if_made("ENUM_NSYS_EVENT_TYPE", static_cast<int64_t>(i), kWords[i]);
            if (i >= 10 && i < 13) insert_if_made("ENUM_CUDA_MEM_KIND", static_cast<int64_t>(i), kWords[i]);
            if (i >= 13 && i < 16)
                insert_if_made("ENUM_CUDA_MEMCPY_OPER", static_cast<int64_t>(i), kWords[i]);
        }
        for (Made& made : made_)
            if (std::string_view(made.table->name) == "META_DATA_EXPORT" && made.columns.size() == 2)
                made.insert.bind(1, kWords[16]).bind(2, kWords[17]).next(), made.insert.reset();
        for (Made& made : made_)
            if (std::string_view(made.table->name) == "TOOLS_RUN" && made.columns.size() == 1)
                made.insert.bind(1, kWords[18]).next(), made.insert.reset();
    }

    void insert_if_made(std::string_view table, int64_t id, std::string_view value) {
        for (Made& made : made_) {
            if (table != made.table->name || made.columns.size() != 2) continue;
            made.insert.bind(1, id).bind(2, value).next();
            made.insert.reset();
        }
    }

    void add_row() {
        if (made_.empty()) return;
        // Kernels, calls and ranges come most often.
        const uint8_t which = byte();
        Made& made =
            made_[which < 192 ? which % std::min<std::size_t>(4, made_.size()) : which % made_.size()];
        for (std::size_t c = 0; c < made.columns.size(); ++c)
            bind(made.insert, static_cast<int>(c) + 1, made.columns[c].holds, byte());
        made.insert.next();
        made.insert.reset();
    }

    void bind(Statement& row, int parameter, Holds holds, uint8_t b) {
        constexpr std::array<int64_t, 8> kExtremes{
            INT64_MAX,        INT64_MIN,        INT64_MAX / 2, -1,
            int64_t{1} << 62, int64_t{1} << 53, INT64_MIN + 1, INT32_MIN};
        if (b >= 248) return (void)row.bind(parameter, kExtremes[b - 248]);
        if (b >= 245) return (void)row.bind(parameter, kWords[byte() % kWords.size()]);
        if (b >= 242) return (void)row.bind(parameter, b == 242 ? 1e300 : b == 243 ? -0.5 : 1e15);
        if (b >= 239) return (void)row.bind_null(parameter);
        switch (holds) {
            case Holds::time:
                return (void)row.bind(parameter, clock_ += b);
            case Holds::small:
                return (void)row.bind(parameter, int64_t{b} % 12);
            case Holds::process:
                return (void)row.bind(parameter, kProcess + (int64_t{b} % 2 << 24));
            case Holds::thread:
                return (void)row.bind(parameter, kProcess + (int64_t{b} % 2 << 24) + b / 2 % 3);
            case Holds::string_id:
            case Holds::kind:
                return (void)row.bind(parameter, int64_t{b} % 34);
            case Holds::text:
            case Holds::schema_version:
                return b < 220 ? (void)row.bind(parameter, kWords[b % kWords.size()])
                               : (void)row.bind(parameter, std::string(std::size_t{1} << b % 14, 'x'));
        }
    }

    static constexpr int64_t kProcess = (int64_t{1} << 48) + (int64_t{4711} << 24);

    std::string_view bytes_;
    Database database_;
    std::vector<Made> made_;
    int64_t clock_ = 1000;
};

}  // namespace

void make_database(std::string_view bytes, const std::filesystem::path& path) {
    Maker(bytes, path).make();
}

}  // namespace lab::fuzz
