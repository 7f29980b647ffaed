#include "course/expectation.h"

#include <doctest/doctest.h>

#include <cmath>

#include "core/error.h"

namespace lab::expectation_test {

namespace {

Verdict verdict(double value, const std::string& expected, double margin = 0) {
    return judge(value, Expectation::parse(expected), margin);
}

Verdict verdict(const char* value, const std::string& expected) {
    return judge(std::string(value), Expectation::parse(expected));
}

}  // namespace

TEST_CASE("an expectation is a comparison and a threshold") {
    const Expectation number = Expectation::parse("  >=  0.5 ");
    CHECK(number.comparison == ">=");
    CHECK(std::get<double>(number.threshold) == 0.5);
    CHECK(number.text == ">=  0.5");
    const Expectation text = Expectation::parse("== 'it''s >= 5'");
    CHECK(std::get<std::string>(text.threshold) == "it''s >= 5");
    CHECK(std::get<double>(Expectation::parse("==-1e3").threshold) == -1000);
}

TEST_CASE("what is no expectation is an error that shows it") {
    for (const char* text : {"", "4", "= 4", "=< 4", "<> 4", "=== 4", "==", ">= x", "== 4 MB", "== 4,5",
                             "== nan", "== inf", "== '", "== 'open", "> 'text'", "== 1e999"}) {
        CAPTURE(text);
        CHECK_THROWS_WITH_AS((void)Expectation::parse(text), doctest::Contains("is no expectation"), Error);
    }
}

TEST_CASE("every comparison, below, at and above its threshold") {
    struct Row {
        const char* comparison;
        Verdict below, at, above;
    };
    constexpr Verdict kPass = Verdict::pass, kFail = Verdict::fail;
    for (const Row& row :
         {Row{"==", kFail, kPass, kFail}, Row{"!=", kPass, kFail, kPass}, Row{"<", kPass, kFail, kFail},
          Row{"<=", kPass, kPass, kFail}, Row{">", kFail, kFail, kPass}, Row{">=", kFail, kPass, kPass}}) {
        for (const double threshold : {-2.0, 0.0, 4.0}) {
            const std::string expected = std::string(row.comparison) + " " + std::to_string(threshold);
            CAPTURE(expected);
            CHECK(verdict(threshold - 1, expected) == row.below);
            CHECK(verdict(threshold, expected) == row.at);
            CHECK(verdict(threshold + 1, expected) == row.above);
        }
    }
}

TEST_CASE("text is equal or not, and never equal to a number; NaN holds for nothing") {
    for (const char* expected : {"== 0", "!= 0", "< 0"})
        CHECK(verdict(std::nan(""), expected) == Verdict::fail);
    CHECK(verdict("pinned", "== 'pinned'") == Verdict::pass);
    CHECK(verdict("Pinned", "== 'pinned'") == Verdict::fail);
    CHECK(verdict("pinned", "!= 'pinned'") == Verdict::fail);
    CHECK(verdict("4", "== 4") == Verdict::fail);
    CHECK(verdict(4, "!= 'x'") == Verdict::fail);
}

TEST_CASE("within the margin around the threshold the verdict is inconclusive, on both sides") {
    for (const char* expected : {">= 0.5", "> 0.5", "<= 0.5", "< 0.5"}) {
        const bool rising = expected[0] == '>';
        for (const double value : {0.4501, 0.5, 0.5499})
            CHECK(verdict(value, expected, 0.1) == Verdict::inconclusive);
        CHECK(verdict(0.449, expected, 0.1) == (rising ? Verdict::fail : Verdict::pass));
        CHECK(verdict(0.551, expected, 0.1) == (rising ? Verdict::pass : Verdict::fail));
    }
    CHECK(verdict(-4.2, "<= -4", 0.1) == Verdict::inconclusive);
}

TEST_CASE("a margin blurs no equality, and has no width around zero") {
    CHECK(verdict(0, "== 0", 0.1) == Verdict::pass);
    CHECK(verdict(4.1, "== 4", 0.1) == Verdict::fail);
    CHECK(verdict(4.1, "!= 4", 0.1) == Verdict::pass);
    CHECK(verdict(0, "> 0", 0.1) == Verdict::fail);
}

}  // namespace lab::expectation_test
