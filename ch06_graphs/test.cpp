// What ch06 claims, on the evidence that is recorded beside it.
#include "recorded_chapter.h"

namespace {
const lab::RecordedChapter ch06("ch06_graphs");
}

TEST_CASE("every claim of the chapter holds") {
    ch06.check_claims();
}

TEST_CASE("launches set the pace: each outlasts its kernel, so five streams never run two at once") {
    CHECK(ch06.value("buggy", "launch_call_us") > 2 * ch06.value("buggy", "kernel_us"));
    CHECK(ch06.analysis("buggy", "step").concurrent_ns == 0);
    CHECK(ch06.value("buggy", "submit_alone_ms") > 0.9 * ch06.value("buggy", "step_alone_ms"));
    CHECK(ch06.value("fixed", "submit_alone_ms") < 0.1 * ch06.value("fixed", "step_alone_ms"));
}

TEST_CASE("with a graph, the chain of a ring sets the pace, until kernels come as fast as they can") {
    const double one = ch06.value("fixed", "one_ring_ms"), five = ch06.value("fixed", "step_alone_ms"),
                 ten = ch06.value("fixed", "ten_rings_ms"), twenty = ch06.value("fixed", "twenty_rings_ms");
    CHECK(five < one / 2);
    CHECK(ten < five);
    CHECK(5 * five > 1.1 * one);  // a tick takes longer beside others
    CHECK(10 * ten > 1.1 * 5 * five);
    CHECK(twenty > 0.8 * ten);
    CHECK(ch06.value("buggy", "one_ring_ms") < 1.3 * ch06.value("buggy", "ten_rings_ms"));
}

TEST_CASE("the first graph that a program builds costs more than those after it") {
    CHECK(ch06.value("fixed", "build_first_ms") > 1.3 * ch06.value("fixed", "build_ms"));
}

TEST_CASE("a tool slows a graph that it records node by node most of all") {
    const double alone = ch06.value("fixed", "step_alone_ms");
    CHECK(ch06.value("fixed", "step_whole_ms") > 1.2 * alone);
    CHECK(ch06.value("fixed", "step_traced_ms") > 1.5 * ch06.value("fixed", "step_whole_ms"));
    CHECK(ch06.value("buggy", "step_traced_ms") < 1.3 * ch06.value("buggy", "step_whole_ms"));
}

TEST_CASE("a graph shortens the way from one kernel to the next") {
    CHECK(ch06.value("capture_attention.starter", "between_kernels_us") >
          3 * ch06.value("capture_attention.solution", "between_kernels_us"));
}
