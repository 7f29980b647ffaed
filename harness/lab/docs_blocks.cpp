#include "lab/docs_blocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/process.h"
#include "core/table.h"
#include "core/text.h"
#include "course/case_evidence.h"
#include "draw/roofline_svg.h"
#include "draw/svg.h"
#include "evidence/tool_output.h"
#include "lab/companions.h"
#include "lab/verification.h"

namespace lab {

namespace {

const Announce kQuietly = [](const std::string&) {};

const Chapter& chapter_of(const Place& place) {
    if (!place.chapter)
        throw Error(
            fmt::format("{} belongs to no chapter, so it has no pair", place.course.shown(place.file)));
    return *place.chapter;
}

/// What stands in place of evidence that a draft does not have yet.
const char* const kNotRecorded = "*Not recorded on a GPU yet, so nothing is claimed here.*\n";

/// "pair ..." or "exercise NAME ...": the case, and what else is asked for.
struct Subject {
    const Case& both;
    std::vector<std::string> words;
};

Subject subject_of(const Place& place, const std::string& argument) {
    const Chapter& chapter = chapter_of(place);
    std::vector<std::string> words = split(argument, ' ');
    if (words[0] == "pair") return {chapter.pair, {words.begin() + 1, words.end()}};
    const Exercise* exercise =
        words[0] == "exercise" && words.size() > 1 ? chapter.exercise(words[1]) : nullptr;
    if (!exercise)
        throw Error(fmt::format("{}: '{}' is neither 'pair' nor 'exercise NAME'",
                                place.course.shown(place.file), argument));
    return {exercise->programs, {words.begin() + 2, words.end()}};
}

/// A draft may lack evidence of its programs; elsewhere that is an Error.
bool lacks_evidence(const Course& course, const Chapter& chapter, const std::vector<Program>& programs) {
    return chapter.draft && !is_recorded(course, programs);
}

bool lacks_evidence(const Place& place, const Case& both) {
    return lacks_evidence(place.course, chapter_of(place), {both.programs.begin(), both.programs.end()});
}

std::string asserted(const Case& both, const FindingRow& row) {
    const Finding& f = *row.finding;
    if (f.quotient) return fmt::format("`{}`: {}", both.text_of(*f.quotient), row.quotient->measured.text());
    return f.asserted() ? fmt::format("`{}`, then `{}`", f.expect[0]->text, f.expect[1]->text) : "shown only";
}

/// The run of a companion; nothing while a draft lacks it.
std::optional<CompanionRun> recorded_companion(const Place& place, const Companion& companion) {
    if (lacks_evidence(place.course, chapter_of(place), {companion.program})) return std::nullopt;
    CompanionRun run = companion_run(place.course, companion, false);
    if (!run.evidence) throw Error(run.missing, kFindingFailed);
    return run;
}

std::string measured_companion(const Place& place, const std::string& name) {
    const Companion* const companion = chapter_of(place).companion(name);
    if (!companion)
        throw Error(fmt::format("{}: {} has no companion '{}'", place.course.shown(place.file),
                                chapter_of(place).id, name));
    const auto run = recorded_companion(place, *companion);
    if (!run) return kNotRecorded;
    using Align = Table::Align;
    Table table({"finding", "found", "asserted"}, {Align::left, Align::right, Align::left});
    for (const FindingRow& row : run->rows) {
        const Finding& f = *row.finding;
        table.add({f.says, row.sides[0].measured.text_in(f.unit),
                   f.asserted() ? fmt::format("`{}`", f.expect[0]->text) : "shown only"});
    }
    return table.markdown() + "\n*" + run->label + "*\n";
}

std::string roofline(const Place& place, const std::string& argument, Outputs& outputs) {
    const Chapter& chapter = chapter_of(place);
    const Companion* const companion = chapter.measures_roofs();
    if (!companion)
        throw Error(fmt::format("{}: {} has no companion that measures roofs", place.course.shown(place.file),
                                chapter.id));
    const std::string exercise = argument.rfind("exercise ", 0) == 0 ? trim(argument.substr(9)) : "";
    if (!argument.empty() && !chapter.exercise(exercise))
        throw Error(fmt::format("{}: a roofline is of nothing more, or of 'exercise NAME', not of '{}'",
                                place.course.shown(place.file), argument));
    auto run = recorded_companion(place, *companion);
    if (!run) return kNotRecorded;
    const ShownRoofline shown =
        shown_roofline(place.course, chapter, exercise, std::move(*run->evidence), false);
    if (!shown.evidence.left_out.empty() && !chapter.draft)
        throw Error(fmt::format("{}: {}", place.course.shown(place.file), shown.evidence.left_out[0]),
                    kFindingFailed);
    outputs[place.file.parent_path() / "roofline.svg"] = roofline_svg(shown.picture);
    const std::string points = shown.picture.points.empty() ? "" : points_markdown(shown) + "\n";
    return fmt::format(
        "![Roofline on logarithmic axes: measured roofs, theoretical ones dashed, a labelled point for each "
        "kernel](roofline.svg)\n\n{}\n{}*{}*\n",
        roofs_markdown(shown, *companion), points, shown.evidence.label);
}

std::string measured(const Place& place, const std::string& argument) {
    if (argument.rfind("companion ", 0) == 0) return measured_companion(place, trim(argument.substr(10)));
    const Case& both = subject_of(place, argument).both;
    if (lacks_evidence(place, both)) return kNotRecorded;
    const CaseEvidence evidence = obtain(place.course, both, Source::recorded, kQuietly);
    using Align = Table::Align;
    Table table({"finding", both.programs[0].name, both.programs[1].name, "asserted"},
                {Align::left, Align::right, Align::right, Align::left});
    for (const FindingRow& row : judge_case(both, evidence.sides[0], evidence.sides[1])) {
        const Finding& f = *row.finding;
        table.add({both.said_by(f), row.sides[0].measured.text_in(f.unit),
                   row.sides[1].measured.text_in(f.unit), asserted(both, row)});
    }
    std::string recordings;
    for (const std::string& recording : both.recordings_in_use())
        recordings += "- recording " + recording + "\n";
    return table.markdown() + "\n" + recordings + (recordings.empty() ? "" : "\n") + "*" + evidence.label +
           "*\n";
}

/// The words of a figure's block behind the case: a program, range=..., file=...
struct FigureRequest {
    std::optional<std::size_t> side;  ///< both if not given
    std::optional<std::string> range;
    std::string file = "timeline.svg";
};

FigureRequest figure_request(const Place& place, const Subject& subject) {
    FigureRequest request{std::nullopt, subject.both.range};
    for (const std::string& word : subject.words) {
        if (word == subject.both.programs[0].name || word == subject.both.programs[1].name)
            request.side = word == subject.both.programs[1].name;
        else if (word.rfind("range=", 0) == 0)
            request.range = word.substr(6);
        else if (word.rfind("file=", 0) == 0 && fs::path(word).extension() == ".svg")
            request.file = word.substr(5);
        else
            throw Error(
                fmt::format("{}: '{}' says nothing about a figure: {}, {}, range=NAME and file=NAME.svg do",
                            place.course.shown(place.file), word, subject.both.programs[0].name,
                            subject.both.programs[1].name));
    }
    return request;
}

std::string figure(const Place& place, const std::string& argument, Outputs& outputs) {
    const Subject subject = subject_of(place, argument);
    const Case& both = subject.both;
    const FigureRequest request = figure_request(place, subject);
    if (lacks_evidence(place, both)) return kNotRecorded;
    const CaseEvidence evidence = obtain(place.course, both, Source::recorded, kQuietly);
    std::vector<std::pair<const Trace*, TimelineOptions>> programs;
    for (std::size_t side = 0; side < 2; ++side)
        if (!request.side || *request.side == side)
            programs.push_back({&evidence.sides[side].trace(),
                                {both.programs[side].name + ".cu", evidence.label, request.range,
                                 request.side.has_value()}});
    const fs::path picture = place.course.root() / both.programs[0].source.parent_path() / request.file;
    if (outputs.count(picture))
        throw Error(fmt::format("{}: a second figure is drawn into {}; give it a name with file=NAME.svg",
                                place.course.shown(place.file), request.file));
    outputs[picture] = timeline_svg(build_timelines(programs));
    const std::string of = request.side ? both.programs[*request.side].name
                                        : fmt::format("{} above {} on one time scale", both.programs[0].name,
                                                      both.programs[1].name);
    const std::string where = request.range && request.side ? fmt::format(", range {}", *request.range) : "";
    return fmt::format("![Timeline of {}{}: NVTX ranges, streams, copies and idle time]({})\n", of, where,
                       picture.lexically_relative(place.file.parent_path()).string());
}

/// "pair buggy memcheck": the tool's first report on that program.
std::string report(const Place& place, const std::string& argument) {
    const Subject subject = subject_of(place, argument);
    const auto& programs = subject.both.programs;
    const bool second = subject.words.size() == 2 && subject.words[0] == programs[1].name;
    if (subject.words.size() != 2 || (!second && subject.words[0] != programs[0].name))
        throw Error(fmt::format("{}: a report is of {} or {} and a tool, as in 'pair {} memcheck'",
                                place.course.shown(place.file), programs[0].name, programs[1].name,
                                programs[0].name));
    if (lacks_evidence(place, subject.both)) return kNotRecorded;
    const Evidence evidence = open_recorded(place.course, programs[second ? 1 : 0]);
    const std::vector<ToolReport> reports = reports_in(evidence);
    const auto first = std::find_if(reports.begin(), reports.end(),
                                    [&](const ToolReport& r) { return r.tool == subject.words[1]; });
    if (first == reports.end())
        throw Error(fmt::format("{}: {} reports nothing on {}", place.course.shown(place.file),
                                subject.words[1], programs[second ? 1 : 0].source.string()));
    return fmt::format("```text\n{}\n```\n\n*{}*\n", first->text, source_label(evidence.provenance(), false));
}

std::string difference(const Place& place, const std::string& argument) {
    // The comments at the head tell the files apart in words, so they are left out.
    std::vector<std::string> words{"diff", "-U2", "-I", "^//"};
    std::vector<std::string> files = split(trim(argument), ' ');
    for (const std::string& file : files) words.insert(words.end(), {"--label", file});
    words.insert(words.end(), files.begin(), files.end());
    const Outcome outcome = run({.words = words, .folder = place.file.parent_path()});
    if (outcome.exit_code != 1)
        throw Error(fmt::format("{}: diff of {} shows nothing: {}", place.course.shown(place.file), argument,
                                outcome.err));
    return "```diff\n" + outcome.out + "```\n";
}

std::string output_of(const Place& place, const std::string& argument) {
    std::vector<std::string> words = split(trim(argument), ' ');
    if (words.empty() || words[0] != "lab")
        throw Error(fmt::format("{}: output is of `lab` commands only", place.course.shown(place.file)));
    words[0] = fs::read_symlink("/proc/self/exe").string();
    const Outcome outcome = run({.words = words, .folder = place.course.root()});
    if (outcome.exit_code != 0)
        throw Error(fmt::format("`{}` failed: {}", argument, trim(outcome.err)), kFindingFailed);
    return fmt::format("```console\n$ ./{}\n{}```\n", trim(argument), outcome.out);
}

bool ends_a_sentence(const std::string& title) {
    return !title.empty() && (title.back() == '?' || title.back() == '.');
}

/// How long a chapter takes, and what to know before one that is a draft.
std::string status(const Place& place) {
    const Chapter& chapter = chapter_of(place);
    std::string text =
        fmt::format("{} minutes for the case and its questions; the {} exercises take {} minutes more.\n{}\n",
                    chapter.minutes, chapter.exercises.size(), chapter.exercise_minutes(),
                    chapter.draft ? "A GPU is needed." : "A GPU is needed only to see it live.");
    if (chapter.draft)
        text +=
            "\n*A draft: its programs have not been recorded on a GPU yet. Until they are, its tables and "
            "pictures are empty,\nthere is no recorded run to look at, and its questions need a GPU of your "
            "own.*\n";
    return text;
}

/// What the fix changes, in one line: the finding that chapter.toml names as the headline.
std::string headline(const Course& course, const Chapter& chapter) {
    const auto& programs = chapter.pair.programs;
    if (lacks_evidence(course, chapter, {programs.begin(), programs.end()})) return "not recorded yet";
    const std::vector<Finding>& findings = chapter.pair.findings;
    const auto finding = std::find_if(findings.begin(), findings.end(),
                                      [&](const Finding& f) { return f.id == chapter.headline; });
    if (finding == findings.end()) return "";  // none is named: a name that is there was checked
    const CaseEvidence evidence = obtain(course, chapter.pair, Source::recorded, kQuietly);
    const auto measured = [&](std::size_t side) {
        return judge_finding(evidence.sides[side], *finding, side).measured;
    };
    return fmt::format("{}: **{} → {}** ({})", finding->says, measured(0).text(),
                       measured(1).text_in(finding->unit), evidence.sides[0].provenance().at("gpu"));
}

/// What the pair's evidence looks like: the chapter's roofline or timeline, small; else the first line that a
/// sanitizer says of the buggy program.
std::string glimpse(const Course& course, const Chapter& chapter, const fs::path& file) {
    for (const char* picture : {"roofline.svg", "timeline.svg"}) {
        const fs::path path = course.root() / chapter.folder / picture;
        if (!fs::exists(path)) continue;
        const std::string shown = path.lexically_relative(file.parent_path()).string();
        return fmt::format("<br><a href=\"{0}\"><img src=\"{0}\" width=\"220\" alt=\"{1}\"></a>", shown,
                           chapter.title);
    }
    const auto& programs = chapter.pair.programs;
    if (programs[0].sanitizers.empty() || lacks_evidence(course, chapter, {programs.begin(), programs.end()}))
        return "";
    const std::vector<ToolReport> reports = reports_in(open_recorded(course, programs[0]));
    if (reports.empty()) return "";
    const std::string first = split(reports[0].text, '\n').front();
    return fmt::format("<br>`{}`", trim(first.substr(first.find_first_not_of("= "))));
}

std::string chapter_table(const Course& course, const fs::path& file) {
    Table table({"chapter", "case", "on the GPU, buggy → fixed", "minutes"},
                {Table::Align::left, Table::Align::left, Table::Align::left, Table::Align::right});
    for (const Chapter& chapter : course.chapters()) {
        const fs::path link =
            (course.root() / chapter.folder / "README.md").lexically_relative(file.parent_path());
        table.add({fmt::format("[{}]({}){}{}", chapter.id, link.string(), chapter.draft ? " (a draft)" : "",
                               glimpse(course, chapter, file)),
                   fmt::format("**{}{}** {}", chapter.title, ends_a_sentence(chapter.title) ? "" : ".",
                               chapter.question),
                   headline(course, chapter),
                   fmt::format("{} + {}", chapter.minutes, chapter.exercise_minutes())});
    }
    return table.markdown();
}

std::string exercise_table(const Place& place) {
    const Chapter& chapter = chapter_of(place);
    Table table({"exercise", "what you can do afterwards", "minutes"},
                {Table::Align::left, Table::Align::left, Table::Align::right});
    for (const Exercise& e : chapter.exercises) {
        const fs::path link =
            (place.course.root() / e.folder / "README.md").lexically_relative(place.file.parent_path());
        table.add({fmt::format("[{} {}]({})", e.number, e.name, link.string()), e.objective,
                   std::to_string(e.minutes)});
    }
    return table.markdown();
}

}  // namespace

std::string block_text(const Place& place, const std::string& kind, const std::string& argument,
                       Outputs& outputs) {
    if (kind == "measured") return measured(place, argument);
    if (kind == "figure") return figure(place, argument, outputs);
    if (kind == "roofline") return roofline(place, argument, outputs);
    if (kind == "report") return report(place, argument);
    if (kind == "diff") return difference(place, argument);
    if (kind == "status") return status(place);
    if (kind == "exercises") return exercise_table(place);
    if (kind == "output") return output_of(place, argument);
    if (kind == "help") return manuals_markdown(place.manuals);
    if (kind == "verification")
        return verification_markdown(place.course, read_verification(verification_file(place.course)));
    return chapter_table(place.course, place.file);
}

}  // namespace lab
