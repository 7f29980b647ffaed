// What ch03 claims, on the evidence that is recorded beside it.
#include "recorded_chapter.h"

namespace {
const lab::RecordedChapter ch03("ch03_ncu");

double buggy_over_fixed(const char* finding) {
    return ch03.value("buggy", finding) / ch03.value("fixed", finding);
}
}  // namespace

TEST_CASE("every claim of the chapter holds") {
    ch03.check_claims();
}

TEST_CASE("counters say what pencil and paper say: one addition a number, three arrays, twice as wide") {
    CHECK(ch03.value("buggy", "fp64_instructions") == 500'000);
    CHECK(ch03.value("fixed", "requested_MB") == 3 * 64e6 * 4 / 1e6);
    CHECK(ch03.value("fixed", "sectors_per_request") == 32 * 4 / 32);
    CHECK(buggy_over_fixed("sectors_per_request") == 2);
    CHECK(buggy_over_fixed("requested_MB") == 2);
}

TEST_CASE("the buggy kernel is not slow at what it does: its time is its bytes") {
    const double of_peak = buggy_over_fixed("dram_throughput");
    CHECK(of_peak > 0.95);
    CHECK(of_peak < 1.05);
    const double time = buggy_over_fixed("large_us") / buggy_over_fixed("dram_MB");
    CHECK(time > 0.95);
    CHECK(time < 1.05);
    CHECK(buggy_over_fixed("small_us") < 1.6);
    CHECK(ch03.value("fixed", "small_dram_throughput") < ch03.value("fixed", "dram_throughput") / 2);
}

TEST_CASE(
    "ncu flushes the caches: a small launch takes far longer in it than in nsys, a large one does not") {
    CHECK(ch03.value("fixed", "small_ncu_us") > 1.5 * ch03.value("fixed", "small_us"));
    const double large_ncu_ns = ch03.ask(
        "fixed",
        "SELECT value FROM NCU_METRICS WHERE metric = 'gpu__time_duration.sum' ORDER BY launch DESC");
    CHECK(large_ncu_ns / 1e3 < 1.1 * ch03.value("fixed", "large_us"));
}

TEST_CASE("a tile that is loaded once serves 32 times, and lanes that keep together do more at once") {
    CHECK(ch03.value("product.starter", "loads") / ch03.value("product.solution", "loads") > 28);
    CHECK(ch03.value("product.starter", "loads") / ch03.value("product.solution", "loads") < 36);
    CHECK(ch03.value("orbits.starter", "threads_per_instruction") <
          0.6 * ch03.value("orbits.solution", "threads_per_instruction"));
}
