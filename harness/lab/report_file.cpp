#include "lab/report_file.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lab {

ReportFile::ReportFile(const std::string& file, const Announce& announce) {
    fs::path path = file;
    if (!fs::exists(path)) throw Error(fmt::format("there is no file {}", file));
    if (path.extension() == ".nsys-rep")
        path = export_report(path, scratch_.path() / "report.sqlite", announce);
    evidence_ = std::make_unique<Evidence>(Evidence::open(path));
    if (!evidence_->has_trace())
        throw Error(
            fmt::format("{} holds no trace of nsys: it was recorded where nsys was not installed", file));
}

}  // namespace lab
