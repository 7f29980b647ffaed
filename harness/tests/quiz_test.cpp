#include "course/quiz.h"

#include <regex>

#include "course/case_evidence.h"
#include "lab/learner.h"
#include "made_course.h"

namespace lab::quiz_test {

namespace {

Question of_unit(const std::string& unit) {
    Question question;
    question.unit = unit;
    return question;
}

}  // namespace

TEST_CASE("quiz: an answer is a number, with or without its unit") {
    CHECK(parse_answer(of_unit("ms"), " 12.5 ") == 12.5);
    CHECK(parse_answer(of_unit("ms"), "12.5ms") == 12.5);
    CHECK(parse_answer(of_unit("share"), "50%") == 0.5);
    CHECK(parse_answer(of_unit("share"), "0.5") == 0.5);
    CHECK(parse_answer(of_unit("times"), "1.42x") == 1.42);
    CHECK(parse_answer(of_unit("times"), "1.42 ×") == 1.42);
    CHECK(parse_answer(of_unit("bytes"), "8 B") == 8);
    CHECK(parse_answer(of_unit("µs"), "3 us") == 3);
    CHECK(parse_answer(of_unit("ms"), "1.5 s") == doctest::Approx(1500));
    CHECK(parse_answer(of_unit("ms"), "800us") == doctest::Approx(0.8));
    CHECK(parse_answer(of_unit("µs"), "2 ms") == doctest::Approx(2000));
    CHECK(parse_answer(of_unit("MB"), "0.4 GB") == doctest::Approx(400));
    CHECK(parse_answer(of_unit("bytes"), "4,000,000") == 4'000'000);
    CHECK(parse_answer(of_unit("bytes"), "-1,234.5 B") == -1234.5);
    CHECK(parse_answer(of_unit("sectors"), "32 sectors") == 32);
    CHECK(parse_answer(of_unit("sectors"), "1 sector") == 1);
    for (const char* text : {"", "ms", "twelve", "1,5", "1,50,000", "12 MB", "1e999", "inf", "-inf", "nan"})
        CHECK(has(fault_of([&] { return parse_answer(of_unit("ms"), text); }),
                  "is no number: write it like 1.5 ms"));
}

TEST_CASE("quiz: what is no answer comes with how to write it") {
    const auto said = [](const std::string& unit, const std::string& text) {
        return fault_of([&] { return parse_answer(of_unit(unit), text); });
    };
    CHECK(said("times", "1,5") == "'1,5' is no number: write it like 1.5 times");
    CHECK(said("MB", "128 ms") == "'128 ms' is no number: write it like 1.5 MB");
    CHECK(said("share", "0.5 ms") == "'0.5 ms' is no number: write it like 0.5 or 50%");
    CHECK(said("", "5 ms") == "'5 ms' is no number: write it like 15");
    CHECK(said("share", "32.5") == "'32.5' is more than all: write 0.325 or 32.5%");
}

TEST_CASE("quiz: percent is no share, and what may be either is asked for once more") {
    const Question percent = of_unit("%");
    CHECK(parse_answer(percent, "2") == 2);
    CHECK(parse_answer(percent, "2 %") == 2);
    CHECK(parse_answer(percent, "0") == 0);
    CHECK(parse_answer(percent, "0.02%") == 0.02);
    CHECK(parse_answer(percent, "0.02 share") == doctest::Approx(2));
    CHECK(fault_of([&] { return parse_answer(percent, "0.02"); }) ==
          "'0.02' may be 2% or 0.02%: write the one that you mean, with its sign");
    CHECK(unit_asked(percent) == "%, with its sign: 2%");
    CHECK(unit_asked(of_unit("share")) == "share, as 0.5 or 50%");
    CHECK(unit_asked(of_unit("")).empty());
}

TEST_CASE("quiz: a choice is given by its letter, or in full") {
    Question question;
    question.choices = {"one", "two", "three"};
    CHECK(parse_answer(question, "a") == 1);
    CHECK(parse_answer(question, "C") == 3);
    CHECK(parse_answer(question, " two ") == 2);
    for (const char* text : {"", "d", "1", "ab", "\xc3\xa4"})
        CHECK(has(fault_of([&] { return parse_answer(question, text); }), "a letter from a to c"));
}

TEST_CASE("quiz: the learner's own run answers, unless it is of another program or cannot") {
    const MadeCourse made;
    made.record_all();
    const Chapter chapter = made.read();
    const Question& question = chapter.quiz[0];
    const auto answer = [&] {
        const QuizEvidence found = quiz_evidence(made.course, chapter, question);
        return fmt::format("{} {}", found.live ? "live" : "recorded", right_answer(question, found.evidence));
    };
    CHECK(answer() == "recorded 2");
    const Program solution = chapter.program_of(question);
    const fs::path own = live_evidence_path(made.course, solution);
    write_run({.kernels = 3}, own,
              {{"fingerprint", made.course.fingerprint_of(solution)}, {"recording", ""}});
    CHECK(answer() == "live 3");
    write_run({.kernels = 3}, own, {{"fingerprint", made.course.fingerprint_of(solution)}}, false);
    CHECK(answer() == "recorded 2");
    write_run({.kernels = 3}, own, {{"fingerprint", "of another program"}});
    CHECK(answer() == "recorded 2");
}

TEST_CASE("quiz: a tolerance is relative, and without one an answer is equal or wrong") {
    Question question;
    CHECK(is_right(question, 4, 4));
    CHECK_FALSE(is_right(question, 4.001, 4));
    question.tolerance = 0.1;
    CHECK(is_right(question, 4.39, 4));
    CHECK(is_right(question, -3.61, -4));
    CHECK_FALSE(is_right(question, 4.41, 4));
}

TEST_CASE("diagnosis: names are compared as people write them, and each answer is computed") {
    const MadeCourse made;
    const std::string
        kind = "kind = \"find\"\n",
        block =
            "\n[[diagnosis]]\nid = \"which\"\nasks = \"Which kernel?\"\nlook = \"there\"\ntext = true\n"
            "sql = \"SELECT 'Grid::add_up<float>(const float*)' FROM kernels LIMIT 1\"\n";
    const std::string file = MadeCourse::kExercise + "/case.toml", before = read_file(made.root() / file);
    made.write(file, before + block);
    CHECK(has(fault_of([&] { return made.read(); }), "an exercise of the kinds find and unknown"));
    made.write(file, kind + before);
    CHECK(has(fault_of([&] { return made.read(); }), "an exercise of the kinds find and unknown"));
    made.write(file, kind + before + block + block);
    CHECK(has(fault_of([&] { return made.read(); }), "a second question is called 'which'"));
    made.write(file, kind + before + block);
    made.record_all();
    const Chapter chapter = made.read();
    const Question& question = chapter.exercises[0].diagnosis.at(0);
    CHECK(chapter.program_of(question).name == "starter");
    const QuizEvidence evidence = quiz_evidence(made.course, chapter, question);
    for (const char* text : {"Grid::add_up", " grid::ADD_UP ", "Grid::add_up<float>", "`Grid::add_up`"})
        CHECK_MESSAGE(is_right(question, evidence.evidence, text), text);
    for (const char* text : {"add_up", "1", "Grid"})
        CHECK_FALSE_MESSAGE(is_right(question, evidence.evidence, text), text);
    CHECK(has(fault_of([&] { return is_right(question, evidence.evidence, " "); }), "write the name"));
}

TEST_CASE("quiz: a sibling's right answer counts for the question that it stands for") {
    const MadeCourse made;
    const std::string whole = kMadeChapter, file = "ch01_made/chapter.toml";
    const std::string quiz = whole.substr(whole.find("[[quiz]]"));
    const std::string sibling = "\n" + std::regex_replace(quiz, std::regex("how_many"), "how_many_more");
    made.write(file, whole + sibling + "instead_of = \"nothing\"\n");
    CHECK(has(fault_of([&] { return made.read(); }), "no question 'nothing' stands above this one"));
    made.write(file, whole + sibling + "instead_of = \"how_many\"\nwhy = \"so\"\n");
    const Chapter chapter = made.read();
    const Question &first = chapter.quiz.at(0), &second = chapter.quiz.at(1);
    CHECK(second.why == "so");
    CHECK(sibling_of(chapter.quiz, first) == &second);
    CHECK(sibling_of(chapter.quiz, second) == nullptr);
    const TemporaryFolder folder;
    const Progress progress(folder.path() / "progress.txt");
    CHECK_FALSE(last_answer(progress, chapter, chapter.quiz, first).has_value());
    progress.add(Step::wrong, question_subject(chapter, first));
    CHECK(last_answer(progress, chapter, chapter.quiz, first) == Step::wrong);
    progress.add(Step::right, question_subject(chapter, second));
    CHECK(last_answer(progress, chapter, chapter.quiz, first) == Step::right);
}

}  // namespace lab::quiz_test
