#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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

/// What case.toml calls its programs; a single program's findings say `expect`.
std::vector<std::string> sides_of(CaseKind kind) {
    if (kind == CaseKind::single) return {"expect"};
    return kind == CaseKind::pair ? std::vector<std::string>{"buggy", "fixed"}
                                  : std::vector<std::string>{"starter", "solution"};
}

std::vector<std::string> read_sanitizers(TomlReader& toml, const std::string& key) {
    std::vector<std::string> tools = toml.texts_or_none(key);
    for (const std::string& tool : tools)
        if (std::find(kSanitizerTools.begin(), kSanitizerTools.end(), tool) == kSanitizerTools.end())
            toml.fail(fmt::format("there is no sanitizer tool '{}'", tool), key);
    return tools;
}

/// What all programs of a case have in common.
Program read_program_facts(TomlReader& toml) {
    Program program;
    program.arguments = toml.texts_or_none("arguments");
    program.check_arguments = toml.texts_or_none("check_arguments");
    program.sanitizers = read_sanitizers(toml, "sanitizers");
    program.ncu_metrics = toml.texts_or_none("ncu_metrics");
    program.ncu_options = toml.texts_or_none("ncu");
    if (!program.ncu_options.empty() && program.ncu_metrics.empty())
        toml.fail("'ncu' says how 'ncu_metrics' are collected, and there are none", "ncu");
    program.gpu_metrics = toml.texts_or_none("gpu_metrics");
    program.traced = toml.flag_or("traced", true);
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

/// Why this cannot be asked of a recording; "" if it can. Only the plain recording has what ncu and
/// compute-sanitizer said.
std::string cannot_be_asked(const Program& program, const std::string& recording, const Needs& needs) {
    if (needs.trace && recording.empty() && !program.traced) return "needs a trace, and 'traced' is false";
    if (recording.empty()) return "";
    const Recording* const further = program.recording_called(recording);
    if (!further) return fmt::format("is asked of the recording '{}', which there is not", recording);
    if (needs.trace && further->nsys_options.empty())
        return fmt::format("needs a trace, and the recording '{}' has no options for nsys", recording);
    if (needs.counters || needs.reports)
        return fmt::format("needs ncu or compute-sanitizer, and the recording '{}' has neither", recording);
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

/// Reads the findings of a case, of which the programs are known.
class FindingReader {
  public:
    FindingReader(const Case& of, std::vector<std::string> sides) : case_(of), sides_(std::move(sides)) {}

    std::vector<Finding> read(TomlReader& toml) {
        const std::string first_answer = sides_[0] + "_answer";
        add(toml, "answer",
            answer(toml.has(first_answer) ? read_expectation(toml, first_answer)
                                          : Expectation::parse("== 0")));
        for (TomlReader& block : toml.tables("finding")) {
            const std::string id = block.text("id");
            const std::vector<std::string> each = block.texts_or_none("each");
            add_each(block, each, id, asserted(block));
        }
        for (auto& [id, block] : toml.named_tables("shown")) {
            const std::vector<std::string> each = block.texts_or_none("each");
            add_each(block, each, id, shown(block));
        }
        return std::move(findings_);
    }

  private:
    void add(const TomlReader& block, const std::string& id, Finding finding) {
        finding.id = id;
        finding.where = block.where();
        if (std::any_of(findings_.begin(), findings_.end(), [&](const Finding& f) { return f.id == id; }))
            block.fail(fmt::format("a second finding is called '{}'", id));
        findings_.push_back(std::move(finding));
    }

    /// With `each = ["a", "b"]` a block is a finding for each of these names, which replaces {} in its id,
    /// sentence, range and SQL.
    void add_each(const TomlReader& block, const std::vector<std::string>& each, const std::string& id,
                  const Finding& finding) {
        if (each.empty()) return add(block, id, finding);
        for (const std::string& name : each) {
            Finding one = finding;
            one.says = replaced(one.says, name), one.query.sql = replaced(one.query.sql, name);
            if (one.query.range) one.query.range = replaced(*one.query.range, name);
            add(block, replaced(id, name), std::move(one));
        }
    }

    static std::string replaced(std::string text, const std::string& name) {
        for (auto at = text.find("{}"); at != std::string::npos; at = text.find("{}", at + name.size()))
            text.replace(at, 2, name);
        return text;
    }

    /// Every program's own check counts as a finding, first of all: a fast wrong answer is no answer.
    static Finding answer(const Expectation& of_first) {
        Finding finding;
        finding.says = "exit code of the program, which checks its own answer";
        finding.query.sql = "SELECT exit_code FROM PROGRAM";
        finding.expect = {of_first, Expectation::parse("== 0")};
        return finding;
    }

    Finding asserted(TomlReader& block) const {
        Finding finding = question(block);
        finding.margin = block.number_or("margin", 0);
        finding.quotient = read_quotient(block);
        if (!finding.quotient)
            for (std::size_t side = 0; side < sides_.size(); ++side)
                finding.expect[side] = read_expectation(block, sides_[side]);
        if (finding.quotient && finding.margin <= 0)
            block.fail("a comparison of the two programs is of measured times, so it needs a 'margin'");
        block.expect_all_read();
        return finding;
    }

    Finding shown(TomlReader& block) const {
        Finding finding = question(block);
        finding.may_be_missing = block.flag_or("may_be_missing", false);
        block.expect_all_read();
        return finding;
    }

    Finding question(TomlReader& block) const {
        Finding finding;
        finding.says = block.text("says");
        finding.unit = block.text_or("unit", "");
        finding.recording = block.text_or("recording", "");
        finding.query = read_query(block, case_, finding.recording);
        return finding;
    }

    /// "fixed_over_buggy" or "buggy_over_fixed", if the finding compares the two programs.
    std::optional<Quotient> read_quotient(TomlReader& block) const {
        for (std::size_t over = 0; sides_.size() == 2 && over < 2; ++over) {
            const std::string key = fmt::format("{}_over_{}", sides_[1 - over], sides_[over]);
            if (block.has(key)) return Quotient{over, read_expectation(block, key)};
        }
        return std::nullopt;
    }

    const Case& case_;
    std::vector<std::string> sides_;
    std::vector<Finding> findings_;
};

std::vector<PointQuery> read_points(TomlReader& toml, const Case& of, const std::vector<std::string>& sides) {
    std::vector<PointQuery> all;
    for (TomlReader& block : toml.tables("point")) {
        PointQuery points;
        points.side = read_side(block, sides);
        points.bandwidth = block.text("bandwidth"), points.compute = block.text("compute");
        points.query = read_query(block, of, "");
        points.where = block.where();
        block.expect_all_read();
        all.push_back(std::move(points));
    }
    return all;
}

/// "4_missing_event" as 4 and "missing_event"; an Error for a folder of another form.
std::pair<int, std::string> number_and_name(const fs::path& folder) {
    const std::string text = folder.filename().string();
    const std::size_t bar = text.find('_');
    int number = 0;
    const char* const end = text.data() + std::min(bar, text.size());
    if (std::from_chars(text.data(), end, number).ptr != end || number < 1 || bar + 1 >= text.size())
        throw Error(
            fmt::format("{}: the folder of an exercise is called by its number and its name, as in "
                        "4_missing_event",
                        folder.string()));
    return {number, text.substr(bar + 1)};
}

void check_findings_exist(const std::string& where, const std::vector<std::string>& ids, const Case& of) {
    for (const std::string& id : ids)
        if (!of.finding(id)) throw Error(fmt::format("{}: there is no finding '{}'", where, id));
}

/// Has a wrong answer recorded for no more than its reasons: under nsys only if one of these findings asks
/// the trace, and in no further recording that none of them is asked of.
void record_for(const std::vector<std::string>& ids, const Case& of, Program& program) {
    const auto any = [&](const auto& asks) {
        return std::any_of(ids.begin(), ids.end(),
                           [&](const std::string& id) { return asks(*of.finding(id)); });
    };
    program.traced = program.traced && any([](const Finding& f) { return f.query.needs.nsys; });
    std::erase_if(program.further, [&](const Recording& recording) {
        return !any([&](const Finding& f) { return f.recording == recording.name; });
    });
}

/// The lines in front of a patch's "---": "fails: one, two" and "why: ...", which may go on in further lines.
WrongAnswer read_wrong_answer(const fs::path& root, const fs::path& file, const Case& of) {
    WrongAnswer answer;
    const std::vector<std::string> lines = split(read_file(root / file), '\n');
    std::string base;
    for (std::size_t i = 0; i < lines.size() && base.empty(); ++i) {
        const std::string& line = lines[i];
        const std::string where = fmt::format("{}:{}", file.string(), i + 1);
        if (line.starts_with("fails:")) {
            for (const std::string& id : split(line.substr(6), ',')) answer.fails.push_back(trim(id));
            check_findings_exist(where, answer.fails, of);
        } else if (line.starts_with("why:")) {
            answer.why = trim(line.substr(4));
        } else if (line.starts_with("--- ")) {
            base = trim(line.substr(4, line.find('\t') - 4));
            if (base != "starter.cu" && base != "solution.cu")
                throw Error(
                    where +
                    ": a patch changes starter.cu or solution.cu, so it begins with '--- starter.cu'");
        } else if (!answer.why.empty()) {
            answer.why += " " + trim(line);
        } else {
            throw Error(where + ": a patch begins with 'fails: FINDING, FINDING' and 'why: SENTENCE'");
        }
    }
    if (answer.fails.empty() || answer.why.empty() || base.empty())
        throw Error(
            fmt::format("{}:1: a patch begins with 'fails: FINDING, FINDING', 'why: SENTENCE' and "
                        "'--- starter.cu'",
                        file.string()));
    answer.program = of.programs[0];
    answer.program.name = file.stem().string();
    answer.program.file = file;
    answer.program.base = of.folder / base;
    record_for(answer.fails, of, answer.program);
    return answer;
}

std::vector<WrongAnswer> read_wrong_answers(const fs::path& root, const Case& of) {
    std::vector<fs::path> files;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(root / of.folder / "wrong", missing))
        if (entry.path().extension() == ".patch")
            files.push_back(of.folder / "wrong" / entry.path().filename());
    std::sort(files.begin(), files.end());
    std::vector<WrongAnswer> answers;
    std::set<std::vector<std::string>> reasons;
    for (const fs::path& file : files) {
        answers.push_back(read_wrong_answer(root, file, of));
        reasons.insert(answers.back().fails);
    }
    if (reasons.size() < 2 && !of.draft)
        throw Error(
            fmt::format("{}:1: an exercise has wrong answers that fail for two different reasons at least; "
                        "{} has {} in wrong/*.patch",
                        (of.folder / "case.toml").string(), of.name, reasons.size()));
    return answers;
}

void read_exercise_facts(TomlReader& toml, Case& exercise) {
    exercise.minutes = static_cast<int>(toml.integer("minutes"));
    exercise.objective = toml.text("objective");
    exercise.hints = toml.texts("hints");
    exercise.starter_fails = toml.texts("starter_fails");
    if (exercise.hints.empty()) toml.fail("an exercise has hints", "hints");
    if (exercise.starter_fails.empty()) toml.fail("the starter must fail some finding", "starter_fails");
}

CaseKind kind_of(const std::string& chapter, const fs::path& folder) {
    if (folder == chapter) return CaseKind::pair;
    return folder.parent_path().filename() == "exercises" ? CaseKind::exercise : CaseKind::single;
}

void add_programs(Case& of, const Program& facts, const fs::path& root) {
    std::vector<std::string> names = sides_of(of.kind);
    if (of.kind == CaseKind::single) names = {of.name};
    for (const std::string& name : names) {
        Program& program = of.programs.emplace_back(facts);
        program.name = name;
        program.file = of.folder / (name + ".cu");
        program.evidence_folder = of.folder / "evidence";
        program.flags = lines_of_flags(root / of.folder / "nvcc.flags");
        if (!fs::exists(root / program.file))
            throw Error(fmt::format("{}:1: the program {} is missing", (of.folder / "case.toml").string(),
                                    program.file.string()));
    }
}

}  // namespace

std::size_t read_side(TomlReader& toml, const std::vector<std::string>& sides) {
    const std::string side = toml.text("side");
    const auto at = std::find(sides.begin(), sides.end(), side);
    if (at == sides.end()) toml.fail(fmt::format("'side' must be {}", join(sides, " or ")), "side");
    return static_cast<std::size_t>(at - sides.begin());
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
    if (query.needs.reports) query.sanitizers = of.programs[0].sanitizers;
    if (query.needs.reports && query.sanitizers.empty())
        toml.fail("it asks compute-sanitizer, and 'sanitizers' names no tool");
    if (const std::string why = cannot_be_asked(of.programs[0], recording, query.needs); !why.empty())
        toml.fail("the question " + why, recording.empty() ? "" : "recording");
    return query;
}

Needs Case::needs() const {
    Needs all;
    for (const Finding& finding : findings) all |= finding.query.needs;
    return all;
}

const Finding* Case::finding(const std::string& finding_id) const {
    const auto at =
        std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.id == finding_id; });
    return at == findings.end() ? nullptr : &*at;
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
        const std::string arguments =
            further.arguments.empty() ? "" : fmt::format(" (`{}`)", join(further.arguments, " "));
        lines.push_back(fmt::format("{}: {}{}", further.name, further.says, arguments));
    }
    return lines;
}

std::string Case::text_of(const Quotient& quotient) const {
    return fmt::format("{} / {} {}", programs[1 - quotient.over].name, programs[quotient.over].name,
                       quotient.expected.text);
}

bool Case::compares() const {
    return std::any_of(findings.begin(), findings.end(),
                       [](const Finding& f) { return f.quotient.has_value(); });
}

std::vector<Program> Case::all_programs() const {
    std::vector<Program> all = programs;
    for (const WrongAnswer& answer : wrong) all.push_back(answer.program);
    return all;
}

std::vector<std::string> tools_for(const Needs& needs) {
    std::vector<std::string> tools;
    if (needs.nsys) tools.emplace_back("nsys");
    if (needs.counters) tools.emplace_back("ncu");
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
    result.id = result.kind == CaseKind::pair ? chapter : chapter + "/" + result.name;
    if (result.kind != CaseKind::pair) result.title = toml.text("title");
    result.draft = toml.flag_or("draft", false);
    result.range = toml.text_if("range");
    result.with = toml.text_or("with", "");
    const std::vector<std::string> sides = sides_of(result.kind);
    add_programs(result, read_program_facts(toml), root);
    if (result.kind == CaseKind::exercise) read_exercise_facts(toml, result);
    result.first_reports = read_sanitizers(toml, sides[0] + "_reports");
    result.bandwidths = toml.texts_or_none("bandwidths");
    result.computes = toml.texts_or_none("computes");
    if (result.bandwidths.empty() != result.computes.empty())
        toml.fail("a roofline shows both 'bandwidths' and 'computes'");
    result.findings = FindingReader(result, sides).read(toml);
    result.points = read_points(toml, result, sides);
    toml.expect_all_read();
    if (std::none_of(result.findings.begin() + 1, result.findings.end(),
                     [](const Finding& f) { return f.asserted(); }))
        toml.fail("a case has a [[finding]] beside the program's own answer");
    check_findings_exist(toml.where("starter_fails"), result.starter_fails, result);
    if (result.kind == CaseKind::exercise) result.wrong = read_wrong_answers(root, result);
    return result;
}

}  // namespace lab
