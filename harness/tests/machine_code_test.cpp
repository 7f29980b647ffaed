#include "tools/machine_code.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "core/text.h"
#include "course/judge.h"
#include "made_evidence.h"

namespace lab::machine_code_test {

namespace {

std::string sample(const std::string& name) {
    return read_file(fs::path(LAB_SAMPLES) / ("cuobjdump_" + name + ".txt"));
}

/// "halve 10 0 0 0, DMUL 1, LDG.E 1": its resources, and those of these opcodes that it has.
std::string summary(const KernelCode& kernel, const std::vector<std::string>& opcodes) {
    std::string text = fmt::format("{} {} {} {} {}", kernel.kernel, kernel.registers, kernel.stack_bytes,
                                   kernel.shared_bytes, kernel.local_bytes);
    for (const std::string& opcode : opcodes)
        if (const auto at = kernel.instructions.find(opcode); at != kernel.instructions.end())
            text += fmt::format(", {} {}", opcode, at->second);
    return text;
}

std::string summaries(const std::string& name, const std::vector<std::string>& opcodes) {
    std::vector<std::string> all;
    for (const KernelCode& kernel : parse_machine_code(sample(name)).kernels)
        all.push_back(summary(kernel, opcodes));
    return join(all, "; ");
}

std::string problem_in(const std::string& text) {
    try {
        (void)parse_machine_code(text);
        return "";
    } catch (const Error& problem) {
        return problem.what();
    }
}

Finding finding(const std::string& sql, const char* expected) {
    Finding made;
    made.query.sql = sql;
    made.query.needs = needs_of_sql(sql);
    made.expect = {Expectation::parse(expected), Expectation::parse(expected)};
    return made;
}

}  // namespace

TEST_CASE("machine code: kernels, their resources and their instructions, as two versions print them") {
    CHECK(parse_machine_code(sample("12.4_sm75")).arch == "sm_75");
    CHECK(summaries("12.4_sm75", {"DMUL", "LDG.E.128.SYS", "STL", "BAR.SYNC", "EXIT"}) ==
          "halve 10 0 0 0, DMUL 2, EXIT 1; amplify 10 0 0 0, LDG.E.128.SYS 1, EXIT 1; "
          "amplify 10 0 0 0, LDG.E.128.SYS 1, EXIT 1; turn 10 16 128 0, STL 1, BAR.SYNC 1, EXIT 2");
    CHECK(parse_machine_code(sample("13.1_sm90")).arch == "sm_90");
    CHECK(summaries("13.1_sm90", {"DMUL", "LDG.E.128", "STL", "BAR.SYNC.DEFER_BLOCKING", "EXIT"}) ==
          "halve 10 0 0 0, DMUL 2, EXIT 1; amplify 10 0 0 0, LDG.E.128 1, EXIT 1; "
          "amplify 10 0 0 0, LDG.E.128 1, EXIT 1; "
          "turn 10 16 1152 0, STL 1, BAR.SYNC.DEFER_BLOCKING 1, EXIT 2");
}

TEST_CASE("machine code: what is not whole is an error, and an unknown line is passed over") {
    const std::string text = sample("13.1_sm90");
    for (const std::string& none : {std::string(), std::string("\n\n"), sample("13.1_ptx")})
        CHECK(problem_in(none) == "there is no machine code of a kernel in it");
    // Wherever the last kernel's end is cut off, and at the ends of the kernels before.
    const std::size_t end = text.rfind("\t\t....");
    for (std::size_t size = 0; size < end; size += 97) CHECK(problem_in(text.substr(0, size)) != "");
    for (std::size_t at = text.find("....\n"); at + 2 < end; at = text.find("....\n", at + 1))
        CHECK(problem_in(text.substr(0, at + 5)) == "cuobjdump's output lacks a kernel");

    const auto with = [&](const std::string& mark, const std::string& line) {
        std::string changed = text;
        return changed.insert(text.find(mark), line + "\n");
    };
    for (const char* mark : {"Resource usage:", "\t.headerflags", "        /*0010*/", "code for sm_90"})
        for (const char* line : {"\tsomething new: 1", "/* 0x1 */", "", "....", "REG:1 STACK:2"})
            if (mark[0] == 'R' || line[0] != '.') CHECK(problem_in(with(mark, line)) == "");
    CHECK(problem_in(with("        /*0010*/", "        /*0018*/")) ==
          "a line of machine code is cut: /*0018*/");
    CHECK(problem_in(with("        /*0010*/", "        /*00")) == "a line of machine code is cut: /*00");
    CHECK(problem_in(with("\t\tFunction : turn", "code for sm_80")) ==
          "it holds code for sm_90 and for sm_80");
    CHECK(problem_in(with("\t\tFunction : turn", "Function : other")) ==
          "cuobjdump's output is not whole at Function : other");
}

TEST_CASE("machine code: a finding about it alone is judged of a program that never ran") {
    const char* const wide = "SELECT SUM(count) FROM code_instructions WHERE opcode LIKE '%.128%'";
    CHECK(needs_of_sql(wide).code);
    CHECK_FALSE(needs_of_sql(wide).trace);
    CHECK(needs_of_sql("SELECT stack_bytes FROM CODE_RESOURCES").code);
    CHECK_FALSE(needs_of_sql("SELECT stdout FROM PROGRAM").code);

    MadeEvidence made;
    const Evidence without = made.written();
    CHECK_FALSE(without.database().has_table("CODE_RESOURCES"));
    const Judged unseen = judge_finding(without, finding(wide, "== 4"), kRight);
    CHECK(unseen.verdict == Verdict::not_run);
    CHECK(unseen.why == "cuobjdump did not look at this program");

    made.run.code = parse_machine_code(sample("13.1_sm90"));
    Case of;
    of.programs.resize(2);
    of.findings = {
        finding(wide, "== 4"),
        finding("SELECT stack_bytes FROM CODE_RESOURCES WHERE kernel = 'turn'", "== 0"),
        finding("SELECT exit_code FROM PROGRAM", "== 0"),
        finding("SELECT SUM(count) FROM CODE_INSTRUCTIONS JOIN kernels ON name = kernel", "== 1"),
        finding("SELECT COUNT(*) FROM SANITIZER_REPORTS", "== 0"),
    };
    of.findings.back().query.sanitizers = {"memcheck"};
    std::vector<std::string> verdicts;
    const Evidence code = made.written();
    for (const FindingRow& row : grade_answer(of, code).rows)
        verdicts.push_back(fmt::format("{} {}", to_string(row.verdict), row.sides[0].why));
    CHECK(verdicts == std::vector<std::string>{
                          "pass ", "fail expected == 0, found 16", "not_run no GPU has run this program",
                          "not_run nsys did not run on this program",
                          "not_run compute-sanitizer's memcheck did not run on this program"});
}

}  // namespace lab::machine_code_test
