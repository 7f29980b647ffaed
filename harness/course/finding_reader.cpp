#include "course/finding_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "evidence/analysis.h"

namespace lab {

namespace {

Expectation read_expectation(TomlReader& toml, const std::string& key) {
    const std::string text = toml.text(key);
    try {
        return Expectation::parse(text);
    } catch (const Error& problem) {
        toml.fail(problem.what(), key);
    }
}

/// "fixed_over_buggy" or "buggy_over_fixed", if the finding compares the two programs.
std::optional<Quotient> read_quotient(TomlReader& toml, const SideNames& sides) {
    if (sides == kCompanion) return std::nullopt;
    for (std::size_t over = 0; over < 2; ++over) {
        const std::string key = fmt::format("{}_over_{}", sides[1 - over], sides[over]);
        if (toml.has(key)) return Quotient{over, read_expectation(toml, key)};
    }
    return std::nullopt;
}

Finding read_finding(TomlReader& toml, const SideNames& sides) {
    Finding finding;
    finding.id = toml.text("id");
    finding.says = toml.text("says");
    finding.unit = toml.text_or("unit", "");
    const std::string kind = toml.text_or("kind", "structure");
    if (kind != "structure" && kind != "ratio" && kind != "time")
        toml.fail(fmt::format("'{}' is no kind of finding; structure, ratio and time are", kind), "kind");
    finding.kind = kind == "structure" ? FindingKind::structure
                   : kind == "ratio"   ? FindingKind::ratio
                                       : FindingKind::time;
    finding.recording = toml.text_or("recording", "");
    if (toml.has("range")) finding.range = toml.text("range");
    finding.sql = toml.text_or("sql", "");
    finding.metric = toml.text_or("metric", "");
    check_question(toml, finding.sql, finding.metric);
    finding.margin = toml.number_or("margin", 0);
    if (finding.kind == FindingKind::ratio ? finding.margin <= 0 : finding.margin != 0)
        toml.fail("a ratio, and nothing else, has a 'margin' above 0", "margin");
    finding.quotient = read_quotient(toml, sides);
    if (finding.quotient && finding.kind != FindingKind::ratio)
        toml.fail("only a finding of kind 'ratio' compares the two programs");
    if (finding.kind != FindingKind::time && !finding.quotient)
        for (std::size_t side = 0; side < 2; ++side)
            finding.expect[side] = read_expectation(toml, sides[side]);
    toml.expect_all_read();
    return finding;
}

/// Every program's own check counts as a finding, first of all: a fast wrong answer is no answer.
Finding answer_finding(const Expectation& first) {
    Finding finding;
    finding.id = "answer";
    finding.says = "exit code of the program, which checks its own answer";
    finding.sql = "SELECT exit_code FROM PROGRAM";
    finding.expect = {first, Expectation::parse("== 0")};
    return finding;
}

}  // namespace

void check_question(TomlReader& toml, const std::string& sql, const std::string& metric) {
    if (sql.empty() == metric.empty()) toml.fail("a question needs either 'sql' or 'metric'");
    const auto& known = metric_names();
    if (!metric.empty() && std::find(known.begin(), known.end(), metric) == known.end())
        toml.fail(fmt::format("there is no metric '{}'; there are {}", metric, join(known, ", ")), "metric");
}

std::vector<Finding> read_findings(TomlReader& toml, const SideNames& sides) {
    const std::string first_answer = fmt::format("{}_answer", sides[0]);
    std::vector<Finding> findings{answer_finding(toml.has(first_answer) ? read_expectation(toml, first_answer)
                                                                        : Expectation::parse("== 0"))};
    std::set<std::string> ids{"answer"};
    for (TomlReader& block : toml.tables("finding")) {
        findings.push_back(read_finding(block, sides));
        if (!ids.insert(findings.back().id).second)
            block.fail(fmt::format("a second finding is called '{}'", findings.back().id), "id");
    }
    return findings;
}

}  // namespace lab
