#include "core/figure.h"

#include <doctest/doctest.h>

#include "core/error.h"

using namespace lab;

namespace {

/// What `work` complains of, or "".
template <class Work>
std::string complaint(const Work& work) {
    try {
        work();
    } catch (const Error& problem) {
        CHECK(problem.exit_code == kBadInput);
        return problem.what();
    }
    return "";
}

std::string refused(const std::string& expression, const std::string& output) {
    return complaint([&] { (void)FigurePattern(expression).find(output, "the output of A"); });
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the figure is the first group of the first match") {
    const FigurePattern pattern("([0-9.]+) ms");
    CHECK(pattern.find("copy 12 GB\nkernel 4.25 ms\nkernel 9 ms\n", "it") == 4.25);
    CHECK(FigurePattern("(total|sum): ([0-9]+)").expression() == "(total|sum): ([0-9]+)");
    CHECK(FigurePattern("^time=([0-9.e+-]+)$").find("x\ntime=1.5e-3\ny", "it") == 0.0015);
}

TEST_CASE("zero bytes and long lines in the output are no hindrance") {
    const FigurePattern pattern(".*x ([0-9]+) ms");
    CHECK(pattern.find(std::string("a\0b\n", 4) + "x 7 ms", "it") == 7);
    CHECK(pattern.find(std::string(2'000'000, 'a') + "x 12 ms", "it") ==
          12);  // std::regex overflows the stack
}

TEST_CASE("an expression that cannot find a number is refused at once") {
    CHECK(contains(complaint([] { FigurePattern("(["); }), "'([' is no regular expression"));
    CHECK(contains(complaint([] { FigurePattern("[0-9]+ ms"); }),
                   "has no group: put the number in parentheses"));
    CHECK(contains(complaint([] { FigurePattern("(\\d+) ms"); }), "write [0-9]"));
}

TEST_CASE("what is no figure is a sentence, never a number") {
    CHECK(contains(refused("([0-9.]+) ms", "kernel 4 s"), "nothing in the output of A matches"));
    CHECK(contains(refused("([0-9.]+) ms", ""), "nothing in the output of A matches"));
    CHECK(contains(refused("([0-9.]+) ms", "1.2.3 ms"), "'1.2.3'"));
    CHECK(contains(refused("([0-9,.]+) ms", "1,234.5 ms"), "is no number"));
    CHECK(contains(refused("time (.*)", "time nan"), "is no number"));
    CHECK(contains(refused("time (.*)", "time inf"), "is no number"));
    CHECK(contains(refused("time (.*)", "time 1e999"), "is no number"));
    CHECK(contains(refused("time (.*)", "time "), "is no number"));
    CHECK(contains(refused("time (.*) ms", "time 0.00 ms"), "above 0"));
    CHECK(contains(refused("time (.*) ms", "time -3 ms"), "above 0"));
    CHECK(contains(refused("a|time (.*) ms", "a"), "takes no part"));
    CHECK_FALSE(contains(refused("time (.*)", "time \x1b[31m"), "\x1b"));
}
