// lab docs: puts right the numbers in the text of Markdown files that docs_quotes.h is about, and fills their
// generated blocks:
//
//   <!-- measured: pair -->             the findings of the chapter's pair, from recorded evidence; also of
//                                       `exercise NAME` and `single NAME`
//   <!-- figure: pair -->               two timelines on one scale, in timeline.svg; also of `exercise NAME`
//   <!-- figure: pair fixed range=R from=1ms to=2ms file=F -->   one program's, zoomed to an NVTX range, or
//                                       to a part of it, in F; also first=KERNEL and recording=NAME
//   <!-- roofline: -->                  the chapter's roofline, or that of `exercise NAME`, in roofline.svg
//                                       beside the page, and its numbers in two folded tables
//   <!-- roofline: points=A|B roofs=C|D file=F -->   a picture of some points under two measured roofs, in F;
//                                       with "blank" the roofs alone, for a reader who places the points
//   <!-- report: pair buggy memcheck -->    the first report of a tool of compute-sanitizer, in its words
//   <!-- output: pair buggy nsys stats -->   all that a tool printed
//   <!-- ncu: pair buggy section=SpeedOfLight -->   a section of ncu's page Details, of the last launch that
//                                       was recorded; or lines=3, the source lines with the most samples
//   <!-- diff: buggy.cu fixed.cu -->    what changes between two files; with hunk=2 the second place alone
//   <!-- status: -->                    how long a chapter takes
//   <!-- exercises: -->                 the table of the chapter's exercises
//   <!-- chapters: -->                  the table of chapters
//   <!-- verification: -->              what `lab verify --save` found
//   <!-- questions: quiz ID ID -->      these questions of the quiz, or those of `look`; docs_slides.h says
//                                       more of these five, which slides are made of
//   <!-- answers: look -->              their answers
//   <!-- proof: ID ID -->               these findings of the chapter's pair
//   <!-- wrong: EXERCISE ANSWER -->     what a wrong answer changes
//   <!-- why: EXERCISE ANSWER -->       why it is wrong
//
// Each ends with <!-- /measured --> and so on; what stands between is replaced.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "core/files.h"
#include "core/process.h"
#include "core/table.h"
#include "core/terminal.h"
#include "core/text.h"
#include "course/case_evidence.h"
#include "draw/rows.h"
#include "draw/timeline.h"
#include "evidence/tool_results.h"
#include "lab/command.h"
#include "lab/docs_quotes.h"
#include "lab/docs_slides.h"
#include "lab/findings_table.h"
#include "lab/ncu_details.h"
#include "lab/rooflines.h"
#include "lab/verification.h"

namespace lab {

namespace {

/// Files to write, by path: the Markdown files and the pictures that they show.
using Outputs = std::map<fs::path, std::string>;

/// A Markdown file.
struct Page {
    const Course& course;
    fs::path file;
    const Chapter* chapter;  ///< the chapter that it belongs to, or null
    bool check = false;      ///< nothing is written, so nothing new has to be drawn

    /// A file of the course as a link from this page.
    [[nodiscard]] std::string link_to(const fs::path& target) const {
        return (course.root() / target).lexically_relative(file.parent_path()).string();
    }
};

/// Stands in a block whose case is a draft that has no evidence of today's programs yet.
const char* const kNotRecorded = "*Not recorded on a GPU yet, so nothing is claimed here.*\n";

void no_announcement(const std::string&) {}

const Chapter& chapter_of(const Page& page) {
    if (!page.chapter) throw Error("this page belongs to no chapter, so it has no pair");
    return *page.chapter;
}

/// "pair ...", "exercise NAME ..." or "single NAME": the case, and the words behind it.
struct Subject {
    const Case& of;
    std::vector<std::string> words;
};

Subject subject_of(const Page& page, const std::string& argument) {
    const Chapter& chapter = chapter_of(page);
    const std::vector<std::string> words = split(argument, ' ');
    if (words[0] == "pair") return {chapter.pair, {words.begin() + 1, words.end()}};
    const std::string name = words.size() > 1 ? words[1] : "";
    const Case* const found = words[0] == "exercise" ? chapter.exercise(name)
                              : words[0] == "single" ? chapter.single(name)
                                                     : nullptr;
    if (!found)
        throw Error(fmt::format("'{}' is neither 'pair' nor 'exercise NAME' nor 'single NAME'", argument));
    return {*found, {words.begin() + 2, words.end()}};
}

/// Is this a draft without evidence of today's programs? Where a case that is no draft lacks evidence,
/// opening it is an Error.
bool lacks_evidence(const Course& course, const Case& of) {
    return of.draft && !is_freshly_recorded(course, of.programs);
}

/// What gives a solution away is folded on the page of an exercise.
std::string folded(const Case& of, const std::string& what, const std::string& text) {
    if (of.kind != CaseKind::exercise) return text;
    return fmt::format("<details>\n<summary>{}: open it after your own try</summary>\n\n{}\n</details>\n",
                       what, text);
}

std::string measured(const Page& page, const std::string& argument, Outputs&) {
    const Case& of = subject_of(page, argument).of;
    if (lacks_evidence(page.course, of)) return kNotRecorded;
    const CaseEvidence evidence = obtain(page.course, of, Source::recorded, no_announcement);
    std::vector<FindingRow> rows = judge_case(of, evidence.sides);
    for (const FindingRow& row : rows)
        if (row.verdict != Verdict::pass)
            throw Error(fmt::format("{}: {}: {}", row.finding->where, row.finding->id, row.why(of.programs)),
                        kFindingFailed);
    return folded(of, "Starter and solution, measured",
                  findings_markdown(of, rows) + "\n*" + evidence.label + "*\n");
}

/// The picture that is there, if it was drawn from today's numbers; else a new one, or with `check` nothing.
std::string roofline_picture(const Page& page, const RooflineEvidence& roofline, const fs::path& svg) {
    const std::string there = fs::exists(svg) ? read_file(svg) : "";
    if (is_picture_of(there, roofline)) return there;
    if (page.check) return "";
    const TemporaryFolder scratch;
    const std::string missing = draw_roofline(page.course, roofline, scratch.path() / "roofline.svg");
    if (!missing.empty())
        throw Error(fmt::format("{} cannot be drawn: {}", page.course.shown(svg), missing), kNothingCouldRun);
    return read_file(scratch.path() / "roofline.svg");
}

/// The names behind "points=" and "roofs=", with a | between two and a + for each blank.
std::vector<std::string> names_in(const std::string& words) {
    return split(join(split(words, '+'), " "), '|');
}

/// Keeps the points and roofs of these names, the roofs as measured, and holds the points against them alone.
void keep_only(RooflineEvidence& roofline, const std::vector<std::string>& points,
               const std::vector<std::string>& roofs) {
    const auto is_other = [](const std::vector<std::string>& names) {
        return
            [&](const auto& each) { return std::find(names.begin(), names.end(), each.name) == names.end(); };
    };
    std::erase_if(roofline.points, is_other(points));
    std::erase_if(roofline.bandwidths, is_other(roofs));
    std::erase_if(roofline.computes, is_other(roofs));
    if (roofline.bandwidths.size() != 1 || roofline.computes.size() != 1 ||
        roofline.points.size() != points.size())
        throw Error("give points= that the roofline has, and as roofs= a bandwidth and a compute roof");
    roofline.bandwidths[0].theoretical = roofline.computes[0].theoretical = std::nullopt;
    for (MeasuredPoint& point : roofline.points)
        point.bandwidth = roofline.bandwidths[0].name, point.compute = roofline.computes[0].name;
}

/// "exercise NAME", or nothing for the chapter's; with "points=A|B roofs=C|D file=F" a picture of these
/// alone.
std::string roofline(const Page& page, const std::string& argument, Outputs& outputs) {
    const Chapter& chapter = chapter_of(page);
    const Case* const roofs = chapter.measures_roofs();
    if (!roofs) throw Error(fmt::format("{} has no program that measures roofs", chapter.id));
    const Case& of = argument.starts_with("exercise ") ? subject_of(page, argument).of : chapter.pair;
    if (lacks_evidence(page.course, *roofs) || lacks_evidence(page.course, of)) return kNotRecorded;
    const std::string exercise = &of == &chapter.pair ? "" : of.name;
    RooflineEvidence found = collect_points(page.course, chapter, exercise,
                                            open_recorded_roofs(page.course, chapter, exercise), false);
    if (!found.left_out.empty()) throw Error(found.left_out[0], kFindingFailed);
    std::string file = "roofline.svg";
    std::vector<std::string> kept_points, kept_roofs;
    for (const std::string& word : split(argument, ' ')) {
        if (word.starts_with("points=")) kept_points = names_in(word.substr(7));
        if (word.starts_with("roofs=")) kept_roofs = names_in(word.substr(6));
        if (word.starts_with("file=") && word.ends_with(".svg")) file = word.substr(5);
        if (word == "blank") found.blank = true;
    }
    const bool is_part = !kept_points.empty();
    if (is_part) keep_only(found, kept_points, kept_roofs);
    const fs::path svg = page.file.parent_path() / file;
    outputs[svg] = roofline_picture(page, found, svg);
    const std::string picture =
        fmt::format("![Roofline on logarithmic axes: measured roofs{}{}]({})\n",
                    is_part ? "" : ", theoretical ones dotted",
                    found.blank ? ", and no point yet" : ", a labelled point for each kernel", file);
    if (is_part) return picture;
    return fmt::format(
        "{}\n<details>\n<summary>All roofs and points, in numbers</summary>\n\n{}\n</details>\n\n*{}*\n",
        picture, roofline_tables(found, true), found.label);
}

/// The program that the first word names; null if none does.
const Program* program_named(const Case& of, const std::vector<std::string>& words) {
    for (const Program& program : of.programs)
        if (!words.empty() && program.name == words[0]) return &program;
    return nullptr;
}

/// "pair fixed range=solve to=2ms file=solve.svg": a program, or both if none is named; a range, with a + for
/// each blank, or "range=" for the whole run; a part of it, with "first=KERNEL" counted from the
/// kernel's first launch; "projected" for the ranges on the GPU; "recording=NAME"; and a file.
std::string figure(const Page& page, const std::string& argument, Outputs& outputs) {
    const auto [of, words] = subject_of(page, argument);
    std::optional<std::size_t> only;
    if (of.programs.size() == 1) only = 0;
    std::optional<std::string> range = of.range;
    std::string file = "timeline.svg", first, recording;
    std::optional<int64_t> from_ns, to_ns;
    bool projected = false;
    for (const std::string& word : words) {
        if (const Program* const program = program_named(of, {word}))
            only = static_cast<std::size_t>(program - of.programs.data());
        else if (word.starts_with("range="))
            range = word == "range=" ? std::nullopt : std::optional(join(split(word.substr(6), '+'), " "));
        else if (word == "projected")
            projected = true;
        else if (word.starts_with("first="))
            first = word.substr(6);
        else if (word.starts_with("recording="))
            recording = word.substr(10);
        else if (word.starts_with("from=-") && parse_ns(word.substr(6)))
            from_ns = -*parse_ns(word.substr(6));
        else if (word.starts_with("from=") && parse_ns(word.substr(5)))
            from_ns = parse_ns(word.substr(5));
        else if (word.starts_with("to=") && parse_ns(word.substr(3)))
            to_ns = parse_ns(word.substr(3));
        else if (word.starts_with("file=") && word.ends_with(".svg"))
            file = word.substr(5);
        else
            throw Error(fmt::format(
                "'{}' is no program, range=NAME, first=KERNEL, from=TIME, to=TIME, recording=NAME, projected "
                "or file=NAME.svg",
                word));
    }
    if (lacks_evidence(page.course, of)) return kNotRecorded;
    const CaseEvidence evidence = obtain(page.course, of, Source::recorded, no_announcement);
    std::vector<std::pair<const Trace*, TimelineOptions>> programs;
    std::vector<const Trace*> others;  // for one colour a kernel in all pictures of the case
    for (std::size_t side = 0; side < of.programs.size(); ++side) {
        const Evidence* const recorded = evidence.sides[side].recording(recording);
        if (!recorded) throw Error(fmt::format("there is no recording '{}'", recording));
        const Trace& trace = recorded->trace();
        if (!only || *only == side)
            programs.push_back({&trace,
                                {of.programs[side].file.filename().string(), evidence.label, range, projected,
                                 from_ns, to_ns, first}});
        else
            others.push_back(&trace);
    }
    const fs::path picture = page.course.root() / of.folder / file;
    if (outputs.count(picture))
        throw Error(fmt::format("a second figure is drawn into {}; give it a name with file=NAME.svg", file));
    outputs[picture] = timeline_svg(build_timelines(programs, others));
    const std::string what =
        only ? of.programs[*only].name
             : fmt::format("{} above {} on one time scale", of.programs[0].name, of.programs[1].name);
    const std::string link =
        fmt::format("![Timeline of {}{}: CUDA calls, NVTX ranges, kernels, copies and idle time]({})\n", what,
                    range && only ? ", range " + *range : "", page.link_to(picture));
    return only == std::size_t{0} ? link : folded(of, "The solution's timeline", link);
}

/// What a tool said, and where that is from.
std::string text_block(const std::string& text, const Evidence& evidence) {
    return fmt::format("```text\n{}\n```\n\n*{}*\n", text, source_label(evidence.provenance(), false));
}

/// "pair buggy memcheck": the tool's first report on that program.
std::string report(const Page& page, const std::string& argument, Outputs&) {
    const auto [of, words] = subject_of(page, argument);
    const Program* const program = program_named(of, words);
    if (words.size() != 2 || !program)
        throw Error(fmt::format("'{}' is no program and tool, as in 'pair buggy memcheck'", argument));
    if (lacks_evidence(page.course, of)) return kNotRecorded;
    const Evidence evidence = open_recorded(page.course, *program);
    for (const ToolReport& first : reports_in(evidence))
        if (first.tool == words[1]) return text_block(first.text, evidence);
    throw Error(fmt::format("{} reports nothing on {}", words[1], program->file.string()));
}

/// "pair buggy nsys stats": all that the tool printed, with its command line.
std::string output(const Page& page, const std::string& argument, Outputs&) {
    const auto [of, words] = subject_of(page, argument);
    const Program* const program = program_named(of, words);
    if (!program) throw Error(fmt::format("'{}' names no program", argument));
    if (lacks_evidence(page.course, of)) return kNotRecorded;
    const Evidence evidence = open_recorded(page.course, *program);
    if (value_of(evidence.provenance(), "outputs") != join(program->outputs, ", ")) return kNotRecorded;
    Statement row = evidence.database().prepare("SELECT command, text FROM TOOL_OUTPUT WHERE tool = ?");
    row.bind(1, join({words.begin() + 1, words.end()}, " "));
    if (!row.next()) throw Error(fmt::format("'{}' is no output that is kept; see `outputs`", argument));
    return text_block(fmt::format("$ {}\n{}", row.text(0), row.text(1)), evidence);
}

/// "pair buggy section=SpeedOfLight", "exercise NAME starter lines=3": of the last launch recorded.
std::string ncu_page(const Page& page, const std::string& argument, Outputs&) {
    const auto [of, words] = subject_of(page, argument);
    const Program* const program = program_named(of, words);
    if (!program) throw Error(fmt::format("'{}' names no program", argument));
    if (lacks_evidence(page.course, of)) return kNotRecorded;
    const Evidence evidence = open_recorded(page.course, *program);
    if (!evidence.was_run("ncu_details")) return "*ncu's sections of this program are not recorded yet.*\n";
    const std::vector<ProfiledLaunch> launches = profiled_launches_in(evidence);
    const auto value_of_word = [&words = words](const std::string& key) -> std::optional<std::string> {
        for (const std::string& word : words)
            if (word.starts_with(key)) return word.substr(key.size());
        return std::nullopt;
    };
    const auto section = value_of_word("section="), lines = value_of_word("lines=");
    std::string text;
    if (section && !launches.empty())
        text = section_text(launches.back(), *section, false);
    else if (lines && !launches.empty())
        text = hot_lines_text(launches.back(), std::strtoul(lines->c_str(), nullptr, 10));
    if (text.empty())
        throw Error(fmt::format("'{}' is no section= or lines= of a launch that was recorded", argument));
    return text_block(trim(text), evidence);
}

/// The place of this number, from 1, in what diff printed, from its line "@@ ..." on; of it the first lines,
/// if `most` is not 0.
std::string hunk_of(const std::string& text, std::size_t number, std::size_t most) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < number && begin != std::string::npos; ++i)
        begin = text.find("\n@@", begin + 1);
    if (number == 0 || begin == std::string::npos) throw Error(fmt::format("diff has no hunk={}", number));
    const std::size_t end = text.find("\n@@", begin + 1);
    std::vector<std::string> lines =
        split(text.substr(begin + 1, end == std::string::npos ? end : end - begin - 1), '\n');
    if (lines.back().empty()) lines.pop_back();
    if (most > 0 && lines.size() > most) lines.resize(most), lines.push_back(" …");
    return join(lines, "\n") + "\n";
}

/// The number behind "hunk=" in the last of these words, which is taken away; 0 if there is none.
std::size_t taken_number(std::vector<std::string>& words, const std::string& key) {
    if (words.empty() || !words.back().starts_with(key)) return 0;
    const std::size_t number = std::strtoul(words.back().substr(key.size()).c_str(), nullptr, 10);
    words.pop_back();
    return number;
}

/// "buggy.cu fixed.cu": what changes, but for the comments at the head, which tell the files apart in words.
std::string difference(const Page& page, const std::string& argument, Outputs&) {
    std::vector<std::string> words{"diff", "-U2", "-I", "^//", "-I", "^# "};
    std::vector<std::string> files = split(argument, ' ');
    const std::size_t lines = taken_number(files, "lines="), hunk = taken_number(files, "hunk=");
    for (const std::string& file : files) append(words, {"--label", file});
    append(words, files);
    const Outcome outcome = run({.words = words, .folder = page.file.parent_path()});
    if (outcome.exit_code != 1)
        throw Error(fmt::format("diff of {} shows nothing: {}", argument, outcome.err));
    return "```diff\n" + (hunk > 0 ? hunk_of(outcome.out, hunk, lines) : outcome.out) + "```\n";
}

/// How long a chapter takes, and what to know before one that is a draft.
std::string status(const Page& page, const std::string&, Outputs&) {
    const Chapter& chapter = chapter_of(page);
    const auto optional = std::count_if(chapter.exercises.begin(), chapter.exercises.end(),
                                        [](const Case& exercise) { return exercise.optional; });
    return fmt::format(
        "{} minutes for the case; {} minutes for its {} exercises{}. You need a GPU only to see "
        "it live.\n",
        chapter.minutes, chapter.exercise_minutes(), chapter.exercises.size(),
        optional ? fmt::format(", {} of them optional", optional) : "");
}

/// What the fix changes: the finding that chapter.toml names as the headline, before and after.
std::string headline(const Course& course, const Chapter& chapter, std::set<std::string>& gpus) {
    if (lacks_evidence(course, chapter.pair)) return "not recorded yet";
    const Finding* const finding = chapter.pair.finding(chapter.headline);
    if (!finding) return "";  // the chapter names none
    const CaseEvidence evidence = obtain(course, chapter.pair, Source::recorded, no_announcement);
    const auto measured = [&](std::size_t side) {
        return judge_finding(evidence.sides[side], *finding, side).measured;
    };
    gpus.insert(evidence.sides[0].provenance().at("gpu"));
    return fmt::format("{} → {}", measured(0).text(), measured(1).text_in(finding->unit));
}

/// Says what each chapter asks, and nothing of what its tool shows: no picture, and of the numbers the
/// headline.
std::string chapter_table(const Page& page, const std::string&, Outputs&) {
    Table table({"chapter", "question", "slow → fast", "minutes"},
                {Align::left, Align::left, Align::right, Align::right});
    std::set<std::string> gpus;
    for (const Chapter& chapter : page.course.chapters())
        table.add({fmt::format("[{}]({}){}", chapter.title, page.link_to(chapter.folder / "README.md"),
                               chapter.pair.draft ? " (a draft)" : ""),
                   chapter.question, headline(page.course, chapter, gpus),
                   fmt::format("{} + {}", chapter.minutes, chapter.exercise_minutes())});
    return fmt::format("{}\n*minutes: case + exercises; times recorded on {}*\n", table.markdown(),
                       gpus.empty() ? "no GPU yet" : join({gpus.begin(), gpus.end()}, ", "));
}

std::string exercise_table(const Page& page, const std::string&, Outputs&) {
    Table table({"exercise", "what you can do afterwards", "minutes"},
                {Align::left, Align::left, Align::right});
    for (const Case& e : chapter_of(page).exercises)
        table.add({fmt::format("[{} {}]({})", e.number, e.name, page.link_to(e.folder / "README.md")),
                   e.objective, std::to_string(e.minutes)});
    return table.markdown();
}

std::string verification(const Page& page, const std::string&, Outputs&) {
    return verification_markdown(page.course, read_verification(page.course));
}

std::string slide_questions(const Page& page, const std::string& argument, Outputs&) {
    return questions_block(chapter_of(page), argument);
}

std::string slide_answers(const Page& page, const std::string& argument, Outputs&) {
    return answers_block(page.course, chapter_of(page), argument);
}

std::string slide_proof(const Page& page, const std::string& argument, Outputs&) {
    return proof_block(page.course, chapter_of(page), argument);
}

std::string slide_wrong(const Page& page, const std::string& argument, Outputs&) {
    return wrong_block(page.course, chapter_of(page), argument);
}

std::string slide_why(const Page& page, const std::string& argument, Outputs&) {
    return why_block(chapter_of(page), argument);
}

using BlockText = std::string (*)(const Page&, const std::string& argument, Outputs&);

const std::map<std::string, BlockText> kBlocks{{"measured", measured},
                                               {"figure", figure},
                                               {"roofline", roofline},
                                               {"report", report},
                                               {"output", output},
                                               {"ncu", ncu_page},
                                               {"diff", difference},
                                               {"status", status},
                                               {"chapters", chapter_table},
                                               {"exercises", exercise_table},
                                               {"questions", slide_questions},
                                               {"answers", slide_answers},
                                               {"proof", slide_proof},
                                               {"wrong", slide_wrong},
                                               {"why", slide_why},
                                               {"verification", verification}};

/// The comment that begins a block: "<!-- kind: argument -->".
struct BlockBegin {
    std::string kind, argument;
};

/// The block that begins at this line, if one does.
std::optional<BlockBegin> block_at(const std::string& line) {
    const std::string text = trim(line);
    const std::size_t colon = text.find(':');
    if (!text.starts_with("<!-- ") || !text.ends_with("-->") || colon == std::string::npos)
        return std::nullopt;
    const std::string kind = text.substr(5, colon - 5);
    if (kBlocks.count(kind) == 0) return std::nullopt;
    return BlockBegin{kind, trim(text.substr(colon + 1, text.size() - colon - 4))};
}

/// A page with today's numbers in its text and its blocks.
std::string filled(const Page& page, Quotes& quotes, Outputs& outputs) {
    std::vector<std::string> result;
    const std::vector<std::string> lines = split(read_file(page.file), '\n');
    bool in_fence = false;
    std::size_t at = 0;
    try {
        for (; at < lines.size(); ++at) {
            if (trim(lines[at]).starts_with("```")) in_fence = !in_fence;
            result.push_back(in_fence ? lines[at] : quotes.filled(lines[at], page.chapter));
            const auto block = in_fence ? std::nullopt : block_at(lines[at]);
            if (!block) continue;
            const std::string closing = fmt::format("<!-- /{} -->", block->kind);
            std::size_t end = at + 1;
            while (end < lines.size() && trim(lines[end]) != closing) ++end;
            if (end == lines.size()) throw Error(fmt::format("the block is not closed by {}", closing));
            result.push_back("\n" + kBlocks.at(block->kind)(page, block->argument, outputs));
            at = end - 1;
        }
    } catch (const Error& problem) {
        throw Error(fmt::format("{}:{}: {}", page.course.shown(page.file), at + 1, problem.what()),
                    problem.exit_code);
    }
    return join(result, "\n");
}

/// The text of an exercise's page; the minutes in its heading become those of case.toml.
std::string with_minutes(const std::string& text, const Case& exercise) {
    static const std::regex minutes(R"(^(#[^\n]*\()\d+(?= minutes))");
    return std::regex_replace(text, minutes, fmt::format("$01{}", exercise.minutes),
                              std::regex_constants::format_first_only);
}

std::vector<fs::path> markdown_files(const Course& course) {
    std::vector<fs::path> files{course.root() / "README.md"};
    const auto add_below = [&](const fs::path& folder) {
        if (!fs::exists(folder)) return;
        for (const auto& entry : fs::recursive_directory_iterator(folder))
            if (entry.path().extension() == ".md") files.push_back(entry.path());
    };
    add_below(course.root() / "docs");
    for (const std::string& id : course.chapter_ids()) add_below(course.root() / id);
    return files;
}

int docs(bool check) {
    const Course course = Course::find();
    Outputs outputs;
    const std::vector<Chapter> chapters = course.chapters();
    Quotes quotes(course, chapters);
    for (const fs::path& file : markdown_files(course)) {
        const std::string top = file.lexically_relative(course.root()).begin()->string();
        const auto chapter = std::find_if(chapters.begin(), chapters.end(),
                                          [&](const Chapter& each) { return each.id == top; });
        const Page page{course, file, chapter == chapters.end() ? nullptr : &*chapter, check};
        outputs[file] = filled(page, quotes, outputs);
    }
    for (const Chapter& chapter : chapters)
        for (const Case& exercise : chapter.exercises) {
            const auto page = outputs.find(course.root() / exercise.folder / "README.md");
            if (page != outputs.end()) page->second = with_minutes(page->second, exercise);
        }
    int changed = 0;
    for (const auto& [path, contents] : outputs) {
        if (fs::exists(path) && read_file(path) == contents) continue;
        ++changed;
        if (!check) write_file(path, contents);
        fmt::print("{}\n", paragraph(course.shown(path) +
                                     (check ? " is not up to date; run ./lab docs" : " written")));
    }
    fmt::print("{} files looked at, {} {}\n", outputs.size(), changed, check ? "not up to date" : "written");
    return check && changed ? kFindingFailed : kFine;
}

}  // namespace

void add_docs(Session& session) {
    const auto check = std::make_shared<bool>(false);
    Subcommand command(session, "docs", "renew the generated blocks, numbers and figures of pages",
                       "harness/lab/docs.cpp lists the blocks, and docs_quotes.h says how a number in "
                       "the text names its finding. Only what has changed is written.\nExit code 1: with "
                       "--check, a file is not up to date.",
                       [check] { return docs(*check); });
    command.flag("--check", *check, "writes nothing; fails if something is not up to date");
}

}  // namespace lab
