// The command that lab names to go on with.
#include "lab/learner.h"
#include "made_course.h"
#include "tools/machine.h"

namespace lab::next_test {

namespace {

/// A chapter with a question to look first, exercises 1 and 3, and a quiz of one question.
Chapter made_chapter(int number) {
    Chapter chapter;
    chapter.short_id = fmt::format("ch{:02}", number);
    chapter.id = chapter.short_id + "_made";
    chapter.look.emplace_back().id = "seen";
    chapter.look[0].purpose = Question::look_first;
    chapter.quiz.emplace_back().id = "known";
    for (const auto& [name, place] : {std::pair{"first", 1}, {"third", 3}}) {
        Case& exercise = chapter.exercises.emplace_back();
        exercise.name = name, exercise.number = place, exercise.kind = CaseKind::exercise;
        exercise.id = chapter.id + "/" + name, exercise.folder = chapter.id + "/exercises/" + name;
    }
    return chapter;
}

struct Way {
    const TemporaryFolder folder;
    const Progress progress{folder.path() / "progress.txt"};
    std::vector<Chapter> chapters{made_chapter(1), made_chapter(2), made_chapter(3)};

    [[nodiscard]] std::string next() const { return next_in_course(chapters, progress); }

    void finish(const std::string& chapter) const {
        for (const char* exercise : {"/first", "/third"}) progress.add(Step::passed, chapter + exercise);
        for (const char* question : {":look.seen", ":known"}) progress.add(Step::right, chapter + question);
    }
};

}  // namespace

TEST_CASE("next: without progress the course begins at its begin") {
    const Way way;
    CHECK(way.next() == "./lab look ch01");
    way.progress.add(Step::right, "ch99_gone:known");
    CHECK(way.next() == "./lab look ch01");
}

TEST_CASE("next: it goes on where the learner is, then behind it, then what was passed over") {
    const Way way;
    way.progress.add(Step::right, "ch02_made:known");
    CHECK(way.next() == "./lab look ch02");
    way.progress.add(Step::wrong, "ch02_made:look.seen");
    CHECK(way.next() == "./lab start ch02/first");
    way.progress.add(Step::started, "ch02_made/first");
    CHECK(way.next() == "./lab check ch02/first");
    way.finish("ch02_made");
    CHECK(way.next() == "./lab look ch03");
    way.finish("ch03_made");
    CHECK(way.next() == "./lab look ch01");
    way.finish("ch01_made");
    CHECK(way.next() == "./lab report");
}

TEST_CASE("next: behind an exercise comes the one with the next number that is there") {
    Way way;
    const Chapter& chapter = way.chapters[0];
    CHECK(next_exercise(way.progress, chapter, chapter.exercises[0]) == "./lab start ch01/third");
    CHECK(next_exercise(way.progress, chapter, chapter.exercises[1]) == "./lab quiz ch01");
    way.finish("ch01_made");
    CHECK(next_exercise(way.progress, chapter, chapter.exercises[1]) == "./lab next");
}

TEST_CASE("next: a step in a draw names the draw, and one that is not begun is the name's") {
    Way way;
    Case& drawn = way.chapters[0].exercises[0];
    Case second = drawn;
    drawn.id += ":1", drawn.draw = 1;
    second.id += ":2", second.draw = 2;
    drawn.further_draws.push_back(second);
    way.progress.add(Step::right, "ch01_made:look.seen");
    CHECK(way.next() == "./lab start ch01/first");
    CHECK(next_step(way.progress, way.chapters[0], second) == "./lab start ch01/first:2");
    way.progress.add(Step::failed, second.id, {"answer"});
    CHECK(way.next() == "./lab check ch01/first:2");
    way.progress.add(Step::repaired, second.id);
    CHECK(way.next() == "./lab diagnose ch01/first:2");
    way.progress.add(Step::passed, second.id);
    CHECK(way.next() == "./lab start ch01/third");
}

TEST_CASE("next: an exercise is diagnosed before it is checked, or without a GPU reviewed") {
    Way way;
    Case& first = way.chapters[0].exercises[0];
    Question& asks = first.diagnosis.emplace_back();
    asks.id = "which", asks.about = "first", asks.purpose = Question::diagnosis;
    const auto state = [&] { return learner_state(way.progress, way.chapters[0], first); };
    way.progress.add(Step::right, "ch01_made:look.seen");
    way.progress.add(Step::started, first.id);
    CHECK(way.next() == "./lab diagnose ch01/first");
    CHECK(state() == "started");
    way.progress.add(Step::right, "ch01_made/first:which");
    CHECK(state() == "diagnosed");
    CHECK(way.next() == (gpu() ? "./lab check ch01/first" : "./lab review ch01/first"));
    way.progress.add(Step::right, review_subject(first));
    CHECK(state() == "diagnosed, reviewed");
    CHECK(way.next() == (gpu() ? "./lab check ch01/first" : "./lab start ch01/third"));
    way.progress.add(Step::passed, first.id);
    CHECK(state() == "passed");
}

TEST_CASE("next: without a GPU a review that is all right ends an exercise that asks for no diagnosis") {
    const Way way;
    const Chapter& chapter = way.chapters[0];
    const Case& first = chapter.exercises[0];
    way.progress.add(Step::right, "ch01_made:look.seen");
    way.progress.add(Step::started, first.id);
    way.progress.add(Step::wrong, review_subject(first));
    CHECK(way.next() == "./lab check ch01/first");
    way.progress.add(Step::right, review_subject(first));
    CHECK(learner_state(way.progress, chapter, first) == "reviewed");
    CHECK(way.next() == (gpu() ? "./lab check ch01/first" : "./lab start ch01/third"));
    way.progress.add(Step::right, review_subject(chapter.exercises[1]));
    CHECK(next_exercise(way.progress, chapter, first) ==
          (gpu() ? "./lab start ch01/third" : "./lab quiz ch01"));
}

TEST_CASE("next: behind an exercise comes the next step of the one that follows, if that is begun") {
    const Way way;
    const Chapter& chapter = way.chapters[0];
    way.progress.add(Step::started, chapter.exercises[1].id);
    CHECK(next_exercise(way.progress, chapter, chapter.exercises[0]) == "./lab check ch01/third");
    way.progress.add(Step::passed, chapter.exercises[1].id);
    CHECK(next_exercise(way.progress, chapter, chapter.exercises[0]) == "./lab quiz ch01");
}

}  // namespace lab::next_test
