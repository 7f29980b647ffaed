#include "lab/unified_memory.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/table.h"
#include "core/text.h"
#include "evidence/capture.h"

namespace lab {

namespace {

constexpr std::size_t kFunctions = 8;  ///< at most, that fault

using Json = nlohmann::ordered_json;

}  // namespace

Json unified_memory_json(const Evidence& evidence, const std::optional<std::string>& range) {
    const Capture::Narrowed narrowed(evidence.capture(), range);
    const Database& database = evidence.database();
    Json migrations = Json::array(), functions = Json::array();
    for (Statement row = database.prepare(
             "SELECT direction, COUNT(*), SUM(bytes) FROM migrations GROUP BY 1 ORDER BY 1 DESC");
         row.next();)
        migrations.push_back(
            {{"direction", row.text(0)}, {"count", row.integer(1)}, {"bytes", row.integer(2)}});
    for (Statement row = database.prepare(
             "SELECT COALESCE(function, ''), COUNT(*) FROM cpu_page_faults GROUP BY 1 ORDER BY 2 DESC, 1");
         row.next();)
        functions.push_back({{"function", row.text(0)}, {"count", row.integer(1)}});
    Statement gpu = database.prepare("SELECT COUNT(*), TOTAL(faults), TOTAL(duration) FROM gpu_page_faults");
    gpu.next();
    return {{"migrations", migrations},
            {"cpu_page_faults", functions},
            {"gpu_page_faults",
             {{"count", gpu.integer(0)}, {"faults", gpu.integer(1)}, {"total_ns", gpu.integer(2)}}}};
}

std::string unified_memory_text(const Evidence& evidence, const std::optional<std::string>& range) {
    const Json all = unified_memory_json(evidence, range);
    std::string text;
    const auto add = [&](const Table& table) { text += table.text() + "\n"; };
    if (!all["migrations"].empty()) {
        Table table({"pages of managed memory", "migrations", "bytes"},
                    {Align::left, Align::right, Align::right});
        for (const Json& m : all["migrations"])
            table.add({m["direction"], std::to_string(m["count"].get<int64_t>()),
                       format_bytes(m["bytes"].get<double>())});
        add(table);
    }
    if (!all["cpu_page_faults"].empty()) {
        Table table({"CPU page faults in", "count"}, {Align::left, Align::right});
        std::size_t shown = 0;
        for (const Json& f : all["cpu_page_faults"])
            if (shown++ < kFunctions)
                table.add({shorten(printable(f["function"].get<std::string>()), 60),
                           std::to_string(f["count"].get<int64_t>())});
        text += table.text() + more_rows(shown, kFunctions) + "\n";
    }
    if (const Json& gpu = all["gpu_page_faults"]; gpu["count"] > 0)
        text += fmt::format("GPU page faults: {} in {} groups, which take {} together\n\n",
                            gpu["faults"].get<int64_t>(), gpu["count"].get<int64_t>(),
                            format_ns(gpu["total_ns"].get<int64_t>()));
    return text;
}

}  // namespace lab
