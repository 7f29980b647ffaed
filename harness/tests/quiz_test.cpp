#include "course/quiz.h"

#include <doctest/doctest.h>

#include "core/error.h"

using namespace lab;

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
    for (const char* text : {"", "ms", "twelve", "1,5", "12 s", "1e999", "inf", "-inf", "nan"}) {
        CAPTURE(text);
        CHECK_THROWS_WITH_AS((void)parse_answer(of_unit("ms"), text), doctest::Contains("is no number of ms"),
                             Error);
    }
}

TEST_CASE("quiz: a choice is given by its letter") {
    Question question;
    question.choices = {"one", "two", "three"};
    CHECK(parse_answer(question, "a") == 1);
    CHECK(parse_answer(question, "C") == 3);
    for (const char* text : {"", "d", "1", "ab", "\xc3\xa4"}) {
        CAPTURE(text);
        CHECK_THROWS_WITH_AS((void)parse_answer(question, text), doctest::Contains("a letter from a to c"),
                             Error);
    }
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
