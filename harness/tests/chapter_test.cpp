#include "course/chapter.h"
#include "tools/recorder.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "core/files.h"

using namespace lab;

namespace {

constexpr const char* kChapter = R"(title = "Streams"
question = "What runs at once?"
minutes = 75
objectives = ["one", "two"]
needs = ["nsys"]
range = "work"
flags = ["-G"]
arguments = ["--count", "5"]
check_arguments = ["--count", "2"]
sanitizers = ["racecheck"]
ncu_metrics = ["dram__bytes.sum"]

[[finding]]
id = "streams"
says = "streams that carry kernels"
range = "work"
sql = "SELECT COUNT(DISTINCT stream) FROM kernels"
buggy = "== 1"
fixed = "== 4"

[[finding]]
id = "hidden"
says = "copies hidden"
unit = "share"
kind = "ratio"
margin = 0.1
metric = "h2d_hidden_share"
buggy = "< 0.1"
fixed = ">= 0.4"

[[finding]]
id = "wall"
says = "wall time"
kind = "time"
metric = "span_ms"

[[exercise]]
name = "pipeline"
title = "Both ways at once"
minutes = 15
objective = "Cut it up."
hints = ["think", "look"]
starter_fails = ["answer", "chunks"]
starter_answer = "== 1"

[[exercise.finding]]
id = "chunks"
says = "kernels"
sql = "SELECT COUNT(*) FROM kernels"
starter = "== 1"
solution = "> 1"

[[quiz]]
id = "how_many"
asks = "How many?"
look = "At the rows."
exercise = "pipeline"
side = "solution"
sql = "SELECT COUNT(*) FROM kernels"
choices = ["one", "two"]
)";

/// A chapter's folder, in which one text of the file above is changed into another.
struct ChapterFolder {
    TemporaryFolder root;

    ChapterFolder(const std::string& from = "", const std::string& to = "") {
        std::string text = kChapter;
        if (!from.empty()) {
            const std::size_t at = text.find(from);
            REQUIRE(at != std::string::npos);
            text.replace(at, from.size(), to);
        }
        write_file(root.path() / "ch05_streams/chapter.toml", text);
    }
    [[nodiscard]] Chapter read() const { return read_chapter(root.path(), "ch05_streams"); }
};

/// The change makes the chapter an error that names the file and says `sentence`.
void check_fails(const std::string& from, const std::string& to, const std::string& sentence) {
    CAPTURE(from);
    CAPTURE(to);
    const ChapterFolder folder(from, to);
    CHECK_THROWS_WITH_AS((void)folder.read(), doctest::Contains(sentence.c_str()), Error);
    CHECK_THROWS_WITH_AS((void)folder.read(), doctest::Contains("ch05_streams/chapter.toml:"), Error);
}

}  // namespace

TEST_CASE("chapter: the facts of a pair") {
    const Chapter chapter = ChapterFolder().read();
    CHECK(chapter.id == "ch05_streams");
    CHECK(chapter.short_id == "ch05");
    CHECK(chapter.title == "Streams");
    CHECK(chapter.minutes == 75);
    CHECK(chapter.objectives.size() == 2);
    CHECK(chapter.pair.id == "ch05_streams");
    CHECK(chapter.pair.range == "work");
    const Program& fixed = chapter.pair.programs[1];
    CHECK(fixed.name == "fixed");
    CHECK(fixed.source == "ch05_streams/fixed.cu");
    CHECK(fixed.evidence_folder == "ch05_streams/evidence");
    CHECK(fixed.evidence_name == "fixed.sqlite");
    CHECK(fixed.flags == std::vector<std::string>{"-G"});
    CHECK(fixed.arguments == std::vector<std::string>{"--count", "5"});
    CHECK(fixed.check_arguments == std::vector<std::string>{"--count", "2"});
    CHECK(fixed.sanitizers == std::vector<std::string>{"racecheck"});
    CHECK(fixed.ncu_metrics == std::vector<std::string>{"dram__bytes.sum"});
}

TEST_CASE("chapter: its findings, the program's own answer first of all") {
    const Chapter chapter = ChapterFolder().read();
    const auto& findings = chapter.pair.findings;
    REQUIRE(findings.size() == 4);
    CHECK(findings[0].id == "answer");
    CHECK(findings[0].expect[0]->text == "== 0");
    CHECK(findings[1].kind == FindingKind::structure);
    CHECK(findings[1].range == "work");
    CHECK(findings[1].expect[0]->text == "== 1");
    CHECK(findings[1].expect[1]->text == "== 4");
    CHECK(findings[2].kind == FindingKind::ratio);
    CHECK(findings[2].margin == 0.1);
    CHECK(findings[2].metric == "h2d_hidden_share");
    CHECK_FALSE(findings[2].range);
    CHECK(findings[3].kind == FindingKind::time);
    CHECK_FALSE(findings[3].expect[0]);
}

TEST_CASE("chapter: an exercise has its folder, its own findings and the stated reason of its starter") {
    const Chapter chapter = ChapterFolder().read();
    REQUIRE(chapter.exercises.size() == 1);
    const Exercise& exercise = chapter.exercises[0];
    CHECK(exercise.number == 1);
    CHECK(exercise.folder == "ch05_streams/exercises/1_pipeline");
    CHECK(exercise.programs.id == "ch05_streams/pipeline");
    CHECK(exercise.programs.programs[0].source == "ch05_streams/exercises/1_pipeline/starter.cu");
    CHECK(exercise.programs.programs[1].evidence_name == "pipeline.solution.sqlite");
    CHECK(exercise.programs.programs[0].flags.empty());
    REQUIRE(exercise.programs.findings.size() == 2);
    CHECK(exercise.programs.findings[0].expect[0]->text == "== 1");
    CHECK(exercise.programs.findings[0].expect[1]->text == "== 0");
    CHECK(chapter.exercise("pipeline") == &chapter.exercises[0]);
    CHECK(chapter.exercise("other") == nullptr);
}

TEST_CASE("chapter: a quiz question") {
    const Chapter chapter = ChapterFolder().read();
    REQUIRE(chapter.quiz.size() == 1);
    CHECK(chapter.quiz[0].side == 1);
    CHECK(chapter.quiz[0].exercise == "pipeline");
    CHECK(chapter.quiz[0].choices.size() == 2);
}

TEST_CASE("chapter: the chapters of this course can be read") {
    const fs::path root = LAB_SOURCE_FOLDER;
    int chapters = 0;
    for (const auto& entry : fs::directory_iterator(root))
        if (fs::exists(entry.path() / "chapter.toml")) {
            const Chapter chapter = read_chapter(root, entry.path().filename().string());
            CHECK(chapter.pair.findings.size() > 1);
            CHECK_FALSE(chapter.headline.empty());
            CHECK_NOTHROW((void)read_wrong_answers(root, chapter));
            ++chapters;
        }
    CHECK(chapters > 0);
}

TEST_CASE("chapter: a misspelt key is an error with its line, wherever it is") {
    check_fails("minutes = 75", "minutes = 75\nminuets = 5",
                "chapter.toml:4: nothing reads the key 'minuets'");
    check_fails("says = \"copies hidden\"", "says = \"copies hidden\"\nraneg = \"x\"",
                "chapter.toml:24: nothing reads the key 'raneg'");
    check_fails("objective = \"Cut it up.\"", "objective = \"Cut it up.\"\nhint = \"x\"",
                "nothing reads the key 'hint'");
    check_fails("look = \"At the rows.\"", "look = \"At the rows.\"\nanswer = 5",
                "nothing reads the key 'answer'");
    check_fails("kind = \"time\"", "kind = \"time\"\nbuggy = \"== 1\"", "nothing reads the key 'buggy'");
    check_fails("starter = \"== 1\"", "starter = \"== 1\"\nbuggy = \"== 1\"",
                "nothing reads the key 'buggy'");
}

TEST_CASE("chapter: a missing key is an error that is said once") {
    check_fails("title = \"Streams\"", "", "'title' is missing");
    check_fails("fixed = \"== 4\"", "", "'fixed' is missing");
    check_fails("hints = [\"think\", \"look\"]", "", "'hints' is missing");
    check_fails("look = \"At the rows.\"", "", "'look' is missing");
    const ChapterFolder folder("fixed = \"== 4\"", "");
    try {
        (void)folder.read();
    } catch (const Error& error) {
        const std::string sentence = error.what();
        CHECK(sentence.find("chapter.toml") == sentence.rfind("chapter.toml"));
    }
}

TEST_CASE("chapter: wrong types and words") {
    check_fails("minutes = 75", "minutes = \"75\"", "'minutes' must be a whole number");
    check_fails("objectives = [\"one\", \"two\"]", "objectives = \"one\"", "must be a list of texts");
    check_fails("kind = \"time\"", "kind = \"tme\"", "'tme' is no kind of finding");
    check_fails("sanitizers = [\"racecheck\"]", "sanitizers = [\"racechek\"]",
                "no sanitizer tool 'racechek'");
    check_fails("metric = \"span_ms\"", "metric = \"span\"", "there is no metric 'span'");
    check_fails("buggy = \"== 1\"", "buggy = \"= 1\"", "is no expectation");
    check_fails("buggy = \"== 1\"", "buggy = 1", "'buggy' must be a text");
    check_fails("starter_answer = \"== 1\"", "starter_answer = \"1\"", "is no expectation");
}

TEST_CASE("chapter: a finding asks one question") {
    check_fails("metric = \"span_ms\"", "metric = \"span_ms\"\nsql = \"SELECT 1\"",
                "either 'sql' or 'metric'");
    check_fails("metric = \"span_ms\"", "", "either 'sql' or 'metric'");
    check_fails("metric = \"span_ms\"", "sql = \"  \"", "either 'sql' or 'metric'");
}

TEST_CASE("chapter: a ratio has a margin, and nothing else has one") {
    check_fails("margin = 0.1", "", "'margin' above 0");
    check_fails("margin = 0.1", "margin = 0", "'margin' above 0");
    check_fails("margin = 0.1", "margin = -0.1", "'margin' above 0");
    check_fails("margin = 0.1", "margin = \"10%\"", "'margin' must be a number");
    check_fails("kind = \"time\"", "kind = \"time\"\nmargin = 0.1", "'margin' above 0");
    check_fails("kind = \"time\"", "kind = \"time\"\nmargin = -0.1", "'margin' above 0");
}

TEST_CASE("chapter: names are there once") {
    check_fails("id = \"hidden\"", "id = \"streams\"", "a second finding is called 'streams'");
    check_fails("id = \"chunks\"", "id = \"answer\"", "a second finding is called 'answer'");
    const std::string text = kChapter;
    const std::string exercise =
        text.substr(text.find("[[exercise]]"), text.find("[[quiz]]") - text.find("[[exercise]]"));
    check_fails("[[quiz]]", exercise + "[[quiz]]", "a second exercise is called 'pipeline'");
    const std::string quiz = text.substr(text.find("[[quiz]]"));
    check_fails("[[quiz]]", quiz + "[[quiz]]", "a second question is called 'how_many'");
}

TEST_CASE("chapter: the stated reason of a starter is a finding") {
    check_fails("[\"answer\", \"chunks\"]", "[\"chunk\"]", "there is no finding 'chunk'");
    check_fails("[\"answer\", \"chunks\"]", "[]", "must fail some finding");
}

TEST_CASE("chapter: a question is about a side that there is") {
    check_fails("side = \"solution\"", "side = \"fixed\"", "'side' must be starter or solution");
    check_fails("exercise = \"pipeline\"", "exercise = \"pipelin\"", "there is no exercise 'pipelin'");
    check_fails("exercise = \"pipeline\"\n", "", "'side' must be buggy or fixed");
    check_fails("choices = [\"one\", \"two\"]", "choices = [\"one\"]", "one choice is no choice");
}

TEST_CASE("chapter: a further recording has its options and an evidence file of its own") {
    const std::string block =
        "nsys = [\"--trace=osrt\"]\n[[exercise.recording]]\nname = \"steady\"\nsays = \"why\"\n"
        "nsys = [\"--delay=1\", \"--duration=2\"]\n";
    const ChapterFolder folder("starter_answer = \"== 1\"\n", "starter_answer = \"== 1\"\n" + block);
    const Chapter chapter = folder.read();
    const Program& solution = chapter.exercises[0].programs.programs[1];
    CHECK(chapter.pair.programs[0].further.empty());
    REQUIRE(solution.further.size() == 1);
    CHECK(solution.further[0].says == "why");
    const std::vector<Program> all = all_recordings(solution);
    REQUIRE(all.size() == 2);
    CHECK(all[0].evidence_name == "pipeline.solution.sqlite");
    CHECK(all[0].recording.nsys_options == std::vector<std::string>{"--trace=osrt"});
    CHECK(all[1].evidence_name == "pipeline.solution.steady.sqlite");
    CHECK(all[1].recording.name == "steady");
    CHECK(all[1].recording.nsys_options ==
          std::vector<std::string>{"--trace=osrt", "--delay=1", "--duration=2"});
    CHECK(all[1].further.empty());
}

TEST_CASE("chapter: a finding or question of a recording that there is not is an error") {
    check_fails("says = \"kernels\"", "says = \"kernels\"\nrecording = \"steady\"",
                "finding 'chunks' is asked of the recording 'steady'");
    check_fails("side = \"solution\"", "side = \"solution\"\nrecording = \"steady\"",
                "it is asked of the recording 'steady', which there is not");
    const std::string block = "[[exercise.recording]]\nname = \"a\"\nnsys = [\"--delay=1\"]\n";
    check_fails("[[exercise.finding]]", block + block + "[[exercise.finding]]",
                "a second recording is called 'a'");
    check_fails("[[exercise.finding]]", "[[exercise.recording]]\nname = \"a\"\n[[exercise.finding]]",
                "the recording 'a' has neither 'nsys' nor 'arguments'");
    const std::string run = "[[exercise.recording]]\nname = \"a\"\narguments = [\"--count\", \"7\"]\n";
    check_fails("[[exercise.finding]]", run + "[[exercise.finding]]\nrecording = \"a\"",
                "is asked of the recording 'a', which has no words for nsys, and so no trace");
}

TEST_CASE(
    "chapter: a recording of other arguments is a run of the program, and with words for nsys a trace too") {
    const auto recorded_with = [](const std::string& more) {
        const ChapterFolder folder(
            "starter_answer = \"== 1\"\n",
            "starter_answer = \"== 1\"\narguments = [\"--parts\", \"2\"]\n"
            "[[exercise.recording]]\nname = \"large\"\narguments = [\"--count\", \"7\"]\n" +
                more);
        return all_recordings(folder.read().exercises[0].programs.programs[1]);
    };
    const std::vector<Program> run = recorded_with("");
    REQUIRE(run.size() == 2);
    CHECK(run[0].arguments == std::vector<std::string>{"--parts", "2"});
    CHECK(run[0].traced);
    CHECK(run[1].arguments == run[0].arguments);  // of the binary's fingerprint
    CHECK(run[1].run_arguments() == std::vector<std::string>{"--parts", "2", "--count", "7"});
    CHECK_FALSE(run[1].traced);
    CHECK(recording_text(run[0]).empty());
    CHECK(recording_text(run[1]) == "-- --count 7");
    const std::vector<Program> traced = recorded_with("nsys = [\"--delay=1\"]\n");
    CHECK(traced[1].traced);
    CHECK(recording_text(traced[1]) == "--delay=1 -- --count 7");
}

TEST_CASE("chapter: a ratio may compare the two programs") {
    const Chapter chapter =
        ChapterFolder("buggy = \"< 0.1\"\nfixed = \">= 0.4\"", "buggy_over_fixed = \">= 4\"").read();
    const Finding& finding = chapter.pair.findings[2];
    REQUIRE(finding.quotient);
    CHECK(finding.asserted());
    CHECK_FALSE(finding.expect[0]);
    CHECK(finding.quotient->over == 1);
    CHECK(chapter.pair.text_of(*finding.quotient) == "buggy / fixed >= 4");
    const Chapter other =
        ChapterFolder("buggy = \"< 0.1\"\nfixed = \">= 0.4\"", "fixed_over_buggy = \">= 4\"").read();
    CHECK(other.pair.text_of(*other.pair.findings[2].quotient) == "fixed / buggy >= 4");
    CHECK_FALSE(chapter.pair.findings[3].asserted());  // a time
    check_fails("buggy = \"== 1\"\nfixed = \"== 4\"", "fixed_over_buggy = \">= 4\"",
                "only a finding of kind 'ratio'");
    check_fails("buggy = \"< 0.1\"", "fixed_over_buggy = \">= 4\"\nbuggy = \"< 0.1\"",
                "nothing reads the key");
}

TEST_CASE("chapter: needs are tools, and an exercise may have its own") {
    check_fails("needs = [\"nsys\"]", "needs = [\"nsis\"]",
                "'nsis' is no tool; there are compute-sanitizer, ncu, nsys");
    const Chapter chapter = ChapterFolder("minutes = 15", "minutes = 15\nneeds = [\"ncu\"]").read();
    CHECK(chapter.pair.needs == std::vector<std::string>{"nsys"});
    CHECK(chapter.exercises[0].programs.needs == std::vector<std::string>{"ncu"});
    CHECK(ChapterFolder().read().exercises[0].programs.needs == std::vector<std::string>{"nsys"});
}

TEST_CASE("chapter: words for ncu belong to metrics") {
    check_fails("minutes = 15", "minutes = 15\nncu = [\"-k\", \"regex:add\"]",
                "'ncu' says how 'ncu_metrics' are");
    const Chapter chapter =
        ChapterFolder("minutes = 15", "minutes = 15\nncu_metrics = [\"m\"]\nncu = [\"-k\", \"add\"]").read();
    CHECK(chapter.exercises[0].programs.programs[0].ncu_options == std::vector<std::string>{"-k", "add"});
}

TEST_CASE("chapter: the headline is a finding of the pair") {
    check_fails("minutes = 75", "minutes = 75\nheadline = \"chunks\"", "there is no finding 'chunks'");
}

TEST_CASE("chapter: a draft says so") {
    CHECK_FALSE(ChapterFolder().read().draft);
    CHECK(ChapterFolder("minutes = 75", "minutes = 75\ndraft = true").read().draft);
    check_fails("minutes = 75", "minutes = 75\ndraft = \"yes\"", "'draft' must be true or false");
}

TEST_CASE("chapter: a folder without a chapter is an error") {
    const TemporaryFolder root;
    CHECK_THROWS_WITH_AS((void)read_chapter(root.path(), "ch05_streams"), doctest::Contains("chapter.toml"),
                         Error);
}

TEST_CASE("a wrong answer is recorded for its reasons alone") {
    const ChapterFolder folder(
        "[[exercise.finding]]\nid = \"chunks\"",
        "[[exercise.recording]]\nname = \"whole\"\nsays = \"a graph is one row\"\nnsys = "
        "[\"--cuda-graph-trace=graph\"]\n\n[[exercise.finding]]\nid = \"rows\"\nsays = \"rows\"\nrecording = "
        "\"whole\"\nsql = \"SELECT COUNT(*) FROM graph_runs\"\nstarter = \"== 0\"\nsolution = \"> "
        "0\"\n\n[[exercise.finding]]\nid = \"chunks\"");
    const Chapter chapter = folder.read();
    CHECK(chapter.exercises[0].programs.programs[0].further.size() == 1);
    const auto recordings = [&](const std::string& reasons) {
        write_file(folder.root.path() / "harness/tests/wrong/ch05_streams/wrong.toml",
                   "[[wrong]]\nexercise = \"pipeline\"\nfile = \"lost.cu\"\nfails = [" + reasons +
                       "]\nwhy = \"So.\"\n");
        return all_recordings(read_wrong_answers(folder.root.path(), chapter)[0].program).size();
    };
    CHECK(recordings("\"chunks\"") == 1);
    CHECK(recordings("\"rows\"") == 2);
    CHECK(recordings("\"chunks\", \"rows\"") == 2);
}

TEST_CASE("wrong answers: what they are, and why") {
    const ChapterFolder folder;
    const Chapter chapter = folder.read();
    CHECK(read_wrong_answers(folder.root.path(), chapter).empty());
    const fs::path file = folder.root.path() / "harness/tests/wrong/ch05_streams/wrong.toml";
    const std::string good =
        "[[wrong]]\nexercise = \"pipeline\"\nfile = \"lost.cu\"\nfails = [\"answer\"]\nwhy = \"So.\"\n";
    write_file(file, good);
    const auto answers = read_wrong_answers(folder.root.path(), chapter);
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].fails == std::vector<std::string>{"answer"});
    CHECK(answers[0].program.name == "lost");
    CHECK(answers[0].program.source == "harness/tests/wrong/ch05_streams/1_pipeline/lost.cu");
    CHECK(answers[0].program.evidence_name == "pipeline.lost.sqlite");

    CHECK_FALSE(answers[0].program.traced);  // the answer is what the program prints
    write_file(file, std::string(good).replace(good.find("\"answer\""), 8, "\"chunks\""));
    CHECK(read_wrong_answers(folder.root.path(), chapter)[0].program.traced);

    const auto fails = [&](const std::string& text, const char* sentence) {
        write_file(file, text);
        CHECK_THROWS_WITH_AS((void)read_wrong_answers(folder.root.path(), chapter),
                             doctest::Contains(sentence), Error);
    };
    fails(good + "becuase = 1\n", "wrong.toml:6: nothing reads the key 'becuase'");
    fails("[[wrong]]\nexercise = \"x\"\n", "there is no exercise 'x'");
    fails("[[wrnog]]\nexercise = \"pipeline\"\n", "nothing reads the key 'wrnog'");
    std::string unknown = good;
    unknown.replace(unknown.find("\"answer\""), 8, "\"anwser\"");
    fails(unknown, "there is no finding 'anwser'");
}
