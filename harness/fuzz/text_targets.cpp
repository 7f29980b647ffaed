#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "fuzz/targets.h"
#include "lab/handed_in.h"
#include "tools/core_dump.h"
#include "tools/ncu_csv.h"
#include "tools/ncu_pages.h"
#include "tools/sanitizer_report.h"

namespace lab::fuzz {

void ncu_csv(std::string_view bytes) {
    (void)unknown_metrics(bytes);
    for (const auto absent : {Absent::is_an_error, Absent::is_kept}) {
        try {
            for (const NcuMetric& metric : parse_ncu_csv(bytes, {"dram__bytes.sum", "m"}, absent))
                (void)metric.number();
        } catch (const Error&) {
        }
    }
}

void ncu_pages(std::string_view bytes) {
    ProfiledLaunch launch;
    (void)add_source_page(bytes, launch);
    for (const auto* rows : {&launch.lines, &launch.instructions})
        for (const SourceRow& row : *rows)
            if (row.address < 0 || *std::min_element(row.counts.begin(), row.counts.end()) < 0)
                broken_promise("a count or an address below 0");
    try {
        for (const ProfiledLaunch& each : parse_details_page(bytes))
            if (each.metrics.empty() && each.rules.empty() && each.launch < 0)
                broken_promise("a launch with a number below 0");
    } catch (const Error&) {
    }
}

void sanitizer_output(std::string_view bytes) {
    try {
        const SanitizerOutput output = parse_sanitizer_output(bytes);
        if (output.errors > 0 && output.reports.empty() &&
            bytes.find(" not printed") == std::string_view::npos)
            broken_promise("the summary counts errors, and none is listed");
        for (const SanitizerReport& report : output.reports) {
            if (report.count < 1) broken_promise("a report that was found no time");
            if (report.kind.empty() || (report.severity != "error" && report.severity != "warning"))
                broken_promise("a report without kind or severity");
        }
    } catch (const Error&) {
    }
}

void core_dump(std::string_view bytes) {
    try {
        const CoreDump dump = parse_core_dump(bytes);
        if (dump.exception.empty() || dump.line < 0 || dump.grid < 0)
            broken_promise("a dump without a fault");
        for (const auto* place : {&dump.block, &dump.thread})
            if (*std::min_element(place->begin(), place->end()) < 0) broken_promise("a place below 0");
    } catch (const Error&) {
    }
}

void learner_report(std::string_view bytes) {
    try {
        const std::vector<Learner> learners{read_report("file.json", std::string(bytes))};
        for (const std::string& text : {class_table(learners), class_csv(learners)})
            if (printable_lines(text) != text)
                broken_promise("a class holds characters that are not safe to print");
    } catch (const Error&) {
    }
}

}  // namespace lab::fuzz
