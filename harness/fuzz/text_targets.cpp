#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "course/chapter.h"
#include "evidence/ncu_csv.h"
#include "evidence/sanitizer_report.h"
#include "evidence/sanitizer_xml.h"
#include "fuzz/broken_promise.h"
#include "fuzz/targets.h"

namespace lab::fuzz {

void ncu_csv(std::string_view bytes) {
    (void)unknown_metrics(bytes);
    const std::vector<std::string> listed = metric_list(bytes);
    for (const auto absent : {Absent::is_an_error, Absent::is_kept}) {
        try {
            for (const NcuMetric& metric : parse_ncu_csv(bytes, {}, absent)) {
                if (metric.launch < 0) broken_promise("a launch has a number below 0");
                (void)metric.number();
            }
            if (!listed.empty()) (void)parse_ncu_csv(bytes, {listed.front(), listed.back()}, absent);
        } catch (const Error&) {
        }
    }
}

namespace {

void check_reports(const SanitizerOutput& output) {
    for (const SanitizerReport& report : output.reports) {
        if (report.count < 1) broken_promise("a report that was found no time");
        if (report.kind.empty() || (report.severity != "error" && report.severity != "warning"))
            broken_promise("a report without kind or severity");
    }
}

}  // namespace

void sanitizer_output(std::string_view bytes) {
    try {
        const SanitizerOutput output = parse_sanitizer_output(bytes);
        if (output.errors > 0 && output.reports.empty() &&
            bytes.find(" not printed") == std::string_view::npos)
            broken_promise("the summary counts errors, and none is listed");
        check_reports(output);
    } catch (const Error&) {
    }
}

void sanitizer_xml(std::string_view bytes) {
    // Each report ends with a space, which tells its words from a record's own text: that is trimmed.
    constexpr std::string_view kPrinted =
        "========= COMPUTE-SANITIZER\n"
        "========= Invalid __global__ read of size 4 bytes\n"
        "=========     at shift(const float *, float *, int)+0xb0 in buggy.cu:22 \n"
        "========= \n"
        "========= Misaligned __shared__ write of size 8 bytes\n"
        "=========     at shift(const float *, float *, int)+0xd0 in buggy.cu:23 \n"
        "========= \n"
        "========= Barrier error detected. Divergent thread(s) in block.\n"
        "=========     at add(int *)+0x10 in other.cu:5 \n"
        "========= \n"
        "========= ERROR SUMMARY: 3 errors\n";
    try {
        const std::size_t records = parse_sanitizer_xml(bytes).size();
        const SanitizerOutput output = parse_sanitizer_output(kPrinted, bytes);
        if (records < 3) broken_promise("a printed report was taken for that of no record, or of two");
        check_reports(output);
        for (const int line : {22, 23, 5}) {
            const std::string place = ".cu:" + std::to_string(line);
            int with_words = 0;
            for (const SanitizerReport& report : output.reports) {
                if (report.text.find(place) == std::string::npos || !report.text.ends_with(' ')) continue;
                ++with_words;
                if (report.line != line && report.line != 0)
                    broken_promise("a record has the words of another place");
            }
            if (with_words != 1) broken_promise("what was printed is there more than once, or not at all");
        }
    } catch (const Error&) {
    }
}

void chapter_toml(std::string_view bytes) {
    static const TemporaryFolder folder;
    write_file(folder.path() / "ch99_fuzz" / "chapter.toml", bytes);
    try {
        const Chapter chapter = read_chapter(folder.path(), "ch99_fuzz");
        for (const Question& question : chapter.quiz) (void)chapter.program_of(question);
        for (const Exercise& exercise : chapter.exercises)
            if (exercise.starter_fails.empty()) broken_promise("an exercise whose starter fails nothing");
    } catch (const Error&) {
    }
}

}  // namespace lab::fuzz
