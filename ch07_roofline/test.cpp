// What ch07 claims, asserted on the evidence that is committed beside it.
#include <doctest/doctest.h>

#include "chapter_checks.h"

TEST_CASE("every finding of the pair holds, on both sides") {
    lab::check_pair("ch07_roofline");
}

TEST_CASE("starters fail as stated, solutions pass, wrong answers are rejected") {
    lab::check_exercises("ch07_roofline");
}

TEST_CASE("every question has an answer in the evidence") {
    lab::check_quiz("ch07_roofline");
}

TEST_CASE("the two programs of a case differ only where the lesson is") {
    lab::check_small_diffs("ch07_roofline");
}

TEST_CASE("the roofs are measured, and every point of the roofline can be drawn under them") {
    lab::check_companions("ch07_roofline");
}
