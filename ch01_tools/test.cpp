// What ch01 claims, on the evidence that is recorded beside it.
#include "recorded_chapter.h"

namespace {
const lab::RecordedChapter ch01("ch01_tools");
}

TEST_CASE("every claim of the chapter holds") {
    ch01.check_claims();
}

TEST_CASE("a kernel that took no time at all would save the buggy program next to nothing") {
    const lab::Analysis solve = ch01.analysis("buggy", "solve");
    CHECK(solve.compute_ns < solve.span_ns / 50);
    CHECK(solve.compute_ns + solve.copy_only_ns + solve.gpu_idle_ns == solve.span_ns);
    const double kernel = ch01.value("buggy", "step_kernel_us") / ch01.value("fixed", "step_kernel_us");
    CHECK(kernel > 0.9);
    CHECK(kernel < 1.1);
    CHECK(ch01.value("buggy", "alone_ms") > 20 * ch01.value("fixed", "alone_ms"));
}

TEST_CASE("the host is to blame for the gaps, and for more of the time than the copies") {
    const lab::Analysis solve = ch01.analysis("buggy", "solve");
    CHECK(solve.idle.host_wait_ns > solve.gpu_idle_ns * 9 / 10);
    CHECK(solve.idle.host_wait_ns > solve.copy_only_ns);
    CHECK(ch01.value("fixed", "late_launches") < 0.1);
}

TEST_CASE("the silent failure gives the right answer, and the error stands only in the calls") {
    CHECK(ch01.ask("silent_failure.starter", "SELECT exit_code FROM PROGRAM") == 0);
    CHECK(ch01.ask("silent_failure.starter",
                   "SELECT SUM(result <> 0) FROM api_calls WHERE name LIKE 'cudaLaunchKernel%'") == 1);
}

TEST_CASE(
    "one block beyond a full wave costs several percent; a fused kernel gains what its passes promise") {
    const double tail = ch01.value("scaling_analysis.solution", "tail");
    CHECK(tail > 1.02);
    CHECK(tail < 1.5);
    const double gain = ch01.value("saxpy_ladder.solution", "fused_gain"), passes = 5.0 / 3;
    CHECK(gain > 0.85 * passes);
    CHECK(gain < 1.15 * passes);
}
