#include <unistd.h>

#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "draw/chrome_trace.h"
#include "draw/timeline.h"
#include "evidence/analysis.h"
#include "evidence/evidence.h"
#include "evidence/first_steps.h"
#include "evidence/kineto_trace.h"
#include "evidence/schema.h"
#include "fuzz/targets.h"
#include "tools/evidence_writer.h"

namespace lab::fuzz {

namespace {

void check(const Trace& trace, const std::optional<std::string>& range) {
    const Analysis a = analyse(trace, range);
    if (a.gpu_busy_ns + a.gpu_idle_ns != a.span_ns) broken_promise("busy and idle do not add up to the span");
    if (a.compute_ns + a.exposed_ns() + a.copy_only_ns != a.gpu_busy_ns)
        broken_promise("compute, communication and copies do not add up to busy");
    if (a.exposed_ns() < 0 || a.copy_only_ns < 0) broken_promise("a part of the busy time is negative");
    if (a.gpu_idle_ns < 0 || a.concurrent_ns > a.compute_ns || a.h2d_hidden_ns > a.h2d_ns)
        broken_promise("a part is larger than its whole");
    if (!a.range && a.idle.host_wait_ns + a.idle.kernel_wait_ns + a.idle.other_ns != a.gpu_idle_ns)
        broken_promise("the causes do not add up to the idle time");
    if (a.idle_no_call_ns < 0 || a.idle_no_call_ns > a.gpu_idle_ns)
        broken_promise("the host is in no call for longer than the GPU is idle");
    if (first_steps(trace, a, "file").size() > 3) broken_promise("more than three first steps");
}

/// All that `lab timeline` draws of a trace.
void draw(const Trace& trace, const std::optional<std::string>& range) {
    TimelineOptions options{"title", "label", range, true};
    const Timeline whole = build_timeline(trace, options);
    options.from_ns = whole.span_ns() / 4, options.to_ns = whole.span_ns() / 2;
    std::vector<Timeline> timelines{whole};
    if (options.from_ns < options.to_ns) timelines.push_back(build_timeline(trace, options));
    if (const std::string svg = timeline_svg(timelines); printable_lines(svg) != svg)
        broken_promise("a picture holds characters that are not safe to print");
    const std::string page = timeline_html(timelines);
    const std::size_t data = page.find("<script type=\"application/json\""), begin = page.find('>', data) + 1;
    if (!nlohmann::json::accept(page.substr(begin, page.find('<', begin) - begin)))
        broken_promise("an HTML page whose data is no JSON, or ends its element");
    for (const int columns : {1, 20, 100})
        if (const std::string text = timeline_terminal(timelines, columns, false);
            printable_lines(text) != text)
            broken_promise("a picture in text holds characters that are not safe to print");
    std::ostringstream json;
    write_chrome_trace(trace, json);
    if (!nlohmann::json::accept(json.view())) broken_promise("a Chrome trace that is no JSON");
}

/// All that `lab analyze` does with a trace, and pictures of it where `drawn`.
void ask(const Trace& trace, bool drawn) {
    check(trace, std::nullopt);
    (void)range_use(trace, std::nullopt);
    if (drawn) draw(trace, std::nullopt);
    if (trace.ranges.empty()) return;
    check(trace, trace.ranges.front().name);
    (void)range_use(trace, trace.ranges.back().name);
    if (drawn) draw(trace, trace.ranges.back().name);
}

/// All that `lab analyze` and a finding do with a file, and pictures of it where `drawn`.
void ask(const fs::path& path, bool drawn) {
    const Evidence evidence = Evidence::open(path);
    (void)evidence.exit_code();
    (void)evidence.captured_nothing();
    if (!evidence.has_trace()) return;
    const Database& database = evidence.database();
    (void)capture_problems(database);
    const Trace& trace = evidence.trace();
    ask(trace, drawn);
    const auto ask_views = [&] {
        for (const char* view :
             {"kernels", "copies", "sets", "api_calls", "syncs", "ranges", "graph_launches", "gpu_metrics",
              "marks", "os_calls", "cpu_samples", "cpu_frames", "context_switches", "migrations",
              "cpu_page_faults", "gpu_page_faults"})
            for (Statement row = database.prepare(std::string("SELECT * FROM ") + view + " LIMIT 50");
                 row.next();)
                for (int column = 0; column < row.columns(); ++column) (void)to_text(row.value(column));
    };
    ask_views();
    if (trace.ranges.empty()) return;
    const Capture::Narrowed narrowed(evidence.capture(), trace.ranges.front().name);
    ask_views();
}

/// Copies an export into an evidence file, as `lab record` does, and asks that.
void copy_and_ask(const fs::path& made, const fs::path& copy) {
    RunRecord run;
    run.nsys = NsysRun{"", made, ""};
    run.gpu_metrics = {"T"};
    run.provenance = {{"gpu", "none"}};
    fs::remove(copy);
    write_evidence(run, copy);
    ask(copy, false);
}

/// In memory where that can be: a fuzzer makes a thousand files a second.
const fs::path& folder() {
    static const struct Scratch {
        fs::path path = (fs::is_directory("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()) /
                        ("lab-fuzz-" + std::to_string(::getpid()));
        Scratch() { fs::create_directories(path); }
        ~Scratch() { fs::remove_all(path); }
    } scratch;
    return scratch.path;
}

/// A picture takes several times as long as the rest, and a copy too: the last byte says what is done.
void ask_as_export(const fs::path& file, std::string_view bytes) {
    const int choice = bytes.empty() ? 0 : bytes.back() % 16;
    try {
        if (choice == 1)
            copy_and_ask(file, folder() / "copy.sqlite");
        else
            ask(file, choice % 4 == 2);
    } catch (const Error&) {
    } catch (const std::bad_alloc&) {  // what SQLite says of some broken files; `lab` says it in a sentence
    }
}

}  // namespace

void nsys_file(std::string_view bytes) {
    const fs::path file = folder() / "file.sqlite";
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    ask_as_export(file, bytes);
}

void nsys_tables(std::string_view bytes) {
    const fs::path file = folder() / "made.sqlite";
    fs::remove(file);
    make_database(bytes, file);
    ask_as_export(file, bytes);
}

void kineto_trace(std::string_view bytes) {
    const fs::path file = folder() / "trace.json.gz";
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    try {
        ask(read_kineto_trace(file), bytes.ends_with('\n'));
    } catch (const Error&) {
    }
}

}  // namespace lab::fuzz
