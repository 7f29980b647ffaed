// What ch06 claims, asserted on the evidence that is committed beside it.
#include <doctest/doctest.h>

#include "chapter_checks.h"

TEST_CASE("every finding of the pair holds, on both sides") {
    lab::check_pair("ch06_graphs");
}

TEST_CASE("starters fail as stated, solutions pass, wrong answers are rejected") {
    lab::check_exercises("ch06_graphs");
}

TEST_CASE("every question has an answer in the evidence") {
    lab::check_quiz("ch06_graphs");
}

TEST_CASE("the two programs of a case differ only where the lesson is") {
    lab::check_small_diffs("ch06_graphs");
}
