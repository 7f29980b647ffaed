// Reading chapter.toml, case.toml and wrong/*.patch. Every mistake in them is an error with file and line.
#include "made_course.h"

namespace lab::case_reader_test {

namespace {

const std::string kCase = "ch01_made/case.toml", kChapter = "ch01_made/chapter.toml";
const std::string kCut = MadeCourse::kExercise + "/case.toml";

/// What reading the chapter says after a text in one of its files was changed into another.
std::string said_after(const std::string& file, const std::string& from, const std::string& to) {
    const MadeCourse made;
    made.replace(file, from, to);
    return fault_of([&] { return made.read(); });
}

/// The change is an error that begins with this file and line and goes on with the sentence.
void fails(const std::string& file, int line, const std::string& from, const std::string& to,
           const std::string& sentence) {
    const std::string said = said_after(file, from, to);
    CAPTURE(said);
    CHECK(said.starts_with(fmt::format("{}:{}: ", file, line)));
    CHECK(has(said, sentence));
}

}  // namespace

TEST_CASE("case: the facts of a pair and of an exercise") {
    const Chapter chapter = MadeCourse().read();
    CHECK(chapter.pair.id == "ch01_made");
    CHECK(chapter.pair.title == "Streams");
    CHECK(chapter.exercise_minutes() == 15);
    const Program& fixed = chapter.pair.programs[1];
    CHECK(fixed.file == "ch01_made/fixed.cu");
    CHECK(fixed.evidence_name() == "fixed.sqlite");
    CHECK(fixed.arguments == std::vector<std::string>{"--count", "5"});
    CHECK(fixed.check_arguments == std::vector<std::string>{"--count", "2"});
    REQUIRE(chapter.exercises.size() == 1);
    const Case& cut = *chapter.exercise("cut");
    CHECK(cut.number == 1);
    CHECK(cut.id == "ch01_made/cut");
    CHECK(cut.folder == MadeCourse::kExercise);
    CHECK(cut.programs[1].file == MadeCourse::kExercise + "/solution.cu");
    CHECK(chapter.exercise("other") == nullptr);
    CHECK(&chapter.case_of(chapter.quiz[0]) == &cut);
    CHECK(chapter.program_of(chapter.quiz[0]).name == "solution");
}

TEST_CASE("case: its programs need one GPU, or as many as it says") {
    const MadeCourse made;
    CHECK(made.read().exercise("cut")->gpus == 1);
    made.replace(kCut, "minutes = 15", "minutes = 15\ngpus = 2");
    CHECK(made.read().exercise("cut")->gpus == 2);
    fails(kCut, 3, "minutes = 15", "minutes = 15\ngpus = 0", "1 to 8");
    fails(kCut, 3, "minutes = 15", "minutes = 15\ngpus = \"two\"", "'gpus' must be");
}

TEST_CASE("case: a folder python holds the pair in Python, and says which library it imports") {
    const MadeCourse made;
    for (const char* side : {"buggy", "fixed"})
        made.write(fmt::format("ch01_made/python/{}.py", side), "print()\n");
    const auto with_library = [&](const std::string& line) {
        made.write("ch01_made/python/case.toml",
                   "title = \"streams\"\n" + line +
                       "[[finding]]\nid = \"kernels\"\nsays = \"kernels\"\nsql = \"SELECT COUNT(*) FROM "
                       "kernels\"\nbuggy = \"== 1\"\nfixed = \"== 2\"\n");
    };
    with_library("library = \"cupy\"\n");
    const Chapter chapter = made.read();
    const Case& pair = *chapter.single("python");
    CHECK(pair.kind == CaseKind::python);
    REQUIRE(pair.programs.size() == 2);
    CHECK(pair.programs[1].file == "ch01_made/python/fixed.py");
    CHECK(pair.programs[1].libraries == std::vector<std::string>{"cupy"});
    CHECK_FALSE(chapter.pair.programs[1].is_python());
    CHECK(chapter.single("python/numba") == nullptr);
    with_library("");
    CHECK(has(fault_of([&] { return made.read(); }), "'library'"));
    with_library("library = \"os; print\"\n");
    CHECK(has(fault_of([&] { return made.read(); }), "is no name that Python can import"));
    with_library("library = \"cupy\"\n");
    fs::copy(made.root() / "ch01_made/python", made.root() / "ch01_made/python/numba");
    made.replace("ch01_made/python/numba/case.toml", "cupy", "numba cuda.core");
    const Chapter with_further = made.read();
    const Case& further = *with_further.single("python/numba");
    CHECK(further.id == "ch01_made/python/numba");
    CHECK(further.kind == CaseKind::python);
    CHECK(further.programs[0].file == "ch01_made/python/numba/buggy.py");
    CHECK(further.programs[0].libraries == std::vector<std::string>{"numba", "cuda.core"});
}

TEST_CASE("case: its findings, the program's own answer first and what is shown last") {
    const Case pair = MadeCourse().read().pair;
    REQUIRE(pair.findings.size() == 4);
    CHECK(pair.findings[0].id == "answer");
    CHECK_FALSE(pair.findings[0].query.range);
    CHECK(pair.findings[1].expect[1]->text == "== 2");
    CHECK(pair.findings[1].query.range == "work");
    CHECK(pair.findings[1].where == "ch01_made/case.toml:10");
    CHECK(pair.findings[2].id == "span");
    CHECK_FALSE(pair.findings[2].asserted());
    CHECK(pair.findings[3].recording == "once");
    CHECK(pair.needs().trace);
    CHECK_FALSE(pair.needs().counters);
}

TEST_CASE("case: a key that nothing reads is an error, wherever it is") {
    fails(kChapter, 3, "minutes = 75", "minuets = 5\nminutes = 75", "nothing reads the key 'minuets'");
    fails(kChapter, 13, "sql =", "answer = 5\nsql =", "nothing reads the key 'answer'");
    fails(kCase, 2, "arguments =", "argumets = []\narguments =", "nothing reads the key 'argumets'");
    fails(kCase, 7, "says = \"each", "flags = []\nsays = \"each", "nothing reads the key 'flags'");
    fails(kCase, 12, "says = \"streams", "raneg = \"x\"\nsays = \"streams", "nothing reads the key 'raneg'");
    fails(kCase, 18, "says = \"span\"", "fixed = \"== 1\", says = \"span\"", "nothing reads the key 'fixed'");
    fails(kCut, 11, "starter =", "buggy = \"== 1\"\nstarter =", "nothing reads the key 'buggy'");
}

TEST_CASE("case: a key that is missing or of another type is an error") {
    fails(kChapter, 1, "title = \"Streams\"\n", "", "'title' is missing");
    fails(kCut, 1, "hints =", "hint =", "'hints' is missing");
    fails(kChapter, 7, "look =", "luck =", "'look' is missing");
    fails(kCase, 1, "range = \"work\"", "draft = \"yes\"", "'draft' must be true or false");
    fails(kCase, 15, "\"== 2\"", "2", "'fixed' must be a text");
}

TEST_CASE("case: a finding asserts something of each program, or it is shown") {
    fails(kCase, 10, "buggy = \"== 1\"\nfixed = \"== 2\"\n", "", "'buggy' is missing");
    fails(kCase, 10, "fixed = \"== 2\"\n", "", "'fixed' is missing");
    fails(kCase, 14, "\"== 1\"", "\"= 1\"", "'= 1' is no expectation");
    fails(kCase, 1, kMadePair + std::string(kMadePair).find("[[finding]]"), "",
          "a case has a [[finding]] beside the program's own answer");
    fails(kCut, 5, "starter_fails", "starter_answer = \"1\"\nstarter_fails", "'1' is no expectation");
}

TEST_CASE("case: a question can be asked, or it is an error") {
    fails(kCase, 13, "COUNT(DISTINCT stream)", "COUNT(DISTINCT straem)", "no such column: straem");
    fails(kChapter, 13, "FROM kernels", "FROM kernls", "no such table: kernls");
    fails(kCase, 10, "COUNT(DISTINCT stream) FROM kernels", "line FROM NCU_SASS",
          "'ncu_details' chooses no launches");
    fails(kCase, 1, "range = \"work\"", "ncu_details = [\"-c\"]", "'ncu_details' needs 'ncu_metrics'");
    fails(kCase, 18, "span_ms", "span", "there is no metric 'span'; there are ");
    fails(kCase, 10, "sql = \"", "metric = \"span_ms\"\nsql = \"", "needs either 'sql' or 'metric'");
    fails(kCase, 19, "recording = \"once\"", "recording = \"twice\"",
          "of the recording 'twice', which there");
    fails(kCase, 19, "SELECT stdout FROM PROGRAM", "SELECT COUNT(*) FROM kernels", "has no options for nsys");
    fails(kCase, 10, "COUNT(DISTINCT stream) FROM kernels", "COUNT(*) FROM SANITIZER_REPORTS",
          "'sanitizers' names no tool");
    fails(kCase, 10, "range = \"work\"", "traced = false", "needs a trace, and 'traced' is false");
    fails(kCase, 1, "range = \"work\"", "sanitizers = [\"racechek\"]", "no sanitizer tool 'racechek'");
}

TEST_CASE("case: a range is the case's, the question's own or the whole capture") {
    const MadeCourse made;
    const auto range = [&](const std::string& line) {
        made.write(kCase, kMadePair);
        made.replace(kCase, "buggy =", line + "buggy =");
        return made.read().pair.findings[1].query.range;
    };
    CHECK(range("") == "work");
    CHECK(range("range = \"other\"\n") == "other");
    CHECK_FALSE(range("range = \"\"\n"));
}

TEST_CASE("case: what two programs measured may be compared, with a margin") {
    const MadeCourse made;
    made.replace(kCase, "buggy = \"== 1\"\nfixed = \"== 2\"", "fixed_over_buggy = \">= 2\"\nmargin = 0.1");
    const Case pair = made.read().pair;
    REQUIRE(pair.findings[1].ratio);
    CHECK(pair.compares());
    CHECK(pair.text_of(*pair.findings[1].ratio) == "fixed / buggy >= 2");
    fails(kCase, 10, "buggy = \"== 1\"\nfixed = \"== 2\"", "buggy_over_fixed = \">= 2\"",
          "it needs a 'margin'");
    fails(kCase, 16, "buggy = \"== 1\"", "buggy_over_fixed = \">= 2\"\nmargin = 1",
          "nothing reads the key 'fixed'");
}

TEST_CASE("case: every name and number is there once") {
    fails(kCase, 19, "once = { says", "streams = { says", "a second finding is called 'streams'");
    fails(kCut, 7, "id = \"kernels\"", "id = \"answer\"", "a second finding is called 'answer'");
    fails(kCase, 11, "[[finding]]", "[[recording]]\nname = \"once\"\nnsys = [\"-d\"]\n\n[[finding]]",
          "a second recording is called 'once'");
    const std::string quiz = kMadeChapter + std::string(kMadeChapter).find("[[quiz]]");
    fails(kChapter, 16, quiz, quiz + "\n" + quiz, "a second question is called 'how_many'");
    const MadeCourse made, second;
    fs::copy(second.root() / MadeCourse::kExercise, second.root() / "ch01_made/exercises/1_other",
             fs::copy_options::recursive);
    CHECK(has(fault_of([&] { return second.read(); }), "has the same number"));
    fs::copy(made.root() / MadeCourse::kExercise, made.root() / "ch01_made/exercises/third",
             fs::copy_options::recursive);
    CHECK(fault_of([&] { return made.read(); }).starts_with("ch01_made/exercises/third"));
}

TEST_CASE("case: what names something else names what there is") {
    fails(kCut, 5, "[\"kernels\"]", "[\"kernles\"]", "there is no finding 'kernles'");
    fails(kCut, 5, "[\"kernels\"]", "[]", "the starter must fail some finding");
    fails(kChapter, 5, "headline = \"streams\"", "headline = \"kernels\"", "no finding 'kernels'");
    fails(kChapter, 11, "case = \"cut\"", "case = \"cat\"", "there is no case 'cat'");
    fails(kChapter, 12, "side = \"solution\"", "side = \"fixed\"", "'side' must be starter or solution");
    const MadeCourse made;
    fs::remove(made.root() / "ch01_made/fixed.cu");
    CHECK(fault_of([&] { return made.read(); }) ==
          "ch01_made/case.toml:1: the program ch01_made/fixed.cu is missing");
}

TEST_CASE("case: a wrong answer is a patch that says what it fails, and why") {
    const MadeCourse made;
    const std::vector<Answer> wrong = made.read().exercises[0].wrong;
    REQUIRE(wrong.size() == 2);
    CHECK(wrong[0].program.name == "lost");
    CHECK(wrong[0].program.evidence_name() == "answers/lost.sqlite");
    CHECK(wrong[0].why == "It is wrong.");
    CHECK(read_file(made.course.source_of(wrong[0].program)) == "int kernels = 0;\n");
    // A wrong answer is recorded for its reasons alone.
    CHECK(wrong[0].program.traced);
    CHECK_FALSE(wrong[1].program.traced);

    const std::string lost = MadeCourse::kExercise + "/wrong/lost.patch";
    fails(lost, 1, "fails: kernels", "fails: kernels, kernles", "there is no finding 'kernles'");
    fails(lost, 3, "fails: kernels\n", "", "a patch begins with 'fails: FINDING, FINDING'");
    fails(lost, 2, "why: It is\n", "", "a patch begins with");
    fails(lost, 4, "--- starter.cu", "--- other.cu", "a patch changes starter.cu or solution.cu");
}

TEST_CASE("case: an exercise has wrong answers for two reasons, unless it is a draft") {
    const std::string lost = MadeCourse::kExercise + "/wrong/lost.patch";
    const std::string sentence = "1: an exercise has wrong answers that fail for two different reasons";
    CHECK(said_after(lost, "fails: kernels", "fails: answer").find(kCut + ":" + sentence) == 0);
    const MadeCourse made;
    fs::remove_all(made.root() / MadeCourse::kExercise / "wrong");
    CHECK(has(fault_of([&] { return made.read(); }), sentence));
    made.replace(kCut, "minutes =", "draft = true\nminutes =");
    CHECK(made.read().exercises[0].wrong.empty());
}

}  // namespace lab::case_reader_test
