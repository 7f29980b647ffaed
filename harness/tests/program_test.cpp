// Programs, the folders they are built from, and the command lines that record them.
#include "tools/program.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "tools/evidence_writer.h"
#include "tools/ncu_runner.h"
#include "tools/recorder.h"
#include "tools/workspace.h"

namespace lab::program_test {

namespace {

using Words = std::vector<std::string>;

constexpr const char* kStarter = "#include \"common/check.cuh\"\nint main() {\n    return check(1);\n}\n";
constexpr const char* kPatch =
    "fails: answer\nwhy: two\n--- starter.cu\n+++ starter.cu\n@@ -1,4 +1,4 @@\n"
    " #include \"common/check.cuh\"\n int main() {\n-    return check(1);\n+    return check(2);\n }\n";

/// A course of one exercise with a wrong answer, which is a patch against the starter.
struct SmallWorkspace {
    TemporaryFolder root;
    Workspace workspace{root.path()};
    Program starter, wrong;

    SmallWorkspace() {
        starter.name = "starter", starter.file = "ch05/1_one/starter.cu";
        starter.evidence_folder = "ch05/1_one/evidence";
        wrong = starter;
        wrong.name = "two", wrong.file = "ch05/1_one/wrong/two.patch", wrong.base = starter.file;
        write_file(root.path() / "common/nvcc.flags", "-O3\n\n-lineinfo\n");
        write_file(root.path() / "common/check.cuh", "inline int check(int x) { return x; }\n");
        write_file(root.path() / starter.file, kStarter);
        write_file(root.path() / wrong.file, kPatch);
    }

    /// Evidence of a run whose output was `seen`.
    [[nodiscard]] Evidence record(const Program& program, const std::string& seen = "") const {
        RunRecord run;
        run.exit_code = 0, run.out = seen;
        run.provenance = {{"recording", recording_text(program)}};
        add_fingerprint(workspace, program, seen, run.provenance);
        write_evidence(run, root.path() / "evidence.sqlite");
        return Evidence::open(root.path() / "evidence.sqlite");
    }
};

}  // namespace

TEST_CASE("program: a further recording has its own evidence, options and arguments") {
    Program program;
    program.name = "solution", program.arguments = {"--parts", "2"};
    program.further = {{"once", "with one launch", {}, {"--count", "1"}}, {"graph", "", {"--delay=1"}, {}}};
    const std::vector<Program> all = all_recordings(program);
    REQUIRE(all.size() == 3);
    CHECK(all[0].evidence_name() == "solution.sqlite");
    CHECK(all[1].evidence_name() == "solution.once.sqlite");
    CHECK(all[1].run_arguments() == Words{"--parts", "2", "--count", "1"});
    CHECK_FALSE(all[1].traced);  // nothing is asked of nsys
    CHECK(all[2].traced);
    CHECK(recording_text(all[0]).empty());
    CHECK(recording_text(all[1]) == "-- --count 1");
    CHECK(recording_text(all[2]) == "--delay=1");
    CHECK(program.recording_called("graph") == &program.further[1]);
    CHECK(program.recording_called("none") == nullptr);
}

TEST_CASE("workspace: a wrong answer is its patch on its base, as both are now") {
    const SmallWorkspace small;
    const auto text = [&] { return read_file(small.workspace.source_of(small.wrong)); };
    CHECK(small.workspace.source_of(small.starter) == small.root.path() / small.starter.file);
    CHECK(text().find("return check(2);") != std::string::npos);
    CHECK(text().find("fails:") == std::string::npos);
    write_file(small.root.path() / small.wrong.base, "// Adds up.\n" + std::string(kStarter));
    CHECK(text().find("// Adds up.") != std::string::npos);
    write_file(small.root.path() / small.wrong.base, "int main() { return 0; }\n");
    CHECK_THROWS_WITH_AS((void)text(), doctest::Contains("two.patch does not apply to"), Error);
}

TEST_CASE("workspace: evidence is stale after a change of code, header, flags, arguments or recording") {
    const SmallWorkspace small;
    const Evidence evidence = small.record(small.wrong);
    const auto is_stale = [&](const Program& program) { return small.workspace.is_stale(program, evidence); };
    CHECK_FALSE(is_stale(small.wrong));
    CHECK(is_stale(small.starter));
    const auto changed = [&](auto change) {
        Program program = small.wrong;
        change(program);
        return program;
    };
    CHECK(is_stale(changed([](Program& p) { p.flags = {"-G"}; })));
    CHECK(is_stale(changed([](Program& p) { p.arguments = {"-G"}; })));
    CHECK(is_stale(changed([](Program& p) { p.sanitizers = {"memcheck"}; })));
    CHECK(is_stale(changed([](Program& p) { p.ncu_metrics = {"dram__bytes.sum"}; })));
    CHECK_FALSE(is_stale(changed([](Program& p) { p.ncu_details = {"-k", "a"}; })));  // never recorded
    CHECK(is_stale(changed([](Program& p) { p.recording.gpu_metrics = {"SMs Active"}; })));
    CHECK(is_stale(changed([](Program& p) { p.recording.nsys_options = {"--delay=1"}; })));
    CHECK(is_stale(changed([](Program& p) { p.recording.arguments = {"--count"}; })));
    CHECK_FALSE(is_stale(changed([](Program& p) { p.check_arguments = {"--small"}; })));  // no sanitizer runs
    for (const auto& [file, text] :
         {std::pair{"common/check.cuh", "inline int check(int x) { return -x; }\n"},
          {"common/nvcc.flags", "-O3\n"}}) {
        const std::string before = read_file(small.root.path() / file);
        write_file(small.root.path() / file, text);
        CHECK(is_stale(small.wrong));
        write_file(small.root.path() / file, "\n" + before);
        CHECK_FALSE(is_stale(small.wrong));
    }
}

TEST_CASE("workspace: a message that the recorded run did not print may be reworded, a printed one may not") {
    const SmallWorkspace small;
    const auto starter = [&](const char* right, const char* wrong) {
        write_file(small.root.path() / small.starter.file,
                   "int main() { puts(\"" + std::string(right) + "\"); puts(\"" + wrong + "\"); }\n");
    };
    starter("every sum is right", "a sum is wrong");
    const Evidence evidence = small.record(small.starter, "every sum is right\n");
    starter("every sum is right", "a sum is not what the host adds up");
    CHECK_FALSE(small.workspace.is_stale(small.starter, evidence));
    starter("all sums are right", "a sum is wrong");
    CHECK(small.workspace.is_stale(small.starter, evidence));
}

TEST_CASE("tools: their command lines hold what the program asks for") {
    Program program;
    program.ncu_metrics = {"a.sum", "b.sum"}, program.ncu_options = {"--kernel-name", "k"};
    CHECK(ncu_command("ncu", "r", program, program.ncu_metrics) ==
          Words{"ncu", "--clock-control", "none", "--metrics", "a.sum,b.sum", "--kernel-name", "k", "-f",
                "-o", "r"});
    program.ncu_details = {"--launch-count", "1"};
    const Words details = ncu_details_command("ncu", "r", program);
    CHECK(join(details, " ").starts_with("ncu --clock-control none --section SpeedOfLight --section "));
    CHECK(join(details, " ").ends_with("SourceCounters --import-source yes --launch-count 1 -f -o r"));
    program.recording.gpu_metrics = {"SMs Active"};
    const auto samples = [&](bool wanted) {
        const Words words = nsys_command("nsys", "r", program, wanted);
        return std::count(words.begin(), words.end(), "--gpu-metrics-devices=cuda-visible");
    };
    CHECK(samples(true) == 1);
    CHECK(samples(false) == 0);
    const auto leaks = [](const char* tool) {
        const Words words = sanitizer_command("compute-sanitizer", tool);
        return std::count(words.begin(), words.end(), "--leak-check");
    };
    CHECK(leaks("memcheck") == 1);
    CHECK(leaks("racecheck") == 0);
}

}  // namespace lab::program_test
