// What ch05 claims, on the evidence that is recorded beside it.
#include "recorded_chapter.h"

namespace {
const lab::RecordedChapter ch05("ch05_streams");
}

TEST_CASE("every claim of the chapter holds") {
    ch05.check_claims();
}

TEST_CASE("both programs do the same work; only the streams that carry it differ") {
    for (const char* same : {"kernels", "pinned_copies"})
        CHECK(ch05.value("buggy", same) == ch05.value("fixed", same));
    const char* const bytes = "SELECT SUM(bytes) FROM copies";
    CHECK(ch05.ask("buggy", bytes, "normalise") == ch05.ask("fixed", bytes, "normalise"));
    CHECK(ch05.value("buggy", "streams_used") == 1);
    CHECK(ch05.value("fixed", "streams_used") == 4);
}

TEST_CASE("in one stream nothing overlaps; in four, copies hide behind kernels") {
    const lab::Analysis one = ch05.analysis("buggy", "normalise"), four = ch05.analysis("fixed", "normalise");
    CHECK(one.h2d_hidden_ns < one.h2d_ns / 50);
    CHECK(four.h2d_hidden_ns > four.h2d_ns * 2 / 5);
    CHECK(four.copy_only_ns < one.copy_only_ns);
}

TEST_CASE("streams make no kernel faster: the gain is overlap, and one repetition has hardly any") {
    const double gain = ch05.value("buggy", "alone_ms") / ch05.value("fixed", "alone_ms");
    const double gain_once = ch05.value("buggy", "once_ms") / ch05.value("fixed", "once_ms");
    CHECK(ch05.value("fixed", "kernels_added_up_ms") >= ch05.value("buggy", "kernels_added_up_ms"));
    CHECK(gain > 1.3);
    CHECK(gain_once < 1.15);
}
