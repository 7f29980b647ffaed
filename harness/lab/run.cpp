// lab run CH[/EX]: the programs of a case side by side: findings, what the tools said, where to look next.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/terminal.h"
#include "core/text.h"
#include "course/case_evidence.h"
#include "course/judge.h"
#include "draw/timeline.h"
#include "lab/command.h"
#include "lab/findings_table.h"
#include "lab/learner.h"
#include "lab/report_file.h"
#include "lab/rooflines.h"
#include "lab/run.h"
#include "lab/tool_output.h"
#include "tools/ncu_runner.h"
#include "tools/recorder.h"

namespace lab {

namespace {

struct RunOptions {
    std::string name, html;
    bool live = false, recorded = false, json = false, solution = false, python = false, all = false;
};

/// A case with its evidence and its judged findings, or the reason why there is none.
struct Found {
    const Case* of = nullptr;
    std::optional<CaseEvidence> evidence;
    std::vector<FindingRow> rows;
    std::string missing;
};

Found find(const Course& course, const Case& of, Source source) {
    Found found{&of, obtain(course, of, source, announce_to_terminal), {}, ""};
    found.rows = judge_case(of, found.evidence->sides);
    return found;
}

/// Is the solution kept back? What it measured would tell what is wrong with the starter.
bool is_kept_back(const Course& course, const Case& of, const RunOptions& options) {
    return of.kind == CaseKind::exercise && !options.solution &&
           !progress_of(course).exercise(of.subjects()).passed;
}

/// The single programs of a chapter, live or recorded as the pair is. A run that cannot be had is missing,
/// with the reason.
std::vector<Found> find_singles(const Course& course, const Course::Chosen& chosen, bool live) {
    std::vector<Found> all;
    if (chosen.part) return all;
    for (const Case& single : chosen.chapter.singles) {
        if (single.kind == CaseKind::python) continue;  // shown by itself, with --python
        try {
            all.push_back(find(course, single, live ? Source::live : Source::recorded));
        } catch (const Error& problem) {
            all.push_back({&single, {}, {}, problem.what()});
        }
    }
    return all;
}

/// The points of the chosen case under the chapter's roofs; nothing if it has none, or if they are missing
/// for a reason.
std::optional<RooflineEvidence> find_roofline(const Course& course, const Course::Chosen& chosen, bool live,
                                              std::string& missing) {
    const Case* const roofs = chosen.chapter.measures_roofs();
    if (!roofs || (chosen.part && chosen.part->points.empty())) return std::nullopt;
    try {
        const Program& program = roofs->programs[0];
        std::optional<Evidence> own = live ? own_live_run(course, program) : std::nullopt;
        if (live && !own) throw Error(fmt::format("{} has not been run here yet", program.file.string()));
        const std::string exercise = chosen.part ? chosen.part->name : "";
        return collect_points(course, chosen.chapter, exercise,
                              own ? std::move(*own) : open_recorded_roofs(course, chosen.chapter, exercise),
                              live);
    } catch (const Error& problem) {
        missing = problem.what();
        return std::nullopt;
    }
}

std::vector<Timeline> timelines_of(const Case& of, const CaseEvidence& evidence) {
    std::vector<std::pair<const Trace*, TimelineOptions>> programs;
    for (std::size_t side = 0; side < of.programs.size(); ++side)
        programs.push_back(
            {&evidence.sides[side].trace(), {of.programs[side].name, evidence.label, of.range}});
    return build_timelines(programs);
}

/// Writes the timelines as a page if one is asked for, and never over evidence. Says whether to name it.
bool write_page(const Case& of, const CaseEvidence& evidence, const std::string& html) {
    check_outputs(evidence.files, {html});
    check_outputs(evidence.reports, {html});
    return !html.empty() && write_file(html, timeline_html(timelines_of(of, evidence)));
}

void print_timelines(const Course& course, const Case& of, const CaseEvidence& evidence) {
    std::vector<Timeline> timelines = timelines_of(of, evidence);
    const std::string svg = timeline_svg(timelines);
    for (Timeline& timeline : timelines) timeline.options.label.clear();  // it stands above already
    fmt::print("\n{}", timeline_terminal(timelines, terminal_columns(100), terminal_has_colour()));
    const fs::path picture = course.build_folder() / "figures" / (of.id + ".svg");
    try {
        write_file(picture, svg);
        fmt::print("\npicture  {}\n", course.shown(picture));
    } catch (const Error& problem) {
        fmt::print("\npicture  {}\n", paragraph(fmt::format("none: {}", problem.what()), 9));
    }
}

/// Prints where to look further: reports for the GUIs, evidence for ./lab analyze.
void print_places(const Course& course, const Needs& needs, const CaseEvidence& evidence) {
    for (const fs::path& report : evidence.reports)
        fmt::print("report   {}\n",
                   paragraph(fmt::format("{} ({} opens it)", course.shown(report),
                                         report.extension() == ".ncu-rep"             ? "ncu-ui"
                                         : report.string().ends_with(kTraceExtension) ? "ui.perfetto.dev"
                                                                                      : "nsys-ui"),
                             9));
    if (!needs.counters && !needs.reports) return;
    for (const fs::path& file : evidence.files) fmt::print("further  ./lab analyze {}\n", course.shown(file));
}

/// Prints what the findings rest on: the tools' own words, the timelines, and where there is more.
void print_evidence(const Course& course, const Case& of, const CaseEvidence& evidence) {
    const Needs needs = of.needs();
    for (std::size_t side = 0; needs.reports && side < of.programs.size(); ++side)
        print_reports(evidence.sides[side], of.programs[side].name);
    if (needs.trace) print_timelines(course, of, evidence);
    print_places(course, needs, evidence);
}

/// Prints how to record a program of Python by hand, where a recording is shown: a live run has announced it.
void print_commands(const Case& of) {
    const Needs needs = of.needs();
    for (const Program& program : of.programs) {
        std::vector<std::vector<std::string>> commands;
        if (needs.trace) commands.push_back(nsys_command("nsys", program.name, program));
        if (needs.counters)
            commands.push_back(ncu_command("ncu", program.name, program, program.ncu_metrics));
        for (const std::string& tool : program.sanitizers)
            commands.push_back(sanitizer_command("compute-sanitizer", tool));
        for (std::vector<std::string>& words : commands) {
            append(words, {"python3", program.file.string()});
            fmt::print("command  {}\n", shell_line(words));
        }
    }
}

/// The findings, or of a case that names some the key ones alone.
std::string findings_of(const Found& found, const RunOptions& options) {
    if (options.all) return findings_text(*found.of, found.rows);
    return key_findings_text(
        *found.of, found.rows,
        fmt::format("./lab run {}{} --all", options.name, options.python ? " --python" : ""));
}

/// A single program beside the pair. One whose findings all hold, none of them a key row, takes a line.
void print_single(const Found& found, const RunOptions& options) {
    fmt::print("\n{}  {}\n", bold(found.of->name), found.of->title);
    const std::vector<Finding>& findings = found.of->findings;
    const bool has_key =
        std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.key; });
    if (found.evidence && !has_key && !options.all && worst_of(found.rows) == Verdict::pass)
        fmt::print("{} rows: ./lab run {} --all\n", found.rows.size(), options.name);
    else if (found.evidence)
        fmt::print("{}\n\n{}", paragraph(found.evidence->label), findings_of(found, options));
    else
        fmt::print("{}\n", paragraph("not shown: " + found.missing));
}

void print_roofline(const Course& course, const RooflineEvidence& roofline, const std::string& id) {
    fmt::print("\n{}", roofline_tables(roofline, false));
    const fs::path picture = course.build_folder() / "figures" / (id + ".roofline.svg");
    const std::string missing = draw_roofline(course, roofline, picture);
    fmt::print("picture  {}\n", missing.empty() ? course.shown(picture) : paragraph("none: " + missing, 9));
}

/// Prints how to see the chapter's other pairs in Python, where one of them is shown.
void print_other_pairs(const Course::Chosen& chosen) {
    if (!chosen.part || chosen.part->kind != CaseKind::python) return;
    for (const Case& other : chosen.chapter.singles)
        if (other.kind == CaseKind::python && other.id != chosen.part->id)
            fmt::print("further  ./lab run {}/{}  {}\n", chosen.chapter.short_id, other.name, other.title);
}

std::string next_step(const Course& course, const Course::Chosen& chosen) {
    const Chapter& chapter = chosen.chapter;
    if (chosen.part && chosen.part->kind == CaseKind::exercise)
        return next_step(progress_of(course), chapter, *chosen.part);
    fs::path folder = chosen.part ? chosen.part->folder : chapter.folder;
    if (chosen.part && chosen.part->kind == CaseKind::python) folder = chapter.folder / "python";
    const bool has_page = fs::exists(course.root() / folder / "README.md");
    const fs::path page = chosen.part && !chosen.part->page.empty()
                              ? chosen.part->page
                              : (has_page ? folder : chapter.folder) / "README.md";
    return fmt::format("{} explains what you see", page.string());
}

void print_as_json(const Course::Chosen& chosen, const Found& found, const std::vector<Found>& singles,
                   const std::optional<RooflineEvidence>& roofline) {
    const CaseEvidence& evidence = *found.evidence;
    nlohmann::ordered_json json{{"chapter", chosen.chapter.id}};
    if (chosen.part && chosen.part->kind == CaseKind::exercise) json["exercise"] = chosen.part->name;
    json["source"] = evidence.live ? "live" : "recorded";
    const std::string gpu_name = value_of(evidence.sides[0].provenance(), "gpu");
    json["gpu"] = gpu_name.empty() ? "unknown" : gpu_name;
    json["label"] = evidence.label;
    json["findings"] = findings_json(*found.of, found.rows);
    for (std::size_t side = 0; found.of->needs().reports && side < found.of->programs.size(); ++side)
        json["sanitizer_reports"][found.of->programs[side].name] = to_json(reports_in(evidence.sides[side]));
    for (const Found& single : singles) {
        nlohmann::ordered_json& one = json["companions"].emplace_back();
        one["name"] = single.of->name;
        if (!single.evidence) {
            one["missing"] = single.missing;
            continue;
        }
        one["label"] = single.evidence->label;
        one["findings"] = findings_json(*single.of, single.rows);
    }
    if (roofline) json["roofline"] = to_json(*roofline);
    print_json(json);
}

void print_head(const Case& of, const CaseEvidence& evidence) {
    fmt::print("{}  {}\n{}\n", bold(of.id), of.title, paragraph(evidence.label));
    if (!evidence.note.empty()) fmt::print("{}\n", paragraph("(" + evidence.note + ")"));
}

void print(const Course& course, const Found& found, const std::vector<Found>& singles,
           const RunOptions& options, const std::optional<RooflineEvidence>& roofline,
           const std::string& no_roofline) {
    const Case& of = *found.of;
    print_head(of, *found.evidence);
    if (of.kind == CaseKind::python && !found.evidence->live) print_commands(of);
    print_evidence(course, of, *found.evidence);
    fmt::print("\n{}", findings_of(found, options));
    for (const Found& single : singles) print_single(single, options);
    if (roofline) print_roofline(course, *roofline, of.id);
    if (!no_roofline.empty()) fmt::print("\n{}\n", paragraph("roofline none: " + no_roofline));
}

/// Shows an exercise's starter alone: what the tools say of it, and no findings.
int run_starter(const Course& course, const Course::Chosen& chosen, Source source,
                const RunOptions& options) {
    const Case& of = chosen.subject();
    const std::string name = chosen.chapter.short_id + "/" + of.argument();
    if (options.json)
        throw Error(
            fmt::format("the findings of {} would tell the diagnosis: they are shown once it has passed, "
                        "or with --solution",
                        name));
    Case alone = of;
    alone.programs.resize(1);
    const CaseEvidence evidence = obtain(course, alone, source, announce_to_terminal);
    const bool says_page = write_page(alone, evidence, options.html);
    print_head(of, evidence);
    print_evidence(course, alone, evidence);
    if (!of.needs().counters && !of.needs().reports)
        fmt::print("further  ./lab analyze {}\n", course.shown(evidence.files[0]));
    if (says_page) fmt::print("page     {}  (a browser opens it)\n", printable(options.html));
    fmt::print("{}\n",
               paragraph("This is the starter alone. The solution and all findings are shown beside it once "
                         "your answer has passed, or with --solution."));
    fmt::print("next     {}\n", next_step(progress_of(course), chosen.chapter, of));
    return kFine;
}

int run_case(const RunOptions& options) {
    if (options.python && options.name.find('/') != std::string::npos)
        throw Error(
            "--python is for a chapter's first pair: ./lab run ch05 --python, and a further one by "
            "its name: ./lab run ch05/python/numba");
    const Course course = Course::find();
    const Course::Chosen chosen = choose_own(course, options.name + (options.python ? "/python" : ""));
    if (!options.html.empty() && !chosen.subject().needs().trace)
        throw Error(fmt::format("{} has no timeline to write to {}: its findings need no trace",
                                chosen.subject().id, options.html));
    const Source source = options.live ? Source::live : options.recorded ? Source::recorded : Source::best;
    if (is_kept_back(course, chosen.subject(), options)) return run_starter(course, chosen, source, options);
    const Found found = find(course, chosen.subject(), source);
    const bool live = found.evidence->live;
    const std::vector<Found> singles = find_singles(course, chosen, live);
    std::string no_roofline;
    const std::optional<RooflineEvidence> roofline = find_roofline(course, chosen, live, no_roofline);
    Verdict worst = worst_of(found.rows);
    for (const Found& single : singles)
        worst = std::max(worst, single.evidence ? worst_of(single.rows) : Verdict::not_run);
    const bool says_page = write_page(*found.of, *found.evidence, options.html);
    if (options.json) {
        print_as_json(chosen, found, singles, roofline);
    } else {
        print(course, found, singles, options, roofline, no_roofline);
        if (says_page) fmt::print("page     {}  (a browser opens it)\n", printable(options.html));
        print_other_pairs(chosen);
        fmt::print("next     {}\n", next_step(course, chosen));
    }
    return exit_code_of(worst);
}

}  // namespace

void print_first_program(const Course& course, const Chapter& chapter) {
    const Program& program = chapter.pair.programs[0];
    std::optional<Evidence> own = own_live_run(course, program);
    const bool live = own.has_value();
    const Evidence evidence = live ? std::move(*own) : open_recorded(course, program);
    const std::string file =
        course.shown(live ? live_evidence_path(course, program) : course.evidence_of(program));
    fmt::print("{}\n{}\n", paragraph(bold(chapter.id) + "  " + chapter.question),
               paragraph(source_label(evidence.provenance(), live)));
    const std::string in_range = chapter.pair.range ? " --range " + shell_line({*chapter.pair.range}) : "";
    const Needs needs = chapter.pair.needs();
    if (needs.reports) print_reports(evidence, program.name);
    if (needs.trace) {
        std::string title = program.name;
        if (chapter.pair.range)
            title += (chapter.look_to_ns ? ", the beginning of range " : ", range ") + *chapter.pair.range;
        TimelineOptions options{title, "", chapter.pair.range};
        options.to_ns = chapter.look_to_ns;
        fmt::print("\n{}\n", timeline_terminal({build_timeline(evidence.trace(), options)},
                                               terminal_columns(100), terminal_has_colour()));
        if (chapter.look_to_ns) fmt::print("all      ./lab timeline {}{}\n", file, in_range);
        fmt::print("zoom     ./lab timeline {} --html look.html\n", file);
    }
    fmt::print("sums     ./lab analyze {}{}\n", file, in_range);
    if (!in_range.empty()) fmt::print("whole    ./lab analyze {}\n", file);
    if (needs.details) fmt::print("ncu      ./lab ncu-details {}\n", file);
    fmt::print("\n");
}

void add_run(Session& session) {
    const auto options = std::make_shared<RunOptions>();
    Subcommand command(
        session, "run", "both programs of a chapter or exercise, side by side",
        "Live where there is a GPU with the tools that the case needs, else on recorded "
        "evidence; the line above the findings says which. A live run leaves its reports in "
        "build/live/; the timelines are in build/figures/ as SVG. Of an exercise only the starter "
        "is shown until your answer has passed.\n"
        "Example: ./lab run ch05/seismometers --recorded",
        [options] { return run_case(*options); });
    command.argument("NAME", options->name,
                     "a chapter (ch05), an exercise (ch05/seismometers, or ch05/4), or one more pair in "
                     "Python (ch05/python/numba)");
    command.flag("--live", options->live, "runs it here, or fails");
    command.flag("--recorded", options->recorded, "shows the recorded evidence, GPU or not");
    command.flag("--solution", options->solution,
                 "shows an exercise's solution and findings before your answer has passed");
    command.flag("--python", options->python,
                 "a chapter's pair in Python, with CuPy or PyTorch; names further ones");
    command.flag("--all", options->all, "shows every finding, and what it must be");
    command.flag("--json", options->json, "prints the findings as JSON");
    command.option("--html", "OUT", options->html,
                   "writes the timelines as a page for any browser to this file");
    command.exclude("--live", "--recorded");
}

}  // namespace lab
