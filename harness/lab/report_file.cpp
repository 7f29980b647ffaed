#include "lab/report_file.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "course/course.h"

namespace lab {

Option report_word() {
    return {.name = "FILE",
            .text = "an .nsys-rep, or the .sqlite that nsys exports from it",
            .takes = Takes::report,
            .required = true};
}

Option range_option() {
    return {.name = "--range",
            .text = "only the work launched in NVTX ranges of this name",
            .value = "NAME",
            .otherwise = "the whole report"};
}

ReportFile::ReportFile(const std::string& file, const Announce& announce, Holds holds) {
    fs::path path = file;
    if (!fs::exists(path)) {
        const bool of_course = file.find("/evidence/") != std::string::npos;
        throw Error(fmt::format("there is no file {}{}", file,
                                of_course
                                    ? ". A chapter that is a draft has not been recorded yet; your own runs "
                                      "are below build/live/"
                                    : ""));
    }
    if (path.extension() == ".ncu-rep")
        throw Error(
            fmt::format("{} is a report of ncu: ncu-ui opens it, and `ncu --import {} --page details` "
                        "prints it. Neither needs a GPU.",
                        file, shell_line({file})));
    if (path.extension() == ".nsys-rep")
        path = export_report(path, scratch_.path() / "report.sqlite", announce);
    evidence_ = std::make_unique<Evidence>(Evidence::open(path));
    if (!evidence_->provenance().empty()) {
        const fs::path live = Course::find().build_folder() / "live";
        const std::string inside = fs::absolute(file).lexically_normal().lexically_relative(live).string();
        label_ = source_label(evidence_->provenance(), !inside.empty() && inside.rfind("..", 0) != 0);
    }
    if (holds == Holds::a_trace && !evidence_->has_trace())
        throw Error(fmt::format(
            "{} holds no trace: {}. ./lab analyze {}, without --range, shows what else it holds.", file,
            evidence_->captured_nothing() ? "nsys captured nothing of this program"
                                          : "this program was recorded without nsys",
            shell_line({file})));
    if (!evidence_->has_trace()) return;
    if (const int64_t kernels = evidence_->trace().kernels_of_unknown_launch; kernels > 0)
        announce(
            fmt::format("# {} kernels name no call, since they are from bodies of conditional nodes or from "
                        "graphs launched on the GPU, and several launches may be theirs: no NVTX range "
                        "counts them",
                        kernels));
}

}  // namespace lab
