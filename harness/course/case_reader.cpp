#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "course/case.h"
#include "course/toml_reader.h"
#include "evidence/analysis.h"
#include "tools/workspace.h"

namespace lab {

namespace {

[[noreturn]] void fail_at(const fs::path& file, std::size_t line, const std::string& sentence) {
    throw Error(fmt::format("{}:{}: {}", file.string(), line, sentence));
}

/// What case.toml calls its programs; a single program's findings say `expect`.
std::vector<std::string> sides_of(CaseKind kind) {
    if (kind == CaseKind::single) return {"expect"};
    if (kind == CaseKind::pair || kind == CaseKind::python) return {"buggy", "fixed"};
    return {"starter", "solution"};
}

std::vector<std::string> read_sanitizers(TomlReader& toml, const std::string& key) {
    std::vector<std::string> tools = toml.texts_or_none(key);
    for (const std::string& tool : tools)
        if (std::find(kSanitizerTools.begin(), kSanitizerTools.end(), tool) == kSanitizerTools.end())
            toml.fail(fmt::format("there is no sanitizer tool '{}'", tool), key);
    return tools;
}

/// The libraries of Python that the programs import; none if they are CUDA C++.
std::vector<std::string> read_libraries(TomlReader& toml, CaseKind kind) {
    if (kind == CaseKind::exercise && !toml.has("library")) return {};
    const std::vector<std::string> names = split(toml.text("library"), ' ');
    for (const std::string& name : names)
        if (name.empty() ||
            name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") != std::string::npos)
            toml.fail(fmt::format("'{}' is no name that Python can import", name), "library");
    return names;
}

/// Do the programs record themselves? Else nsys does.
bool read_profiler(TomlReader& toml, const Program& program) {
    if (!toml.has("profiler")) return false;
    if (toml.text("profiler") != kTorchProfiler || program.libraries != std::vector<std::string>{"torch"} ||
        !program.further.empty())
        toml.fail(fmt::format("'profiler' may be '{}', where the library is torch, and there is no further "
                              "recording",
                              kTorchProfiler),
                  "profiler");
    return true;
}

/// What all programs of a case have in common.
Program read_program_facts(TomlReader& toml) {
    Program program;
    program.arguments = toml.texts_or_none("arguments");
    program.check_arguments = toml.texts_or_none("check_arguments");
    program.sanitizers = read_sanitizers(toml, "sanitizers");
    program.ncu_metrics = toml.texts_or_none("ncu_metrics");
    program.ncu_options = toml.texts_or_none("ncu");
    program.ncu_details = toml.texts_or_none("ncu_details");
    if (!program.ncu_details.empty() && program.ncu_metrics.empty())
        toml.fail("'ncu_details' needs 'ncu_metrics': ncu counts first", "ncu_details");
    program.outputs = toml.texts_or_none("outputs");
    for (const std::string& tool : program.outputs)
        if (!tool.starts_with("nsys stats") && !tool.starts_with("nsys analyze") &&
            std::find(kSanitizerTools.begin(), kSanitizerTools.end(), tool) == kSanitizerTools.end())
            toml.fail(fmt::format("there is no output of '{}' to keep", tool), "outputs");
    program.traced = toml.flag_or("traced", true);
    program.recording.nsys_options = toml.texts_or_none("nsys");
    program.recording.gpu_metrics = toml.texts_or_none("gpu_metrics");
    for (TomlReader& block : toml.tables("recording")) {
        Recording further{block.text("name"),
                          block.text_or("says", ""),
                          block.texts_or_none("nsys"),
                          block.texts_or_none("arguments"),
                          block.texts_or_none("gpu_metrics"),
                          block.flag_or("draft", false)};
        if (program.recording_called(further.name))
            block.fail(fmt::format("a second recording is called '{}'", further.name), "name");
        block.expect_all_read();
        program.further.push_back(std::move(further));
    }
    return program;
}

/// Why this cannot be asked of a recording; "" if it can. Only the plain recording has what ncu and
/// compute-sanitizer said.
std::string cannot_be_asked(const Program& program, const std::string& recording, const Needs& needs) {
    if (needs.trace && recording.empty() && !program.traced) return "needs a trace, and 'traced' is false";
    if (needs.details && program.ncu_details.empty())
        return "needs ncu's sections or source lines, and 'ncu_details' chooses no launches";
    if (recording.empty()) return "";
    const Recording* const further = program.recording_called(recording);
    if (!further) return fmt::format("is asked of the recording '{}', which there is not", recording);
    if (needs.trace && !further->traces())
        return fmt::format("needs a trace, and the recording '{}' has no options for nsys", recording);
    if (needs.counters || needs.details || needs.reports || needs.code || needs.dumps)
        return fmt::format("needs another tool than nsys, and the recording '{}' has none", recording);
    return "";
}

Expectation read_expectation(TomlReader& toml, const std::string& key) {
    const std::string text = toml.text(key);
    try {
        return Expectation::parse(text);
    } catch (const Error& problem) {
        toml.fail(problem.what(), key);
    }
}

/// "fixed_over_buggy" or "buggy_over_fixed", if the finding compares the two programs.
std::optional<Ratio> read_ratio(TomlReader& block, const std::vector<std::string>& sides) {
    for (std::size_t divisor = 0; sides.size() == 2 && divisor < 2; ++divisor) {
        const std::string key = fmt::format("{}_over_{}", sides[1 - divisor], sides[divisor]);
        if (block.has(key)) return Ratio{divisor, read_expectation(block, key)};
    }
    return std::nullopt;
}

/// Reads a [[finding]], or a table of [shown] by its name.
Finding read_finding(TomlReader& block, const Case& of, const std::string& shown) {
    Finding finding;
    finding.id = shown.empty() ? block.text("id") : shown;
    finding.where = block.where();
    finding.says = block.text("says");
    finding.unit = block.text_or("unit", "");
    finding.recording = block.text_or("recording", "");
    finding.key = block.flag_or("key", false);
    finding.query = read_query(block, of, finding.recording);
    const Recording* const recording = of.programs[0].recording_called(finding.recording);
    finding.draft = recording && recording->draft;
    if (shown.empty()) {
        const std::vector<std::string> sides = sides_of(of.kind);
        finding.margin = block.number_or("margin", 0);
        finding.may_fail = block.flag_or("may_fail", false);
        finding.draws = block.integers_or_none("draws");
        if (!finding.draws.empty() && of.exercise_kind != ExerciseKind::unknown)
            block.fail("only an exercise of kind unknown has draws", "draws");
        finding.ratio = read_ratio(block, sides);
        if (finding.ratio && finding.margin <= 0)
            block.fail("a comparison of the two programs is of measured times, so it needs a 'margin'");
        for (std::size_t side = 0; !finding.ratio && side < sides.size(); ++side)
            if (block.text(sides[side]) != kAny) finding.expect[side] = read_expectation(block, sides[side]);
        if (!finding.asserted())
            block.fail("it demands nothing: a finding that only shows stands in [shown]");
    } else {
        finding.may_be_missing = block.flag_or("may_be_missing", false);
    }
    block.expect_all_read();
    return finding;
}

/// Every program's own check is the first finding: a fast wrong answer is no answer.
Finding read_answer(TomlReader& toml, const Case& of) {
    Finding finding;
    finding.id = "answer";
    finding.says = "exit code of the program, which checks its own answer";
    finding.where = toml.where();
    finding.query.sql = "SELECT exit_code FROM PROGRAM";
    finding.query.needs.run = true;
    finding.expect = {Expectation::parse("== 0"), Expectation::parse("== 0")};
    const std::string key = sides_of(of.kind)[kFaulty] + "_answer";
    if (toml.has(key)) finding.expect[kFaulty] = read_expectation(toml, key);
    return finding;
}

/// With `each = ["a", "b"]` a block is a finding for each of these names, which replaces {} in its id,
/// sentence, range and SQL.
std::vector<Finding> one_for_each(const std::vector<std::string>& names, const Finding& finding) {
    if (names.empty()) return {finding};
    std::vector<Finding> all(names.size(), finding);
    for (std::size_t i = 0; i < names.size(); ++i)
        for (std::string* text : {&all[i].id, &all[i].says, &all[i].query.sql,
                                  all[i].query.range ? &*all[i].query.range : nullptr})
            for (std::size_t at = 0; text && (at = text->find("{}", at)) != std::string::npos;
                 at += names[i].size())
                text->replace(at, 2, names[i]);
    return all;
}

std::vector<Finding> read_findings(TomlReader& toml, const Case& of) {
    std::vector<Finding> findings{read_answer(toml, of)};
    const auto add = [&](TomlReader& block, const std::string& shown) {
        const std::vector<std::string> names = block.texts_or_none("each");
        for (Finding& finding : one_for_each(names, read_finding(block, of, shown))) {
            for (const Finding& other : findings)
                if (other.id == finding.id)
                    block.fail(fmt::format("a second finding is called '{}'", other.id));
            findings.push_back(std::move(finding));
        }
    };
    for (TomlReader& block : toml.tables("finding")) add(block, "");
    if (findings.size() == 1) toml.fail("a case has a [[finding]] beside the program's own answer");
    for (auto& [name, block] : toml.named_tables("shown")) add(block, name);
    const auto key = std::count_if(findings.begin(), findings.end(), [](const Finding& f) { return f.key; });
    if (key > 5) toml.fail(fmt::format("{} findings are 'key': at most five rows are shown first", key));
    return findings;
}

std::vector<PointQuery> read_points(TomlReader& toml, const Case& of) {
    std::vector<PointQuery> all;
    for (TomlReader& block : toml.tables("point")) {
        all.push_back({read_side(block, of), block.text("bandwidth"), block.text("compute"),
                       read_query(block, of, ""), block.where()});
        block.expect_all_read();
    }
    return all;
}

/// "4_seismometers" as 4 and "seismometers"; an Error for a folder of another form.
std::pair<int, std::string> number_and_name(const fs::path& folder) {
    const std::string text = folder.filename().string();
    const std::size_t bar = text.find('_');
    const int number = std::atoi(text.c_str());
    if (number < 1 || bar == std::string::npos)
        fail_at(folder / "case.toml", 1,
                "the folder of an exercise is called by its number and its name, as in 4_seismometers");
    return {number, text.substr(bar + 1)};
}

/// A wrong answer is recorded for its reasons alone: under nsys only if one of these findings needs the
/// trace, and only in the further recordings of these findings.
void record_for(const std::vector<std::string>& ids, const Case& of, Program& program) {
    const auto any = [&](const auto& needs) {
        return std::any_of(ids.begin(), ids.end(),
                           [&](const std::string& id) { return needs(*of.finding(id)); });
    };
    program.traced =
        program.traced && any([](const Finding& f) { return f.query.needs.nsys || f.query.needs.trace; });
    std::erase_if(program.further, [&](const Recording& recording) {
        return !any([&](const Finding& f) { return f.recording == recording.name; });
    });
}

/// Reads the lines in front of a patch's "---": "why: ...", which may have more lines, and of a wrong answer
/// "fails: one, two".
Answer read_answer(const fs::path& file, const std::vector<std::string>& lines, const Case& of,
                   bool is_right) {
    Answer answer;
    std::size_t at = 0;
    for (; at < lines.size() && !lines[at].starts_with("--- "); ++at) {
        const std::string& line = lines[at];
        if (line.starts_with("fails:") && !is_right) {
            for (const std::string& id : split(line.substr(6), ',')) {
                answer.fails.push_back(trim(id));
                if (!of.finding(trim(id)))
                    fail_at(file, at + 1, fmt::format("there is no finding '{}'", trim(id)));
            }
        } else if (line.starts_with("draw:")) {
            continue;  // it has led to `of`
        } else if (line.starts_with("why:")) {
            answer.why = trim(line.substr(4));
        } else if (!answer.why.empty()) {
            answer.why += " " + trim(line);
        } else {
            break;
        }
    }
    if (answer.fails.empty() != is_right || answer.why.empty())
        fail_at(file, at + 1,
                is_right ? "the patch of a right answer begins with 'why: SENTENCE'"
                         : "a patch begins with 'fails: FINDING, FINDING' and 'why: SENTENCE'");
    const std::string base = at < lines.size() ? trim(lines[at].substr(4, lines[at].find('\t') - 4)) : "";
    if (std::none_of(of.programs.begin(), of.programs.end(),
                     [&](const Program& p) { return p.file.filename() == base; }))
        fail_at(file, at + 1,
                fmt::format("a patch changes {0} or {1}, so it begins with '--- {0}'",
                            of.programs[kFaulty].file.filename().string(),
                            of.programs[kRight].file.filename().string()));
    answer.program = of.programs[is_right ? kRight : kFaulty];
    answer.program.name = file.stem().string();
    answer.program.file = file;
    answer.program.base = of.folder / base;
    if (!of.asks_details_of_answers()) answer.program.ncu_details.clear();
    answer.program.outputs.clear();
    if (!is_right) record_for(answer.fails, of, answer.program);
    return answer;
}

/// The case that a patch answers, by its line "draw: 2"; without one the first.
Case& answered_by(const fs::path& file, const std::vector<std::string>& lines, std::vector<Case>& draws) {
    for (std::size_t i = 0; i < lines.size() && !lines[i].starts_with("--- "); ++i) {
        if (!lines[i].starts_with("draw:")) continue;
        for (Case& each : draws)
            if (each.draw > 0 && trim(lines[i].substr(5)) == std::to_string(each.draw)) return each;
        fail_at(file, i + 1, fmt::format("there is no draw '{}'", trim(lines[i].substr(5))));
    }
    return draws.front();
}

/// Reads the patches of an exercise, by name, into the draw that each is an answer to.
void read_answers(const fs::path& root, std::vector<Case>& draws) {
    for (const bool is_right : {false, true}) {
        const fs::path folder = draws.front().folder / (is_right ? "right" : "wrong");
        std::set<fs::path> files;
        std::error_code missing;
        for (const auto& entry : fs::directory_iterator(root / folder, missing))
            if (entry.path().extension() == ".patch") files.insert(folder / entry.path().filename());
        for (const fs::path& file : files) {
            const std::vector<std::string> lines = split(read_file(root / file), '\n');
            Case& of = answered_by(file, lines, draws);
            (is_right ? of.right : of.wrong).push_back(read_answer(file, lines, of, is_right));
        }
    }
    for (const Case& of : draws) {
        std::set<std::string> names;
        for (const Program& program : of.all_programs())
            if (!names.insert(program.name).second)
                fail_at(of.folder / "case.toml", 1, fmt::format("two answers are called '{}'", program.name));
    }
}

/// A gate that rejects everything for one reason shows little.
void expect_several_reasons(const Case& of) {
    std::set<std::vector<std::string>> reasons;
    for (const Answer& wrong : of.wrong) reasons.insert(wrong.fails);
    for (const Case& draw : of.further_draws)
        for (const Answer& wrong : draw.wrong) reasons.insert(wrong.fails);
    if (reasons.size() < 2 && !of.draft)
        fail_at(of.folder / "case.toml", 1,
                fmt::format("an exercise has wrong answers that fail for two different reasons at least; "
                            "{} has {} in wrong/*.patch",
                            of.name, reasons.size()));
}

ExerciseKind read_exercise_kind(TomlReader& toml) {
    const std::string word = toml.text_or("kind", "guided");
    for (const ExerciseKind kind : {ExerciseKind::guided, ExerciseKind::find, ExerciseKind::unknown})
        if (word == to_string(kind)) return kind;
    toml.fail(fmt::format("'{}' is no kind of exercise: guided, find or unknown", word), "kind");
}

void read_exercise_facts(TomlReader& toml, Case& exercise) {
    exercise.exercise_kind = read_exercise_kind(toml);
    exercise.minutes = static_cast<int>(toml.integer("minutes"));
    exercise.objective = toml.text("objective");
    exercise.hints = toml.texts("hints");
    exercise.formerly = toml.texts_or_none("formerly");
    exercise.starter_fails = toml.texts_or_none("starter_fails");
    if (exercise.hints.empty()) toml.fail("an exercise has hints", "hints");
}

/// The questions of an exercise, whose answers no page gives. All are about the starter.
std::vector<Question> read_diagnosis(TomlReader& toml, const Case& of) {
    std::vector<Question> all;
    for (TomlReader& block : toml.tables("diagnosis"))
        add_question(all, read_question(block, of, Question::diagnosis), block);
    const bool is_asked = of.kind == CaseKind::exercise && of.exercise_kind != ExerciseKind::guided;
    if (is_asked != !all.empty())
        toml.fail("an exercise of the kinds find and unknown asks for the diagnosis, and no other", "kind");
    return all;
}

/// What a draw adds to an exercise of kind unknown.
struct Draw {
    std::vector<std::string> arguments, starter_fails;
};

std::vector<Draw> read_draws(TomlReader& toml, const Case& of) {
    std::vector<Draw> draws;
    for (TomlReader& block : toml.tables("draw")) {
        draws.push_back({block.texts("arguments"), block.texts_or_none("starter_fails")});
        block.expect_all_read();
    }
    const bool is_unknown = of.kind == CaseKind::exercise && of.exercise_kind == ExerciseKind::unknown;
    if (is_unknown ? draws.size() < 2 : !draws.empty())
        toml.fail("an exercise of kind unknown has two draws or more, and no other has any", "kind");
    const int count = static_cast<int>(draws.size());
    for (const Finding& finding : of.findings)
        for (const int draw : finding.draws)
            if (draw < 1 || draw > count)
                throw Error(
                    fmt::format("{}: there is no draw {}; there are 1 to {}", finding.where, draw, count));
    return draws;
}

/// The exercise as one of its draws, by the draw's number. A starter without the fault that a finding is
/// about is as good there as the solution.
Case as_draw(Case of, const Draw& draw, int number) {
    of.draw = number;
    of.id += fmt::format(":{}", number);
    append(of.starter_fails, draw.starter_fails);
    for (Program& program : of.programs) {
        program.draw = number;
        append(program.arguments, draw.arguments);
        append(program.check_arguments, draw.arguments);
    }
    for (Question& question : of.diagnosis) question.about = fmt::format("{}:{}", of.name, number);
    const auto is_elsewhere = [&](const Finding& finding) {
        return !finding.draws.empty() &&
               std::find(finding.draws.begin(), finding.draws.end(), number) == finding.draws.end();
    };
    for (Finding& finding : of.findings)
        if (is_elsewhere(finding) && finding.expect[kRight]) finding.expect[kFaulty] = finding.expect[kRight];
    // Here the two programs have nothing to differ in.
    std::erase_if(of.findings, [&](const Finding& f) { return is_elsewhere(f) && !f.expect[kRight]; });
    return of;
}

void check_starter_fails(TomlReader& toml, const Case& exercise) {
    if (exercise.starter_fails.empty()) toml.fail("the starter must fail some finding", "starter_fails");
    for (const std::string& id : exercise.starter_fails)
        if (!exercise.finding(id)) toml.fail(fmt::format("there is no finding '{}'", id), "starter_fails");
}

CaseKind kind_of(const std::string& chapter, const fs::path& folder) {
    if (folder == chapter) return CaseKind::pair;
    if (folder.filename() == "python" || folder.parent_path().filename() == "python") return CaseKind::python;
    return folder.parent_path().filename() == "exercises" ? CaseKind::exercise : CaseKind::single;
}

void add_programs(Case& of, const Program& facts, const fs::path& root) {
    for (const std::string& side : sides_of(of.kind)) {
        Program& program = of.programs.emplace_back(facts);
        program.name = of.kind == CaseKind::single ? of.name : side;
        program.file = of.folder / (program.name + (program.is_python() ? ".py" : ".cu"));
        program.evidence_folder = of.folder / "evidence";
        program.flags = lines_of_flags(root / of.folder / "nvcc.flags");
        if (!fs::exists(root / program.file))
            fail_at(of.folder / "case.toml", 1,
                    fmt::format("the program {} is missing", program.file.string()));
    }
}

}  // namespace

std::size_t read_side(TomlReader& toml, const Case& of) {
    const std::string side = toml.text("side");
    std::vector<std::string> names;
    for (const Program& program : of.programs) {
        if (program.name == side) return names.size();
        names.push_back(program.name);
    }
    toml.fail(fmt::format("'side' must be {}", join(names, " or ")), "side");
}

Query read_query(TomlReader& toml, const Case& of, const std::string& recording) {
    Query query{toml.text_or("sql", ""), toml.text_or("metric", ""), toml.text_if("range"), {}, {}};
    if (query.sql.empty() == query.metric.empty()) toml.fail("a question needs either 'sql' or 'metric'");
    if (query.metric.empty()) {
        if (!of.with.empty())
            query.sql = "WITH " + of.with +
                        (query.sql.starts_with("WITH ") ? ", " + query.sql.substr(5) : " " + query.sql);
        try {
            query.needs = needs_of_sql(query.sql);
        } catch (const Error& problem) {
            toml.fail(problem.what(), "sql");
        }
    } else {
        const auto& known = metric_names();
        if (std::find(known.begin(), known.end(), query.metric) == known.end())
            toml.fail(fmt::format("there is no metric '{}'; there are {}", query.metric, join(known, ", ")),
                      "metric");
        query.needs.narrows = query.needs.trace = true;
    }
    if (!query.range && query.needs.narrows) query.range = of.range;
    if (query.range && query.range->empty()) query.range.reset();  // the whole capture
    query.needs.trace |= query.range.has_value();
    query.needs.nsys |= query.needs.trace;
    if (of.programs[0].profiles_itself) query.needs.nsys = false;
    if (query.needs.reports) {
        // A program that memcheck faults breaks off under racecheck, which then says nothing.
        for (const std::string& tool : of.programs[0].sanitizers)
            if (query.sql.find("'" + tool + "'") != std::string::npos) query.sanitizers.push_back(tool);
        if (query.sanitizers.empty()) query.sanitizers = of.programs[0].sanitizers;
    }
    if (query.needs.reports && query.sanitizers.empty())
        toml.fail("it asks compute-sanitizer, and 'sanitizers' names no tool");
    if (const std::string why = cannot_be_asked(of.programs[0], recording, query.needs); !why.empty())
        toml.fail("the question " + why, recording.empty() ? "" : "recording");
    return query;
}

Question read_question(TomlReader& toml, const Case& about, Question::Purpose purpose) {
    Question question;
    question.purpose = purpose;
    question.where = toml.where();
    question.id = toml.text("id");
    question.asks = toml.text("asks");
    question.look = toml.text("look");
    if (about.kind != CaseKind::pair) question.about = about.name;
    question.why = toml.text_or("why", "");
    if (about.programs.size() > 1 && purpose == Question::quiz) question.side = read_side(toml, about);
    question.recording = toml.text_or("recording", "");
    question.query = read_query(toml, about, question.recording);
    question.unit = toml.text_or("unit", "");
    question.tolerance = toml.number_or("tolerance", 0);
    question.choices = toml.texts_or_none("choices");
    question.wants_text = toml.flag_or("text", false);
    if (purpose == Question::quiz) question.instead_of = toml.text_or("instead_of", "");
    toml.expect_all_read();
    return question;
}

void add_question(std::vector<Question>& all, Question question, const TomlReader& toml) {
    const auto find = [&](const std::string& id) {
        return std::find_if(all.begin(), all.end(), [&](const Question& q) { return q.id == id; });
    };
    if (find(question.id) != all.end())
        toml.fail(fmt::format("a second question is called '{}'", question.id), "id");
    if (!question.instead_of.empty()) {
        const auto before = find(question.instead_of);
        if (before == all.end() || !before->instead_of.empty())
            toml.fail(fmt::format("no question '{}' stands above this one", question.instead_of),
                      "instead_of");
    }
    all.push_back(std::move(question));
}

const char* to_string(ExerciseKind kind) {
    constexpr const char* kWords[] = {"guided", "find", "unknown"};
    return kWords[static_cast<std::size_t>(kind)];
}

Needs Case::needs() const {
    Needs all;
    for (const Finding& finding : findings) all |= finding.query.needs;
    return all;
}

bool Case::asks_details_of_answers() const {
    return std::any_of(findings.begin(), findings.end(),
                       [](const Finding& f) { return f.query.needs.details && f.asserts(kRight); });
}

const Finding* Case::finding(const std::string& finding_id) const {
    for (const Finding& finding : findings)
        if (finding.id == finding_id) return &finding;
    return nullptr;
}

std::string Case::argument() const {
    return draw > 0 ? fmt::format("{}:{}", name, draw) : name;
}

std::vector<std::string> Case::subjects() const {
    std::vector<std::string> all{id};
    for (const std::string& old : formerly) all.push_back(folder.begin()->string() + "/" + old);
    return all;
}

const Case* Case::drawn(int wanted) const {
    if (wanted == draw) return this;
    const auto at = std::find_if(further_draws.begin(), further_draws.end(),
                                 [&](const Case& c) { return c.draw == wanted; });
    return at == further_draws.end() ? nullptr : &*at;
}

std::string Case::said_by(const Finding& finding) const {
    return finding.recording.empty() ? finding.says
                                     : fmt::format("{} (recording {})", finding.says, finding.recording);
}

std::string Case::text_of(const Ratio& ratio) const {
    return fmt::format("{} / {} {}", programs[1 - ratio.divisor].name, programs[ratio.divisor].name,
                       ratio.expected.text);
}

bool Case::compares() const {
    return std::any_of(findings.begin(), findings.end(),
                       [](const Finding& f) { return f.ratio.has_value(); });
}

std::vector<Program> Case::all_programs() const {
    std::vector<Program> all = programs;
    for (const auto* answers : {&wrong, &right})
        for (const Answer& answer : *answers) all.push_back(answer.program);
    return all;
}

std::vector<std::string> tools_for(const Needs& needs) {
    std::vector<std::string> tools;
    if (needs.nsys) tools.emplace_back("nsys");
    if (needs.counters || needs.details) tools.emplace_back("ncu");
    if (needs.reports) tools.emplace_back("compute-sanitizer");
    return tools;
}

Case read_case(const fs::path& root, const std::string& chapter, const fs::path& folder) {
    const fs::path file = folder / "case.toml";
    TomlReader toml = TomlReader::parse_file(root / file, file.string());
    Case result;
    result.kind = kind_of(chapter, folder);
    result.folder = folder;
    result.name = folder.filename().string();
    if (result.kind == CaseKind::exercise) std::tie(result.number, result.name) = number_and_name(folder);
    // A chapter's further pairs in Python: "python/numba".
    if (result.kind == CaseKind::python) result.name = folder.lexically_relative(chapter).generic_string();
    result.id = result.kind == CaseKind::pair ? chapter : chapter + "/" + result.name;
    if (result.kind != CaseKind::pair) result.title = toml.text("title");
    if (result.kind == CaseKind::single) result.page = fs::path(chapter) / toml.text_or("page", "after.md");
    if (toml.has("page") && !fs::exists(root / result.page)) toml.fail("there is no such page", "page");
    result.draft = toml.flag_or("draft", false);
    result.optional = toml.flag_or("optional", false);
    if (toml.has("gpus")) result.gpus = static_cast<int>(toml.integer("gpus"));
    if (result.gpus < 1 || result.gpus > 8) toml.fail("'gpus' is how many the programs need: 1 to 8", "gpus");
    result.range = toml.text_if("range");
    result.range_where = toml.where("range");
    result.with = toml.text_or("with", "");
    Program facts = read_program_facts(toml);
    if (result.kind == CaseKind::python || result.kind == CaseKind::exercise)
        facts.libraries = read_libraries(toml, result.kind);
    facts.profiles_itself = read_profiler(toml, facts);
    add_programs(result, facts, root);
    if (result.kind == CaseKind::exercise) read_exercise_facts(toml, result);
    result.first_reports = read_sanitizers(toml, sides_of(result.kind)[kFaulty] + "_reports");
    result.bandwidths = toml.texts_or_none("bandwidths");
    result.computes = toml.texts_or_none("computes");
    result.findings = read_findings(toml, result);
    result.points = read_points(toml, result);
    result.diagnosis = read_diagnosis(toml, result);
    Needs asked = result.needs();
    for (const Question& question : result.diagnosis) asked |= question.query.needs;
    for (Program& program : result.programs) program.code = asked.code, program.dump = asked.dumps;
    const std::vector<Draw> draws = read_draws(toml, result);
    toml.expect_all_read();
    if (result.kind != CaseKind::exercise) return result;
    std::vector<Case> drawn;
    for (const Draw& draw : draws) drawn.push_back(as_draw(result, draw, static_cast<int>(drawn.size()) + 1));
    if (drawn.empty()) drawn.push_back(std::move(result));
    for (const Case& each : drawn) check_starter_fails(toml, each);
    read_answers(root, drawn);
    result = std::move(drawn.front());
    result.further_draws.assign(std::make_move_iterator(drawn.begin() + 1),
                                std::make_move_iterator(drawn.end()));
    expect_several_reasons(result);
    return result;
}

}  // namespace lab
