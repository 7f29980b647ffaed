#include "lab/docs_blocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/process.h"
#include "core/table.h"
#include "core/text.h"
#include "course/case_evidence.h"
#include "draw/svg.h"
#include "evidence/tool_results.h"
#include "lab/findings_table.h"
#include "lab/rooflines.h"
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

/// "pair ...", "exercise NAME ..." or "single NAME": the case, and what else is asked for.
struct Subject {
    const Case& of;
    std::vector<std::string> words;
};

Subject subject_of(const Place& place, const std::string& argument) {
    const Chapter& chapter = chapter_of(place);
    const std::vector<std::string> words = split(argument, ' ');
    if (words[0] == "pair") return {chapter.pair, {words.begin() + 1, words.end()}};
    const std::string name = words.size() > 1 ? words[1] : "";
    const Case* const found = words[0] == "exercise" ? chapter.exercise(name)
                              : words[0] == "single" ? chapter.single(name)
                                                     : nullptr;
    if (!found)
        throw Error(fmt::format("{}: '{}' is neither 'pair' nor 'exercise NAME' nor 'single NAME'",
                                place.course.shown(place.file), argument));
    return {*found, {words.begin() + 2, words.end()}};
}

/// A draft may lack evidence of its programs; elsewhere that is an Error.
bool lacks_evidence(const Course& course, const Case& of) {
    return of.draft && !is_recorded(course, of.programs);
}

std::string measured(const Place& place, const std::string& argument) {
    const Case& of = subject_of(place, argument).of;
    if (lacks_evidence(place.course, of)) return kNotRecorded;
    const CaseEvidence evidence = obtain(place.course, of, Source::recorded, kQuietly);
    const std::vector<FindingRow> rows = judge_case(of, evidence.sides);
    for (const FindingRow& row : rows)
        if (row.verdict != Verdict::pass)
            throw Error(fmt::format("{}: {}: {}", row.finding->where, row.finding->id, row.why(of.programs)),
                        kFindingFailed);
    return findings_markdown(of, rows) + "\n*" + evidence.label + "*\n";
}

/// The picture that is there, if it was drawn from today's numbers; else a new one, or with `check` nothing.
std::string roofline_picture(const Place& place, const RooflineEvidence& roofline, const fs::path& svg) {
    const std::string there = fs::exists(svg) ? read_file(svg) : "";
    if (is_picture_of(there, roofline)) return there;
    if (place.check) return "";
    const TemporaryFolder scratch;
    const std::string missing = draw_roofline(place.course, roofline, scratch.path() / "roofline.svg");
    if (!missing.empty())
        throw Error(fmt::format("{} cannot be drawn: {}", place.course.shown(svg), missing),
                    kNothingCouldRun);
    return read_file(scratch.path() / "roofline.svg");
}

std::string roofline(const Place& place, const std::string& argument, Outputs& outputs) {
    const Chapter& chapter = chapter_of(place);
    const Case* const roofs = chapter.measures_roofs();
    if (!roofs)
        throw Error(fmt::format("{}: {} has no program that measures roofs", place.course.shown(place.file),
                                chapter.id));
    if (lacks_evidence(place.course, *roofs)) return kNotRecorded;
    const std::string exercise = argument.empty() ? "" : subject_of(place, argument).of.name;
    const RooflineEvidence found = collect_points(place.course, chapter, exercise,
                                                  open_recorded(place.course, roofs->programs[0]), false);
    if (!found.left_out.empty())
        throw Error(fmt::format("{}: {}", place.course.shown(place.file), found.left_out[0]), kFindingFailed);
    const fs::path svg = place.file.parent_path() / "roofline.svg";
    outputs[svg] = roofline_picture(place, found, svg);
    return fmt::format(
        "![Roofline on logarithmic axes: measured roofs, theoretical ones dashed, a labelled point for each "
        "kernel](roofline.svg)\n\n{}\n*{}*\n",
        roofline_markdown(found), found.label);
}

/// The words of a figure's block behind the case: a program, range=..., file=...
struct FigureRequest {
    std::optional<std::size_t> side;  ///< both if not given
    std::optional<std::string> range;
    std::string file = "timeline.svg";
};

FigureRequest figure_request(const Place& place, const Subject& subject) {
    FigureRequest request{std::nullopt, subject.of.range};
    for (const std::string& word : subject.words) {
        if (word == subject.of.programs[0].name || word == subject.of.programs[1].name)
            request.side = word == subject.of.programs[1].name;
        else if (word.rfind("range=", 0) == 0)
            request.range = word.substr(6);
        else if (word.rfind("file=", 0) == 0 && fs::path(word).extension() == ".svg")
            request.file = word.substr(5);
        else
            throw Error(
                fmt::format("{}: '{}' says nothing about a figure: {}, {}, range=NAME and file=NAME.svg do",
                            place.course.shown(place.file), word, subject.of.programs[0].name,
                            subject.of.programs[1].name));
    }
    return request;
}

std::string figure(const Place& place, const std::string& argument, Outputs& outputs) {
    const Subject subject = subject_of(place, argument);
    const Case& of = subject.of;
    const FigureRequest request = figure_request(place, subject);
    if (lacks_evidence(place.course, of)) return kNotRecorded;
    const CaseEvidence evidence = obtain(place.course, of, Source::recorded, kQuietly);
    std::vector<std::pair<const Trace*, TimelineOptions>> programs;
    for (std::size_t side = 0; side < of.programs.size(); ++side)
        if (!request.side || *request.side == side)
            programs.push_back(
                {&evidence.sides[side].trace(),
                 {of.programs[side].name + ".cu", evidence.label, request.range, request.side.has_value()}});
    const fs::path picture = place.course.root() / of.folder / request.file;
    if (outputs.count(picture))
        throw Error(fmt::format("{}: a second figure is drawn into {}; give it a name with file=NAME.svg",
                                place.course.shown(place.file), request.file));
    outputs[picture] = timeline_svg(build_timelines(programs));
    const std::string what =
        request.side ? of.programs[*request.side].name
                     : fmt::format("{} above {} on one time scale", of.programs[0].name, of.programs[1].name);
    const std::string where = request.range && request.side ? fmt::format(", range {}", *request.range) : "";
    return fmt::format("![Timeline of {}{}: NVTX ranges, streams, copies and idle time]({})\n", what, where,
                       picture.lexically_relative(place.file.parent_path()).string());
}

/// "pair buggy memcheck": the tool's first report on that program.
std::string report(const Place& place, const std::string& argument) {
    const Subject subject = subject_of(place, argument);
    const std::vector<Program>& programs = subject.of.programs;
    const bool second = subject.words.size() == 2 && subject.words[0] == programs[1].name;
    if (subject.words.size() != 2 || (!second && subject.words[0] != programs[0].name))
        throw Error(fmt::format("{}: a report is of {} or {} and a tool, as in 'pair {} memcheck'",
                                place.course.shown(place.file), programs[0].name, programs[1].name,
                                programs[0].name));
    if (lacks_evidence(place.course, subject.of)) return kNotRecorded;
    const Evidence evidence = open_recorded(place.course, programs[second ? 1 : 0]);
    const std::vector<ToolReport> reports = reports_in(evidence);
    const auto first = std::find_if(reports.begin(), reports.end(),
                                    [&](const ToolReport& r) { return r.tool == subject.words[1]; });
    if (first == reports.end())
        throw Error(fmt::format("{}: {} reports nothing on {}", place.course.shown(place.file),
                                subject.words[1], programs[second ? 1 : 0].file.string()));
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

bool ends_a_sentence(const std::string& title) {
    return !title.empty() && (title.back() == '?' || title.back() == '.');
}

/// How long a chapter takes, and what to know before one that is a draft.
std::string status(const Place& place) {
    const Chapter& chapter = chapter_of(place);
    std::string text =
        fmt::format("{} minutes for the case and its questions; the {} exercises take {} minutes more.\n{}\n",
                    chapter.minutes, chapter.exercises.size(), chapter.exercise_minutes(),
                    chapter.pair.draft ? "A GPU is needed." : "A GPU is needed only to see it live.");
    if (chapter.pair.draft)
        text +=
            "\n*A draft: its programs have not been recorded on a GPU yet. Until they are, its tables and "
            "pictures are empty,\nthere is no recorded run to look at, and its questions need a GPU of your "
            "own.*\n";
    return text;
}

/// What the fix changes, in one line: the finding that chapter.toml names as the headline.
std::string headline(const Course& course, const Chapter& chapter) {
    if (lacks_evidence(course, chapter.pair)) return "not recorded yet";
    const Finding* const finding = chapter.pair.finding(chapter.headline);
    if (!finding) return "";  // the chapter names none
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
    const Program& buggy = chapter.pair.programs[0];
    if (buggy.sanitizers.empty() || lacks_evidence(course, chapter.pair)) return "";
    const std::vector<ToolReport> reports = reports_in(open_recorded(course, buggy));
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
        table.add({fmt::format("[{}]({}){}{}", chapter.id, link.string(),
                               chapter.pair.draft ? " (a draft)" : "", glimpse(course, chapter, file)),
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
    for (const Case& e : chapter.exercises) {
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
    if (kind == "verification")
        return verification_markdown(place.course, read_verification(verification_file(place.course)));
    return chapter_table(place.course, place.file);
}

}  // namespace lab
