// lab run CH[/EX]: both programs of a case side by side: findings, what the tools said, where to look next.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/table.h"
#include "core/terminal.h"
#include "course/case_evidence.h"
#include "draw/palette.h"
#include "draw/roofline_svg.h"
#include "draw/roofline_terminal.h"
#include "draw/svg.h"
#include "draw/terminal.h"
#include "lab/command.h"
#include "lab/companions.h"
#include "lab/tool_output.h"

namespace lab {

namespace {

struct RunOptions {
    std::string name;
    bool live = false, recorded = false, json = false;
};

using Sides = std::array<const char*, 2>;

Sides sides_of(const Case& both) {
    return {both.programs[0].name.c_str(), both.programs[1].name.c_str()};
}

std::string expected_of(const Case& both, const Finding& finding) {
    if (finding.quotient) return both.text_of(*finding.quotient);
    return finding.asserted() ? finding.expect[0]->text + "  |  " + finding.expect[1]->text
                              : "shown, not asserted";
}

void print_findings(const Case& both, const std::vector<FindingRow>& rows) {
    const Sides sides = sides_of(both);
    using Align = Table::Align;
    Table table({"finding", sides[0], sides[1], "expected", "verdict"},
                {Align::left, Align::right, Align::right, Align::left, Align::left});
    for (const FindingRow& row : rows) {
        const Finding& f = *row.finding;
        table.add({both.said_by(f), row.sides[0].measured.text_in(f.unit),
                   row.sides[1].measured.text_in(f.unit), expected_of(both, f),
                   f.asserted() ? verdict_mark(row.verdict) : ""});
    }
    fmt::print("{}", table.text(2, table_columns()));
    for (const std::string& recording : both.recordings_in_use())
        fmt::print("  recording {}\n", paragraph(recording, 4));
    for (const FindingRow& row : rows) {
        if (row.quotient && row.quotient->verdict != Verdict::pass)
            fmt::print("  {}: {}\n", row.finding->id, row.quotient->why);
        for (std::size_t side = 0; side < 2; ++side)
            if (!row.sides[side].why.empty())
                fmt::print("  {}, {}: {}\n", sides[side], row.finding->id, row.sides[side].why);
    }
}

std::vector<Timeline> timelines_of(const Case& both, const CaseEvidence& evidence) {
    std::vector<std::pair<const Trace*, TimelineOptions>> programs;
    for (std::size_t side = 0; side < 2; ++side)
        programs.push_back(
            {&evidence.sides[side].trace(), {both.programs[side].name, evidence.label, both.range}});
    std::vector<Timeline> timelines = build_timelines(programs);
    align_colours(timelines);
    return timelines;
}

void print_timelines(const std::vector<Timeline>& timelines) {
    const int64_t scale_ns = std::max(timelines[0].span_ns(), timelines[1].span_ns());
    for (Timeline timeline : timelines) {
        timeline.options.label.clear();  // it stands above the findings already
        fmt::print("\n{}", timeline_terminal(timeline, terminal_columns(), terminal_has_colour(), scale_ns));
    }
}

/// What the sanitizer said about both programs, where a finding is about that.
void print_sanitizers(const Case& both, const CaseEvidence& evidence) {
    for (std::size_t side = 0; side < 2; ++side)
        print_first_reports(both.programs[side].name, evidence.sides[side]);
}

void print_and_draw_timelines(const Course& course, const Case& both, const CaseEvidence& evidence) {
    const std::vector<Timeline> timelines = timelines_of(both, evidence);
    print_timelines(timelines);
    const fs::path picture = course.build_folder() / "figures" / (both.id + ".svg");
    try {
        write_file(picture, timeline_svg(timelines));
        fmt::print("\npicture  {}\n", course.shown(picture));
    } catch (const Error& problem) {
        fmt::print("\npicture  none: {}\n", problem.what());
    }
}

/// Where to look further: reports for the GUIs, evidence for ./lab analyze.
void print_places(const Course& course, const Asked& asked, const CaseEvidence& evidence) {
    for (const fs::path& report : evidence.reports)
        fmt::print("report   {}  ({} opens it)\n", course.shown(report),
                   report.extension() == ".ncu-rep" ? "ncu-ui" : "nsys-ui");
    if (!asked.counters && !asked.reports) return;
    const char* const all = !asked.reports    ? "every counter of ncu"
                            : !asked.counters ? "every report of compute-sanitizer"
                                              : "every counter of ncu, every report of compute-sanitizer";
    for (const fs::path& file : evidence.files)
        fmt::print("further  ./lab analyze {}  ({})\n", course.shown(file), all);
}

/// What is behind the findings: the tools' own words, the timelines, and where there is more.
void print_evidence(const Course& course, const Case& both, const CaseEvidence& evidence) {
    const Asked asked = asked_by(both);
    if (asked.reports) print_sanitizers(both, evidence);
    if (asked.trace)
        print_and_draw_timelines(course, both, evidence);
    else
        fmt::print("\ntimeline left out, as no finding is about time; ./lab timeline {} draws it\n",
                   course.shown(evidence.files[0]));
    print_places(course, asked, evidence);
}

void print_companion(const CompanionRun& run) {
    fmt::print("\n{}  {}\n", bold(run.companion->program.name), run.companion->says);
    if (!run.evidence) {
        fmt::print("not shown: {}\n", run.missing);
        return;
    }
    fmt::print("{}\n\n", run.label);
    using Align = Table::Align;
    Table table({"finding", "found", "expected", "verdict"},
                {Align::left, Align::right, Align::left, Align::left});
    for (const FindingRow& row : run.rows) {
        const Finding& f = *row.finding;
        table.add({f.says, row.sides[0].measured.text_in(f.unit),
                   f.asserted() ? f.expect[0]->text : "shown, not asserted",
                   f.asserted() ? verdict_mark(row.verdict) : ""});
    }
    fmt::print("{}", table.text(2, table_columns()));
    for (const FindingRow& row : run.rows)
        if (!row.sides[0].why.empty()) fmt::print("  {}: {}\n", row.finding->id, row.sides[0].why);
}

void print_roofline(const Course& course, const ShownRoofline& roofline, const std::string& id) {
    fmt::print("\n{}\n", roofline_terminal(roofline.picture, terminal_columns(), 20, terminal_has_colour()));
    for (const std::string& sentence : roofline.evidence.left_out)
        fmt::print("not in the picture: {}\n", sentence);
    const fs::path picture = course.build_folder() / "figures" / (id + ".roofline.svg");
    write_file(picture, roofline_svg(roofline.picture));
    fmt::print("picture  {}\n", course.shown(picture));
}

/// The companions of a chapter, or for an exercise the one whose roofs its points are under.
std::vector<CompanionRun> companions_of(const Course& course, const Course::Chosen& chosen, bool live) {
    std::vector<CompanionRun> runs;
    const Chapter& chapter = chosen.chapter;
    if (!chosen.exercise)
        for (const Companion& companion : chapter.companions)
            runs.push_back(companion_run(course, companion, live));
    else if (std::any_of(chapter.points.begin(), chapter.points.end(),
                         [&](const PointQuery& p) { return p.exercise == chosen.exercise->name; }))
        runs.push_back(last_companion_run(course, *chapter.measures_roofs(), live));
    return runs;
}

/// The roofline, if a companion was run that measures its roofs, or the reason why it cannot be drawn.
struct RooflineOrReason {
    std::optional<ShownRoofline> roofline;
    std::string missing;
};

RooflineOrReason roofline_under(const Course& course, const Course::Chosen& chosen,
                                std::vector<CompanionRun>& runs, bool live) {
    const std::string exercise = chosen.exercise ? chosen.exercise->name : "";
    for (CompanionRun& run : runs) {
        if (run.companion != chosen.chapter.measures_roofs() || !run.evidence) continue;
        try {
            return {shown_roofline(course, chosen.chapter, exercise, std::move(*run.evidence), live), ""};
        } catch (const Error& problem) {
            return {std::nullopt, problem.what()};
        }
    }
    return {};
}

Verdict worst_of(const std::vector<FindingRow>& rows) {
    Verdict worst = Verdict::pass;
    for (const FindingRow& row : rows) worst = worse(worst, row.verdict);
    return worst;
}

std::string next_step(const Course::Chosen& chosen) {
    const Chapter& chapter = chosen.chapter;
    if (chosen.exercise) return fmt::format("./lab start {}/{}", chapter.short_id, chosen.exercise->name);
    return fmt::format("{}/README.md explains what you see", chapter.folder.string());
}

/// All that was found about what is asked for.
struct Found {
    const Course& course;
    const Course::Chosen& chosen;
    CaseEvidence evidence;
    std::vector<FindingRow> rows;
    std::vector<CompanionRun> companions;
};

void print_found_as_json(Found& found) {
    const CaseEvidence& evidence = found.evidence;
    nlohmann::ordered_json json{{"chapter", found.chosen.chapter.id}};
    if (found.chosen.exercise) json["exercise"] = found.chosen.exercise->name;
    json["source"] = evidence.live ? "live" : "recorded";
    const std::string gpu_name = value_of(evidence.sides[0].provenance(), "gpu");
    json["gpu"] = gpu_name.empty() ? "unknown" : gpu_name;
    json["label"] = evidence.label;
    const Sides sides = sides_of(found.chosen.programs());
    json["findings"] = to_json(found.rows, sides);
    for (std::size_t side = 0; asked_by(found.chosen.programs()).reports && side < 2; ++side)
        json["sanitizer_reports"][sides[side]] = to_json(reports_in(evidence.sides[side]));
    for (const CompanionRun& run : found.companions) json["companions"].push_back(to_json(run));
    const RooflineOrReason under =
        roofline_under(found.course, found.chosen, found.companions, evidence.live);
    if (under.roofline) json["roofline"] = to_json(*under.roofline);
    print_json(json);
}

void print_found(Found& found) {
    const Case& both = found.chosen.programs();
    fmt::print("{}  {}\n{}\n", bold(both.id), both.title, found.evidence.label);
    if (!found.evidence.note.empty()) fmt::print("({})\n", found.evidence.note);
    fmt::print("\n");
    print_findings(both, found.rows);
    print_evidence(found.course, both, found.evidence);
    if (!found.chosen.exercise)
        for (const CompanionRun& run : found.companions) print_companion(run);
    const RooflineOrReason under =
        roofline_under(found.course, found.chosen, found.companions, found.evidence.live);
    if (under.roofline) print_roofline(found.course, *under.roofline, both.id);
    if (!under.missing.empty()) fmt::print("\nroofline none: {}\n", under.missing);
    fmt::print("next     {}\n", next_step(found.chosen));
}

int run_case(const RunOptions& options) {
    const Course course = Course::find();
    const Course::Chosen chosen = course.choose(options.name);
    const Case& both = chosen.programs();
    const Source source = options.live ? Source::live : options.recorded ? Source::recorded : Source::best;
    Found found{course, chosen, obtain(course, both, source, announce_to_terminal), {}, {}};
    found.rows = judge_case(both, found.evidence.sides[0], found.evidence.sides[1]);
    found.companions = companions_of(course, chosen, found.evidence.live);
    Verdict worst = worst_of(found.rows);
    if (!chosen.exercise)
        for (const CompanionRun& run : found.companions)
            worst = worse(worst, run.evidence ? worst_of(run.rows) : Verdict::not_run);
    if (options.json)
        print_found_as_json(found);
    else
        print_found(found);
    return exit_code_of(worst);
}

}  // namespace

void add_run(Session& session) {
    const auto options = std::make_shared<RunOptions>();
    Subcommand command(
        session,
        {.name = "run",
         .summary = "both programs of a chapter or exercise, side by side",
         .does = "Shows a case: every finding for the buggy program and for the fixed one (of an exercise: "
                 "starter and solution), what is expected, and the verdict; then what is behind them: where "
                 "findings ask compute-sanitizer, the first report of each tool in its own words; where they "
                 "ask nsys, both timelines on one time scale; where the picture and the reports for the GUIs "
                 "are; and the next step.\n\n"
                 "Where there is a GPU with the tools that the case needs, both programs are built, run and "
                 "recorded now; each command line is printed before it runs. Elsewhere the evidence is "
                 "shown that was recorded on a GPU. The line above the findings says which it is.",
         .exits = {{"0", "every finding holds"},
                   {"1", "a finding does not hold or is too close to call, or a program or a tool failed"},
                   bad_usage(),
                   nothing_could_run(
                       "a live run was asked for and is not possible, or nothing is recorded yet")},
         .reads = {{"ch*/chapter.toml", "the findings"}, {"ch*/evidence/", "recorded evidence"}},
         .writes = {{"build/live/", "evidence and reports of a live run"},
                    {"build/programs/",
                     "the programs, built, and what compute-sanitizer saved of them as XML"},
                    {"build/figures/", "the timelines as SVG"}},
         .examples = {{"./lab run ch05", "the case of chapter 5, live if that is possible here"},
                      {"./lab run ch05/missing_event --recorded",
                       "an exercise's two programs, as they were recorded"},
                      {"./lab run ch04", "what memcheck says of chapter 4's pair"}},
         .see_also = {"list", "start", "analyze", "timeline"}},
        [options] { return run_case(*options); });
    command.option({.name = "NAME",
                    .text = "a chapter (ch05) or an exercise (ch05/vector_add_pipeline, or ch05/1)",
                    .takes = Takes::any_case,
                    .required = true},
                   options->name);
    command.flag("--live", options->live, "runs it here, or fails");
    command.flag("--recorded", options->recorded, "shows the recorded evidence, GPU or not");
    command.flag("--json", options->json, "prints the findings as JSON");
    command.exclude("--live", "--recorded");
}

}  // namespace lab
