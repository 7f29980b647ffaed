// What ch04 claims, on the evidence that is recorded beside it.
#include "recorded_chapter.h"

namespace {
const lab::RecordedChapter ch04("ch04_sanitizer");

double count(const std::string& program, const std::string& condition) {
    return ch04.ask(program, "SELECT COALESCE(SUM(count), 0) FROM SANITIZER_REPORTS WHERE " + condition);
}
}  // namespace

TEST_CASE("every claim of the chapter holds") {
    ch04.check_claims();
}

TEST_CASE("five errors are one mistake: two reads, then a failed call, then two leaks") {
    CHECK(count("buggy", "kind LIKE 'Invalid %'") == 2);
    CHECK(count("buggy", "kind LIKE 'API %'") == 1);
    CHECK(count("buggy", "kind = 'Leak'") == 2);
    CHECK(count("buggy", "1") == 5);
    CHECK(ch04.ask("buggy",
                   "SELECT (SELECT MAX(id) FROM SANITIZER_REPORTS WHERE kind LIKE 'Invalid %')"
                   " < (SELECT MIN(id) FROM SANITIZER_REPORTS WHERE kind NOT LIKE 'Invalid %')") == 1);
}

TEST_CASE("the first report names thread 98, which reads number 100 of an array of 100") {
    const int i = 3 * 32 + 2, shift = 2;
    CHECK(count("buggy", "text LIKE '%by thread (2,0,0) in block (3,0,0)%'") > 0);
    CHECK(ch04.value("buggy", "allocation_bytes") == (i + shift) * 4);
}

TEST_CASE("a program that finds its own answer right is not therefore right") {
    for (const char* lucky : {"buggy", "tide_gauges.starter", "soundings.starter", "shared_library.starter",
                              "substations.starter"}) {
        INFO(lucky);
        CHECK(ch04.ask(lucky, "SELECT exit_code FROM PROGRAM") == 0);
        CHECK(count(lucky, "1") > 0);
    }
}

TEST_CASE("each mistake is the business of one tool, and the others that looked are silent") {
    for (const auto& [exercise, tool] : std::map<std::string, std::string>{{"shared_race", "racecheck"},
                                                                           {"uninitialized", "initcheck"},
                                                                           {"tide_gauges", "synccheck"},
                                                                           {"soundings", "memcheck"}}) {
        INFO(exercise);
        CHECK(count(exercise + ".starter", "tool = '" + tool + "'") > 0);
        CHECK(count(exercise + ".starter", "tool <> '" + tool + "'") == 0);
    }
}
