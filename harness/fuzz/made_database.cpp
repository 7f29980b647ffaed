#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/text.h"
#include "evidence/database.h"
#include "fuzz/targets.h"

namespace lab::fuzz {

namespace {

/// What a column holds in a real export.
enum class Holds : char { time = 't', small = 's', process = 'p', thread = 'h', id = 'i', text = 'x' };

struct ColumnOf {
    std::string name;
    Holds holds;
};
struct TableOf {
    std::string name;
    std::vector<ColumnOf> columns;
};

/// "t:start s:deviceId" is a column of times and one of small numbers.
TableOf table(const char* name, const char* columns) {
    TableOf made{name, {}};
    for (const std::string& column : split(columns, ' '))
        made.columns.push_back({column.substr(2), static_cast<Holds>(column[0])});
    return made;
}

const std::vector<TableOf>& tables() {
    static const std::vector<TableOf> all = {
        table("CUPTI_ACTIVITY_KIND_KERNEL",
              "t:start t:end s:deviceId s:contextId s:streamId s:correlationId p:globalPid i:demangledName "
              "i:shortName s:gridX s:gridY s:gridZ s:blockX s:blockY s:blockZ s:graphNodeId i:mangledName"),
        table("CUPTI_ACTIVITY_KIND_RUNTIME",
              "t:start t:end h:globalTid s:correlationId i:nameId s:returnValue"),
        table("NVTX_EVENTS", "t:start t:end i:eventType x:text h:globalTid i:textId s:domainId"),
        table("CUPTI_ACTIVITY_KIND_MEMCPY",
              "t:start t:end s:deviceId s:streamId s:correlationId p:globalPid t:bytes i:copyKind i:srcKind "
              "i:dstKind"),
        table("CUPTI_ACTIVITY_KIND_MEMSET",
              "t:start t:end s:deviceId s:streamId s:correlationId p:globalPid t:bytes s:value i:memKind"),
        table("GPU_METRICS", "t:timestamp s:typeId s:metricId s:value"),
        table("TARGET_INFO_GPU_METRICS", "s:typeId s:metricId x:metricName"),
        table("OSRT_API", "t:start t:end h:globalTid i:nameId s:nestingLevel"),
        table("SCHED_EVENTS", "t:start s:cpu s:isSchedIn h:globalTid s:threadState"),
        table("COMPOSITE_EVENTS", "s:id t:start h:globalTid s:cpuCycles"),
        table("SAMPLING_CALLCHAINS", "s:id i:symbol i:module s:unresolved s:stackDepth"),
        table("ThreadNames", "i:nameId h:globalTid"),
        table("DIAGNOSTIC_EVENT", "t:timestamp s:severity x:text"),
        table("TARGET_INFO_GPU", "s:id x:name x:uuid x:busLocation"),
        table("CUDA_GRAPH_NODE_EVENTS", "t:start t:end i:nameId s:graphNodeId"),
        table("ENUM_NSYS_EVENT_TYPE", "i:id x:name"),
        table("ENUM_CUDA_MEM_KIND", "i:id x:name"),
        table("ENUM_CUDA_MEMCPY_OPER", "i:id x:name"),
        table("StringIds", "i:id x:value"),
        table("META_DATA_EXPORT", "x:name x:value"),
        table("PROVENANCE", "x:key x:value"),
        table("TOOLS_RUN", "x:tool"),
        table("NSYS_RUN", "x:options s:reports s:kernels x:said"),
        table("PROGRAM", "s:exit_code x:stdout"),
    };
    return all;
}

/// Words by which the reader decides something, and words that are hard to print.
const std::vector<std::string>& words() {
    static const std::vector<std::string> all = split(
        "cudaLaunchKernel_v7000|cudaMemcpyAsync_ptsz_v3020|cudaStreamSynchronize|cudaGraphLaunch_v10000|add|"
        "work|NvtxPushPopRange|NvtxStartEndRange|NvtxDomainCreate|NvtxMark|CUDA_MEMOPR_MEMORY_KIND_PINNED|"
        "CUDA_MEMOPR_MEMORY_KIND_DEVICE|CUDA_MEMOPR_MEMORY_KIND_PAGEABLE|CUDA_MEMCPY_KIND_HTOD|"
        "CUDA_MEMCPY_KIND_DTOH|CUDA_MEMCPY_KIND_DTOD|EXPORT_SCHEMA_VERSION|3.20.3|nsys|gpu_metrics|"
        "Tensor Active [Throughput %]|10 events were dropped|a\nb\x1b[31m|\xff\xfe\x80||_v|_v1|_ptsz|"
        "'; DROP TABLE StringIds; --|gpu|memcheck|%s%n",
        '|');
    return all;
}

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
            const bool own = i >= 20;  // an export has none of ours; evidence has
            if (without_table == i + 200 || (own && without_table < 128)) continue;
            std::vector<ColumnOf> columns;
            std::vector<std::string> names, places;
            for (std::size_t c = 0; c < table.columns.size(); ++c) {
                if (without_column == 100 + (i * 7 + c) % 150) continue;
                columns.push_back(table.columns[c]);
                names.push_back('"' + table.columns[c].name + '"');
                places.push_back("?" + std::to_string(places.size() + 1));
            }
            if (columns.empty()) continue;
            const bool posing = oddity == 200 + i;
            const std::string real = table.name + (posing ? "_" : "");
            database_.execute("CREATE TABLE " + real + " (" + join(names, ", ") +
                              (oddity == 100 + i ? ", PRIMARY KEY (" + names[0] + ")) WITHOUT ROWID" : ")"));
            if (posing) database_.execute("CREATE VIEW " + table.name + " AS SELECT * FROM " + real);
            const std::string insert =
                "INSERT OR IGNORE INTO " + real + " VALUES (" + join(places, ", ") + ")";
            made_.push_back({&table, columns, database_.prepare(insert)});
        }
    }

    /// Strings and enums, without which a reader refuses everything; the bytes may add to them.
    void fill_what_every_export_has() {
        for (std::size_t i = 0; i < words().size(); ++i) {
            const auto id = static_cast<int64_t>(i);
            insert("StringIds", id, words()[i]);
            if (i >= 6 && i < 10) insert("ENUM_NSYS_EVENT_TYPE", id, words()[i]);
            if (i >= 10 && i < 13) insert("ENUM_CUDA_MEM_KIND", id, words()[i]);
            if (i >= 13 && i < 16) insert("ENUM_CUDA_MEMCPY_OPER", id, words()[i]);
        }
        insert("META_DATA_EXPORT", words()[16], words()[17]);
        insert("TOOLS_RUN", words()[18]);
    }

    /// A row, if the table is there with this many columns.
    template <class... Cell>
    void insert(std::string_view table, const Cell&... cell) {
        for (Made& made : made_) {
            if (table != made.table->name || made.columns.size() != sizeof...(cell)) continue;
            int parameter = 0;
            (made.insert.bind(++parameter, cell), ...);
            made.insert.next();
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
        if (b >= 245) return (void)row.bind(parameter, words()[byte() % words().size()]);
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
            case Holds::id:
                return (void)row.bind(parameter, int64_t{b} % 34);
            case Holds::text:
                return b < 220 ? (void)row.bind(parameter, words()[b % words().size()])
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
