#include "evidence/evidence.h"

#include "core/files.h"
#include "core/text.h"
#include "evidence/schema.h"

namespace lab {

std::string value_of(const Provenance& provenance, const std::string& key) {
    const auto at = provenance.find(key);
    return at == provenance.end() ? "" : at->second;
}

std::string source_label(const Provenance& provenance, bool live) {
    const auto value = [&](const char* key) { return value_of(provenance, key); };
    std::vector<std::string> parts{value("gpu").empty() ? "unknown GPU" : value("gpu")};
    for (const auto& [key, name] : {std::pair{"driver", "driver "},
                                    {"cuda", "CUDA "},
                                    {"python", "Python "},
                                    {"library", ""},
                                    {"nsys", "nsys "},
                                    {"ncu", "ncu "},
                                    {"compute-sanitizer", "compute-sanitizer "}})
        if (!value(key).empty()) parts.push_back(name + value(key));
    if (!value("date").empty()) parts.push_back(value("date").substr(0, 10));
    const char* const stale = value("stale").empty() ? "" : " · stale: the program has changed since";
    return shorten(printable((live ? "live · " : "recorded · ") + join(parts, ", ")), 300) + stale;
}

Evidence Evidence::open(const fs::path& path) {
    Evidence evidence(Database::open_untrusted(path));
    const Database& database = evidence.database();
    if (database.has_table("PROVENANCE"))
        for (Statement row = database.prepare("SELECT key, value FROM main.PROVENANCE"); row.next();)
            evidence.provenance_[row.text(0)] = row.text(1);
    if (evidence.provenance_.empty() || evidence.was_run("nsys") || evidence.was_run(kTorchProfiler))
        evidence.capture_ = std::make_unique<Capture>(database);

    create_output_views(database);
    return evidence;
}

void Evidence::add_recording(const std::string& name, Evidence further) {
    recordings_[name] = std::make_unique<const Evidence>(std::move(further));
}

const Evidence* Evidence::recording(const std::string& name) const {
    if (name.empty()) return this;
    const auto at = recordings_.find(name);
    return at == recordings_.end() ? nullptr : at->second.get();
}

bool Evidence::captured_nothing() const {
    return database_->has_table("NSYS_RUN") &&
           database_->prepare("SELECT 1 FROM main.NSYS_RUN WHERE reports = 0").next();
}

std::optional<int> Evidence::exit_code() const {
    if (!database_->has_table("PROGRAM")) return std::nullopt;
    Statement row = database_->prepare("SELECT exit_code FROM main.PROGRAM");
    return row.next() ? std::optional(static_cast<int>(row.integer(0))) : std::nullopt;
}

bool Evidence::was_run(const std::string& tool) const {
    if (!database_->has_table("TOOLS_RUN")) return false;
    Statement row = database_->prepare("SELECT 1 FROM main.TOOLS_RUN WHERE tool = ?1");
    return row.bind(1, tool).next();
}

}  // namespace lab
