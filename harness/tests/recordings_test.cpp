// How a program is recorded: what nsys is asked, and what is kept of a program that says too much.
#include <doctest/doctest.h>

#include <algorithm>

#include "made_evidence.h"
#include "tools/recorder.h"

using namespace lab;

TEST_CASE("recordings: nsys takes an option once, and a recording's own value is the one") {
    Program program;
    const auto given = [&](const char* word) {
        const auto all = nsys_command("nsys", "r.nsys-rep", program, false);
        CHECK(all.back() == "r.nsys-rep");
        return std::count(all.begin(), all.end(), word);
    };
    program.recording.nsys_options = {"--cuda-graph-trace=graph:host-only", "--delay=2"};
    CHECK(given("--cuda-graph-trace=node") == 0);
    CHECK(given("--cuda-graph-trace=graph:host-only") == 1);
    program.recording.nsys_options = {"--cuda-graph=x"};  // another option, whose name begins alike
    CHECK(given("--cuda-graph-trace=node") == 1);
}

TEST_CASE("recordings: of a program that floods its output, the first of it is kept") {
    MadeEvidence made;
    const fs::path binary = made.in("program");
    write_file(made.in("program.cu"), "int main() {}\n");
    write_file(made.in("common/nvcc.flags"), "");
    write_file(binary.string() + ".built", "0123 sm_90");
    write_file(binary, "#!/bin/sh\necho first\nhead -c 70000000 /dev/zero | tr '\\0' x\nexit 1\n");
    fs::permissions(binary, fs::perms::owner_all);
    Program program;
    program.file = "program.cu";
    program.traced = false;
    made.run = record_program(Workspace(made.folder.path()), program, binary, {made.in("run.nsys-rep")},
                              [](const std::string&) {});
    CHECK(made.run.exit_code == 1);
    CHECK(made.run.out.starts_with("first\n"));
    CHECK(made.written().exit_code() == 1);  // SQLite takes less of one value where a file is read
}
