// What each kind of exercise promises, over the whole course.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/files.h"
#include "course/course.h"

namespace lab::exercise_kinds_test {

namespace {

bool is_guided(const Case& exercise) {
    return exercise.exercise_kind == ExerciseKind::guided;
}

std::vector<Chapter> chapters() {
    std::vector<Chapter> all = Course(LAB_SOURCE_FOLDER).chapters();
    REQUIRE(all.size() == 7);
    return all;
}

}  // namespace

TEST_CASE("course: a chapter has at most two guided exercises, its first ones") {
    for (const Chapter& chapter : chapters()) {
        const auto& exercises = chapter.exercises;
        const bool is_as_promised = std::is_partitioned(exercises.begin(), exercises.end(), is_guided) &&
                                    std::count_if(exercises.begin(), exercises.end(), is_guided) <= 2;
        CHECK_MESSAGE(is_as_promised,
                      chapter.id << " has a guided exercise that is not one of the first two");
    }
}

TEST_CASE("course: nothing marks the place in a starter of kind find or unknown") {
    std::size_t marked = 0;
    for (const Chapter& chapter : chapters())
        for (const Case& e : chapter.exercises) {
            const std::string file = e.programs[kFaulty].file.string();
            const bool has_mark =
                read_file(fs::path(LAB_SOURCE_FOLDER) / file).find("TODO(learner)") != std::string::npos;
            CHECK_MESSAGE(!(has_mark && !is_guided(e)), file << " has a TODO(learner)");
            marked += has_mark;
        }
    CHECK(marked > 0);  // else the mark has another name
}

TEST_CASE("course: an unknown exercise has four draws at least") {
    std::size_t unknown = 0;
    for (const Chapter& chapter : chapters())
        for (const Case& e : chapter.exercises) {
            if (e.exercise_kind != ExerciseKind::unknown) continue;
            ++unknown;
            CHECK_MESSAGE(e.further_draws.size() + 1 >= 4, e.folder.string());
        }
    CHECK(unknown > 0);
}

}  // namespace lab::exercise_kinds_test
