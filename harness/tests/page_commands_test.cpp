// Every command line of nsys and of compute-sanitizer on the pages of the course uses flags, reports and
// values that docs/nsys.md and docs/sanitizer.md explain, and none that they list as gone.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "command_lines.h"
#include "core/files.h"
#include "core/text.h"

namespace lab::page_commands_test {

namespace {

struct Tool {
    std::string name, page;
    std::set<std::string> known;  ///< flags that the page explains; flags and subcommands that need no word
    Renamed renamed;

    Tool(const std::string& tool, const std::string& file, std::set<std::string> plain)
        : name(tool), known(std::move(plain)) {
        const std::string text = read_file(fs::path(LAB_SOURCE_FOLDER) / "docs" / file);
        page = part_of(text, false);
        renamed = renamed_on(text);
        for (const std::string& span : code_of(page).spans)
            if (span[0] == '-') known.insert(span.substr(0, span.find_first_of("= ")));
    }
};

const std::vector<Tool>& tools() {
    static const std::vector<Tool> both{
        {"nsys",
         "nsys.md",
         {"--help", "--rule", "--environment", "--input", "--session", "sessions", "cancel"}},
        {"compute-sanitizer", "sanitizer.md", {"--help", "--version", "--suppressions", "--coredump-name"}}};
    return both;
}

/// Does the flag have one of some names as its value, which the page then has to explain?
bool takes_name(const std::string& flag) {
    return std::set<std::string>{"--report",     "-r",
                                 "--rule",       "--trace",
                                 "-t",           "--type",
                                 "--tool",       "--sample",
                                 "--export",     "--capture-range-end",
                                 "--leak-check", "--racecheck-report"}
        .contains(flag);
}

/// What the page does not explain in a command line, whose words begin behind the tool's name.
std::vector<std::string> faults_of(const Tool& tool, const std::vector<std::string>& words) {
    std::vector<std::string> faults;
    const bool has_subcommand = tool.name == "nsys" && !words.empty() && words[0][0] != '-';
    const bool runs_program = !has_subcommand || words[0] == "profile" || words[0] == "launch";
    if (has_subcommand && !says(tool.page, "nsys " + words[0]) && !tool.known.contains(words[0]))
        faults.push_back("nsys " + words[0]);
    for (std::size_t i = has_subcommand ? 1 : 0; i < words.size() && words[i] != "--"; ++i) {
        if (words[i].starts_with("\"$")) continue;  // more options, from a variable of the shell
        if (words[i][0] != '-' && runs_program) break;
        if (words[i][0] != '-') continue;
        const std::size_t equals = words[i].find('=');
        const std::string flag = words[i].substr(0, equals);
        if (!tool.known.contains(flag)) faults.push_back(flag);
        std::string value;
        if (equals != std::string::npos)
            value = words[i].substr(equals + 1);
        else if (i + 1 < words.size() && words[i + 1][0] != '-' &&
                 words[i + 1].find('/') == std::string::npos)
            value = words[++i];
        for (const std::string& part : split(value, ','))
            if (takes_name(flag) && part.find('$') == std::string::npos &&
                !says(tool.page, part.substr(0, part.find(':'))))
                faults.push_back(flag + " " + part);
    }
    return faults;
}

/// The faults of all command lines of the tools in a piece of code.
std::string faults_in(const std::string& code) {
    std::vector<std::string> faults;
    for (const Tool& tool : tools())
        for (const auto& command : commands_in(code, tool.name)) append(faults, faults_of(tool, command));
    return join(faults, ", ");
}

}  // namespace

TEST_CASE("page commands: the check itself sees what is wrong") {
    CHECK(faults_in("nsys profile --trace=cuda,nvtx -o report ./program --stats-of-mine") == "");
    CHECK(faults_in("sudo nsys profile --gpu-metrics-device=0 ./p") == "--gpu-metrics-device");
    CHECK(faults_in("nsys profile -t cuda,nvvtx ./p") == "-t nvvtx");
    CHECK(faults_in("nsys profile --capture-range-end=repeat:3 ./p") == "");
    CHECK(faults_in("nsys stats --report gpukernsum,cuda_gpu_trace:base r") == "--report gpukernsum");
    CHECK(faults_in("nsys analyze r.nsys-rep --rule gpu-starv") == "--rule gpu-starv");
    CHECK(faults_in("nsys nvvprof ./p") == "nsys nvvprof");
    CHECK(faults_in("nsys status -e   # --not-a-flag") == "");
    CHECK(faults_in("./lab nsys PROGRAM --whatever") == "");
    CHECK(faults_in("compute-sanitizer --tool memchek ./p") == "--tool memchek");
    CHECK(faults_in("/usr/local/cuda/bin/compute-sanitizer --hmm-support ./p") == "--hmm-support");
    CHECK(faults_in("compute-sanitizer --tool \"$tool\" \"${more[@]}\" --gone ./p") == "--gone");
    CHECK(faults_in("compute-sanitizer --xml -- --program") == "");
    CHECK(code_of("```sh\nnsys profile \\\n    --gone ./p\n```\nand `nsys\nstats`").lines.size() == 1);
    CHECK(code_of("and `nsys\n  stats --gone`").spans == std::vector<std::string>{"nsys   stats --gone"});
}

TEST_CASE("page commands: every command line of every page uses what its tool's page explains") {
    std::size_t commands = 0;
    for (const fs::path& path : pages()) {
        const PageCode code = code_of(part_of(read_file(path), false));
        for (const auto& pieces : {code.lines, code.spans})
            for (const std::string& piece : pieces) {
                for (const Tool& tool : tools()) commands += commands_in(piece, tool.name).size();
                CHECK_MESSAGE(faults_in(piece) == "", path.string() << ": " << piece);
            }
    }
    CHECK(commands >= 35);
}

TEST_CASE("page commands: what is gone is gone from every page" * doctest::test_suite("whole course")) {
    for (const Tool& tool : tools()) {
        CHECK(tool.known.size() > 40);
        CHECK(tool.renamed.gone.size() >= 6);
        for (const std::string& gone : tool.renamed.gone) {
            CHECK_MESSAGE(!tool.known.contains(gone), gone);
            for (const fs::path& path : pages())
                for (const std::string& line : code_of(part_of(read_file(path), false)).lines)
                    for (const auto& command : commands_in(line, tool.name))
                        CHECK_MESSAGE(!says(join(command, " "), gone), path.string() << ": " << gone);
        }
    }
}

}  // namespace lab::page_commands_test
