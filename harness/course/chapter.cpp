#include "course/chapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "course/finding_reader.h"
#include "course/findings.h"
#include "course/toml_reader.h"
#include "evidence/sanitizer_report.h"

namespace lab {

namespace {

constexpr SideNames kPair{"buggy", "fixed"};
constexpr SideNames kExercise{"starter", "solution"};

const std::set<std::string> kTools{"nsys", "ncu", "compute-sanitizer"};

std::vector<std::string> read_sanitizers(TomlReader& toml, const std::string& key) {
    std::vector<std::string> tools = toml.texts_or_none(key);
    for (const std::string& tool : tools)
        if (std::find(kSanitizerTools.begin(), kSanitizerTools.end(), tool) == kSanitizerTools.end())
            toml.fail(fmt::format("there is no sanitizer tool '{}'", tool), key);
    return tools;
}

/// What is common to all programs of a chapter or exercise.
Program read_program_facts(TomlReader& toml) {
    Program program;
    program.flags = toml.texts_or_none("flags");
    program.library = toml.flag_or("library", false);
    program.arguments = toml.texts_or_none("arguments");
    program.check_arguments = toml.texts_or_none("check_arguments");
    program.sanitizers = read_sanitizers(toml, "sanitizers");
    program.ncu_metrics = toml.texts_or_none("ncu_metrics");
    program.ncu_options = toml.texts_or_none("ncu");
    if (!program.ncu_options.empty() && program.ncu_metrics.empty())
        toml.fail("'ncu' says how 'ncu_metrics' are collected, and there are none", "ncu");
    program.gpu_metrics = toml.texts_or_none("gpu_metrics");
    program.recording.nsys_options = toml.texts_or_none("nsys");
    for (TomlReader& block : toml.tables("recording")) {
        Recording further{block.text("name"), block.text_or("says", ""), block.texts_or_none("nsys"),
                          block.texts_or_none("arguments")};
        if (further.nsys_options.empty() && further.arguments.empty())
            block.fail(fmt::format("the recording '{}' has neither 'nsys' nor 'arguments'", further.name),
                       "name");
        if (program.recording_called(further.name))
            block.fail(fmt::format("a second recording is called '{}'", further.name), "name");
        block.expect_all_read();
        program.further.push_back(std::move(further));
    }
    return program;
}

/// Both programs of a case, alike but for their names.
void add_programs(Case& both, const Program& facts, const SideNames& sides, const fs::path& folder,
                  const fs::path& evidence_folder, const std::string& evidence_prefix) {
    for (std::size_t side = 0; side < 2; ++side) {
        both.programs[side] = facts;
        both.programs[side].name = sides[side];
        both.programs[side].source = folder / fmt::format("{}.cu", sides[side]);
        both.programs[side].evidence_folder = evidence_folder;
        both.programs[side].evidence_name = fmt::format("{}{}.sqlite", evidence_prefix, sides[side]);
    }
}

std::vector<std::string> read_needs(TomlReader& toml) {
    std::vector<std::string> needs = toml.texts("needs");
    for (const std::string& need : needs)
        if (!kTools.count(need))
            toml.fail(fmt::format("'{}' is no tool; there are {}", need, fmt::join(kTools, ", ")), "needs");
    return needs;
}

/// Why this cannot be asked of a recording; "" if it can. Only the plain recording has what ncu and
/// compute-sanitizer said.
std::string cannot_be_asked(const Program& program, const std::string& recording, const Asked& asked) {
    if (recording.empty()) return "";
    const Recording* const further = program.recording_called(recording);
    if (!further) return "which there is not";
    if (asked.trace && further->nsys_options.empty()) return "which has no words for nsys, and so no trace";
    if (asked.counters || asked.reports) return "which has a trace and what the program printed, and no more";
    return "";
}

void check_recordings(const TomlReader& toml, const Case& both) {
    for (const Finding& finding : both.findings) {
        const std::string why = cannot_be_asked(both.programs[0], finding.recording, asked_by(finding));
        if (!why.empty())
            toml.fail(fmt::format("finding '{}' is asked of the recording '{}', {}", finding.id,
                                  finding.recording, why));
    }
}

void check_findings_exist(const TomlReader& toml, const std::string& key, const std::vector<std::string>& ids,
                          const Case& programs) {
    for (const std::string& id : ids)
        if (std::none_of(programs.findings.begin(), programs.findings.end(),
                         [&](const Finding& f) { return f.id == id; }))
            toml.fail(fmt::format("there is no finding '{}'", id), key);
}

/// Has a wrong answer recorded for no more than its reasons: under nsys only if one of these findings asks
/// the trace, and in no further recording that none of them is asked of.
void record_for(const std::vector<std::string>& ids, const std::vector<Finding>& findings, Program& program) {
    const auto any = [&](const auto& asks) {
        return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
            return std::find(ids.begin(), ids.end(), finding.id) != ids.end() && asks(finding);
        });
    };
    program.traced = program.traced && any(asks_nsys);
    std::erase_if(program.further, [&](const Recording& recording) {
        return !any([&](const Finding& finding) { return finding.recording == recording.name; });
    });
}

/// Which of the two programs of the pair, or of an exercise if it is named, `side` says.
std::size_t read_side(TomlReader& toml, const Chapter& chapter, const std::string& exercise) {
    if (!exercise.empty() && !chapter.exercise(exercise))
        toml.fail(fmt::format("there is no exercise '{}'", exercise), "exercise");
    const SideNames& sides = exercise.empty() ? kPair : kExercise;
    const std::string side = toml.text("side");
    if (side != sides[0] && side != sides[1])
        toml.fail(fmt::format("'side' must be {} or {}", sides[0], sides[1]), "side");
    return side == sides[1];
}

Companion read_companion(TomlReader& toml, const Chapter& chapter) {
    Companion companion;
    Program& program = companion.program;
    program = read_program_facts(toml);
    if (!program.further.empty()) toml.fail("a companion has one recording only", "recording");
    program.name = toml.text("name");
    if (program.name == kPair[0] || program.name == kPair[1] || chapter.companion(program.name))
        toml.fail(fmt::format("a second program is called '{}'", program.name), "name");
    program.traced = toml.flag_or("traced", true);
    program.source = chapter.folder / (program.name + ".cu");
    program.evidence_folder = chapter.folder / "evidence";
    program.evidence_name = program.name + ".sqlite";
    companion.says = toml.text("says");
    companion.needs = read_needs(toml);
    companion.bandwidths = toml.texts_or_none("bandwidths");
    companion.computes = toml.texts_or_none("computes");
    if (companion.bandwidths.empty() != companion.computes.empty())
        toml.fail("a roofline shows both 'bandwidths' and 'computes'");
    if (!companion.bandwidths.empty() && chapter.measures_roofs())
        toml.fail("a second companion measures roofs", "bandwidths");
    companion.findings = read_findings(toml, kCompanion);
    if (!program.traced)
        for (const Finding& finding : companion.findings)
            if (asks_nsys(finding))
                toml.fail(fmt::format("finding '{}' is about a trace, and 'traced' is false", finding.id));
    toml.expect_all_read();
    return companion;
}

/// The place of a roof in the companion's list.
std::size_t read_roof(TomlReader& toml, const std::string& key, const std::vector<std::string>& roofs) {
    const std::string name = toml.text(key);
    const auto at = std::find(roofs.begin(), roofs.end(), name);
    if (at == roofs.end())
        toml.fail(fmt::format("no roof of this kind is called '{}'; there are: {}", name, join(roofs, ", ")),
                  key);
    return static_cast<std::size_t>(at - roofs.begin());
}

PointQuery read_points(TomlReader& toml, const Chapter& chapter) {
    const Companion* const roofs = chapter.measures_roofs();
    if (!roofs) toml.fail("points need roofs: no companion has 'bandwidths' and 'computes'");
    PointQuery points;
    points.exercise = toml.text_or("exercise", "");
    points.side = read_side(toml, chapter, points.exercise);
    points.bandwidth = read_roof(toml, "bandwidth", roofs->bandwidths);
    points.compute = read_roof(toml, "compute", roofs->computes);
    if (toml.has("range")) points.range = toml.text("range");
    points.sql = toml.text("sql");
    toml.expect_all_read();
    return points;
}

Exercise read_exercise(TomlReader& toml, const Chapter& chapter, int number) {
    Exercise exercise;
    exercise.number = number;
    exercise.name = toml.text("name");
    exercise.folder = chapter.folder / "exercises" / fmt::format("{}_{}", number, exercise.name);
    exercise.minutes = static_cast<int>(toml.integer("minutes"));
    exercise.objective = toml.text("objective");
    exercise.hints = toml.texts("hints");
    exercise.starter_fails = toml.texts("starter_fails");
    Case& programs = exercise.programs;
    programs.id = chapter.id + "/" + exercise.name;
    programs.title = toml.text("title");
    for (const Exercise& other : chapter.exercises)
        if (other.name == exercise.name)
            toml.fail(fmt::format("a second exercise is called '{}'", exercise.name), "name");
    programs.needs = toml.has("needs") ? read_needs(toml) : chapter.needs;
    add_programs(programs, read_program_facts(toml), kExercise, exercise.folder, chapter.folder / "evidence",
                 exercise.name + ".");
    programs.first_reports = read_sanitizers(toml, "starter_reports");
    if (toml.has("range")) programs.range = toml.text("range");
    programs.findings = read_findings(toml, kExercise);
    check_recordings(toml, programs);
    check_findings_exist(toml, "starter_fails", exercise.starter_fails, programs);
    if (exercise.starter_fails.empty()) toml.fail("the starter must fail some finding", "starter_fails");
    toml.expect_all_read();
    return exercise;
}

Question read_question(TomlReader& toml, const Chapter& chapter) {
    Question question;
    question.id = toml.text("id");
    question.asks = toml.text("asks");
    question.look = toml.text("look");
    question.exercise = toml.text_or("exercise", "");
    question.companion = toml.text_or("companion", "");
    if (question.companion.empty()) {
        question.side = read_side(toml, chapter, question.exercise);
    } else if (!question.exercise.empty() || !chapter.companion(question.companion)) {
        toml.fail(fmt::format("the chapter has no companion '{}'", question.companion), "companion");
    }
    const Program plain = chapter.program_of(question);
    question.recording = toml.text_or("recording", "");
    if (toml.has("range")) question.range = toml.text("range");
    question.sql = toml.text_or("sql", "");
    question.metric = toml.text_or("metric", "");
    check_question(toml, question.sql, question.metric);
    if (const std::string why = cannot_be_asked(plain, question.recording, asked_by(question)); !why.empty())
        toml.fail(fmt::format("it is asked of the recording '{}', {}", question.recording, why), "recording");
    question.unit = toml.text_or("unit", "");
    question.tolerance = toml.number_or("tolerance", 0);
    question.choices = toml.texts_or_none("choices");
    if (question.choices.size() == 1) toml.fail("one choice is no choice", "choices");
    toml.expect_all_read();
    return question;
}

}  // namespace

const Exercise* Chapter::exercise(const std::string& name) const {
    const auto at =
        std::find_if(exercises.begin(), exercises.end(), [&](const Exercise& e) { return e.name == name; });
    return at == exercises.end() ? nullptr : &*at;
}

const Companion* Chapter::companion(const std::string& name) const {
    const auto at = std::find_if(companions.begin(), companions.end(),
                                 [&](const Companion& c) { return c.program.name == name; });
    return at == companions.end() ? nullptr : &*at;
}

const Companion* Chapter::measures_roofs() const {
    const auto at = std::find_if(companions.begin(), companions.end(),
                                 [](const Companion& c) { return !c.bandwidths.empty(); });
    return at == companions.end() ? nullptr : &*at;
}

const Program& Chapter::program_of(const PointQuery& of) const {
    return (of.exercise.empty() ? pair : exercise(of.exercise)->programs).programs[of.side];
}

int Chapter::exercise_minutes() const {
    return std::accumulate(exercises.begin(), exercises.end(), 0,
                           [](int sum, const Exercise& e) { return sum + e.minutes; });
}

Program Chapter::program_of(const Question& asked) const {
    if (!asked.companion.empty()) return companion(asked.companion)->program;
    const Case& both = asked.exercise.empty() ? pair : exercise(asked.exercise)->programs;
    const Program& program = both.programs[asked.side];
    const Recording* const further = program.recording_called(asked.recording);
    return further ? program.recorded_as(*further) : program;
}

std::string short_chapter_id(const std::string& id) {
    return id.substr(0, id.find('_'));
}

Program Program::recorded_as(const Recording& other) const {
    Program program = *this;
    program.further.clear();
    program.recording.name = other.name;
    program.recording.arguments = other.arguments;
    program.traced = traced && !other.nsys_options.empty();
    append(program.recording.nsys_options, other.nsys_options);
    program.evidence_name = fs::path(evidence_name).stem().string() + "." + other.name + ".sqlite";
    return program;
}

std::vector<std::string> Program::run_arguments() const {
    std::vector<std::string> all = arguments;
    append(all, recording.arguments);
    return all;
}

const Recording* Program::recording_called(const std::string& other) const {
    const auto at =
        std::find_if(further.begin(), further.end(), [&](const Recording& r) { return r.name == other; });
    return at == further.end() ? nullptr : &*at;
}

std::vector<Program> all_recordings(const Program& program) {
    std::vector<Program> all{program};
    for (const Recording& further : program.further) all.push_back(program.recorded_as(further));
    return all;
}

std::string Case::said_by(const Finding& finding) const {
    return finding.recording.empty() ? finding.says
                                     : fmt::format("{} (recording {})", finding.says, finding.recording);
}

std::vector<std::string> Case::recordings_in_use() const {
    std::vector<std::string> lines;
    for (const Recording& further : programs[0].further) {
        const bool used = std::any_of(findings.begin(), findings.end(),
                                      [&](const Finding& f) { return f.recording == further.name; });
        if (!used || further.says.empty()) continue;
        const std::string with =
            further.arguments.empty() ? "" : fmt::format(" (`{}`)", join(further.arguments, " "));
        lines.push_back(fmt::format("{}: {}{}", further.name, further.says, with));
    }
    return lines;
}

std::string Case::text_of(const Quotient& quotient) const {
    return fmt::format("{} / {} {}", programs[1 - quotient.over].name, programs[quotient.over].name,
                       quotient.expected.text);
}

Chapter read_chapter(const fs::path& root, const std::string& folder) {
    TomlReader toml = TomlReader::parse_file(root / folder / "chapter.toml");
    Chapter chapter;
    chapter.id = folder;
    chapter.short_id = short_chapter_id(folder);
    chapter.folder = folder;
    chapter.title = toml.text("title");
    chapter.question = toml.text("question");
    chapter.minutes = static_cast<int>(toml.integer("minutes"));
    chapter.objectives = toml.texts("objectives");
    chapter.draft = toml.flag_or("draft", false);
    chapter.needs = read_needs(toml);
    chapter.pair.id = folder;
    chapter.pair.title = chapter.title;
    chapter.pair.needs = chapter.needs;
    add_programs(chapter.pair, read_program_facts(toml), kPair, chapter.folder, chapter.folder / "evidence",
                 "");
    chapter.pair.first_reports = read_sanitizers(toml, "buggy_reports");
    if (toml.has("range")) chapter.pair.range = toml.text("range");
    chapter.pair.findings = read_findings(toml, kPair);
    check_recordings(toml, chapter.pair);
    for (TomlReader& block : toml.tables("companion"))
        chapter.companions.push_back(read_companion(block, chapter));
    chapter.headline = toml.text_or("headline", "");
    if (!chapter.headline.empty()) check_findings_exist(toml, "headline", {chapter.headline}, chapter.pair);
    for (TomlReader& block : toml.tables("exercise")) {
        const int number = static_cast<int>(chapter.exercises.size()) + 1;
        const Exercise exercise = read_exercise(block, chapter, number);
        if (chapter.exercise(exercise.name))
            block.fail(fmt::format("a second exercise is called '{}'", exercise.name), "name");
        chapter.exercises.push_back(exercise);
    }
    for (TomlReader& block : toml.tables("point")) chapter.points.push_back(read_points(block, chapter));
    std::set<std::string> questions;
    for (TomlReader& block : toml.tables("quiz")) {
        chapter.quiz.push_back(read_question(block, chapter));
        if (!questions.insert(chapter.quiz.back().id).second)
            block.fail(fmt::format("a second question is called '{}'", chapter.quiz.back().id), "id");
    }
    toml.expect_all_read();
    return chapter;
}

std::vector<WrongAnswer> read_wrong_answers(const fs::path& root, const Chapter& chapter) {
    const fs::path folder = fs::path("harness/tests/wrong") / chapter.id;
    std::vector<WrongAnswer> answers;
    if (!fs::exists(root / folder / "wrong.toml")) return answers;
    TomlReader toml = TomlReader::parse_file(root / folder / "wrong.toml");
    for (TomlReader& block : toml.tables("wrong")) {
        WrongAnswer answer;
        answer.exercise = block.text("exercise");
        const Exercise* exercise = chapter.exercise(answer.exercise);
        if (!exercise) block.fail(fmt::format("there is no exercise '{}'", answer.exercise), "exercise");
        answer.why = block.text("why");
        answer.fails = block.texts("fails");
        check_findings_exist(block, "fails", answer.fails, exercise->programs);
        answer.program = exercise->programs.programs[0];
        record_for(answer.fails, exercise->programs.findings, answer.program);
        const fs::path file = block.text("file");
        answer.program.name = file.stem().string();
        answer.program.source = folder / fmt::format("{}_{}", exercise->number, exercise->name) / file;
        answer.program.evidence_folder = folder / "evidence";
        answer.program.evidence_name = fmt::format("{}.{}.sqlite", answer.exercise, answer.program.name);
        block.expect_all_read();
        answers.push_back(std::move(answer));
    }
    toml.expect_all_read();
    return answers;
}

}  // namespace lab
