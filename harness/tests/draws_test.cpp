// An exercise of kind unknown: one source, and a fault that the draw's arguments decide.
#include <algorithm>

#include "course/case_evidence.h"
#include "course/claims.h"
#include "course/progress.h"
#include "course/quiz.h"
#include "lab/learner.h"
#include "made_course.h"

namespace lab::draws_test {

namespace {

constexpr const char* kUnknown = R"(title = "Frames"
kind = "unknown"
minutes = 30
formerly = ["slow_cut"]
objective = "Find it."
hints = ["look"]

[[draw]]
arguments = ["--seed", "11"]
starter_fails = ["kernels"]

[[draw]]
arguments = ["--seed", "22"]
starter_fails = ["streams"]

[[finding]]
id = "kernels"
draws = [1]
says = "kernels"
sql = "SELECT COUNT(*) FROM kernels"
starter = "== 2"
solution = ">= 4"

[[finding]]
id = "streams"
draws = [2]
says = "streams"
sql = "SELECT COUNT(DISTINCT stream) FROM kernels"
starter = "== 1"
solution = ">= 2"

[[diagnosis]]
id = "how_many"
asks = "How many kernels?"
look = "At the rows."
sql = "SELECT COUNT(*) FROM kernels"
)";

/// Draw 1 has too few kernels, draw 2 puts them into one stream.
struct Drawn : MadeCourse {
    Drawn() {
        write(kExercise + "/case.toml", kUnknown);
        fs::remove(root() / kExercise / "wrong/lost.patch");
        write_patch("one_stream", "streams", 6);
        replace(kExercise + "/wrong/one_stream.patch", "why:", "draw: 2\nwhy:");
        write_patch("wrong_sum", "answer", 3);
        replace("ch01_made/chapter.toml", "case = \"cut\"\nside = \"solution\"", "side = \"fixed\"");
    }

    void record_all() const {
        const Chapter chapter = read();
        for (const Program& program : chapter.pair.programs)
            record(program, {.kernels = 4, .streams = program.name == "fixed" ? 2 : 1, .printed = "1 ms"});
        record(draw(1).programs[0], {.kernels = 2, .streams = 2});
        record(draw(2).programs[0], {.kernels = 5});
        for (int number : {1, 2}) record(draw(number).programs[1], {.kernels = 4, .streams = 2});
        record(draw(1).wrong.at(0).program, {.kernels = 3, .exit_code = 1});
        record(draw(2).wrong.at(0).program, {.kernels = 6});
    }

    /// By value: the chapter that it is read with goes.
    [[nodiscard]] Case draw(int number) const { return *read().exercises[0].drawn(number); }

    [[nodiscard]] std::string not_passed() const {
        std::string all;
        for (const Claim& claim : recorded_claims(course, read(), true))
            if (claim.verdict != Verdict::pass)
                all += claim.subject + " " + claim.what + ": " + claim.why + "\n";
        return all;
    }
};

}  // namespace

TEST_CASE("draws: each is a case with its own arguments, evidence and wrong answers") {
    const Drawn made;
    const Chapter chapter = made.read();
    const Case &first = chapter.exercises.at(0), second = made.draw(2);
    CHECK(first.id == "ch01_made/cut:1");
    CHECK(second.id == "ch01_made/cut:2");
    CHECK(chapter.exercise("cut:2")->draw == 2);
    CHECK(chapter.exercise("slow_cut") == &first);
    CHECK(chapter.exercise("cut:3") == nullptr);
    CHECK(second.programs[0].arguments == std::vector<std::string>{"--seed", "22"});
    CHECK(second.programs[0].check_arguments == std::vector<std::string>{"--seed", "22"});
    CHECK(second.programs[0].evidence_name() == "starter.draw2.sqlite");
    CHECK(first.wrong.at(0).program.name == "wrong_sum");
    CHECK(second.wrong.at(0).program.name == "one_stream");
    CHECK(second.starter_fails == std::vector<std::string>{"streams"});
    CHECK(second.finding("streams")->expect[kFaulty]->text == "== 1");
    CHECK(second.finding("kernels")->expect[kFaulty]->text == ">= 4");  // the starter is not at fault there
    CHECK(chapter.cases().size() == 3);
    CHECK(chapter.questions().size() == 3);  // of the quiz, and of either draw
}

TEST_CASE("draws: every draw is judged, and each starter fails for its own fault alone") {
    const Drawn made;
    made.record_all();
    CHECK(made.not_passed() == "");
    made.record(made.draw(2).programs[0], {.kernels = 1});
    CHECK(has(made.not_passed(), "1_cut/starter.cu:2 fails streams: it fails kernels, streams"));
}

TEST_CASE("draws: a diagnosis is right for its draw, and not for another") {
    const Drawn made;
    made.record_all();
    const Chapter chapter = made.read();
    for (const auto& [draw, right] : {std::pair{1, "2"}, std::pair{2, "5"}}) {
        const Question& question = chapter.exercise(fmt::format("cut:{}", draw))->diagnosis.at(0);
        const Evidence evidence = quiz_evidence(made.course, chapter, question).evidence;
        CHECK(is_right(question, evidence, right));
        CHECK_FALSE(is_right(question, evidence, draw == 1 ? "5" : "2"));
    }
}

TEST_CASE("draws: the one begun last is the learner's, and earlier names count") {
    const Drawn made;
    const Progress progress(made.root() / "work/progress.txt");
    const Chapter chapter = made.read();
    const Case& cut = chapter.exercises[0];
    CHECK(begun_draw(progress, cut).draw == 1);
    progress.add(Step::started, "ch01_made/cut:2");
    CHECK(begun_draw(progress, cut).draw == 2);
    progress.add(Step::started, "ch01_made/cut:1");
    CHECK(begun_draw(progress, cut).draw == 1);
    progress.add(Step::passed, "ch01_made/slow_cut");
    CHECK(progress.exercise(cut.subjects()).passed);
}

TEST_CASE("draws: what cannot be is said with its place") {
    const auto said_after = [](const std::string& from, const std::string& to) {
        const Drawn made;
        made.replace(MadeCourse::kExercise + "/case.toml", from, to);
        return fault_of([&] { return made.read(); });
    };
    CHECK(
        has(said_after("draws = [2]", "draws = [3]"), "case.toml:24: there is no draw 3; there are 1 to 2"));
    CHECK(has(said_after("draws = [2]", "draws = [\"2\"]"), "'draws' must be a list of whole numbers"));
    CHECK(has(said_after("kind = \"unknown\"", "kind = \"find\""),
              "only an exercise of kind unknown has draws"));
    CHECK(has(said_after("starter_fails = [\"streams\"]", ""), "the starter must fail some finding"));
    const Drawn made;
    made.replace(MadeCourse::kExercise + "/wrong/one_stream.patch", "draw: 2", "draw: 9");
    CHECK(has(fault_of([&] { return made.read(); }), "wrong/one_stream.patch:2: there is no draw '9'"));
}

TEST_CASE("draws: an exercise of another kind has none") {
    const MadeCourse made;
    made.replace(MadeCourse::kExercise + "/wrong/lost.patch", "why:", "draw: 1\nwhy:");
    CHECK(has(fault_of([&] { return made.read(); }), "wrong/lost.patch:2: there is no draw '1'"));
    const MadeCourse other;
    other.replace(MadeCourse::kExercise + "/case.toml", "[[finding]]",
                  "[[draw]]\narguments = [\"--seed\"]\n\n[[finding]]");
    CHECK(has(fault_of([&] { return other.read(); }), "no other has any"));
}

TEST_CASE("draws: an answer is held against the findings of its own draw") {
    const Drawn made;
    made.replace(MadeCourse::kExercise + "/case.toml", "[[diagnosis]]",
                 "[[finding]]\nid = \"time\"\ndraws = [2]\nsays = \"time\"\nmargin = 0.1\n"
                 "metric = \"span_ms\"\nstarter_over_solution = \">= 1.2\"\n\n[[diagnosis]]");
    made.replace(MadeCourse::kExercise + "/wrong/one_stream.patch", "fails: streams", "fails: streams, time");
    CHECK(made.draw(1).finding("time") == nullptr);
    CHECK(made.draw(2).wrong.at(0).fails == std::vector<std::string>{"streams", "time"});
}

}  // namespace lab::draws_test
