#include "lab/report_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "core/error.h"
#include "core/terminal.h"
#include "core/text.h"
#include "evidence/kineto_trace.h"
#include "evidence/launches.h"
#include "lab/command.h"
#include "tools/machine.h"
#include "tools/recorder.h"

namespace lab {

namespace {

/// A sentence about what may have been meant by a file that is not there, or "".
std::string meant_by(const std::string& file) {
    try {
        const Course course = Course::find();
        const std::string recorded = recorded_of(course, program_of_course(course, file));
        return recorded.empty() ? "" : "." + recorded;
    } catch (const Error&) {  // there is no course here, or no such program
    }
    return "";
}

/// Does this file lie where a course here keeps its live runs?
bool is_live(const std::string& file) {
    try {
        const fs::path live = Course::find().build_folder() / "live";
        const std::string inside = fs::absolute(file).lexically_normal().lexically_relative(live).string();
        return !inside.empty() && !inside.starts_with("..");
    } catch (const Error&) {  // there is no course here
        return false;
    }
}

}  // namespace

std::optional<int64_t> gpu_number(const std::string& text) {
    if (text.empty()) return std::nullopt;
    int64_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc() || end != text.data() + text.size() || number < 0)
        throw Error(
            fmt::format("--device {}: give the number of a GPU in the report, such as 0", printable(text)));
    return number;
}

void check_outputs(const std::vector<fs::path>& reports, const std::vector<fs::path>& pictures) {
    std::vector<fs::path> taken = reports;
    for (const fs::path& picture : pictures) {
        for (const fs::path& other : taken)
            if (!picture.empty() && !other.empty() && is_same_file(picture, other))
                throw Error(fmt::format("{} and {} are one file: give another name to write to",
                                        other.string(), picture.string()));
        taken.push_back(picture);
    }
}

Program program_of_course(const Course& course, const std::string& name) {
    const std::size_t slash = name.rfind('/');
    const std::string owner = name.substr(0, slash);
    const std::string side = slash == std::string::npos ? "" : name.substr(slash + 1);
    Course::Chosen chosen = course.choose(owner);
    if (const Case* const single = chosen.part ? nullptr : chosen.chapter.single(side))
        return single->programs[0];
    for (const Program& program : chosen.subject().all_programs())
        if (program.name == side) return program;
    const std::vector<Program>& programs = chosen.subject().programs;
    throw Error(fmt::format("{} has the programs {} and {}, not '{}'", owner, programs.front().name,
                            programs.back().name, printable(side)));
}

std::string recorded_of(const Course& course, const Program& program) {
    if (program.evidence_folder.empty() || !course.has_evidence_of(program)) return "";
    return " What was recorded of this program: ./lab analyze " + course.shown(course.evidence_of(program));
}

std::string not_recorded_line(const Trace& trace) {
    const bool no_calls = trace.api_calls.empty();
    if (trace.format == SourceFormat::kineto)
        return paragraph(fmt::format("not in {}: {}OS calls, CPU samples, context switches, GPU metrics "
                                     "(nsys records them: docs/nsys.md)",
                                     no_calls ? "this JSON of Kineto" : "Kineto's JSON",
                                     no_calls              ? "CUDA calls, "
                                     : trace.knows_results ? ""
                                                           : "what calls returned, ")) +
               "\n";
    std::vector<std::string> missing;
    for (const auto& [is_missing, what] : {std::pair{no_calls, "CUDA calls"},
                                           {trace.os_calls.empty(), "OS calls"},
                                           {trace.cpu_samples.empty(), "CPU samples"},
                                           {trace.thread_states.empty(), "context switches"},
                                           {trace.metrics.empty(), "GPU metrics"}})
        if (is_missing) missing.emplace_back(what);
    if (missing.empty()) return "";
    return paragraph(fmt::format("not recorded: {} (docs/nsys.md: how to)", join(missing, ", "))) + "\n";
}

std::string slower_graphs(const Trace& trace) {
    if (trace.format != SourceFormat::nsys) return "";
    constexpr const char* kSlower =
        "each node of a graph was recorded, which slows down branches, conditional nodes and programmatic "
        "launches: take times, shares and what runs at once from a recording with "
        "--cuda-graph-trace=graph:host-only, or from the program alone";
    if (trace.kernels_in_conditional_nodes > 0) return kSlower;
    std::map<std::pair<int64_t, int64_t>, const Kernel*> last_of;  // by the launch of the graph, and the GPU
    int64_t together_ns = 0, all_ns = 0;
    for (const Kernel& k : trace.kernels) {
        if (!is_graph_node(trace, k)) continue;
        const Kernel*& last = last_of[{k.call, k.device}];
        if (last && last->stream != k.stream) return kSlower;
        if (last) together_ns += std::clamp<int64_t>(last->end_ns - k.start_ns, 0, k.end_ns - k.start_ns);
        all_ns += k.end_ns - k.start_ns;
        last = &k;
    }
    // Kernels of a chain overlap as well, by a microsecond or so.
    constexpr int64_t kNoticeablePart = 10;
    if (together_ns * kNoticeablePart > all_ns) return kSlower;
    return "";
}

void check_file(const std::string& file) {
    std::error_code unseen;
    if (fs::is_directory(file, unseen)) throw Error(fmt::format("{} is a folder: give a file in it", file));
    if (fs::exists(file, unseen) || unseen) return;
    if (const std::string meant = meant_by(file); !meant.empty())
        throw Error(fmt::format("there is no file {}{}", file, meant));
    std::vector<std::string> beside;
    const fs::path folder = fs::path(file).parent_path(), here = folder.empty() ? "." : folder;
    const fs::path wanted = fs::path(file).filename();
    for (const auto& entry : fs::directory_iterator(here, unseen))
        if (entry.path().extension() == wanted.extension()) beside.push_back(entry.path().stem().string());
    std::sort(beside.begin(), beside.end());
    std::string near = nearest(wanted.stem().string(), beside);
    if (!near.empty())
        near = fmt::format("; did you mean {}?", (folder / (near + wanted.extension().string())).string());
    throw Error(fmt::format("there is no file {}{}", file, near));
}

std::string exported_beside(const fs::path& report) {
    fs::path exported = fs::path(report).replace_extension();
    if (report.extension() == ".ncu-rep" && exported.extension() == ".details") exported.replace_extension();
    exported += ".sqlite";
    std::error_code unseen;
    return fs::exists(exported, unseen) ? exported.string() : "";
}

ReportFile open_report(const std::string& file, bool needs_trace) {
    fs::path path = file;
    auto scratch = std::make_unique<TemporaryFolder>();
    std::error_code unseen;
    check_file(file);
    if (path.extension() == ".ncu-rep")
        throw Error(
            fmt::format("{} is a report of ncu: ncu-ui opens it, and ./lab ncu-details {} prints it. "
                        "Neither needs a GPU.",
                        file, shell_line({file})));
    if (is_kineto_trace(path)) return {std::move(scratch), std::nullopt, read_kineto_trace(path), ""};
    if (path.extension() == ".nsys-rep") {
        // Without nsys, an export that lies beside the report is as good.
        if (const std::string exported = exported_beside(path); !nsys() && !exported.empty())
            throw Error(fmt::format("{} can be read only by nsys, which is not here. The same recording lies "
                                    "beside it, exported already: give {}",
                                    file, exported),
                        kNothingCouldRun);
        path = export_report(path, scratch->path() / "report.sqlite", announce_to_terminal);
    }
    if (fs::file_size(path.string() + "-wal", unseen) > 0 && !unseen)
        announce_to_terminal(
            fmt::format("# {}-wal holds changes that no checkpoint has written into the file: they are "
                        "left out",
                        path.string()));
    ReportFile report{std::move(scratch), Evidence::open(path), std::nullopt, ""};
    const Evidence& evidence = *report.evidence;
    if (!evidence.provenance().empty()) report.label = source_label(evidence.provenance(), is_live(file));
    if (needs_trace && !evidence.has_trace() && !evidence.database().has_table("TOOLS_RUN"))
        throw Error(
            fmt::format("{} holds only a part of a recording, too little for this. Give a whole one.", file));
    if (needs_trace && !evidence.has_trace())
        throw Error(fmt::format(
            "{} holds no trace: {}. ./lab analyze {}, without --range, shows what else it holds.", file,
            evidence.captured_nothing() ? "nsys captured nothing of this program"
                                        : "this program was recorded without nsys",
            shell_line({file})));
    const int64_t kernels = evidence.has_trace() ? evidence.trace().kernels_of_unknown_launch : 0;
    if (kernels > 0)
        announce_to_terminal(
            fmt::format("# {} kernels name no call, since they are from bodies of conditional nodes or from "
                        "graphs launched on the GPU, and several launches may be theirs: no NVTX range "
                        "counts them",
                        kernels));
    return report;
}

}  // namespace lab
