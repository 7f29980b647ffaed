#include "tools/ncu_pages.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "evidence/question.h"
#include "lab_binary.h"
#include "made_evidence.h"

namespace lab::ncu_pages_test {

namespace {

std::string sample(const std::string& name) {
    return read_file(fs::path(LAB_SAMPLES) / name);
}

/// A page Details with these columns behind ID, Process ID and Kernel Name.
std::string details(const std::string& columns, const std::string& cells) {
    return "\"ID\",\"Process ID\",\"Kernel Name\"," + columns + "\n\"0\",\"1\",\"k\"," + cells + "\n";
}

const std::string kRule =
    R"("Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description")";

Rule only_rule(const std::string& text) {
    const auto launches = parse_details_page(text);
    REQUIRE(launches.size() == 1);
    REQUIRE(launches[0].rules.size() == 1);
    return launches[0].rules[0];
}

const std::string kSourceHead = R"("File Path","/home/somebody/x.cu"
"Line No","Source","Address","Source","# Samples","Instructions Executed","stall_wait","stall_math"
)";

ProfiledLaunch source_of(const std::string& text, std::size_t problems = 0) {
    ProfiledLaunch launch{0, "k"};
    CHECK(add_source_page(text, launch).size() == problems);
    return launch;
}

/// The launch of the samples, as a recording puts it together.
ProfiledLaunch sample_launch() {
    ProfiledLaunch launch = parse_details_page(sample("ncu_2024.1_details.csv")).at(0);
    const auto bodies = parse_details_page(sample("ncu_2024.1_details_body.csv"));
    for (const SectionMetric& metric : bodies.at(0).metrics) launch.metrics.push_back(metric);
    CHECK(add_source_page(sample("ncu_2024.1_source.csv"), launch).empty());
    return launch;
}

struct Recorded : MadeEvidence {
    explicit Recorded(std::vector<ProfiledLaunch> launches) {
        run.launches = std::move(launches);
        run.provenance["ncu_details"] = "-k transpose", run.provenance["command"] = "transpose --rows 8";
    }
};

std::string answer_of(const Evidence& evidence, const std::string& sql) {
    return measure(evidence, {sql, "", {}, needs_of_sql(sql), {}}).text();
}

}  // namespace

TEST_CASE("ncu pages: metrics and rules of a real page, under the section's name") {
    const auto launches = parse_details_page(sample("ncu_2024.1_details.csv"));
    REQUIRE(launches.size() == 1);
    const ProfiledLaunch& launch = launches[0];
    CHECK(launch.kernel == "transposeCoalesced");
    CHECK(launch.grid == "(256, 256, 1)");
    CHECK(launch.block == "(32, 8, 1)");
    CHECK(launch.metrics.size() == 58);
    CHECK(launch.metrics[5].metric == "Duration");
    CHECK(launch.metrics[5].unit == "nsecond");
    CHECK(launch.metrics[5].value == "1420832");
    CHECK(launch.rules.size() == 8);
    for (const Rule& rule : launch.rules)
        CHECK_MESSAGE(section_called(rule.section)->name == rule.section, rule.section);
    CHECK(launch.rules[0].kind == "INF");
    CHECK_FALSE(launch.rules[0].speedup);
    CHECK(launch.rules[2].speedup_kind == "local");
    CHECK(launch.rules[2].speedup == 96.22);
}

TEST_CASE("ncu pages: of a body, tables with numbers above 0 and without the values of instances") {
    const auto launches = parse_details_page(sample("ncu_2024.1_details_body.csv"));
    REQUIRE(launches.size() == 1);  // what ncu prints below the table is no launch
    const auto& metrics = launches[0].metrics;
    CHECK(metrics.size() == 22);
    const auto mix = std::find_if(metrics.begin(), metrics.end(), [](const SectionMetric& metric) {
        return metric.table == "Executed Instruction Mix";
    });
    CHECK(mix->value == "23592960");
}

TEST_CASE("ncu pages: columns in another order, and columns that are missing") {
    const std::string turned =
        R"("Metric Value","Kernel Name","Section Name","Process ID","ID","Metric Name")"
        "\n"
        R"("7","k","Occupancy","1","3","Block Limit SM")"
        "\n";
    const auto launches = parse_details_page(turned);
    REQUIRE(launches.size() == 1);
    CHECK(launches[0].launch == 3);
    CHECK(launches[0].metrics[0].value == "7");
    CHECK(launches[0].metrics[0].unit.empty());
    CHECK_THROWS_WITH_AS((void)parse_details_page(details(R"("Section Name","Metric Name")", R"("a","b")")),
                         doctest::Contains("no column 'Metric Value', but ID, Process ID"), Error);
    CHECK_THROWS_WITH_AS((void)parse_details_page("==ERROR== File not found\n"),
                         doctest::Contains("It says: ==ERROR== File not found"), Error);
    CHECK_THROWS_WITH_AS((void)parse_details_page(""), doctest::Contains("no line has a column \"ID\""),
                         Error);
}

TEST_CASE("ncu pages: a rule's text may hold quotes, commas, what separates cells, and line ends") {
    const std::string cells = R"("SpeedOfLight","","","","Rule","OPT",)";
    CHECK(only_rule(details(kRule, cells + "\"Use \"fast\" math, or: not.\"")).text ==
          "Use \"fast\" math, or: not.");
    CHECK(only_rule(details(kRule, cells + "\"A \",\" in it\"")).text == "A \",\" in it");
    CHECK(only_rule(details(kRule, cells + "\"One line,\n  and its end.\"")).text ==
          "One line, and its end.");
    const std::string huge(200'000, 'x');
    CHECK(only_rule(details(kRule, cells + "\"" + huge + "\"")).text == huge);
    CHECK(only_rule(details(kRule, cells + "\"\x1b[31m\"")).section == "GPU Speed Of Light Throughput");
}

TEST_CASE("ncu pages: lines and instructions of a real page") {
    const ProfiledLaunch launch = source_of(sample("ncu_2024.1_source.csv"));
    REQUIRE(launch.lines.size() == 8);
    const SourceRow& line = launch.lines[6];
    CHECK(line.file == "transpose.cu");
    CHECK(line.line == 95);
    CHECK(line.text == "out[size_t(out_row) * rows + out_column] = tile[threadIdx.x][y];");
    CHECK(line.counts ==
          decltype(line.counts){27125, 25613, 8388608, 268435456, 8388608, 8388608, 67108864, 2097152});
    CHECK(line.stalls.starts_with("barrier 10520, mio "));
    REQUIRE(launch.instructions.size() == 31);  // without those that were never executed
    const auto load = std::find_if(launch.instructions.begin(), launch.instructions.end(),
                                   [](const SourceRow& row) { return row.text == "LDS R11, [R16.X4]"; });
    CHECK(load->line == 95);
    CHECK(load->address == 0x200);
}

TEST_CASE("ncu pages: instructions that ncu lists twice below their line count once") {
    const std::string line = R"("7","f();","-","-","5","6","1","4")"
                             "\n",
                      first = R"("","","0x7f10","MOV","2","3","0","0")"
                              "\n",
                      second = R"("","","0x7f20","EXIT","3","3","0","0")"
                               "\n";
    const ProfiledLaunch once = source_of(kSourceHead + line + first + second + first + second);
    REQUIRE(once.instructions.size() == 2);
    CHECK(once.instructions[1].text == "EXIT");
    const std::string caller = R"("9","g();","-","-","5","6","1","4")"
                               "\n";
    CHECK(source_of(kSourceHead + line + first + second + caller + first).instructions.size() == 3);

    ProfiledLaunch twice = once;
    append(twice.instructions, once.instructions);
    const Evidence evidence = Recorded({twice}).written();
    CHECK(profiled_launches_in(evidence).at(0).instructions.size() == 2);
    CHECK(answer_of(evidence, "SELECT SUM(samples) FROM NCU_SASS") == "5");
    CHECK(answer_of(evidence, "SELECT SUM(samples) FROM NCU_SOURCE") == "5");
}

TEST_CASE("ncu pages: a source line may hold anything; rows that are cut short are counted") {
    const std::string end = R"(","-","-","5","6","1","4")"
                            "\n";
    const ProfiledLaunch launch = source_of(kSourceHead + "\"7\",\"f(\"a\",\"b\", \"\");" + end +
                                                R"("8","zero","-","-","0","0","0","0")"
                                                "\n" +
                                                R"("9","cut","-","-","3")"
                                                "\n" +
                                                R"("","","0xffffffffffffffff","NOP","1","1","0","0")"
                                                "\n",
                                            1);
    REQUIRE(launch.lines.size() == 1);
    CHECK(launch.lines[0].text == "f(\"a\",\"b\", \"\");");
    CHECK(launch.lines[0].counts[0] == 5);
    CHECK(launch.lines[0].stalls == "math 4, wait 1");
    CHECK(launch.lines[0].file == "x.cu");
    CHECK(launch.instructions.size() == 1);
    const ProfiledLaunch bare =
        source_of("\"Line No\",\"Source\",\"Address\",\"Source\"\n\"7\",\"x;\",\"-\",\"-\"\n", 1);
    CHECK(bare.lines.empty());
    const ProfiledLaunch without = source_of("==WARNING== no line information\n", 1);
    CHECK(without.lines.empty());
}

TEST_CASE("ncu pages: one launch of each kernel and size is kept") {
    const auto kept = without_repetitions({{0, "a", "1", "32"}, {1, "a", "1", "32"}, {2, "a", "2", "32"}});
    REQUIRE(kept.size() == 2);
    CHECK(kept[1].launch == 2);
}

TEST_CASE("ncu pages: evidence answers which line, and stays small") {
    const ProfiledLaunch launch = sample_launch();
    const Recorded made({launch});
    const Evidence evidence = made.written();
    CHECK(answer_of(evidence,
                    "SELECT text FROM NCU_SOURCE WHERE wavefronts > ideal_wavefronts "
                    "ORDER BY wavefronts - ideal_wavefronts DESC LIMIT 1") == launch.lines[6].text);
    CHECK(answer_of(evidence, "SELECT SUM(value) FROM NCU_SECTIONS WHERE metric = 'Duration'") == "1420832");
    CHECK(answer_of(evidence, "SELECT COUNT(*) FROM NCU_RULES WHERE kind = 'OPT'") == "5");
    const auto read = profiled_launches_in(evidence);
    REQUIRE(read.size() == 1);
    CHECK(read[0].metrics.size() == launch.metrics.size());
    CHECK(read[0].instructions.size() == launch.instructions.size());
    CHECK(read[0].lines[6].counts == launch.lines[6].counts);
    CHECK(read[0].lines[6].stalls == launch.lines[6].stalls);
    CHECK(read[0].rules[2].speedup == launch.rules[2].speedup);
    CHECK(answer_of(Recorded({}).written(), "SELECT COUNT(*) FROM NCU_SASS") == "not run");

    ProfiledLaunch large = launch;
    large.lines.clear(), large.instructions.clear();
    for (int i = 0; i < 400; ++i) {
        SourceRow row = launch.instructions[static_cast<std::size_t>(i) % launch.instructions.size()];
        row.line = i / 4, row.address = 16 * i;
        large.instructions.push_back(row);
        if (i % 4 == 0) large.lines.push_back(launch.lines[6]);
    }
    const Recorded with({large}), plain({});
    (void)with.written(), (void)plain.written();
    const auto bytes = fs::file_size(with.path) - fs::file_size(plain.path);
    MESSAGE("100 lines and 400 instructions: ", bytes, " bytes");
    CHECK(bytes < 100'000);
}

TEST_CASE("ncu-details: sections, rules and lines in 80 columns, and the command that shows them live") {
    ProfiledLaunch other = sample_launch();
    other.launch = 1, other.kernel = "other\x1b[31m";
    const Recorded made({sample_launch(), other});
    (void)made.written();
    const auto shown = [&](std::vector<std::string> words, int code = 0) {
        words.insert(words.begin(), {"ncu-details", made.path.string()});
        std::vector<std::string> columns;  // errors are in one line, whatever the path
        if (code == 0) columns.emplace_back("COLUMNS=80");
        const Outcome outcome = run_lab(words, LAB_SOURCE_FOLDER, columns);
        CHECK(outcome.exit_code == code);
        CHECK(outcome.out.find('\x1b') == std::string::npos);
        for (const std::string& line : split(outcome.out, '\n'))
            CHECK_MESSAGE((display_width(line) <= 80 || line.find("://") != std::string::npos ||
                           line.find(made.path.string()) == 0 || line.starts_with("live ")),
                          line);
        return outcome.out + outcome.err;
    };
    const std::string all = shown({});
    for (const char* text :
         {"launch 0  transposeCoalesced (256, 256, 1)x(32, 8, 1)", "Section: GPU Speed Of Light Throughput",
          "1,420,832", "OPT   Est. Local Speedup: 96.22%", "launch 1  other",
          "live     ncu --set full --print-units base --clock-control none -k transpose "
          "./transpose --rows 8"})
        CHECK_MESSAGE(all.find(text) != std::string::npos, text);
    const std::string one = shown({"--section", "WarpStateStats", "--launch", "0"});
    CHECK(one.find("Stall MIO Throttle") != std::string::npos);
    CHECK(one.find("Duration") == std::string::npos);
    CHECK(one.find("other") == std::string::npos);
    CHECK(one.find("--section WarpStateStats") != std::string::npos);
    const std::string lines = shown({"--page", "source", "--kernel", "transpose"});
    CHECK(lines.find("27125         8.39M    8.39M (8.39M)        67.1M (2.1M)  barrier 10520") !=
          std::string::npos);
    CHECK(shown({"--line", "95"}).find(" 200  LDS R11, [R16.X4]") != std::string::npos);
    CHECK(shown({"--line", "6"}, 2).find("executes nothing of line 6") != std::string::npos);
    CHECK(shown({"--section", "Ocupancy"}, 2).find("there are: GPU Speed") != std::string::npos);
    CHECK(shown({"--launch", "7"}, 2).find("has no such launch. It has:") != std::string::npos);
    CHECK(shown({"--launch", "x"}, 2).find("--launch x is no number") != std::string::npos);

    const Json json = json_of(run_lab({"ncu-details", made.path.string(), "--json", "--launch", "0"}));
    REQUIRE(json.size() == 1);
    CHECK(names_in(json[0]) ==
          std::vector<std::string>{"block", "grid", "kernel", "launch", "metrics", "rules", "source"});
    CHECK(json[0]["metrics"][5]["value"] == 1420832);
    CHECK(json[0]["rules"][0]["speedup"].is_null());
    CHECK(json[0]["source"][6]["wavefronts"] == 67108864);
    CHECK(json[0]["source"][6]["instructions"][0]["text"] == "LEA R16, R19, R14, 0x5");
}

TEST_CASE("ncu-details: evidence without pages, and files that are none, are told so") {
    const Recorded none({});
    (void)none.written();
    const auto refused = [](const std::string& file, int code, const char* why) {
        const Outcome outcome = run_lab({"ncu-details", file});
        CHECK(outcome.exit_code == code);
        CHECK_MESSAGE(outcome.err.find(why) != std::string::npos, outcome.err);
    };
    refused(none.path.string(), 77, "it was recorded without ncu");
    refused(none.in("no.ncu-rep").string(), 2, "there is no file");
    refused("README.md", 2, "Give evidence of the course (.sqlite), or an .ncu-rep of your own.");
    refused("ch03_ncu/evidence/h200/buggy.nsys-rep", 2, "give ch03_ncu/evidence/h200/buggy.sqlite");
}

}  // namespace lab::ncu_pages_test
